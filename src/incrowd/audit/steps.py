"""Preparation steps of a pipeline: what they make of which columns, and whether they keep people.

Only steps that are listed here are followed, by their exact type. Each is fitted again with the table, and must come
out with the same attributes: so a step holds nothing but what its kind computes, and it was fitted with this table.
What its kind computes is judged by one rule: of a private column it may keep sums over at least k people, and values
that at least k people have. A category, a smallest or largest value, a quantile that fewer people have is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import IncompatibleError, SchemaError, counted

Sources = frozenset[str]
"""The columns that a feature is made of."""
Kept = Callable[[Any, int, pl.Series], Any]
"""The values that a step keeps of a column, by its number and what it holds."""

_NUMBERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64)
_PLAIN = (type(None), bool, int, float, str, np.bool_, np.str_, *_NUMBERS)
_MOST_TEXT = 64  # letters of a parameter, or entries of a list: names of options are shorter
_MOST_INT = 2**64
_OUTPUTS = tuple({"transform": kind} for kind in (None, "default", "pandas", "polars"))
_CLOSE = 1e-6  # sums over people in another order differ by rounding


@dataclass(frozen=True)
class Rule:
    """How a kind of step is followed.

    Attributes
    ----------
    makes
        What of which columns: one of one, hot (several of one), all of all, one_of_all, or what its parts make.
    kept
        The values that it keeps; a quantile between two values tells both.
    only_public
        Whether it is followed only where nothing is private.
    """

    makes: str
    kept: Kept | None = None
    only_public: bool = False


@cache
def known_steps() -> dict[type, Rule]:
    """Return the steps that are followed, by exact type."""
    from sklearn import compose, decomposition, feature_selection, impute, pipeline, preprocessing  # noqa: PLC0415

    return {
        pipeline.Pipeline: Rule("parts"),
        compose.ColumnTransformer: Rule("parts"),
        preprocessing.OneHotEncoder: Rule("hot", lambda step, j, _: step.categories_[j]),
        preprocessing.OrdinalEncoder: Rule("one", lambda step, j, _: step.categories_[j]),
        preprocessing.StandardScaler: Rule("one"),
        preprocessing.PowerTransformer: Rule("one"),
        preprocessing.MinMaxScaler: Rule("one", lambda step, j, _: [step.data_min_[j], step.data_max_[j]]),
        preprocessing.MaxAbsScaler: Rule("one", lambda step, j, _: [step.max_abs_[j], -step.max_abs_[j]]),
        preprocessing.RobustScaler: Rule("one", _quartiles),
        preprocessing.QuantileTransformer: Rule("one", lambda step, j, column: _around(step.quantiles_[:, j], column)),
        preprocessing.Binarizer: Rule("one"),
        preprocessing.FunctionTransformer: Rule("one"),
        preprocessing.KBinsDiscretizer: Rule("all", _edges),
        preprocessing.PolynomialFeatures: Rule("all"),
        preprocessing.Normalizer: Rule("one_of_all"),
        impute.SimpleImputer: Rule("all", _filled_in),
        feature_selection.VarianceThreshold: Rule("all", _spread),
        # A component can be one outlier's row, so they are followed only where nothing is private.
        decomposition.PCA: Rule("all", only_public=True),
        decomposition.TruncatedSVD: Rule("all", only_public=True),
    }


def _around(numbers: Any, column: pl.Series) -> npt.NDArray[np.float64]:  # noqa: ANN401
    """Return the values of a column that numbers are, or are between."""
    known = np.unique(column.drop_nulls().to_numpy().astype(np.float64))
    numbers = np.asarray(numbers, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    close = _CLOSE * 1e-3 * np.maximum(1.0, np.abs(numbers))
    places = [np.searchsorted(known, numbers - close), np.searchsorted(known, numbers + close, side="right") - 1]
    return known[np.unique(np.clip(np.concatenate(places), 0, len(known) - 1))] if len(known) else known


def _quartiles(step: Any, j: int, column: pl.Series) -> Any:  # noqa: ANN401
    """Return the median and the ends of the range of quantiles, of which the step keeps the distance."""
    ends = np.nanpercentile(column.to_numpy(), step.quantile_range) if step.with_scaling else []
    return _around([*ends, *([] if step.center_ is None else [step.center_[j]])], column)


def _edges(step: Any, j: int, column: pl.Series) -> Any:  # noqa: ANN401
    """Return the values that the edges of bins tell: of evenly spaced ones the ends."""
    edges = step.bin_edges_[j]
    if step.strategy == "quantile":
        return _around(edges, column)
    if step.strategy == "uniform":
        return edges[[0, -1]]
    return column.to_numpy()  # an edge is in the middle between the means of two bins, and few people may be in one


def _filled_in(step: Any, j: int, column: pl.Series) -> Any:  # noqa: ANN401
    """Return the value that stands for a missing one; a mean is nobody's."""
    if step.strategy == "mean":
        return []
    return _around([step.statistics_[j]], column) if step.strategy == "median" else [step.statistics_[j]]


