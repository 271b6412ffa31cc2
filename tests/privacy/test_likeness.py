"""Beta-likeness and delta-disclosure: the kernel, the verifier and a plain count agree; releases keep them."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
from incrowd.domains import limits_of
from incrowd.kernels.limits import groups_hold, holds
from incrowd.privacy import Privacy
from incrowd.verify import likeness, verify_table

VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=14)


def alike(values, table, **asked):
    return naive_mondrian.holds(values, table, **asked)


def decided(values, table, **asked):
    counts = {"s": np.bincount(table, minlength=4)}
    return holds(np.bincount(values, minlength=4), len(values), limits_of(Privacy.of(1, **asked), len(table), counts))


@given(VALUES, VALUES, st.sampled_from([0.1, 0.5, 1.0, 2.5]), st.booleans())
def test_beta(values, rest, beta, enhanced):
    table = values + rest
    wanted = alike(values, table, beta=beta, enhanced=enhanced)
    assert decided(values, table, beta=beta, enhanced=enhanced) == wanted
    counts, marginal = np.bincount(values, minlength=4)[None, :], np.bincount(table, minlength=4)
    assert likeness.broken_beta(counts, marginal, beta, enhanced=enhanced).tolist() == [not wanted]


@given(VALUES, VALUES, st.sampled_from([0.5, 1, 1.5, 3]))
def test_delta(values, rest, delta):
    table = values + rest
    wanted = alike(values, table, delta=delta)
    assert decided(values, table, delta=delta) == wanted
    counts, marginal = np.bincount(values, minlength=4)[None, :], np.bincount(table, minlength=4)
    assert likeness.broken_delta(counts, marginal, delta).tolist() == [not wanted]


@given(VALUES, VALUES, VALUES, st.sampled_from([{"beta": 0.5}, {"beta": 1, "enhanced": True}, {"delta": 1.5}]))
def test_what_two_groups_keep_their_union_keeps(one, other, rest, asked):
    table = one + other + rest
    if alike(one, table, **asked) and alike(other, table, **asked):
        assert decided(one + other, table, **asked)


def test_what_t_closeness_cannot_tell_apart():
    """A rise from 1 % to 11 % and one from 40 % to 50 % are both t = 0.1; their gains are 1000 % and 25 %.

    So argue Cao and Karras against closeness.
    """
    common, rare = np.array([[50, 50]]), np.array([[11, 89]])
    assert likeness.gains(common, np.array([40, 60])).tolist() == [pytest.approx(0.25)]
    assert likeness.gains(rare, np.array([1, 99])).tolist() == [pytest.approx(10)]
    for counts, marginal in ((common, [40, 60]), (rare, [1, 99])):
        limits = limits_of(Privacy.of(1, t=0.1, beta=0.25), 100, {"s": np.array(marginal)})
        assert groups_hold(counts, np.array([100]), limits).tolist() == [counts is common]


def test_enhanced_likeness_keeps_frequent_values_from_certainty():
    """Basic beta = 1 lets a value of 60 % become certain; enhanced does not: 0.6 (1 - ln 0.6) is 90.6 %."""
    marginal = {"s": np.array([60, 40])}
    for asked, most in (({"beta": 1}, 100), ({"beta": 1, "enhanced": True}, 90)):
        limits = limits_of(Privacy.of(1, **asked), 100, marginal)
        kept = [n for n in range(101) if holds(np.array([n, 100 - n]), 100, limits)]
        assert max(kept) == most


def test_bounds_of_sixteen_digits_do_not_overflow():
    counts = {"s": np.array([1_000_003, 2_000_001])}
    limits = limits_of(Privacy.of(1, beta=1 / 3, enhanced=True, delta=0.1234567), 3_000_004, counts)
    assert limits.shares.max() <= 3_000_004
    assert holds(counts["s"], 3_000_004, limits)


TABLE = pl.DataFrame(
    {
        "age": [20 + i % 37 for i in range(120)],
        "sex": [("f", "m")[i * 7 % 11 % 2] for i in range(120)],
        "ill": [("flu", "flu", "flu", "hiv", "cold", "cold")[i * 5 % 13 % 6] for i in range(120)],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill")


@pytest.mark.parametrize(
    ("asked", "name", "text"),
    [
        ({"beta": 0.8}, "beta", "k = 3, beta = 0.8"),
        ({"beta": 2, "enhanced": True}, "beta (enhanced)", "k = 3, beta = 2 (enhanced)"),
        ({"delta": 1.2}, "delta", "k = 3, delta = 1.2"),
    ],
)
def test_releases_keep_them_and_are_of_format_4(tmp_path, asked, name, text):
    release = ic.Mondrian(k=3, **asked).publish(TABLE, SCHEMA, seed=1)
    assert release.manifest.promises == text
    release.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == 4
    verdict = ic.verify(tmp_path / "out", TABLE)
    assert verdict.ok
    assert verdict.unchecked == []
    kind = next(iter(asked))
    assert verdict.levels[kind] <= asked[kind]
    assert [check.ok for check in verdict.checks if check.name == name] == [True]
    loaded = ic.Release.load(tmp_path / "out")
    assert loaded.manifest == release.manifest
    weaker = ic.Mondrian(k=3).publish(TABLE, SCHEMA, seed=1)
    assert weaker.loss("lm") < release.loss("lm")
    assert weaker.manifest.format == 2
    found = verify_table(weaker.frame, quasi=["age", "sex"], sensitive="ill", k=3, **asked)
    assert [violation.split(":")[0] for violation in found.violations] == [name]


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"beta": 0}, "beta is 0"),
        ({"beta": "2"}, "beta is '2'"),
        ({"delta": -1}, "delta is -1"),
        ({"delta": float("inf")}, "delta is inf"),
        ({"enhanced": True}, "beta was not given"),
    ],
)
def test_wrong_parameters(asked, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        ic.Mondrian(k=2, **asked)
    if "enhanced" not in asked:
        with pytest.raises(ic.ParameterError, match=fact):
            verify_table(TABLE, quasi=["age"], sensitive="ill", **asked)


def test_schema_and_mappings_ask_for_them_too(tmp_path):
    file = tmp_path / "people.toml"
    SCHEMA.to_toml(file)
    text = file.read_text(encoding="utf-8").replace('role = "sensitive"', 'role = "sensitive"\nbeta = 0.8')
    file.write_text(text, encoding="utf-8")
    release = ic.Mondrian(k=3).publish(TABLE, ic.Schema.from_toml(file), seed=1)
    assert release.manifest.promises == "k = 3, beta = 0.8"
    two = TABLE.with_columns(faith=pl.Series([("a", "b")[i % 2] for i in range(120)]))
    both = ic.Schema(quasi={"age": ic.Intervals()}, sensitive=["ill", "faith"], rest="drop")
    several = ic.Mondrian(k=3, delta={"ill": 1.5}, beta=1.0).publish(two, both, seed=1)
    assert several.manifest.promises == "k = 3, beta = 1 for 'ill', delta = 1.5 for 'ill', beta = 1 for 'faith'"
    assert several.verify().ok
