"""What a model sees of each person, and which of it an attacker knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.audit.contents import why_not
from incrowd.audit.dependence import told_columns
from incrowd.audit.steps import Crowd, Sources, follow, is_nothing, is_plain, is_short, require_short
from incrowd.errors import IncompatibleError, ParameterError, SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import as_leaves, convert
from incrowd.schema import Schema


@dataclass(frozen=True)
class Inputs:
    """The people of a table as a model sees them.

    Attributes
    ----------
    values
        What the model computes with, [people x features].
    public
        Which features an attacker knows: those made of quasi-identifiers or identifiers, or of what these tell.
    sources
        The column or columns that each feature is made of, in words.
    classes
        Class of each person as a number, or ``None`` when the model has no class.
    class_public
        Whether the attacker knows the class.
    given
        What the model proper is fitted with: the table, or what the preparation steps made of it.
    secret
        Which features are private; a column that public ones tell is both. By default what is not public.
    told
        Private columns that public ones tell, with what tells them.
    target
        The class as the table has it.
    """

    values: npt.NDArray[np.float64]
    public: npt.NDArray[np.bool_]
    sources: tuple[str, ...]
    classes: npt.NDArray[np.int64] | None
    class_public: bool
    given: Any = None
    secret: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    told: dict[str, str] = field(default_factory=dict)
    target: pl.Series | None = None

    def __post_init__(self) -> None:
        if not len(self.secret):
            object.__setattr__(self, "secret", ~self.public)

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


def read(model: Any, frame: Any, schema: Schema, *, class_public: bool, k: int = 1) -> tuple[Any, Inputs]:  # noqa: ANN401
    """Return the model proper, behind its preparation steps, and what it sees of a table.

    Parameters
    ----------
    model
        A fitted estimator, or a pipeline that ends in one.
    frame
        The people: columns under the names that the model was fitted with, and the class.
    schema
        Quasi-identifiers are public, and so are identifiers; every other column is private.
    k
        Least number of people that have what a preparation step keeps of a private column.
    """
    if isinstance(model, str | Path):
        fact = "The model is a path"
        raise ParameterError(fact, "load it first: incrowd.audit.files.load_model(path)")
    _require_fitted(model)
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
    known = {*schema.quasi, *schema.identifiers}
    last = model
    if is_pipeline(model):
        last = model[-1]
        if not hasattr(_first(model), "feature_names_in_"):
            values = values.to_numpy()  # steps that were fitted without names warn about them
        for _, step in model.steps[:-1]:
            values, sources = follow(step, values, sources, Crowd(frozenset(known), k))
        require_short([name for name, _ in model.steps])
        _require_names(last, values)
    _require_one_class(last, people, schema)
    is_known = np.array([_is_public(source, known) for source in sources], np.bool_)
    given_away = sorted(known) + ([schema.target] if class_public and schema.target else [])
    told = told_columns(people, given_away, sorted({*names} - known))
    by_others = np.array([bool(source & told.keys()) for source in sources], np.bool_)
    words = tuple(" and ".join(sorted(source)) for source in sources)
    numbers = _ranks(values, last.hierarchies_) if hasattr(last, "hierarchies_") else _numbers(values)
    classes, target = _classes(people, schema), None if schema.target is None else people[schema.target]
    return last, Inputs(
        numbers, is_known | by_others, words, classes, class_public, values, ~is_known, told, target
    )  # fmt: skip


def is_pipeline(model: Any) -> bool:  # noqa: ANN401
    """Tell whether a model is a pipeline of scikit-learn, of its exact type and without anything added to it."""
    from sklearn.pipeline import Pipeline  # noqa: PLC0415 - the model has loaded it

    if type(model) is not Pipeline:
        return False
    steps = vars(model).get("steps")
    if type(steps) is not list or not steps or any(type(one) is not tuple or len(one) != 2 for one in steps):
        fact = "The Pipeline holds 'steps' that are not names with steps"
        raise IncompatibleError(fact, "audit the pipeline as fit leaves it, without anything added")
    for name, value in vars(model).items():
        is_known = name == "steps" or (name in ("transform_input", "verbose") and is_plain(value) and is_short(value))
        if not is_known and (name != "memory" or value is not None):
            fact = f"The Pipeline holds '{name}', which may be anything"
            raise IncompatibleError(fact, "fit a pipeline without it, or take it out")
    return True


def _require_fitted(model: Any) -> None:  # noqa: ANN401
    """Refuse what is no fitted model."""
    last = model[-1] if is_pipeline(model) else model
    if isinstance(model, type) or not hasattr(last, "__dict__"):
        fact = "The model is a class" if isinstance(model, type) else f"The model is a {type(last).__name__}"
        raise ParameterError(fact, "give a fitted estimator, or a list of estimators that are released together")
    if is_pipeline(last):
        fact = "The pipeline ends in another pipeline"
        raise IncompatibleError(fact, "put the steps of both into one pipeline")
    reason = why_not(last)
    if reason is None and not any(name.endswith("_") and not name.startswith("_") for name in vars(last)):
        fact = f"The {type(model).__name__} is not fitted"
        raise IncompatibleError(fact, "audit a model after fit")


def _first(model: Any) -> Any:  # noqa: ANN401
    """Return the first step of a pipeline that does anything: it was given the names of the columns."""
    return next((step for _, step in model.steps if not is_nothing(step)), None)


def _require_names(model: Any, values: Any) -> None:  # noqa: ANN401
    """Refuse names of columns that the steps before a model do not give them."""
    named = getattr(model, "feature_names_in_", None)
    if named is not None and list(map(str, named)) != list(map(str, getattr(values, "columns", []))):
        fact = "The model holds 'feature_names_in_' that the steps before it do not give"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")


def _feature_columns(model: Any, people: pl.DataFrame, schema: Schema) -> list[str]:  # noqa: ANN401
    model = _first(model) if is_pipeline(model) else model
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


def _ranks(values: Any, hierarchies: Sequence[Hierarchy]) -> npt.NDArray[np.float64]:  # noqa: ANN401
    """Return leaf ranks, for a model that computes with them."""
    if not all(isinstance(hierarchy, Hierarchy) for hierarchy in hierarchies):
        fact = "The model holds 'hierarchies_' that are none, which the audit does not understand"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
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
