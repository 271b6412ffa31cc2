"""Plant one violation at a time; the check that is meant for it must find it, and say how many rows it is about."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

from incrowd.errors import VerificationError
from incrowd.verify import assignment, linking
from verify.build import AGES, ILLS, Made, answers, detail, make
from verify.test_honest import KINDS

EXACT, GROUPS, DROPPED, NULLS = "homogeneous exact", "homogeneous counts", "missing dropped", "missing is a value"
COUNTS = "non-homogeneous counts"


@pytest.fixture(scope="module")
def valid() -> dict[str, Made]:
    return {name: make(**options) for name, options in KINDS.items()}


def same_group(made: Made) -> list[int]:
    """The rows of the first row's group."""
    ends = [c for c in made.frame.columns if c.endswith((".lo", ".hi"))]
    keys = made.frame.select(ends).rows()
    return [i for i, key in enumerate(keys) if key == keys[0]]


def set_cell(made, row, column, lo, hi, label):
    for end, value in ((".lo", lo), (".hi", hi), ("", label)):
        made.put(f"{column}{end}", row, value)


def small_group(made):
    row = same_group(made)[0]
    lo, hi = made.frame["age.lo"][row], made.frame["age.hi"][row]
    taken = set(zip(made.frame["age.lo"], made.frame["age.hi"], strict=True))
    wider = next((a, b) for a in range(20, lo + 1) for b in range(hi, 40) if (a, b) != (lo, hi) and (a, b) not in taken)
    set_cell(made, row, "age", *wider, f"{wider[0]}-{wider[1]}")


def swap_values(made, a, b):
    x, y = made.frame["ill"][a], made.frame["ill"][b]
    made.put("ill", a, y)
    made.put("ill", b, x)


def fill_group(value, n):
    """Give n rows of the first group one value, taken in exchange from rows of other groups."""

    def mutate(made):
        group = same_group(made)
        outside = [i for i in range(made.frame.height) if i not in group and made.frame["ill"][i] == value]
        inside = [i for i in group if made.frame["ill"][i] != value]
        for a, b in list(zip(inside, outside, strict=False))[: n - (len(group) - len(inside))]:
            swap_values(made, a, b)

    return mutate


def set_counts(counts, row=0):
    def mutate(made):
        for ill, count in zip(ILLS, counts, strict=True):
            made.put(f"ill={ill}", row, count)

    return mutate


def shrink_to_own(made):
    """Make one row's box its own original: nobody else fits."""
    person = made.original.row(made.rows[0], named=True)
    for q in ("age", "day"):
        set_cell(made, 0, q, person[q], person[q], str(person[q]))
    for q in ("work", "grade"):
        place = made.quasi(q)["leaves"].index(person[q])
        set_cell(made, 0, q, place, place, person[q])


def away_from_original(made):
    age = AGES[(AGES.index(made.original["age"][made.rows[0]]) + 1) % len(AGES)]
    set_cell(made, 0, "age", age, age, str(age))


def swap_across(made):
    b = next(i for i in range(made.frame.height) if made.frame["ill"][i] != made.frame["ill"][0])
    swap_values(made, 0, b)


def own_value_missing(made):
    own = ILLS.index(made.original["ill"][made.rows[0]])
    set_counts([0 if i == own else 2 for i in range(4)])(made)


def lose_row(made):
    made.frame = made.frame[1:]
    made.set_rows(made.rows[1:])


def double_row(made):
    made.frame = pl.concat([made.frame[1:], made.frame[-1:]])
    made.set_rows([*made.rows[1:], made.rows[-1]])


def lose_all(made):
    made.frame = made.frame[:0]
    made.set_rows([])


def row_map(change):
    def mutate(made):
        rows = made.rows
        change(rows)
        made.set_rows(rows)

    return mutate


def first_becomes(rows, value):
    rows[0] = value


def row_from_missing(made):
    gone = next(i for i, w in enumerate(made.original["work"]) if w in (None, "?"))
    made.set_rows([gone, *made.rows[1:]])


def swap_first_two(rows):
    rows[0], rows[1] = rows[1], rows[0]


