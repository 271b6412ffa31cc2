"""The one decision procedure equals the plain one; the closest setting is exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
from incrowd.kernels.limits import Limits, holds
from incrowd.privacy import Privacy, exact

VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=14)
KINDS = st.sampled_from(["frequency", "distinct", "entropy", "recursive"])


def decided(values, table, **asked):
    n_values = max(table) + 1
    whole, real = Privacy.of(**asked).limits().arrays()
    overall = np.bincount(table, minlength=n_values) / len(table)
    counts = np.bincount(values, minlength=n_values)
    return holds(counts, len(values), Limits(whole, np.concatenate([real, overall])))


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


def test_ten_of_eleven_is_exactly_one_over_one_point_one():
    assert exact(1.1) == Fraction(11, 10)
    assert decided([0] * 10 + [1], [0, 1], k=1, l=1.1)
    assert not decided([0] * 11 + [1], [0, 1], k=1, l=1.1)


@given(VALUES, st.integers(1, 8), KINDS, st.integers(2, 5), st.sampled_from([0.2, 0.5, 0.9]))
def test_feasible_or_the_closest_setting_is(values, k, kind, l, alpha):
    counts = np.bincount(values)
    asked = {"k": k, "l": l, "l_kind": kind, "alpha": alpha}
    whole_table_holds = naive_mondrian.holds(values, values, **asked)
    try:
        Privacy.of(**asked).require_feasible(len(values), counts)
    except ic.InfeasibleError as error:
        assert not whole_table_holds
        best = {name: value for name, value in error.best.items() if not (name == "l" and value == 0)}
        if len(best) == len(error.best):
            Privacy.of(**{**asked, **best}).require_feasible(len(values), counts)
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
    ],
)
def test_wrong_parameters(asked, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        Privacy.of(**asked)
