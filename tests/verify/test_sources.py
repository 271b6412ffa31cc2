"""Originals from files and odd frames, and arguments that are none: no false alarm, no crash."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import polars as pl
import pytest

from incrowd import io
from incrowd.errors import IncrowdError, InputError, ParameterError
from incrowd.verify import promises, verify, verify_table
from verify.build import answers, make, put_other

PUBLISHED = pl.DataFrame({"age": ["2*"] * 3 + ["3*"] * 2, "zip": ["1"] * 5, "ill": list("abcab")})
N = 120


@pytest.fixture(scope="module")
def valid():
    return make(missing=True)


@pytest.fixture
def made(valid):
    return valid.copy()


def write(made, folder):
    """Write the public folder of a release in memory, in its order; return it and the row map."""
    order = made.frame.with_row_index("at").sort(made.frame.columns, maintain_order=True)["at"].to_numpy()
    frame = made.frame[order]
    folder.mkdir()
    manifest = made.manifest | {"polars": pl.__version__}
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (folder / "manifest.json").write_bytes(text.encode(errors="surrogatepass"))
    io.write_canonical_parquet(frame, folder / "release.parquet")
    shown = frame.drop(f"{name}{end}" for name in ("age", "work", "day", "grade") for end in (".lo", ".hi"))
    io.write_canonical_csv(shown, folder / "release.csv")
    return folder, np.array(made.rows)[order]


def from_csv(made, tmp_path, original=None):
    (made.original if original is None else original).write_csv(tmp_path / "people.csv")
    folder, rows = write(made, tmp_path / "out")
    return verify(folder, tmp_path / "people.csv", rows=rows)


@pytest.mark.parametrize("how", ["text", "spaced", "frame", "parquet"])
def test_times_stand_for_their_days(made, tmp_path, how):
    times = pl.col("day").cast(pl.Datetime("us")) + pl.duration(hours=7)
    original = made.original.with_columns(times)
    if how == "spaced":
        original = original.with_columns(pl.col("day").dt.strftime("%Y-%m-%d %H:%M"))
    if how in ("text", "spaced"):
        assert from_csv(made, tmp_path, original).violations == []
        return
    folder, rows = write(made, tmp_path / "out")
    original.write_parquet(tmp_path / "people.parquet")
    assert verify(folder, original if how == "frame" else tmp_path / "people.parquet", rows=rows).violations == []


@pytest.mark.parametrize(
    "values",
    [[str(i % 7) for i in range(N)], ["?" if i % 3 else "x" for i in range(N)], [f"0{i % 5}" for i in range(N)],
     ["" if i % 3 else "x" for i in range(N)], ["true" if i % 3 else "false" for i in range(N)],
     [i % 3 == 0 for i in range(N)], [i % 3 / 7 for i in range(N)],
     [None if i % 3 else datetime(2020, 1, 1 + i % 20, 5) for i in range(N)]],
)  # fmt: skip
def test_untouched_columns_come_back_from_their_own_csv(made, tmp_path, values):
    put_other(made, pl.Series(values))
    assert from_csv(made, tmp_path).violations == []


def test_small_floats_come_back_from_their_own_csv(made, tmp_path):
    put_other(made, pl.Series(np.arange(N) % 9 / 7, dtype=pl.Float32))
    assert from_csv(made, tmp_path).violations == []


@pytest.mark.parametrize(("told", "ok"), [("?", True), ("none", False)])
def test_a_reader_that_knew_the_tokens_is_believed(made, tmp_path, told, ok):
    """The release has nulls and numbers where the file says ? and text."""
    put_other(made, pl.Series([None if i % 4 == 0 else i % 9 for i in range(N)]))
    original = made.original.with_columns(pl.col("hours").cast(pl.String).fill_null(told))
    assert answers(from_csv(made, tmp_path, original))["other columns"] is ok


def test_tokens_with_numbers_and_padding(made, tmp_path):
    original = made.original.with_columns(
        pl.when(pl.col("work") == "?").then(pl.lit(" ? ")).otherwise("work").alias("work"),
        (" " + pl.col("age").cast(pl.String) + ".0").alias("age"),
    )
    assert from_csv(made, tmp_path, original).violations == []


def test_a_column_that_the_file_lacks_is_said(made, tmp_path):
    assert answers(from_csv(made, tmp_path, made.original.drop("age")))["original"] is False


def test_other_values_in_the_file_are_found(made, tmp_path):
    original = made.original.with_columns(pl.col("age").replace({made.original["age"][made.rows[0]]: 99}))
    assert not from_csv(made, tmp_path, original).ok


@pytest.mark.parametrize(
    "path",
    [("quasi", 1, "leaves", 0), ("quasi", 1, "levels", 0, 0), ("quasi", 0, "name"), ("missing", "tokens", 0),
     ("sensitive", "name"), ("other", 0), ("dropped", 0)],
)  # fmt: skip
def test_half_characters_are_a_violation(made, tmp_path, path):
    place = made.manifest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "\ud800"
    verdict = from_csv(made, tmp_path)
    assert answers(verdict)["files"] is False
    json.dumps(verdict.to_dict()).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [(("missing", "tokens"), [None]), (("missing", "tokens"), [[]]), (("missing",), [None]),
     (("quasi", 0, "type"), [[]]), (("quasi", 0), [[]]), (("quasi", 0, "name"), [None]), (("other",), [[]]),
     (("sensitive", "name"), {"a": []}), (("sensitive",), []), (("quasi",), {}), (("dropped",), "name")],
)  # fmt: skip
def test_hints_of_a_wrong_type_are_not_taken(made, tmp_path, path, value):
    place = made.manifest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert answers(from_csv(made, tmp_path))["manifest"] is False


@pytest.mark.parametrize("rows", ["abc", [[1], [1, 2]], 3, [None, 1], ["a"], [True, False]])
def test_rows_that_are_none_are_bad_input(made, tmp_path, rows):
    with pytest.raises(InputError, match="rows is not a list of row numbers"):
        verify(write(made, tmp_path / "out")[0], made.original, rows=rows)


def test_arguments_of_tables_are_not_for_folders(made, tmp_path):
    folder, _ = write(made, tmp_path / "out")
    with pytest.raises(InputError, match="leave out k"):
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
    with pytest.raises(InputError, match=rf"{what}' {said}(.|\n)*--quasi"):
        verify(path)


def test_what_the_owner_keeps_is_no_release(made, tmp_path):
    folder, _ = write(made, tmp_path / "out")
    kept = tmp_path / "out.private"
    kept.mkdir(exist_ok=True)
    (kept / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"private part of a release(.|\n)*verify the release beside it"):
        verify(kept)
    assert answers(verify(folder))["private files"] is False


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
    assert verdict.checks[0].detail == "no k, l, t, alpha, beta or delta was given: only the levels are reported"
    assert verdict.levels["k"] == 2
    assert str(verdict).startswith("Verdict: no promise was given")


def test_too_many_combinations_are_not_looked_at(monkeypatch):
    made = make(guarantees=[{"kind": "k", "k": 6}, {"kind": "lkc", "L": 2, "K": 6, "C": 1.0}])
    monkeypatch.setattr(promises, "COMBINATION_BUDGET", 2)
    made.original = None
    verdict = made.judge()
    assert answers(verdict)["lkc"] is None
    assert not verdict.complete
    assert "1 promise not checked" in str(verdict)


@pytest.mark.parametrize("release", [None, 5, pl.DataFrame({"a": [1]})])
def test_what_is_no_folder_is_refused(release):
    with pytest.raises(InputError, match="release folder"):
        verify(release)
