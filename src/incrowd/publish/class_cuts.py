"""Cuts that part the classes: what InfoGain Mondrian and BestCuts have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.kernels.class_cuts import Search, Sides, cut_classes
from incrowd.kernels.information import n_log_n
from incrowd.kernels.limits import Limits
from incrowd.kernels.partition import Partition, Work
from incrowd.privacy import Privacy
from incrowd.publish.group_cuts import Cut, Cutting

_SLICE = 500_000  # rows visited between two looks at progress and Ctrl-C


@dataclass(frozen=True)
class ClassCuts:
    """A table with its classes, ready to be cut in one way or another."""

    cutting: Cutting
    bounds: Limits
    n_classes: int
    n_values: int

    @classmethod
    def of(cls, table: Table, privacy: Privacy, k: int) -> ClassCuts:
        """Prepare a table; the sensitive values are looked at if a constraint is about them."""
        n_values = table.n_values if privacy.about_sensitive else 0
        classes, n_classes = table.classes
        columns = [classes, table.sensitive if n_values else None]
        cutting = Cutting.of(table, k, flatten(table.hierarchies), columns)
        return cls(cutting, limits(privacy, table), n_classes, n_values)

    def by(self, search: Search) -> Cut:
        """Return what cuts some of the groups on a stack."""
        counts = np.zeros((2, self.n_classes), np.int64), np.zeros((2, self.n_values), np.int64)
        sides = Sides(*counts, n_log_n(self.cutting.table.n_rows))

        def cut(work: Work, partition: Partition) -> None:
            cut_classes(work, partition, sides, self.bounds, self.cutting.domains, search, _SLICE)

        return cut
