"""Reading of what a rule audit is given: rule tables of any kind, public names, the numbers told, and baskets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import InputError, ParameterError
from incrowd.hierarchy.hierarchy import text

Bools = npt.NDArray[np.bool_]
Items = frozenset[str]

_WHOLE = 0.01  # n x support is this near to a whole number, unless it was rounded
_SOLVER = 1e-6
_CLOSE = 0.75
MOST_SHOWN = 8
HOW_ROUNDED = "check --people (n=); if the numbers are rounded, say how much with --rounding (rounding=)"
_EXPECTED = "expected supports, as of rules_from_release, need no audit: a release keeps its promise whatever is mined"
_UNDERSTOOD = ("antecedents", "consequents", "antecedent support", "support", "confidence", "representativity")
_OF_RIGHT = (
    *("consequent support", "lift", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski"),
)


class Rule(NamedTuple):
    """The sides of a rule by who knows them, and whether the number of people with the right side is told too."""

    left_public: Items
    left_private: Items
    right_public: Items
    right_private: Items
    tells_right: bool

    @property
    def left(self) -> Items:
        """All items of the left side."""
        return self.left_public | self.left_private

    @property
    def right(self) -> Items:
        """All items of the right side."""
        return self.right_public | self.right_private

    def parts(self) -> list[Rule]:
        """Return the rule, and the rule without a left side that stands for the number of people with the right one."""
        rule = self._replace(tells_right=False)
        nothing: Items = frozenset()
        return [rule, rule._replace(left_public=nothing, left_private=nothing)] if self.tells_right else [rule]


def read_columns(rules: Any) -> tuple[dict[str, list[Any]], list[str]]:  # noqa: ANN401
    """Read a rule table of any kind by columns."""
    if isinstance(rules, Sequence) and not isinstance(rules, str):
        if not all(isinstance(rule, Mapping) for rule in rules):
            fact = "A list of rules must hold a dict for each rule"
            raise InputError(fact, "with antecedents, consequents, support and confidence")
        names = list(dict.fromkeys(str(name) for rule in rules for name in rule))
        table = {name: [rule.get(name) for rule in rules] for name in names}
        if not rules:
            table = {name: [] for name in ("antecedents", "consequents", "support", "confidence")}
    elif hasattr(rules, "column_names"):
        table = {name: rules[name].to_pylist() for name in rules.column_names}
    elif hasattr(rules, "columns"):
        table = {str(name): rules[name].to_list() for name in rules.columns}
    else:
        fact = f"Expected a table of rules, got {type(rules).__name__}"
        raise InputError(fact, "give a frame or a list of dicts")
    lacking = [name for name in ("antecedents", "consequents", "support", "confidence") if name not in table]
    if lacking:
        fact = f"The rule table has no column {', '.join(map(repr, lacking))}"
        raise InputError(fact, "rename its columns as mlxtend's association_rules names them")
    strange = [name for name in table if name not in _UNDERSTOOD + _OF_RIGHT]
    return table, [f"what column {name!r} tells was not examined" for name in strange]


def sides_of(table: Mapping[str, list[Any]], i: int, separator: str | None) -> tuple[Items, Items]:
    """Return the items of both sides of a rule."""
    left, right = (_items(table[side][i], separator) for side in ("antecedents", "consequents"))
    if not right or left & right:
        fact = f"Rule {i + 1} has an empty right side or items on both sides"
        raise InputError(fact, "a rule has different items on its two sides")
    return left, right


def read_rule(table: Mapping[str, list[Any]], i: int, left: Items, right: Items, known: Items) -> Rule:
    """Divide the sides of a rule by what is known."""
    tells_right = any(table[name][i] is not None for name in _OF_RIGHT if name in table)
    return Rule(left & known, left - known, right & known, right - known, tells_right)


def _items(side: Any, separator: str | None) -> Items:  # noqa: ANN401
    if isinstance(side, str):
        if separator is None:
            fact = "The sides of the rules are text, and it is not said what stands between items"
            raise InputError(fact, 'give lists or sets of items, or separator=", "')
        return frozenset(item.strip() for item in side.split(separator) if item.strip())
    if not isinstance(side, Iterable):
        fact = f"A side of a rule is {type(side).__name__}, not a list or set of items"
        raise InputError(fact, "give lists or sets of items")
    return frozenset(map(str, side))


def _column_ends(item: str) -> list[int]:
    """Return where the column of an item ``column=value`` may end: columns and values may have a "=" of their own."""
    return [at for at, letter in enumerate(item) if letter == "="]


def public_items(public: Items, items: Items, people: People | None, real: Items) -> tuple[Items, list[str]]:
    """Return the items of the rules that are public, by their own names or as values of public columns, and notes.

    Which names are columns is known with a table; baskets have none. Without a table, a name is taken for a column
    unless it is an item of the rules: "pill=strong" is no value of "pill" when "pill" is bought as such. `real` names
    are known to be spelt well.
    """
    columns = public - items if people is None else public & people.columns
    column_of = {item: {item[:at] for at in _column_ends(item)} & columns for item in items}
    known = frozenset(item for item in items if item in public or column_of[item])
    unmatched = public - items - real - set().union(*column_of.values())
    if people is not None:
        unmatched = frozenset(name for name in unmatched if not people.knows(name))
    return known, _doubts(unmatched, items - known)


def _doubts(unmatched: Items, private: Items) -> list[str]:
    """Refuse public names that look like misspelt private ones; return a note about others that nothing matches."""
    for name in sorted(unmatched):
        meant = _like(name, private)
        if meant is not None:
            fact = f"No rule has the public item {name!r}, and {meant!r} would be taken as private: did you mean it?"
            raise ParameterError(fact, "write public items as the rules do; leave out those that no rule has")
    if not unmatched:
        return []
    shown = ", ".join(map(repr, sorted(unmatched)[:MOST_SHOWN])) + (" ..." if len(unmatched) > MOST_SHOWN else "")
    return [f"no rule has the public item(s) {shown}: if misspelt, taken as private"]


def _like(name: str, private: Items) -> str | None:
    """Return a private item or column that a name may have been meant for; one with another number is another one."""
    for item in sorted(private):
        if item.startswith(f"{name}="):
            return item
    names = sorted(private | {item[:at] for item in private for at in _column_ends(item)[:1]})
    for other in names:
        if other.casefold() == name.casefold():
            return other
    column, _, value = name.rpartition("=")
    start = f"{column}=" if column else ""
    rest = {other[len(start) :]: other for other in names if other.startswith(start)}
    near = get_close_matches(value, [one for one in rest if _letters(one) != _letters(value)], n=1, cutoff=_CLOSE)
    if not near and start:
        rest = {other: other for other in names if not f"{other}=".startswith(start)}
        near = get_close_matches(name, [one for one in rest if _letters(one) != _letters(name)], n=1, cutoff=_CLOSE)
    return rest[near[0]] if near else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def told_counts(table: Mapping[str, list[Any]], i: int, n: int, rounding: float) -> list[tuple[str, int, int]]:
    """Return bounds of the number of people with both sides, the left one, and the right one if it is told."""
    support, confidence = _number(table, "support", i), _number(table, "confidence", i)
    if not (0 <= support <= 1 and 0 <= confidence <= 1):
        fact = f"Rule {i + 1} has a support of {support} and a confidence of {confidence}"
        raise InputError(fact, "both are shares from 0 to 1; divide percentages by 100")
    both = _whole(n, support, support, rounding, i, "support")
    found = [("both", *both)]
    if confidence - rounding > 0 and both[1] > 0:
        least, most = both[0] / min(1.0, confidence + rounding), both[1] / (confidence - rounding)
        found.append(("left", *_whole(1, least, most, 0.0 if rounding == 0 else _SOLVER, i, "confidence")))
    if "antecedent support" in table and table["antecedent support"][i] is not None:
        share = _number(table, "antecedent support", i)
        found.append(("left", *_whole(n, share, share, rounding, i, "antecedent support")))
    if "consequent support" in table and table["consequent support"][i] is not None:
        share = _number(table, "consequent support", i)
        found.append(("right", *_whole(n, share, share, rounding, i, "consequent support")))
    elif rounding == 0 and "lift" in table and table["lift"][i]:
        share = confidence / _number(table, "lift", i)
        found.append(("right", *_whole(n, share, share, rounding, i, "lift")))
    return [(what, least, min(most, n)) for what, least, most in found]


def _number(table: Mapping[str, list[Any]], name: str, i: int) -> float:
    try:
        return float(table[name][i])
    except (TypeError, ValueError):
        fact = f"The {name} of rule {i + 1} is not a number"
        raise InputError(fact, "give each rule a support and a confidence, as shares from 0 to 1") from None


def _whole(n: int, low: float, high: float, rounding: float, i: int, name: str) -> tuple[int, int]:
    """Return the whole numbers of people that a share can stand for."""
    if rounding == 0:
        nearest = round(n * low)
        if abs(n * low - nearest) > _WHOLE:
            fact = f"The {name} of rule {i + 1} gives {n * low:.4g} people, which is not a whole number"
            raise InputError(fact, f"{HOW_ROUNDED}; {_EXPECTED}")
        return nearest, nearest
    least, most = max(0, math.ceil(n * (low - rounding) - _SOLVER)), math.floor(n * (high + rounding) + _SOLVER)
    if least > most:
        fact = f"No whole number of people, out of {n}, gives the {name} of rule {i + 1}"
        raise InputError(fact, "check --people (n=); the numbers may be rounded more than --rounding (rounding=) says")
    return least, most


class People:
    """The table that rules are said to be about: baskets, a frame of bools, or any other frame."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401
        self.columns: Items = frozenset()
        self._baskets: list[Items] | None = None
        if isinstance(data, Sequence) and not isinstance(data, str):
            self._baskets = [frozenset(map(str, basket)) for basket in data]
            self.n = len(self._baskets)
            self._items = frozenset[str]().union(*self._baskets)
        else:
            self._frame = io.to_polars(data)
            self.n = self._frame.height
        if self.n == 0:
            fact = "The table has no people"
            raise InputError(fact, "give the table that the rules were made from")
        if self._baskets is not None:
            return
        if all(dtype == pl.Boolean for dtype in self._frame.dtypes):
            self._items = frozenset(self._frame.columns)
            return
        self.columns = frozenset(self._frame.columns)
        self._items = frozenset(f"{column.name}={label}" for column in self._frame for _, label in _values(column))

    def knows(self, name: str) -> bool:
        """Return whether this is an item or a column."""
        return name in self._items or name in self.columns

    def having(self, items: set[str]) -> dict[str, Bools]:
        """Return who has each item that the rules name."""
        has = {item: np.zeros(self.n, np.bool_) for item in items}
        if self._baskets is not None:
            for person, basket in enumerate(self._baskets):
                for item in basket & items:
                    has[item][person] = True
        elif not self.columns:
            for name in items & self._items:
                has[name] = self._frame[name].fill_null(value=False).to_numpy().copy()
        else:
            for column in self._frame:
                for value, label in _values(column):
                    if f"{column.name}={label}" in items:
                        has[f"{column.name}={label}"] = (column == value).fill_null(value=False).to_numpy().copy()
        return has


def _values(column: pl.Series) -> Iterable[tuple[Any, str]]:
    values = column.drop_nulls().unique()
    return zip(values.to_list(), text(values), strict=True)


def differs(
    table: Mapping[str, list[Any]], i: int, rule: Rule, has: Mapping[str, Bools], n: int, rounding: float
) -> bool:
    """Return whether a rule has another support or confidence in a table than it says."""
    everybody = np.ones(n, np.bool_)
    left = np.logical_and.reduce([everybody, *(has[item] for item in rule.left)])
    both = int(np.logical_and.reduce([left, *(has[item] for item in rule.right)]).sum())
    support, confidence = _number(table, "support", i), _number(table, "confidence", i)
    slack = rounding + _SOLVER
    return abs(both / n - support) > slack or abs(both / max(1, int(left.sum())) - confidence) > slack
