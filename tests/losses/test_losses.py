from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from incrowd.errors import ParameterError
from incrowd.hierarchy import Intervals, Taxonomy
from incrowd.losses import CELL_LOSSES, LOSSES, Cells, cell_loss, loss
from incrowd.losses import kl as kl_module

WORK = Taxonomy.from_nested({"Paid": ["a", "b", "c"], "Unpaid": ["d", "e"]})


@st.composite
def releases(draw, form=None):
    """Any release: originals, legal cells around them, a class in one of three forms."""
    n_rows = draw(st.integers(0, 12))
    n_quasi = draw(st.integers(1, 3))
    known = [WORK, Intervals([1, 2, 4, 8]), Intervals(["only"]), Taxonomy.flat(["x", "y"])]
    hierarchies = [draw(st.sampled_from(known)) for _ in range(n_quasi)]
    codes = [[draw(st.tuples(*(st.integers(0, h.n_leaves - 1),) * 3)) for _ in range(n_rows)] for h in hierarchies]
    shape = (n_rows, n_quasi)
    originals, lo, hi = (np.zeros(shape, np.int32, order="F") for _ in range(3))
    for m, (hierarchy, column) in enumerate(zip(hierarchies, codes, strict=True)):
        three = np.array(column, np.int32).reshape(n_rows, 3)
        originals[:, m] = three[:, 0]
        lo[:, m], hi[:, m] = hierarchy.closure(three.min(axis=1), three.max(axis=1))
    form = form or draw(st.sampled_from(["sensitive", "counts", "classes"]))
    value = st.integers(0, 2)
    exact = np.array([draw(value) for _ in range(n_rows)], np.int32)
    spread = np.array([draw(st.tuples(value, value, st.integers(1, 2))) for _ in range(n_rows)], np.int32)
    return Cells(
        hierarchies=hierarchies,
        lo=lo,
        hi=hi,
        marginals=[np.bincount(originals[:, m], minlength=h.n_leaves) for m, h in enumerate(hierarchies)],
        sensitive=None if form == "counts" else exact,
        counts=spread.reshape(n_rows, 3) if form == "counts" else None,
        classes=exact[::-1].copy() if form == "classes" else None,
        n_values=3,
        n_suppressed=draw(st.integers(0, 3)),
        k=draw(st.integers(1, 4)),
        originals=originals,
    )


def make(lo, hi, hierarchy, **more):
    """Cells of one attribute, by default with each leaf once."""
    more.setdefault("marginals", [np.ones(hierarchy.n_leaves, np.int64)])
    return Cells(
        hierarchies=[hierarchy], lo=np.array(lo, np.int32)[:, None], hi=np.array(hi, np.int32)[:, None], **more
    )


@pytest.mark.parametrize("name", list(LOSSES))
def test_losses_equal_naive(name):
    @settings(deadline=None)
    @given(releases())
    def compare(cells):
        assert loss(name, cells) == pytest.approx(getattr(naive, name)(cells), abs=1e-9)

    compare()


@pytest.mark.parametrize("name", list(LOSSES))
def test_losses_equal_naive_on_a_large_domain(name):
    """More pairs of leaves than are counted in a table, several blocks, a deep division of the points."""
    rng = np.random.default_rng(3)
    hierarchies = [Intervals(list(range(300))), WORK]
    originals = np.stack([rng.integers(0, 300, 700), rng.integers(0, 5, 700)], axis=1).astype(np.int32)
    lo = np.maximum(originals - rng.integers(0, 40, originals.shape), 0).astype(np.int32)
    hi = np.minimum(originals + rng.integers(0, 40, originals.shape), [299, 4]).astype(np.int32)
    lo[:, 1], hi[:, 1] = WORK.closure(lo[:, 1], hi[:, 1])
    cells = Cells(
        hierarchies=hierarchies,
        lo=np.asfortranarray(lo),
        hi=np.asfortranarray(hi),
        marginals=[np.bincount(originals[:, m], minlength=h.n_leaves) for m, h in enumerate(hierarchies)],
        sensitive=rng.integers(0, 3, 700).astype(np.int32),
        n_values=3,
        n_suppressed=5,
        k=2,
        originals=originals,
    )
    assert loss(name, cells) == pytest.approx(getattr(naive, name)(cells))


@pytest.mark.parametrize("name", list(CELL_LOSSES))
@pytest.mark.parametrize("hierarchy", [WORK, Intervals([1, 2, 4, 8]), Intervals(["only"])])
def test_cell_losses_average_to_the_loss(name, hierarchy):
    n = hierarchy.n_leaves
    marginal = np.arange(n, dtype=np.int64) ** 2
    lo, hi = (np.array(ends, np.int32) for ends in zip(*((a, b) for a in range(n) for b in range(a, n)), strict=True))
    lo, hi = hierarchy.closure(lo, hi)
    each = cell_loss(name, hierarchy, marginal, lo, hi)
    slow = [
        naive.lm_cell(hierarchy.pos, a, b) if name == "lm" else getattr(naive, f"{name}_cell")(marginal, a, b)
        for a, b in zip(lo, hi, strict=True)
    ]
    assert each == pytest.approx(slow)
    if marginal.any():
        assert loss(name, make(lo, hi, hierarchy, marginals=[marginal])) == pytest.approx(each.mean())


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_lm_and_monotone_entropy_never_fall_when_cells_widen(marginal, data):
    """Exactly: a publisher that keeps old losses as lower bounds relies on it."""
    marginal = np.array(marginal, np.int64) * data.draw(st.sampled_from([1, 12_345_677]))
    n = len(marginal)
    a, b, c, d = sorted(data.draw(st.tuples(*(st.integers(0, n - 1),) * 4)))
    lo, hi = np.array([b, a], np.int32), np.array([c, d], np.int32)
    for name in ("lm", "monotone_entropy"):
        narrow, wide = cell_loss(name, Intervals(list(range(n))), marginal, lo, hi)
        assert narrow <= wide


