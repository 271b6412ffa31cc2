"""What cutting each group further by one item would cost, for many items at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

DM, CM = range(2)
COST, BOUND, IMPURITY, SPLITS, USELESS = range(5)
N_FOUND = 5


class Rows(NamedTuple):
    """Distinct rows.

    Attributes
    ----------
    atoms
        Atom of each row in each attribute, [rows x quasi].
    weights
        Copies of each row.
    classes, values
        Class and combination of sensitive values of each row; 0 where there are none.
    n
        Copies of all rows.
    n_classes, n_values
        Their numbers; no values if the limits are about the size of groups only.
    """

    atoms: Int32
    weights: Int64
    classes: Int32
    values: Int32
    n: int
    n_classes: int
    n_values: int


class Items(NamedTuple):
    """What can be told apart: item i parts the values of an attribute.

    Attributes
    ----------
    attribute, n_parts
        Of each item.
    start
        Where in `part_of` the parts of the attribute's atoms begin.
    """

    attribute: Int64
    n_parts: Int64
    start: Int64
    part_of: Int32


@kernel
def score_items(
    rows: Rows,
    items: Items,
    tried: Int64,
    members: Int64,
    label: Int64,
    n_groups: int,
    floors: Float64,
    limits: Limits,
    cost: int,
    found: Float64,
) -> None:
    """Say of each item what the groups cost when they are cut by it.

    Parameters
    ----------
    tried
        Items.
    members, label, n_groups
        Rows, and the group that each is in; all groups keep the size.
    floors
        Of each row, what all its copies cost at least however groups are cut further.
    cost
        `DM` or `CM`; a row that is suppressed costs `rows.n`, or 1.
    found
        Set to, [tried x 5]: the cost; what it is at least however groups are cut further; the impurity (Gini);
        the number of groups that are parted; and 1 if cutting by it never helps, as far as it can be told from here.
    """
    k = limits.whole[0, SIZE]
    star = float(rows.n) if cost == DM else 1.0
    for t in range(len(tried)):
        item, n_parts = tried[t], items.n_parts[tried[t]]
        m, start, n_slots = items.attribute[item], items.start[item], n_groups * n_parts
        classes = np.zeros((n_slots, rows.n_classes), np.int64)
        values = np.zeros((n_slots if rows.n_values else 0, rows.n_values), np.int64)
        sizes, least = np.zeros(n_slots, np.int64), np.zeros(n_slots)
        for place in range(len(members)):
            i = members[place]
            slot = label[place] * n_parts + items.part_of[start + rows.atoms[i, m]]
            sizes[slot] += rows.weights[i]
            least[slot] += floors[i]
            classes[slot, rows.classes[i]] += rows.weights[i]
            if rows.n_values:
                values[slot, rows.values[i]] += rows.weights[i]
        total, bound, impurity, n_split, useless = 0.0, 0.0, 0.0, 0, True
        for group in range(n_groups):
            n_filled, n_large, large, small = 0, 0, 0, 0
            for slot in range(group * n_parts, (group + 1) * n_parts):
                size = sizes[slot]
                if size == 0:
                    continue
                n_filled += 1
                if size < k:
                    small += size
                    total += star * size
                    bound += star * size
                    impurity += size
                    continue
                n_large += 1
                large += size
                bound += least[slot]
                most, squares = np.int64(0), 0.0
                for c in range(rows.n_classes):
                    most = max(most, classes[slot, c])
                    squares += classes[slot, c] / size * classes[slot, c]
                kept = rows.n_values == 0 or holds(values[slot], int(size), limits)
                if not kept:
                    total += star * size
                    impurity += size
                else:
                    total += float(size) * size if cost == DM else float(size - most)
                    impurity += size - squares
            if n_filled > 1:
                n_split += 1
                # Whatever else is cut, the small parts are suppressed. With them, what is kept of the large one is kept
                # as well, and costs no more in CM, nor in DM unless it is more than about half of the table.
                if n_large > 1 or (n_large == 1 and (rows.n_values or (cost == DM and small + 2 * large > rows.n))):
                    useless = False
        found[t, 0], found[t, 1], found[t, 2] = total, bound, impurity
        found[t, 3], found[t, 4] = n_split, 1.0 if useless else 0.0
