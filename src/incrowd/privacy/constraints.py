"""Privacy constraints over the sensitive counts of a group.

A constraint knows three things: the guarantee that it writes into a manifest, the best that the whole table
can reach (no partition of a table does better than the table itself: each constraint is monotone), and
the numbers by which `incrowd.kernels.limits.holds` decides. There is one decision procedure, in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from incrowd.errors import InfeasibleError, ParameterError, SchemaError, counted
from incrowd.manifest import Guarantee
from incrowd.privacy.constraint import Constraint, Counts, Limits, exact, is_number, neighbour
from incrowd.privacy.likeness import BetaLikeness, DeltaDisclosure
from incrowd.privacy.width import Values, Width, reach, span

LKind = Literal["frequency", "distinct", "entropy", "recursive"]
T = TypeVar("T")
EachColumn: TypeAlias = T | Mapping[str, T]
"""One setting for every sensitive column, or one for each of them by name."""

_LARGEST_C = 1e9


@dataclass(frozen=True)
class KAnonymity(Constraint):
    """At least k rows."""

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            fact = f"k is {self.k!r}"
            raise ParameterError(fact, "use a whole number, at least 1")

    def guarantee(self) -> Guarantee:
        """Return the promise of k."""
        return Guarantee("k", k=int(self.k))

    def tighten(self, limits: Limits) -> None:
        """Ask for a size."""
        limits.size = max(limits.size, int(self.k))

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """A table of n rows reaches k = n."""
        del counts
        return None if n_rows >= self.k else {"k": n_rows}


@dataclass(frozen=True)
class LDiversity(Constraint):
    """Diverse sensitive values: by largest share, number of values, entropy, or recursive (c, l).

    ``frequency``: no share above 1/l (real l >= 1). ``distinct``: at least l values. ``entropy``: entropy >= log l.
    ``recursive``: r1 < c (r_l + r_(l+1) + ...) for the counts r1 >= r2 >= ... (Machanavajjhala et al. 2007).
    """

    l: float
    kind: LKind = "frequency"
    c: float = 3.0
    column: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(LKind):
            fact = f"l_kind is {self.kind!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(LKind))}")
        if not is_number(self.l) or self.l < 1:
            fact = f"l is {self.l!r}"
            raise ParameterError(fact, "use a number, at least 1")
        if self.kind in ("distinct", "recursive") and self.l != int(self.l):
            fact = f"l is {self.l!r} and l_kind is {self.kind!r}"
            raise ParameterError(fact, "use a whole number, because this kind counts values; or l_kind='frequency'")
        if not is_number(self.c) or not 0 < self.c <= _LARGEST_C:
            fact = f"c is {self.c!r}"
            raise ParameterError(fact, f"use a number above 0, at most {_LARGEST_C:g}")

    def guarantee(self) -> Guarantee:
        """Return the promise of l and its kind."""
        c = self.c if self.kind == "recursive" else None
        return Guarantee("l", l=self.l, l_kind=self.kind, c=c, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Write the kind's own limit."""
        if self.kind == "frequency":
            limits.share = min(limits.share, 1 / exact(self.l))
        elif self.kind == "distinct":
            limits.distinct = max(limits.distinct, int(self.l))
        elif self.kind == "entropy":
            limits.entropy = max(limits.entropy, math.log(self.l))
        else:
            limits.recursive_l, limits.recursive_c = int(self.l), exact(self.c)

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """No group is more diverse than the table."""
        ranked = np.sort(counts[counts > 0])[::-1]
        if self.kind == "frequency":
            top = Fraction(n_rows, int(ranked[0]))
            return None if top >= exact(self.l) else {"l": _rounded_down(float(top))}
        if self.kind == "distinct":
            return None if len(ranked) >= self.l else {"l": len(ranked)}
        if self.kind == "entropy":
            share = ranked / n_rows
            top_entropy = float(-(share * np.log(share)).sum())
            enough = top_entropy >= math.log(self.l) - 1e-12
            return None if enough else {"l": _rounded_down(math.exp(top_entropy))}
        tails = [int(ranked[i:].sum()) for i in range(len(ranked))]
        reached = sum(int(ranked[0]) < exact(self.c) * tail for tail in tails)
        if reached >= self.l:
            return None
        return {"l": reached} if reached else {"l": 1, "c": math.floor(ranked[0] / n_rows * 1e4 + 1) / 1e4}


