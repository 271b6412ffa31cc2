"""Plant one violation at a time into projections that keep their promise: each must be found, by the check meant."""

import json

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify import verify
from incrowd.verify.order import stand_alike
from verify.build import answers
from verify.projections_by_hand import PARTS, RARE, levels, make


@pytest.fixture(scope="module")
def valid():
    return make()


@pytest.fixture
def made(valid):
    return valid.copy()


@pytest.mark.parametrize("row_maps", [True, False])
def test_the_unmutated_projections_pass(valid, tmp_path, row_maps):
    folder = valid.write(tmp_path / "out", row_maps=row_maps)
    verdict = verify(folder, valid.original)
    assert verdict.violations == []
    partial, joined = levels(valid.frames)
    assert (verdict.levels["k_partial"], verdict.levels["k_set"]) == (partial, joined) == (8, 6)
    assert verdict.levels["rows_with_class_min"] == 2
    open_ = {name for name, ok in answers(verdict).items() if ok is None}
    assert open_ == {"people behind joins"} | (set() if row_maps else {"row maps"})
    assert "no number of people" in str(verdict)
    alone = verify(folder)
    assert alone.violations == []
    assert answers(alone)["original"] is None


def test_files_of_the_original_are_read_with_the_manifests_types(valid, tmp_path):
    folder = valid.write(tmp_path / "out")
    valid.original.write_csv(tmp_path / "data.csv")
    assert verify(folder, tmp_path / "data.csv").violations == []
    assert verify(folder, valid.original, rows=np.array(valid.rows)).violations == []


def entry(made, name):
    return next(column for column in made.manifest["columns"] if column["name"] == name)


def change(path, value):
    """A change of the manifest: keys by dots, numbers for places in lists."""

    def apply(made):
        keys = [int(key) if key.isdigit() else key for key in path.split(".")]
        data = made.manifest
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return apply


def remove(key):
    return lambda made: made.manifest.pop(key)


def put(number, column, row, value):
    def apply(made):
        values = made.frames[number][column].to_list()
        values[row] = value
        made.show(number, column, values)

    return apply


def csv_only(made):
    hours = made.csvs[0]["hours"].to_list()
    made.csvs[0] = made.csvs[0].with_columns(hours=pl.Series([hours[0] + 1, *hours[1:]]))


def swap_rows(made):
    """Two rows trade places and their map does not: which row is whose is told wrong."""
    order = np.arange(made.frames[0].height)
    other = int(np.argmax((made.frames[0]["age"] != made.frames[0]["age"][0]).to_numpy()))
    order[[0, other]] = other, 0
    made.frames[0], made.csvs[0] = made.frames[0][order], made.csvs[0][order]


def trade_classes(made):
    """Two rows of one projection trade their classes: every count of a column alone stays."""
    ill = made.frames[1]["ill"].to_list()
    job = made.frames[1]["job"].to_list()
    other = next(i for i in range(len(ill)) if ill[i] != ill[0] and job[i] != job[0])
    ill[0], ill[other] = ill[other], ill[0]
    made.show(1, "ill", ill)


def add_identifier(made):
    names = made.original["name"][made.rows[0]]
    for frames in (made.frames, made.csvs):
        frames[0] = frames[0].insert_column(0, names.alias("name"))


def name_people(made):
    """A column that is published as it is turns out to be the identifier."""
    made.original = made.original.with_columns(grade=pl.col("name"))
    for frames in (made.frames, made.csvs):
        frames[1] = frames[1].with_columns(grade=made.original["grade"][made.rows[1]])


def disguise(made):
    """A column that is published as it is tells a quasi-identifier by other names."""
    tells = pl.col("job").replace_strict({"clerk": 1, "cook": 2, "nurse": 3, RARE[0]: 4, RARE[1]: 5})
    made.original = made.original.with_columns(hours=tells.cast(pl.Float64))
    for frames in (made.frames, made.csvs):
        frames[0] = frames[0].with_columns(hours=made.original["hours"][made.rows[0]])


