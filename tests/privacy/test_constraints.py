"""The one decision procedure equals the plain one; the closest setting is exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
from incrowd.domains import limits_of
from incrowd.kernels.limits import holds
from incrowd.privacy import Privacy, exact
from incrowd.privacy.constraints import neighbour

VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=14)
KINDS = st.sampled_from(["frequency", "distinct", "entropy", "recursive"])


def decided(values, table, **asked):
    n_values = max(table) + 1
    counts = np.bincount(values, minlength=n_values)
    bounds = limits_of(Privacy.of(**asked), len(table), {"s": np.bincount(table, minlength=n_values)})
    return holds(counts, len(values), bounds)


@given(VALUES, VALUES, st.integers(1, 6), KINDS, st.integers(1, 4), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_diversity(values, rest, k, kind, l, c):
    table = values + rest
    asked = {"k": k, "l": l, "l_kind": kind, "c": c}
    assert decided(values, table, **asked) == naive_mondrian.holds(values, table, **asked)


@given(VALUES, VALUES, st.sampled_from([1.0, 1.1, 1.25, 1.5, 1.9, 2.0, 3.3]), st.sampled_from([0.3, 0.5, 0.7, 1.0]))
def test_real_diversity_and_alpha_are_exact(values, rest, l, alpha):
    table = values + rest
    for asked in ({"k": 1, "l": l}, {"k": 1, "alpha": alpha}, {"k": 1, "l": l, "alpha": alpha}):
        assert decided(values, table, **asked) == naive_mondrian.holds(values, table, **asked)


@given(VALUES, VALUES, st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), st.booleans())
def test_closeness(values, rest, t, ordered):
    table = values + rest
    # Codes of a table are dense: every code up to the largest occurs.
    dense = {code: i for i, code in enumerate(sorted(set(table)))}
    values, table = [dense[v] for v in values], [dense[v] for v in table]
    asked = {"k": 1, "t": t, "ordered": ordered}
    assert decided(values, table, **asked) == naive_mondrian.holds(values, table, **asked)


@given(st.floats(0.001, 0.999), st.integers(1, 400), st.booleans())
def test_neighbour_compares_as_the_number_does(number, n, above):
    found = neighbour(exact(number), n, above=above)
    assert found.denominator <= n
    every = [Fraction(a, b) for b in range(1, min(n, 40) + 1) for a in range(b + 1)]
    if above:
        assert all((share < exact(number)) == (share < found) for share in every)
    else:
        assert all((share <= exact(number)) == (share <= found) for share in every)


def test_sixteen_digits_do_not_overflow():
    """A computed l or alpha has a denominator of sixteen digits; a million rows times that would not fit."""
    counts = np.array([666_667, 333_333])
    for share, fits in ((2 / 3, False), (0.666667, True)):
        assert holds(counts, 1_000_000, limits_of(Privacy.of(k=1, alpha=share), 1_000_000, {"s": counts})) == fits
    assert holds(counts, 1_000_000, limits_of(Privacy.of(k=1, l=1 + (1.33 - 1) / 3), 1_000_000, {"s": counts}))


def test_recursive_c_is_exact():
    counts = [0] * 7 + [1] * 7 + [2] * 7 + [3] * 7 + [4] * 4
    assert not decided(counts, counts, k=1, l=2, l_kind="recursive", c=0.28)
    assert decided(counts, counts, k=1, l=2, l_kind="recursive", c=0.29)


def test_ten_of_eleven_is_exactly_one_over_one_point_one():
    assert exact(1.1) == Fraction(11, 10)
    assert decided([0] * 10 + [1], [0, 1] * 20, k=1, l=1.1)
    assert not decided([0] * 11 + [1], [0, 1] * 20, k=1, l=1.1)


@given(VALUES, st.integers(1, 8), KINDS, st.integers(2, 5), st.sampled_from([0.2, 0.5, 0.9]))
def test_feasible_or_the_closest_setting_is(values, k, kind, l, alpha):
    counts = np.bincount(values)
    asked = {"k": k, "l": l, "l_kind": kind, "alpha": alpha}
    whole_table_holds = naive_mondrian.holds(values, values, **asked)
    try:
        Privacy.of(**asked).require_feasible(len(values), {"s": counts})
    except ic.InfeasibleError as error:
        assert not whole_table_holds
        Privacy.of(**{**asked, **error.best}).require_feasible(len(values), {"s": counts})
    else:
        assert whole_table_holds


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2.5}, "k is 2.5"),
        ({"k": True}, "k is True"),
        ({"k": 2, "l": 0.5}, "l is 0.5"),
        ({"k": 2, "l": float("nan")}, "l is nan"),
        ({"k": 2, "l": 1.5, "l_kind": "distinct"}, "counts values|l is 1.5"),
        ({"k": 2, "l_kind": "other"}, "l_kind is 'other'"),
        ({"k": 2, "c": 0}, "c is 0"),
        ({"k": 2, "t": 1.5}, "t is 1.5"),
        ({"k": 2, "alpha": 0}, "alpha is 0"),
        ({"k": 2, "l": "2"}, "l is '2'"),
        ({"k": 2, "t": "0.2"}, "t is '0.2'"),
        ({"k": 2, "c": float("inf")}, "c is inf"),
        ({"k": 2, "ordered": True}, "t was not given"),
    ],
)
def test_wrong_parameters(asked, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        Privacy.of(**asked)
