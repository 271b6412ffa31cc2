from __future__ import annotations

import datetime as dt
import json
import pickle
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Builder, Spec, Taxonomy, balanced, bins, dates, frequency, from_dict, mdl, prefixes
from incrowd.hierarchy.builders import BUILDERS
from incrowd.hierarchy.hierarchy import MISSING

ALL = [balanced(3), bins(4), bins(edges=[2, 5]), prefixes(), prefixes(2, branching=2), frequency(2), mdl()]


def partitions(tree):
    """Return the values of every node, level by level, leaves and root included."""
    lo, hi = tree.levels()
    values = tree.leaves.to_list()
    return [
        [values[a : b + 1] for a, b in sorted(set(zip(*row, strict=True)))]
        for row in zip(lo.tolist(), hi.tolist(), strict=True)
    ]


def inner(tree):
    return partitions(tree)[1:-1]


def names(tree):
    return [list(dict.fromkeys(level)) for level in tree.to_dict()["levels"]]


def n_children(tree):
    levels = [[frozenset(node) for node in level] for level in partitions(tree)]
    return [sum(child <= node for child in below) for below, level in pairwise(levels) for node in level]


columns = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1, max_size=60),
    st.lists(st.floats(-9, 9, width=16), min_size=1, max_size=40),
    st.lists(st.text(st.sampled_from("ab|* é😀()"), max_size=4), min_size=1, max_size=40),
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.lists(st.dates(), min_size=1, max_size=20),
)


@given(columns, st.integers(2, 6))
def test_balanced_has_the_papers_shape(values, b):
    tree = balanced(b).build(pl.Series("x", values))
    n = len(set(values))
    height = next(h for h in range(100) if b**h >= n)
    assert tree.n_levels - 1 == max(1, height)
    assert max(n_children(tree)) <= b
    for level in inner(tree):
        sizes = [len(node) for node in level]
        assert max(sizes) - min(sizes) <= 1


def test_balanced_cuts_where_it_says():
    tree = balanced(5).build(pl.Series(range(12)))
    assert inner(tree) == [[[0, 1], [2, 3], [4, 5, 6], [7, 8], [9, 10, 11]]]
    assert names(tree) == [["0-1", "2-3", "4-6", "7-8", "9-11"], ["*"]]


def test_numbers_are_sorted_as_numbers_and_text_alphabetically():
    numbers = [9, 10, 100, 20]
    assert inner(balanced(2).build(pl.Series(numbers))) == [[[9, 10], [20, 100]]]
    text = inner(balanced(2).build(pl.Series([str(v) for v in numbers])))
    assert sorted(map(sorted, text[0])) == [["10", "100"], ["20", "9"]]


def test_names_of_text_groups():
    tree = balanced(2).build(pl.Series(list("abcdefghij")))
    assert names(tree)[-2] == ["a to e", "f to j"]
    assert names(tree)[-3] == ["a|b", "c|d|e", "f|g", "h|i|j"]
    assert names(tree)[-4] == ["a", "b", "c", "d|e", "f", "g", "h", "i|j"]


def test_values_that_read_like_groups_stay_apart():
    values = ["x", "x!", "x|x!", "y"]
    tree = balanced(2).build(pl.Series(values))
    assert inner(tree) == [[["x", "x!"], ["x|x!", "y"]]]
    odd = frequency(2).build(pl.Series(["x", "x!", *["x|x!"] * 9]))
    assert all(len(level) == len(nodes) for level, nodes in zip(names(odd), partitions(odd)[1:], strict=True))
    assert ["x", "x!"] in [node for level in partitions(odd) for node in level]