def _spread(step: Any, j: int, column: pl.Series) -> Any:  # noqa: ANN401
    """Return both ends of the column if the step keeps their distance in place of the variance."""
    ends = np.array([column.min(), column.max()], np.float64)
    return ends if np.isclose(step.variances_[j], ends[1] - ends[0]) else []


def kind_of(part: Any) -> str:  # noqa: ANN401
    """Return the name of a type of scikit-learn, and of any other with its module."""
    kind = type(part)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else f"{kind.__module__}.{kind.__name__}"


@dataclass(frozen=True)
class Crowd:
    """Who may be told: the columns that an attacker knows, and the size of a crowd."""

    known: frozenset[str]
    k: int

    def is_private(self, source: Sources) -> bool:
        """Tell whether any column that a feature is made of is private."""
        return not source <= self.known


def follow(step: Any, values: Any, sources: list[Sources], crowd: Crowd) -> tuple[Any, list[Sources]]:  # noqa: ANN401
    """Return what a step makes of the columns, and which columns each output is made of; refuse one that keeps people.

    A step is run only after all its parts have been recognized.
    """
    if is_nothing(step):
        return values, sources
    _require_known(step)
    _require_same(step, values)
    return step.transform(values), _traced(step, values, sources, crowd)


def is_nothing(step: Any) -> bool:  # noqa: ANN401
    """Tell whether a step of a pipeline does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _require_known(step: Any) -> None:  # noqa: ANN401
    """Refuse a step of an unknown type, or with a parameter that may hold anything; look into its parts."""
    if isinstance(step, str) and step in ("passthrough", "drop"):
        return
    if type(step) not in known_steps():
        fact = f"The step {kind_of(step)} may hold more than what it makes of the columns"
        names = ", ".join(sorted(kind.__name__ for kind in known_steps()))
        raise IncompatibleError(fact, f"prepare the table with {names}")
    for name, value in step.get_params(deep=False).items():
        if name in ("steps", "transformers", "remainder"):
            continue
        is_known = is_plain(value) and (name == "categories" or is_short(value))  # categories are looked at by people
        if not is_known and not _is_numpy_function(value):
            fact = f"The parameter {name} of the step {kind_of(step)} is an object that may hold anything"
            raise IncompatibleError(fact, "give it as a number, a name or a list of them, and fit again")
    require_valid(step)
    require_no_notes(step)
    for part in _parts(step):
        _require_known(part)


def _parts(step: Any) -> Iterable[Any]:  # noqa: ANN401
    if hasattr(step, "steps"):
        require_short([name for name, _ in step.steps])
        return [part for _, part in step.steps]
    if hasattr(step, "transformers"):
        require_short([name for name, _, _ in step.transformers])
        given = [(part, columns) for _, part, columns in step.transformers]
        for _, columns in given:
            if not is_plain(columns) and not _is_selector(columns):
                fact = "The step ColumnTransformer chooses columns by an object that may hold anything"
                raise IncompatibleError(fact, "choose columns by name, number, or make_column_selector")
        fitted = [part for _, part, _ in step.transformers_] if hasattr(step, "transformers_") else []
        return [*(part for part, _ in given), step.remainder, *fitted]
    return []


def is_plain(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a parameter is a number, a name, or a list of them, and so what it looks like."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(is_plain(name) and is_plain(one) for name, one in value.items())
    if type(value) is np.ndarray:
        return is_bare(value) and (value.dtype.kind in "biufU" or is_plain(value.tolist()))
    if type(value) is slice:
        return is_plain([value.start, value.stop, value.step])
    return type(value) in _PLAIN or (isinstance(value, type) and value in (*_NUMBERS, float, int, str, object))


def is_bare(value: npt.NDArray[Any]) -> bool:
    """Tell whether the type of an array's numbers carries no notes: NumPy has room for a dict, and saves it."""
    fields = (value.dtype.fields or {}).values()
    return value.dtype.metadata is None and all(len(one) == 2 and one[0].metadata is None for one in fields)


