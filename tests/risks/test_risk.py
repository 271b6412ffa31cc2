"""Risks of a sample: counts, chances, estimates of population uniqueness, and what makes rows unique."""

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import incrowd as ic
from incrowd.risks.chances import expected_inverse
from incrowd.risks.estimates import Spectrum, estimates, pitman, poisson_inverse_gaussian, shlosser, snb, zayatz
from incrowd.risks.special import find_uniques, score_of

ROWS = st.lists(st.tuples(*(st.integers(0, 2),) * 4), min_size=1, max_size=12)


def quiet(_stage, _done, _total):
    pass


def naive_uniques(rows, most):
    """Each row's sets of columns in which it is alone, and in no smaller one."""
    found = []
    for i, row in enumerate(rows):
        own = []
        for size in range(1, most + 1):
            for columns in combinations(range(len(row)), size):
                alone = all(any(other[c] != row[c] for c in columns) for j, other in enumerate(rows) if j != i)
                if alone and not any(set(smaller) <= set(columns) for smaller in own):
                    own.append(columns)
        found += [(i, columns) for columns in own]
    return sorted(found)


@given(ROWS, st.integers(1, 4))
def test_minimal_sample_uniques_are_those_of_brute_force(rows, most):
    codes = [np.array(column, np.int32) for column in zip(*rows, strict=True)]
    found = find_uniques(codes, most, quiet)
    sets = [tuple(m for m in range(4) if mask >> m & 1) for mask in found.columns.tolist()]
    wanted = naive_uniques(rows, most)
    assert sorted(zip(found.row.tolist(), sets, strict=True)) == wanted
    scores = [sum(score_of(len(columns), 4, most) for i, columns in wanted if i == row) for row in range(len(rows))]
    assert found.scores.tolist() == scores
    for one in found.sets:
        shown = [tuple(row[c] for c in one.columns) for row in rows]
        assert one.distinction == len(set(shown)) / len(rows)
        apart = [a != b for a, b in combinations(shown, 2)]
        assert one.separation == pytest.approx(sum(apart) / len(apart) if apart else 1)


def test_example_of_sdc_micro():
    """Its test of SUDA: three rows, three columns, shares of 50, 37.5 and 37.5 %."""
    table = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    found = ic.risk(table, ic.Schema(quasi=["a", "b", "c"]))
    assert found.contributions == {"a": 0.5, "b": 0.375, "c": 0.375}
    assert found.scores.tolist() == [2, 4, 2]
    assert found.specials["columns"].to_list() == ["b", "c", "a", "a|b", "a|c"]
    assert found.specials["values"].to_list() == ["3", "6", "2", "1|0", "1|0"]


def test_example_of_motwani_and_xu():
    """Five people: age is 0.6-distinct and separates 8 of 10 pairs; sex and state are 0.8-distinct and separate 9."""
    table = pl.DataFrame(
        {
            "age": [20, 30, 40, 20, 40],
            "sex": ["Female", "Female", "Female", "Male", "Male"],
            "state": ["CA", "CA", "TX", "NY", "CA"],
        }
    )
    found = ic.risk(table, ic.Schema(quasi=["age", "sex", "state"])).separations
    told = {columns: (d, s) for columns, _, d, s in found.rows()}
    assert told["age"] == (0.6, 0.8)
    assert told["sex, state"] == (0.8, pytest.approx(0.9))


PEOPLE = pl.DataFrame({"age": [30, 30, 41, 52, 52, 52], "sex": ["f", "f", "m", "f", "f", None]})
EVERYBODY = pl.DataFrame({"age": [30, 30, 30, 41, 52, 52, 52, 60], "sex": ["f", "f", "f", "m", "f", "f", None, "f"]})
SCHEMA = ic.Schema(quasi=["age", "sex"])


def test_chances_against_a_population_by_hand():
    found = ic.risk(PEOPLE, SCHEMA, population=EVERYBODY, threshold=0.4)
    assert (found.rows, found.classes, found.unique) == (6, 4, 2)
    assert found.prosecutor.highest == 1
    assert found.prosecutor.average == pytest.approx(4 / 6)
    assert found.prosecutor.above == 1
    sample = found.sample
    assert (sample.size, sample.fraction, sample.outside, sample.uniques) == (8, 0.75, 0, 2)
    assert sample.journalist.above == pytest.approx(4 / 6)
    assert sample.marketer == pytest.approx((2 / 3 + 1 + 1 + 1) / 6)


def test_k_map_and_presence_of_an_example():
    """Six patients of a ZIP code with 50 inhabitants, published by ages of tens: 5-map, and all five young ones are in.

    The example of desfontain.es/privacy/delta-presence.html; without those of 50 and older, as there 20 are.
    """
    patients = pl.DataFrame({"age": ["10-19"] * 5 + ["40-49"]})
    people = pl.DataFrame({"age": ["10-19"] * 5 + ["20-29"] * 5 + ["30-39"] * 10 + ["40-49"] * 10 + ["50-"] * 20})
    found = ic.risk(patients, ic.Schema(quasi=["age"]), population=people).sample
    assert (found.k_map, found.presence) == (5, (0.0, 1.0))
    wider = ic.risk(
        patients.with_columns(age=pl.Series(["10-39"] * 5 + ["40-"])),
        ic.Schema(quasi=["age"]),
        population=people.with_columns(
            age=pl.when(pl.col("age") < "40").then(pl.lit("10-39")).otherwise(pl.lit("40-"))
        ),
    ).sample
    assert (wider.k_map, wider.presence) == (20, (pytest.approx(1 / 30), pytest.approx(1 / 4)))


def test_rows_that_fit_nobody_are_said():
    odd = pl.concat([PEOPLE, pl.DataFrame({"age": [99], "sex": ["m"]})])
    found = ic.risk(odd, SCHEMA, population=EVERYBODY)
    assert found.sample.outside == 1
    assert "1 row fit nobody" in str(found)


