"""The genetic search: its operators, its promises, and that it finds what can be found."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.publish.decomposition.feature_search import (
    EMPTY,
    FeatureSearch,
    child_of,
    filtered_out,
    mutate,
    partition_of,
    passed,
)

N = 6


@st.composite
def partitions(draw):
    set_of = draw(st.lists(st.integers(0, N), min_size=N, max_size=N))
    return partition_of([f for f in range(N) if set_of[f] == number] for number in range(N))


def matrix(parts, n=N):
    """Section 4.1.1's encoding: 1 together, -1 both filtered out, 0 otherwise."""
    set_of = {feature: part for part in parts for feature in part}
    cells = [[int(set_of.get(i) == set_of.get(j)) for j in range(n)] for i in range(n)]
    return np.array([[-c if i not in set_of else c for c in row] for i, row in enumerate(cells)])


def test_figure_4():
    assert matrix(((0,), (1, 2)), 4).tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, -1]]


@given(partitions(), partitions(), st.data())
def test_crossover_copies_rows_and_columns_of_the_ancestor_and_all_else_from_the_other_parent(one, other, data):
    """In terms of the paper's matrix: Fig. 5."""
    sets = [part for part in [*one, filtered_out(one, N)] if part]
    ancestor = data.draw(st.sampled_from(sets))
    inside = np.isin(np.arange(N), ancestor)
    child = matrix(child_of(ancestor, one, other))
    from_one = inside[:, None] & inside[None, :]
    from_other = ~inside[:, None] & ~inside[None, :]
    assert (child[from_one] == matrix(one)[from_one]).all()
    assert (child[from_other] == matrix(other)[from_other]).all()
    if ancestor in one:  # nobody else joins the ancestor's part
        assert (child[inside][:, ~inside] == 0).all()


def test_an_ancestor_that_is_filtered_out_filters_out():
    assert child_of((2, 3), ((0,), (1,)), ((0, 2), (3,), (1,))) == ((0,), (1,))


@given(partitions(), st.integers(0, N - 1), st.integers(0, 99))
def test_mutation_passes_one_feature_to_another_set(parts, feature, seed):
    mutated = mutate(parts, feature, N, np.random.default_rng(seed))
    others = [f for f in range(N) if f != feature]
    assert (matrix(mutated)[np.ix_(others, others)] == matrix(parts)[np.ix_(others, others)]).all()
    if len(parts) < 2:
        assert (feature,) in mutated
    else:
        assert mutated != parts
        assert (feature,) not in mutated


def test_mutation_reaches_every_other_set():
    parts = ((0,), (1, 2), (3,))
    rng = np.random.default_rng(0)
    reached = {mutate(parts, 2, N, rng) for _ in range(60)}
    assert reached == {passed(parts, 2, (0,)), passed(parts, 2, (3,)), passed(parts, 2, ())}
    assert {mutate(parts, 5, N, rng) for _ in range(60)} == {passed(parts, 5, part) for part in parts}


def agreement(wanted):
    """The share of pairs of features that are as they are wanted, from above 0."""
    target = matrix(wanted)
    return lambda parts: float((matrix(parts) == target).mean()) + 0.01


WANTED = ((0, 4), (1, 2))


def test_finds_the_best_partition():
    search = FeatureSearch(N, agreement(WANTED), generations=30, population=20)
    assert search.run() == WANTED
    assert search.n_done == 30
    assert search.scores[WANTED] == 1.01


def test_same_seed_same_search():
    runs = [FeatureSearch(N, agreement(WANTED), generations=6, population=8, seed=seed) for seed in (1, 1, 2)]
    for search in runs:
        search.run()
    assert list(runs[0].scores.items()) == list(runs[1].scores.items())
    assert runs[0].members == runs[1].members
    assert list(runs[0].scores) != list(runs[2].scores)


def test_each_partition_is_evaluated_once_and_is_canonical():
    seen = []

    def fitness(parts):
        seen.append(parts)
        return agreement(WANTED)(parts)

    search = FeatureSearch(N, fitness, generations=10, population=10)
    search.run()
    assert len(seen) == len(set(seen)) == len(search.scores)
    assert all(parts == partition_of(parts) for parts in seen)
    assert len(seen) <= 11 * 10


def test_the_population_is_the_best_of_old_and_new_with_the_empty_partition():
    search = FeatureSearch(N, lambda parts: 0.1 + sum(map(len, parts)), generations=0, population=8)
    search.run()
    for _ in range(12):
        before = set(search.members)
        evaluated = set(search.scores)
        search.generations += 1
        search.run()
        assert len(search.members) == len(set(search.members)) == 8
        assert EMPTY in search.members
        lowest = min(search.scores[parts] for parts in search.members if parts != EMPTY)
        lost = (before | (set(search.scores) - evaluated)) - set(search.members)
        assert all(search.scores[parts] <= lowest for parts in lost)
    assert search.members[-1] == EMPTY  # it is the worst, and stays


