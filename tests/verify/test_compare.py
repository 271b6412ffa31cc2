"""Whether two columns hold the same values, whatever type each of them was read as."""

from __future__ import annotations

from datetime import UTC, date, datetime

import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.assignment import alike, number_together
from incrowd.verify.compare import as_text, equal_values, is_comparable, read_like

DAY, TIME = date(2001, 2, 3), datetime(2001, 2, 3, 4, 5, 6)
MIDNIGHT = datetime(2001, 2, 3)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (pl.Series([1, 2, None]), pl.Series([1, 3, None]), [True, False, True]),
        (pl.Series(["a", "", None, "b"]), pl.Series(["a", None, "", ""]), [True, True, True, False]),
        (pl.Series([1, 2]), pl.Series([1.0, 2.5]), [True, False]),
        (pl.Series([1, 300], dtype=pl.Int16), pl.Series([1, 44], dtype=pl.UInt8), [True, False]),
        (pl.Series([2**63], dtype=pl.UInt64), pl.Series([-1]), [False]),
        (pl.Series([0.1], dtype=pl.Float32), pl.Series([0.1]), [True]),
        (pl.Series(["1", " 2 ", "x", "", None]), pl.Series([1, 2, 3, None, None]), [True, True, False, True, True]),
        (pl.Series(["x"]), pl.Series([None], dtype=pl.Int64), [False]),
        (pl.Series(["1.5", "2"]), pl.Series([1.5, 2.0]), [True, True]),
        (pl.Series(["true", "no", "x"]), pl.Series([True, False, True]), [True, True, False]),
        (pl.Series(["2001-02-03", "2001-02-04"]), pl.Series([DAY, DAY]), [True, False]),
        (pl.Series(["2001-02-03T04:05:06", "2001-02-03 04:05:06", "x"]), pl.Series([TIME] * 3), [True, True, False]),
        (pl.Series([DAY, DAY]), pl.Series([MIDNIGHT, TIME]), [True, False]),
        (pl.Series([TIME]), pl.Series([TIME]).cast(pl.Datetime("ms")), [True]),
        (pl.Series([MIDNIGHT.replace(tzinfo=UTC)]), pl.Series([DAY]), [False]),
        (pl.Series([True]), pl.Series([1]), [False]),
        (pl.Series(["a"], dtype=pl.Categorical), pl.Series(["a"]), [True]),
    ],
)
def test_equal_values(a, b, same):
    assert equal_values(a, b).tolist() == equal_values(b, a).tolist() == same


def test_as_text():
    assert as_text(pl.Series([1.0, None])).to_list() == ["1", None]
    assert as_text(pl.Series([1.0, 1.5])).to_list() == ["1.0", "1.5"]
    assert as_text(pl.Series([b"\xff", None])).to_list() == ["b'\\xff'", None]
    assert as_text(pl.Series([[1], None])).to_list()[1] is None


@pytest.mark.parametrize(
    ("dtype", "fine"),
    [(pl.Int64(), True), (pl.String(), True), (pl.Binary(), False), (pl.List(pl.Int64()), False), (pl.Object(), False)],
)
def test_is_comparable(dtype, fine):
    assert is_comparable(dtype) is fine


def test_there_is_no_one_way_to_read_text():
    assert read_like(pl.Series(["a"]), pl.Categorical()) is None
    assert read_like(pl.Series(["2001-02-03"]), pl.Datetime("us", "UTC")) is None
    assert read_like(pl.Series(["7"]), pl.Int8()).dtype == pl.Int8


@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64])
def test_zero_has_no_sign(kind):
    assert as_text(pl.Series([-0.0, 0.5, None], dtype=kind)).to_list() == ["0.0", "0.5", None]
    assert as_text(pl.Series([-0.0, 2.0], dtype=kind)).to_list() == ["0", "2"]


def test_projections_of_a_table_with_negative_zeros():
    pay = [-0.0, 0.5, 0.0, 7.25, 1e-7] * 8
    frame = pl.DataFrame({"job": list("aabb") * 10, "pay": pay, "ill": ["y" if x > 0.1 else "n" for x in pay]})
    schema = ic.Schema(quasi={"job": None}, sensitive="ill", other=["pay"])
    release = ic.DMPD(k=2, generations=2, population=4, folds=2).publish(frame, schema, seed=1)
    assert "pay" in [name for part in release.manifest.parts for name in part]
    assert release.verify(frame).ok


@pytest.mark.parametrize("notes", [["?", "x", "y", "z"], [None, "x", "y", "z"], ["x", "y", "z", "w"]])
def test_tokens_stay_in_columns_that_are_shown_as_they_came(notes):
    frame = pl.DataFrame(
        {"job": list("aabbb") * 8, "note": notes * 10, "ill": [str(n in ("x", "y")) for n in notes] * 10}
    )
    schema = ic.Schema(quasi={"job": None}, sensitive="ill", other=["note"], missing_tokens=["?"])
    release = ic.DMPD(k=2, generations=2, population=4, folds=2).publish(frame, schema, seed=1)
    assert "note" in [name for part in release.manifest.parts for name in part]
    assert release.verify(frame).ok


def test_text_is_read_as_the_type_that_was_published():
    for published, own in (
        (pl.Series([1.5, 2.0]), pl.Series(["1.50", "2"])),
        (pl.Series([True, False]), pl.Series(["yes", "0"])),
        (pl.Series([DAY, MIDNIGHT.date()]), pl.Series(["2001-02-03", "2001-02-03T00:00:00"])),
        (pl.Series([7, 8]), pl.Series([7.0, 8.0])),
        (pl.Series(["a", "b"]), pl.Series(["a", "b"])),
    ):
        assert [side.to_list() for side in alike(published, own)] == [alike(published, own)[0].to_list()] * 2


def test_rows_that_are_equal_in_two_frames_have_one_number_and_a_missing_value_is_no_other():
    a = pl.DataFrame({"x": [None, "a", "b"], "y": [1, 1, None]})
    b = pl.DataFrame({"x": ["a", None, "b"], "y": [1, 1, 1]})
    number = number_together(a, b).tolist()
    assert number[3:5] == [number[1], number[0]]
    assert len(set(number)) == 4
