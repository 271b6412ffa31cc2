"""The walk through worlds without the compiler; its counts stay those of its world."""

import numpy as np
import pytest

from incrowd.attacks import worlds
from incrowd.attacks.statements import state
from incrowd.kernels.jit import interpreted
from incrowd.kernels.worlds import walk


def setting(seed):
    rng = np.random.default_rng(seed)
    n, n_values = 9, 3
    truth = rng.integers(0, n_values, n)
    sets = [np.sort(rng.choice(n, size, replace=False)) for size in (3, 5, 6)]
    facts = [state(people, np.bincount(truth[people[: 2 + j]], minlength=n_values)) for j, people in enumerate(sets)]
    flat = worlds.flatten(facts, rng.normal(0, 1, (3, n_values)), n)
    world = truth.astype(np.int32)[::-1].copy()
    logs = np.log(rng.dirichlet(np.ones(n_values), n))
    factorials = np.cumsum(np.log(np.maximum(1, np.arange(n + 2))))
    return flat, world, logs, factorials, rng.random((40, 4 * n)), np.linspace(0.1, 4, 40)


def walked(seed):
    flat, world, logs, factorials, numbers, stiffness = setting(seed)
    sure, maybe = worlds._count(flat, world, logs.shape[1])
    tally = np.zeros(logs.shape)
    walk(world, sure, maybe, flat, logs, factorials, stiffness, numbers, tally, 10)
    return flat, world, sure, maybe, tally


@pytest.mark.parametrize("seed", range(4))
def test_compiled_and_plain_walks_are_the_same_and_keep_count(seed, monkeypatch):
    flat, world, sure, maybe, tally = walked(seed)
    again = worlds._count(flat, world, tally.shape[1])
    assert (again[0] == sure).all()
    assert (again[1] == maybe).all()
    assert (tally.sum(axis=1) == 30).all()
    monkeypatch.delenv("INCROWD_COMPILE", raising=False)
    with interpreted(when=True):
        plain = walked(seed)
    assert (plain[1] == world).all()
    assert (plain[4] == tally).all()