@given(columns, st.integers(2, 5))
def test_frequency_puts_each_value_where_its_middle_row_is(values, b):
    tree = frequency(b).build(pl.Series("x", values))
    assert max(n_children(tree)) <= b
    distinct = sorted(set(values))
    n_rows = len(values)
    below = [sum(other < v for other in values) for v in distinct]
    middle = [Fraction(2 * low + values.count(v), 2 * n_rows) for v, low in zip(distinct, below, strict=True)]
    heaviest = max(values.count(v) for v in distinct)
    expected = []
    for depth in range(8):
        groups = {}
        for v, m in zip(distinct, middle, strict=True):
            groups.setdefault(floor(m * b**depth), []).append(v)
        level = list(groups.values())
        assert all(sum(values.count(v) for v in node) <= n_rows / b**depth + heaviest for node in level)
        if len(level) not in (1, len(distinct)) and level not in expected:
            expected.append(level)
    assert inner(tree) == expected[::-1]


def test_frequency_cuts_at_quantiles():
    values = [1] * 4 + [2, 3, 4, 5] + [6] * 8
    tree = frequency(2).build(pl.Series(values))
    assert inner(tree)[-1] == [[1, 2, 3, 4, 5], [6]]
    assert inner(tree)[-2] == [[1], [2, 3, 4, 5], [6]]


def test_frequency_of_one_very_common_value():
    tree = frequency().build(pl.Series([0] * 100_000 + [1, 2, 3]))
    assert tree.leaves.to_list() == [0, 1, 2, 3]
    assert tree.label(1, 3) == "1-3"


