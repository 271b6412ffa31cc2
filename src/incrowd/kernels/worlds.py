"""Random worlds that fit statements of the kind "among these people, value v occurs c_v times".

A statement knows some people who are counted for certain and some who may be. Its weight in a world is the number of
ways to choose the counted among the others; a count that cannot be met costs `stiffness` per person, so that chains
can move from one world to the next.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import inlined, kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Statements(NamedTuple):
    """Statements about people, from both sides.

    Attributes
    ----------
    first, people
        The people of statement j are ``people[first[j]:first[j + 1]]``; `owner` is the statement of each entry.
    start, said, certain
        The statements about person i are ``said[start[i]:start[i + 1]]``, in increasing order, and whether i is counted
        for certain in each.
    counts
        How often each value is counted, [statements x values].
    tilt
        Log weight of each person who is not counted, by value, [statements x values].
    say
        Of each statement: 1, or less where several say nearly the same.
    """

    first: Int64
    people: Int32
    owner: Int32
    start: Int64
    said: Int32
    certain: Int32
    counts: Int32
    tilt: Floats
    say: Floats


@inlined
def _weight(
    sure: int, maybe: int, count: int, tilt: float, say: float, log_factorial: Floats, stiffness: float
) -> float:
    """Return the log weight of one value in a statement: `count` of `sure` and `maybe` people have it."""
    wanted = count - sure
    if wanted < 0:
        return stiffness * wanted + tilt * maybe
    if wanted > maybe:
        return stiffness * (maybe - wanted)
    spare = maybe - wanted
    ways = float(log_factorial[maybe] - log_factorial[wanted] - log_factorial[spare])
    return say * ways + tilt * spare


@inlined
def _gain(
    certain: bool, sure: int, maybe: int, count: int, tilt: float, say: float, logs: Floats, stiffness: float
) -> float:
    """Return by how much one more person with a value changes the weight of that value in a statement."""
    wanted = count - sure
    if certain:
        if wanted <= 0:
            return -stiffness
        if wanted > maybe:
            return stiffness
        return say * float(logs[wanted] - logs[maybe - wanted + 1]) + tilt
    if wanted < 0:
        return tilt
    if wanted > maybe:
        return stiffness
    return say * float(logs[maybe + 1] - logs[maybe + 1 - wanted]) + tilt


@kernel
def walk(
    world: Int32, sure: Int32, maybe: Int32, facts: Statements, log_prior: Floats, logs: Floats, log_factorial: Floats,
    stiffness: Floats, numbers: Floats, tally: Floats, begin: int,
) -> None:  # fmt: skip
    """Walk through worlds: each sweep draws every person's value anew, then proposes exchanges between two people.

    Parameters
    ----------
    world
        Value of each person; changed in place, with the counts `sure` and `maybe`, [statements x values].
    logs, log_factorial
        Of 0, 1, ... people; the logarithm of 0 is never asked for.
    stiffness
        Per sweep.
    numbers
        Uniform random numbers, [sweeps x (people + 3 exchanges)].
    tally
        How often each person had each value, [people x values]; counted from sweep `begin` on.
    """
    n_people, n_values = log_prior.shape
    n_entries, n_exchanges = len(facts.people), (numbers.shape[1] - n_people) // 3
    energy = np.zeros(n_values)
    start, said, certain = facts.start, facts.said, facts.certain
    counts, tilt, say = facts.counts, facts.tilt, facts.say
    for sweep in range(len(numbers)):
        stiff = stiffness[sweep]
        for i in range(n_people):
            old = world[i]
            for v in range(n_values):
                energy[v] = log_prior[i, v]
            for at in range(start[i], start[i + 1]):
                j = said[at]
                counted = certain[at] != 0
                if counted:
                    sure[j, old] -= 1
                else:
                    maybe[j, old] -= 1
                for v in range(n_values):
                    energy[v] += _gain(counted, sure[j, v], maybe[j, v], counts[j, v], tilt[j, v], say[j], logs, stiff)
            new = _draw(energy, numbers[sweep, i])
            world[i] = new
            for at in range(start[i], start[i + 1]):
                if certain[at]:
                    sure[said[at], new] += 1
                else:
                    maybe[said[at], new] += 1
        for e in range(n_exchanges):
            place = n_people + 3 * e
            entry = int(numbers[sweep, place] * n_entries)
            j = facts.owner[entry]
            other = facts.first[j] + int(numbers[sweep, place + 1] * (facts.first[j + 1] - facts.first[j]))
            a, b = facts.people[entry], facts.people[other]
            u, w = world[a], world[b]
            if u == w:
                continue
            before = _standing(a, b, u, w, sure, maybe, facts, log_factorial, stiff)
            _exchange(a, u, w, sure, maybe, facts)
            _exchange(b, w, u, sure, maybe, facts)
            after = _standing(a, b, u, w, sure, maybe, facts, log_factorial, stiff)
            gain = after - before + log_prior[a, w] + log_prior[b, u] - log_prior[a, u] - log_prior[b, w]
            if gain >= 0 or numbers[sweep, place + 2] < math.exp(gain):
                world[a], world[b] = w, u
            else:
                _exchange(a, w, u, sure, maybe, facts)
                _exchange(b, u, w, sure, maybe, facts)
        if sweep >= begin:
            for i in range(n_people):
                tally[i, world[i]] += 1


@inlined
def _draw(energy: Floats, number: float) -> int:
    """Draw a value by its log weight."""
    most, total = energy[0], 0.0
    for v in range(1, len(energy)):
        most = max(most, energy[v])
    for v in range(len(energy)):
        energy[v] = math.exp(energy[v] - most)
        total += energy[v]
    left, v = number * total, 0
    while v < len(energy) - 1 and left >= energy[v]:
        left -= energy[v]
        v += 1
    return v


@inlined
def _exchange(person: int, old: int, new: int, sure: Int32, maybe: Int32, facts: Statements) -> None:
    """Count a person with another value."""
    for at in range(facts.start[person], facts.start[person + 1]):
        j = facts.said[at]
        if facts.certain[at]:
            sure[j, old] -= 1
            sure[j, new] += 1
        else:
            maybe[j, old] -= 1
            maybe[j, new] += 1


@inlined
def _standing(
    a: int, b: int, u: int, w: int, sure: Int32, maybe: Int32, facts: Statements, log_factorial: Floats, stiff: float
) -> float:
    """Return the log weight of two values in all statements about either of two people."""
    total = 0.0
    at, to = facts.start[a], facts.start[b]
    at_end, to_end = facts.start[a + 1], facts.start[b + 1]
    while at < at_end or to < to_end:
        if to >= to_end or (at < at_end and facts.said[at] < facts.said[to]):
            j = facts.said[at]
            at += 1
        elif at >= at_end or facts.said[at] > facts.said[to]:
            j = facts.said[to]
            to += 1
        else:
            j = facts.said[at]
            same = facts.certain[at] == facts.certain[to]
            at += 1
            to += 1
            if same:  # the two change places in it: nothing changes
                continue
        counts, tilt, say = facts.counts[j], facts.tilt[j], facts.say[j]
        total += _weight(sure[j, u], maybe[j, u], counts[u], tilt[u], say, log_factorial, stiff)
        total += _weight(sure[j, w], maybe[j, w], counts[w], tilt[w], say, log_factorial, stiff)
    return total
