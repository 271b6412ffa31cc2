"""Audit of models that somebody made: whether every person of the table is hidden in a crowd of at least k.

The audit shares no code with the learners of `incrowd.learn`. It reads the model, finds the span of each person (see
Friedman, Wolff, Schuster 2008) and counts. ``incrowd.audit(model, frame, schema, k=30)``. It looks at everything that
a model holds, and refuses what it does not understand: see `contents` for models and `steps` for their preparation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd import io
from incrowd.audit import centroid_models, ours, sums, trees
from incrowd.audit.accuracy import scores
from incrowd.audit.contents import kind_of_model
from incrowd.audit.dump_models import read_dumped
from incrowd.audit.dumped_trees import Dump
from incrowd.audit.exchanged import Exchanged, read_exchanged
from incrowd.audit.histograms import read_histograms
from incrowd.audit.inputs import Inputs, read
from incrowd.audit.report import Audit
from incrowd.audit.subject import Limits, Subject
from incrowd.audit.tree_models import read_trees
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError
from incrowd.schema import Schema

__all__ = ["Audit", "audit"]


def audit(
    model: Any,  # noqa: ANN401
    frame: Any,  # noqa: ANN401
    schema: Schema,
    k: int,
    *,
    class_public: bool = False,
    l: float | None = None,
    max_confidence: float | None = None,
) -> Audit:
    """Find the spans of a model, and who is in too small a crowd.

    Parameters
    ----------
    model
        A fitted scikit-learn decision tree, forest or boosted trees, k-means, linear model or naive Bayes, one of our
        own estimators, trees of XGBoost or LightGBM (see `incrowd.audit.dumps`), trees from ONNX or PMML files (see
        `incrowd.audit.files`), or a pipeline that ends in one. A list
        of models is judged as released together. For association rules see `audit_rules`.
    frame
        The people that the model was fitted with, with the class.
    schema
        Quasi-identifiers and identifiers are public: an attacker knows them. Every other column is private. The class
        is the target.
    k
        Least size of the crowd.
    class_public
        Whether an attacker knows the class too.
    l
        Entropy diversity of the classes in each span: their entropy is at least log l.
    max_confidence
        Largest share of a class in any span.

    Returns
    -------
    Audit
        With `ok`, `level`, `at_risk` (row numbers), `exposed`, `repairs` in words, and `repair()`.
    """
    limits = Limits(k, l, max_confidence)
    if class_public and limits.about_classes:
        fact = "class_public is true, and l and max_confidence limit what is told about the class"
        raise ParameterError(fact, "a class that everybody knows needs no diversity: ask for k only")
    if class_public and schema.target is None:
        fact = "class_public is true, and the schema does not say which column the class is"
        raise ParameterError(fact, "name the column that the model predicts as target in the schema")
    models = list(model) if isinstance(model, list | tuple) else [model]
    if not models:
        fact = "There is no model in the list"
        raise ParameterError(fact, "give the models that are released together")
    subjects = [_read(one, frame, schema, limits, class_public=class_public) for one in models]
    if limits.about_classes and (subjects[0].inputs.classes is None or not any(s.has_class for s in subjects)):
        fact = "There is no class, and l and max_confidence are about it"
        raise ParameterError(fact, "name the class as target in the schema, or ask for k only")
    return _report(subjects, limits, frame, schema, several=isinstance(model, list | tuple))


def _read(model: Any, frame: Any, schema: Schema, limits: Limits, *, class_public: bool) -> Subject:  # noqa: ANN401
    """Return a model as the audit sees it."""
    proper, inputs = read(model, frame, schema, class_public=class_public, k=int(limits.k))
    if ours.is_ours(proper):
        return ours.read_ours(model, proper, inputs, io.to_polars(frame), schema, limits)
    if type(proper) is Dump:
        return read_dumped(model, proper, inputs, limits)
    if type(proper) is Exchanged:
        return read_exchanged(model, proper, inputs)
    return _READERS[kind_of_model(proper).audit](model, proper, inputs, limits)


_READERS: dict[str, Callable[[Any, Any, Inputs, Limits], Subject]] = {
    **dict.fromkeys(
        ("tree", "forest", "bagging", "ada", "boosting"),
        lambda model, proper, inputs, limits: read_trees(model, proper, inputs),  # noqa: ARG005
    ),
    "histograms": read_histograms,
    "centroids": centroid_models.read_centroids,
    "sums": sums.read_sums,
}


def _report(subjects: Sequence[Subject], limits: Limits, frame: Any, schema: Schema, *, several: bool) -> Audit:  # noqa: ANN401
    """Join the spans of models that are released together, and say what is wrong with them."""
    first = subjects[0]
    span_of, multiple = _joined(subjects)
    inputs = first.inputs
    held = tuple(dict.fromkeys(name for subject in subjects for name in subject.held))
    behind = np.unique(np.concatenate([*(subject.behind for subject in subjects), _between(subjects, int(limits.k))]))
    has_class = not inputs.class_public and any(subject.has_class for subject in subjects)
    classes = inputs.classes if has_class else None
    told = {name: by for subject in subjects for name, by in subject.inputs.told.items()}
    notes = [note for subject in subjects for note in subject.notes]
    notes += [f"'{name}' is private, and {by} tells it: it counts as known" for name, by in told.items()]
    name = ", ".join(subject.name for subject in subjects)
    found = Audit(name, limits, span_of, multiple, (), tuple(notes), held, behind, classes)
    take_out = [f"take out {', '.join(held)}: it tells about people by row"] if held else []
    models = [subject.model for subject in subjects]
    if found.ok:
        return _with(found, (), lambda: models if several else models[0], None)
    if len(found.breaches) == 0 and len(behind) == 0:
        return _with(found, tuple(take_out), lambda: _unlist([_bare(s) for s in subjects], several=several), None)

    def repair() -> Any:  # noqa: ANN401
        return _unlist(_mended(subjects, limits)[0], several=several)

    def predict(repaired: Any, rows: Any) -> Any:  # noqa: ANN401
        return scores(models[0], repaired, frame if rows is None else rows, schema)

    try:
        steps = tuple(take_out + _mended(subjects, limits, only_steps=True)[1])
    except (InfeasibleError, IncompatibleError) as nothing_helps:
        steps = (nothing_helps.fact,)
    return _with(found, steps, repair, None if several or schema.target is None else predict)


def _with(found: Audit, steps: tuple[str, ...], repair: Callable[[], Any], predict: Any) -> Audit:  # noqa: ANN401
    return Audit(
        found.model, found.limits, found.span_of, found.multiple, steps, found.notes, found.held, found.behind,
        found.classes, repair, predict,
    )  # fmt: skip


def _unlist(models: list[Any], *, several: bool) -> Any:  # noqa: ANN401
    return models if several else models[0]


def _bare(subject: Subject) -> Any:  # noqa: ANN401
    return subject.model if subject.bare is None or not subject.held else subject.bare()


def _joined(subjects: Sequence[Subject]) -> tuple[Any, Any]:
    """Return the spans of models that somebody has side by side: people are alike if they are in each of them."""
    if len(subjects) == 1:
        return subjects[0].span_of, subjects[0].multiple
    together = np.column_stack([subject.span_of for subject in subjects])
    _, one_of, span_of = np.unique(together, axis=0, return_index=True, return_inverse=True)
    told = np.any([subject.multiple[subject.span_of[one_of]] for subject in subjects], axis=0)
    return span_of.ravel(), np.asarray(told)


def _between(subjects: Sequence[Subject], k: int) -> npt.NDArray[np.int64]:
    """Return the people whom several models part from others with fewer than k like them.

    If the groups of two models differ by a few people only, so do their means, and the difference is those people.
    """
    parts = [subject.parts for subject in subjects if subject.parts is not None and subject.inputs.secret.any()]
    if len(parts) < 2:
        return np.empty(0, np.int64)
    _, part_of, sizes = np.unique(np.column_stack(parts), axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(sizes[part_of.ravel()] < k)


def _mended(subjects: Sequence[Subject], limits: Limits, *, only_steps: bool = False) -> tuple[list[Any], list[str]]:
    """Return models that keep their crowds together, and what was changed."""
    if all(subject.rebuild is not None for subject in subjects):
        views = [view for subject in subjects for view in subject.views]
        inputs = subjects[0].inputs
        grown = trees.grow_back(views, inputs, limits)
        if len(subjects) == 1 and subjects[0].votes and len(views) > 1 and inputs.classes is not None:
            place, alone = trees.best_tree(views, inputs, limits)
            if alone.accuracy(inputs) > grown.accuracy(inputs):
                return _alone(subjects[0], place, alone, only_steps=only_steps)
        if only_steps:
            return [], grown.dropped
        made, at = [], 0
        for subject in subjects:
            assert subject.rebuild is not None
            made.append(subject.rebuild(grown.kept[at : at + len(subject.views)]))
            at += len(subject.views)
        return made, grown.dropped
    subject = subjects[0]
    if len(subjects) > 1 or subject.mend is None:
        fact = f"There is no repair for {', '.join(subject.name for subject in subjects)}"
        raise IncompatibleError(fact, "fit with columns or values that more people share, or share fewer models")
    if only_steps and subject.steps:
        return [], list(subject.steps)
    changed, steps = subject.mend(limits)
    return [changed], steps


def _alone(subject: Subject, place: int, grown: trees.Grown, *, only_steps: bool) -> tuple[list[Any], list[str]]:
    """Return a forest with one of its trees, which predicts more than all of them when crowds are kept."""
    n_others = len(subject.views) - 1
    steps = [f"keep tree {place + 1} alone: beside the other {n_others} its crowds would be too small", *grown.dropped]
    steps.append(
        "or fit again: refit (--refit) makes a KAnonymousForestClassifier, which learns from crowds and keeps more"
    )
    if only_steps:
        return [], steps
    assert subject.rebuild is not None
    kept: list[set[int] | None] = [None] * len(subject.views)
    kept[place] = grown.kept[0]
    return [subject.rebuild(kept)], steps
