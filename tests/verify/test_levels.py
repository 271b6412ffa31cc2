from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verify import check, coverage
from incrowd.verify.coverage import Boxes, count_meeting, points
from incrowd.verify.groups import combine, relabel
from incrowd.verify.levels import Distributions, above_share, below, recursive_levels
from incrowd.verify.manifest import Promise
from incrowd.verify.promises import broken, broken_l, reached
from verify import naive_levels as naive

DOMAIN = list(range(4))
tables = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40)


def distributions(rows):
    keys = [row[:2] for row in rows]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    owner = np.array([number[key] for key in keys])
    values = np.array([row[2] for row in rows])
    return Distributions.of_rows(owner, values, len(number), len(DOMAIN)), naive.groups(keys, values.tolist())


@given(tables, st.sampled_from([0.5, 1.0, 1.5, 3.0]), st.booleans())
def test_levels_are_those_of_the_definitions(rows, c, ordered):
    found, groups = distributions(rows)
    values = [row[2] for row in rows]
    levels = reached(found, np.array([values.count(v) for v in DOMAIN]), c=c, ordered=ordered)
    assert levels["l_frequency"] == pytest.approx(float(min(map(naive.frequency, groups))))
    assert levels["alpha"] == pytest.approx(float(1 / min(map(naive.frequency, groups))))
    assert levels["l_distinct"] == min(map(naive.distinct, groups))
    assert levels["l_entropy"] == pytest.approx(min(map(naive.entropy_level, groups)))
    assert levels["l_recursive"] == min(naive.recursive(g, c, DOMAIN) for g in groups)
    far = max(naive.distance(g, values, DOMAIN, ordered=ordered) for g in groups)
    assert levels["t"] == pytest.approx(far, abs=1e-12)


@given(tables, st.integers(100, 450))
def test_frequency_is_exact_for_decimal_l(rows, hundredths):
    found, groups = distributions(rows)
    l = hundredths / 100
    wrong = broken_l(found, l, "frequency", None)
    assert wrong.tolist() == [naive.frequency(g) < Fraction(hundredths, 100) for g in groups]


@pytest.mark.parametrize(
    ("counts", "l", "wrong"),
    [([10, 1], 1.1, False), ([101, 10], 1.1, True), ([1, 1, 1], 3, False), ([2, 1, 1], 2.1, True)],
)
def test_a_share_at_the_limit_is_allowed(counts, l, wrong):
    assert broken_l(Distributions.of_matrix(np.array([counts])), l, "frequency", None).tolist() == [wrong]


def test_huge_denominators_do_not_overflow():
    limit = Fraction("0.33333333333333333333333")
    assert above_share(np.array([10**9]), np.array([3 * 10**9]), limit).tolist() == [True]
    assert above_share(np.array([10**9]), np.array([3 * 10**9 + 1]), limit).tolist() == [False]


def test_recursive_c_is_meant_exactly():
    # 55 < 1.1 * 50 is false, though the float product is a little above 55
    assert 1.1 * 50 > 55
    assert recursive_levels(np.array([[55, 50]]), 1.1).tolist() == [1]
    assert recursive_levels(np.array([[54, 50]]), 1.1).tolist() == [2]


def test_large_value_domains_are_counted_in_blocks():
    rng = np.random.default_rng(3)
    owner, value = rng.integers(0, 900, 5000), rng.integers(0, 4000, 5000)
    found = Distributions.of_rows(owner, value, 900, 4000)
    assert len(list(found.blocks())) > 1
    total = np.concatenate([block.sum(axis=1) for block in found.blocks()])
    assert total.tolist() == np.bincount(owner, minlength=900).tolist()


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=50))
def test_equal_rows_get_equal_numbers(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    numbers = combine(columns, [7, 7, 7], len(rows)).tolist()
    assert len(set(numbers)) == len(set(rows)) == max(numbers) + 1
    assert len(set(zip(rows, numbers, strict=True))) == len(set(rows))


def test_keys_beyond_any_table_are_sorted_instead():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**31 - 1, 500) for _ in range(5)]
    columns = [np.concatenate([column, column]) for column in columns]
    numbers = combine(columns, [2**31] * 5, 1000)
    assert numbers[:500].tolist() == numbers[500:].tolist()
    assert len(set(numbers.tolist())) == 500
    many = [np.arange(70_000) * 2, np.arange(70_000) % 2, np.arange(70_000) * 2 + 1]
    assert len(set(combine(many, [140_001, 2, 140_001], 70_000).tolist())) == 70_000
    dense, distinct = relabel(np.array([2**60, 5, 2**60]), 2**61)
    assert dense.tolist() == [1, 0, 1]
    assert distinct.tolist() == [5, 2**60]


boxes = st.lists(st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)] * 2), min_size=1, max_size=12)
people = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2), st.integers(0, 700)), min_size=1, max_size=90
)


