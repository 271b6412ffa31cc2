"""Which originals lie in which boxes, counted exactly with one bit per original or per box."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from incrowd.runs import workers
from incrowd.verify.domain import Array

_CHUNK = 1 << 16
_WORDS_AT_ONCE = 1 << 15
_KEYS_AT_ONCE = 1 << 22
_WORTH_THREADS = 64


@dataclass(frozen=True)
class Boxes:
    """Boxes, or points as boxes of one value: per column the distinct intervals and which of them each box has."""

    lo: list[Array]
    hi: list[Array]
    which: list[Array]
    n: int

    def ends(self, column: int, at: Array) -> tuple[Array, Array]:
        """Return both ends of some boxes in one column."""
        which = self.which[column][at]
        return self.lo[column][which].astype(np.int32), self.hi[column][which].astype(np.int32)


def points(codes: Sequence[Array], n_leaves: Sequence[int], n: int) -> Boxes:
    """Return points as boxes."""
    ranks = [np.arange(leaves) for leaves in n_leaves]
    return Boxes(ranks, ranks, list(codes), n)


def count_meeting(asked: Boxes, items: Boxes, weight: Array, segment: Array, n_segments: int) -> Array:
    """Count, for each asked box, the weight of the items that meet it, by segment.

    A point meets a box when it lies in it, so the same code counts the points in a box and the boxes around a point.

    Parameters
    ----------
    asked, items
        Boxes over the same columns.
    weight, segment
        How much each item counts, and for which of the `n_segments` sums.
    """
    total = np.zeros((asked.n, n_segments), np.int64)
    if not asked.n:
        return total
    order = np.argsort(segment, kind="stable")
    bounds = np.searchsorted(segment[order], np.arange(n_segments + 1))
    lengths = [(int(bounds[s]), int(bounds[s + 1])) for s in range(n_segments)]
    pieces = [(s, a, min(a + _CHUNK, stop)) for s, start, stop in _spans(lengths) for a in range(start, stop, _CHUNK)]
    # several short segments share one pass over the asked boxes, each padded to whole words
    passes = np.cumsum([b - a for _, a, b in pieces]) // _CHUNK
    for number in np.unique(passes):
        batch = [piece for piece, own in zip(pieces, passes, strict=True) if own == number]
        at, starts = _padded([order[a:b] for _, a, b in batch])
        counts = _count_chunk(asked, items, weight, at, starts)
        for column, (s, _, _) in enumerate(batch):
            total[:, s] += counts[:, column]
    return total


def _spans(lengths: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    return [(s, a, b) for s, (a, b) in enumerate(lengths) if b > a]


def _padded(parts: list[Array]) -> tuple[Array, Array]:
    """Put parts one after the other, each filled up to whole words with -1."""
    filled = [np.append(part, np.full(-len(part) % 64, -1)) for part in parts]
    starts = np.cumsum([0] + [len(part) // 64 for part in filled[:-1]])
    return np.concatenate(filled), starts


def _count_chunk(asked: Boxes, items: Boxes, weight: Array, at: Array, starts: Array) -> Array:
    weights = np.where(at < 0, 0, weight[at])
    n_planes = max(1, int(weights.max()).bit_length())
    word_sum = np.uint16 if n_planes <= 9 else np.uint64
    planes = [_pack(((weights >> j) & 1).astype(np.bool_)[None])[0] for j in range(n_planes)]
    tables = [_meeting_bits(asked, items, m, at) for m in range(len(asked.which))]
    out = np.zeros((asked.n, len(starts)), np.int64)
    n_words = len(at) // 64
    step = max(1, _WORDS_AT_ONCE // max(1, n_words))

    def work(begin: int) -> None:
        stop = min(begin + step, asked.n)
        bits = np.full((stop - begin, n_words), np.uint64(2**64 - 1))
        for table, which in zip(tables, asked.which, strict=True):
            bits &= table[which[begin:stop]]
        ones = np.bitwise_count(bits & planes[0]).astype(word_sum)
        for j, plane in enumerate(planes[1:], start=1):
            ones += np.bitwise_count(bits & plane).astype(word_sum) << word_sum(j)
        out[begin:stop] = np.add.reduceat(ones, starts, axis=1, dtype=np.int64)

    begins = range(0, asked.n, step)
    if len(begins) < _WORTH_THREADS:
        for begin in begins:
            work(begin)
    else:
        with ThreadPoolExecutor(workers()) as pool:
            list(pool.map(work, begins))
    return out


def _meeting_bits(asked: Boxes, items: Boxes, column: int, at: Array) -> Array:
    """Return one row of bits per distinct interval of the asked boxes: which items meet it."""
    lo, hi = items.ends(column, at)
    key_lo, key_hi = asked.lo[column].astype(lo.dtype), asked.hi[column].astype(lo.dtype)
    table = np.empty((len(key_lo), len(at) // 64), np.uint64)
    step = max(1, _KEYS_AT_ONCE // len(at))
    for begin in range(0, len(key_lo), step):
        keys = slice(begin, begin + step)
        table[keys] = _pack((key_lo[keys, None] <= hi) & (lo <= key_hi[keys, None]))
    return table


def _pack(bits: Array) -> Array:
    return np.packbits(bits, axis=1).view(np.uint64)
