"""Plant one violation at a time into projections that keep their promise: each must be found, by the check meant."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify import projections, verify
from incrowd.verify.domain import ABSENT
from incrowd.verify.projection_manifest import Shown
from incrowd.verify.projection_original import _code_cut, _strange_cuts
from verify.build import answers
from verify.projections_by_hand import PARTS, RARE, N, levels, make


@pytest.fixture(scope="module")
def valid():
    return make()


@pytest.fixture
def made(valid):
    return valid.copy()


def failed(verdict):
    return {check.name for check in verdict.checks if check.ok is False}


@pytest.mark.parametrize("row_maps", [True, False])
def test_the_unmutated_projections_pass(valid, row_maps):
    verdict = valid.check(row_maps=row_maps)
    assert verdict.violations == []
    partial, joined = levels(valid.frames)
    assert (verdict.levels["k_partial"], verdict.levels["k_set"]) == (partial, joined) == (8, 6)
    assert verdict.levels["k"] == 6
    assert verdict.levels["rows_with_class_min"] == 2
    assert verdict.levels["l_frequency"] == pytest.approx(33 / 17)
    open_ = {name for name, ok in answers(verdict).items() if ok is None}
    assert open_ == {"people behind joins"} | (set() if row_maps else {"row maps"})
    assert verdict.complete is row_maps
    assert "no number of people" in str(verdict)


def test_without_the_original(valid):
    verdict = valid.check(original=False)
    assert verdict.violations == []
    assert verdict.complete
    assert answers(verdict)["original"] is None


def test_files_of_the_original_are_read_with_the_manifests_types(valid, tmp_path):
    folder = valid.write(tmp_path / "out")
    valid.original.write_csv(tmp_path / "data.csv")
    assert verify(folder, tmp_path / "data.csv").violations == []
    assert verify(folder, valid.original, rows=np.array(valid.rows)).violations == []
    assert failed(verify(folder, valid.original, rows=np.array(valid.rows)[:, ::-1])) == {"row maps"}


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


def ask(**values):
    """Other levels, asked for and promised."""

    def apply(made):
        made.manifest["method"]["parameters"].update(values)
        for guarantee in made.manifest["guarantees"]:
            guarantee.update({name: value for name, value in values.items() if name in guarantee})

    return apply


def sets(quasi_sets):
    def apply(made):
        made.manifest["quasi_sets"] = made.manifest["method"]["parameters"]["quasi_sets"] = quasi_sets

    return apply


def put(number, column, row, value):
    def apply(made):
        values = made.frames[number][column].to_list()
        values[row] = value
        made.show(number, column, values)
        made.sort()

    return apply


def swap_rows(made):
    """The map says of two rows that they are each other's."""
    other = int(np.argmax((made.frames[0]["age"] != made.frames[0]["age"][0]).to_numpy()))
    made.rows[0][[0, other]] = made.rows[0][[other, 0]]


def trade_classes(made):
    """Two rows of one projection trade their classes: every count of a column alone stays."""
    ill = made.frames[1]["ill"].to_list()
    job = made.frames[1]["job"].to_list()
    other = next(i for i in range(len(ill)) if ill[i] != ill[0] and job[i] != job[0])
    ill[0], ill[other] = ill[other], ill[0]
    made.show(1, "ill", ill)
    made.sort()


def add_identifier(made):
    names = made.original["name"][made.rows[0]]
    made.frames[0] = made.frames[0].insert_column(0, names.alias("name"))


def publish(made, number, name, column):
    """Give a column that is published as it came another content, in the original too."""
    made.original = made.original.with_columns(pl.Series(name, column))
    made.show(number, name, made.original[name].gather(made.rows[number]))
    made.sort()


def name_people(made):
    """A column that is published as it is turns out to be the identifier."""
    publish(made, 1, "grade", made.original["name"])


def name_people_by_what_is_unpublished(made):
    made.manifest["left_out"], made.manifest["dropped"] = [], []
    name_people(made)