def link(made):
    """Columns of two projections tell each other."""
    made.original = made.original.with_columns(
        hours=pl.col("grade").replace_strict({"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.5})
    )
    for frames in (made.frames, made.csvs):
        frames[0] = frames[0].with_columns(hours=made.original["hours"][made.rows[0]])


def copy_unique(made):
    """The same numbers, nearly one for each person, stand in two projections under two names."""
    ticket = np.random.default_rng(4).permutation(made.original.height) / 4
    made.original = made.original.with_columns(hours=ticket, grade=ticket)
    for number, name in enumerate(("hours", "grade")):
        for frames in (made.frames, made.csvs):
            frames[number] = frames[number].with_columns(made.original[name][made.rows[number]])


def same_order(made):
    made.reorder(0, np.argsort(made.rows[0]))
    made.reorder(1, np.argsort(made.rows[1]))
    shuffle = np.random.default_rng(3).permutation(len(made.rows[0]))
    made.reorder(0, shuffle)
    made.reorder(1, shuffle)


def reversed_order(made):
    same_order(made)
    made.reorder(1, np.arange(len(made.rows[1]))[::-1])


def order_of_originals(made):
    made.reorder(1, np.argsort(made.rows[1]))


def swap_projections(made):
    for lists in (made.frames, made.csvs):
        lists.reverse()


def move_column(made):
    """A quasi-identifier stands in the other projection than announced."""
    town = made.original["town"][made.rows[0]]
    for frames in (made.frames, made.csvs):
        frames[0] = frames[0].insert_column(0, town.alias("town"))
        frames[1] = frames[1].drop("town")


def drop_row(made):
    for frames in (made.frames, made.csvs):
        frames[1] = frames[1][1:]
    made.rows[1] = made.rows[1][1:]


def raw_age(made):
    ages = made.original["age"][made.rows[0]].cast(pl.String)
    made.show(0, "age", ages.to_list())


def other_cut(made):
    """Cut and labels fit each other and not the people."""
    entry(made, "age")["cuts"] = [41.5, 57]
    ages = made.frames[0]["age"].str.replace("39.5", "41.5", literal=True)
    made.show(0, "age", ages.to_list())


def show_rare_value(made):
    """One suppressed value comes back."""
    jobs = made.frames[1]["job"].to_list()
    at = next(i for i, row in enumerate(made.rows[1]) if made.original["job"][int(row)] == RARE[0])
    jobs[at] = RARE[0]
    made.show(1, "job", jobs)


def suppress_one_more(made):
    """One row of a value that was kept loses it: suppression is by value."""
    jobs = made.frames[1]["job"].to_list()
    jobs[jobs.index("cook")] = None
    made.show(1, "job", jobs)


def say_quasi_is_other(made):
    entry(made, "town").update(role="other", type=None)


def published_and_dropped(made):
    made.manifest["dropped"] = ["name", "town"]


def map_twice(made):
    made.rows[0][0] = made.rows[0][1]


def map_to_dropped(made):
    made.rows[0][0] = int(np.argmax((made.original["town"] == "?").to_numpy()))


def empty_part(made):
    made.manifest["parts"] = [*PARTS, []]
    for frames in (made.frames, made.csvs):
        frames.append(frames[0].select("ill"))
    made.rows.append(made.rows[0])


def part_twice(made):
    made.manifest["parts"] = [["age", "hours", "town"], ["job", "town", "grade"]]


def forget_row_of_original(made):
    made.original = made.original.with_columns(town=pl.col("town").replace("?", "here"))


VIOLATIONS = {
    "a seed in the manifest": (change("seed", 7), "nothing private"),
    "a key in a column": (change("columns.0.note", "x"), "nothing private"),
    "a key in the class": (change("class.order", [1]), "nothing private"),
    "a parameter that repeats the run": (change("method.parameters.random_state", 7), "nothing private"),
    "a row map among the parameters": (change("method.parameters.rows", [1, 2]), "nothing private"),
    "no parts": (remove("parts"), "manifest"),
    "no class": (remove("class"), "manifest"),
    "another format": (change("format", 2), "manifest"),
    "a promise of another kind": (change("guarantees.1", {"kind": "t", "t": 0.5, "ordered": False}), "manifest"),
    "a diversity of another kind": (change("guarantees.1.l_kind", "entropy"), "manifest"),
    "no promise": (change("guarantees", []), "promises"),
    "less k than was asked for": (change("guarantees.0.k", 4), "promises"),
    "less l than was asked for": (change("guarantees.1.l", 1.2), "promises"),
    "more k than a projection has": (change("guarantees.0.k", 9), "k"),
    "more k than a join has": (change("guarantees.0.k", 7), "k of joins"),
    "more k than there are rows": (change("guarantees.0.k", 1000), "promises"),
    "more l than a projection has": (change("guarantees.1.l", 2.5), "l (frequency)"),
    "one more set of quasi-identifiers": (change("quasi_sets", [["age", "town", "job"]]), "k"),
    "a column in two parts": (part_twice, "manifest"),
    "a projection that is not there": (change("parts", [*PARTS, []]), "files"),
    "an empty part": (empty_part, "manifest"),
    "the class as a column": (change("parts.0", ["age", "hours", "ill"]), "manifest"),
    "a column without an entry": (change("parts.0", ["age", "hours", "name"]), "manifest"),
    "an empty set of quasi-identifiers": (change("quasi_sets", [["age", "town", "job"], []]), "manifest"),
    "a quasi-identifier in no set": (change("quasi_sets", [["age", "town"]]), "manifest"),
    "a quasi-identifier called other": (say_quasi_is_other, "manifest"),
    "a column both published and dropped": (published_and_dropped, "manifest"),
    "numbers without cuts": (change("columns.0.cuts", None), "manifest"),
    "cuts out of order": (change("columns.0.cuts", [57, 39.5]), "manifest"),
    "cuts of names": (change("columns.1.cuts", [1]), "manifest"),
    "suppression of a column that is as it came": (change("columns.3.suppressed", 1), "manifest"),
    "more suppressed than allowed": (change("method.parameters.suppress", 0.01), "promises"),
    "more suppressed than is missing": (change("columns.1.suppressed", 9), "values"),
    "less suppressed than was": (change("columns.1.suppressed", 7), "suppression"),
    "a rare value that comes back": (show_rare_value, "k"),
    "one row suppressed and not its value": (suppress_one_more, "same rows"),
    "a count of the class": (change("class.marginal", [100, 100, 37]), "classes"),
    "a class that is not listed": (put(0, "ill", 0, "plague"), "classes"),
    "a missing class": (put(0, "ill", 0, None), "classes"),
    "one row too few": (drop_row, "rows"),
    "rows that do not add up": (change("rows.input", 250), "rows"),
    "suppressed rows": (change("rows", {"input": 240, "missing": 2, "suppressed": 1, "released": 237}), "rows"),
    "an announced column of another type": (change("class.type", "int"), "manifest"),
    "an identifier": (add_identifier, "columns"),
    "an identifier under another name": (name_people, "identifiers"),
    "a quasi-identifier in disguise": (disguise, "identifiers"),
    "columns that link projections": (link, "links"),
    "a copy in the other projection": (copy_unique, "links"),
    "projections in each other's place": (swap_projections, "columns"),
    "a column in the other projection": (move_column, "columns"),
    "ages as they are": (raw_age, "values"),
    "cuts that are not the people's": (other_cut, "same rows"),
    "an age of somebody else": (put(0, "age", 0, "(57-inf)"), "same rows"),
    "a value of somebody else": (put(1, "grade", 0, "e"), "same rows"),
    "classes that were traded": (trade_classes, "same rows"),
    "rows that were swapped": (swap_rows, "row maps"),
    "a CSV of other rows": (csv_only, "csv"),
    "a map that names somebody twice": (map_twice, "row maps"),
    "a map that names somebody who was dropped": (map_to_dropped, "row maps"),
    "projections in one order": (same_order, "order"),
    "projections in opposite orders": (reversed_order, "order"),
    "the order of the originals": (order_of_originals, "order"),
    "rows that were not missing": (forget_row_of_original, "missing rows"),
    "a stray file": (lambda made: made.strays.update({"notes.txt": "hello"}), "files"),
    "the rows of a third projection": (lambda made: made.strays.update({"projection-3.csv": "a\n"}), "files"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_every_violation_is_found(made, tmp_path, name):
    plant, check = VIOLATIONS[name]
    plant(made)
    verdict = verify(made.write(tmp_path / "out"), made.original)
    assert not verdict.ok
    assert answers(verdict)[check] is False, verdict.violations
    assert not any(cell in str(verdict) for cell in ("judge", "zoster", "plague", "person 1", "nurse"))


@pytest.mark.parametrize("plant", [same_order, reversed_order])
def test_one_order_is_seen_without_row_maps(made, tmp_path, plant):
    plant(made)
    assert answers(verify(made.write(tmp_path / "out", row_maps=False)))["order"] is False


def test_the_order_of_the_originals_is_seen_without_row_maps(made, tmp_path):
    order_of_originals(made)
    verdict = verify(made.write(tmp_path / "out", row_maps=False), made.original)
    assert answers(verdict)["order of originals"] is False


def test_shuffled_columns_do_not_look_alike():
    rng = np.random.default_rng(0)
    for n, size in [(10, 2), (12, 12), (50, 2), (50, 40), (500, 3), (3000, 3000)]:
        for _ in range(50):
            column = rng.integers(0, size, n)
            assert not stand_alike(rng.permutation(column), rng.permutation(column))
        if n > 12:
            assert stand_alike(column, column)


def test_unreadable_files_are_named(made, tmp_path):
    folder = made.write(tmp_path / "out")
    (folder / "projection-2.parquet").write_bytes(b"PAR1")
    verdict = verify(folder)
    assert answers(verdict)["files"] is False
    assert "projection-2.parquet" in verdict.violations[0]
    (folder / "projection-2.parquet").unlink()
    assert "projection-2.parquet is missing" in str(verify(folder))


def test_a_manifest_that_names_a_key_twice(made, tmp_path):
    folder = made.write(tmp_path / "out")
    text = json.dumps(made.manifest)
    (folder / "manifest.json").write_text(text.replace('"format": 1', '"format": 1, "format": 1'))
    assert not verify(folder).ok


def test_metadata_of_a_parquet_file(made, tmp_path):
    folder = made.write(tmp_path / "out")
    made.frames[0].to_pandas().to_parquet(folder / "projection-1.parquet")
    assert answers(verify(folder))["files"] is False


def test_projections_of_a_release_that_lies_are_never_returned(monkeypatch):
    """Plant a search that does not look at the levels, and see the independent verifier refuse the result."""
    from incrowd.publish.decomposition.feature_partition import SetLevels

    frame = pl.DataFrame({"a": list("xxxxy") * 8, "b": list("uvwvz") * 8, "s": list("++--+") * 8})
    frame = frame.with_columns(b=pl.when(pl.int_range(40) == 3).then(pl.lit("alone")).otherwise("b"))
    monkeypatch.setattr(SetLevels, "keep_apart", lambda *_: True)
    monkeypatch.setattr("incrowd.publish.decomposition.feature_partition._holds", lambda *_, **__: True)
    with pytest.raises(ic.VerificationError) as refused:
        ic.DMPD(k=5, generations=3, population=10).publish(frame, ic.Schema(quasi=["a", "b"], sensitive="s"), seed=0)
    assert any(violation.startswith("k:") for violation in refused.value.violations)
