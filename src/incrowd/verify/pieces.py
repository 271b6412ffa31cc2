"""Distinct pairs of an original and its row that do not fit the memory: on the disk, judged one piece after the other.

A piece has whole groups, so that whatever is said of a group can be seen in one. All pieces are read beside the
distinct values of all originals, so that the place of a value is the same in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import counted
from incrowd.verify.domain import Array
from incrowd.verify.extents import check_extents
from incrowd.verify.groups import count_weights
from incrowd.verify.manifest import Claims
from incrowd.verify.original import Behind, check_covers, check_own_value, check_values, codes_of, published_leaves
from incrowd.verify.originals import Column, Originals, read_originals
from incrowd.verify.pairs import NUMBER, SHOWN, typed_like
from incrowd.verify.payload import Payload
from incrowd.verify.private import Kept
from incrowd.verify.promises import each_secret
from incrowd.verify.rare import check_counts_and_rare
from incrowd.verify.row_map import NOBODY
from incrowd.verify.verdict import Findings

PIECE = 1_000_000
"""Released rows, about, whose pairs are looked at together."""


class Spilled:
    """Pairs on the disk.

    Parameters
    ----------
    folder
        Where the files go.
    cells
        The distinct published rows without what is sensitive, rows of a group together.
    weights
        How many released rows are like each of them.
    """

    def __init__(self, folder: Path, cells: pl.DataFrame, weights: Array) -> None:
        self._folder = folder
        new = np.zeros(cells.height, np.bool_)
        for column in cells:
            new[1:] |= column.slice(1).ne_missing(column.head(cells.height - 1)).to_numpy()
        group = np.cumsum(new)
        sizes = np.bincount(group, weights, int(group.max(initial=0)) + 1)
        self._piece_of = ((np.cumsum(sizes) - sizes) // PIECE).astype(np.int32)[group]
        self.n = int(self._piece_of.max(initial=0)) + 2  # the last one is of originals that nothing stands for
        self._n_files = np.zeros(self.n, np.int64)
        self._values: dict[str, list[pl.Series]] = {}
        self._n_values: dict[str, int] = {}

    def add(self, pairs: pl.DataFrame) -> None:
        """Take in more pairs."""
        shown = pairs[SHOWN].to_numpy()
        piece = np.append(self._piece_of, self.n - 1)[shown]  # nobody is the last one
        order = np.argsort(piece.astype(np.uint16) if self.n < 1 << 16 else piece, kind="stable")
        frame, start = pairs[order], 0
        for number, end in enumerate(np.cumsum(np.bincount(piece, minlength=self.n)).tolist()):
            if end > start:
                frame.slice(start, end - start).write_ipc(self._file(number, int(self._n_files[number])))
                self._n_files[number] += 1
            start = end
        for name in pairs.columns[:-2]:
            self._add_values(pairs[name])

    def _add_values(self, column: pl.Series) -> None:
        known = self._values.setdefault(column.name, [])
        known.append(column.unique())
        if sum(map(len, known)) > 2 * self._n_values.get(column.name, 0) + (1 << 16):
            self._values[column.name] = [pl.concat(known).unique()]
            self._n_values[column.name] = len(self._values[column.name][0])

    def values(self) -> pl.DataFrame:
        """Return a frame in which every value of every column stands."""
        each = [pl.concat(known).unique() for known in self._values.values()]
        most = max(map(len, each))
        return pl.DataFrame([pl.concat([own, own.head(1).new_from_index(0, most - len(own))]) for own in each])

    def pieces(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the number and the pairs of each piece that has some, and forget them."""
        for number in range(self.n):
            files = [self._file(number, part) for part in range(int(self._n_files[number]))]
            if files:
                frame = pl.concat([pl.read_ipc(file.read_bytes()) for file in files])
                for file in files:
                    file.unlink()
                yield number, frame

    def _file(self, piece: int, part: int) -> Path:
        return self._folder / f"pairs-{piece}-{part}.arrow"

    def coded(self, piece: int) -> Path:
        """Return the file for the codes of a piece."""
        return self._folder / f"codes-{piece}.arrow"


@dataclass
class _Sums:
    """What is added up over all pieces."""

    counts: list[Array]
    n_dropped: int = 0
    n_released: int = 0
    n_lost: int = 0
    numbers: list[int] = field(default_factory=list)


def check_pieces(
    findings: Findings, claims: Claims, payload: Payload, spilled: Spilled, original: io.Batches,
    kept: Kept | None, problems: list[str], *, mapped: bool,
) -> bool:  # fmt: skip
    """Judge what pairs can show; return whether it is known who is behind each row.

    Parameters
    ----------
    problems
        What is wrong with the row map.
    """
    values = spilled.values()
    known = read_originals(claims, typed_like(original, values))
    sums = _code(claims, spilled, values, original, known, mapped=mapped)
    if not check_values(findings, claims, known, sums.n_dropped):
        return False
    if mapped and not _judge_map(findings, claims, sums, problems):
        return False
    if not mapped:
        findings.skip("row map", "needs the owner's private folder: whose row is whose was not checked")
    leaves = published_leaves(findings, claims, payload, known, kept if mapped else None, sums.counts)
    if leaves is None:
        return False
    if mapped or claims.rows["suppressed"] == 0:
        check_counts_and_rare(findings, claims, known, leaves, sums.counts, np.empty(0, np.int64))
    else:
        findings.skip("original counts", "needs the owner's private folder: suppressed originals are not known")
    found, nowhere = _judge_each(claims, payload, spilled, known, leaves, sums.numbers, mapped=mapped)
    wrong = [f"{nowhere} originals have a value that is in no leaf"] if nowhere else []
    if not findings.judge("published leaves", wrong, "every value has one"):
        return False
    for name, (details, fine) in found.items():
        findings.judge(name, details[:1], fine)
    return True


