"""Association rules from an anonymized release, and how far they are from the rules of the original table.

A released row does not say which values its person has, but how likely each is: a quasi-identifier is one of the leaves
of its cell, in proportion to the published marginal; the sensitive value is distributed as published (or exact); other
columns are exact. Given the row, columns are taken as independent, exactly as `Release.sample` draws them. The
*expected support* of an itemset is the mean over rows of the product of its items' probabilities: what the supports of
many samples tend to, without their noise. The confidence of a rule is the expected support of both sides over that of
its left side.

Cost: that of `itemsets` with a number, not a bit, for each distinct row and frequent item.

Where the papers are silent: the paper that combines NSVDist with association rules ("NSGVD") names them in its title
and conclusion and describes no way of mining them, no measure and no example. The expectation follows the sampling of
Last et al. 2014, section 5.1; the measures of `compare_rules` are those that the literature on hiding rules uses (rules
that are lost, rules that are not there, and how far off the numbers are).

A release keeps its promise whatever is computed from it, so these rules need no further protection.

>>> import incrowd as ic
>>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "ill": ["yes", "yes", "no", "yes"]})
>>> schema = ic.Schema(quasi={"sex": None}, sensitive="ill")
>>> release = ic.Mondrian(k=2).publish(frame, schema, seed=1)
>>> found = rules_from_release(release, min_support=0.3, min_confidence=0.7)
>>> found.select("antecedents", "consequents", "support", "confidence").rows()
[(['sex=f'], ['ill=yes'], 0.5, 1.0)]
"""

from __future__ import annotations

import html
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import InputError, SchemaError
from incrowd.hierarchy.hierarchy import text
from incrowd.release import RowRelease
from incrowd.release.atoms import Atoms
from incrowd.release.soft import chances
from incrowd.rules.itemsets import ROUNDING, Progress, check_thresholds, frequent, rules_frame, rules_of

Floats = npt.NDArray[np.float64]
Cuts = Mapping[str, Sequence[float]]
_FEWEST_RANKED = 3  # rules whose order can agree or not