@pytest.mark.parametrize("fraction", [0.05, 0.4, 0.9])
def test_the_mean_of_one_over_f_is_that_of_the_negative_binomial(fraction):
    sizes = np.array([1, 2, 5, 1])
    more = np.arange(3000)
    for size, mean in zip(sizes, expected_inverse(sizes, fraction), strict=True):
        chance = stats.nbinom.pmf(more, size, fraction)
        assert mean == pytest.approx((chance / (size + more)).sum(), rel=1e-6)


def test_zayatz_by_hand():
    """Classes of 1, 1 and 2 rows of a population of 8: by Bayes, with hypergeometric chances."""
    one, of_two = 4 / 8, 2 * (4 / 8) * (4 / 7)
    share = (2 / 3) * one / ((2 / 3) * one + (1 / 3) * of_two)
    assert zayatz(Spectrum.of(np.array([1, 1, 2]), 0.5)) == pytest.approx(2 * share / 0.5)


def sampled(sizes, fraction, seed):
    """A spectrum of a sample of a population with these class sizes."""
    taken = np.random.default_rng(seed).binomial(sizes, fraction)
    return Spectrum.of(taken[taken > 0], fraction)


def test_snb_finds_the_uniques_of_its_own_population():
    rng = np.random.default_rng(1)
    sizes = 1 + rng.negative_binomial(0.7, 0.3, 40_000)
    spectrum = sampled(sizes, 0.5, 2)
    assert shlosser(spectrum) == pytest.approx(40_000, rel=0.05)
    assert snb(spectrum) == pytest.approx((sizes == 1).sum(), rel=0.1)


def test_poisson_inverse_gaussian_finds_the_uniques_of_its_own_population():
    rng = np.random.default_rng(3)
    means = rng.wald(2.0, 0.8, 40_000)
    sizes = rng.poisson(means)
    assert poisson_inverse_gaussian(sampled(sizes, 0.2, 4)) == pytest.approx((sizes == 1).sum(), rel=0.1)


def test_pitman_finds_the_uniques_of_its_own_population():
    rng = np.random.default_rng(5)
    alpha, theta, sizes = 0.5, 50.0, [1]
    draws = rng.random(20_000)
    owner = [0]
    for n, draw in enumerate(draws, start=1):
        new = (theta + alpha * len(sizes)) / (theta + n)
        if draw < new:
            owner.append(len(sizes))
            sizes.append(1)
            continue
        while True:  # a person at random joins with the chance (size - alpha) / size
            at = owner[rng.integers(n)]
            if rng.random() < (sizes[at] - alpha) / sizes[at]:
                break
        sizes[at] += 1
        owner.append(at)
    found = pitman(sampled(np.array(sizes), 0.1, 6))
    assert found == pytest.approx(sizes.count(1), rel=0.2)


def test_the_rule_and_its_failures():
    told, chosen = estimates(Spectrum.of(np.ones(50, np.int64), 0.05))
    assert chosen == "zayatz"
    assert {one.model: one.uniques is None for one in told}["pitman"]
    assert all(one.why for one in told)
    told, chosen = estimates(Spectrum.of(np.full(9, 3), 0.05))
    assert [one.uniques for one in told] == [0, 0, 0, 0]
    many = np.repeat([1, 2, 3, 4], [400, 200, 100, 50])
    told, chosen = estimates(Spectrum.of(many, 0.3))
    values = {one.model: one.uniques for one in told}
    assert chosen == min(("zayatz", "snb"), key=lambda name: math.inf if values[name] is None else values[name])
    assert estimates(Spectrum.of(many, 1.0))[0][0].uniques == 400


@settings(max_examples=15)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.sampled_from([0.01, 0.1, 0.5, 1.0]))
def test_estimates_are_possible_or_nothing(sizes, fraction):
    spectrum = Spectrum.of(np.array(sizes), fraction)
    for one in estimates(spectrum)[0]:
        if one.uniques is not None:
            assert 0 <= one.uniques <= sizes.count(1) / fraction * (1 + 1e-6)


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"sampling_fraction": 0}, "sampling_fraction is 0"),
        ({"sampling_fraction": 0.1, "population": PEOPLE}, "Both a population and a sampling fraction"),
        ({"threshold": 2}, "threshold is 2"),
        ({"largest": 0}, "largest is 0"),
    ],
)
def test_wrong_parameters(given, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        ic.risk(PEOPLE, SCHEMA, **given)


def test_other_types_and_columns_of_a_population():
    with pytest.raises(ic.SchemaError, match="of another type in the population"):
        ic.risk(PEOPLE, SCHEMA, population=EVERYBODY.with_columns(age=pl.lit("old")))
    with pytest.raises(ic.SchemaError, match="sex"):
        ic.risk(PEOPLE, SCHEMA, population=EVERYBODY.select("age"))
    floats = ic.risk(PEOPLE, SCHEMA, population=EVERYBODY.with_columns(age=pl.col("age").cast(pl.Float64)))
    assert floats.sample.outside == 0


def test_nothing_of_the_table_is_told_but_in_specials():
    table = pl.DataFrame({"job": ["Zaphod", "b", "b"], "age": [1, 2, 2]})
    found = ic.risk(table, ic.Schema(quasi=["job", "age"]), sampling_fraction=0.1)
    assert "Zaphod" not in str(found) + json.dumps(found.to_dict()) + repr(found)
    assert "Zaphod" in found.specials["values"].to_list()


def test_input_stays_as_it_was():
    before = PEOPLE.clone()
    ic.risk(PEOPLE, SCHEMA, population=EVERYBODY)
    assert PEOPLE.equals(before)
