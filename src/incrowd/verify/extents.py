"""How far cells reach: no further than a method that closes its groups, or its columns, takes them."""

from __future__ import annotations

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Originals
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.published import wider_cells
from incrowd.verify.verdict import Findings


def check_extents(
    findings: Findings, claims: Claims, payload: Payload, originals: Originals, rows: Array, codes: list[Array]
) -> None:
    """Judge cells that cover their originals by what the method makes of them.

    Parameters
    ----------
    rows, codes
        The original of each released row, and its code in each column.
    """
    if claims.cells is None or not payload.frame.height:
        return
    cells, problems = payload.cells, []
    all_of_it = [(a == a.min()) & (b == b.max()) for a, b in zip(cells.lo, cells.hi, strict=True)]
    by_group, by_value = claims.cells.startswith("groups"), claims.cells == "one for a value"
    aside = _left_out(payload, all_of_it) if by_value else np.zeros(payload.frame.height, np.bool_)
    for m, q in enumerate(claims.quasi):
        if not by_group:
            again = _has_two(originals.quasi[m].index[rows], cells.cell[m], aside)
            problems += wrong_rows(again, f"have another cell of {q.name!r} than rows of the same value")
        if by_value:
            continue
        owner, cell = (cells.group, cells.of_groups(m)) if by_group else (cells.cell[m], np.arange(len(cells.lo[m])))
        least, most = _ends(codes[m], owner)
        wide = wider_cells(q, payload.scales[m], (cells.lo[m][cell], cells.hi[m][cell]), least, most)
        if claims.cells.endswith("all"):
            wide &= ~all_of_it[m][cell]
        if wide.any():
            problems += wrong_rows(wide[owner], f"have a cell of {q.name!r} that is wider than its rows ask for")
    what = "one for each value" if by_value else f"closures of {claims.cells}"
    findings.judge("extents", problems, f"cells are {what}")


def _left_out(payload: Payload, all_of_it: list[Array]) -> Array:
    """Tell which rows stand aside, with everything for all their cells."""
    aside = np.ones(payload.frame.height, np.bool_)
    for cell, everything in zip(payload.cells.cell, all_of_it, strict=True):
        aside &= everything[cell]
    return aside


def _has_two(value: Array, cell: Array, aside: Array) -> Array:
    """Tell which rows have another cell than others of the same value."""
    cell_of = np.zeros(int(value.max()) + 1, np.int64)
    cell_of[value[~aside]] = cell[~aside]
    return np.asarray((cell_of[value] != cell) & ~aside)


def _ends(codes: Array, owner: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest code of each owner's rows; every owner has one."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))  # most owners' rows stand together, in one run or few
    some = codes[starts]
    least, most = np.empty(int(owner.max()) + 1, some.dtype), np.empty(int(owner.max()) + 1, some.dtype)
    least[owner[starts]] = most[owner[starts]] = some
    np.minimum.at(least, owner[starts], np.minimum.reduceat(codes, starts))
    np.maximum.at(most, owner[starts], np.maximum.reduceat(codes, starts))
    return least, most
