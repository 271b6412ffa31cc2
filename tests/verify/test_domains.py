"""Published domains: nothing that fewer than k rows share is told, and the owner's lead to what was published."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.fields import Reading
from incrowd.verify.labels import write_leaves, write_range, write_value
from incrowd.verify.private_domains import _joined_name
from incrowd.verify.published import Leaves, Ranges, is_rest_name, read_cells, read_quasi
from verify.build import Made, answers, publish

K = 5


@pytest.fixture(scope="module")
def releases() -> dict[str, Made]:
    method = ic.Mondrian(k=K)
    return {
        "joined": publish(method, n=150, missing=True),
        "dense": publish(method, n=150),
        "exact": publish(method, n=150, missing=True, domains="exact"),
    }


def test_the_joined_release_has_all_that_is_spoiled_below(releases):
    made = releases["joined"]
    assert [q["kind"] for q in made.manifest["quasi"]] == ["intervals"] * 3 + ["taxonomy"] * 4 + ["names"]
    for name in ("city", "work", "rooms", "grade"):
        assert made.quasi(name)["rest"] != []
    for name in ("age", "pay"):
        assert len(made.quasi(name)["cuts"]) > 2
    assert made.quasi("age")["missing"] % K == 0


def quasi(name, key, change):
    def mutate(made):
        entry = made.quasi(name)
        entry[key] = change(entry[key]) if callable(change) else change

    return mutate


def domain(name, key, change):
    def mutate(made):
        entry = made.domain(name)
        entry[key] = change(entry[key]) if callable(change) else change

    return mutate


def at(place, value):
    def change(values):
        changed = list(values)
        changed[place] = value(changed[place]) if callable(value) else value
        return changed

    return change


def plus(n):
    return lambda value: value + n


def value_as_cut(made):
    """A cut that is a person's age."""
    entry = made.quasi("age")
    ages = made.original["age"].drop_nulls().to_list()
    entry["cuts"] = at(0, next(a for a in sorted(ages) if a > entry["cuts"][0] - 1))(entry["cuts"])


def rare_range(made):
    entry = made.quasi("age")
    top = made.original["age"].max()
    entry["cuts"] = [*entry["cuts"][:-1], top - 0.5]
    entry["counts"] = [*entry["counts"][:-1], K]


def merge_ranges(made):
    """Two ranges as one, with the count of one of them."""
    entry = made.quasi("age")
    entry["cuts"], entry["counts"] = entry["cuts"][1:], entry["counts"][1:]


def list_a_rare_value(made):
    """A rare city stands in the list with a count of its own."""
    entry, owned = made.quasi("city"), made.domain("city")
    place = entry["rest"][0]
    own = [i for i, leaf in enumerate(owned["leaf_of"]) if leaf == place]
    entry["leaves"][place] = owned["hierarchy"]["leaves"][own[0]]
    entry["rest"] = []
    entry["counts"][place] = K


def list_an_age(made):
    """An age that nobody has, and the owner's domain does not know."""
    entry = made.quasi("age")
    entry["values"], entry["counts"] = [*entry["values"], 200], [*entry["counts"], 0]


def name_a_rare_node(made):
    """The node of a leaf that joins few rows gets a name."""
    entry = made.quasi("work")
    place = entry["rest"][0]
    entry["levels"][0][place] = "blacksmiths of the north"


def rename_rest(name, to):
    def mutate(made):
        entry = made.quasi(name)
        old = entry["leaves"][entry["rest"][0]]
        entry["leaves"][entry["rest"][0]] = to
        entry["levels"] = [[to if n == old else n for n in level] for level in entry["levels"][:-1]] + entry["levels"][
            -1:
        ]

    return mutate


def retype(made):
    made.domain("work")["hierarchy"]["type"] = "int"


def hierarchy(name, key, change):
    def mutate(made):
        entry = made.domain(name)["hierarchy"]
        entry[key] = change(entry[key]) if callable(change) else change

    return mutate


def other_leaf(name):
    """A value is said to be in the next leaf."""

    def mutate(made):
        n = len(made.quasi(name)["leaves"])
        made.domain(name)["leaf_of"] = at(1, lambda leaf: (leaf + 1) % n)(made.domain(name)["leaf_of"])

    return mutate