def cast(column, dtype):
    def mutate(made):
        made.frame = made.frame.with_columns(pl.col(column).cast(dtype))

    return mutate


def add_column(made):
    made.frame = made.frame.with_columns(made.original["name"][made.rows].alias("name"))


def move_column(made):
    made.frame = made.frame.select([made.frame.columns[-1], *made.frame.columns[:-1]])


def drop(*columns):
    def mutate(made):
        made.frame = made.frame.drop(columns)

    return mutate


def cell_of(column, lo, hi, label, row=0):
    return lambda made: set_cell(made, row, column, lo, hi, label)


def told(*path, value):
    """Put a value into the manifest."""

    def mutate(made):
        place = made.manifest
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value

    return mutate


def plus(n):
    return lambda count: count + n


def both(*steps):
    def mutate(made):
        for step in steps:
            step(made)

    return mutate


def put(column, value, row=0):
    return lambda made: made.put(column, row, value)


def change_hours(made):
    made.put("hours", 0, made.frame["hours"][0] + 1)


def lose_original_column(made):
    made.original = made.original.drop("day")


def lose_original_row(made):
    made.original = made.original[:-1]


def extra_original_column(made):
    made.original = made.original.with_columns(phone=pl.lit("x"))


def odd_original(made):
    made.original = made.original.with_columns(pl.col("age").cast(pl.String).replace({"21": "old"}))


def from_nowhere(made):
    """An original has a name that the manifest has no leaf for."""
    person = made.rows[0]
    made.original = made.original.with_columns(
        pl.when(pl.int_range(pl.len()) == person).then(pl.lit("lowest")).otherwise("grade").alias("grade")
    )
    made.private = {"rows": made.private["rows"]}