@dataclass(frozen=True)
class TCloseness(Constraint):
    """Sensitive distribution within distance t of the table's (Li et al. 2007).

    Earth mover's distance: with equal ground distance half the sum of absolute differences, with
    ``ordered=True`` the cumulated differences divided by (number of values - 1). With ``tree=True`` values are as far
    apart as the height at which they meet in the tree that the schema gives the sensitive column, over the root's.
    """

    t: float
    ordered: bool = False
    column: str | None = None
    tree: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.t) or not 0 <= self.t <= 1:
            fact = f"t is {self.t!r}"
            raise ParameterError(fact, "use a number from 0 to 1")
        if self.ordered and self.tree:
            fact = "Both ordered and tree are true"
            raise ParameterError(fact, "measure t along the order of the values, or along their tree")

    def guarantee(self) -> Guarantee:
        """Return the promise of t."""
        return Guarantee("t", t=self.t, ordered=self.ordered, tree=self.tree or None, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Ask for closeness."""
        if self.tree:
            limits.t_of_tree = self.t
        else:
            limits.t, limits.ordered = self.t, self.ordered

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """The whole table is at distance 0 from itself."""
        del n_rows, counts
        return None


@dataclass(frozen=True)
class Alpha(Constraint):
    """No sensitive value has a share above alpha: with k, the (alpha, k)-anonymity of Wong et al. 2006."""

    alpha: float
    column: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.alpha) or not 0 < self.alpha <= 1:
            fact = f"alpha is {self.alpha!r}"
            raise ParameterError(fact, "use a number above 0, at most 1")

    def guarantee(self) -> Guarantee:
        """Return the promise of alpha."""
        return Guarantee("alpha", alpha=self.alpha, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Ask for a largest share."""
        limits.share = min(limits.share, exact(self.alpha))

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """No group has a smaller largest share than the table."""
        share = Fraction(int(counts.max()), n_rows)
        return None if share <= exact(self.alpha) else {"alpha": math.ceil(float(share) * 1e4) / 1e4}


@dataclass(frozen=True)
class LKC(Constraint):
    """Any combination of at most L quasi-identifiers' cells has K rows and no share above C (Mohammed et al. 2009).

    ``l`` is another way to write C = 1/l, and is meant exactly.
    """

    L: int
    K: int
    C: float = 1.0
    l: float = 1

    def __post_init__(self) -> None:
        KAnonymity(self.K)
        LDiversity(self.l)
        if isinstance(self.L, bool) or not isinstance(self.L, int | np.integer) or self.L < 1:
            fact = f"L is {self.L!r}"
            raise ParameterError(fact, "use a whole number, at least 1")
        if not is_number(self.C) or not 0 < self.C <= 1:
            fact = f"C is {self.C!r}"
            raise ParameterError(fact, "use a number above 0, at most 1")
        if self.C < 1 and self.l > 1:
            fact = f"C is {self.C:g} and l is {self.l:g}"
            raise ParameterError(fact, "give one of the two: l means C = 1/l")

    @property
    def confidence(self) -> Fraction:
        """The largest share, exactly."""
        return 1 / exact(self.l) if self.l > 1 else exact(self.C)

    def guarantee(self) -> Guarantee:
        """Return the promise of LKC; its C is not below 1/l."""
        C = float(self.confidence)
        while exact(C) < self.confidence:
            C = math.nextafter(C, 2)
        return Guarantee("lkc", L=int(self.L), K=int(self.K), C=C)

    def tighten(self, limits: Limits) -> None:
        """Ask for a size and a largest share, to be kept by every combination."""
        limits.size = max(limits.size, int(self.K))
        limits.share = min(limits.share, self.confidence)

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """No combination has more rows, or a smaller largest share, than the table."""
        share = LDiversity(self.l).best(n_rows, counts) if self.l > 1 else Alpha(self.C).best(n_rows, counts)
        named = {"C" if name == "alpha" else name: value for name, value in (share or {}).items()}
        return (KAnonymity(self.K).best(n_rows, counts) or {}) | named or None


@dataclass(frozen=True)
class Privacy:
    """The constraints that a method was asked to keep, together.

    Attributes
    ----------
    others_known
        Whether what is promised of one sensitive column also holds for somebody who has learned another one: in each
        part of a group whose rows share a value of the other column.
    """

    constraints: tuple[Constraint, ...]
    others_known: bool = False

    @classmethod
    def of(
        cls,
        k: int,
        *,
        l: EachColumn[float] = 1,
        l_kind: EachColumn[LKind] = "frequency",
        c: EachColumn[float] = 3.0,
        t: EachColumn[float | None] = None,
        alpha: EachColumn[float | None] = None,
        ordered: EachColumn[bool] = False,
        others_known: bool = False,
        beta: EachColumn[float | None] = None,
        enhanced: EachColumn[bool] = False,
        delta: EachColumn[float | None] = None,
        tree: EachColumn[bool] = False,
        width: EachColumn[float | None] = None,
    ) -> Privacy:
        """Collect constraints; ``l=1``, and ``None`` for the others, ask for nothing.

        Each may be a mapping from sensitive columns; a column that it does not name is asked for nothing by it.
        """
        columns: dict[str | None, None] = {}
        for setting in (l, l_kind, c, t, alpha, ordered, beta, enhanced, delta, tree, width):
            columns |= dict.fromkeys(setting) if isinstance(setting, Mapping) else {}
        chosen: list[Constraint] = [KAnonymity(k)]
        for name in columns or (None,):
            own_kind: LKind = own_of(l_kind, name, "frequency")
            diversity = LDiversity(own_of(l, name, 1), own_kind, own_of(c, name, 3.0), name)
            own_t, own_alpha = own_of(t, name, None), own_of(alpha, name, None)
            own_ordered = own_of(ordered, name, default=False)
            own_tree = own_of(tree, name, default=False)
            own_beta, own_delta = own_of(beta, name, None), own_of(delta, name, None)
            own_enhanced = own_of(enhanced, name, default=False)
            for about, is_set, what, given in (
                ("ordered", own_ordered, "t", own_t), ("enhanced", own_enhanced, "beta", own_beta),
                ("tree", own_tree, "t", own_t),
            ):  # fmt: skip
                if is_set and given is None:
                    fact = f"{about} is about {what}, and {what} was not given"
                    raise ParameterError(fact, f"give {what}, or leave {about} out")
            chosen += [diversity] if diversity.l > 1 or own_kind == "recursive" else []
            chosen += [TCloseness(own_t, own_ordered, name, own_tree)] if own_t is not None else []
            chosen += [Alpha(own_alpha, name)] if own_alpha is not None else []
            chosen += [BetaLikeness(own_beta, own_enhanced, name)] if own_beta is not None else []
            chosen += [DeltaDisclosure(own_delta, name)] if own_delta is not None else []
            own_width = own_of(width, name, None)
            chosen += [Width(own_width, name)] if own_width is not None else []
        return cls(tuple(chosen), others_known)

    @property
    def about_sensitive(self) -> bool:
        """Whether any constraint looks at sensitive values."""
        return any(not isinstance(constraint, KAnonymity) for constraint in self.constraints)

    def for_columns(self, names: Sequence[str]) -> Privacy:
        """Return these constraints with the names of the columns that each is about; with one column, none is named."""
        for constraint in self.constraints:
            if constraint.column is not None and constraint.column not in names:
                fact = f"Column {constraint.column!r} has limits of its own, and is not sensitive"
                raise ParameterError(fact, f"use one of {', '.join(map(repr, names))}" if names else "leave them out")
        if len(names) < 2:
            if self.others_known:
                fact = "others_known is about several sensitive columns, and the schema has not more than one"
                raise ParameterError(fact, "leave it out, or give other columns the role 'sensitive'")
            return Privacy(tuple(replace(c, column=None) if c.column else c for c in self.constraints))  # type: ignore[type-var]
        if self.others_known and not self.about_sensitive:  # limits of the schema are among the constraints by now
            fact = "others_known is about limits of sensitive values, and none of them was given"
            raise ParameterError(fact, "give l, t, alpha, beta, delta or width, or leave others_known out")
        found: list[Constraint] = [c for c in self.constraints if isinstance(c, KAnonymity)]
        for name in names:
            own = [c for c in self.constraints if not isinstance(c, KAnonymity) and c.column in (None, name)]
            found += [c if isinstance(c, LKC) else replace(c, column=name) for c in own]  # type: ignore[type-var]
        return Privacy(tuple(dict.fromkeys(found)), self.others_known)

    def guarantees(self, names: Sequence[str] = ()) -> tuple[Guarantee, ...]:
        """Return the promises about a table with these sensitive columns, as they stand in a manifest."""
        own = self.for_columns(names)
        found = (constraint.guarantee() for constraint in own.constraints)
        if not self.others_known:
            return tuple(found)
        return tuple(replace(promise, others_known=True) if promise.column else promise for promise in found)

    def limits(self, name: str | None = None) -> Limits:
        """Return what the kernels compare with, for one of the sensitive columns."""
        limits = Limits(others_known=self.others_known)
        for constraint in self.constraints:
            if constraint.column in (None, name):
                constraint.tighten(limits)
        return limits

    def shares(self, name: str, counts: Counts) -> npt.NDArray[np.int64]:
        """Return the least and the largest share of each value of a sensitive column, as the kernel reads them.

        No row where no constraint is about single values of any column.
        """
        limited = [c for c in self.constraints if c.shares(counts)]
        if not limited:
            return np.empty((0, 4), np.int64)
        n = max(1, int(counts.sum()))
        least, most = [Fraction(0)] * len(counts), [Fraction(1)] * len(counts)
        for constraint in limited:
            if constraint.column in (None, name):
                for v, (low, high) in enumerate(constraint.shares(counts)):
                    least[v] = max(least[v], neighbour(low, n, above=True))
                    most[v] = min(most[v], neighbour(high, n, above=False))
        between = [(a.numerator, a.denominator, b.numerator, b.denominator) for a, b in zip(least, most, strict=True)]
        return np.array(between, np.int64)

    @property
    def has_widths(self) -> bool:
        """Whether a group's values of any column have to be far apart."""
        return any(isinstance(constraint, Width) for constraint in self.constraints)

    def reach(self, name: str, values: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Return the first value of a column that is far enough above each, as the kernel reads them."""
        widths = [c.width for c in self.constraints if isinstance(c, Width) and c.column in (None, name)]
        if not widths:
            return np.zeros(len(values), np.int32)
        return reach(values, max(map(exact, widths)))

    def require_feasible(
        self,
        n_rows: int,
        counts: Mapping[str, Counts],
        ordered: Sequence[str] = (),
        values: Values | None = None,
    ) -> None:
        """Refuse what even one group of all rows would not satisfy, with the closest setting in the error.

        Parameters
        ----------
        counts
            How often each value of each sensitive column occurs.
        ordered
            The sensitive columns whose values have an order of their own.
        values
            The values of the sensitive columns that are numbers.
        """
        own = self.for_columns(list(counts))
        if own.about_sensitive and not counts:
            fact = "Parameters other than k are about sensitive values, and the schema has no sensitive column"
            raise SchemaError(fact, "give a column the role 'sensitive', or ask for k only")
        for constraint in own.constraints:
            named = constraint.column or next(iter(counts), "")
            if isinstance(constraint, TCloseness) and constraint.ordered and named not in ordered:
                fact = "ordered is true, and the sensitive values are names: their order would be the alphabet's"
                raise ParameterError(fact, "leave ordered out, or code the values as numbers")
            if isinstance(constraint, Width) and named not in (values or {}):
                fact = f"width is given for {named!r}, whose values are no numbers"
                raise ParameterError(
                    fact, "leave width out, or give it for the columns of numbers only, by their names"
                )
        best: dict[str, Any] = {}
        for constraint in own.constraints:
            for name in [constraint.column] if constraint.column else list(counts) or [""]:
                reached = constraint.best(n_rows, counts.get(name, np.empty(0, np.int64)))
                if isinstance(constraint, Width) and (wide := span((values or {})[name])) < constraint.width:
                    reached = {"width": wide}
                for key, value in (reached or {}).items():
                    best[key] = best.get(key, {}) | {name: value} if constraint.column else value
        if best:
            asked = ", ".join(constraint.guarantee().text for constraint in own.constraints)
            closest = ", ".join(f"{name} = {_written(value)}" for name, value in best.items())
            fact = f"No release of a table with {counted(n_rows, 'row')} can keep {asked}"
            hint = f"use {closest}, the closest that this table can reach"
            raise InfeasibleError(fact, hint, best=best)


def own_of(setting: EachColumn[T], name: str | None, default: T) -> T:
    """Return the setting of one sensitive column."""
    return setting.get(str(name), default) if isinstance(setting, Mapping) else setting


def _written(value: float | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number:g} for {name!r}" for name, number in value.items())
    return f"{value:g}"


def _rounded_down(value: float) -> float:
    """Four digits that are still reachable."""
    return math.floor(value * 1e4) / 1e4