def shifted_end(made):
    """A cell ends between two values."""
    row = next(i for i, hi in enumerate(made.frame["pay.hi"]) if hi is not None and made.frame["pay.lo"][i] is not None)
    made.put("pay.hi", row, made.frame["pay.hi"][row] + 0.001)
    made.frame = made.frame.drop("age", "pay", "day", "city", "work", "left", "rooms", "grade")


PLANTED = [
    (
        "counts",
        "joined",
        quasi("age", "counts", at(0, plus(1))),
        "column 'age' has counts that are not multiples of k = 5",
    ),
    ("counts", "joined", quasi("age", "missing", plus(1)), "column 'age' has counts that are not multiples of k = 5"),
    ("counts", "joined", quasi("grade", "counts", at(0, plus(3))), "column 'grade' has counts that are not multiples"),
    (
        "counts",
        "joined",
        quasi("age", "counts", at(0, 0)),
        "column 'age' tells 1 values or ranges of fewer than k = 5 rows",
    ),
    (
        "counts",
        "joined",
        quasi("work", "counts", at(1, 0)),
        "column 'work' tells 1 values or ranges of fewer than k = 5",
    ),
    ("counts", "joined", quasi("grade", "counts", at(0, plus(40 * K))), "column 'grade' adds up to"),
    (
        "original counts",
        "joined",
        quasi("age", "counts", at(0, plus(2 * K))),
        "column 'age' has 1 counts that are not those",
    ),
    ("original counts", "joined", quasi("age", "missing", plus(2 * K)), "column 'age' has 1 counts that are not those"),
    ("original counts", "joined", quasi("work", "counts", at(1, plus(2 * K))), "column 'work' has 1 counts"),
    ("original counts", "joined", quasi("grade", "counts", at(-1, plus(2 * K))), "column 'grade' has 1 counts"),
    ("rare values", "joined", value_as_cut, "column 'age' has 1 cuts that are not the roundest between two values"),
    ("rare values", "joined", rare_range, "column 'age' has 1 ranges that fewer than 5 rows have"),
    ("original counts", "joined", merge_ranges, "column 'age' has 1 counts"),
    ("rare values", "joined", list_a_rare_value, "column 'city' names 1 values that fewer than 5 rows have"),
    ("domains", "joined", name_a_rare_node, "column 'work' has a leaf"),
    ("domains", "joined", rename_rest("city", "Ann lives here"), "column 'city' has a leaf"),
    ("domains", "joined", rename_rest("work", "* (rest)!"), "column 'work' has a leaf"),
    ("domains", "joined", quasi("grade", "leaves", at(-1, "high to moon")), "column 'grade' has a leaf"),
    ("domains", "joined", other_leaf("work"), "column 'work' has a leaf"),
    ("domains", "joined", other_leaf("grade"), "column 'grade' has a leaf"),
    ("domains", "joined", domain("age", "leaf_of", []), "column 'age' has leaves, and numbers speak for themselves"),
    (
        "domains",
        "joined",
        domain("work", "leaf_of", None),
        "column 'work' does not tell the published leaf of each value",
    ),
    ("domains", "joined", domain("work", "leaf_of", at(0, 99)), "column 'work' does not tell the published leaf"),
    ("domains", "joined", domain("work", "leaf_of", at(0, -1)), "column 'work' does not tell the published leaf"),
    (
        "domains",
        "joined",
        domain("work", "counts", at(1, plus(1))),
        "column 'work' has counts that are not those of the orig",
    ),
    (
        "domains",
        "joined",
        domain("age", "counts", at(1, plus(1))),
        "column 'age' has counts that are not those of the orig",
    ),
    ("domains", "joined", domain("age", "counts", lambda c: c[1:]), "column 'age' has"),
    ("domains", "joined", domain("age", "name", "pay"), "column 'age' is another column's, or of another kind"),
    ("domains", "joined", hierarchy("age", "kind", "taxonomy"), "column 'age' is another column's, or of another kind"),
    ("domains", "joined", retype, "column 'work' lists something that is not of type str"),
    ("domains", "joined", hierarchy("age", "values", at(1, 1)), "column 'age' lacks 1 values of the originals"),
    (
        "domains",
        "joined",
        hierarchy("age", "values", at(1, 99)),
        "column 'age' lists values that are not in increasing order",
    ),
    ("domains", "joined", hierarchy("work", "leaves", at(1, "clark")), "column 'work' lacks 1 values of the originals"),
    ("domains", "joined", hierarchy("work", "levels", lambda v: v[1:]), "levels, and"),
    ("domains", "joined", shifted_end, "column 'pay' has cells that begin or end at something else than a value"),
    ("domains", "exact", list_an_age, "column 'age' has other values than the manifest lists"),
    (
        "original counts",
        "exact",
        quasi("left", "counts", lambda c: [c[0], c[1] + 1, c[2] - 1]),
        "column 'left' has 2 counts",
    ),
    ("original counts", "dense", quasi("age", "missing", 2 * K), "column 'age' has 1 counts"),
]


