"""The verifier that goes by batches: what is planted is found, and it says of a release what the one in memory says."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io
from incrowd.verify import pairs, row_map
from incrowd.verify.streamed import verify_dataset
from streamed_tables import SCHEMA, people, publish


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("honest")
    publish(people(), SCHEMA, folder / "out", "infogain_mondrian", l=1.2)
    return folder


@pytest.fixture
def copy(honest, tmp_path, monkeypatch):
    monkeypatch.setattr(io.batches, "BATCH_ROWS", 97)
    monkeypatch.setattr(row_map, "ROWS_TOGETHER", 101)
    for name in ("out", "out.private"):
        shutil.copytree(honest / name, tmp_path / name)
    return tmp_path


def rewrite(folder, rows=None, manifest=None, row_map=None, domains=None):
    """Write a dataset again, canonical and with the digests of its own files."""
    out, private = folder / "out", folder / "out.private"
    cover = json.loads((out / "_manifest.json").read_text())
    if manifest is not None:
        manifest(cover["manifest"])
    if rows is not None:
        frame = rows(pl.read_parquet(out / "part-00000.parquet"))
        io.write_canonical_parquet(frame, out / "part-00000.parquet")
    text = io.Cover.from_json(json.dumps(cover), "it").to_json()
    (out / "_manifest.json").write_text(text)
    if row_map is not None:
        numbers = row_map(pl.read_parquet(private / "rows.parquet")["row"].to_numpy().copy())
        pl.DataFrame({"row": numbers}).write_parquet(private / "rows.parquet")
    if domains is not None:
        data = json.loads((private / "domains.json").read_text())
        domains(data["quasi"])
        (private / "domains.json").write_text(json.dumps(data, ensure_ascii=False) + "\n")
    about = json.loads((private / "manifest.json").read_text())
    for key, where in (("public", out), ("private", private)):
        about[key] = {name: _digest(where / name) for name in about[key]}
    (private / "manifest.json").write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n")


def _digest(path):
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def swapped(column):
    def change(frame):
        values = frame[column].to_list()
        last = max(at for at, value in enumerate(values) if value != values[0])
        values[0], values[last] = values[last], values[0]
        return frame.with_columns(pl.Series(column, values, frame[column].dtype)).sort(frame.columns)

    return change


def set_first(column, value):
    def change(frame):
        values = [value, *frame[column].to_list()[1:]]
        return frame.with_columns(pl.Series(column, values, frame[column].dtype))

    return change


def other_way_round(numbers):
    return numbers[::-1].copy()


def one_twice(numbers):
    numbers[1] = numbers[0]
    return numbers


def one_outside(numbers):
    numbers[0] = len(numbers)
    return numbers


def wrong_count(quasi):
    quasi[0]["counts"][0] += 1


def claims_more(manifest):
    manifest["guarantees"][0]["k"] = manifest["method"]["parameters"]["k"] = 500


PLANTED = {
    "a row map that leads elsewhere": ({"row_map": other_way_round}, "covers"),
    "an original for two rows": ({"row_map": one_twice}, "row map"),
    "an original that is not there": ({"row_map": one_outside}, "row map"),
    "another sensitive value": ({"rows": swapped("ill")}, "own value"),
    "another untouched value": ({"rows": swapped("note")}, "other columns"),
    "another number": ({"rows": set_first("weight", 7.5)}, "other columns"),
    "a negative zero": ({"rows": set_first("weight", -0.0)}, "stored tables"),
    "rows in another order": ({"rows": lambda frame: frame.reverse()}, "order"),
    "a row less": ({"rows": lambda frame: frame.head(599)}, "rows"),
    "a label of another cell": ({"rows": set_first("age", "18-99")}, "labels"),
    "a wider cell": ({"rows": lambda f: f.with_columns(pl.lit(f["age.hi"].max(), pl.Int64).alias("age.hi"))}, "labels"),
    "a larger promise": ({"manifest": claims_more}, "k"),
    "a column more": ({"rows": lambda frame: frame.with_columns(secret=pl.lit(1))}, "stored tables"),
    "a type": ({"rows": lambda frame: frame.with_columns(pl.col("age.lo").cast(pl.Int32))}, "stored tables"),
    "a wrong count of the owner": ({"domains": wrong_count}, "domains"),
    "fewer kept": ({"manifest": lambda m: m["rows"].update(input=601)}, "original"),
}  # fmt: skip


def failed(verdict):
    return {check.name for check in verdict.checks if check.ok is False}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found(planted, copy):
    change, name = PLANTED[planted]
    assert verify_dataset(copy / "out", people()).complete
    rewrite(copy, **change)
    assert name in failed(verify_dataset(copy / "out", people()))
    try:
        assert not ic.verify(copy / "out", people()).ok  # in memory, too
    except ic.IncrowdError:
        assert planted in ("a column more", "a type")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda f: f.with_columns(pl.col("age") + 40), "covers"),
        (lambda f: f.with_columns(pl.col("ill").reverse()), "own value"),
        (lambda f: f.with_columns(pl.col("note").reverse()), "other columns"),
        (lambda f: f.head(599), "original"),
        (lambda f: f.rename({"name": "other name"}), "dropped columns"),
        (lambda f: f.with_columns(name="note"), "identifiers"),
    ],
)
def test_another_original_is_found(change, name, copy):
    frame = change(people())
    if name == "identifiers":
        frame = people().with_columns(pl.col("note").alias("name"))
    verdict = verify_dataset(copy / "out", frame)
    assert not verdict.ok
    assert name in failed(verdict) or "domains" in failed(verdict)
    assert not ic.verify(copy / "out", frame).ok


def test_both_verifiers_make_the_same_checks_and_find_the_same_levels(copy):
    by_batches, in_memory = verify_dataset(copy / "out", people()), ic.verify(copy / "out", people())
    names = {check.name for check in in_memory.checks} - {check.name for check in by_batches.checks}
    assert names <= {"linking", "members", "releases per original"}
    assert by_batches.levels.items() <= in_memory.levels.items()
    assert by_batches.complete
    assert in_memory.complete


def test_what_could_not_be_checked_is_said(copy):
    alone = verify_dataset(copy / "out")
    assert alone.ok
    assert "original" in {text.split(":")[0] for text in alone.unknown}
    shutil.rmtree(copy / "out.private")
    verdict = verify_dataset(copy / "out", people())
    assert not verdict.complete
    assert {"row map", "assignment", "identifiers"} <= {text.split(":")[0] for text in verdict.unknown}
    with pytest.raises(ic.InputError, match="There is no private folder"):
        verify_dataset(copy / "out", private=copy / "out.private")
    with pytest.raises(ic.InputError, match="is not a Parquet dataset"):
        verify_dataset(copy / "nothing")


def test_a_column_that_reveals_a_hidden_one_is_found(tmp_path):
    frame = people().with_columns(years=pl.col("age") * 2)
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", other=["years"], rest="drop")
    with pytest.raises(ic.VerificationError, match="'years' reveals the originals of 'age'"):
        publish(frame, schema, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_releases_without_groups_are_left_to_memory(tmp_path):
    frame = people()
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", rest="drop")
    ic.publish(frame, schema, method="nhaa", k=5, seed=1).save_to(tmp_path / "out", dataset=True)
    verdict = verify_dataset(tmp_path / "out", frame)
    assert not verdict.complete
    assert any("in memory only" in text for text in verdict.unknown)


def test_row_numbers_are_looked_up_whatever_the_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(row_map, "ROWS_TOGETHER", 7)
    rng = np.random.default_rng(0)
    rows = rng.permutation(40)[:30]
    shown = np.arange(30, dtype=np.int32)
    deal = row_map.Deal(tmp_path, iter([rows[:11], rows[11:]]), 40)
    other = pl.DataFrame({"x": shown * 10})
    deal.add(shown[:11], other[:11])
    deal.add(shown[11:], other[11:])
    lookup, found, others = row_map.Lookup(deal), [], []
    for size in (5, 20, 15):
        for _n, numbers, own in lookup.take(size):
            found += numbers.tolist()
            others += own["x"].to_list() if own.width else []
    expected = np.full(40, row_map.NOBODY)
    expected[rows] = shown
    assert found == expected.tolist()
    assert others == [10 * n for n in found if n != row_map.NOBODY]
    assert deal.problems == []


@pytest.mark.parametrize(
    ("batches", "expected"),
    [([["x", "y"]], [("note", "id")]), ([["x"], ["y"]], [("note", "id")]), ([["x", "x"], ["x"]], [])],
)
def test_a_column_repeats_another_however_the_rows_come(batches, expected):
    frames = [pl.DataFrame({"note": values, "id": values}) for values in batches]
    claims = SimpleNamespace(quasi=[], other=["note"], secrets=[])
    repeats = pairs._Repeats(claims, SimpleNamespace(columns=["note", "id"], iterate=lambda _columns: iter(frames)))
    for frame in frames:
        repeats.look(frame)
    assert repeats.found() == expected
