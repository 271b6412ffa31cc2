"""The walk through worlds without the compiler; its counts stay those of its world."""

import numpy as np
import pytest

from incrowd.attacks import worlds
from incrowd.attacks.statements import state
from incrowd.kernels.jit import interpreted
from incrowd.kernels.worlds import _gain, _weight, walk


def setting(seed):
    rng = np.random.default_rng(seed)
    n, n_values = 9, 3
    truth = rng.integers(0, n_values, n)
    sets = [np.sort(rng.choice(n, size, replace=False)) for size in (3, 5, 6)]
    facts = [state(people, np.bincount(truth[people[: 2 + j]], minlength=n_values)) for j, people in enumerate(sets)]
    flat = worlds.flatten(facts, rng.normal(0, 1, (3, n_values)), n)
    world = truth.astype(np.int32)[::-1].copy()
    prior = np.log(rng.dirichlet(np.ones(n_values), n))
    factorials = np.cumsum(np.log(np.maximum(1, np.arange(n + 2))))
    return flat, world, prior, factorials, rng.random((40, 4 * n)), np.linspace(0.1, 4, 40)


def walked(seed):
    flat, world, prior, factorials, numbers, stiffness = setting(seed)
    sure, maybe = worlds._count(flat, world, prior.shape[1])
    tally = np.zeros(prior.shape)
    logs = np.log(np.maximum(1, np.arange(len(factorials))))
    walk(world, sure, maybe, flat, prior, logs, factorials, stiffness, numbers, tally, 10)
    return flat, world, sure, maybe, tally


@pytest.mark.parametrize("seed", range(4))
def test_compiled_and_plain_walks_are_the_same_and_keep_count(seed, monkeypatch):
    flat, world, sure, maybe, tally = walked(seed)
    again = worlds._count(flat, world, tally.shape[1])
    assert (again[0] == sure).all()
    assert (again[1] == maybe).all()
    assert (tally.sum(axis=1) == 30).all()
    monkeypatch.setattr("incrowd.kernels.jit.COMPILE_ALWAYS", False)
    with interpreted(when=True):
        plain = walked(seed)
    assert (plain[1] == world).all()
    assert (plain[4] == tally).all()


@pytest.mark.parametrize("certain", [True, False])
def test_one_more_person_changes_the_weight_by_the_gain(certain):
    logs = np.log(np.maximum(1, np.arange(20)))
    factorials = np.cumsum(logs)
    for sure in range(4):
        for maybe in range(4):
            for count in range(6):
                more = (sure + 1, maybe) if certain else (sure, maybe + 1)
                after = _weight(*more, count, -0.7, 0.4, factorials, 3.0)
                change = after - _weight(sure, maybe, count, -0.7, 0.4, factorials, 3.0)
                found = _gain(certain, sure, maybe, count, -0.7, 0.4, logs, 3.0)
                assert found == pytest.approx(change), (sure, maybe, count)


def test_statements_about_the_same_people_speak_as_one():
    crowd, others = np.arange(4), np.arange(3, 6)
    facts = [state(crowd, np.array([2, 0])), state(crowd, np.array([1, 1])), state(others, np.array([1, 1]))]
    flat = worlds.flatten(facts, np.ones((3, 2)), 6)
    assert flat.say.tolist() == [0.5, 0.5, 1]
    assert flat.tilt.tolist() == [[0.5, 0.5], [0.5, 0.5], [1, 1]]
