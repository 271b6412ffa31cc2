"""What a model sees of each person, and which of it an attacker knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import IncompatibleError, ParameterError, SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import as_leaves, convert
from incrowd.schema import Schema

Sources = frozenset[str]
"""The columns that a feature is made of."""


@dataclass(frozen=True)
class Inputs:
    """The people of a table as a model sees them.

    Attributes
    ----------
    values
        What the model computes with, [people x features].
    public
        Which features an attacker knows: those made of quasi-identifiers or identifiers.
    sources
        The column or columns that each feature is made of, in words.
    classes
        Class of each person as a number, or ``None`` when the model has no class.
    class_public
        Whether the attacker knows the class.
    given
        What the model proper is fitted with: the table, or what the preparation steps made of it.
    """

    values: npt.NDArray[np.float64]
    public: npt.NDArray[np.bool_]
    sources: tuple[str, ...]
    classes: npt.NDArray[np.int64] | None
    class_public: bool
    given: Any = None

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.values)

    def known_alike(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return one person of each kind that an attacker can tell apart, and the kind of each person."""
        known = self.values[:, self.public]
        if self.class_public and self.classes is not None:
            known = np.column_stack([known, self.classes])
        _, one_of, kind_of = np.unique(known, axis=0, return_index=True, return_inverse=True, equal_nan=True)
        return one_of, kind_of.ravel()


def read(model: Any, frame: Any, schema: Schema, *, class_public: bool) -> tuple[Any, Inputs]:  # noqa: ANN401
    """Return the model proper, behind its preparation steps, and what it sees of a table.

    Parameters
    ----------
    model
        A fitted estimator, or a pipeline that ends in one.
    frame
        The people: columns under the names that the model was fitted with, and the class.
    schema
        Quasi-identifiers are public, and so are identifiers; every other column is private.
    """
    if isinstance(model, str | Path):
        fact = "The model is a path"
        raise ParameterError(fact, "load it first: incrowd.audit.files.load_model(path)")
    if not any(
        name.endswith("_") and not name.startswith("_")
        for name in vars(model[-1] if hasattr(model, "steps") else model)
    ):
        fact = f"The {type(model).__name__} is not fitted"
        raise IncompatibleError(fact, "audit a model after fit")
    people = io.to_polars(frame)
    if people.is_empty():
        fact = "The table has no people"
        raise SchemaError(fact, "give the table that the model was fitted with")
    names = _feature_columns(model, people, schema)
    missing = sorted(set(names) - set(people.columns))
    if missing:
        fact = f"The model was fitted with columns that the table does not have: {', '.join(map(repr, missing))}"
        raise SchemaError(fact, "give the table that the model was fitted with")
    given = frame if hasattr(frame, "iloc") else people
    values, sources = given[names], [frozenset([name]) for name in names]
    last = model
    if hasattr(model, "steps"):
        last = model[-1]
        if not hasattr(model, "feature_names_in_"):
            values = values.to_numpy()  # steps that were fitted without names warn about them
        for _, step in model.steps[:-1]:
            values, sources = _transformed(step, values, sources)
    _require_one_class(last, people, schema)
    known = {*schema.quasi, *schema.identifiers}
    public = np.array([_is_public(source, known) for source in sources], np.bool_)
    words = tuple(" and ".join(sorted(source)) for source in sources)
    numbers = _ranks(values, last.hierarchies_) if hasattr(last, "hierarchies_") else _numbers(values)
    return last, Inputs(numbers, public, words, _classes(people, schema), class_public, values)


def _feature_columns(model: Any, people: pl.DataFrame, schema: Schema) -> list[str]:  # noqa: ANN401
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    names = [name for name in people.columns if name != schema.target]
    n_expected = getattr(model, "n_features_in_", len(names))
    if n_expected != len(names):
        fact = f"The model has {n_expected} features without names, and the table {len(names)} columns beside the class"
        raise SchemaError(fact, "give the table with exactly the model's columns, in its order, and the class")
    return names


def _classes(people: pl.DataFrame, schema: Schema) -> npt.NDArray[np.int64] | None:
    target = schema.target
    if target is None:
        return None
    if target not in people.columns:
        fact = f"The table has no column {target!r}, which the schema names as the class"
        raise SchemaError(fact, "the audit needs the class of each person")
    ranks = people[target].cast(pl.String()).rank("dense").fill_null(0)  # a missing class is like no other
    return ranks.to_numpy().astype(np.int64)


def _require_one_class(model: Any, people: pl.DataFrame, schema: Schema) -> None:  # noqa: ANN401
    """Refuse a model that predicts something else, or more, than the class that the schema names."""
    n_outputs = getattr(model, "n_outputs_", 1)
    if n_outputs != 1:
        fact = f"The model predicts {n_outputs} columns, and the schema names one class"
        raise IncompatibleError(fact, "audit models that predict one column")
    classes = getattr(model, "classes_", None)
    if classes is None or schema.target is None or schema.target not in people.columns:
        return
    n_classes = people[schema.target].n_unique()
    if len(classes) != n_classes:
        fact = f"The model knows {len(classes)} classes, and column {schema.target!r} has {n_classes}"
        raise SchemaError(fact, "name the class of the model as target in the schema")


