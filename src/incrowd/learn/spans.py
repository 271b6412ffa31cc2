"""Spans: what somebody who knows a person's public values can tell about them from a released model.

A model sends every combination of public and private values to an *equivalence class* (a bin of a leaf, a cluster, a
pattern of rules). The *span* of a person is the set of classes that they can be in when their private values vary over
the whole domain. The model is released with the number of people in each class. It keeps everybody in a crowd of k if
for each person the span has one class, which says nothing about private values, or is shared by at least k people of
the table (Claim 3).

Reference: Friedman, Wolff, Schuster: Providing k-anonymity in data mining, VLDB Journal 2008.

>>> spans = Spans.of_people([{"C1"}, {"C1"}, {"C2", "C3"}, {"C2", "C3"}, {"C2", "C3"}, {"C3", "C4"}])
>>> spans.people.tolist(), spans.breaches(2).tolist(), spans.at_risk(2).tolist()
([2, 3, 1], [2], [5])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Class = Hashable
Person = Mapping[str, Any]
Model = Callable[[Person], Class]


@dataclass(frozen=True)
class Spans:
    """People of a table, grouped by span.

    Attributes
    ----------
    classes
        The equivalence classes in each span.
    span_of
        Number of each person's span.
    """

    classes: tuple[frozenset[Class], ...]
    span_of: Int64

    @classmethod
    def of_people(cls, spans: Iterable[Iterable[Class]]) -> Spans:
        """Group people by their spans, numbered as they first occur."""
        number: dict[frozenset[Class], int] = {}
        span_of = [number.setdefault(frozenset(span), len(number)) for span in spans]
        return cls(tuple(number), np.array(span_of, np.int64))

    @cached_property
    def people(self) -> Int64:
        """Number of people in each span."""
        return np.bincount(self.span_of, minlength=len(self.classes))

    @cached_property
    def multiple(self) -> npt.NDArray[np.bool_]:
        """Which spans have more than one class, and so tell something about private values."""
        return np.array([len(span) > 1 for span in self.classes], np.bool_)

    def breaches(self, k: int) -> Int64:
        """Return the spans that link private values to fewer than k people."""
        return np.flatnonzero(self.multiple & (self.people > 0) & (self.people < k))

    def at_risk(self, k: int) -> Int64:
        """Return the people in those spans, by their place in the table."""
        return np.flatnonzero(np.isin(self.span_of, self.breaches(k)))

    @property
    def level(self) -> int | None:
        """Largest k that the release keeps; ``None`` when no span tells anything, so that any k holds."""
        told = self.people[self.multiple & (self.people > 0)]
        return int(told.min()) if len(told) else None


def span(model: Model, public: Person, private: Mapping[str, Sequence[Any]]) -> frozenset[Class]:
    """Return the classes that a person can be in, by trying every combination of private values (Definition 5)."""
    return frozenset(
        model({**public, **dict(zip(private, values, strict=True))}) for values in product(*private.values())
    )


def find_spans(model: Model, people: Sequence[Person], private: Mapping[str, Sequence[Any]]) -> Spans:
    """Return the spans of all people of a table.

    The definition, word for word: fine for a worked example. Learners and audits find the same spans without trying
    every value.

    Parameters
    ----------
    model
        The class of a person with public and private values.
    people
        The table; only what is not in `private` is looked at.
    private
        The whole domain of each private attribute.
    """
    known = [{name: value for name, value in person.items() if name not in private} for person in people]
    return Spans.of_people(span(model, public, private) for public in known)


@dataclass(frozen=True)
class Link:
    """What a linking attack tells about a group of people.

    Attributes
    ----------
    people
        Who they are.
    populations
        Classes that they may be in, with the number of people that the release says are in each.
    """

    people: tuple[Any, ...]
    populations: dict[Class, int]


def linking_attack(
    model: Model, people: Sequence[Person], private: Mapping[str, Sequence[Any]], identities: Sequence[Any]
) -> list[Link]:
    """Link people to private values by a released model (Definition 6).

    Parameters
    ----------
    model, people, private
        As in `find_spans`; the populations of classes, which come with the release, are counted in `people`.
    identities
        Who each person is: the attacker has them beside the public values.
    """
    population = Counter(model(person) for person in people)
    spans = find_spans(model, people, private)
    return [
        Link(
            tuple(identities[int(i)] for i in np.flatnonzero(spans.span_of == number)),
            {one: population[one] for one in sorted(classes, key=repr)},
        )
        for number, classes in enumerate(spans.classes)
    ]