def test_entropy_falls_when_a_frequent_leaf_joins():
    marginal = np.array([1, 1, 98], np.int64)
    lo, hi = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    narrow, wide = cell_loss("entropy", Intervals([1, 2, 3]), marginal, lo, hi)
    assert narrow == pytest.approx(1.0)
    assert wide == pytest.approx(0.1614, abs=1e-4)
    narrow, wide = cell_loss("monotone_entropy", Intervals([1, 2, 3]), marginal, lo, hi)
    assert narrow == pytest.approx(0.02)
    assert wide == pytest.approx(0.1614, abs=1e-4)


def test_entropy_of_one_occurring_leaf_is_exactly_zero():
    marginal = np.array([987_654_321, 7, 0, 123_456_789, 3], np.int64)
    lo, hi = np.array([1, 1, 2, 2, 4], np.int32), np.array([1, 2, 2, 3, 4], np.int32)
    for name in ("entropy", "monotone_entropy"):
        assert cell_loss(name, Intervals([1, 2, 3, 4, 5]), marginal, lo, hi).tolist() == [0.0] * 5


def test_lm_by_hand():
    """Ages 21, 30, 55: 21-30 is 9/34 of the domain, 21-55 all of it; one suppressed row of four."""
    ages = Intervals([21, 30, 55])
    assert loss("lm", make([0, 0, 2], [1, 2, 2], ages)) == pytest.approx((9 / 34 + 1 + 0) / 3)
    assert loss("lm", make([0, 0, 2], [1, 2, 2], ages, n_suppressed=1)) == pytest.approx((9 / 34 + 1 + 0 + 1) / 4)


def test_lm_of_a_taxonomy_counts_leaves():
    """Eq. (2): Paid is 3 of 5 values, (3 - 1) / (5 - 1)."""
    assert loss("lm", make([0, 3], [2, 4], WORK)) == pytest.approx((2 / 4 + 1 / 4) / 2)


def test_dm_and_aecs_by_hand():
    cells = make([0, 0, 0, 3, 3], [2, 2, 2, 4, 4], WORK, n_suppressed=1, k=2)
    assert loss("dm", cells) == 9 + 4 + 6
    assert loss("aecs", cells) == 6 / 2 / 2


def test_cm_by_hand():
    lo, hi = [0, 0, 0, 3, 3], [2, 2, 2, 4, 4]
    exact = np.array([0, 0, 1, 0, 1], np.int32)
    assert loss("cm", make(lo, hi, WORK, sensitive=exact, n_values=2)) == pytest.approx((1 + 1) / 5)
    assert loss("cm", make(lo, hi, WORK, sensitive=exact, n_values=2, n_suppressed=1)) == pytest.approx(3 / 6)
    shares = np.array([[2, 1], [2, 1], [0, 3], [1, 1], [3, 1]], np.int32)  # majorities: 5/3 of class 1, 5/4 of class 0
    assert loss("cm", make(lo, hi, WORK, counts=shares, n_values=2)) == pytest.approx((3 - 5 / 3 + 2 - 5 / 4) / 5)


def test_cm_prefers_the_target_to_the_sensitive_value():
    lo, hi = [0, 0, 0], [4, 4, 4]
    sensitive, target = np.array([0, 1, 2], np.int32), np.array([5, 5, 5], np.int32)
    assert loss("cm", make(lo, hi, WORK, sensitive=sensitive, n_values=3)) == pytest.approx(2 / 3)
    assert loss("cm", make(lo, hi, WORK, sensitive=sensitive, classes=target, n_values=3)) == 0.0


def test_kl_by_hand():
    """Originals x, x, y in one cell of two leaves: p = (2/3, 1/3), q = (1/2, 1/2)."""
    cells = make([0, 0, 0], [1, 1, 1], Taxonomy.flat(["x", "y"]), originals=np.array([[0], [0], [1]], np.int32))
    assert loss("kl", cells) == pytest.approx(2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2 / 3))


def test_kl_of_overlapping_cells():
    """Cells {x}, {x, y}: q(x) = 3/4 and q(y) = 1/4 where p is 1/2 each."""
    cells = make([0, 0], [0, 1], Taxonomy.flat(["x", "y"]), originals=np.array([[0], [1]], np.int32))
    assert loss("kl", cells) == pytest.approx(0.5 * math.log(2 / 3) + 0.5 * math.log(2))