def _code(
    claims: Claims, spilled: Spilled, values: pl.DataFrame, original: io.Batches, known: Originals, *, mapped: bool
) -> _Sums:
    """Write of each piece the places of its values; count them."""
    sums = _Sums([np.zeros(len(column.values) + 1, np.int64) for column in known.quasi])
    for number, frame in spilled.pieces():
        pairs = frame
        if number == spilled.n - 1:  # as many as there are; the others are few, and nearly all different
            pairs = frame.group_by(pl.exclude(NUMBER)).agg(pl.col(NUMBER).sum())
        shown, weights = pairs[SHOWN].to_numpy(), pairs[NUMBER].to_numpy()
        own = read_originals(claims, typed_like(original, pl.concat([values, pairs.select(values.columns)])))
        dropped, released = own.dropped[values.height :], shown != NOBODY
        sums.n_dropped += int(weights[dropped].sum())
        sums.n_released += int(weights[released].sum())
        sums.n_lost += int(weights[released & dropped].sum())
        rows = np.flatnonzero(released if mapped else ~dropped)
        index = [column.index[values.height :][rows] for column in (*own.quasi, *own.secrets)]
        for each, counts in zip(index, sums.counts, strict=False):
            np.add(counts, count_weights(each, weights[rows], len(counts)), out=counts)
        columns = {str(m): each.astype(np.int32) for m, each in enumerate(index)}
        pl.DataFrame({**columns, SHOWN: shown[rows], NUMBER: weights[rows]}).write_ipc(spilled.coded(number))
        sums.numbers.append(number)
    return sums


def _judge_map(findings: Findings, claims: Claims, sums: _Sums, noted: list[str]) -> bool:
    problems = list(noted)
    if not problems and sums.n_released != claims.rows["released"]:
        problems = [f"it leads to {sums.n_released} originals from {claims.rows['released']} released rows"]
    text = f"{counted(sums.n_released, 'released row')}, each from its own original"
    fine = findings.judge("row map", problems, text)
    wrong = [f"{sums.n_lost} rows come from originals with a missing value"] if sums.n_lost else []
    return findings.judge("rows kept", wrong, "no released row comes from an original that is dropped") and fine


def _judge_each(
    claims: Claims, payload: Payload, spilled: Spilled, known: Originals, leaves: list[Array], numbers: list[int], *,
    mapped: bool,
) -> tuple[dict[str, tuple[list[str], str]], int]:  # fmt: skip
    """Judge piece by piece; return what is wrong by the name of the check, and how many values are in no leaf."""
    found: dict[str, tuple[list[str], str]] = {}
    columns, nowhere = (*known.quasi, *known.secrets), 0
    places = [secret.ranks_in(told.values) for secret, told in zip(known.secrets, payload.told, strict=True)]
    for number in numbers:
        coded = pl.read_ipc(spilled.coded(number).read_bytes())
        spilled.coded(number).unlink()
        own = [replace(column, index=coded[str(m)].to_numpy()) for m, column in enumerate(columns)]
        quasi, secrets = own[: len(claims.quasi)], own[len(claims.quasi) :]
        codes = [codes_of(*each) for each in zip(claims.quasi, quasi, payload.scales, leaves, strict=True)]
        lost = coded[NUMBER].to_numpy()[np.any([code < 0 for code in codes], axis=0)]
        nowhere += int(lost.sum())
        if nowhere or not mapped or not coded.height:
            continue
        shown = coded[SHOWN].to_numpy()
        behind = Behind(
            np.arange(len(shown)), codes, [p[c.index] for p, c in zip(places, secrets, strict=True)], mapped=True
        )
        for name, ok, detail in _judged(claims, payload, shown, quasi, behind):
            wrong, fine = found.get(name, ([], detail))
            found[name] = (wrong, detail) if ok else ([*wrong, detail], fine)
    return found, nowhere


def _judged(
    claims: Claims, payload: Payload, shown: Array, quasi: list[Column], behind: Behind
) -> Iterator[tuple[str, bool, str]]:
    findings, rows = Findings(), np.arange(len(shown))
    own = _of_rows(payload, shown)
    if check_covers(findings, claims, own, behind):
        check_extents(findings, claims, own, Originals(quasi, [], np.zeros(0, np.bool_)), rows, behind.codes)
    for at, part, _, told in each_secret(findings, claims, own):
        check_own_value(part, told, behind.about(at))
    for check in findings.checks:
        yield check.name, bool(check.ok), check.detail


def _of_rows(payload: Payload, shown: Array) -> Payload:
    """Return the payload of some of its rows, with repetitions; groups are numbered anew, and labels left out."""
    cells = payload.cells
    groups, group = np.unique(cells.group[shown], return_inverse=True)
    first = np.zeros(len(groups), np.int64)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    taken = replace(cells, cell=[cell[shown] for cell in cells.cell], group=group, first=first, size=cells.size[groups])
    told = tuple(replace(each, exact=None if each.exact is None else each.exact[shown]) for each in payload.told)
    return replace(payload, frame=pl.DataFrame({SHOWN: shown}), cells=taken, told=told, weights=None)
