"""TDS: top-down specialization for classification under k-anonymity.

All values stand at the root of their taxonomies, and all rows in one partition. Each step specializes one value, for
all rows that hold it: a node of a taxonomy into its children, a range of numbers at the cut point with the best
information gain. It takes the valid and beneficial candidate with the highest
Score(v) = InfoGain(v) / (AnonyLoss(v) + 1): information about the class per unit of anonymity. Valid: every partition
keeps the constraints afterwards. Beneficial: InfoGain(v) > 0, which needs more than one class among the rows of v.
AnonyLoss(v) = A(QID) - A_v(QID) is by how much the smallest partition gets smaller; all quasi-identifiers together are
the one QID.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for. Cost: a step costs the rows of
its value times the attributes, O(n M) at most and much less soon.
Use it when a classifier is to be trained on the release and new rows are to be recoded alike: all rows share one
recoding of each attribute. Not without a class (nothing is beneficial then, and all cells stay ``*``), and not when
cells should be as small as k allows: what tells nothing about the class is not specialized.

Where the paper is silent: (1) of equal scores the value of the first attribute in schema order is taken, then the one
with the first leaf; scores are compared with gains rounded to 2^-32 bits. (2) A range is cut at the best gain whether
that is valid or not; of cuts with equal gains at the most even one, then the first. (3) A value is the lowest node
that holds all its rows, so steps that would split nothing are skipped; cells are closures of the rows that
share a value, so a range is released from its smallest to its largest number. (4) A missing number is lower than all
others: a range that still holds it and others is released as ``*``. A missing name is a child of the root.
(5) An attribute without a taxonomy has ``*`` above all its values, and shows all of them or none; see TDR. (6) l, t and
alpha decide what is valid just as k does.

Reference: Fung, Wang, Yu: Top-down specialization for information and privacy preservation, ICDE 2005.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47, 48, 55, 56], "sex": list("fmfmfmfm"), "ill": list("nnnyyyyy")})
>>> release = ic.TDS(k=3).publish(people, ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill"))
>>> sorted(release.frame.select("age", "sex").unique().rows())
[('21-30', '*'), ('31-56', '*')]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.publish.specialize import Rule, gain_per_loss, specialize

_STEPS = 10  # about how often a small table's rows are passed over


@dataclass(frozen=True, kw_only=True)
class TDS(GroupPublisher):
    """Top-down specialization by information gain per loss of anonymity.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    """

    name: ClassVar[str] = "tds"
    paper: ClassVar[str] = "Fung et al. 2005"
    kind: ClassVar[str] = "single-dimensional"
    cost: ClassVar[str] = "n M per step at most"
    cuts_weighted_rows: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True
    discloses: ClassVar[bool] = False

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return float(table.codes.size) * _STEPS

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        n_values = table.n_values if self.privacy().about_sensitive else 0
        rule = Rule(limits(self.privacy(), table), n_values, table.n_quasi)
        return specialize(table, rule, gain_per_loss, progress, disclose=self.discloses)
