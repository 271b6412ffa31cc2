"""PAIS: top-down specialization under LKC-privacy.

Somebody who looks for a person knows at most L of the person's quasi-identifiers. Every combination of at most L
attributes' cells is then shared by at least K rows, and tells no sensitive value with a confidence above C. That asks
for much less than k-anonymity over all attributes when there are many of them. The search is that of TDS, with
validity by LKC, and Score(v) = InfoGain(v) for classification or, for general analysis, the sum of ``|group|^2`` over
the groups that hold v: what v adds to the discernibility cost.

Guarantee: LKC-privacy. When L covers all quasi-identifiers, that is k-anonymity with k = K and no share above C, and
is promised as such too. Only then are *groups of equal rows* of size K: with a smaller L somebody who knows more can
find people alone. Cost: as TDS when L covers all; otherwise O(groups of v) for each of the (M-1 choose L-1)
combinations, once per candidate v.
Use it with many quasi-identifiers, of which nobody knows more than a few. Not when the knowledge of an attacker is not
limited: leave L out then.

It suffices to look at combinations of exactly L attributes (all M, if L > M). A group of rows with equal cells in
fewer attributes is the union of groups with equal cells in L attributes that include these; its size is the sum
of theirs, so at least K, and its share of a sensitive value is an average of theirs, so at most C. And only
combinations with the specialized attribute have to be looked at: the others' groups stay as they are.

Where the paper is silent: (1) an L above the number of quasi-identifiers means all of them, and the guarantee in the
manifest carries the smaller number. (2) The search ends when no candidate is both valid and beneficial
(InfoGain > 0), as in TDS; for discernibility all are beneficial. (3) For discernibility the class is not looked at:
a range is cut at its most even point, the first of equal ones. (4) ``l`` is another way to write C = 1/l, meant
exactly; the guarantee's C is 1/l rounded up in the last of its digits. (5) Attributes without a taxonomy show all
their values or none. (6) An L with more combinations than the verifier looks at is refused at once. (7) Ties and cells
as in TDS; a missing value is cut off like the lowest number.

Reference: Mohammed, Fung, Hung, Lee: Anonymizing healthcare data: a case study on the blood transfusion service, KDD
2009.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"a": [1, 1, 2, 2] * 2, "b": [1, 2] * 4, "c": [1] * 4 + [2] * 4, "ill": list("nnnynyyy")})
>>> schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals(), "c": ic.Intervals()}, sensitive="ill")
>>> [ic.PAIS(k=2, L=L).publish(people, schema).frame.select("a", "b", "c").n_unique() for L in (1, 2, 3)]
[8, 8, 4]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import ClassVar, Literal, get_args

import numpy as np

from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.errors import IncompatibleError, ParameterError, SchemaError
from incrowd.privacy import LKC, Alpha, Constraint, KAnonymity, LDiversity, Privacy
from incrowd.publish.publisher import CellPublisher, Choice, Progress, require_feasible
from incrowd.publish.specialize import Rule, discernibility, info_gain, specialize
from incrowd.verify.promises import COMBINATION_BUDGET

ScoreName = Literal["infogain", "discernibility"]

_STEPS = 5  # about how often a small table's rows are passed over


@dataclass(frozen=True, kw_only=True)
class PAIS(CellPublisher):
    """Top-down specialization under LKC-privacy.

    Parameters
    ----------
    k
        K: least number of rows that share a combination of cells.
    L
        Largest number of quasi-identifiers that an attacker knows; ``None``: all of them.
    C
        Largest confidence with which a combination of cells tells a sensitive value.
    l
        The same as diversity: C = 1/l. Give one of the two.
    score
        ``"infogain"`` for classification, ``"discernibility"`` when the use of the release is not known.
    """

    k: int
    L: int | None = None
    C: float = 1.0
    l: float = 1
    score: ScoreName = "infogain"

    name: ClassVar[str] = "pais"
    paper: ClassVar[str] = "Mohammed et al. 2009"
    promise: ClassVar[str] = "LKC (k and alpha or l by any L quasi-identifiers)"
    kind: ClassVar[str] = "single-dimensional"
    cost: ClassVar[str] = "n per candidate and combination of L attributes"
    cuts_weighted_rows: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._lkc(1 if self.L is None else self.L)
        if self.score not in get_args(ScoreName):
            fact = f"score is {self.score!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(ScoreName))}")

    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps: over all quasi-identifiers, or over any L of them."""
        if self.L is not None:
            return Privacy((self._lkc(self.L),))
        share: list[Constraint] = [LDiversity(self.l)] if self.l > 1 else [Alpha(self.C)] if self.C < 1 else []
        return Privacy((KAnonymity(self.k), *share))

    def _lkc(self, L: int) -> LKC:
        return LKC(L, self.k, self.C, self.l)

    def _privacy_of(self, table: Table) -> Privacy:
        """Return the constraints for a table: LKC and, when L covers all its quasi-identifiers, what that means."""
        lkc = self._lkc(self._n_known(table))
        covered = replace(self, L=None).privacy().constraints if table.n_quasi == lkc.L else ()
        return Privacy((*covered, lkc) if table.sensitive is not None else covered)

    def _n_known(self, table: Table) -> int:
        return table.n_quasi if self.L is None else min(self.L, table.n_quasi)

    def require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep."""
        L = self._n_known(table)
        if comb(table.n_quasi, L) > COMBINATION_BUDGET:
            fact = f"L = {L} of {table.n_quasi} quasi-identifiers are {comb(table.n_quasi, L)} combinations"
            hint = f"use a smaller L, or leave it out to cover all: at most {COMBINATION_BUDGET} are verified"
            raise IncompatibleError(fact, hint)
        if self.L is not None and self.C == self.l == 1 and table.sensitive is None:
            fact = "LKC is about sensitive values, and the schema has no sensitive column"
            raise SchemaError(fact, "give a column the role 'sensitive', or leave L out: k over all quasi-identifiers")
        asks_about_sensitive = self.privacy().about_sensitive or table.sensitive is not None
        feasible = Privacy((self._lkc(L),)) if asks_about_sensitive else self.privacy()
        require_feasible(feasible, table)

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        n_combinations = comb(table.n_quasi - 1, self._n_known(table) - 1)
        return float(table.codes.size) * (_STEPS + n_combinations / _STEPS)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        lkc = self._lkc(self._n_known(table))
        n_values = table.n_values if lkc.confidence < 1 else 0
        rule = Rule(limits(Privacy((lkc,)), table), n_values, lkc.L)
        if self.score == "discernibility":
            one_class = np.zeros(len(table.codes), np.int32), 1
            choice = specialize(table, rule, discernibility, progress, classes=one_class)
        else:
            choice = specialize(table, rule, info_gain, progress)
        return replace(choice, privacy=self._privacy_of(table))