MUTATIONS = [
    # the check that must find it, kind of release, what is planted, what is said
    ("k", EXACT, small_group, "2 of 21 groups have fewer than k = 6 rows, the smallest 1, first at release row 1"),
    ("l (frequency)", EXACT, fill_group(ILLS[0], 4), "broken in 2 of 20 groups, first at release row 1"),
    ("alpha", EXACT, fill_group(ILLS[0], 4), "broken in 2 of 20 groups"),
    ("l (distinct)", EXACT, fill_group(ILLS[0], 6), "broken in"),
    ("l (entropy)", EXACT, fill_group(ILLS[0], 4), "broken in 2 of 20 groups"),
    ("l (recursive)", EXACT, fill_group(ILLS[0], 5), "broken in 3 of 20 groups"),
    ("t", EXACT, fill_group(ILLS[0], 4), "broken in 2 of 20 groups"),
    ("t (ordered)", EXACT, fill_group(ILLS[0], 5), "broken in 3 of 20 groups"),
    ("lkc", EXACT, fill_group(ILLS[0], 6), "combinations of columns have a share above C = 0.6"),
    ("lkc", EXACT, told("guarantees", -1, "K", value=500), "6 combinations of columns have groups of fewer than K"),
    ("lkc", GROUPS, set_counts([5, 1, 0, 0]), "1 rows have a share above C"),
    ("l (frequency)", EXACT, told("guarantees", 1, "l", value=3.001), "broken in"),
    ("l (entropy)", EXACT, told("guarantees", 3, "l", value=3.9), "broken in"),
    ("alpha", EXACT, told("guarantees", -2, "alpha", value=0.333), "broken in"),
    ("l (frequency)", COUNTS, set_counts([3, 2, 2, 1]), "broken in 1 of 120 rows, first at release row 1"),
    ("alpha", COUNTS, set_counts([3, 2, 2, 1]), "broken in 1 of 120 rows"),
    ("own value", EXACT, swap_across, "2 rows lack their original's value, first at release row 1"),
    ("own value", COUNTS, own_value_missing, "1 rows lack their original's value"),
    ("covers", EXACT, away_from_original, "1 rows have a cell of 'age' without their original, first at release row 1"),
    ("covers", COUNTS, away_from_original, "1 rows have a cell of 'age' without their original"),
    ("covers", EXACT, row_map(swap_first_two), "without their original"),
    ("legal cells", EXACT, cell_of("work", 1, 3, "*"), "1 rows have a cell of 'work' that its hierarchy lacks"),
    ("legal cells", NULLS, cell_of("work", 0, 2, "*"), "1 rows have a cell of 'work' that its hierarchy lacks"),
    ("cells", EXACT, both(put("age.lo", 30), put("age.hi", 29)), "a cell of 'age' has lo above hi"),
    ("cells", EXACT, both(put("work.lo", 2), put("work.hi", 1)), "a cell of 'work' has lo above hi"),
    ("cells", EXACT, put("work.hi", 5), "a cell of 'work' lies outside its domain"),
    ("cells", EXACT, put("work.lo", -1), "a cell of 'work' lies outside its domain"),
    ("cells", EXACT, put("work.lo", None), "column 'work' has rows without codes"),
    ("cells", EXACT, put("grade.hi", None), "column 'grade' has rows without codes"),
    ("cells", EXACT, put("age.hi", 40), "a cell of 'age' has an end that the manifest does not list"),
    ("cells", EXACT, put("age.lo", 19), "a cell of 'age' has an end that the manifest does not list"),
    ("cells", EXACT, put("age.lo", None), "a cell of 'age' has a missing value, and the column has none"),
    ("cells", NULLS, both(put("age.lo", 25), put("age.hi", None)), "a cell of 'age' has a first value and no last one"),
    ("cells", NULLS, cell_of("age", None, 30, "*"), "a cell of 'age' joins the missing value with some of the others"),
    ("rows", EXACT, lose_row, "120 rows are announced and 119 are there"),
    ("rows", EXACT, told("rows", "input", value=plus(1)), "input is not missing + suppressed + released"),
    ("rows", EXACT, lose_all, "the release is empty"),
    ("rows", NULLS, told("rows", value=lambda r: r | {"missing": 1, "input": r["input"] + 1}), "1 rows are counted as"),
    ("original", EXACT, told("rows", "input", value=plus(1)), "it has 120 rows, and the manifest says 121"),
    ("original", EXACT, lose_original_row, "it has 119 rows, and the manifest says 120"),
    ("original", EXACT, lose_original_column, "it lacks the columns 'day'"),
    ("dropped columns", EXACT, extra_original_column, "other columns than those"),
    ("dropped columns", EXACT, told("dropped", value=[]), "other columns than those"),
    ("dropped columns", EXACT, told("dropped", value=["name", "Ann"]), "other columns than those"),
    ("original values", EXACT, odd_original, "column 'age' has 5 values that are not of its type"),
    ("published leaves", EXACT, from_nowhere, "1 rows have an original whose value is in no leaf"),
    (
        "missing rows",
        DROPPED,
        told("rows", value=lambda r: r | {"missing": r["missing"] - 1, "suppressed": 1 + r["suppressed"]}),
        "originals have a missing value, and the manifest says",
    ),
    ("row map", EXACT, double_row, "it points 1 times to an original that another row has"),
    ("row map", EXACT, row_map(lambda rows: first_becomes(rows, rows[1])), "it points 1 times"),
    ("row map", EXACT, row_map(lambda rows: first_becomes(rows, 120)), "it points outside the 120 originals"),
    ("row map", EXACT, row_map(lambda rows: first_becomes(rows, -1)), "it points outside the 120 originals"),
    ("private folder", EXACT, row_map(list.pop), "holds rows in another form"),
    ("rows kept", DROPPED, row_from_missing, "1 rows come from originals with a missing value, first at release row 1"),
    ("counts", EXACT, told("quasi", 0, "counts", 3, value=plus(1)), "column 'age' adds up to 121, not to 120 released"),
    ("counts", NULLS, told("quasi", 0, "missing", value=plus(1)), "column 'age' adds up to 121"),
    ("counts", COUNTS, told("sensitive", "counts", 0, value=plus(1)), "column 'ill' adds up to 121"),
    ("counts", EXACT, told("quasi", 0, "counts", value=lambda c: c[1:]), "column 'age' has 19 counts for 20 values"),
    ("counts", EXACT, told("quasi", 1, "counts", value=lambda c: c[1:]), "column 'work' has 4 counts for 5 leaves"),
    ("counts", COUNTS, told("sensitive", "counts", value=lambda c: c[1:]), "column 'ill' has 3 counts for 4 values"),
    (
        "original counts",
        EXACT,
        both(told("quasi", 0, "counts", 9, value=plus(1)), told("quasi", 0, "counts", 8, value=plus(-1))),
        "column 'age' has 2 counts that are not those of the originals",
    ),
    (
        "original counts",
        EXACT,
        both(told("quasi", 3, "counts", 0, value=plus(1)), told("quasi", 3, "counts", 1, value=plus(-1))),
        "column 'grade' has 2 counts",
    ),
    (
        "original counts",
        NULLS,
        both(told("quasi", 0, "counts", 9, value=plus(1)), told("quasi", 0, "missing", value=plus(-1))),
        "column 'age' has 1 counts",
    ),
    (
        "original counts",
        COUNTS,
        both(told("sensitive", "counts", 0, value=plus(1)), told("sensitive", "counts", 1, value=plus(-1))),
        "column 'ill' has 2 counts",
    ),
    ("columns", EXACT, add_column, "the release has columns that were not announced: 'name'"),
    ("columns", EXACT, move_column, "the release has its columns in another order than announced"),
    ("columns", EXACT, drop("hours"), "the release lacks 'hours'"),
    ("columns", EXACT, drop("age"), "the release lacks 'age'"),
    ("columns", COUNTS, drop("ill=flu"), "the release lacks 1 distribution columns"),
    ("columns", EXACT, cast("age.lo", pl.Int32), "columns of another type than the format's: 'age.lo'"),
    ("columns", EXACT, cast("day.hi", pl.Datetime), "columns of another type than the format's: 'day.hi'"),
    ("columns", EXACT, cast("work.lo", pl.Int64), "columns of another type than the format's: 'work.lo'"),
    ("columns", EXACT, cast("work", pl.Categorical), "columns of another type than the format's: 'work'"),
    ("columns", EXACT, cast("ill", pl.Categorical), "columns of another type than the format's: 'ill'"),
    ("columns", COUNTS, cast("ill=flu", pl.Int64), "columns of another type than the format's: 1 distribution"),
    ("columns", COUNTS, cast("ill=flu", pl.Float64), "columns of another type than the format's: 1 distribution"),
    ("columns", EXACT, cast("hours", pl.Decimal(10, 2)), "columns of a type that can carry more"),
    ("columns", EXACT, put("hours", -0.0), "columns with a negative zero: 'hours'"),
    (
        "labels",
        EXACT,
        put("age", "20-21", 5),
        "1 rows have a label of 'age' that is another cell's, first at release row 6",
    ),
    ("labels", EXACT, put("work", "(missing)"), "1 rows have a label of 'work'"),
    ("labels", EXACT, put("day", None), "1 rows have a label of 'day'"),
    ("labels", EXACT, put("grade", "low|top"), "1 rows have a label of 'grade'"),
    ("distributions", COUNTS, put(f"ill={ILLS[0]}", -1), "1 rows have a negative count"),
    ("distributions", COUNTS, put(f"ill={ILLS[0]}", None), "some rows have no count"),
    ("distributions", COUNTS, set_counts([0, 0, 0, 0]), "1 rows have no members"),
    ("distributions", COUNTS, set_counts([2, 1, 1, 1]), "1 rows have fewer than k = 6 members"),
    ("distributions", COUNTS, set_counts([31, 30, 30, 30]), "1 rows count more members than there are rows"),
    (
        "distributions",
        GROUPS,
        set_counts([2, 2, 2, 1], 7),
        "1 rows have another distribution than their group, first at release row 8",
    ),
    ("members", COUNTS, set_counts([50, 50, 10, 10]), "1 rows count members that no covered original can be"),
    ("k", COUNTS, shrink_to_own, "rows that fit fewer than k = 6 people: 1, first at release row 1"),
    ("originals per row", EXACT, shrink_to_own, "rows that fit fewer than k = 6 people: 1"),
    ("other columns", EXACT, change_hours, "1 rows have a value of 'hours' that is not their original's"),
]