@given(
    st.lists(st.integers(-200, 200), min_size=1, max_size=40),
    st.integers(1, 30),
    st.none() | st.integers(-50, 50),
    st.none() | st.integers(1, 4),
)
def test_bins_of_equal_width(values, width, start, n_levels):
    tree = bins(width, start=start, levels=n_levels).build(pl.Series("x", values))
    distinct = sorted(set(values))
    origin = start if start is not None else 0 if distinct[0] >= 0 else distinct[0] // width * width
    expected = []
    for j in range(n_levels or 20):
        groups = {}
        for v in distinct:
            groups.setdefault((v - origin) // (width * 2**j), []).append(v)
        level = list(groups.values())
        if len(level) not in (1, len(expected[-1] if expected else distinct)):
            expected.append(level)
    assert inner(tree) == expected


@pytest.mark.parametrize(
    ("builder", "values", "expected"),
    [
        (bins(0.1), [0.1, 0.15, 0.2, 0.3, 0.35, 0.7], [[0.1, 0.15], [0.2], [0.3, 0.35], [0.7]]),
        (bins(10), [1.5, 9.99, 10.0, 35.0], [[1.5, 9.99], [10.0], [35.0]]),
        (bins(2.5, levels=1), [1, 2, 3, 4, 5], [[1, 2], [3, 4], [5]]),
        (bins(1), [5e9 + 0.25, 5e9 + 0.75, 5e9 + 1.25], [[5e9 + 0.25, 5e9 + 0.75], [5e9 + 1.25]]),
        (bins(10, start=5), [1, 4, 5, 14, 15], [[1, 4], [5, 14], [15]]),
        (bins(edges=[18, 65]), [3, 17, 18, 64, 65, 99], [[3, 17], [18, 64], [65, 99]]),
        (bins(edges=[[18, 40, 65], [40]]), [3, 17, 18, 64, 65], [[3, 17], [18], [64], [65]]),
        (bins(edges=[0.5]), [0, 1, 2], [[0], [1, 2]]),
        (bins(2**40), [-(2**63), -1, 0, 1, 2**63 - 1], [[-(2**63)], [-1], [0, 1], [2**63 - 1]]),
        (bins(1e-9), [1.0, 1e200, 1.1e200], None),
    ],
)
def test_finest_bins(builder, values, expected):
    tree = builder.build(pl.Series("x", values))
    if expected is None:
        assert inner(tree) == [[[1.0], [1e200, 1.1e200]]]
    else:
        assert inner(tree)[0] == expected


def test_levels_of_edges():
    tree = bins(edges=[[18, 40, 65], [40]]).build(pl.Series([3, 18, 19, 41, 64, 65]))
    assert inner(tree) == [[[3], [18, 19], [41, 64], [65]], [[3, 18, 19], [41, 64, 65]]]
    assert names(tree) == [["3", "18-19", "41-64", "65"], ["3-19", "41-65"], ["*"]]


def closure_label(tree, *values):
    at = np.sort(tree.encode(pl.Series(values)))
    lo, hi = tree.closure(at[:1], at[-1:])
    return tree.label(int(lo[0]), int(hi[0]))


ZIPS = ["10055", "10023", "10165", "10224"]


@pytest.mark.parametrize("zips", [ZIPS, [int(z) for z in ZIPS]])
def test_prefixes_of_the_papers_zips(zips):
    tree = prefixes().build(pl.Series("zip", zips))
    assert closure_label(tree, zips[0], zips[1]) == "100**"
    assert closure_label(tree, zips[1], zips[2]) == "10***"
    assert closure_label(tree, zips[0]) == "10055"
    assert names(tree) == [["100**", "101**", "102**"], ["10***"]]


@pytest.mark.parametrize(
    ("step", "values", "pair", "label"),
    [
        (2, ["10055", "10023", "10165", "20000"], ("10055", "10023"), "100**"),
        (2, ["10055", "10023", "10165", "20000"], ("10055", "10165"), "1****"),
        (2, ZIPS, ("10055", "10224"), "10***"),
        (9, ZIPS, ("10055", "10023"), "10***"),
        (1, ["ab", "xy"], ("ab", "xy"), "*"),
        (1, ["N1", "N1A", "N2", "SW1A"], ("N1", "N1A"), "N1**"),
        (1, ["N1", "N1A", "N2", "SW1A"], ("N1A", "N2"), "N***"),
        (1, ["N1", "N1A", "N2", "SW1A"], ("N1", "SW1A"), "*"),
        (1, ["10", "105"], ("10", "105"), "10*"),
        (1, ["äöü", "äöß", "ä😀"], ("äöü", "äöß"), "äö*"),
        (1, ["", "a"], ("", "a"), "*"),
        (1, ["100**", "10011", "10012", "1"], ("10011", "10012"), "1001*"),
        (1, [7, 12, 1055], (7, 12), "00**"),
        (1, [0, 5], (0, 5), "*"),
    ],
)
def test_prefix_labels(step, values, pair, label):
    assert closure_label(prefixes(step).build(pl.Series("zip", values)), *pair) == label


@given(st.lists(st.text("ab*", max_size=5), min_size=1, max_size=20), st.integers(1, 3))
def test_prefixes_join_what_begins_alike(values, step):
    tree = prefixes(step).build(pl.Series(values))
    distinct = sorted(set(values))
    width = max(map(len, distinct))
    expected, before = [], len(distinct)
    for keep in range(width - step, 0, -step):
        groups = {}
        for value in distinct:
            groups.setdefault(value[:keep], []).append(value)
        if len(groups) not in (1, before):
            expected.append(sorted(groups.values()))
            before = len(groups)
    assert [sorted(level) for level in inner(tree)] == expected


def test_missing_does_not_begin_like_the_others():
    tree = prefixes().build(pl.Series([*ZIPS, None]))
    assert [tree.label(0, 0), tree.label(1, 2), tree.label(1, 4), tree.label(0, 4)] == [MISSING, "100**", "10***", "*"]


DAYS = ["2023-12-31", "2024-01-30", "2024-03-05", "2024-03-09", "2024-04-01"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(DAYS),
        pl.Series([dt.date.fromisoformat(d) for d in DAYS]),
        pl.Series([dt.datetime.fromisoformat(d + "T09:30") for d in DAYS]),
        pl.Series([dt.datetime.fromisoformat(d + "T09:30") for d in DAYS]).dt.replace_time_zone("Europe/Rome"),
        pl.Series(DAYS, dtype=pl.Categorical),
        pl.Series([d + "T09:30:15.5+01:00" for d in DAYS]),
    ],
    ids=["text", "date", "datetime", "zoned", "categorical", "text with time"],
)
def test_dates(column):
    tree = dates().build(column)
    assert tree.encode(column).tolist() == [0, 1, 2, 3, 4]
    assert names(tree) == [
        ["2023-12", "2024-01", "2024-03", "2024-04"],
        ["2023-Q4", "2024-Q1", "2024-Q2"],
        ["2023", "2024"],
        ["*"],
    ]
    assert [tree.label(2, 3), tree.label(1, 3), tree.label(1, 4), tree.label(0, 4)] == [
        "2024-03",
        "2024-Q1",
        "2024",
        "*",
    ]