def as_boxes(given_boxes):
    which = [np.arange(len(given_boxes))] * 2
    lo = [np.array([box[m][0] for box in given_boxes]) for m in range(2)]
    hi = [np.array([box[m][1] for box in given_boxes]) for m in range(2)]
    return Boxes(lo, hi, which, len(given_boxes))


@settings(deadline=None)
@given(boxes, people, st.sampled_from([64, 1 << 16]))
def test_bits_count_people_in_boxes_and_boxes_around_people(given_boxes, persons, chunk):
    codes = [np.array([p[m] for p in persons]) for m in range(2)]
    weight, segment = np.array([p[3] for p in persons]), np.array([p[2] for p in persons])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "_CHUNK", chunk)
        patch.setattr(coverage, "_WORTH_THREADS", 2)
        found = count_meeting(as_boxes(given_boxes), points(codes, [5, 5], len(persons)), weight, segment, 3)
        ones = np.ones(len(given_boxes), np.int64)
        around = count_meeting(points(codes, [5, 5], len(persons)), as_boxes(given_boxes), ones, ones - 1, 1)
    expected = [
        [sum(p[3] for p in persons if p[2] == s and naive.covered(box, p[:2])) for s in range(3)] for box in given_boxes
    ]
    assert found.tolist() == expected
    assert around[:, 0].tolist() == [sum(naive.covered(box, p[:2]) for box in given_boxes) for p in persons]


def lkc_release(rows, L, K, C):
    values = [f"v{row[2]}" for row in rows]
    columns = {f"{q}.{end}": [row[m] for row in rows] for m, q in enumerate("ab") for end in ("lo", "hi")}
    frame = pl.DataFrame(columns).cast(pl.Int64).with_columns(pl.Series("s", values))

    def quasi(m, name):
        column = [row[m] for row in rows]
        counts = [column.count(v) for v in range(4)]
        return {"name": name, "kind": "intervals", "type": "int", "missing": None, "values": [0, 1, 2, 3],
                "counts": counts}  # fmt: skip

    manifest = {
        "format": 2, "incrowd": "0", "polars": "1", "method": {"name": "x", "parameters": {}},
        "recoding": "homogeneous", "guarantees": [{"kind": "lkc", "L": L, "K": K, "C": C}],
        "rows": {"input": len(rows), "missing": 0, "suppressed": 0, "released": len(rows)},
        "missing": {"policy": "drop", "tokens": []}, "domains": "exact", "quasi": [quasi(0, "a"), quasi(1, "b")],
        "sensitive": {"name": "s", "type": "str", "form": "exact"}, "target": "s", "other": [], "dropped": [],
    }  # fmt: skip
    return manifest, (frame,)


@settings(deadline=None)
@given(tables, st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.25, 0.5, 0.75, 1]))
def test_lkc_looks_at_every_combination(rows, L, K, C):
    verdict = check(*lkc_release(rows, L, K, C))
    smallest, surest = naive.lkc([row[:2] for row in rows], [row[2] for row in rows], L)
    holds = smallest >= K and surest <= Fraction(str(C))
    assert {c.name: c.ok for c in verdict.checks}["lkc"] == holds
    assert verdict.ok == holds
    assert verdict.levels["lkc_k"] == smallest
    assert verdict.levels["lkc_c"] == pytest.approx(float(surest))


@pytest.mark.parametrize(
    ("promise", "counts", "marginal"),
    [
        (Promise("t", {"t": 0.25, "ordered": False}), [[3, 1]], [2, 2]),
        (Promise("t", {"t": 0.25, "ordered": True}), [[3, 1]], [2, 2]),
        (Promise("t", {"t": 0.1, "ordered": False}), [[6, 4]], [5, 5]),
        (Promise("l", {"l": 2, "l_kind": "entropy"}), [[2, 2]], None),
        (Promise("l", {"l": 3, "l_kind": "entropy"}), [[7, 7, 7]], None),
        (Promise("l", {"l": 3, "l_kind": "distinct"}), [[1, 1, 9]], None),
        (Promise("l", {"l": 1.1, "l_kind": "frequency"}), [[10, 1]], None),
        (Promise("alpha", {"alpha": 0.7}), [[7, 3]], None),
    ],
)
def test_a_promise_that_is_just_kept(promise, counts, marginal):
    """Nothing is lost to rounding, and a row more of the first value breaks it."""
    found = np.array(counts)
    whole = None if marginal is None else np.array(marginal)
    assert not broken(promise, Distributions.of_matrix(found), whole).any()
    if promise.given.get("l_kind") != "distinct":
        found[0, 0] += 1
        assert broken(promise, Distributions.of_matrix(found), whole).all()


@pytest.mark.parametrize("a", [0, 1, 2**31, 2**40, 2**62])
@pytest.mark.parametrize("b", [0, 1, 2**31, 2**40, 2**62])
def test_products_are_compared_without_overflow(a, b):
    for a_times in (1, 3, 2**22, 2**40):
        for b_times in (1, 3, 2**22, 2**40):
            found = below(np.array([a, 0]), a_times, np.array([b, 1]), b_times)
            assert found.tolist() == [a * a_times < b * b_times, True]