@pytest.mark.parametrize(("name", "kind", "mutate", "words"), MUTATIONS)
def test_a_planted_violation_is_found(valid, name, kind, mutate, words):
    made = valid[kind].copy()
    mutate(made)
    verdict = made.judge()
    assert answers(verdict)[name] is False, str(verdict)
    assert words in next(c.detail for c in verdict.checks if c.name == name and c.ok is False)
    with pytest.raises(VerificationError) as caught:
        verdict.raise_for_violations()
    assert any(violation.startswith(f"{name}: ") for violation in caught.value.violations)
    text = str(verdict) + verdict._repr_html_() + json.dumps(verdict.to_dict())
    assert not [secret for secret in (*ILLS, "person", "clerk", "nurse", "hand", "2020-") if secret in text]


@pytest.mark.parametrize(
    ("kind", "mutate"),
    [(EXACT, both(shrink_to_own, swap_across)), (EXACT, change_hours), (EXACT, double_row),
     (COUNTS, both(shrink_to_own, own_value_missing))],
)  # fmt: skip
def test_without_a_row_map_an_impossible_release_has_no_assignment(valid, kind, mutate):
    made = valid[kind].copy()
    mutate(made)
    made.private = None
    verdict = made.judge()
    assert answers(verdict)["assignment"] is False
    assert detail(verdict, "assignment") in (
        "only 119 of 120 released rows can be given an original of their own",
        "only 118 of 120 released rows can be given an original of their own",
    )