def _is_public(source: Sources, known: set[str]) -> bool:
    if source <= known:
        return True
    if not source & known:
        return False
    fact = f"A feature of the model mixes public and private columns: {', '.join(sorted(source))}"
    raise IncompatibleError(fact, "spans are defined for features of either kind; prepare the two apart")


def _transformed(step: Any, values: Any, sources: list[Sources]) -> tuple[Any, list[Sources]]:  # noqa: ANN401
    """Follow which columns each output of a preparation step is made of, and apply it."""
    if step == "passthrough":
        return values, sources
    made_of = _traced(step, sources)  # first: a step that is refused is never run
    return step.transform(values), made_of


def _traced(step: Any, sources: list[Sources]) -> list[Sources]:  # noqa: ANN401
    if isinstance(step, str):
        return sources if step == "passthrough" else []
    kind = kind_of(step)
    if kind == "Pipeline":
        for _, inner in step.steps:
            sources = _traced(inner, sources)
        return sources
    if kind == "ColumnTransformer":
        names = getattr(step, "feature_names_in_", None)
        parts = [(inner, _chosen(columns, sources, names)) for _, inner, columns in step.transformers_]
        return [source for inner, chosen in parts for source in _traced(inner, chosen)]
    if kind == "OneHotEncoder":
        sizes = step._n_features_outs if hasattr(step, "_n_features_outs") else [len(c) for c in step.categories_]
        return [source for source, n in zip(sources, sizes, strict=True) for _ in range(n)]
    if kind in _ONE_TO_ONE or (kind == "FunctionTransformer" and step.func is None):
        return sources
    if kind not in _MIXING:
        fact = f"The step {kind} may hold more than what it makes of the columns"
        raise IncompatibleError(fact, f"prepare the table with {', '.join(sorted(_ONE_TO_ONE | _MIXING))}")
    every = frozenset[str]().union(*sources)  # any output may be made of all inputs
    try:
        return [every] * len(step.get_feature_names_out())
    except (AttributeError, ValueError):
        fact = f"The step {kind} does not tell what it makes of which columns"
        raise IncompatibleError(fact, "prepare the table with steps that have get_feature_names_out") from None


def kind_of(part: Any) -> str:  # noqa: ANN401
    """Return the name of a type of scikit-learn, and of any other with its module: who has the name may hold more."""
    kind = type(part)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else f"{kind.__module__}.{kind.__name__}"


_ONE_TO_ONE = {
    "OrdinalEncoder", "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer",
    "PowerTransformer", "Binarizer",
}  # fmt: skip
# They know sums over people, or nothing of them: unlike a TargetEncoder, which holds the class of a rare value, or a
# KNNImputer, which holds the table.
_MIXING = {
    "FunctionTransformer", "PCA", "TruncatedSVD", "PolynomialFeatures", "KBinsDiscretizer", "SimpleImputer",
    "Normalizer", "VarianceThreshold",
}  # fmt: skip


def _chosen(columns: Any, sources: list[Sources], names: Sequence[str] | None) -> list[Sources]:  # noqa: ANN401
    """Return the sources of the columns that one part of a column transformer works on."""
    if isinstance(columns, slice):
        return sources[columns]
    chosen = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    if chosen and isinstance(chosen[0], bool | np.bool_):
        return [source for source, is_chosen in zip(sources, chosen, strict=True) if is_chosen]
    if chosen and isinstance(chosen[0], str):
        assert names is not None  # scikit-learn takes names of columns from frames only
        return [sources[list(names).index(str(name))] for name in chosen]
    return [sources[int(i)] for i in chosen]


def _ranks(values: Any, hierarchies: Sequence[Hierarchy]) -> npt.NDArray[np.float64]:  # noqa: ANN401
    """Return leaf ranks, for a model that computes with them."""
    if isinstance(values, np.ndarray):
        columns = [pl.Series(values[:, m]) for m in range(values.shape[1])]
    else:
        columns = io.to_polars(values).get_columns()
    coded = [
        hierarchy.encode(convert(as_leaves(column), hierarchy.type))
        for hierarchy, column in zip(hierarchies, columns, strict=True)
    ]
    return np.column_stack(coded).astype(np.float64)


def _numbers(values: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401
    if hasattr(values, "toarray"):
        values = values.toarray()
    try:
        return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, np.float64)
    except (TypeError, ValueError):
        fact = "The table has text in columns that the model takes as numbers"
        raise SchemaError(fact, "audit the whole pipeline, with the step that codes the text") from None