@pytest.mark.parametrize("few", [1, 2, 128])
def test_kl_whatever_the_size_of_blocks(monkeypatch, few):
    monkeypatch.setattr(kl_module, "_FEW_POINTS", few)
    monkeypatch.setattr(kl_module, "_MOST_PAIRS", 3)

    @given(releases())
    def compare(cells):
        assert loss("kl", cells) == pytest.approx(naive.kl(cells), abs=1e-9)

    compare()


def test_kl_of_cells_too_large_to_count():
    """2000 attributes of 8 leaves: a cell holds 10**1806 combinations."""
    n_quasi = 2_000
    shape = (2, n_quasi)
    cells = Cells(
        hierarchies=[Intervals(list(range(8)))] * n_quasi,
        lo=np.zeros(shape, np.int32),
        hi=np.full(shape, 7, np.int32),
        marginals=[np.array([1] * 2 + [0] * 6)] * n_quasi,
        originals=np.array([[0] * n_quasi, [1] * n_quasi], np.int32),
    )
    assert loss("kl", cells) == pytest.approx(n_quasi * math.log(8) - math.log(2))


def test_kl_is_infinite_when_a_row_is_not_in_any_cell():
    cells = make([0, 0], [1, 1], WORK, originals=np.array([[0], [4]], np.int32))
    assert loss("kl", cells) == math.inf


@given(releases())
def test_untouched_rows_lose_nothing(cells):
    same = Cells(
        hierarchies=cells.hierarchies,
        lo=cells.originals,
        hi=cells.originals,
        marginals=cells.marginals,
        originals=cells.originals,
    )
    for name in ("lm", "entropy", "monotone_entropy", "kl"):
        assert loss(name, same) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lm", 1.0),
        ("entropy", math.log2(5)),
        ("monotone_entropy", math.log2(5)),
        ("dm", 9.0),
        ("aecs", 1.5),
        ("cm", 1.0),
        ("kl", math.log(5)),
        ("nmi", 1.0),
    ],
)
def test_all_suppressed(name, expected):
    cells = make(
        [],
        [],
        WORK,
        marginals=[np.zeros(5, np.int64)],
        sensitive=np.zeros(0, np.int32),
        n_values=2,
        n_suppressed=3,
        k=2,
        originals=np.zeros((0, 1), np.int32),
    )
    assert loss(name, cells) == pytest.approx(expected)


@pytest.mark.parametrize("name", list(LOSSES))
def test_no_row_at_all(name):
    cells = make([], [], WORK, sensitive=np.zeros(0, np.int32), n_values=2, originals=np.zeros((0, 1), np.int32))
    assert loss(name, cells) == 0.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("lm", 0), ("entropy", 0), ("monotone_entropy", 0), ("dm", 1), ("aecs", 1), ("cm", 0), ("kl", 0), ("nmi", 1)],
)
def test_one_row_of_a_domain_of_one_leaf(name, expected):
    cells = make(
        [0],
        [0],
        Intervals(["only"]),
        sensitive=np.zeros(1, np.int32),
        n_values=1,
        originals=np.zeros((1, 1), np.int32),
    )
    assert loss(name, cells) == expected


def test_a_suppressed_row_counts_one_even_where_nothing_can_be_lost():
    assert loss("lm", make([0], [0], Intervals(["only"]), n_suppressed=1)) == 0.5


@pytest.mark.parametrize("name", ["lm", "entropy", "monotone_entropy", "dm", "aecs", "nmi"])
def test_no_quasi_identifier(name):
    none = np.zeros((2, 0), np.int32)
    cells = Cells(hierarchies=[], lo=none, hi=none, marginals=[], sensitive=np.zeros(2, np.int32), n_suppressed=2)
    expected = {"lm": 0.5, "dm": 4 + 2 * 4, "aecs": 4.0}.get(name, 0.0)
    assert loss(name, cells) == expected


def test_unknown_loss_names_the_known_ones():
    with pytest.raises(ParameterError, match="monotone_entropy"):
        loss("metric", make([0], [0], WORK))
    with pytest.raises(ParameterError, match="lm, entropy, monotone_entropy"):
        cell_loss("dm", WORK, np.ones(5, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int32))


def test_losses_that_need_more_say_so():
    with pytest.raises(ParameterError, match="original"):
        loss("kl", make([0], [0], WORK))
    for name in ("cm", "nmi"):
        with pytest.raises(ParameterError, match="class"):
            loss(name, make([0], [0], WORK))
    assert [name for name, info in LOSSES.items() if info.needs_original] == ["kl"]


def test_cells_refuse_arrays_that_do_not_fit():
    with pytest.raises(ParameterError, match="fit together"):
        make([0, 1], [0], WORK)
    with pytest.raises(ParameterError, match="fit together"):
        make([0], [0], WORK, marginals=[np.ones(3, np.int64)])
    with pytest.raises(ParameterError, match="fit together"):
        make([0], [0], WORK, sensitive=np.zeros(2, np.int32))
    with pytest.raises(ParameterError, match="k=0"):
        make([0], [0], WORK, k=0)
