"""Distinct pairs as numbers: the same as by grouping rows, or they say that they do not fit."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from incrowd.verify.packed import Packed


def batches(seed, n=40):
    rng = np.random.default_rng(seed)
    for size in (n, 1, 3 * n, n):
        span = int(rng.choice([3, 30, 3000]))
        yield (
            pl.DataFrame(
                {
                    "int": pl.Series(rng.integers(-span, span, size)).set(pl.Series(rng.random(size) < 0.1), None),
                    "small": pl.Series(rng.integers(0, 9, size), dtype=pl.UInt8),
                    "name": rng.choice(["a", "b", "", None, f"n{span}"], size).tolist(),
                    "real": pl.Series(rng.choice([0.0, -0.0, 1.5, np.nan, span / 7], size)),
                    "day": pl.Series([date(2020, 1, 1 + int(d)) for d in rng.integers(0, 20, size)]),
                    "truth": rng.choice([True, False, None], size).tolist(),
                },
                schema_overrides={"name": pl.String, "truth": pl.Boolean},
            ),
            rng.integers(-1, span, size).astype(np.int32),
        )


def grouped(parts):
    whole = pl.concat([rows.with_columns(pl.Series("", numbers)) for rows, numbers in parts])
    return whole.with_columns(pl.col("real") + 0.0).group_by(pl.all()).len(name=" ")


def sorted_rows(frame):
    return frame.sort(frame.columns, nulls_last=False).with_columns(pl.col(" ").cast(pl.Int64))


@pytest.mark.parametrize("together", [1, 50, 10**6])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_as_by_grouping_rows(seed, together):
    parts = list(batches(seed))
    packed = Packed(parts[0][0].columns, together)
    assert all(packed.add(rows, numbers) for rows, numbers in parts)
    rows, numbers, counts = packed.rows()
    assert rows.schema == parts[0][0].schema
    found = rows.with_columns(pl.Series("", numbers), pl.Series(" ", counts))
    assert sorted_rows(found).equals(sorted_rows(grouped(parts)), null_equal=True)


@pytest.mark.parametrize(
    "more",
    [
        {"a": [2**40]}, {"a": [2**63 - 1]}, {"a": [-(2**63)]}, {"a": pl.Series([1], dtype=pl.Int8)},
    ],
)  # fmt: skip
def test_what_does_not_fit_changes_nothing(more):
    packed = Packed(["a"], 10)
    assert packed.add(pl.DataFrame({"a": [1, 2, 1]}), np.array([0, 0, 0], np.int32))
    assert not packed.add(pl.DataFrame(more), np.array([0], np.int32))
    rows, _, counts = packed.rows()
    assert sorted(zip(rows["a"], counts, strict=True)) == [(1, 2), (2, 1)]


def test_columns_of_many_bits_and_other_types_do_not_fit():
    wide = pl.DataFrame({str(m): range(2**16) for m in range(4)})
    assert not Packed(wide.columns, 10**6).add(wide, np.zeros(2**16, np.int32))
    assert not Packed(["t"], 10).add(pl.DataFrame({"t": [datetime(2020, 1, 1)]}), np.zeros(1, np.int32))
    assert not Packed(["x"], 10).add(pl.DataFrame({"x": np.arange(2**15) / 3}), np.zeros(2**15, np.int32))
