"""Values get one code each over all batches, whichever way they are looked up."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from incrowd.engines.distinct import Dictionary, TooManyRowsError

NEAR = [[3, 1, None, 3], [2, 9, 1], [None], [-5, 3], [10**5, -(10**5)]]
FAR = [[3, 1, None], [2, 3, 10**12], [1, -(2**63), 2**63 - 1, None], [10**12, 2]]


@pytest.mark.parametrize(
    ("batches", "dtype"),
    [
        (NEAR, pl.Int64), (FAR, pl.Int64), ([[200, 3], [255, None]], pl.UInt8), ([[None], [None, 4]], pl.Int32),
        ([[0.5, None, -0.0], [0.0, 2.0]], pl.Float64), ([[True, None], [False, True]], pl.Boolean),
        ([[date(2020, 1, 1)], [None, date(1, 1, 1), date(2020, 1, 1)]], pl.Date),
        ([["a", None], ["b", "a"], [""]], pl.String), ([[], [1]], pl.Int64),
    ],
)  # fmt: skip
def test_each_value_has_one_code_over_all_batches(batches, dtype):
    dictionary, shown = Dictionary("x", 99), []
    columns = [pl.Series("x", batch, dtype) for batch in batches]
    codes = [dictionary.encode(column).copy() for column in columns]
    values = dictionary.values
    for own in codes:
        assert own.dtype == np.int32
        shown += values.gather(own).to_list()
    assert shown == pl.concat(columns).to_list()
    assert values.null_count() == 1
    assert values.n_unique() == len(values)


def test_too_many_values_are_refused_however_far_they_are_apart():
    for step in (1, 10**9):
        dictionary = Dictionary("x", 5)
        dictionary.encode(pl.Series(range(0, 5 * step, step)))
        with pytest.raises(TooManyRowsError):
            dictionary.encode(pl.Series([7 * step]))