def is_short(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a parameter is too short to hold a table: few entries, short texts, and numbers of 64 bits."""
    return 0 <= _length(value) <= _MOST_TEXT


def _length(value: Any) -> int:  # noqa: ANN401
    """Count the entries of lists in lists; -1 for a text or number that is too long."""
    if isinstance(value, str):
        return 1 if len(value) <= _MOST_TEXT else -1
    if isinstance(value, int):
        return 1 if abs(value) < _MOST_INT else -1
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        lengths = [_length(one) for one in value]
        return -1 if -1 in lengths else sum(lengths)
    return 1


def require_valid(part: Any) -> None:  # noqa: ANN401
    """Refuse an estimator with a parameter that scikit-learn itself would not take: text in place of a choice."""
    try:
        part._validate_params()
    except ValueError as error:
        fact = f"The {kind_of(part)} has a parameter that it does not take: {type(error).__name__}"
        raise IncompatibleError(fact, "give it as its documentation says, and fit again") from None


def require_no_notes(part: Any) -> None:  # noqa: ANN401
    """Refuse what scikit-learn copies with an estimator without looking at it: output settings, requests, callbacks."""
    for name, known in (("_sklearn_output_config", _OUTPUTS), ("_metadata_request", ()), ("_skl_callbacks", ())):
        held = vars(part).get(name, {})
        if type(held) is not dict or not is_plain(held) or held not in ({}, *known):
            fact = f"The {kind_of(part)} holds '{name}', which the audit does not understand"
            raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")


def require_short(names: Sequence[Any]) -> None:
    """Refuse names of steps that are no names."""
    if not all(type(name) is str and is_short(name) for name in names):
        fact = f"The name of a step has more than {_MOST_TEXT} letters, and may hold anything"
        raise IncompatibleError(fact, "give the steps short names")


def _is_numpy_function(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a function is one of NumPy's that look at one number at a time."""
    if type(value) is not np.ufunc or not any(value is one for one in vars(np).values()):
        return False
    function: Any = value
    return bool(function.nin == 1 and function.nout == 1)


def _is_selector(value: Any) -> bool:  # noqa: ANN401
    from sklearn.compose import make_column_selector  # noqa: PLC0415

    return type(value) is make_column_selector and all(
        is_plain(one) or isinstance(one, type) for one in vars(value).values()
    )


def _require_same(step: Any, values: Any) -> None:  # noqa: ANN401
    """Fit a step of known parts again with the table, and refuse if it holds anything else."""
    from sklearn.base import clone  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever fitted it has seen them
            again = clone(step).fit(values)
    except (TypeError, ValueError) as error:
        fact = f"The step {kind_of(step)} cannot be fitted again with the table: {type(error).__name__}"
        raise SchemaError(fact, "give the table that the model was fitted with, with the same types") from None
    other = difference(step, again)
    if other is not None:
        fact = f"The step {kind_of(step)} holds another {other} than it gets from this table"
        raise SchemaError(fact, "give the table that the model was fitted with, and the step as fit left it")


def difference(one: Any, other: Any, name: str = "content") -> str | None:  # noqa: ANN401
    """Return the name of an attribute in which two objects differ, or ``None`` if they are alike."""
    if type(one) is not type(other):
        return name
    if isinstance(one, np.ndarray):
        return None if is_bare(one) and _alike(one, other) else name
    if type(one) in (list, tuple):
        found = (difference(a, b, name) for a, b in zip(one, other, strict=False))
        return name if len(one) != len(other) else next((f for f in found if f), None)
    if isinstance(one, dict):
        if list(map(str, one)) != list(map(str, other)):
            return name
        return next((f for key in one if (f := difference(one[key], other[key], name))), None)
    if type(one) in known_steps() or _is_selector(one):
        mine, theirs = vars(one), vars(other)
        foreign = sorted(set(mine) ^ set(theirs))
        return foreign[0] if foreign else next((f for a in mine if (f := difference(mine[a], theirs[a], a))), None)
    if isinstance(one, slice | type | np.dtype) or type(one) in _PLAIN or _is_numpy_function(one):
        same = one is other or bool(one == other) or _both_nan(one, other) or _near(one, other)
        return None if same else name
    return None if _is_harmless(one, other) else name


def _alike(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "biuf" and other.dtype.kind in "biuf":  # whole numbers may have been given as floats
        return bool(np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE, equal_nan=True))
    pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    return all(difference(a, b) is None for a, b in pairs)


def _both_nan(one: Any, other: Any) -> bool:  # noqa: ANN401
    return isinstance(one, float) and one != one and other != other  # noqa: PLR0124 - not a number


def _near(one: Any, other: Any) -> bool:  # noqa: ANN401
    return isinstance(one, float) and abs(one - other) <= _CLOSE * max(1.0, abs(one))


def _is_harmless(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Tell whether two objects of scikit-learn's own inside are alike, attribute by attribute."""
    if not type(one).__module__.startswith("sklearn.") or callable(one):
        return bool(type(one).__module__ == "builtins" and one == other)
    held = vars(one) if hasattr(one, "__dict__") else {}
    there = vars(other) if hasattr(other, "__dict__") else {}
    return set(held) == set(there) and all(difference(held[a], there[a]) is None for a in held)


def _traced(step: Any, values: Any, sources: list[Sources], crowd: Crowd) -> list[Sources]:  # noqa: ANN401
    """Return which columns each output of a step is made of, and look at what its parts keep of private ones."""
    if isinstance(step, str):
        return sources if step == "passthrough" else []
    if hasattr(step, "steps"):
        for _, inner in step.steps:
            sources = _traced(inner, values, sources, crowd)
            values = values if isinstance(inner, str) else inner.transform(values)
        return sources
    if hasattr(step, "transformers_"):
        return _traced_parts(step, values, sources, crowd)
    rule = known_steps()[type(step)]
    _require_crowds(step, rule, values, sources, crowd)
    if rule.makes == "hot":
        sizes = step._n_features_outs if hasattr(step, "_n_features_outs") else [len(c) for c in step.categories_]
        return [source for source, n in zip(sources, sizes, strict=True) for _ in range(n)]
    if rule.makes == "one":
        return sources
    every = frozenset[str]().union(*sources)  # any output may be made of all inputs
    return [every] * (len(sources) if rule.makes == "one_of_all" else len(step.get_feature_names_out()))


def _traced_parts(step: Any, values: Any, sources: list[Sources], crowd: Crowd) -> list[Sources]:  # noqa: ANN401
    from sklearn.utils import _safe_indexing  # noqa: PLC0415 - chooses columns as the step does

    names = getattr(step, "feature_names_in_", None)
    made: list[Sources] = []
    for _, inner, columns in step.transformers_:
        chosen = places(columns, len(sources), names)
        part = _safe_indexing(values, chosen, axis=1) if chosen and inner != "drop" else None
        made += _traced(inner, part, [sources[i] for i in chosen], crowd) if chosen else []
    return made


def places(columns: Any, n: int, names: Sequence[str] | None) -> list[int]:  # noqa: ANN401
    """Return the numbers of the columns that one part of a column transformer works on."""
    if isinstance(columns, slice):
        return list(range(n))[columns]
    chosen = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    if chosen and isinstance(chosen[0], bool | np.bool_):
        return [i for i, is_chosen in enumerate(chosen) if is_chosen]
    if chosen and isinstance(chosen[0], str):
        assert names is not None  # scikit-learn takes names of columns from frames only
        return [list(names).index(str(name)) for name in chosen]
    return [range(n)[int(i)] for i in chosen]


def _require_crowds(step: Any, rule: Rule, values: Any, sources: list[Sources], crowd: Crowd) -> None:  # noqa: ANN401
    """Refuse a step that keeps of a private column what fewer than k people have."""
    for j, source in enumerate(sources):
        if not crowd.is_private(source):
            continue
        if source & crowd.known and _keeps_sums(step):  # as many moments with a person's own value are that person
            fact = f"The step {kind_of(step)} keeps figures of public and private columns together, and may part people"
            raise IncompatibleError(fact, "prepare public and private columns apart")
        what = f"of the private column {' and '.join(sorted(source))}"
        if rule.only_public:
            fact = f"The step {kind_of(step)} keeps components {what}, and one can be the row of one person"
            raise IncompatibleError(fact, "prepare private columns with steps that keep each column by itself")
        column = column_of(values, j)
        n_known = len(column) - column.null_count()
        if rule.makes != "parts" and 0 < n_known < crowd.k and _keeps_sums(step):
            fact = f"The step {kind_of(step)} keeps figures {what}, which {counted(n_known, 'person', 'people')} have"
            raise IncompatibleError(fact, f"leave out columns that fewer than k = {crowd.k} people have")
        if rule.kept is not None:
            n_rare = _n_rare(rule.kept(step, j, column), column, crowd.k, listed=hasattr(step, "categories_"))
            if n_rare:
                fact = f"The step {kind_of(step)} keeps {counted(n_rare, 'value')} {what} that fewer than k people have"
                hint = f"join values of fewer than k = {crowd.k} people before the step, or cut outliers off"
                raise IncompatibleError(fact, hint)


def _keeps_sums(step: Any) -> bool:  # noqa: ANN401
    return any(name.endswith("_") and name not in ("n_features_in_", "feature_names_in_") for name in vars(step))


def column_of(values: Any, j: int) -> pl.Series:  # noqa: ANN401
    """Return a column of an array or frame; what is no number becomes missing."""
    if hasattr(values, "iloc"):
        values = values.iloc[:, j].to_numpy()
    elif hasattr(values, "get_columns"):
        values = values.to_series(j)
    else:
        values = values[:, [j]]
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel()
    if isinstance(values, pl.Series):
        return values.fill_nan(None) if values.dtype.is_float() else values
    if values.dtype.kind in "biuf":
        return pl.Series(values.astype(np.float64)).fill_nan(None)
    return pl.Series([None if v is None or v != v else str(v) for v in values.tolist()], dtype=pl.String())  # noqa: PLR0124


def _n_rare(kept: Any, column: pl.Series, k: int, *, listed: bool) -> int:  # noqa: ANN401
    """Count the kept values that fewer than k people have; of a list of categories also those that nobody has."""
    wanted = [one for one in np.asarray(kept, object).ravel().tolist() if one is not None and one == one]  # noqa: PLR0124
    counts = dict(column.drop_nulls().value_counts().iter_rows())
    least = 0 if listed else 1
    if column.dtype.is_numeric():
        there = np.array(sorted(counts), np.float64)
        people = np.array([counts[one] for one in sorted(counts)], np.int64)
        n_rare = 0
        for one in wanted:
            if not isinstance(one, int | float | np.number):
                n_rare += listed
                continue
            near = np.abs(there - float(one)) <= 1e-9 * max(1.0, abs(float(one)))
            n_rare += int(least <= people[near].sum() < k)
        return n_rare
    return sum(least <= counts.get(str(one), 0) < k for one in wanted)
