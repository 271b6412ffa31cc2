"""Rows that were shuffled on rings: whether each person has k equally good rows, and none of them says too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.verify.concealment import check_concealment_of_rings
from incrowd.verify.domain import Array
from incrowd.verify.groups import relabel
from incrowd.verify.levels import Distributions
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.promises import about_values, judge_values, marginal_of
from incrowd.verify.published import wider_cells
from incrowd.verify.verdict import Findings

COLUMNS = ("ring", "cell", "original", "width")
_BLOCK = 1 << 22
_FEW_LINKS = 1 << 24
_FAR, _SOME = 8.0, 4.0  # standard deviations, and rings, beyond which chance does not explain it


@dataclass(frozen=True)
class _Rings:
    """Places of all rings laid end to end.

    Attributes
    ----------
    start, size, width
        Per place: where its ring begins, how many places it has, and how many originals a cell covers.
    cell_row, original_row
        The released row whose cell, or whose original, is at each place.
    """

    start: Array
    size: Array
    width: Array
    cell_row: Array
    original_row: Array

    def around(self, place: Array, step: Array | int) -> Array:
        """Return the place some steps further on the same ring."""
        start = self.start[place]
        return np.asarray(start + (place - start + step) % self.size[place])


def check_rings(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    codes: Sequence[Array],
    rings: pl.DataFrame,
    *,
    promises_only: bool,
) -> bool:
    """Check that rows and originals lie on rings, and judge k and the promises about sensitive values by them.

    The cell at a place covers the original there and those at the next width - 1 places. Moving all originals of a
    ring on by one place gives another assignment that fits the cells: there are width of them, no two of which
    agree anywhere. If each is as likely, an original is behind each of width rows with the same probability.
    """
    problems, laid = _read(rings, payload.frame.height)
    if laid is None:
        return findings.judge("rings", problems, "")
    problems += wrong_rows(_astray(laid), "have an original that is not in the window of their cell")
    if _stand_alike(laid):
        problems.append("too many rings have their originals at the same distance to be shuffled by chance")
    for m, (q, own) in enumerate(zip(claims.quasi, codes, strict=True)):
        cell = payload.cells.cell[m][laid.cell_row]
        lo, hi = payload.cells.lo[m][cell], payload.cells.hi[m][cell]
        least, most = _windows(laid, own[laid.original_row])
        wrong = (least < lo) | (most > hi)
        problems += [f"{wrong.sum()} cells of {q.name!r} lack an original of their window"] if wrong.any() else []
        wider = ~wrong & wider_cells(q, payload.scales[m], (lo, hi), least, most)
        problems += [f"{wider.sum()} cells of {q.name!r} are wider than their window asks for"] if wider.any() else []
    smallest = int(laid.width.min())
    fine = f"every original fits {smallest} rows of its ring, and every row as many originals"
    if not findings.judge("rings", problems, fine):
        return False
    if claims.k is not None:
        few = laid.width < claims.k
        problems = [f"rows that fit fewer than k = {claims.k} people of their ring: {few.sum()}"] if few.any() else []
        findings.judge("k", problems, f"every row fits at least {smallest} people, those of its window")
    findings.levels["k"] = findings.levels["originals_per_release_min"] = smallest
    findings.levels["releases_per_original_min"] = smallest
    check_concealment_of_rings(findings, claims, laid.width)
    _judge_values(findings, claims, payload, laid, promises_only=promises_only)
    return True


def _read(rings: pl.DataFrame, n_rows: int) -> tuple[list[str], _Rings | None]:
    """Return the rings, or what is wrong with them."""
    ring, cell, original, width = (rings[name].to_numpy().astype(np.int64) for name in COLUMNS)
    if n_rows == 0 or ring.min() < 0:
        return ["they have no rows, or a ring without a number"], None
    ring = relabel(ring, int(ring.max()) + 1)[0].astype(np.int64)
    size = np.bincount(ring)
    first = np.cumsum(size) - size
    problems: list[str] = []
    rows = []
    for what, place in (("cell", cell), ("original", original)):
        outside = (place < 0) | (place >= size[ring])
        problems += wrong_rows(outside, f"have their {what} outside its ring")
        at = np.full(n_rows, -1)
        at[np.where(outside, 0, first[ring] + place)] = np.arange(n_rows)
        rows.append(at)
        if not outside.any() and (at < 0).any():
            problems.append(f"{(at < 0).sum()} places have no {what}, and others have two")
    common = np.zeros(len(size), np.int64)
    common[ring] = width
    problems += wrong_rows((width < 1) | (width > size[ring]), "have a window that is longer than its ring, or empty")
    problems += wrong_rows(width != common[ring], "have another window than the rest of their ring")
    if problems:
        return problems, None
    of_place = np.repeat(np.arange(len(size)), size)
    return [], _Rings(first[of_place], size[of_place], common[of_place], rows[0], rows[1])


def _astray(laid: _Rings) -> Array:
    """Tell which released rows have a person whom the window of their cell does not reach."""
    place = np.arange(len(laid.start))
    cell, original = np.empty_like(place), np.empty_like(place)
    cell[laid.cell_row] = original[laid.original_row] = place
    return np.asarray((original - cell) % laid.size[cell] >= laid.width[cell])


def _stand_alike(laid: _Rings) -> bool:
    """Tell whether the first cells of many rings have originals at one distance, which chance would not give."""
    first = np.flatnonzero((laid.start == np.arange(len(laid.start))) & (laid.width < laid.size))
    place = np.empty(len(laid.start), np.int64)
    place[laid.original_row] = np.arange(len(laid.start))
    distance = (place[laid.cell_row[first]] - first) % laid.size[first]
    chance = 1 / laid.width[first]
    for step in np.unique(distance):
        far = _FAR * np.sqrt((chance * (1 - chance)).sum()) + _SOME
        if (distance == step).sum() > chance.sum() + far:
            return True
    return False


def _windows(laid: _Rings, codes: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest code in the window at each place, from windows of half the length."""
    n = len(codes)
    least, most = codes.copy(), codes.copy()
    reach, place = np.ones(n, np.int64), np.arange(n)
    while (todo := np.flatnonzero(reach < laid.width)).size:
        step = np.minimum(reach[todo], laid.width[todo] - reach[todo])
        other = laid.around(place[todo], step)
        new_least, new_most = np.minimum(least[todo], least[other]), np.maximum(most[todo], most[other])
        least[todo], most[todo] = new_least, new_most
        reach[todo] += step
    return least, most


