"""How much a repair leaves of what a model predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd import io
from incrowd.errors import SchemaError
from incrowd.schema import Schema


def scores(model: Any, repaired: Any, rows: Any, schema: Schema) -> tuple[float, float, float]:  # noqa: ANN401
    """Return the accuracy of two models on rows with the class, and the share of the most frequent class.

    For a number that is predicted it is the explained part of the variance, and the mean explains nothing.
    """
    people = io.to_polars(rows)
    target = schema.target
    if target is None or target not in people.columns:
        fact = "The rows do not have the class"
        raise SchemaError(fact, "give rows with the column that the model predicts")
    names = getattr(model, "feature_names_in_", None)
    columns = [name for name in people.columns if name != target] if names is None else list(map(str, names))
    given = rows if hasattr(rows, "iloc") else people
    given = given[columns]
    given = given.to_numpy() if names is None else given
    truth = people[target]
    if not hasattr(model, "classes_"):
        values = np.asarray(truth.to_numpy(), np.float64)
        spread = float(((values - values.mean()) ** 2).sum()) or 1.0
        left = [float(((values - np.asarray(one.predict(given))) ** 2).sum()) for one in (model, repaired)]
        return 1 - left[0] / spread, 1 - left[1] / spread, 0.0
    named = _named(np.asarray(model.classes_), truth.to_list(), model.predict(given))
    right = [float((_text(one.predict(given)) == named).mean()) for one in (model, repaired)]
    return right[0], right[1], float(np.unique(named, return_counts=True)[1].max() / len(named))


def _text(values: Any) -> npt.NDArray[Any]:  # noqa: ANN401
    return np.asarray([str(value) for value in np.asarray(values).tolist()])


def _named(classes: npt.NDArray[Any], truth: list[Any], predicted: Any) -> npt.NDArray[Any]:  # noqa: ANN401
    """Return the classes of rows in the words of the model, which may have been given numbers for names."""
    own, words = set(_text(classes).tolist()), _text(np.array(truth, object))
    if set(words.tolist()) <= own:
        return words
    predicted = _text(predicted)
    for word in np.unique(words):  # the class that the model most often predicts for it
        there = words == word
        names, counts = np.unique(predicted[there], return_counts=True)
        words = np.where(there, names[counts.argmax()], words)
    return words