def rules_from_release(
    release: RowRelease,
    *,
    min_support: float = 0.01,
    min_confidence: float = 0.5,
    max_len: int | None = None,
    columns: Collection[str] | None = None,
    cuts: Cuts | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Mine association rules by expected supports from a release.

    Parameters
    ----------
    release
        A release with exact sensitive values or distributions.
    min_support, min_confidence, max_len
        As in `anonymous_rules`.
    columns
        The columns whose values are items; by default all.
    cuts
        For columns of numbers, where ranges begin: ``{"age": [30, 50]}`` makes the items ``age=<30``, ``age=30-<50``
        and ``age=>=50``. Prepare the original with `in_ranges`, to compare.
    progress
        Called with (stage, done, total).

    Returns
    -------
    polars.DataFrame
        Rules with the column names of mlxtend; lift included.
    """
    RowRelease.expect(release, "for a table see anonymous_rules")
    check_thresholds(min_support, min_confidence, max_len)
    least = min_support * release.n_rows * (1 - ROUNDING)
    rows, weights = _distinct_rows(release)
    names, vectors, column_of = [], [], []
    for number, (column, labels, likely) in enumerate(_columns(release, rows, columns, cuts or {})):
        for value in np.flatnonzero(weights @ likely >= least):
            names.append(_item(column, labels[value]))
            vectors.append(likely[:, value])
            column_of.append(number)
    found = frequent(
        np.array(vectors).reshape(len(vectors), len(weights)),
        np.multiply,
        lambda vectors: vectors @ weights,
        least,
        column_of=np.array(column_of, np.int64),
        max_len=max_len,
        progress=progress,
    )
    return rules_frame(rules_of(found, names, release.n_rows, min_confidence), lift=True)


def in_ranges(frame: Any, cuts: Cuts) -> Any:  # noqa: ANN401
    """Replace numbers by their ranges, so that a table has the items of `rules_from_release` with cuts."""
    table = io.to_polars(frame)
    changed = [_range_names(table[name], starts) for name, starts in cuts.items()]
    return io.from_polars(table.with_columns(changed), io.kind_of(frame))


def _range_names(column: pl.Series, starts: Sequence[float]) -> pl.Series:
    labels = _ranges(column.name, starts)
    named = [None if at is None else labels[at] for at in _range_of(column, starts)]
    return pl.Series(column.name, named, pl.String)


def _range_of(values: pl.Series, starts: Sequence[float]) -> list[int | None]:
    """Return the range that each number is in; None for a missing one."""
    if not values.dtype.is_numeric():
        fact = f"Column {values.name!r} has cuts, and no numbers to cut"
        raise InputError(fact, "cuts are for columns of numbers")
    return [None if value is None else bisect_right(starts, value) for value in values.to_list()]


def _item(column: str, label: str) -> str:
    return f"{column}={label}"


def _ranges(name: str, starts: Sequence[float]) -> list[str]:
    shown = text(pl.Series(list(starts), dtype=pl.Float64()))
    if not shown or sorted(starts) != list(starts):
        fact = f"The cuts of column {name!r} must be one or more increasing numbers"
        raise InputError(fact, 'for example {"age": [30, 50]}')
    return [f"<{shown[0]}", *(f"{a}-<{b}" for a, b in pairwise(shown)), f">={shown[-1]}"]


@dataclass(frozen=True)
class _Rows:
    """Distinct released rows: cell number, sensitive code (or none), and a row number for other columns."""

    cell: npt.NDArray[np.int64]
    sensitive: npt.NDArray[np.int64] | None
    first: npt.NDArray[np.int64]


def _distinct_rows(release: RowRelease) -> tuple[_Rows, Floats]:
    keys = [pl.Series("0", release.cell_of)]
    if release.sensitive is not None:
        keys.append(pl.Series("1", release.sensitive))
    others = [column.alias(f"other {i}") for i, column in enumerate(release.other)]
    frame = pl.DataFrame([*keys, *others]).with_row_index("row")
    groups = frame.group_by(pl.exclude("row"), maintain_order=True).agg(pl.col("row").first(), pl.len().alias("n"))
    first = groups["row"].to_numpy().astype(np.int64)
    sensitive = None if release.sensitive is None else release.sensitive[first].astype(np.int64)
    return _Rows(release.cell_of[first], sensitive, first), groups["n"].to_numpy().astype(np.float64)


def _columns(
    release: RowRelease, rows: _Rows, wanted: Collection[str] | None, cuts: Cuts
) -> list[tuple[str, list[str], Floats]]:
    """Return each column with the labels of its items and their probabilities, [distinct rows x items]."""
    there = [*release.quasi, *release.other.columns, *release.manifest.recognized_by[len(release.quasi) :]]
    unknown = sorted({*(wanted or ()), *cuts} - set(there))
    if unknown:
        fact = f"The release has no column {', '.join(map(repr, unknown))}"
        raise SchemaError(fact, f"its columns are {', '.join(map(repr, there))}")
    found = []
    for name in there if wanted is None else [name for name in there if name in wanted]:
        values, labels, likely = _likely(release, rows, name)
        if name in cuts:
            labels = _ranges(name, cuts[name])
            likely = likely @ _share_in_ranges(release, values.alias(name), cuts[name])
        else:
            known = np.flatnonzero(values.is_not_null().to_numpy())  # a missing value is no item
            labels, likely = [labels[value] for value in known], likely[:, known]
        found.append((name, labels, likely))
    return found


def _likely(release: RowRelease, rows: _Rows, name: str) -> tuple[pl.Series, list[str], Floats]:
    """Return the values of one column, their names, and how likely each is in each distinct row."""
    if name in release.quasi:
        m = release.quasi.index(name)
        hierarchy = release.hierarchies[m]
        names = [hierarchy.label(leaf, leaf) for leaf in range(hierarchy.n_leaves)]
        lo, hi = release.cell_lo[rows.cell, m], release.cell_hi[rows.cell, m]
        return hierarchy.leaves, names, chances(release.marginals[m], lo, hi)
    if name in release.other.columns:
        column = release.other[name]
        values = column.unique().sort()
        codes = column[rows.first].replace_strict(values, np.arange(len(values)), return_dtype=pl.Int64).to_numpy()
        return values, text(values), np.eye(len(values))[codes]
    values = release.sensitive_values
    if release.cell_counts is None:
        return values, text(values), np.eye(len(values))[rows.sensitive]
    counts = release.cell_counts[rows.cell]
    return values, text(values), counts / counts.sum(axis=1, keepdims=True)


def _share_in_ranges(release: RowRelease, values: pl.Series, starts: Sequence[float]) -> Floats:
    """Return which share of each leaf or value lies in each range, [values x ranges]; nothing of a missing value."""
    range_of = _range_of(values, starts)
    hierarchy = dict(zip(release.quasi, release.hierarchies, strict=True)).get(values.name)
    share = np.zeros((len(values), len(starts) + 1))
    if isinstance(hierarchy, Atoms):
        below = [np.zeros(len(hierarchy.starts)), *map(hierarchy.share_below, starts), np.ones(len(hierarchy.starts))]
        share[int(hierarchy.has_missing) :] = np.diff(np.column_stack(below), axis=1)
        return share
    for value, at in enumerate(range_of):
        if at is not None:
            share[value, at] = 1.0
    return share


@dataclass(frozen=True)
class RuleComparison:
    """Rules that were found, beside the original ones.

    Attributes
    ----------
    matched
        Rules in both, with supports and confidences of both (``support``, ``original support``, ...).
    missed
        Original rules that were not found.
    false
        Rules that were found and are not among the original ones.
    """

    matched: pl.DataFrame = field(repr=False)
    missed: pl.DataFrame = field(repr=False)
    false: pl.DataFrame = field(repr=False)

    @property
    def recall(self) -> float:
        """Share of the original rules that were found; 1 when there are none."""
        return _share(self.matched.height, self.missed.height)

    @property
    def precision(self) -> float:
        """Share of the rules found that are original ones; 1 when none was found."""
        return _share(self.matched.height, self.false.height)

    def deviation(self, measure: str) -> dict[str, float | None]:
        """Return the mean and the greatest difference of ``"support"`` or ``"confidence"`` over matched rules."""
        apart = np.abs(self.matched[measure].to_numpy() - self.matched[f"original {measure}"].to_numpy())
        return {"mean": float(apart.mean()) if len(apart) else None, "max": float(apart.max()) if len(apart) else None}

    def rank_agreement(self, measure: str) -> float | None:
        """Return Spearman's correlation of ``"support"`` or ``"confidence"`` over matched rules; from three on."""
        ours, theirs = (self.matched[name].rank() for name in (measure, f"original {measure}"))
        if self.matched.height < _FEWEST_RANKED or ours.n_unique() == 1 or theirs.n_unique() == 1:
            return None
        return float(np.corrcoef(ours.to_numpy(), theirs.to_numpy())[0, 1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "matched": self.matched.height,
            "missed": self.missed.height,
            "false": self.false.height,
            "recall": self.recall,
            "precision": self.precision,
            "support": self.deviation("support"),
            "confidence": self.deviation("confidence"),
            "rank_agreement": {measure: self.rank_agreement(measure) for measure in ("support", "confidence")},
        }

    def __str__(self) -> str:
        found = f"{self.matched.height} of {self.matched.height + self.missed.height} rules found ({self.recall:.0%})"
        lines = [f"{found}, {self.false.height} false ones (precision {self.precision:.0%})"]
        if self.matched.height:
            for measure in ("support", "confidence"):
                apart = self.deviation(measure)
                ranks = self.rank_agreement(measure)
                order = "" if ranks is None else f"; rank correlation {ranks:.2f}"
                lines.append(f"  {measure} is off by {apart['mean']:.4f} on average, {apart['max']:.4f} at most{order}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def compare_rules(found: Any, original: Any) -> RuleComparison:  # noqa: ANN401
    """Compare two rule tables with the column names of mlxtend: a rule is the same when both its sides are.

    Parameters
    ----------
    found
        For example from `rules_from_release`.
    original
        For example ``anonymous_rules(frame, public=[], k=1).rules``, at the same thresholds: with k = 1 all rules are
        kept.
    """
    ours, theirs = _by_sides(found), _by_sides(original)
    both = [sides for sides in ours if sides in theirs]
    matched = [
        {
            **ours[sides],
            "original support": theirs[sides]["support"],
            "original confidence": theirs[sides]["confidence"],
        }
        for sides in both
    ]
    return RuleComparison(
        _table(matched, "support", "confidence", "original support", "original confidence"),
        _table([rule for sides, rule in theirs.items() if sides not in ours], "support", "confidence"),
        _table([rule for sides, rule in ours.items() if sides not in theirs], "support", "confidence"),
    )


def _by_sides(rules: Any) -> dict[tuple[frozenset[str], frozenset[str]], dict[str, Any]]:  # noqa: ANN401
    names = ("antecedents", "consequents", "support", "confidence")
    if isinstance(rules, Sequence):
        rows = [tuple(rule[name] for name in names) for rule in rules]
    elif hasattr(rules, "columns") and all(name in list(rules.columns) for name in names):
        rows = list(zip(*(rules[name].to_list() for name in names), strict=True))
    else:
        fact = f"Expected a table of rules with {', '.join(names)}"
        raise InputError(fact, "give a polars or pandas frame, or a list of dicts")
    found = {}
    for left, right, support, confidence in rows:
        sides = sorted(map(str, left)), sorted(map(str, right))
        values = (*sides, float(support), float(confidence))
        found[frozenset(sides[0]), frozenset(sides[1])] = dict(zip(names, values, strict=True))
    return found


def _table(rules: list[dict[str, Any]], *measures: str) -> pl.DataFrame:
    sides = dict.fromkeys(("antecedents", "consequents"), pl.List(pl.String))
    return pl.DataFrame(rules, schema=sides | dict.fromkeys(measures, pl.Float64), orient="row")


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 1.0
