"""IACk: levels that serve classification, chosen by the data; then suppression of whatever is too small for k.

For each attribute by itself, take the level of its hierarchy that tells most about the class for the entropy that it
spends: the normalized mutual information I_N = I(A; C) / H(A). All rows are recoded to these levels. Groups of fewer
than k rows then lose their quasi-identifiers: every one of them becomes ``*``, while class and other columns stay.
The levels do not depend on k, and values of different levels or overlapping ranges never mix, which suits
classifiers.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, the group of ``*`` rows too.
``mode="paper"`` is Algorithm 1 to the letter: exactly the groups of fewer than k rows become ``*``, however few rows
that are. These are a group themselves, so such a release promises the k that it has, with a warning if that is less.
Cost: O(n M + n log n); each level of a hierarchy costs its number of values.
Use it when classifiers are trained on the release, above all together with columns that are not quasi-identifiers,
and when new rows must be recoded alike. Do not use it with attributes of many values and no hierarchy, or with many
attributes: nothing is generalized for the sake of k, so a sparse table ends as ``*`` only.

The paper's alpha and beta, the largest change of I_N and the largest normalized Kullback-Leibler divergence that
suppression caused in an attribute, are in `Release.levels` as ``information_change`` and ``divergence``, beside
the number of ``star_rows`` and of ``values_gone``, all of whose rows were suppressed. They are for the owner and not
part of the folder. `incrowd.level_curves`, `incrowd.group_size_curve` and `incrowd.suppression_curves` tell more.

Where the paper is silent: (1) `Intervals` have no levels, and get those of a balanced binary tree over their values.
(2) Fewer than k rows of ``*`` are a group smaller than k themselves, which the paper does not count: here the next
smallest groups are suppressed with them until they are enough; of equally large ones the group whose cells come first.
(3) Groups that fail l, t
or alpha are suppressed like small ones. (4) Levels whose I_N differ by less than 1e-9 are equal, and the one nearer the
leaves is taken. (5) Without a class, or with one class only, no level tells anything and none is generalized.
(6) A value that is gone would make beta infinite; as in the paper's largest divergence, one row of it counts as left.
(7) `Release.transform` recodes new rows to the levels and suppresses none, as the paper does with test rows. It is for
new rows that stay at home, such as test rows: the rows that were published must not be handed out recoded, for that
undoes the suppression, and what it returns carries no k and keeps the sensitive column.

Reference: Li, Liu, Baig, Wong: Information based data anonymization for classification utility, Data & Knowledge
Engineering 70 (2011), Algorithm 1.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [30, 30, 40, 40, 60, 60, 70, 30], "sex": list("ffffmmmm"), "ill": list("nnnnyyyy")})
>>> release = ic.IACk(k=3).publish(people, ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill"))
>>> sorted(release.frame.select("age", "sex").unique().rows())
[('30-40', 'f'), ('30-70', '*')]
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from incrowd.coding import Table
from incrowd.errors import ParameterError, PrivacyWarning, counted
from incrowd.publish.iac import Suppression, changes, choice, generalize
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Mode = Literal["filled", "paper"]


@dataclass(frozen=True, kw_only=True)
class IACk(GroupPublisher):
    """Best levels for classification, then suppression of small groups.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher` (alpha is not the paper's alpha, which is a result).
    mode
        ``"filled"``: groups are suppressed until the rows of ``*`` are k, too. ``"paper"``: Algorithm 1 to the letter,
        for k alone.
    """

    mode: Mode = "filled"

    name: ClassVar[str] = "iack"
    paper: ClassVar[str] = "Li et al. 2011"
    kind: ClassVar[str] = "one level per attribute, with suppression"
    cost: ClassVar[str] = "n M + n log n"
    cuts_weighted_rows: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in get_args(Mode):
            fact = f"mode is {self.mode!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Mode))}")
        if self.mode == "paper" and self.privacy().about_sensitive:
            fact = "mode='paper' keeps k and nothing else"
            raise ParameterError(fact, "use mode='filled' for l, t or alpha")

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        generalized = generalize(table, progress)
        suppression = Suppression.of(generalized, self.privacy())
        n_groups = suppression.at(self.k) if self.mode == "filled" else suppression.smaller_than(self.k)
        change = next(changes(generalized, suppression, [n_groups]))
        k = self.k if self.mode == "filled" else min(self.k, suppression.largest_k(n_groups))
        if k < self.k:
            rows = counted(change.n_rows, "row")
            words = f"{rows} of * are a group of fewer than {self.k}: this release keeps k = {k}, and promises no more"
            warnings.warn(words, PrivacyWarning, stacklevel=2)
        return choice(generalized, suppression, change, replace(self, k=k).privacy())