@pytest.mark.parametrize(("name", "kind", "mutate", "words"), PLANTED)
def test_what_is_told_is_held_against_the_originals(releases, name, kind, mutate, words):
    made = releases[kind].copy()
    mutate(made)
    verdict = made.judge()
    assert answers(verdict).get(name) is False, str(verdict)
    assert words in next(c.detail for c in verdict.checks if c.name == name and c.ok is False)


def test_missing_values_must_be_told(releases):
    made = releases["joined"].copy()
    made.quasi("pay")["missing"] = None
    made.frame = made.frame.filter(pl.col("pay.lo").is_not_null())
    assert not made.judge().ok


@pytest.mark.parametrize("part", [("age",), ("age", "hierarchy"), ("work", "hierarchy")])
def test_the_owners_domains_have_their_keys_in_order(releases, part):
    made = releases["joined"].copy()
    entry = made.domain(part[0])
    entry = entry[part[1]] if len(part) > 1 else entry
    turned = dict(reversed(list(entry.items())))
    entry.clear()
    entry.update(turned)
    assert f"column {part[0]!r} has other keys than the format's, or in another order" in str(made.judge())


@pytest.mark.parametrize(
    ("listed", "n_values", "name"),
    [
        ([], 3, None),
        (["a"], 1, "a"),
        (["a"], 2, "a|others"),
        (["a", "b"], 2, "a|b"),
        (["a", "b", "c", "d"], 4, "a|b|c|d"),
        (["a", "b", "c", "d"], 5, "a|b|c|d|others"),
        (["a", "b", "c", "d", "e"], 5, "a to e"),
        (["a", "b", "c", "d", "e"], 6, "a to e and others"),
    ],
)
def test_joined_names_tell_what_enough_rows_have(listed, n_values, name):
    assert _joined_name(listed, n_values) == name


@pytest.mark.parametrize("name", ["rows", "domains", "rings"])
def test_a_lost_file_of_the_owner_is_a_violation(name):
    made = publish(ic.NHAA(k=K))
    del made.private[name]
    verdict = made.judge()
    assert f"lacks {name}" in next(c.detail for c in verdict.checks if c.name == "private folder")
    assert answers(verdict)["private folder"] is False


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows", {"row": [1, 2]}),
        ("rows", pl.DataFrame({"row": [1.5] * 150})),
        ("rows", pl.DataFrame({"rows": range(150)})),
        ("rows", pl.DataFrame({"row": range(149)})),
        ("rows", pl.DataFrame({"row": [None, *range(149)]})),
        ("domains", []),
        ("domains", {"quasi": []}),
        ("domains", {"quasi": [1] * 8}),
    ],
)
def test_files_in_another_form_are_refused(releases, name, data):
    made = releases["joined"].copy()
    made.private[name] = data
    verdict = made.judge()
    assert f"holds {name} in another form" in next(c.detail for c in verdict.checks if c.name == "private folder")


def test_files_that_do_not_belong_there_are_refused(releases):
    made = releases["joined"].copy()
    made.private["rings"] = pl.DataFrame()
    assert "holds rings, which do not belong to it" in str(made.judge())


# the domains by themselves


def leaves(**entry):
    reading = Reading()
    data = {
        "name": "q",
        "kind": "taxonomy",
        "type": "str",
        "leaves": [],
        "levels": [],
        "rest": [],
        "counts": [],
    } | entry
    if data["kind"] == "names":
        del data["levels"]
    found = read_quasi(reading, data | {"counts": [0] * len(data["leaves"])}, "q.", exact=False)
    return found, reading


