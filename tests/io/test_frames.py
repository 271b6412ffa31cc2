from __future__ import annotations

import datetime as dt
import decimal
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import frames as module
from incrowd.io import from_polars, kind_of, to_polars

FULL = pl.DataFrame(
    {
        "i": [1, 2, -3],
        "f": [1.5, None, 2.0],
        "s": ["é", None, ""],
        "b": [True, False, True],
        "d": [dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(1970, 1, 1)],
        "t": [dt.datetime(2020, 1, 1, 12), None, dt.datetime(1970, 1, 1)],
    }
)


def test_polars_passes_without_a_copy():
    frame = pl.DataFrame({"a": [1, 2]})
    assert to_polars(frame) is frame
    assert_frame_equal(to_polars(frame.lazy()), frame)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_round_trip(kind):
    frame = FULL.with_columns(pl.col("d").cast(pl.Datetime("us"))) if kind == "pandas" else FULL
    native = from_polars(frame, kind)
    assert kind_of(native) == kind
    assert_frame_equal(to_polars(native), frame, check_dtypes=kind != "pandas")


@given(
    st.lists(
        st.tuples(
            st.none() | st.text(max_size=5),
            st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_pandas_and_arrow_round_trip_random(rows):
    schema = {"s": pl.String, "i": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    for kind in ("pandas", "pyarrow"):
        back = to_polars(from_polars(frame, kind))
        # An all-null pandas column has no type to come back with.
        assert_frame_equal(back, frame, check_dtypes=frame["s"].null_count() < frame.height)


def test_pandas_types():
    frame = pd.DataFrame(
        {
            "cat": pd.Categorical(["a", None]),
            "numbers": pd.Categorical([3, 4]),
            "nullable": pd.array([1, None], dtype="Int64"),
            "string": pd.array(["x", None], dtype="string"),
            "objects": pd.Series(["x", np.nan], dtype=object),
            "dates": pd.Series([dt.date(2020, 1, 1), None], dtype=object),
            "seconds": np.array(["2020-01-01", "NaT"], dtype="M8[s]"),
            "zoned": pd.to_datetime(["2020-01-01", None]).tz_localize("UTC"),
            "nan": [1.0, np.nan],
            "small": np.array([1, 2], dtype=np.int8),
            "decimal": pd.Series([decimal.Decimal("1.5"), None], dtype=object),
            "flags": pd.Series([True, None], dtype=object),
            "numpy": pd.Series([np.int64(1), 2], dtype=object),
            "real": pd.Series([1, 2.5], dtype=object),
            "nothing": pd.Series([None, None], dtype=object),
            7: [1, 2],
        }
    )
    frame.index = ["x", "x"]
    before = frame.copy(deep=True)
    result = to_polars(frame)
    assert result.schema == {
        "cat": pl.String,
        "numbers": pl.Int64,
        "nullable": pl.Int64,
        "string": pl.String,
        "objects": pl.String,
        "dates": pl.Date,
        "seconds": pl.Datetime("us"),
        "zoned": pl.Datetime("us", "UTC"),
        "nan": pl.Float64,
        "small": pl.Int8,
        "decimal": pl.Float64,
        "flags": pl.Boolean,
        "numpy": pl.Int64,
        "real": pl.Float64,
        "nothing": pl.String,
        "7": pl.Int64,
    }
    nulls = result.null_count().row(0, named=True)
    whole = {name for name, count in nulls.items() if count == 0}
    assert whole == {"numbers", "small", "numpy", "real", "7"}
    pd.testing.assert_frame_equal(frame, before)


def test_numbers_of_pandas_are_not_copied():
    values = np.arange(10)
    frame = pd.DataFrame({"a": values}, copy=False)
    assert np.shares_memory(to_polars(frame)["a"].to_numpy(), frame["a"].to_numpy())


def test_polars_types_become_plain():
    frame = pl.DataFrame(
        {
            "cat": pl.Series(["a", None], dtype=pl.Categorical),
            "enum": pl.Series(["a", None], dtype=pl.Enum(["a"])),
            "decimal": pl.Series([decimal.Decimal("1.25"), None]),
            "null": [None, None],
            "nan": [float("nan"), 1.0],
        }
    )
    before = frame.clone()
    result = to_polars(frame)
    assert result.dtypes == [pl.String, pl.String, pl.Float64, pl.String, pl.Float64]
    assert result["nan"].to_list() == [None, 1.0]
    assert result["decimal"].to_list() == [1.25, None]
    assert_frame_equal(frame, before)


def test_arrow_dictionary_and_batch():
    table = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert to_polars(table).to_dict(as_series=False) == {"a": ["x", "y", "x"]}
    assert to_polars(table.to_batches()[0]).height == 3
    assert kind_of(table.to_batches()[0]) == "pyarrow"


def test_repeated_names():
    pandas = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    arrow = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    for frame in (pandas, arrow):
        with pytest.raises(InputError, match="has 2 columns named 'a'"):
            to_polars(frame)
    with pytest.raises(InputError, match="has 2 columns named '1'"):
        to_polars(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_mixed_objects_name_the_column_and_no_value():
    frame = pd.DataFrame({"ok": [1, 2], "bad": pd.Series([4711, "Smith"], dtype=object)})
    with pytest.raises(InputError, match="column 'bad' mixes values of type int, str") as caught:
        to_polars(frame)
    assert "Smith" not in str(caught.value)
    assert "4711" not in str(caught.value)
    with pytest.raises(InputError, match="bool, int"):
        to_polars(pd.DataFrame({"bad": pd.Series([True, 5], dtype=object)}))


def test_objects_that_are_no_values():
    with pytest.raises(InputError, match="column 'bad' has values of type list"):
        to_polars(pd.DataFrame({"bad": [[1], [2]]}))
    with pytest.raises(InputError, match="column 'bad' has values that do not fit int") as caught:
        to_polars(pd.DataFrame({"bad": pd.Series([2**70], dtype=object)}))
    assert str(2**70) not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pl.Series([[1], [2]]), "List"),
        (pl.Series([{"x": 1}]), "Struct"),
        (pl.Series([b"x"]), "Binary"),
        (pl.Series([dt.timedelta(1)]), "Duration"),
        (pl.Series([dt.time(1)]), "Time"),
        (pl.Series([object()], dtype=pl.Object), "Object"),
    ],
)
def test_unsupported_types_are_named(column, name):
    with pytest.raises(InputError, match=f"column 'bad' has the type {name}, which is not supported"):
        to_polars(pl.DataFrame({"ok": pl.repeat(1, len(column), eager=True), "bad": column}))


@pytest.mark.parametrize("column", [pd.to_timedelta([1], unit="s"), pd.period_range("2020", periods=1, freq="M")])
def test_unsupported_pandas_types_are_named(column):
    with pytest.raises(InputError, match="column 'bad'"):
        to_polars(pd.DataFrame({"bad": column}))


def test_no_columns_and_no_names():
    for frame in (pl.DataFrame(), pd.DataFrame(), pd.DataFrame(index=[1, 2])):
        with pytest.raises(InputError, match="has no columns"):
            to_polars(frame)
    with pytest.raises(InputError, match="column 2 of 2 has no name"):
        to_polars(pl.DataFrame({"a": [1], "": [2]}))
    with pytest.raises(InputError, match="names of 2 levels"):
        to_polars(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


def test_a_path_is_not_a_frame(tmp_path):
    for path in ("people.csv", tmp_path / "people.csv"):
        with pytest.raises(InputError, match="Expected a frame") as caught:
            to_polars(path)
        assert "io.read" in caught.value.hint


@pytest.mark.parametrize("thing", [{"a": [1]}, [1], 5, None, np.zeros((2, 2)), pd.Series([1]), pl.Series([1])])
def test_other_things_are_not_frames(thing):
    with pytest.raises(InputError, match=f"Expected a frame, got {type(thing).__name__}"):
        to_polars(thing)


def test_anything_that_narwhals_knows():
    import narwhals as nw

    wrapped = nw.from_native(pl.DataFrame({"a": [1]}))
    assert to_polars(wrapped).to_dict(as_series=False) == {"a": [1]}
    assert to_polars(nw.from_native(pd.DataFrame({"a": ["x"]}))).to_dict(as_series=False) == {"a": ["x"]}
    assert to_polars(nw.from_native(pl.LazyFrame({"a": [1]}))).height == 1


def test_unknown_kind_and_missing_library(monkeypatch):
    with pytest.raises(InputError, match="no kind of frame called 'spark'"):
        from_polars(FULL, "spark")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        from_polars(FULL, "pandas")


def test_pandas_without_pyarrow(monkeypatch):
    monkeypatch.setattr(module, "_has_pyarrow", lambda: False)
    frame = FULL.drop("d")
    native = from_polars(frame, "pandas")
    assert isinstance(native, pd.DataFrame)
    assert_frame_equal(to_polars(native), frame, check_dtypes=False)
    assert to_polars(pd.DataFrame({"c": pd.Categorical(["a", None])}))["c"].to_list() == ["a", None]


def test_kind_of_imports_nothing():
    import subprocess

    code = (
        "import sys, polars as pl, incrowd.io as io; frame = pl.DataFrame({'a': [1]});"
        "io.kind_of(frame); io.to_polars(frame);"
        "assert not {'pandas', 'pyarrow', 'sqlalchemy', 'fastexcel'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
