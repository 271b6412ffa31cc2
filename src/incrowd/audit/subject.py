"""A model as the audit sees it: whose spans are what, what it holds beside, and how it can be changed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit.inputs import Inputs
from incrowd.errors import ParameterError

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SAME_TABLE = "give the table that the model was fitted with, its columns in the same order: spans are about its people"
_SLACK = 1e-9


@dataclass(frozen=True)
class Limits:
    """What every crowd has to keep: a size, and limits on what is told about the class (section 6.3).

    Attributes
    ----------
    k
        Least number of people.
    l
        Entropy diversity: the entropy of the classes of a crowd is at least log l.
    max_confidence
        Largest share of one class in a crowd.
    """

    k: int
    l: float | None = None
    max_confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.k, int | np.integer) or isinstance(self.k, bool) or self.k < 1:
            fact = f"k is {self.k!r}"
            raise ParameterError(fact, "use a whole number from 1")
        if self.l is not None and not (_is_real(self.l) and self.l >= 1):
            fact = f"l is {self.l!r}"
            raise ParameterError(fact, "use a number from 1")
        if self.max_confidence is not None and not (_is_real(self.max_confidence) and 0 < self.max_confidence <= 1):
            fact = f"max_confidence is {self.max_confidence!r}"
            raise ParameterError(fact, "use a share above 0 and up to 1")

    @property
    def about_classes(self) -> bool:
        """Whether the classes of a crowd matter."""
        return self.l is not None or self.max_confidence is not None

    def broken(self, sizes: Int64, counts: Int64 | None) -> Bools:
        """Tell which crowds are too small or, by their classes, [crowds x classes], tell too much."""
        found = sizes < self.k
        if counts is None or not self.about_classes:
            return np.asarray(found)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        if self.l is not None:
            found |= entropies(counts) < math.log(self.l) - _SLACK
        if self.max_confidence is not None:
            found |= shares.max(axis=1, initial=0.0) > self.max_confidence + _SLACK
        return np.asarray(found)


def _is_real(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def entropies(counts: Int64) -> npt.NDArray[np.float64]:
    """Return the entropy of the classes of each crowd."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1))


@dataclass(frozen=True)
class Subject:
    """One model under audit.

    Attributes
    ----------
    name
        Kind of model, in words.
    model
        The model as it was given.
    inputs
        The people as the model sees them.
    span_of, multiple
        Number of each person's span, and which spans have several classes.
    held
        What it tells about rows, which `bare` lacks.
    behind
        People who stand behind a figure of fewer than k of them, such as a centroid.
    parts
        Of models that keep figures of private values of groups of people: the group of each person.
    views
        Its trees, if it can be mended by taking splits away; `rebuild` makes the model with only
        these splits, and without the trees for which there is nothing.
    mend
        How other models are mended: returns the model and the steps in words; `steps` if they are known before.
    bare
        Makes a copy without what is held.
    has_class
        Whether the model tells about the class.
    votes
        Whether its trees vote, so that one of them can do without the others.
    """

    name: str
    model: Any
    inputs: Inputs
    span_of: Int64
    multiple: Bools
    held: tuple[str, ...] = ()
    behind: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    notes: tuple[str, ...] = ()
    parts: Int64 | None = None
    views: Sequence[Any] = ()
    rebuild: Callable[[Sequence[set[int] | None]], Any] | None = None
    mend: Callable[[Limits], tuple[Any, list[str]]] | None = None
    steps: tuple[str, ...] = ()
    bare: Callable[[], Any] | None = None
    has_class: bool = True
    votes: bool = False


def back_in_place(model: Any, changed: Any) -> Any:  # noqa: ANN401
    """Return a copy of a pipeline that ends in the changed model, or that model itself."""
    if not hasattr(model, "steps"):
        return changed
    whole = copy.copy(model)
    whole.steps = [*model.steps[:-1], (model.steps[-1][0], changed)]
    return whole
