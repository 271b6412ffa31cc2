"""Rows in memory are made column by column, and are the same as those that are written."""

import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.rows import Rows


@pytest.mark.parametrize("method", [ic.Mondrian(k=2), ic.NSVDist(k=2), ic.BestCuts(k=2, l=1.5)])
def test_columns_in_memory_are_those_of_the_file(method):
    frame = pl.DataFrame(
        {
            "age": [21, 22, None, 31, 47, 48, 55, 56],
            "town": list("aabbccdd"),
            "x": [0.5, -0.0] * 4,
            "ill": list("ynynynyn"),
        }
    )
    schema = ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="ill", other=["x"])
    release = method.publish(frame, schema, seed=1)
    (rows,), (written,) = release.checked_tables(), release.coded_tables(labels=False)
    assert isinstance(rows, Rows)
    assert (rows.columns, rows.height, rows.schema) == (written.columns, written.height, dict(written.schema))
    for name in written.columns:
        assert rows[name].equals(written[name], check_names=True, null_equal=True)
    assert rows.select(["age.lo", "x"]).equals(written.select("age.lo", "x"))