def test_a_budget_that_is_too_small_is_said(valid, monkeypatch):
    made = valid[EXACT].copy()
    assert made.judge().levels["releases_per_original_min"] == 12
    monkeypatch.setattr(linking, "PAIR_BUDGET", 10)
    verdict = made.judge()
    assert verdict.violations == []
    assert answers(verdict)["releases per original"] is None
    assert "lower bound" in detail(verdict, "releases per original")
    assert verdict.levels["releases_per_original_min"] == 6
    assert verdict.levels["releases_per_original_mean"] == 6
    made.private = None
    assert made.judge().levels["releases_per_original_min"] is None
    for budget in ("PAIR_BUDGET", "EDGE_BUDGET"):
        with monkeypatch.context() as patch:
            patch.setattr(assignment, budget, 10)
            assert answers(made.judge())["assignment"] is None


def test_only_promises_are_looked_at_when_publishing(valid):
    for kind in (EXACT, GROUPS, COUNTS):
        verdict = valid[kind].judge(only=True)
        assert verdict.violations == []
        assert "releases per original" not in answers(verdict)
        assert "releases per original" in answers(valid[kind].judge())


def places(data, path=()):
    """Every place in nested plain data."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


ODD = [None, True, -1, 0, 1.5, float("nan"), float("inf"), 10**30, "", "x", [], [None], [[]], {}, {"a": 1}]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", [EXACT, COUNTS, NULLS])
@pytest.mark.parametrize("part", ["manifest", "private"])
def test_no_plain_data_makes_the_verifier_stumble(valid, kind, part):
    """Whatever stands in a manifest or in the owner's domains, the answer is a verdict; a lost key is a violation."""
    rng = random.Random(0)
    source = valid[kind].manifest if part == "manifest" else valid[kind].private["domains"]
    lost = 0
    for path in places(source):
        for odd in [*rng.sample(ODD, 3), "lost"]:
            made = valid[kind].copy()
            parent = made.manifest if part == "manifest" else made.private["domains"]
            for key in path[:-1]:
                parent = parent[key]
            if odd == "lost" and (not path or path[:2] == ("method", "parameters")):
                continue
            if not path:
                made.manifest = odd if part == "manifest" else made.manifest
                made.private["domains"] = odd if part == "private" else made.private["domains"]
            elif odd == "lost":
                del parent[path[-1]]
            else:
                parent[path[-1]] = odd
            verdict = made.judge()
            assert json.loads(json.dumps(verdict.to_dict()))["ok"] is verdict.ok
            if odd == "lost" and not isinstance(path[-1], int):
                lost += 1
                assert not verdict.ok, path
    assert lost > 30 if part == "manifest" else lost == 16
