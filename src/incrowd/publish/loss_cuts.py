"""Cuts chosen by loss: what Mondrian and TightGroups have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.kernels.boxes import Prices
from incrowd.kernels.limits import Limits
from incrowd.kernels.loss_cuts import Room, cut_by_loss
from incrowd.kernels.partition import Partition, Work
from incrowd.privacy import Privacy
from incrowd.publish.group_cuts import Cutting
from incrowd.publish.prices import make_prices

_SLICE = 300_000  # rows visited between two looks at progress and Ctrl-C


@dataclass(frozen=True)
class LossCuts:
    """A table with what its cells cost, ready to be cut."""

    cutting: Cutting
    prices: Prices
    bounds: Limits
    room: Room

    @classmethod
    def of(cls, table: Table, privacy: Privacy, k: int) -> LossCuts:
        """Prepare a table; the sensitive values are looked at if a constraint is about them."""
        n_values = table.n_values if privacy.about_sensitive else 0
        cutting = Cutting.of(table, k, flatten(table.hierarchies), [table.sensitive if n_values else None])
        prices = make_prices(table, np.arange(table.n_quasi), "lm")
        return cls(cutting, prices, limits(privacy, table), make_room(table, len(cutting.rows), n_values))

    def cut(self, work: Work, partition: Partition) -> None:
        """Cut some of the groups on a stack."""
        cut_by_loss(work, partition, self.room, self.prices, self.bounds, _SLICE)


def make_room(table: Table, n_rows: int, n_values: int) -> Room:
    """Return room for a look at so many rows."""
    most_leaves = max(hierarchy.n_leaves for hierarchy in table.hierarchies)
    most = max(2, min(n_rows, most_leaves) + 1)
    return Room(
        np.empty(n_rows, np.int64) if table.disk is None else table.disk.empty(n_rows, np.int64),
        np.empty(most_leaves + 2, np.int64),
        np.empty((3, most), np.int64),
        np.empty((4, most, 2 * table.n_quasi), np.int32),
        np.empty((3, n_values), np.int64),
    )