@pytest.mark.parametrize(
    ("kind", "listed", "rest", "fine"),
    [
        ("int", [1, 2, 2.5], [2], True),
        ("int", [1, 2.5, 3], [2], False),
        ("int", [1, 2, 3], [2], True),
        ("int", [1, 2, "rest"], [2], False),
        ("float", [1.5, 2.5, 3], [2], True),
        ("bool", [None, "true", "* "], [2], True),
        ("bool", [None, "yes", "* "], [2], False),
        ("bool", [True, False, "*"], [2], False),
        ("bool", [None, True, False], [], True),
        ("bool", [None, "true", "false"], [], False),
        ("date", ["2020-01-01", "2020-01-02", "2020-01-03"], [2], True),
        ("date", ["2020-01-01", "2020-01-02", "rest"], [2], False),
        ("str", ["a", "b", "* (rest)"], [2], True),
    ],
)
def test_a_leaf_that_joins_values_may_be_of_a_wider_type(kind, listed, rest, fine):
    _, reading = leaves(type=kind, leaves=listed, levels=[["*"] * 3], rest=rest)
    assert reading.manifest == []
    assert (reading.hierarchies == []) is fine


TREE, _ = leaves(
    leaves=[None, "a", "b", "c", "d", "* (rest)"],
    levels=[["(missing)", "x", "x", "y", "z", "* (rest)"], ["*"] * 6],
    rest=[4, 5],
)
NAMES, _ = leaves(kind="names", leaves=[None, "1", "2", "3", "4", "5 to 6"], rest=[5])


@pytest.mark.parametrize(
    ("q", "lo", "hi", "label"),
    [
        (TREE, 0, 0, "(missing)"),
        (TREE, 1, 1, "a"),
        (TREE, 1, 2, "x"),
        (TREE, 3, 3, "c"),
        (TREE, 4, 4, "z"),
        (TREE, 5, 5, "* (rest)"),
        (TREE, 0, 5, "*"),
        (TREE, 1, 3, ""),
        (TREE, 2, 2, "b"),
        (TREE, 1, 5, ""),
        (TREE, 0, 1, ""),
        (NAMES, 0, 0, "(missing)"),
        (NAMES, 1, 1, "1"),
        (NAMES, 1, 2, "1|2"),
        (NAMES, 1, 4, "1|2|3|4"),
        (NAMES, 1, 5, "1 to 5 to 6"),
        (NAMES, 2, 5, "2|3|4|5 to 6"),
        (NAMES, 0, 5, "*"),
    ],
)
def test_cells_of_leaves_are_legal_and_labelled(q, lo, hi, label):
    assert write_leaves(q, lo, hi) == label
    assert q.legal(np.array([lo]), np.array([hi])).tolist() == [label != ""]


def test_a_joined_leaf_that_is_no_node_is_no_cell():
    q, _ = leaves(leaves=["a", "b", "x"], levels=[["x", "x", "x"]], rest=[2])
    assert q.legal(np.array([0, 2, 0]), np.array([0, 2, 2])).tolist() == [True, False, True]
    names, _ = leaves(kind="names", leaves=["a", "b", "c"], rest=[])
    assert names.legal(np.array([0, 0, 1]), np.array([1, 2, 2])).tolist() == [True, True, True]
    assert write_leaves(names, 0, 2) == "*"
    assert NAMES.legal(np.array([0]), np.array([4])).tolist() == [False]


@pytest.mark.parametrize(
    ("first", "last", "label"),
    [
        (None, None, "(missing)"), (None, 5, "*"), (21, 30, "21-30"), (21, 21, "21"), (-3, 5, "-3 to 5"),
        (0.1 + 0.2, 3.0, "0.30000000000000004-3"), (1e16, 1e22, "1e+16-1e+22"), (2.0**53, 2.0**53, "9007199254740992"),
        (-0.0, 0.0, "0"), (True, True, "true"), (False, False, "false"),
    ],
)  # fmt: skip
def test_ranges_are_labelled_as_the_format_says(first, last, label):
    assert write_range(first, last) == label


def test_dates_are_labelled_in_iso_form():
    days = pl.Series(["2001-01-01", "2001-12-31"]).str.to_date().to_list()
    assert write_range(*days) == "2001-01-01 to 2001-12-31"
    assert write_range(days[0], days[0]) == write_value(days[0]) == "2001-01-01"
    assert write_value("text") == "text"