def test_years_are_joined_to_decades():
    tree = dates().build(pl.Series([dt.date(1958, 1, 1), dt.date(1959, 1, 1), dt.date(1971, 5, 1)]))
    assert tree.label(0, 1) == "1950s"


def test_times_of_a_day_are_hidden_first():
    tree = dates().build(pl.Series(["2024-03-05T10:00", "2024-03-05 09:00:00Z", "2024-03-06", "2024-05-01"]))
    assert tree.leaves.to_list() == ["2024-03-05 09:00:00Z", "2024-03-05T10:00", "2024-03-06", "2024-05-01"]
    assert [tree.label(0, 1), tree.label(0, 2)] == ["2024-03-05", "2024-03"]


@given(st.lists(st.dates(), min_size=1, max_size=30), st.booleans())
def test_dates_are_nested_by_calendar(days, as_text):
    column = pl.Series(days).cast(pl.String) if as_text else pl.Series(days)
    tree = dates().build(column)
    lo, hi = tree.levels()
    keys = [lambda d: (d.year, d.month), lambda d: (d.year, (d.month + 2) // 3), lambda d: d.year]
    keys.append(lambda d: d.year // 10)
    ordered = sorted(set(days))
    possible = [[[key(d) == key(e) for e in ordered] for d in ordered] for key in keys]
    for a, b in zip(lo[1:-1], hi[1:-1], strict=True):
        same = [[a[i] <= j <= b[i] for j in range(len(ordered))] for i in range(len(ordered))]
        assert same in possible


@given(
    columns,
    st.sampled_from(
        [balanced(3), frequency(2), bins(3), bins(edges=[-1, 4]), prefixes(), prefixes(branching=2), mdl()]
    ),
    st.booleans(),
)
def test_every_tree_is_nested_and_encodes_its_column(values, builder, missing):
    column = pl.Series("x", [*values, None] if missing else values)
    try:
        tree = builder.build(column, pl.Series([i % 2 for i in range(len(column))]))
    except HierarchyError as error:
        assume("needs" not in error.fact)
        raise
    assert tree.has_missing == missing
    assert tree.encode(column).min() >= 0
    for level, nodes in zip(names(tree), partitions(tree)[1:], strict=True):
        assert len(level) == len(nodes)
    for below, above in pairwise(partitions(tree)):
        assert len(above) <= len(below)
        assert all(any(set(map(repr, b)) <= set(map(repr, a)) for a in above) for b in below)
    assert from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


@pytest.mark.parametrize("builder", ALL, ids=repr)
def test_one_value(builder):
    column = pl.Series("x", [7, 7, 7])
    tree = builder.build(column, target=column)
    assert tree.leaves.to_list() == [7]
    assert tree.label(0, 0) == "7"
    assert tree.n_levels == 2


@pytest.mark.parametrize("builder", [*ALL, dates()], ids=repr)
@pytest.mark.parametrize("values", [[], [None, None]])
def test_no_value(builder, values):
    column = pl.Series("age", values, dtype=pl.Int64)
    with pytest.raises(HierarchyError, match=f"'age' has no values: all {len(values)} are missing"):
        builder.build(column, target=column)


@pytest.mark.parametrize("builder", [*ALL, dates(), bins(5, start=1, levels=2), bins(edges=[[1, 2.5], [1]])], ids=repr)
def test_recipes_are_plain_data(builder):
    again = from_dict(json.loads(json.dumps(builder.to_dict())))
    assert again == builder
    assert hash(again) == hash(builder)
    assert pickle.loads(pickle.dumps(builder)) == builder
    assert isinstance(builder, Spec)
    assert eval(repr(builder)) == builder


def test_recipes_read_well():
    assert [repr(b) for b in (balanced(), prefixes(2), dates(), bins(10, start=5), bins(edges=[1, 2]))] == [
        "balanced(5)",
        "prefixes(2)",
        "dates()",
        "bins(10, start=5)",
        "bins(edges=[1, 2])",
    ]
    assert bins(np.int64(10)).to_dict() == {"kind": "bins", "width": 10}
    assert len({balanced(5), balanced(), balanced(4), frequency(5)}) == 3
    assert set(BUILDERS) == {"balanced", "bins", "prefixes", "dates", "frequency", "mdl", "by_class", "words", "common"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: balanced(1), "balanced() got branching=1"),
        (lambda: balanced(2.5), "balanced() got branching=2.5"),
        (lambda: balanced(True), "balanced() got branching=True"),
        (lambda: frequency("5"), "frequency() got branching='5'"),
        (lambda: prefixes(0), "prefixes() got step=0"),
        (bins, "neither width nor edges"),
        (lambda: bins(5, edges=[1]), "both width and edges"),
        (lambda: bins(0), "width=0"),
        (lambda: bins(-1.5), "width=-1.5"),
        (lambda: bins(float("nan")), "width=nan"),
        (lambda: bins("10"), "width='10'"),
        (lambda: bins(5, start=float("inf")), "start=inf"),
        (lambda: bins(5, levels=0), "levels=0"),
        (lambda: bins(edges=[1], start=0), "edges together with start"),
        (lambda: bins(edges=[1], levels=2), "edges together with levels"),
        (lambda: bins(edges=[]), "neither a list of numbers"),
        (lambda: bins(edges=[1, [2]]), "neither a list of numbers"),
        (lambda: bins(edges=[1, 1]), "level 1 that are not increasing"),
        (lambda: bins(edges=[[1, 2], []]), "level 2 that are empty"),
        (lambda: bins(edges=[[1, 2], [3]]), "level 2 that are not all edges of level 1"),
        (lambda: bins(edges=["1"]), "edges='1'"),
        (lambda: from_dict({"kind": "balanced", "branch": 3}), "'balanced' has the unknown setting 'branch'"),
        (lambda: from_dict({"kind": "dates", "step": 3}), "unknown setting 'step'"),
        (lambda: from_dict({"kind": "balanced", "branching": 0}), "branching=0"),
        (lambda: Builder.from_data({"kind": "tree"}), "unknown kind 'tree'"),
    ],
)
def test_wrong_settings(make, message):
    with pytest.raises(HierarchyError) as caught:
        make()
    assert message in caught.value.fact
    assert caught.value.hint


@pytest.mark.parametrize(
    ("builder", "values", "message"),
    [
        (bins(5), ["secret"], "'c' holds str values, and bins() needs numbers"),
        (bins(5), [True], "'c' holds bool values"),
        (bins(5), [1.0, float("inf")], "infinite values"),
        (bins(1e-300), [1.0, 1e300], "'c' has values too far apart"),
        (mdl(), ["secret"], "'c' holds str values, and mdl() needs numbers"),
        (mdl(), [1, 2], "there is no target"),
        (prefixes(), [-12, 5], "'c' holds negative numbers"),
        (prefixes(), [1.5], "'c' holds float values"),
        (dates(), ["2024-03-05", "secret", "05.03.2024", "2024-02-30", "2024-3-5"], "'c' has 4 distinct values"),
        (dates(), ["2024-03-05 secret"], "'c' has 1 distinct values that are not ISO dates"),
        (dates(), [20240305], "'c' holds int values"),
    ],
)
def test_columns_that_do_not_fit(builder, values, message):
    with pytest.raises(HierarchyError) as caught:
        builder.build(pl.Series("c", values))
    assert message in caught.value.fact
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_input_is_left_alone():
    column, target = pl.Series("c", [3, 1, None, 2]), pl.Series("t", ["a", "b", "a", "b"])
    before = column.clone(), target.clone()
    for builder in ALL:
        assert isinstance(builder.build(column, target), Taxonomy)
    assert column.equals(before[0], check_names=True)
    assert target.equals(before[1], check_names=True)
