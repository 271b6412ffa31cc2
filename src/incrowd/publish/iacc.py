"""IACc: the variant of IACk that is told how much suppression may change, and finds the largest k for that.

Levels are chosen as by `IACk`. Then groups are suppressed from the smallest to the largest while no attribute's
normalized mutual information with the class changes by more than `delta_c` (the paper's δ_C) and no attribute's
normalized Kullback-Leibler divergence exceeds `delta_d` (δ_D). The search ends at the first step that would
exceed one of them.

Guarantee: every group, that of ``*`` rows too, keeps the k that was found, which the manifest promises, and whatever
else was asked for. Cost: as IACk, and for every distinct group size the number of distinct values.
Use it to see how much privacy a table gives away for free; not when k is prescribed: that is IACk.

How to choose δ: the paper suggests fractions of the largest possible values, H(C) / H(A') for δ_C and, for δ_D, the
divergence from a table that keeps one row of every value. `incrowd.suppression_curves` shows what each k costs.

Where the paper is silent, beyond what `IACk` says: (1) `k` is the least that is acceptable; if the thresholds end the
search before, nothing is published, and the error tells the k that was reached. (2) Line 16 of Algorithm 2 gives the
smallest k that leads to the same release, one more than the largest group suppressed. The release keeps more: the
size of its smallest group, and that is promised. (3) By the formula, a value whose rows are all suppressed makes
the divergence infinite: with `keep_values` such a step ends the search. That is strict: in many tables a rare value
is in small groups only. Without it the value counts as one row that is left, as in the paper's largest divergence and,
it seems, its Fig. 3. (4) When nothing ends the search, everything is ``*``, and k is the number of rows.

Reference: Li, Liu, Baig, Wong: Information based data anonymization for classification utility, Data & Knowledge
Engineering 70 (2011), Algorithm 2.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"sex": list("ffffffmmmm"), "job": list("aaaabbaabb"), "ill": list("ynynynynyn")})
>>> schema = ic.Schema(quasi={"sex": None, "job": None}, sensitive="ill")
>>> release = ic.IACc(delta_c=0.05, delta_d=1).publish(people, schema)
>>> release
RowRelease(iacc: k = 2; 10 of 10 rows)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar

import numpy as np

from incrowd.coding import Table
from incrowd.errors import InfeasibleError, ParameterError
from incrowd.publish.iac import SAME, Change, Suppression, changes, choice, generalize
from incrowd.publish.publisher import Choice, GroupPublisher, Progress


@dataclass(frozen=True, kw_only=True)
class IACc(GroupPublisher):
    """Best levels for classification, then as much suppression as two thresholds allow.

    Parameters
    ----------
    k
        Least k that is acceptable; the largest possible one is found and promised.
    delta_c
        Largest change of an attribute's normalized mutual information with the class; ``None`` for no limit.
    delta_d
        Largest normalized Kullback-Leibler divergence of an attribute's values; ``None`` for no limit.
    keep_values
        Whether some row of every value has to be left; meant by `delta_d`, and without it not looked at.
    l, l_kind, c, t, ordered, alpha
        What every group keeps besides k: see `GroupPublisher`.
    """

    k: int = 2
    delta_c: float | None = 0.05
    delta_d: float | None = 0.1
    keep_values: bool = True

    name: ClassVar[str] = "iacc"
    paper: ClassVar[str] = "Li et al. 2011"
    kind: ClassVar[str] = "one level per attribute, with suppression"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True
    promise: ClassVar[str] = "the largest k under delta_c and delta_d; l (all kinds), t, alpha, beta, delta"
    cost: ClassVar[str] = "n M + n log n + values x group sizes"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, limit in (("delta_c", self.delta_c), ("delta_d", self.delta_d)):
            number = isinstance(limit, int | float | np.integer | np.floating) and not isinstance(limit, bool)
            if limit is not None and not (number and math.isfinite(limit) and limit >= 0):
                fact = f"{name} is {limit!r}"
                raise ParameterError(fact, "use a number, at least 0, or None for no limit")
        if self.keep_values not in (True, False):
            fact = f"keep_values is {self.keep_values!r}"
            raise ParameterError(fact, "use true or false")

    def require_feasible(self, table: Table) -> None:
        """Refuse what no k makes possible; how large k can be is for the search to say."""
        try:
            super(IACc, replace(self, k=1)).require_feasible(table)
        except InfeasibleError:
            try:
                super().require_feasible(table)
            except InfeasibleError as error:
                hint = f"{error.hint}, before delta_c and delta_d"
                raise InfeasibleError(error.fact, hint, best=error.best) from None

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        generalized = generalize(table, progress)
        suppression = Suppression.of(generalized, self.privacy())
        found: Change | None = None
        for change in changes(generalized, suppression, suppression.steps()):
            progress("suppressing", change.n_rows, table.n_rows)
            if self._exceeded(change):
                break
            found = change
        progress("suppressing", table.n_rows, table.n_rows)
        k = 0 if found is None else suppression.largest_k(found.n_groups)
        if found is None or k < self.k:
            n_needed = suppression.at(min(self.k, table.n_rows))
            steps = takewhile(lambda n_groups: n_groups <= n_needed, suppression.steps())
            raise self._refusal(table, k, list(changes(generalized, suppression, steps)))
        return choice(generalized, suppression, found, replace(self, k=k).privacy())

    def _exceeded(self, change: Change) -> bool:
        """Alg. 2, line 11."""
        if self.delta_c is not None and change.alpha > self.delta_c + SAME:
            return True
        return self.delta_d is not None and (change.beta > self.delta_d + SAME or self._loses_values(change))

    def _loses_values(self, change: Change) -> bool:
        return self.keep_values and any(change.gone)

    def _refusal(self, table: Table, reached: int, way: list[Change]) -> InfeasibleError:
        """Tell the k that the thresholds allow, and the thresholds that would let the search come as far as k."""
        fact = (
            f"Limits delta_c = {_number(self.delta_c)} and delta_d = {_number(self.delta_d)} do not allow k = {self.k}"
        )
        if self.k > table.n_rows and reached:
            fact += f" of {table.n_rows} rows"
            return InfeasibleError(fact, f"the largest k that they allow is {reached}", best={"k": reached})
        k, last = min(self.k, table.n_rows), way[-1]
        needed: dict[str, float] = {}
        if self.delta_c is not None:
            needed["delta_c"] = _rounded_up(max(step.alpha for step in way))
        if self.delta_d is not None:
            needed["delta_d"] = _rounded_up(last.beta)
            if self._loses_values(last):
                needed["keep_values"] = False
        enough = ", ".join(f"{name} = {value}" for name, value in needed.items())
        hint = f"for k = {k}, {last.n_rows} of {table.n_rows} rows become '*', which takes {enough}"
        if reached:
            return InfeasibleError(fact, f"the largest k that they allow is {reached}; {hint}", best={"k": reached})
        return InfeasibleError(f"{fact}, nor any other", hint, best={"k": k} | needed)


def _rounded_up(value: float) -> float:
    """Four digits that are enough."""
    return math.ceil(value * 1e4) / 1e4


def _number(limit: float | None) -> str:
    return "None" if limit is None else f"{limit:g}"
