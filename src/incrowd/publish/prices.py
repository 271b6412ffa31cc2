"""What cells cost, in whole numbers: losses in the form that kernels take.

Whole numbers make sums exact, whatever the order of adding. They are rounded attribute by attribute: the sums of two
exactly equal losses may differ by as many units as there are attributes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.errors import IncompatibleError
from incrowd.hierarchy import Hierarchy
from incrowd.kernels.boxes import LINE, NONE, PAIR, TREE, Prices
from incrowd.losses import cell_loss

Loss = Literal["lm", "entropy", "monotone_entropy"]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_LARGEST_RANGES = 1024  # leaves up to which the cost of every range is kept
_PAIRS = 1000  # of rows, looked at to order the attributes


def tables_first(table: Table, loss: Loss) -> Int64:
    """Return the attributes in the order that the kernel wants: those without a look-up table last.

    Before them, attributes that cost much between any two rows come first, so that a row is pruned early.
    """
    rows = np.random.default_rng(0).integers(0, table.n_rows, (2, _PAIRS))
    keys = []
    for m, hierarchy in enumerate(table.hierarchies):
        pairs = np.sort(table.codes[:, m][rows], axis=0)
        lo, hi = hierarchy.closure(pairs[0], pairs[1])
        cost = float(cell_loss(loss, hierarchy, table.marginals[m], lo, hi).mean())
        keys.append((_priced_cells(hierarchy, loss)[0] == LINE, -cost, m))
    return np.array([m for _, _, m in sorted(keys)])


def make_prices(table: Table, columns: Int64, loss: Loss) -> Prices:
    """Return what every cell costs, as whole numbers whose sum over the attributes fits 31 bits."""
    lower_name = "monotone_entropy" if loss == "entropy" else loss
    domains = [(table.hierarchies[m], table.marginals[m]) for m in columns]
    most = [1.0 if loss == "lm" else np.log2(max(2, hierarchy.n_leaves)) for hierarchy, _ in domains]
    n_leaves = sum(hierarchy.n_leaves for hierarchy, _ in domains)
    scale = (2**31 - 1 - 2 * n_leaves) / sum(most)
    shape, exacts, lowers, ends = [], [], [], []
    n_costs, n_table = 0, 0
    for hierarchy, marginal in domains:
        kind, lo, hi = _priced_cells(hierarchy, loss)
        if kind != TREE and loss == "lm":
            line = _line(hierarchy, scale)
            costs = lower = line if kind == LINE else line[hi] - line[lo]
        else:
            costs = _whole_numbers(cell_loss(loss, hierarchy, marginal, lo, hi), scale)
            lower = _whole_numbers(cell_loss(lower_name, hierarchy, marginal, lo, hi), scale)
        shape.append([kind, hierarchy.n_leaves, hierarchy.has_missing, n_costs, NONE if kind == LINE else n_table])
        n_costs += len(costs)
        n_table += 0 if kind == LINE else hierarchy.n_leaves
        exacts.append(costs)
        lowers.append(lower)
        ends.append(np.stack([lo, hi]))
    return Prices(
        np.array(shape, np.int64),
        np.concatenate(exacts),
        np.concatenate(lowers),
        np.ascontiguousarray(np.concatenate(ends, axis=1).astype(np.int32)),
        sum(row[0] != LINE for row in shape),
        n_table,
        loss != "entropy",
    )


def _priced_cells(hierarchy: Hierarchy, loss: Loss) -> tuple[int, Int32, Int32]:
    """Return how an attribute's costs are kept, and the cells that they are of."""
    n = hierarchy.n_leaves
    lo, hi = hierarchy.levels()
    if len(lo):
        return TREE, lo.ravel(), hi.ravel()
    if n <= _LARGEST_RANGES:
        first, last = np.divmod(np.arange(n * n, dtype=np.int32), np.int32(n))
        last = np.maximum(first, last)  # cells with ends the wrong way round are never asked for
        first, last = hierarchy.closure(first, last)
        return PAIR, first, last
    if loss != "lm":
        fact = f"Ranges over {n} values are too many for the loss {loss!r}"
        raise IncompatibleError(fact, "use loss='lm', or give that column bins or a balanced tree")
    leaves = np.arange(n, dtype=np.int32)
    return LINE, leaves, leaves


def _whole_numbers(losses: npt.NDArray[np.float64], scale: float) -> Int32:
    """Round, but never a loss to nothing: only equal rows may cost nothing together."""
    return np.where(losses > 0, np.maximum(1, np.rint(losses * scale)), 0).astype(np.int32)


def _line(hierarchy: Hierarchy, scale: float) -> Int32:
    """Positions as increasing whole numbers."""
    half = hierarchy.pos / 2  # the difference of the largest numbers would overflow to inf
    extent = max(half[-1] - half[0], 1e-300)
    steps = np.maximum(1, np.diff(np.rint((half - half[0]) / extent * scale)))
    return np.concatenate([[0], np.cumsum(steps)]).astype(np.int32)
