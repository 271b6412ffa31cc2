"""The fast kACTUS equals the plain one, cell for cell; what the tree and the rolling up do in small cases."""

from collections import Counter
from itertools import product
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_kactus
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.kernels.kactus import (
    ATTRIBUTE,
    FIRST,
    N_BRANCHES,
    N_FIELDS,
    N_ROWS,
    N_WRONG,
    NONE,
    _expected_errors,
    prune,
)
from incrowd.publish.kactus import KACTUS
from incrowd.recoding import TreeRecoding
from incrowd.release.seal import secret_rng
from owner import exact_hierarchies, exact_rows
from strategies import tables

TREES = [{}, {"confidence": None}, {"min_rows": 1, "confidence": None}, {"min_rows": 2, "confidence": 0.25}]


def plain(table, k, lends, constraints, options):
    codes = [tuple(int(x) for x in row) for row in table.codes]
    sensitive = [int(x) for x in table.sensitive]

    def complies(rows):
        return naive_mondrian.holds([sensitive[i] for i in rows], sensitive, k=k, **constraints)

    return naive_kactus.kactus(codes, sensitive, table.hierarchies, k, complies, lends, **options)


def cells_of(release):
    """The released cell of each original row."""
    found = [None] * release.n_rows
    for row, lo, hi in zip(release.private.rows, *exact_rows(release), strict=True):
        found[row] = [(int(a), int(b)) for a, b in zip(lo, hi, strict=True)]
    return found


@given(
    tables(max_rows=45),
    st.integers(1, 6),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from(TREES),
    st.integers(0, 5),
)
def test_equals_the_plain_algorithm(drawn, k, constraints, options, seed):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    try:
        method = KACTUS(k=k, **constraints, **options)
        release = method.publish(drawn.frame, drawn.schema, seed=seed, domains="exact")
    except ic.InfeasibleError:
        sensitive = table.sensitive.tolist()
        assert not naive_mondrian.holds(sensitive, sensitive, k=k, **constraints)
        return
    lends = secret_rng(seed, drawn.frame).permutation(table.n_rows)
    cells, lent = plain(table, k, lends, constraints, options)
    assert cells_of(release) == cells
    again = release.transform(drawn.frame)[release.private.rows].select(release.quasi)
    own = [row not in lent for row in release.private.rows]  # rows that were lent have a longer path than their group
    assert again.filter(own).equals(release.frame.select(release.quasi).filter(own))


@given(tables(min_rows=10), st.integers(1, 4), st.sampled_from(TREES), st.integers(0, 2**32))
def test_every_row_of_the_domain_gets_a_cell_that_holds_it(drawn, k, options, seed):
    release = KACTUS(k=k, **options).publish(drawn.frame, drawn.schema, seed=1)
    rng, hierarchies = np.random.default_rng(seed), exact_hierarchies(release)
    leaves = np.column_stack([rng.integers(0, h.n_leaves, 50) for h in hierarchies]).astype(np.int32)
    lo, hi = release.private.recoding.cells(leaves, hierarchies)
    assert ((lo <= leaves) & (leaves <= hi)).all()


def publish(columns, k, schema=None, seed=0, **options):
    frame = pl.DataFrame(columns)
    quasi = {name: ic.Intervals() if frame[name].dtype.is_numeric() else None for name in columns if name != "s"}
    schema = schema or ic.Schema(quasi=quasi, sensitive="s")
    return KACTUS(k=k, **options).publish(frame, schema, seed=seed, domains="exact")


def groups_of(release):
    return Counter(release.frame.select(release.quasi).rows())


WEATHER = """sunny hot high weak no; sunny hot high strong no; overcast hot high weak yes; rain mild high weak yes;
rain cool normal weak yes; rain cool normal strong no; overcast cool normal strong yes; sunny mild high weak no;
sunny cool normal weak yes; rain mild normal weak yes; sunny mild normal strong yes; overcast mild high strong yes;
overcast hot normal weak yes; rain mild high strong no"""


def test_quinlans_weather_tree():
    rows = [row.split() for row in WEATHER.split(";")]
    names = ["outlook", "temperature", "humidity", "wind", "s"]
    release = publish({name: [row[i] for row in rows] for i, name in enumerate(names)}, 2, confidence=None)
    assert groups_of(release) == {
        ("sunny", "*", "high", "*"): 3,
        ("sunny", "*", "normal", "*"): 2,
        ("overcast", "*", "*", "*"): 4,
        ("rain", "*", "*", "weak"): 3,
        ("rain", "*", "*", "strong"): 2,
    }


def test_table_1_of_li_et_al_2011():
    raw = [("Male", 60, "y", 5), ("Male", 70, "y", 5), ("Male", 30, "y", 1), ("Female", 70, "n", 1)]
    raw += [("Female", 30, "n", 5), ("Female", 40, "n", 5)]
    rows = [row[:3] for row in raw for _ in range(row[3])]
    release = publish({name: [row[i] for row in rows] for i, name in enumerate(["gender", "age", "s"])}, 10)
    assert groups_of(release) == {("Male", "30-70"): 11, ("Female", "30-70"): 11}


