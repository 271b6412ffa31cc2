"""Originals from files and odd frames, and arguments that are none: no false alarm, no crash."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import polars as pl
import pytest

from incrowd.errors import IncrowdError, InputError, ParameterError
from incrowd.verify import check, verify, verify_table
from verify.build import answers, make, put_other

PUBLISHED = pl.DataFrame({"age": ["2*"] * 3 + ["3*"] * 2, "zip": ["1"] * 5, "ill": list("abcab")})


@pytest.fixture(scope="module")
def valid():
    return make(missing=True)


@pytest.fixture
def made(valid):
    return valid.copy()


def from_csv(made, tmp_path, original=None):
    (made.original if original is None else original).write_csv(tmp_path / "people.csv")
    return verify(made.write(tmp_path / "out"), tmp_path / "people.csv")


@pytest.mark.parametrize("how", ["text", "spaced", "frame", "parquet"])
def test_times_stand_for_their_days(made, tmp_path, how):
    times = pl.col("day").cast(pl.Datetime("us")) + pl.duration(hours=7)
    original = made.original.with_columns(times)
    if how == "spaced":
        original = original.with_columns(pl.col("day").dt.strftime("%Y-%m-%d %H:%M"))
    if how in ("text", "spaced"):
        assert from_csv(made, tmp_path, original).violations == []
    elif how == "frame":
        assert check(made.manifest, made.frame, original=original, rows=made.rows).violations == []
    else:
        original.write_parquet(tmp_path / "people.parquet")
        assert verify(made.write(tmp_path / "out"), tmp_path / "people.parquet").violations == []


@pytest.mark.parametrize(
    "values",
    [[str(i % 7) for i in range(120)], ["?" if i % 3 else "x" for i in range(120)], [f"0{i % 5}" for i in range(120)],
     ["" if i % 3 else "x" for i in range(120)], ["true" if i % 3 else "false" for i in range(120)],
     [i % 3 == 0 for i in range(120)], [i % 3 / 7 for i in range(120)],
     [None if i % 3 else datetime(2020, 1, 1 + i % 20, 5) for i in range(120)]],
)  # fmt: skip
def test_untouched_columns_come_back_from_their_own_csv(made, tmp_path, values):
    put_other(made, pl.Series(values))
    assert from_csv(made, tmp_path).violations == []


def test_small_floats_come_back_from_their_own_csv(made, tmp_path):
    put_other(made, pl.Series(np.arange(120) % 9 / 7, dtype=pl.Float32))
    assert from_csv(made, tmp_path).violations == []


def test_a_reader_that_knew_the_tokens_is_believed(made, tmp_path):
    """The release has nulls and numbers where the file says ? and text."""
    numbers = pl.Series([None if i % 4 == 0 else i % 9 for i in range(120)])
    put_other(made, numbers)
    told = made.original.with_columns(pl.col("hours").cast(pl.String).fill_null("?"))
    assert from_csv(made, tmp_path, told).violations == []
    wrong = made.original.with_columns(pl.col("hours").cast(pl.String).fill_null("none"))
    assert answers(check(made.manifest, made.frame, original=wrong, rows=made.rows))["other columns"] is False


def test_tokens_with_numbers_and_padding(made, tmp_path):
    original = made.original.with_columns(
        pl.when(pl.col("work") == "?").then(pl.lit(" ? ")).otherwise("work").alias("work"),
        (" " + pl.col("age").cast(pl.String) + ".0").alias("age"),
    )
    assert from_csv(made, tmp_path, original).violations == []


def test_a_column_that_the_file_lacks_is_said(made, tmp_path):
    assert answers(from_csv(made, tmp_path, made.original.drop("age")))["original"] is False


def test_floats_that_look_alike_have_names_of_their_own():
    values = [0.1, 0.1 + 0.2, 0.3, 1.0]
    made = make(form="counts")
    ills = made.manifest["sensitive"]["values"]
    number = dict(zip(ills, [0.1, 0.3, 0.1 + 0.2, 1.0], strict=True))
    made.manifest["sensitive"] |= {"type": "float", "values": sorted(values)}
    made.original = made.original.with_columns(pl.col("ill").replace_strict(number, return_dtype=pl.Float64))
    names = {f"ill={ill}": f"ill={value!r}" for ill, value in number.items()}
    made.frame = made.frame.rename(names)
    verdict = check(made.manifest, made.frame, original=made.original, rows=made.rows)
    assert verdict.violations == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [("float", [-1.7e308, -1e300, 1e300, 1.7e308]), ("int", [-(2**63), -(2**62), 0, 2**63 - 1])],
)  # fmt: skip
def test_values_at_the_ends_of_their_type(valid, kind, values):
    made = make()
    number = dict(zip(made.manifest["sensitive"]["values"], values, strict=True))
    made.manifest["sensitive"] |= {"type": kind, "values": values}
    dtype = pl.Float64 if kind == "float" else pl.Int64
    for name in ("original", "frame"):
        frame = getattr(made, name)
        setattr(made, name, frame.with_columns(pl.col("ill").replace_strict(number, return_dtype=dtype)))
    manifest = json.loads(json.dumps(made.manifest))
    assert check(manifest, made.frame, original=made.original, rows=made.rows).violations == []


def test_small_integers_against_large_ones(made):
    made.original = made.original.with_columns(pl.col("age").cast(pl.Int8))
    made.manifest["quasi"][0]["hierarchy"]["values"] = list(range(200, 220))
    assert answers(check(made.manifest, made.frame, original=made.original, rows=made.rows))["covers"] is False


def test_a_huge_number_of_input_rows(made):
    made.manifest["rows"] |= {"input": 2**62, "suppressed": 2**62 - 200}
    rows = made.rows.copy()
    rows[0] = 2**61
    assert answers(check(made.manifest, made.frame, rows=rows))["row map"] is True
    rows[1] = 2**61
    assert answers(check(made.manifest, made.frame, rows=rows))["row map"] is False


@pytest.mark.parametrize(
    "path",
    [("quasi", 1, "hierarchy", "leaves", 0), ("quasi", 1, "hierarchy", "levels", 0, 0), ("quasi", 0, "name"),
     ("missing", "tokens", 0), ("sensitive", "values", 0), ("sensitive", "name"), ("other", 0), ("dropped", 0)],
)  # fmt: skip
def test_half_characters_are_a_violation(made, tmp_path, path):
    place = made.manifest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "\ud800"
    made.original.write_csv(tmp_path / "people.csv")
    verdict = verify(made.write(tmp_path / "out"), tmp_path / "people.csv")
    assert answers(verdict)["manifest"] is False
    json.dumps(verdict.to_dict()).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [(("missing", "tokens"), [None]), (("missing", "tokens"), [[]]), (("missing",), [None]),
     (("quasi", 0, "hierarchy", "type"), [[]]), (("quasi", 0, "hierarchy", "type"), [None]), (("quasi", 0), [[]]),
     (("quasi", 0, "name"), [None]), (("other",), [[]]), (("sensitive", "name"), {"a": []}), (("sensitive",), [])],
)  # fmt: skip
def test_hints_of_a_wrong_type_are_not_taken(made, tmp_path, path, value):
    place = made.manifest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    made.original.write_csv(tmp_path / "people.csv")
    assert answers(verify(made.write(tmp_path / "out"), tmp_path / "people.csv"))["manifest"] is False


def test_columns_that_nobody_uses_may_be_of_any_type(made):
    odd = made.original.with_columns(
        pl.struct("age", "work").alias("s"),
        pl.lit(b"\xff").alias("b"),
        pl.concat_list("age").alias("l"),
        pl.lit(None).alias("n"),
    )
    for rows in (made.rows, None):
        assert check(made.manifest, made.frame, original=odd, rows=rows).violations == []
    for name, column in (("work", pl.lit(b"\xff")), ("age", pl.struct("age")), ("hours", pl.struct("hours"))):
        odd = made.original.with_columns(column.alias(name))
        assert not check(made.manifest, made.frame, original=odd, rows=made.rows).ok


@pytest.mark.parametrize("rows", ["abc", [[1], [1, 2]], 3, [None, 1], ["a"], [True, False]])
def test_rows_that_are_none_are_bad_input(made, tmp_path, rows):
    with pytest.raises(InputError, match="rows is not a list of row numbers"):
        verify(made.write(tmp_path / "out"), made.original, rows=rows)


def test_arguments_of_tables_are_not_for_folders(made, tmp_path):
    folder = made.write(tmp_path / "out")
    with pytest.raises(InputError, match="-k"):
        verify(folder, k=5)
    with pytest.raises(InputError, match="quasi"):
        verify(PUBLISHED, made.original, quasi=["age"], k=2)


@pytest.mark.parametrize("what", ["empty", "file", "nowhere"])
def test_what_is_no_release_folder_is_named(tmp_path, what):
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    if what == "file":
        path.write_text("x")
    said = "does not exist" if what == "nowhere" else "is not a release folder"
    with pytest.raises(InputError, match=rf"{what} {said}(.|\n)*--quasi"):
        verify(path)


def test_what_the_owner_keeps_is_no_release(made, tmp_path):
    folder = made.write(tmp_path / "out")
    kept = tmp_path / "out.private"
    kept.mkdir(exist_ok=True)
    (kept / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"owner of a release keeps(.|\n)*verify the release beside it"):
        verify(kept)
    assert verify(folder).ok


NAN = float("nan")


@pytest.mark.parametrize(
    "given",
    [{"k": "2"}, {"k": 0}, {"k": -3}, {"k": NAN}, {"k": 2.5}, {"k": True}, {"l": 0}, {"l": NAN}, {"l": "2"},
     {"l": 2, "l_kind": "recursive", "c": NAN}, {"l": 2.5, "l_kind": "recursive"}, {"t": NAN}, {"t": "x"}, {"t": -1},
     {"alpha": NAN}, {"alpha": 0}, {"alpha": 2}, {"quasi": None}, {"quasi": []}, {"quasi": "age"},
     {"quasi": ["agee"]}, {"quasi": 3}, {"sensitive": "age"}, {"sensitive": "illl"}],
)  # fmt: skip
def test_promises_that_are_none_are_refused(given):
    with pytest.raises(IncrowdError) as caught:
        verify_table(PUBLISHED, **({"quasi": ["age", "zip"], "sensitive": "ill"} | given))
    assert caught.value.hint
    if "quasi" not in given and "sensitive" not in given:
        assert isinstance(caught.value, ParameterError)


def test_numbers_of_numpy_are_numbers():
    assert verify_table(PUBLISHED, quasi=("age",), sensitive="ill", k=np.int64(2), alpha=np.float64(0.5)).ok


def test_without_a_promise_only_levels_are_told():
    verdict = verify_table(PUBLISHED, quasi=["age"], sensitive="ill")
    assert [(c.name, c.ok) for c in verdict.checks] == [("promises", None)]
    assert verdict.checks[0].detail == "no k, l, t or alpha was given: only the levels are reported"
    assert verdict.levels["k"] == 2
    assert str(verdict).startswith("Verdict: no promise was given")


def test_too_many_combinations_are_not_looked_at(monkeypatch):
    made = make(guarantees=[{"kind": "k", "k": 6}, {"kind": "lkc", "L": 2, "K": 6, "C": 1.0}])
    monkeypatch.setattr("incrowd.verify.promises.COMBINATION_BUDGET", 2)
    verdict = check(made.manifest, made.frame)
    assert answers(verdict)["lkc"] is None
    assert "1 promise not shown" in str(verdict)