def jobs_by_number(made):
    return made.original["job"].replace_strict({"clerk": 1, "cook": 2, "nurse": 3, RARE[0]: 4, RARE[1]: 5})


def disguise(made):
    """A column that is published as it is tells a quasi-identifier by other names."""
    publish(made, 0, "hours", jobs_by_number(made).cast(pl.Float64))


def nearly_disguise(made):
    numbers = jobs_by_number(made).cast(pl.Float64)
    publish(made, 0, "hours", numbers.scatter(np.arange(0, N, 30), 1.0))


def link(made):
    """Columns of two projections tell each other."""
    publish(made, 0, "hours", made.original["grade"].replace_strict({"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.5}))


def link_cut_numbers(made):
    """A column tells the interval of a number that was cut in the other projection."""
    age = made.original["age"]
    publish(made, 1, "grade", pl.select(pl.when(age > 57).then(1).when(age > 39.5).then(2).otherwise(3)).to_series())


def copy_unique(made):
    """The same numbers, nearly one for each person, stand in two projections under two names."""
    ticket = np.random.default_rng(4).permutation(made.original.height) / 4
    publish(made, 0, "hours", ticket)
    publish(made, 1, "grade", ticket)


def shuffled(made):
    order = np.random.default_rng(3).permutation(made.frames[1].height)
    made.frames[1], made.rows[1] = made.frames[1][order], made.rows[1][order]


def order_of_originals(made):
    order = np.argsort(made.rows[1])
    made.frames[1], made.rows[1] = made.frames[1][order], made.rows[1][order]


def move_column(made):
    """A quasi-identifier stands in the other projection than announced."""
    town = made.original["town"][made.rows[0]]
    made.frames[0] = made.frames[0].insert_column(0, town.alias("town"))
    made.frames[1] = made.frames[1].drop("town")


def turn_columns(made):
    made.frames[0] = made.frames[0].select("hours", "age", "ill")


def drop_row(made):
    made.frames[1], made.rows[1] = made.frames[1][1:], made.rows[1][1:]


def raw_age(made):
    made.show(0, "age", made.original["age"][made.rows[0]].cast(pl.String))
    made.sort()


def other_cut(made):
    """Cut and labels fit each other and not the people."""
    entry(made, "age")["cuts"] = [41.5, 57]
    made.show(0, "age", made.frames[0]["age"].str.replace("39.5", "41.5", literal=True))
    made.sort()


def show_rare_value(made):
    """One suppressed value comes back."""
    at = next(i for i, row in enumerate(made.rows[1]) if made.original["job"][int(row)] == RARE[0])
    put(1, "job", at, RARE[0])(made)


def suppress_one_more(made):
    """One row of a value that was kept loses it: suppression is by value."""
    put(1, "job", made.frames[1]["job"].to_list().index("cook"), None)(made)


def say_quasi_is_other(made):
    entry(made, "town").update(role="other", type=None)


def map_twice(made):
    made.rows[0][0] = made.rows[0][1]


def map_to_dropped(made):
    made.rows[0][0] = int(np.argmax((made.original["town"] == "?").to_numpy()))


def lose_map(made):
    made.rows.pop()


def empty_part(made):
    made.manifest["parts"] = [*PARTS, []]
    made.frames.append(made.frames[0].select("ill"))
    made.rows.append(made.rows[0])


def forget_row_of_original(made):
    made.original = made.original.with_columns(town=pl.col("town").replace("?", "here"))


def another_class(made):
    """A class is another one in one projection."""
    put(0, "ill", 0, "plague")(made)


def no_class(made):
    """Some have no class, in both projections alike."""
    made.original = made.original.with_columns(ill=pl.col("ill").replace("zoster", None))
    for number, frame in enumerate(made.frames):
        made.show(number, "ill", frame["ill"].replace("zoster", None))
    made.sort()


def turn_keys(made):
    made.manifest = dict(reversed(made.manifest.items()))


def cut_again(made):
    """A cut with digits of its own, in the manifest and in all labels."""
    entry(made, "age")["cuts"] = [39.4321, 57]
    made.show(0, "age", made.frames[0]["age"].str.replace("39.5", "39.4321", literal=True))
    made.sort()


def twice(made):
    """A column is in two projections, and twice in the list of columns."""
    made.manifest["parts"][1].append("age")
    made.manifest["columns"].append(dict(made.manifest["columns"][0]))


MANIFEST = {
    "a seed": (change("seed", 7), "nothing private"),
    "a key in a column": (change("columns.0.note", "x"), "nothing private"),
    "a key in the class": (change("class.order", [1]), "nothing private"),
    "keys in another order": (turn_keys, "nothing private"),
    "a parameter that repeats the run": (change("method.parameters.random_state", 7), "nothing private"),
    "a text among the parameters": (change("method.parameters.inducer", "person 1"), "nothing private"),
    "less k than was asked for": (change("guarantees.0.k", 4), "nothing private"),
    "less l than was asked for": (change("guarantees.1.l", 1.2), "nothing private"),
    "a method of rows": (change("method.name", "mondrian"), "nothing private"),
    "no promise": (change("guarantees", []), "nothing private, promises"),
    "another payload": (change("payload", "rows"), "manifest, nothing private"),
    "no parts": (remove("parts"), "manifest"),
    "no class": (remove("class"), "manifest"),
    "no columns": (remove("columns"), "manifest"),
    "no version of polars": (remove("polars"), "manifest"),
    "a version of polars that is none": (change("polars", "person 1"), "manifest"),
    "a version that is none": (change("incrowd", "person 1"), "manifest"),
    "another format": (change("format", 1), "manifest"),
    "no format": (remove("format"), "manifest"),
    "a class that is none": (change("class", "ill"), "manifest"),
    "a class of another role": (change("class.role", "quasi"), "manifest"),
    "a class of an unknown type": (change("class.type", "text"), "manifest"),
    "a class without a type": (change("class.type", None), "manifest"),
    "a promise of another kind": (
        change("guarantees.1", {"kind": "t", "t": 0.5, "ordered": False}),
        "manifest, nothing private",
    ),
    "a diversity of another kind": (change("guarantees.1.l_kind", "entropy"), "manifest, nothing private"),
    "more k than there are rows": (ask(k=1000), "promises, k, k of joins"),
    "as much k as there are rows": (ask(k=237), "k, k of joins"),
    "sets that were not asked for": (
        change("quasi_sets", [["age", "town", "job"]]),
        "promises, k, k of joins, l (frequency)",
    ),
    "a set with a column that nobody has": (sets([["age", "town", "job", "jobx"]]), "manifest"),
    "sets that were split": (change("method.parameters.quasi_sets", None), "promises"),
    "other sets": (change("method.parameters.quasi_sets", [["age"], ["job", "town"]]), "promises"),
    "more suppressed than allowed": (change("method.parameters.suppress", 0.03), "promises"),
    "a column in two parts, and described twice": (twice, "manifest"),
    "a column in two parts": (change("parts", [["age", "hours", "town"], PARTS[1]]), "manifest"),
    "an empty part": (empty_part, "manifest"),
    "no part": (change("parts", []), "manifest"),
    "an empty one of two parts": (change("parts", [[*PARTS[0], *PARTS[1]], []]), "manifest"),
    "the class as a column": (change("parts.0", ["age", "hours", "ill"]), "manifest"),
    "a column without an entry": (change("parts.0", ["age", "hours", "name"]), "manifest"),
    "a column twice": (change("columns.1.name", "age"), "manifest"),
    "an entry that is none": (change("columns.0", "age"), "manifest"),
    "an empty set of quasi-identifiers": (sets([["age", "town", "job"], []]), "manifest"),
    "no set of quasi-identifiers": (sets([]), "manifest"),
    "the class as a quasi-identifier": (sets([["age", "town", "ill"], ["job"]]), "manifest"),
    "a quasi-identifier in no set": (sets([["age", "town"]]), "manifest"),
    "a quasi-identifier called other": (say_quasi_is_other, "manifest"),
    "a column of another role": (change("columns.3.role", "sensitive"), "manifest"),
    "a type of a column as it came": (change("columns.3.type", "float"), "manifest"),
    "an unknown type": (change("columns.1.type", "text"), "manifest"),
    "a column both published and dropped": (change("dropped", ["name", "town"]), "manifest"),
    "a column both published and left out": (change("left_out", ["town"]), "manifest"),
    "the class left out": (change("left_out", ["ill"]), "manifest"),
    "numbers without cuts": (change("columns.0.cuts", None), "manifest"),
    "cuts that are no numbers": (change("columns.0.cuts", ["39.5", 57]), "manifest"),
    "cuts out of order": (change("columns.0.cuts", [57, 39.5]), "manifest"),
    "a cut twice": (change("columns.0.cuts", [39.5, 39.5, 57]), "manifest"),
    "cuts of names": (change("columns.1.cuts", [1]), "manifest"),
    "no cuts": (lambda made: entry(made, "age").pop("cuts"), "manifest"),
    "suppression of a column that is as it came": (change("columns.3.suppressed", 1), "manifest"),
    "a negative suppression": (change("columns.1.suppressed", -1), "manifest"),
}

TABLES = {
    "more k than a projection has": (ask(k=9), "k, k of joins"),
    "more k than a join has": (ask(k=7), "k of joins"),
    "more l than a projection has": (ask(l=2.5), "l (frequency)"),
    "one set of all quasi-identifiers": (sets([["age", "town", "job"]]), "k, k of joins, l (frequency)"),
    "more suppressed than is missing": (change("columns.1.suppressed", 9), "values, suppression"),
    "less suppressed than was": (change("columns.1.suppressed", 7), "suppression"),
    "a rare value that comes back": (show_rare_value, "values, k, suppression, same rows, row maps, l (frequency)"),
    "one row suppressed and not its value": (suppress_one_more, "same rows, row maps"),
    "a class of one projection": (another_class, "classes"),
    "a missing class": (no_class, "classes"),
    "one row too few": (drop_row, "rows"),
    "rows that do not add up": (change("rows.input", 250), "rows"),
    "suppressed rows": (change("rows", {"input": 240, "missing": 2, "suppressed": 1, "released": 237}), "rows"),
    "no rows at all": (
        lambda made: (
            made.manifest.update(rows=dict.fromkeys(["input", "missing", "suppressed", "released"], 0)),
            made.frames.__setitem__(slice(None), [frame.clear() for frame in made.frames]),
        ),
        "rows, promises",
    ),
    "missing rows where nothing is missing": (change("missing.policy", "value"), "rows"),
    "a class of another type": (change("class.type", "int"), "columns"),
    "a column of another type": (change("columns.1.type", "bool"), "columns"),
    "ages as numbers": (lambda made: made.show(0, "age", made.original["age"].gather(made.rows[0])), "columns"),
    "a column of lists": (lambda made: made.show(0, "hours", [[1.0]] * (N - 3)), "columns"),
    "an identifier": (add_identifier, "columns"),
    "one projection": (lambda made: made.frames.pop(), "columns"),
    "projections in each other's place": (lambda made: made.frames.reverse(), "columns"),
    "a column in the other projection": (move_column, "columns"),
    "columns in another order": (turn_columns, "columns"),
    "an identifier under another name": (name_people, "identifiers"),
    "an unpublished text under another name": (name_people_by_what_is_unpublished, "identifiers"),
    "a quasi-identifier in disguise": (disguise, "identifiers"),
    "a quasi-identifier nearly in disguise": (nearly_disguise, "identifiers"),
    "a left out column that is none": (change("left_out", ["person 1"]), "identifiers"),
    "a dropped column that is none": (change("dropped", ["name", "person 1"]), "identifiers"),
    "columns that link projections": (link, "links"),
    "intervals that link projections": (link_cut_numbers, "links"),
    "a copy in the other projection": (copy_unique, "links"),
    "ages as they are": (raw_age, "values, k, k of joins, same rows, row maps, l (frequency)"),
    "a cut that parts the same people": (cut_again, "cuts"),
    "cuts that are not the people's": (other_cut, "same rows, row maps"),
    "an age of somebody else": (put(0, "age", 0, "(57-inf)"), "same rows, row maps"),
    "a missing age": (put(0, "age", 0, None), "k, k of joins, same rows, row maps, l (frequency)"),
    "a value of somebody else": (put(1, "grade", 0, "e"), "same rows, row maps"),
    "classes that were traded": (trade_classes, "same rows, row maps"),
    "rows that were swapped": (swap_rows, "row maps"),
    "a map that names somebody twice": (map_twice, "row maps"),
    "a map that names somebody who was dropped": (map_to_dropped, "row maps"),
    "a map that is too short": (lambda made: made.rows.__setitem__(0, made.rows[0][1:]), "row maps"),
    "rows in an order of their own": (shuffled, "order"),
    "the order of the originals": (order_of_originals, "order"),
    "rows that were not missing": (forget_row_of_original, "missing rows"),
    "an original without a column": (lambda made: setattr(made, "original", made.original.drop("hours")), "original"),
    "an original of other rows": (lambda made: setattr(made, "original", made.original[1:]), "original"),
}


@pytest.mark.parametrize("name", MANIFEST | TABLES)
def test_every_violation_is_found(made, name):
    plant, wanted = (MANIFEST | TABLES)[name]
    plant(made)
    verdict = made.check()
    assert failed(verdict) == set(wanted.split(", ")), verdict.violations
    assert not any(cell in str(verdict) for cell in ("judge", "zoster", "plague", "person 1", "nurse"))


SAID = {
    "a key in a column": "nothing private: the key 'note' of columns[0] is not part of the format",
    "no promise": "promises: the manifest promises no k",
    "another format": "manifest: format is 1, and this verifier knows format 2",
    "a promise of another kind": "manifest: projections cannot promise t of this kind",
    "more k than there are rows": "promises: k = 1000 is promised for 237 released rows",
    "more suppressed than allowed": "promises: column 'job' has more rows suppressed than the method was allowed",
    "a column of another role": "manifest: columns[3].role is neither quasi nor other; columns[3].type is not that",
    "suppression of a column that is as it came": "manifest: columns[3].suppressed is not 0",
    "a quasi-identifier in no set": "manifest: columns 'job' are in quasi_sets and other, or in neither",
    "the class as a column": "each once; the class is a column of a part",
    "more k than a projection has": "k: projection 2 has 1 groups of fewer than 9 rows\n"
    "k of joins: projections 1 and 2 joined show 6 rows, fewer than 9",
    "more l than a projection has": "l (frequency): projection 1 has groups in which a class has a share above 1/2.5; "
    "projection 2 has groups in which a class has a share above 1/2.5",
    "one set of all quasi-identifiers": "k: projection 2 has 3 groups of fewer than 5 rows\n"
    "k of joins: projections 1 and 2 joined show 4 rows, fewer than 5",
    "a rare value that comes back": "same rows: projection 2 has 3 rows that are nobody's\n"
    "row maps: projection 2: 3 rows are not those of their originals, first at release row 3",
    "a class of one projection": "classes: projection 2 has other classes than the first, or has them more or less",
    "one row too few": "rows: 237 rows are announced and projection 2 has 236",
    "missing rows where nothing is missing": "rows: 3 rows are counted as missing",
    "a class of another type": "columns: projection 1 has columns of another type than announced: 'ill'; projection 2",
    "an identifier": "columns: projection 1 has columns that were not announced: 'name'",
    "one projection": "columns: 2 projections are announced and 1 are there",
    "projections in each other's place": "projection 1 lacks 'age', 'hours'; projection 2 has columns that were not",
    "columns in another order": "columns: projection 1 has its columns in another order than announced",
    "an identifier under another name": "identifiers: column 'grade' repeats the dropped column 'name'",
    "an unpublished text under another name": "identifiers: column 'grade' repeats the unpublished column 'name'",
    "a quasi-identifier in disguise": "identifiers: column 'hours' tells the quasi-identifier 'job'",
    "a left out column that is none": "identifiers: 1 columns that are left out or dropped are none of the original",
    "intervals that link projections": "links: columns 'age' and 'grade' tell each other",
    "ages as they are": "values: column 'age' has 237 values that are not its intervals",
    "a map that names somebody who was dropped": "row maps: projection 1: 1 rows come from originals with a missing",
    "rows that were not missing": "missing rows: 0 originals have a missing value, and the manifest says 3",
    "an original without a column": "original: it lacks the columns 'hours'",
    "an original of other rows": "original: it has 239 rows, and the manifest says 240",
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(made, name):
    (MANIFEST | TABLES)[name][0](made)
    assert SAID[name] in "\n".join(made.check().violations)


def test_what_is_said_of_projections_that_hold(valid):
    found = {check.name: check.detail for check in valid.check().checks}
    of = ", for each of 2 sets of quasi-identifiers"
    assert found["k"] == f"every group of a projection has at least 8 rows{of}"
    assert found["k of joins"] == f"every join of two projections shows at least 6 rows{of}"
    assert found["l (frequency)"] == f"no class has a share above 0.5152{of}"
    assert found["promises"] == "2 promises, none trivially unsatisfiable"
    assert found["columns"] == "5 columns in 2 projections, none twice"
    assert found["rows"] == "240 in, 237 out in each projection"
    assert found["classes"] == "3 classes, equally often in each projection"
    assert found["original"] == "240 rows with all 6 columns"
    assert found["missing rows"] == "rows that a missing value drops: 3"
    assert found["suppression"] == "as was said of 1 columns, value by value"
    assert found["identifiers"] == "no column tells one of 2 unpublished ones"
    assert "may fit as few as 8 rows of one, with the class 2, and fewer" in found["people behind joins"]
    one = valid.copy()
    sets([["age", "town"]])(one)
    one.manifest["columns"][1] |= {"role": "other", "type": None, "suppressed": 0}
    assert {check.name: check.detail for check in one.check(original=False).checks}["k"].endswith("at least 9 rows")


def test_nearly_unique_columns_are_named(made):
    publish(made, 0, "hours", np.random.default_rng(4).permutation(N) / 4)
    found = {check.name: check.detail for check in made.check().checks}
    assert found["values"].endswith("; nearly unique, so be sure that nobody knows them: 'hours'")


def test_a_class_with_tokens_from_a_file(made, tmp_path):
    """In a sensitive class a token is a missing value, and its rows were dropped."""
    gone = made.original["ill"].to_list()
    rows = np.flatnonzero((made.original["town"] == "?").to_numpy())
    gone[rows[0]] = "?"
    made.original = made.original.with_columns(ill=pl.Series(gone), town=pl.col("town").replace("?", "here"))
    towns = made.original["town"].to_list()
    for row in rows[1:]:
        towns[row] = "?"
    made.original = made.original.with_columns(town=pl.Series(towns))
    made.original.write_csv(tmp_path / "people.csv")
    assert verify(made.write(tmp_path / "out"), tmp_path / "people.csv", rows=np.array(made.rows)).violations == []


@pytest.mark.parametrize("plant", [shuffled, order_of_originals])
def test_an_order_is_seen_without_the_original(made, plant):
    plant(made)
    verdict = made.check(original=False, row_maps=False)
    assert [violation.partition(", ")[0] for violation in verdict.violations] == [
        "order: rows of table 2 are not sorted"
    ]


def test_a_row_map_may_be_missing(made):
    lose_map(made)
    verdict = made.check()
    assert (verdict.ok, verdict.complete) == (True, False)
    assert answers(verdict)["row maps"] is None


def test_what_may_be(made):
    """A class that nobody called sensitive may be missing; a method of others cannot be checked; one set is all."""
    no_class(made)
    made.manifest["class"]["role"] = "other"
    assert made.check().violations == []
    made.manifest["method"] = {"name": "ours", "parameters": {"note": "x"}}
    verdict = made.check()
    assert (verdict.ok, verdict.complete) == (True, False)
    assert answers(verdict)["method"] is None


def test_suppression_up_to_the_limit(made):
    change("method.parameters.suppress", 0.033756)(made)
    assert made.check().violations == []


def test_texts_that_a_reader_made_missing_are_believed(made):
    """The original says ? where the release has nothing, in a column that is published as it came."""
    grade = made.original["grade"].to_list()
    publish(made, 1, "grade", [None if value == "d" else value for value in grade])
    made.original = made.original.with_columns(grade=pl.Series(["?" if value == "d" else value for value in grade]))
    assert made.check().violations == []
    made.original = made.original.with_columns(grade=pl.Series(["!" if value == "d" else value for value in grade]))
    assert failed(made.check()) == {"same rows", "row maps"}


@pytest.mark.parametrize("how", ["text", "small", "days"])
def test_a_column_as_it_came_in_another_type(made, how):
    if how == "days":
        days = made.original["hours"].cast(pl.Int32).cast(pl.Date)
        publish(made, 0, "hours", days)
        made.original = made.original.with_columns(hours=days.cast(pl.String))
    else:
        made.original = made.original.with_columns(pl.col("hours").cast(pl.String if how == "text" else pl.Float32))
    assert made.check().violations == []
    wrong = made.original["hours"].to_list()
    at = int(made.rows[0][0])
    wrong[at] = wrong[at - 1] if wrong[at] != wrong[at - 1] else wrong[at - 2]
    made.original = made.original.with_columns(pl.Series("hours", wrong, made.original["hours"].dtype))
    assert failed(made.check()) == {"same rows", "row maps"}


def test_files_are_as_many_as_parts(made, tmp_path):
    folder = made.write(tmp_path / "out")
    assert verify(folder, made.original).violations == []
    (folder / "projection-3.csv").write_text("a\n")
    assert failed(verify(folder)) == {"files"}
    (folder / "projection-3.csv").unlink()
    (folder / "projection-2.parquet").write_bytes(b"PAR1")
    assert "files: projection-2.parquet cannot be read" in verify(folder).violations
    (folder / "projection-2.parquet").unlink()
    assert "projection-2.parquet is missing" in str(verify(folder))


def test_the_csv_of_a_projection(made, tmp_path):
    folder = made.write(tmp_path / "out")
    path = folder / "projection-2.csv"
    path.write_text(path.read_text().replace(",clerk," if ",clerk," in path.read_text() else "clerk,", "cook,", 1))
    assert failed(verify(folder, made.original)) == {"csv"}


def fitting(tables):
    """The fewest rows of a projection that fit somebody, every combination of groups tried."""
    groups = []
    for table in tables:
        found = {}
        for *known, y, n in table.iter_rows():
            found.setdefault(tuple(known), {})[y] = n
        groups.append(list(found.values()))
    least = []
    for combination in product(*groups):
        shared = set.intersection(*map(set, combination))
        least += [sum(group[y] for y in shared) for group in combination if shared]
    return min(least)


def test_rows_that_fit_somebody():
    rng = np.random.default_rng(2)
    found = set()
    for n_tables in (1, 2, 3):
        for _ in range(30):
            tables = []
            for _ in range(n_tables):
                frame = pl.DataFrame({"q0": rng.integers(0, 3, 14), "y": rng.choice(["a", "b", "c", "d"], 14)})
                tables.append(frame.group_by("q0", "y").agg(n=pl.len().cast(pl.Int64)))
            tables[0] = tables[0] if rng.random() < 0.7 else tables[0].group_by("y").agg(pl.sum("n"))
            assert projections.least_fitting(tables) == fitting(tables)
            found.add(fitting(tables))
    assert len(found) >= 5


def test_all_pairs_of_classes_are_bounded(made, monkeypatch):
    """Where a join would be too large, the rarest groups of each class are multiplied: never more than is promised."""
    before = made.check().levels
    monkeypatch.setattr(projections, "PAIR_BUDGET", 1)
    after = made.check().levels
    assert after["k_set"] == before["k_set"]
    assert after["rows_fitting_min"] <= before["rows_fitting_min"]


@pytest.mark.parametrize(("budget", "least"), [(2, 6), (1, 3)])
def test_classes_are_looked_at_together_up_to_the_budget(monkeypatch, budget, least):
    """One group of each projection has both classes: all its rows fit, unless only one class at a time is looked at."""
    monkeypatch.setattr(projections, "PAIR_BUDGET", budget)
    counted = [pl.DataFrame({"q0": ["a", "a"], "y": ["x", "y"], "n": [n, n]}) for n in (3, 5)]
    assert projections.least_fitting(counted) == least


def test_projections_of_a_release_that_lies_are_never_returned(monkeypatch):
    """Plant a search that does not look at the levels, and see the independent verifier refuse the result."""
    from incrowd.publish.decomposition import feature_partition

    frame = pl.DataFrame({"a": list("xxxxy") * 8, "b": list("uvwvz") * 8, "s": list("++--+") * 8})
    frame = frame.with_columns(b=pl.when(pl.int_range(40) == 3).then(pl.lit("alone")).otherwise("b"))
    monkeypatch.setattr(feature_partition.SetLevels, "keep_apart", lambda *_: True)
    monkeypatch.setattr(feature_partition, "_holds", lambda *_, **__: True)
    with pytest.raises(ic.VerificationError) as refused:
        ic.DMPD(k=5, generations=3, population=10).publish(frame, ic.Schema(quasi=["a", "b"], sensitive="s"), seed=0)
    assert any(violation.startswith("k:") for violation in refused.value.violations)


def test_a_cut_may_round_to_the_number_below_it():
    """There is nothing between two neighbouring floats: the cut is one of them, which belongs to the lower side."""
    low = 1.0
    high = math.nextafter(low, 2)
    column = Shown("x", "quasi", "float", (low,), 0)
    own = pl.Series([low, high, None])
    shown, wanted = _code_cut(column, pl.Series(["(-inf-1]", "(1-inf)", None]), own, ())
    assert shown.tolist() == wanted.tolist() == [0, 1, ABSENT]
    assert _strange_cuts(column, own, ()) == 0
    assert _strange_cuts(replace(column, cuts=(0.0, low, 3.0)), own, ()) == 2
    assert _strange_cuts(replace(column, cuts=(2.5,)), pl.Series(["2", "?", "3", "nan"]), ["?"]) == 0


@pytest.mark.parametrize("name", ["a column that was not announced", "rows that are not there"])
def test_promises_that_cannot_be_looked_at_stay_open(made, name):
    few = name == "rows that are not there"
    made.frames[0] = made.frames[0].head(200) if few else made.frames[0].with_columns(x=1)
    assert [check.name for check in made.check().checks if check.ok is None] == ["promises"]


def test_the_roles_of_columns_are_said(made):
    roles = next(check.detail for check in made.check().checks if check.name == "roles")
    assert "sensitive ill" in roles
    assert "grade" in roles.partition("ill")[2]
    made.manifest["class"]["role"] = "other"
    roles = next(check.detail for check in made.check().checks if check.name == "roles")
    assert "sensitive none" in roles
    assert "ill" in roles.partition("sensitive none")[2]


def test_a_class_may_have_the_share_that_is_promised():
    frame = pl.DataFrame({"job": list("aabb") * 5, "ill": list("yn") * 10})
    schema = ic.Schema(quasi={"job": None}, sensitive="ill")
    release = ic.DMPD(k=2, l=2, generations=0, population=2, folds=2).publish(frame, schema, seed=1)
    assert release.verify(frame).levels["l_frequency"] == 2


@pytest.mark.parametrize(
    ("codes", "fine"),
    [({"age": ["-9"], "job": ["none"]}, True), ({"job": ["none"], "age": ["-9"]}, False), ({"name": ["x"]}, False)],
)
def test_missing_codes_belong_to_coded_columns_in_order(made, codes, fine):
    made.manifest["missing"]["codes"] = codes
    assert made.check().violations == [] if fine else "nothing private" in failed(made.check())