@pytest.mark.parametrize(("n", "wrong", "share"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.75), (16, 1, 0.157)])
def test_expected_errors_are_quinlans(n, wrong, share):
    z = 0.6744897501960817
    assert _expected_errors(n, wrong, 0.25, z) / n == pytest.approx(share, abs=0.007)


def test_pruning_equals_the_plain_one_at_every_small_node():
    z, n_replaced = NormalDist().inv_cdf(0.75), 0
    small = [(n, wrong) for n in range(1, 9) for wrong in range(n // 2 + 1)]
    for (n, wrong), (n_other, wrong_other) in product(small, small):
        left, right = [0] * (n - wrong) + [1] * wrong, [1] * (n_other - wrong_other) + [0] * wrong_other
        classes = left + right
        rows = list(range(len(classes)))
        leaves = [{"rows": part, "attribute": None, "children": []} for part in (rows[:n], rows[n:])]
        root = {"rows": rows, "attribute": 0, "children": leaves}
        naive_kactus.prune(root, classes, 0.25)
        nodes = np.full((3, N_FIELDS), NONE, np.int32)
        n_wrong = len(rows) - max(Counter(classes).values())
        nodes[0, [N_ROWS, N_WRONG, ATTRIBUTE, FIRST, N_BRANCHES]] = len(rows), n_wrong, 0, 1, 2
        nodes[1, [N_ROWS, N_WRONG]], nodes[2, [N_ROWS, N_WRONG]] = (n, wrong), (n_other, wrong_other)
        prune(nodes, 0.25, z)
        assert (nodes[0, ATTRIBUTE] == NONE) == (root["attribute"] is None)
        n_replaced += root["attribute"] is None
    assert 0 < n_replaced < len(small) ** 2


def test_a_group_at_several_leaves_of_a_recoding_reaches_over_all_of_them():
    cuts = np.array([[0, 2, 1, 2], [-1, 0, 0, 0], [0, 5, 3, 4], [-1, 1, 0, 0], [-1, 0, 0, 0]], np.int32)
    recoding = TreeRecoding(cuts, np.array([[1], [3]], np.int32), np.array([[8], [5]], np.int32))
    lo, hi = recoding.cells(np.array([[0], [9], [4], [7]], np.int32), (ic.Intervals(list(range(10))),))
    assert np.column_stack([lo, hi]).tolist() == [[0, 9], [0, 9], [3, 5], [1, 8]]


def test_thresholds_become_ranges_and_the_rest_is_suppressed():
    release = publish({"a": [1, 2, 3, 4, 11, 12, 13, 14], "b": list("xyxyxyxy"), "s": list("nnnnyyyy")}, 4)
    assert groups_of(release) == {("1-4", "*"): 4, ("11-14", "*"): 4}


def test_a_missing_number_has_a_branch_of_its_own():
    ages = [None] * 4 + [1, 2, 3, 4, 11, 12, 13, 14]
    release = publish({"a": ages, "s": list("nnnnnnnnyyyy")}, 4)
    assert groups_of(release) == {("(missing)",): 4, ("1-4",): 4, ("11-14",): 4}
    release = publish({"a": [None] * 4 + [1] * 4, "s": list("nnnnyyyy")}, 4)
    assert groups_of(release) == {("(missing)",): 4, ("1",): 4}


CLASS_OF = {"a": "n", "b": "y", "c": "n", "d": "y"}


def by_letter(sizes, k, **options):
    """Publish a column in which value a comes with class n, b with y and so on."""
    values = [value for value, size in sizes.items() for _ in range(size)]
    return publish({"q": values, "s": [CLASS_OF[value] for value in values]}, k, min_rows=1, **options)


def test_small_leaves_that_are_enough_together_are_rolled_up():
    assert groups_of(by_letter({"a": 6, "b": 7, "c": 2, "d": 3}, 5)) == {("a",): 6, ("b",): 7, ("*",): 5}


def test_the_largest_siblings_lend_and_keep_k():
    assert groups_of(by_letter({"a": 6, "b": 9, "c": 2}, 5)) == {("a",): 6, ("b",): 6, ("*",): 5}
    assert groups_of(by_letter({"a": 6, "b": 7, "c": 2}, 5)) == {("a",): 5, ("b",): 5, ("*",): 5}


def test_the_smallest_sibling_is_rolled_up_when_nobody_can_lend_enough():
    assert groups_of(by_letter({"a": 6, "b": 5, "c": 2}, 5)) == {("a",): 6, ("*",): 7}


def test_the_whole_node_is_pruned_when_it_takes_everybody():
    sizes = {"a": 3, "b": 3, "c": 1}
    assert groups_of(by_letter(sizes, 3, l=2, l_kind="distinct")) == {("*",): 7}
    assert groups_of(by_letter({"a": 3, "b": 1, "c": 1}, 5)) == {("*",): 5}


def test_borrowing_keeps_both_sides_diverse():
    """Lending two rows of the pair u, v would leave one value behind or bring one value along."""
    columns = {"q": list("aaaaaabbbbc"), "s": list("uvuuuuvvvuv")}
    for seed in range(6):
        release = publish(columns, 3, seed=seed, l=2, l_kind="distinct", min_rows=1, confidence=None)
        for _, group in release.frame.group_by("q"):
            assert group["s"].n_unique() == 2


def test_what_is_left_at_the_root_takes_from_the_whole_tree():
    """Under x and y the leaves are full, and only z is short: there is no leaf beside it to borrow from."""
    columns = {
        "p": ["x"] * 8 + ["y"] * 8 + ["z"],
        "q": ["u", "v"] * 8 + ["u"],
        "s": ["n", "y"] * 4 + ["m", "o"] * 4 + ["k"],
    }
    release = publish(columns, 4, min_rows=1, confidence=None)
    assert groups_of(release) == {("x", "v"): 4, ("y", "u"): 4, ("y", "v"): 4, ("*", "*"): 5}


def test_transform_follows_a_group_that_the_root_took_in():
    """The root takes (x, w) in, although x has a group of its own: u, which does not comply, and v."""
    columns = {"p": list("xxxxxyyzz"), "q": list("vwwuvuvuw"), "s": list("aaccbbbbb")}
    release = publish(columns, 1, alpha=0.7, min_rows=1, confidence=None)
    assert groups_of(release) == {("x", "*"): 3, ("*", "*"): 6}
    again = release.transform(pl.DataFrame({"p": ["x", "x", "y"], "q": ["v", "w", "u"]}))
    assert again.rows() == [("x", "*"), ("*", "*"), ("*", "*")]


def test_which_rows_are_lent_depends_on_the_seed_and_not_on_sensitive_values():
    quasi = ["a"] * 12 + ["b"] * 10 + ["c"]
    frame = pl.DataFrame({"q": quasi, "class": ["n"] * 12 + ["y"] * 10 + ["n"], "s": ["u", "v"] * 11 + ["u"]})
    schema = ic.Schema(quasi={"q": None}, sensitive="s", target="class", other=["class"])

    def lent(frame, seed):
        table = Table.encode(frame, schema)
        choice = KACTUS(k=5, min_rows=1).choose(table, np.random.default_rng(seed), lambda *_: None)
        return set(np.flatnonzero((choice.lo < choice.hi)[choice.cell_of, 0]).tolist())

    other = frame.with_columns(s=pl.col("s").reverse() + "!")
    runs = {frozenset(lent(frame, seed)) for seed in range(5)}
    assert all(22 in run and len(run) == 5 for run in runs)
    assert len(runs) > 1
    assert all(lent(frame, seed) == lent(other, seed) for seed in range(5))


def test_without_a_class_everything_is_suppressed():
    frame = pl.DataFrame({"a": [1, 2, 3, 4]})
    release = KACTUS(k=2).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}))
    assert groups_of(release) == {("1-4",): 4}