def _judge_values(findings: Findings, claims: Claims, payload: Payload, laid: _Rings, *, promises_only: bool) -> None:
    """Judge the values in the rows that each original fits on its ring, all equally likely."""
    pending = about_values(claims)
    few = int(laid.width.sum()) <= _FEW_LINKS
    if payload.exact is None or not (pending or few or not promises_only):
        return
    found = _distributions(laid, payload.exact, payload.n_values)
    place = np.zeros(found.n_owners, np.int64)
    judge_values(findings, claims, found, marginal_of(claims, payload), place, "originals on their rings")


def _distributions(laid: _Rings, exact: Array, n_values: int) -> Distributions:
    """Count the values that each original can have: those in the rows whose windows it is in."""
    value = exact[laid.cell_row].astype(np.int64)
    # where the window is the whole ring, all originals of the ring have the same
    place = np.flatnonzero((laid.width < laid.size) | (laid.start == np.arange(len(laid.start))))
    parts, begin = [], 0
    up_to = np.cumsum(laid.width[place])
    while begin < len(place):
        end = int(np.searchsorted(up_to, up_to[begin] + _BLOCK, side="right"))
        at, width = place[begin:end], laid.width[place[begin:end]]
        owner = np.repeat(np.arange(end - begin), width)
        back = np.arange(len(owner)) - np.repeat(np.cumsum(width) - width, width)
        linked = value[laid.around(at[owner], -back)]
        part = Distributions.of_rows(owner, linked, end - begin, n_values)
        parts.append((part.owner + begin, part.value, part.count))
        begin = end
    owners, values, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Distributions(owners, values, counts, len(place), n_values)
