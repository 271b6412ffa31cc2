"""Beliefs from random worlds: assignments of values to people that fit what the release says.

Several chains walk through worlds (`kernels.worlds`), softly bound to the statements at first and more and more
stiffly later; how often a person has a value in the second half is the belief in it. The prior is what the pattern of
the population says about each person (`bayes`), so that what is gained beyond it comes from the statements.

Rows with the same box are about the same people, and mostly count the same of them, because a method breaks ties
alike for all. Taken as independent they would make beliefs far too sure, so together they weigh as one. Beliefs above
0.9 are then right about as often as they say for small k (occupation in census rows, k = 5), and still too sure for
large ones: with k = 50 in about half of the cases. How many were right is told with every finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln

from incrowd.attacks.scene import Floats, Int64
from incrowd.attacks.statements import Statement
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.jit import interpreted
from incrowd.kernels.worlds import Statements, walk

_STIFFNESS = 0.3, 4.0
_SLICE = 50
_FEW_STEPS = 2e5


def flatten(statements: Sequence[Statement], tilts: Floats, n_people: int) -> Statements:
    """Return statements as the kernel wants them."""
    size = np.array([len(s.people) for s in statements], np.int64)
    first = np.concatenate([[0], np.cumsum(size)])
    people = np.concatenate([s.people for s in statements]).astype(np.int32)
    owner = np.repeat(np.arange(len(statements), dtype=np.int32), size)
    certain = np.concatenate([s.certain for s in statements]).astype(np.int32)
    order = np.lexsort((owner, people))
    start = np.searchsorted(people[order], np.arange(n_people + 1))
    counts = np.stack([s.counts for s in statements]).astype(np.int32)
    say = _say(statements)
    return Statements(first, people, owner, start, owner[order], certain[order], counts, tilts * say[:, None], say)


def _say(statements: Sequence[Statement]) -> Floats:
    """Weigh statements about the same people together as one."""
    about = Counter(s.people.tobytes() for s in statements)
    return np.array([1 / about[s.people.tobytes()] for s in statements])


def sample(
    facts: Statements,
    prior: Floats,
    rng: np.random.Generator,
    *,
    n_chains: int,
    n_sweeps: int,
    progress: Callable[[int, int], None],
) -> tuple[Floats, list[Codes]]:
    """Return beliefs, [people x values], and the last world of each chain.

    Parameters
    ----------
    facts
        What the worlds must fit.
    prior
        Belief before, [people x values]; a value with belief 0 is impossible.
    n_chains, n_sweeps
        Independent walks, and the length of each; the second half counts.
    """
    n_people, n_values = prior.shape
    with np.errstate(divide="ignore"):
        log_prior = np.where(prior > 0, np.log(prior), -1e6)
    logs = np.log(np.maximum(1, np.arange(n_people + 3, dtype=np.float64)))
    log_factorial = np.asarray(gammaln(np.arange(1, n_people + 3, dtype=np.float64)))
    tally = np.zeros((n_people, n_values))
    half = n_sweeps // 2
    rise = np.linspace(*_STIFFNESS, max(1, half))
    stiffness = np.concatenate([rise, np.full(n_sweeps - half, _STIFFNESS[1])])
    last = []
    steps = float(len(facts.people)) * n_values * n_sweeps * n_chains
    with interpreted(steps < _FEW_STEPS):
        for chain in range(n_chains):
            world = _draw(prior, rng)
            sure, maybe = _count(facts, world, n_values)
            for at in range(0, n_sweeps, _SLICE):
                n = min(_SLICE, n_sweeps - at)
                numbers = rng.random((n, 4 * n_people))
                stiff = stiffness[at : at + n]
                walk(
                    world, sure, maybe, facts, log_prior, logs, log_factorial, stiff, numbers, tally, max(0, half - at)
                )  # fmt: skip
                progress(chain * n_sweeps + at + n, n_chains * n_sweeps)
            last.append(world)
    return tally / np.maximum(1, tally.sum(axis=1, keepdims=True)), last


def _draw(prior: Floats, rng: np.random.Generator) -> Codes:
    up_to = np.cumsum(prior, axis=1)
    ticket = rng.random(len(prior)) * up_to[:, -1]
    drawn = (up_to <= ticket[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, prior.shape[1] - 1), np.int32)


def _count(facts: Statements, world: Codes, n_values: int) -> tuple[Codes, Codes]:
    """Count the values of the people in each statement: of those counted for certain, and of the others."""
    shape = len(facts.counts), n_values
    sure, maybe = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    who: Int64 = np.repeat(np.arange(len(world)), np.diff(facts.start))
    for wanted, into in ((1, sure), (0, maybe)):
        at = facts.certain == wanted
        np.add.at(into, (facts.said[at], world[who[at]]), 1)
    return sure, maybe
