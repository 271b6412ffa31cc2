"""SPEA2: each step as its report says, the archive against the true frontier, and what a search promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_spea2 as naive
from incrowd.publish.decomposition.feature_search import EMPTY, partition_of
from incrowd.publish.decomposition.frontier import non_dominated
from incrowd.publish.decomposition.levels import Levels
from incrowd.publish.decomposition.spea2 import ParetoSearch, distances_between, fitness_of, select, truncate

points_strategy = st.lists(
    st.tuples(st.integers(0, 12).map(lambda a: a / 16), st.integers(1, 12).map(float)),
    min_size=1,
    max_size=40,
    unique=True,
)


@given(points_strategy)
def test_fitness_equals_the_reference(points):
    array = np.array(points)
    assert fitness_of(array, distances_between(array)).tolist() == naive.fitness(points)


@given(points_strategy, st.integers(2, 12))
def test_archives_equal_the_reference(points, size):
    assert select(np.array(points), size).tolist() == naive.select(points, size)


@given(st.integers(3, 40), st.integers(2, 12), st.integers(0, 99))
def test_truncation_equals_the_reference_and_keeps_both_ends(n, size, seed):
    """On a frontier, where only crowding decides; coarse places make ties."""
    rng = np.random.default_rng(seed)
    accuracies = sorted(rng.choice(64, n, replace=False) / 64)
    levels = sorted(rng.choice(np.arange(1, 65), n, replace=False).astype(float), reverse=True)
    points = [(float(a), float(l)) for a, l in zip(accuracies, levels, strict=True)]
    kept = select(np.array(points), size)
    assert kept.tolist() == naive.select(points, size)
    assert len(kept) == min(n, size)
    assert {0, n - 1} <= set(kept.tolist())


def test_the_worked_example_of_section_4_4():
    points = np.array([(80.5, 200), (90, 500), (88, 700)])
    assert non_dominated(points).tolist() == [False, True, True]
    fitness = fitness_of(points, distances_between(points))
    assert (fitness < 1).tolist() == [False, True, True]
    assert int(fitness[0]) == 2  # dominated by two points of strength 1


def test_the_most_crowded_goes_first():
    places = np.array([0.0, 1.0, 1.2, 5.0])
    distances = np.abs(places[:, None] - places)
    np.fill_diagonal(distances, np.inf)
    assert truncate(distances, 3).tolist() == [0, 2, 3]  # 1.0 has the nearer second neighbour
    assert truncate(distances, 2).tolist() == [0, 3]


def all_partitions(n):
    found = set()
    for set_of in itertools.product(range(n + 1), repeat=n):
        found.add(partition_of([f for f in range(n) if set_of[f] == number] for number in range(n)))
    return sorted(found)


def problem(n, seed):
    """Features that help by themselves and in pairs, and levels of a random table."""
    rng = np.random.default_rng(seed)
    rows = 120
    codes = np.column_stack([rng.integers(2 + m, size=rows) for m in range(n)]).astype(np.int32)
    levels = Levels(codes, rng.integers(2, size=rows).astype(np.int32), range(n))
    alone, pairs = rng.integers(0, 6, n), rng.integers(0, 9, (n, n))

    def objectives(parts):
        gained = sum(alone[f] for part in parts for f in part)
        gained += sum(pairs[f, g] for part in parts for f, g in itertools.combinations(part, 2))
        return 0.5 + gained / 512, min(levels.of_partition(parts), rows)

    return objectives


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (3, 0), (4, 0), (4, 1), (5, 0)])
def test_on_few_features_the_archive_is_the_true_frontier(n, seed):
    objectives = problem(n, seed)
    every = all_partitions(n)
    points = [objectives(parts) for parts in every]
    best = {points[i] for i in naive.frontier(points)}
    search = ParetoSearch(n, objectives, seed=seed)
    found = search.run()
    fit = {search.scores[parts] for parts in search.archive if search.scores[parts] in best}
    assert fit == best
    assert [search.scores[parts] for parts in found] == sorted(best, reverse=True)
    assert [search.scores[parts] for parts in search.archive[: len(best)]] == [
        search.scores[parts] for parts in search.archive if search.scores[parts] in best
    ]  # they come first, before those that fill it up


def test_an_overflowing_archive_loses_nothing_that_was_found():
    search = ParetoSearch(5, problem(5, 0), generations=30, population=30, archive_size=4)
    found = search.run()
    assert len(search.archive) == 4
    assert len(found) > 4
    every = list(search.scores.values())
    assert [search.scores[parts] for parts in found] == sorted({every[i] for i in naive.frontier(every)}, reverse=True)


def small(seed=0, **more):
    return ParetoSearch(5, problem(5, 7), **{"generations": 8, "population": 10, "seed": seed} | more)


def test_same_seed_same_search():
    one, again, other = small(1), small(1), small(2)
    assert one.run() == again.run()
    other.run()
    assert list(one.scores.items()) == list(again.scores.items())
    assert one.archive == again.archive
    assert list(one.scores) != list(other.scores)


@pytest.mark.parametrize("n_calls", [0, 3, 25, 61])
def test_stopped_anywhere_it_goes_on_as_if_it_had_not_been(n_calls):
    whole, search = small(), small()
    whole.run()
    so_far = search.run(stop=lambda: len(search.scores) >= n_calls)
    every = list(search.scores.values())
    assert len(every) == min(n_calls, len(whole.scores))
    assert {search.scores[parts] for parts in so_far} == {every[i] for i in naive.frontier(every)}
    assert search.run() == whole.frontier()
    assert list(search.scores.items()) == list(whole.scores.items())
    assert search.archive == whole.archive


def test_interrupted_by_the_user():
    objectives = problem(5, 7)

    def interrupted(parts):
        if len(search.scores) == 15:
            raise KeyboardInterrupt
        return objectives(parts)

    search = ParetoSearch(5, interrupted, population=10)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert len(search.scores) == 15
    assert search.frontier()


def test_progress_by_generation():
    told = []
    small(generations=3).run(lambda *now: told.append(now))
    assert told == [("generations", done, 3) for done in (0, 0, 1, 2, 3)]


def test_the_archive_has_no_two_of_equal_objectives_and_keeps_the_first_found():
    search = small()
    search.run()
    points = [search.scores[parts] for parts in search.archive]
    assert len(points) == len(set(points))
    first = ParetoSearch(3, lambda _: (0.5, 10), generations=2, population=4)
    assert first.run() == first.archive == [EMPTY]


def test_the_fitter_are_likelier_parents():
    search = small(archive_size=20, population=20)
    search.run()
    chosen = [search._parents(np.random.default_rng(seed)) for seed in range(300)]
    times = [sum(parts in parents for parents in chosen) for parts in search.archive]
    third = len(times) // 3
    assert all(len(parents) == len(set(parents)) == 10 for parents in chosen)
    assert sum(times[:third]) > 1.5 * sum(times[-third:]) > 0


def test_without_features_there_is_the_empty_partition():
    assert ParetoSearch(0, lambda _: (0.5, 10), generations=2).run() == [EMPTY]


@pytest.mark.parametrize("wrong", [{"archive_size": 1}, {"population": 1}, {"mutation": 2.0}])
def test_clear_errors(wrong):
    with pytest.raises(ic.ParameterError, match=next(iter(wrong))):
        small(**wrong)


@pytest.mark.parametrize("point", [(float("nan"), 1), (0.5, float("inf")), (0.5, 0)])
def test_objectives_that_are_none(point):
    with pytest.raises(ic.ParameterError, match="an accuracy and a level above 0"):
        ParetoSearch(3, lambda _: point).run()
