"""Kullback-Leibler divergence: how far the table that a release describes is from the original one.

p is the empirical distribution of the originals over all combinations of leaves. A reader of the release spreads each
row evenly over the combinations of its cell: q(x) = 1/n * sum over rows of [x in cell] / |cell|. The loss is the sum of
p(x) ln(p(x) / q(x)) over the distinct originals, in nats. A row left out is spread over the whole domain; its original
is not known here and not part of p. A release without rows has the largest divergence that any table could have.

Boxes and points are matched by dividing the points at medians: at each step only the boxes that cut through the points'
bounding box go on, those that hold all of it are added at once, the others are dropped. Memory is bounded by blocks.

References
----------
Kifer and Gehrke, "Injecting utility into anonymized datasets", SIGMOD 2006.
"""

from __future__ import annotations

import numpy as np

from incrowd.errors import ParameterError
from incrowd.kernels.groups import label_groups
from incrowd.losses.cells import Cells, Codes, Counts, Floats

_FEW_POINTS = 128
_MOST_PAIRS = 1 << 20  # (point, box) pairs looked at together: 8 MB of floats


def kl(cells: Cells) -> float:
    """Return the divergence (nats) of the release from the original joint distribution of the quasi-identifiers."""
    if cells.originals is None:
        fact = "The loss 'kl' compares the release with the original rows, and they are not at hand"
        raise ParameterError(fact, "pass the original table too: release.loss('kl', original=frame)")
    domain = float(sum(np.log(hierarchy.n_leaves) for hierarchy in cells.hierarchies))
    if not cells.n_rows:
        return domain if cells.n_suppressed else 0.0
    points, n_points = _distinct(cells.originals, *label_groups(cells.originals))
    labels, n_boxes = cells.groups
    lo, times = _distinct(cells.lo, labels, n_boxes)
    hi, _ = _distinct(cells.hi, labels, n_boxes)
    # ln of each box's height: logarithms, since |cell| overflows with many attributes
    height = np.log(times) - np.log(hi - lo + 1.0).sum(axis=1)
    ground = np.log(cells.n_suppressed) - domain if cells.n_suppressed else -np.inf
    ln_q = _Boxes(lo, hi, height).heights_at(points, ground) - np.log(cells.n_total)
    p = n_points / cells.n_rows
    return max(float(np.sum(p * (np.log(p) - ln_q))), 0.0)


def _distinct(rows: Codes, labels: Counts, n_groups: int) -> tuple[Codes, Counts]:
    """Return one row of each group and the group sizes."""
    some = np.empty(n_groups, np.int64)
    some[labels] = np.arange(len(labels))
    return rows[some], np.bincount(labels, minlength=n_groups)


class _Boxes:
    """Weighted boxes, asked for the summed weight over many points; weights are logarithms."""

    def __init__(self, lo: Codes, hi: Codes, height: Floats) -> None:
        self.lo, self.hi, self.height = lo, hi, height

    def heights_at(self, points: Codes, ground: float) -> Floats:
        """Return ln(e**ground + sum of e**height over the boxes that hold each point)."""
        result = np.empty(len(points))
        todo = [(np.arange(len(points)), np.arange(len(self.lo)), ground)]
        while todo:
            at, boxes, below = todo.pop()
            least, most = points[at].min(axis=0), points[at].max(axis=0)
            lo, hi = self.lo[boxes], self.hi[boxes]
            touching = ((lo <= most) & (hi >= least)).all(axis=1)
            holding = touching & ((lo <= least) & (hi >= most)).all(axis=1)
            below = float(np.logaddexp(below, _ln_sum(self.height[boxes[holding]])))
            boxes = boxes[touching & ~holding]
            if not len(boxes):
                result[at] = below
            elif len(at) <= _FEW_POINTS:
                result[at] = np.logaddexp(below, self._one_by_one(points[at], boxes))
            else:
                middle = len(at) // 2
                order = np.argpartition(points[at, np.argmax(most - least)], middle)
                todo += [(at[order[:middle]], boxes, below), (at[order[middle:]], boxes, below)]
        return result

    def _one_by_one(self, points: Codes, boxes: Counts) -> Floats:
        total = np.full(len(points), -np.inf)
        step = max(_MOST_PAIRS // len(points), 1)
        for start in range(0, len(boxes), step):
            some = boxes[start : start + step]
            inside = np.ones((len(points), len(some)), np.bool_)
            for attribute in range(points.shape[1]):
                x = points[:, attribute, None]
                inside &= (self.lo[some, attribute] <= x) & (x <= self.hi[some, attribute])
            total = np.logaddexp(total, _ln_sum(np.where(inside, self.height[some], -np.inf)))
        return total


def _ln_sum(logs: Floats) -> Floats:
    """Return ln of the sum of e**logs along the last axis, -inf for an empty sum."""
    top = np.max(logs, axis=-1, initial=-np.inf, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # ln 0 = -inf is the right answer for an empty sum
        return np.asarray(np.log(np.exp(logs - shift).sum(axis=-1)) + shift[..., 0])
