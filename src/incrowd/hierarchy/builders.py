"""Recipes that build a hierarchy from a column's values.

All of them put the values in order and say where each level's nodes begin. A node is named after its leaves: ``21-30``
for numbers, ``a|b|c`` or ``first to last`` for names, and the leaf's own name when it has only one; the root is ``*``.
A level that joins nothing more than the one below is left out. Missing values become a leaf of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any

import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.class_order import class_order
from incrowd.hierarchy.entropy_cuts import Criterion, require_criterion
from incrowd.hierarchy.hierarchy import Hierarchy, Weights, check_known_keys, count_missing, require_values
from incrowd.hierarchy.name_trees import common_tree, words_tree
from incrowd.hierarchy.trees import balanced_tree, bins_tree, dates_tree, frequency_tree, mdl_tree, prefixes_tree

_COUNTED = ("frequency", "prefixes", "words", "common")  # recipes that count rows
_CERTAIN = 20  # rows from which the share of a class among them says something: it is known to about 0.1


@dataclass(frozen=True, repr=False)
class Builder:
    """A recipe for a hierarchy, made by `balanced`, `bins`, `prefixes`, `words` and their like.

    Parameters
    ----------
    kind
        The recipe's name.
    parameters
        Its settings, already checked.
    """

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def supervised(self) -> bool:
        """Whether the target has a say in the tree."""
        return self.kind in ("mdl", "by_class")

    def build(
        self, column: pl.Series, target: pl.Series | None = None, weights: Weights | None = None, least: float = 1
    ) -> Hierarchy:
        """Return the hierarchy over this column's values.

        With `weights`, each entry stands for so many rows. `least` is the number of rows below which a value is rare:
        k, where it is known, and infinite where the class is protected and may order nothing.
        """
        require_values(column)
        given: dict[str, Any] = {"target": target} if self.supervised else {}
        if self.supervised or self.kind in _COUNTED:
            given["weights"] = weights
        given |= self.parameters
        if self.kind == "by_class":
            given["at_least"] = max(least, given.get("at_least", _CERTAIN))
        if self.kind == "common" and isfinite(least):
            given["at_least"] = max(int(least), given["at_least"])
        built = BUILDERS[self.kind](column, **given)
        return built.with_missing() if count_missing(column) else built

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **parameters}``."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in self.parameters.items()}}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Builder:
        """Make a recipe from what `to_dict` returned, or from a schema file."""
        kind = data.get("kind")
        if kind not in _RECIPES:
            fact = f"A hierarchy is of unknown kind {kind!r}"
            raise HierarchyError(fact, f"use one of {', '.join(_RECIPES)}")
        recipe = _RECIPES[kind]
        check_known_keys(data, {"kind", *inspect.signature(recipe).parameters}, f"A hierarchy of kind {kind!r}")
        return recipe(**{name: value for name, value in data.items() if name != "kind"})

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted(self.parameters.items()))))

    def __repr__(self) -> str:
        bare = ("branching", "width", "step", "at_least", "at")
        settings = [(name, repr(_plain(value))) for name, value in self.parameters.items()]
        written = [v if at == 0 and name in bare else f"{name}={v}" for at, (name, v) in enumerate(settings)]
        return f"{self.kind}({', '.join(written)})"


def balanced(branching: int = 5) -> Builder:
    """Return a recipe for the NSVDist paper's automatic tree: height ceil(log_b n), at most b children per node.

    The paper sorts the values and leaves open how they are shared out among the nodes. Here node i of depth d begins
    at value floor(i n / b^d), so that nodes of one depth differ by at most one value. The paper sorts alphabetically;
    here numbers and dates are sorted as such, and only text alphabetically. A single value has the root above it.

    References
    ----------
    The NSVDist paper (2014), section 5.2.

    Examples
    --------
    >>> import polars as pl
    >>> tree = balanced(2).build(pl.Series("age", [21, 30, 42, 55]))
    >>> tree.label(0, 1), tree.label(2, 3), tree.label(0, 3)
    ('21-30', '42-55', '*')
    """
    return Builder("balanced", {"branching": _whole("balanced", "branching", branching, at_least=2)})


def bins(
    width: float | None = None,
    *,
    start: float | None = None,
    edges: Sequence[Any] | None = None,
    levels: int | None = None,
) -> Builder:
    """Return a recipe for numeric bins: of equal width, each next level twice as wide; or between given edges.

    Parameters
    ----------
    width
        Width of the finest bins.
    start
        Where a bin begins; by default 0, or the multiple of the width below the smallest value if that is negative.
    edges
        Increasing numbers, in place of a width. A value belongs to the bin of the largest edge that is not above it;
        the values below the first edge form a bin too. Or several such lists, one per level, each a part of the
        one before.
    levels
        Number of levels of bins of equal width; by default as many as it takes until one bin holds everything.

    Examples
    --------
    >>> import polars as pl
    >>> tree = bins(10).build(pl.Series("age", [18, 21, 23, 29, 30, 44]))
    >>> tree.label(1, 3), tree.label(1, 4), tree.label(0, 4), tree.label(0, 5)
    ('21-29', '21-30', '18-30', '*')
    """
    if (width is None) == (edges is None):
        fact = "bins() got neither width nor edges" if width is None else "bins() got both width and edges"
        raise HierarchyError(fact, "give one of them: bins(10) or bins(edges=[18, 30, 65])")
    if edges is not None:
        if start is not None or levels is not None:
            fact = f"bins() got edges together with {'start' if start is not None else 'levels'}"
            raise HierarchyError(fact, "leave it out; for several levels give one list of edges per level")
        return Builder("bins", {"edges": _check_edges(edges)})
    parameters: dict[str, Any] = {"width": _number("bins", "width", width)}
    if parameters["width"] <= 0:
        fact = f"bins() got width={width!r}"
        raise HierarchyError(fact, "the width is above 0")
    if start is not None:
        parameters["start"] = _number("bins", "start", start)
    if levels is not None:
        parameters["levels"] = _whole("bins", "levels", levels, at_least=1)
    return Builder("bins", parameters)


def prefixes(step: int = 1, *, branching: int | None = None) -> Builder:
    """Return a recipe that hides characters from the right, ``step`` more in each level, as for zip codes.

    Values are text, or whole numbers that are not negative and are read with leading zeros up to the widest. Shorter
    text is aligned left: a level keeps the first characters up to the same place in all values, a value that is no
    longer than that stays whole, and the stars in a name reach to the longest value. The root shows what all values
    share; if that is nothing, it is ``*``. With `branching`, a node with more children than that is divided into so
    many parts of about equal numbers of rows, and these again: methods that cut nodes need every child to have k rows.

    Examples
    --------
    >>> import polars as pl
    >>> tree = prefixes().build(pl.Series("zip", ["10055", "10023", "10165", "10224"]))
    >>> tree.leaves.to_list()
    ['10023', '10055', '10165', '10224']
    >>> tree.label(0, 1), tree.label(0, 3)
    ('100**', '10***')
    """
    parameters = {"step": _whole("prefixes", "step", step, at_least=1)}
    if branching is not None:
        parameters["branching"] = _whole("prefixes", "branching", branching, at_least=2)
    return Builder("prefixes", parameters)


def words(at: str = "start", *, branching: int = 3) -> Builder:
    """Return a recipe for names that share words: by their first three, two and one words, or by their last ones.

    Upper and lower case are the same, and so is whatever stands between words. A node with more than `branching`
    children is divided into so many parts of about equal numbers of rows, in the order of the words, and these again.

    Parameters
    ----------
    at
        ``"start"`` for *Nurse, surgical*; ``"end"`` for *surgical nurse*.
    branching
        The number of parts.

    Examples
    --------
    >>> import polars as pl
    >>> tree = words().build(pl.Series("job", ["Nurse, surgical", "Cook", "Nurse (night)"]))
    >>> tree.leaves.to_list(), tree.label(1, 2)
    (['Cook', 'Nurse (night)', 'Nurse, surgical'], 'Nurse *')
    """
    if at not in ("start", "end"):
        fact = f"Recipe words() got at={at!r}"
        raise HierarchyError(fact, "use 'start' or 'end'")
    return Builder("words", {"at": at, "branching": _whole("words", "branching", branching, at_least=2)})


def common(at_least: int = _CERTAIN, *, branching: int = 5) -> Builder:
    """Return a recipe that keeps common values and joins rare ones, for names that have nothing else in common.

    The values with fewer than `at_least` rows (or k, if that is more) are joined before any of them is joined with a
    common one. Where many are joined, they are joined in parts of about equal numbers of rows first, `branching` of
    them and each of these again: neighbours in alphabetical order.

    Examples
    --------
    >>> import polars as pl
    >>> tree = common(3).build(pl.Series("town", ["Rome"] * 9 + ["Oslo"] * 5 + ["Bonn", "Kyiv", "Lima"]))
    >>> tree.leaves.to_list(), tree.label(2, 4), tree.label(0, 0)
    (['Oslo', 'Rome', 'Bonn', 'Kyiv', 'Lima'], 'rare (in fewer than 3 rows each)', 'Oslo')
    """
    parameters = {"at_least": at_least, "branching": branching}
    least = {"at_least": 1, "branching": 2}
    return Builder("common", {n: _whole("common", n, v, at_least=least[n]) for n, v in parameters.items()})


def dates() -> Builder:
    """Return a recipe for day, month, quarter, year, decade and ``*``, over dates, timestamps or ISO text.

    Text stays text: ``2024-03-05``, or with a time after it (``2024-03-05T10:30``), which is hidden first.

    Examples
    --------
    >>> import polars as pl
    >>> tree = dates().build(pl.Series("born", ["2024-03-05", "2024-03-09", "2024-01-30", "2023-07-01"]))
    >>> tree.label(2, 3), tree.label(1, 3), tree.label(0, 0)
    ('2024-03', '2024-Q1', '2023-07-01')
    """
    return Builder("dates")


def frequency(branching: int = 5) -> Builder:
    """Return a recipe for a tree whose nodes of depth d hold about 1 / b^d of the rows each.

    The rows are lined up by value, and a value belongs to the part in which its middle row lies; the nodes of a depth
    are the b^d equal parts that hold a value. Distinct values have distinct middles, so the tree ends.

    Examples
    --------
    >>> import polars as pl
    >>> tree = frequency(2).build(pl.Series("age", [21, 21, 21, 21, 30, 42, 55, 60]))
    >>> tree.label(0, 0), tree.label(1, 4)
    ('21', '30-60')
    """
    return Builder("frequency", {"branching": _whole("frequency", "branching", branching, at_least=2)})


def mdl(criterion: Criterion = "fayyad") -> Builder:
    """Return a recipe that cuts a numeric column where the classes of the target come apart (Fayyad and Irani 1993).

    The root is cut first; each round of the recursion gives a level. When no cut is worth its description, only the
    values and ``*`` remain. A missing class counts as a class of its own. The cuts are published with the release and
    tell a little about the target: where it is also the sensitive column, weigh that.

    Parameters
    ----------
    criterion
        When a cut is worth its description: ``"fayyad"``, or ``"kononenko"`` (1995), which cuts more in few rows.

    Examples
    --------
    >>> import polars as pl
    >>> age = pl.Series("age", [20, 25, 30, 40, 50, 60] * 9)
    >>> tree = mdl().build(age, target=age > 33)
    >>> tree.label(0, 2), tree.label(3, 5)
    ('20-30', '40-60')
    """
    require_criterion(criterion)
    return Builder("mdl", {} if criterion == "fayyad" else {"criterion": criterion})


def by_class(at_least: int = _CERTAIN) -> Builder:
    """Return a recipe for ranges of names, which it puts in the order of the classes of their rows.

    With two classes that is the share of one of them among the rows of a name; with more, the place on the axis along
    which these shares differ most. So a range holds names that mean about the same for the class: what `BestCuts` and
    classifiers make the most of. Names with fewer than k or `at_least` rows say nothing certain, and stand together in
    the middle, in alphabetical order. The order is published with the release and tells which names have more of a
    class than others. So where the class is the sensitive column and l, t or alpha protect it, all names stand in
    alphabetical order: by the order an adversary was right about people of Adult in 97 %, where 77 % was promised.

    Examples
    --------
    >>> import polars as pl
    >>> job = pl.Series("job", ["baker", "clerk", "nurse", "clerk", "nurse", "baker"] * 10)
    >>> jobs = by_class().build(job, target=job == "clerk")
    >>> jobs.leaves.to_list(), jobs.label(0, 1)
    (['clerk', 'baker', 'nurse'], 'clerk|baker')
    """
    return Builder("by_class", {"at_least": _whole("by_class", "at_least", at_least, at_least=1)})


BUILDERS: dict[str, Callable[..., Hierarchy]] = {
    "balanced": balanced_tree,
    "bins": bins_tree,
    "prefixes": prefixes_tree,
    "dates": dates_tree,
    "frequency": frequency_tree,
    "mdl": mdl_tree,
    "by_class": class_order,
    "words": words_tree,
    "common": common_tree,
}
_RECIPES: dict[str, Callable[..., Builder]] = {
    "balanced": balanced,
    "bins": bins,
    "prefixes": prefixes,
    "dates": dates,
    "frequency": frequency,
    "mdl": mdl,
    "by_class": by_class,
    "words": words,
    "common": common,
}


def _check_edges(edges: Sequence[Any]) -> tuple[Any, ...]:
    lists = [list(level) if isinstance(level, Sequence) else None for level in edges]
    if not lists or (any(level is None for level in lists) and any(level is not None for level in lists)):
        fact = "bins() got edges that are neither a list of numbers nor a list of such lists"
        raise HierarchyError(fact, "write edges=[18, 30, 65] or edges=[[18, 30, 65], [30]]")
    flat = lists[0] is None
    checked = [tuple(_number("bins", "edges", edge) for edge in level) for level in ([edges] if flat else edges)]
    for height, level in enumerate(checked, start=1):
        if not level or any(low >= high for low, high in pairwise(level)):
            fact = f"bins() got edges of level {height} that are {'not increasing' if level else 'empty'}"
            raise HierarchyError(fact, "list the edges of a level from low to high, each once")
    for height, (finer, coarser) in enumerate(pairwise(checked), start=2):
        if not set(coarser) <= set(finer):
            fact = f"bins() got edges of level {height} that are not all edges of level {height - 1}"
            raise HierarchyError(fact, "a coarser level leaves edges out and adds none")
    return checked[0] if flat else tuple(checked)


def _number(recipe: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        fact = f"{recipe}() got {name}={value!r}"
        raise HierarchyError(fact, "give a finite number")
    return int(value) if isinstance(value, Integral) else float(value)


def _whole(recipe: str, name: str, value: object, *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        fact = f"{recipe}() got {name}={value!r}"
        raise HierarchyError(fact, f"give a whole number, at least {at_least}")
    return int(value)


def _plain(value: Any) -> Any:  # noqa: ANN401
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