@pytest.mark.parametrize(
    ("name", "base", "fine"),
    [("x", "x", True), ("x (rest)", "x", True), ("x (rest) (rest)", "x", True), ("x (rest", "x", False),
     ("y (rest)", "x", False), ("xx", "x", False), ("x (rest)z", "x", False)],
)  # fmt: skip
def test_names_of_joined_leaves(name, base, fine):
    assert is_rest_name(name, base) is fine


def ranges(kind="int", cuts=(), exact=False, missing=None, counts=None):
    reading = Reading()
    data = {
        "name": "q",
        "kind": "intervals",
        "type": kind,
        "missing": missing,
        "values" if exact else "cuts": list(cuts),
    }
    counts = [0] * (len(cuts) + (not exact)) if counts is None else counts
    return read_quasi(reading, data | {"counts": counts}, "q.", exact=exact), reading


@pytest.mark.parametrize(
    ("kind", "cuts", "fine"),
    [
        ("int", [17.5, 20, 21.5], True), ("int", [20, 20.5], True), ("int", [17.25], False), ("int", [17.0], False),
        ("int", [20.5, 20], False), ("int", [float("inf")], False), ("int", ["20"], False), ("int", [True], False),
        ("float", [0.1, 0.25], True), ("float", [0.1, 0.1], False), ("float", [float("nan")], False),
        ("date", ["2020-01-01", "2021-01-01"], True), ("date", ["2021-01-01", "2020-01-01"], False),
        ("date", [3], False),
        ("int", [2**52 + 0.5], False),
    ],
)  # fmt: skip
def test_cuts_are_increasing_and_of_their_type(kind, cuts, fine):
    _, reading = ranges(kind, cuts)
    assert (reading.manifest == reading.hierarchies == []) is fine


def test_values_fall_between_cuts():
    q, _ = ranges(cuts=[17.5, 20, 21.5])
    assert q.place(np.array([17, 18, 19, 20, 21, 22])).tolist() == [0, 1, 1, 2, 2, 3]
    assert q.cuts == (17.5, 20, 21.5)
    exact, _ = ranges(cuts=[3, 5, 9], exact=True)
    assert exact.place(np.array([2, 3, 4, 5, 9, 10])).tolist() == [-1, 0, -1, 1, 2, -1]
    assert isinstance(exact, Ranges)
    assert isinstance(TREE, Leaves)


def test_an_intervals_entry_with_one_count_too_many():
    _, reading = ranges(cuts=[5], counts=[1, 2, 3])
    assert reading.marginals == ["column 'q' has 3 counts for 1 cuts"]


def test_codes_keep_the_order_of_values():
    q, _ = ranges(missing=0)
    lo = pl.Series([None, None, 3, 5, 3], dtype=pl.Int64)
    hi = pl.Series([None, 9, 3, 9, 5], dtype=pl.Int64)
    problems, scale, first, last = read_cells(q, lo, hi)
    assert problems == []
    assert scale.n_codes == 8
    assert first.tolist() == [0, 0, 2, 4, 2]
    assert last.tolist() == [0, 7, 2, 6, 4]
    assert scale.code(np.array([2, 3, 4, 5, 6, 9, 10])).tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("lo", "hi", "words"),
    [
        ([1.0, float("nan")], [2.0, 3.0], "an end that is not a finite number"),
        ([1.0, 2.0], [2.0, float("inf")], "an end that is not a finite number"),
        ([-0.0, 1.0], [2.0, 3.0], "a negative zero as an end"),
        ([-1.0, 1.0], [-0.0, 3.0], "a negative zero as an end"),
        ([1.0, 3.0], [2.0, 2.5], "lo above hi"),
        ([1.0, 2.0], [None, 3.0], "a first value and no last one"),
        ([None, 2.0], [2.5, 3.0], "joins the missing value with some of the others"),
    ],
)
def test_ends_that_are_none(lo, hi, words):
    q, _ = ranges("float", missing=0)
    problems, *_ = read_cells(q, pl.Series(lo, dtype=pl.Float64), pl.Series(hi, dtype=pl.Float64))
    assert words in "; ".join(problems)


def test_everything_ends_at_the_last_value():
    q, _ = ranges("float", missing=0)
    problems, *_ = read_cells(q, pl.Series([None, 2.0]), pl.Series([3.0, 3.0]))
    assert problems == []
    without, _ = ranges("float")
    problems, *_ = read_cells(without, pl.Series([None, 2.0]), pl.Series([3.0, 3.0]))
    assert problems == ["a cell of 'q' has a missing value, and the column has none"]
