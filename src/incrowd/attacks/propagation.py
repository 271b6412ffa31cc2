"""What follows for certain from statements about people.

Every person starts with all values possible. In a statement, value v occurs at least c_v times among its people, and at
most c_v plus the number of people who are not counted. When the people who can still have v are just as many as must,
they all have it; when those who have it are as many as may, nobody else has. Two whole statements that overlap are
subtracted: what one counts beyond the other belongs to the people of the one alone, and when that makes up all of
them, a smaller whole statement follows; a statement inside another is the simplest case.

Sound always: a value that is left as the only one is the value in every world that fits the statements. Not complete:
systems of three and more statements that decide only together are left to `worlds`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incrowd.attacks.scene import Int64
from incrowd.attacks.statements import Statement, state
from incrowd.kernels.propagation import settle

Possible = npt.NDArray[np.bool_]

_ROUNDS = 4
_MOST_PAIRS = 60_000
_MOST_SAID = 50  # statements about one person, beyond which pairs of them are not tried


def propagate(statements: Sequence[Statement], possible: Possible) -> Possible:
    """Return which values each person can still have, [people x values]; the argument is not changed."""
    possible = possible.copy()
    facts = list(statements)
    for _ in range(_ROUNDS):
        _settle(facts, possible)
        smaller = _subtract([reduce(s, possible) for s in facts if s.whole])
        known = {(s.people.tobytes(), s.counts.tobytes()) for s in facts}
        new = [s for s in smaller if (s.people.tobytes(), s.counts.tobytes()) not in known]
        if not new:
            break
        facts += new
    return possible


def certain_alone(statements: Sequence[Statement], possible: Possible) -> npt.NDArray[np.bool_]:
    """Tell about whom some statement by itself leaves one value, given what is possible before."""
    found = np.zeros(len(possible), np.bool_)
    for statement in statements:
        inside = possible[statement.people]
        _settle([Statement(np.arange(len(inside)), statement.counts, statement.certain)], inside)
        found[statement.people[inside.sum(axis=1) == 1]] = True
    return found


def reduce(statement: Statement, possible: Possible) -> Statement:
    """Leave out of a whole statement the people whose value is known."""
    open_ones = possible[statement.people].sum(axis=1) > 1
    known = statement.people[~open_ones]
    counts = statement.counts - np.bincount(possible[known].argmax(axis=1), minlength=possible.shape[1])
    return state(statement.people[open_ones], counts)


def _settle(facts: Sequence[Statement], possible: Possible) -> None:
    """Rule values out until no statement rules out any more."""
    people = np.concatenate([np.empty(0, np.int64), *(statement.people for statement in facts)])
    start = np.cumsum([0, *(len(statement.people) for statement in facts)])
    counts = np.array([statement.counts for statement in facts], np.int64).reshape(len(facts), possible.shape[1])
    slack = np.array([statement.slack for statement in facts], np.int64)
    settle(people, start, counts, slack, *_said(facts, len(possible)), possible)


def _subtract(whole: Sequence[Statement]) -> list[Statement]:
    """Subtract overlapping whole statements from each other; return the whole statements that follow."""
    found: dict[tuple[bytes, bytes], Statement] = {}
    unique = {(s.people.tobytes(), s.counts.tobytes()): s for s in whole if len(s.people)}
    facts = list(unique.values())
    for a, b in _overlapping(facts)[:_MOST_PAIRS].tolist():
        more = facts[a].counts - facts[b].counts
        for one, other, gain in ((facts[a], facts[b], more), (facts[b], facts[a], -more)):
            beyond = np.maximum(gain, 0)
            alone = np.setdiff1d(one.people, other.people, assume_unique=True)
            if len(alone) and beyond.sum() == len(alone):
                new = state(alone, beyond)
                found[new.people.tobytes(), new.counts.tobytes()] = new
    return list(found.values())


def _said(facts: Sequence[Statement], n_people: int) -> tuple[Int64, Int64]:
    """Return the statements about each person, person by person and in order, and where those about each begin."""
    people = np.concatenate([np.empty(0, np.int64), *(statement.people for statement in facts)])
    said = np.repeat(np.arange(len(facts)), [len(statement.people) for statement in facts])
    first = np.concatenate([[0], np.cumsum(np.bincount(people, minlength=n_people))])
    return said[np.argsort(people, kind="stable")], first


def _overlapping(facts: Sequence[Statement]) -> Int64:
    """Return the pairs of statements that share a person about whom there are not too many, in order."""
    said, first = _said(facts, 1 + max((int(statement.people.max()) for statement in facts), default=0))
    sizes, found = np.diff(first), np.empty(0, np.int64)
    for size in range(2, min(_MOST_SAID, int(sizes.max())) + 1):
        alike = said[first[:-1][sizes == size][:, None] + np.arange(size)]
        one, other = np.triu_indices(size, 1)
        found = np.union1d(found, alike[:, one] * len(facts) + alike[:, other])
    return np.column_stack(np.divmod(found, max(1, len(facts))))
