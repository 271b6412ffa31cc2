"""How much is left of what a model predicts, when it is repaired, or fitted again so that it keeps k from the start.

Accuracy on the table that a model was fitted with flatters it, and a pruned model less than the one it was made of. So
all are judged on rows that they were not fitted with, in the same folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError
from incrowd.io import Reading
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_schema, read_source, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema

_NAMES = {
    "model": "the model as it is",
    "repaired": "the same, repaired",
    "refitted": "a k-anonymous model in its place",
    "majority": "the most frequent class",
}


@dataclass(frozen=True)
class Kept:
    """The accuracy of a model, of what a repair makes of it, and of a k-anonymous model in its place.

    Attributes
    ----------
    folds
        Number of folds.
    accuracy
        Mean over folds, by name: model, repaired, refitted, majority; ``None`` where there is no such model.
    reasons
        Why there is none.
    """

    folds: int
    accuracy: Mapping[str, float | None]
    reasons: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"folds": self.folds, "accuracy": dict(self.accuracy), "reasons": dict(self.reasons)}

    def __str__(self) -> str:
        width = max(map(len, _NAMES.values()))
        lines = [f"Right about rows that they were not fitted with, in {self.folds} folds:"]
        for name, words in _NAMES.items():
            share = self.accuracy[name]
            lines.append(f"  {words:<{width}}  {self.reasons[name] if share is None else f'{share:.1%}'}")
        if self.is_guessing:
            lines.append("  Note: the repaired model predicts no better than guessing")
        return "\n".join(lines)

    @property
    def is_guessing(self) -> bool:
        """Whether the repaired model is no better than the most frequent class."""
        repaired, majority = self.accuracy["repaired"], self.accuracy["majority"]
        return repaired is not None and majority is not None and repaired <= majority


def kept_by_folds(
    model: Any,  # noqa: ANN401
    data: Source,
    schema: Schema | str | Path,
    k: int,
    *,
    folds: int = 3,
    class_public: bool = False,
    l: float | None = None,
    max_confidence: float | None = None,
    trust: bool = False,
    reading: Reading | None = None,
    run: Run | None = None,
) -> Kept:
    """Fit a classifier, repair it, and fit a k-anonymous one, all on the training rows of each fold.

    Parameters
    ----------
    model
        A classifier of scikit-learn's kind, or a pipeline, or its file; it is cloned.
    data, schema
        The table that it was fitted with, and which of its columns are public.
    k, class_public, l, max_confidence
        See `incrowd.audit`.
    trust, reading
        See `audit`.
    """
    from sklearn.model_selection import StratifiedKFold

    with working(run) as work:
        model, frame, roles = _opened(model, data, schema, trust=trust, reading=reading, run=work)
        target = roles.target
        if target is None or target not in frame.columns or not all(hasattr(model, one) for one in ("classes_", "fit")):
            fact = "Only a classifier that can be fitted again is judged by folds"
            raise ParameterError(fact, "leave out --folds (folds)")
        labels = [str(one) for one in frame[target].to_list()]
        if folds < 2 or min(labels.count(one) for one in set(labels)) < folds:
            fact = f"The table cannot be cut into {folds} folds with all classes in each"
            raise ParameterError(fact, "use from 2 folds up to the number of rows of the rarest class")
        right: dict[str, list[float]] = {name: [] for name in _NAMES}
        reasons: dict[str, str] = {}
        limits: dict[str, Any] = {"l": l, "max_confidence": max_confidence}
        for number, (learn, ask) in enumerate(
            StratifiedKFold(folds, shuffle=True, random_state=0).split(labels, labels)
        ):
            work("folds", number, folds)
            found, why = _judged(model, frame[learn], frame[ask], roles, k, class_public=class_public, limits=limits)
            reasons |= why
            for name, share in found.items():
                right[name].append(share)
        work("folds", folds, folds)
    accuracy = {name: float(np.mean(found)) if len(found) == folds else None for name, found in right.items()}
    return Kept(folds, accuracy, {name: reasons[name] for name in reasons if accuracy[name] is None})


def _judged(
    model: Any,  # noqa: ANN401
    train: pl.DataFrame,
    test: pl.DataFrame,
    schema: Schema,
    k: int,
    *,
    class_public: bool,
    limits: dict[str, Any],
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the share of test rows that each model is right about, and why there is no such model."""
    from sklearn.base import clone

    from incrowd.audit import audit
    from incrowd.learn.refit import refit

    target = str(schema.target)
    names = getattr(model, "feature_names_in_", None)
    columns = [one for one in train.columns if one != target] if names is None else list(map(str, names))
    truth = _texts(test[target].to_list())
    known, counts = np.unique(_texts(train[target].to_list()), return_counts=True)

    def rows(part: pl.DataFrame) -> Any:  # noqa: ANN401
        return part[columns] if names is not None else part[columns].to_numpy()

    own = clone(model).fit(rows(train), train[target].to_numpy())
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "model": lambda: (own, rows(test)),
        "repaired": lambda: (audit(own, train, schema, k, class_public=class_public, **limits).repair(), rows(test)),
        "refitted": lambda: (refit(own, train, schema, k, random_state=0, **limits), test[columns]),
    }
    right, reasons = {"majority": float((truth == known[counts.argmax()]).mean())}, {}
    for name, make in makers.items():
        try:
            made, asked = make()
        except (IncompatibleError, InfeasibleError) as error:
            reasons[name] = error.fact
            continue
        right[name] = float((_texts(made.predict(asked).tolist()) == truth).mean())
    return right, reasons


def _texts(values: list[Any]) -> Any:  # noqa: ANN401
    return np.array([str(value) for value in values])


def save_refit(
    model: Any,  # noqa: ANN401
    data: Source,
    schema: Schema | str | Path,
    path: str | Path,
    *,
    k: int,
    l: float | None = None,
    max_confidence: float | None = None,
    trust: bool = False,
    reading: Reading | None = None,
    run: Run | None = None,
) -> Any:  # noqa: ANN401
    """Write a k-anonymous model in place of one that reveals people, and return it; see `incrowd.refit`."""
    from incrowd.audit.files import save_model
    from incrowd.learn.refit import refit

    with working(run) as work:
        model, frame, roles = _opened(model, data, schema, trust=trust, reading=reading, run=work)
        made = refit(model, frame, roles, k, l=l, max_confidence=max_confidence)
        save_model(made, path)
        return made


def _opened(
    model: Any,  # noqa: ANN401
    data: Source,
    schema: Schema | str | Path,
    *,
    trust: bool,
    reading: Reading | None,
    run: Run,
) -> tuple[Any, pl.DataFrame, Schema]:
    from incrowd.audit.files import load_model

    roles = read_schema(schema)
    frame = read_source(data, roles.reading.with_settings(reading), run=run)
    return (load_model(model, trust=trust) if isinstance(model, str | Path) else model), frame, roles
