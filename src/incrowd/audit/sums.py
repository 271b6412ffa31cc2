"""Linear models and naive Bayes: figures that are sums over people.

What can be promised: such a model is computed from the rows without regard to their order, so it tells no more than
the table that says how many people have each combination of values and class. People with the same public values are
alike in it. So if at least k people share each combination of public values that the model sees, k holds. What cannot
be promised: anything, where fewer people share a combination. A coefficient of a value that one person has tells that
person's class, a count of naive Bayes of one person is that person, and even coefficients of numbers that everybody
has are as many equations about the classes as there are columns; with enough digits, one equation is enough.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from incrowd.audit.contents import by_row, without_rows
from incrowd.audit.inputs import Inputs
from incrowd.audit.stages import class_columns
from incrowd.audit.steps import kind_of
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.errors import IncompatibleError, SchemaError

_CLOSE = 1e-4  # of the largest figure: sums over people in another order differ by rounding
_SOLVED = 0.02  # where a solver draws people at random, and stops where it is near enough


def read_sums(model: Any, proper: Any, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return a model of sums as the audit sees it: the spans are the combinations of public values."""
    del limits
    held = by_row(proper)
    class_columns(proper, inputs)
    _require_same(proper, inputs)
    _, span_of = inputs.known_alike()
    several = not inputs.class_public or bool(inputs.secret.any())
    multiple = np.full(int(span_of.max()) + 1, several)

    def bare() -> Any:  # noqa: ANN401
        return back_in_place(model, without_rows(copy.copy(proper)))

    name = type(proper).__name__
    return Subject(name, model, inputs, span_of, multiple, tuple(held), bare=bare)


def _require_same(proper: Any, inputs: Inputs) -> None:  # noqa: ANN401
    """Fit the model again with the table, and refuse if it comes out otherwise."""
    from sklearn.base import clone  # noqa: PLC0415 - the model has loaded it

    assert inputs.target is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = clone(proper).fit(inputs.values, inputs.target.to_list())
    except (TypeError, ValueError) as error:
        fact = f"The {kind_of(proper)} cannot be fitted again with the table: {type(error).__name__}"
        raise SchemaError(fact, SAME_TABLE) from None
    is_drawn = getattr(proper, "solver", None) in ("sag", "saga", "liblinear") or type(proper).__name__ == "LinearSVC"
    close = _SOLVED if is_drawn else _CLOSE
    _require_counted(proper, again)
    for name in sorted(set(vars(proper)) - {"feature_names_in_", "classes_", "n_iter_", "singular_"}):
        if name.endswith("_") and not _alike(getattr(proper, name), getattr(again, name, None), close):
            fact = (
                f"The {kind_of(proper)} holds another {name} than it gets from this table, or was fitted with weights"
            )
            raise IncompatibleError(fact, SAME_TABLE)


def _require_counted(proper: Any, again: Any) -> None:  # noqa: ANN401
    """Refuse numbers of steps that are not so many, whole, and as few as were allowed: they differ between machines."""
    said, found = (np.asarray(getattr(one, "n_iter_", None), np.float64) for one in (proper, again))
    most = getattr(proper, "max_iter", None) or np.inf
    if said.shape != found.shape or not (np.isnan(said) | ((said % 1 == 0) & (said >= 0) & (said <= most))).all():
        fact = f"The {kind_of(proper)} holds 'n_iter_', which the audit does not understand"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")


def _alike(one: Any, other: Any, close: float) -> bool:  # noqa: ANN401
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_alike, one, other, [close] * len(one)))
    if one is None or other is None or isinstance(one, str):
        return bool(one == other)
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if a.shape != b.shape:
        return False
    slack = close * float(np.abs(b).max(initial=0.0)) + 1e-9
    # Classes may be named the other way.
    return bool(np.allclose(a, b, rtol=0, atol=slack) or np.allclose(a, -b, rtol=0, atol=slack))