def test_the_first_population_has_each_feature_alone():
    search = FeatureSearch(N, lambda _: 1.0, generations=0, population=20)
    assert search.run() == EMPTY  # all are equal, and it is found first
    assert next(iter(search.scores)) == EMPTY
    assert {((f,),) for f in range(N)} <= set(search.scores)
    assert search.n_done == 0


def test_partitions_of_fitness_0_have_no_children():
    """Only the empty partition and {0} count: with no mutation nothing but what these two give can be new."""
    search = FeatureSearch(N, lambda parts: float(parts in (EMPTY, ((0,),))), generations=0, population=20, mutation=0)
    search.run()
    first = set(search.scores)
    search.generations = 5
    search.run()
    assert set(search.scores) == first
    none = FeatureSearch(N, lambda _: 0.0, generations=3, population=5)
    assert none.run() == EMPTY


def test_the_fitter_are_likelier_parents():
    search = FeatureSearch(N, lambda parts: 1.0 + sum(map(len, parts)), generations=0, population=20)
    search.run()
    chosen = [search._parents(np.random.default_rng(seed)) for seed in range(300)]
    times = [sum(parts in parents for parents in chosen) for parts in search.members]
    assert all(len(parents) == len(set(parents)) == 10 for parents in chosen)
    third = len(times) // 3
    assert sum(times[:third]) > 1.5 * sum(times[-third:]) > 0


def test_best_among_the_allowed():
    search = FeatureSearch(N, agreement(WANTED), generations=10, population=10)
    search.run()
    ranked = search.ranked()
    assert [search.scores[parts] for parts in ranked] == sorted(search.scores.values(), reverse=True)
    for one, other in itertools.pairwise(ranked):
        if search.scores[one] == search.scores[other]:
            assert list(search.scores).index(one) < list(search.scores).index(other)
    assert search.best(lambda parts: len(parts) == 1) == next(parts for parts in ranked if len(parts) == 1)
    assert search.best(lambda _: False) == EMPTY


@pytest.mark.parametrize("n_calls", [0, 3, 25, 61])
def test_stopped_anywhere_it_has_the_best_so_far_and_goes_on_as_if_it_had_not_been(n_calls):
    whole = FeatureSearch(N, agreement(WANTED), generations=8, population=10)
    whole.run()
    search = FeatureSearch(N, agreement(WANTED), generations=8, population=10)
    best = search.run(stop=lambda: len(search.scores) >= n_calls)
    assert len(search.scores) == min(n_calls, len(whole.scores))
    assert best == max(search.scores, key=search.scores.get, default=EMPTY)
    assert search.run() == whole.run()
    assert list(search.scores.items()) == list(whole.scores.items())
    assert search.members == whole.members


def test_it_can_be_stopped_when_nothing_new_is_left():
    search = FeatureSearch(1, lambda _: 1.0, generations=10**9, population=4)
    search.run(stop=lambda: search.n_done >= 50)
    assert search.n_done == 50
    assert len(search.scores) == 2


def test_interrupted_by_the_user():
    def fitness(parts):
        if len(search.scores) == 15:
            raise KeyboardInterrupt
        return agreement(WANTED)(parts)

    search = FeatureSearch(N, fitness, population=10)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert search.best() == search.ranked()[0]
    assert len(search.scores) == 15


def test_progress_by_generation():
    told = []
    FeatureSearch(3, lambda _: 1.0, generations=4, population=4).run(lambda *now: told.append(now))
    assert told == [("generations", done, 4) for done in (0, 0, 1, 2, 3, 4)]


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_features(n):
    search = FeatureSearch(n, lambda parts: 1.0 + len(parts), generations=3, population=4)
    assert search.run() == (((0,),) if n else EMPTY)


@pytest.mark.parametrize(
    "wrong", [{"population": 1}, {"generations": -1}, {"mutation": 1.5}, {"crossover": -0.1}, {"seed": 0.5}]
)
def test_clear_errors(wrong):
    with pytest.raises(ic.ParameterError, match=next(iter(wrong))):
        FeatureSearch(3, len, **wrong)


def test_overlapping_parts_and_fitness_that_is_no_number():
    with pytest.raises(ic.ParameterError, match="A feature is in two parts"):
        partition_of([[0, 1], [1]])
    with pytest.raises(ic.ParameterError, match="not a number"):
        FeatureSearch(3, lambda _: float("nan")).run()