@pytest.mark.parametrize("options", [{}, {"min_rows": 1, "confidence": None}, {"l": 1.2, "t": 0.4}])
def test_compiled_and_interpreted_agree(monkeypatch, options):
    n = 60
    frame = pl.DataFrame(
        {
            "a": [i * i % 23 for i in range(n)],
            "b": [None if i % 9 == 0 else f"v{i % 6}" for i in range(n)],
            "sparse": [None if i % 7 == 0 else i * 7919 % 104729 for i in range(n)],
            "s": ["xyz"[i * i % 11 % 3] for i in range(n)],
        }
    )
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.balanced(2), "sparse": ic.Intervals()}, sensitive="s")
    compiled = KACTUS(k=3, **options).publish(frame, schema, seed=1)
    monkeypatch.setattr("incrowd.kernels.jit.COMPILE_ALWAYS", False)
    assert KACTUS(k=3, **options).publish(frame, schema, seed=1).frame.equals(compiled.frame)
    assert len(compiled.cell_lo) > 1


def test_wrong_parameters_are_refused():
    for wrong in (0, 2.5, True, "5"):
        with pytest.raises(ic.ParameterError, match="min_rows is"):
            KACTUS(k=2, min_rows=wrong)
    for wrong in (0, 0.6, -1, float("nan"), True, "0.2"):
        with pytest.raises(ic.ParameterError, match="confidence is"):
            KACTUS(k=2, confidence=wrong)
    with pytest.raises(ic.ParameterError, match="k is 0"):
        KACTUS(k=0)
