"""Tables 1 and 2 and Eq. (1) of the NSVDist paper, written as releases."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from verify import naive_levels as naive
from verify.build import Made, answers

NAMES = ["Alice", "Bob", "Carol", "David", "Eve"]
AGES = [21, 30, 47, 55]
ZIPS = ["10023", "10055", "10165", "10224"]
ZIP_LEVELS = [[z[:n] + "*" * (5 - n) for z in ZIPS] for n in (4, 3, 2)]
ILLS = ["Angina", "Diabetes", "Flu", "Measles"]
TABLE_1A = pl.DataFrame(
    {
        "name": NAMES,
        "age": [30, 21, 21, 55, 47],
        "zip": ["10055", "10055", "10023", "10165", "10224"],
        "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
    }
)
AGE_CELLS = {"21": (21, 21), "21-30": (21, 30), "47-55": (47, 55), "21-55": (21, 55)}
ZIP_CELLS = {"10055": (1, 1), "100**": (0, 1), "10***": (0, 3)}
HALF = {"M": "Measles", "F": "Flu", "A": "Angina", "D": "Diabetes"}


def release(cells, diseases, *, recoding, guarantees, original=TABLE_1A) -> Made:
    """`diseases` holds one letter per row for exact values, or the members' letters for distributions."""
    form = "exact" if all(len(letters) == 1 for letters in diseases) else "counts"
    columns = {
        "age": [age for age, _ in cells],
        "age.lo": [AGE_CELLS[age][0] for age, _ in cells],
        "age.hi": [AGE_CELLS[age][1] for age, _ in cells],
        "zip": [z for _, z in cells],
        "zip.lo": [ZIP_CELLS[z][0] for _, z in cells],
        "zip.hi": [ZIP_CELLS[z][1] for _, z in cells],
    }
    if form == "exact":
        columns["disease"] = [HALF[letter] for letter in diseases]
    else:
        counts = [Counter(HALF[letter] for letter in letters) for letters in diseases]
        columns |= {f"disease={ill}": [count[ill] for count in counts] for ill in ILLS}
    whole = {c: pl.Int32 for c in columns if c.startswith("zip.") or "=" in c}
    frame = pl.DataFrame(columns).cast(whole)
    n = len(cells)
    ages, zips, ills = (
        [original[name].to_list().count(value) for value in listed]
        for name, listed in (("age", AGES), ("zip", ZIPS), ("disease", ILLS))
    )
    manifest = {
        "format": 2,
        "incrowd": "0.2.0",
        "polars": "1.35.2",
        "method": {"name": "by_hand", "parameters": {}},
        "recoding": recoding,
        "guarantees": guarantees,
        "rows": {"input": n, "missing": 0, "suppressed": 0, "released": n},
        "missing": {"policy": "drop", "tokens": []},
        "domains": "exact",
        "quasi": [
            {"name": "age", "kind": "intervals", "type": "int", "missing": None, "values": AGES, "counts": ages},
            {"name": "zip", "kind": "taxonomy", "type": "str", "leaves": ZIPS, "levels": ZIP_LEVELS, "rest": [],
             "counts": zips},
        ],
        "sensitive": {"name": "disease", "type": "str", "form": form}
        | ({} if form == "exact" else {"values": ILLS, "counts": ills}),
        "target": "disease",
        "other": [],
        "dropped": [name for name in original.columns if name not in ("age", "zip", "disease")],
    }  # fmt: skip
    domains = [
        {"name": "age", "hierarchy": {"kind": "intervals", "type": "int", "values": AGES}, "counts": ages,
         "leaf_of": None},
        {"name": "zip", "hierarchy": {"kind": "taxonomy", "type": "str", "leaves": ZIPS, "levels": ZIP_LEVELS},
         "counts": zips, "leaf_of": [0, 1, 2, 3]},
    ]  # fmt: skip
    made = Made(manifest, frame, {"domains": {"quasi": domains}}, original)
    made.set_rows(list(range(n)))
    return made


def promise(k, l):
    return [{"kind": "k", "k": k}, {"kind": "l", "l": l, "l_kind": "frequency"}]


TABLE_1B = [("21-30", "100**")] * 3 + [("47-55", "10***")] * 2
TABLE_1C = [("21-30", "10055"), ("21", "100**"), ("21-30", "100**"), ("47-55", "10***"), ("47-55", "10***")]
EXACT = ["M", "F", "A", "F", "D"]
TABLE_2 = ["MF", "FA", "AM", "FD", "FD"]

CASES = {
    "Table 1(b)": (TABLE_1B, EXACT, "homogeneous"),
    "Table 1(c)": (TABLE_1C, EXACT, "non-homogeneous"),
    "Table 2": (TABLE_1C, TABLE_2, "non-homogeneous"),
}


def verdict_of(case, k, l, *, private=True, original=True):
    """Of exact values that are not grouped, only the row map is known: there are no rings."""
    cells, diseases, recoding = CASES[case]
    made = release(cells, diseases, recoding=recoding, guarantees=promise(k, l))
    owned = {"rows": made.private["rows"]} if case == "Table 1(c)" else made.private
    made.private = owned if private else None
    made.original = made.original if original else None
    return made.judge()


@pytest.mark.parametrize("case", CASES)
def test_the_papers_tables_are_2_anonymous_and_2_diverse(case):
    verdict = verdict_of(case, 2, 2)
    assert verdict.violations == []
    assert answers(verdict)["k"]
    assert answers(verdict)["l (frequency)"]
    assert verdict.levels["k"] == 2
    assert verdict.levels["l_frequency"] == pytest.approx(2)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("k", "l", "name"), [(3, 2, "k"), (2, 3, "l (frequency)"), (2, 2.01, "l (frequency)")])
def test_the_papers_tables_promise_no_more(case, k, l, name):
    verdict = verdict_of(case, k, l)
    assert answers(verdict)[name] is False


@pytest.mark.parametrize("case", CASES)
def test_an_assignment_is_found_without_the_row_map(case):
    verdict = verdict_of(case, 2, 2, private=False)
    assert verdict.violations == []
    assert answers(verdict)["assignment"]


def test_without_the_original_non_homogeneous_k_cannot_be_told():
    verdict = verdict_of("Table 2", 2, 2, private=False, original=False)
    assert verdict.ok
    assert answers(verdict)["k"] is None
    assert verdict.levels["k"] is None
    assert answers(verdict)["l (frequency)"]


def test_rows_linked_to_each_original():
    """Alice fits rows 1, 3; Bob 1, 2, 3; Carol 2, 3; David and Eve 4, 5."""
    levels = verdict_of("Table 1(c)", 2, 2).levels
    boxes = [(AGE_CELLS[a], ZIP_CELLS[z]) for a, z in TABLE_1C]
    codes = [(a, ZIPS.index(z)) for a, z in TABLE_1A.select("age", "zip").iter_rows()]
    linked = [sum(naive.covered(box, point) for box in boxes) for point in codes]
    assert linked == [2, 3, 2, 2, 2]
    assert levels["releases_per_original_min"] == 2
    assert levels["releases_per_original_mean"] == pytest.approx(11 / 5)


def test_equation_1_is_the_closure_of_bob_carol_and_david():
    """(21-55, 10***, {Flu 2/3, Angina 1/3}) generalizes them, with diversity 3/2."""
    made = release(
        [("21-55", "10***")] * 3, ["FFA"] * 3, recoding="non-homogeneous", guarantees=promise(3, 1.5),
        original=TABLE_1A[[1, 2, 3]],
    )  # fmt: skip
    verdict = made.judge()  # of the five people's four diseases, these three have two
    assert verdict.violations == ["original counts: column 'disease' lists 2 values that no original has"]
    assert verdict.levels["k"] == 3
    assert verdict.levels["l_frequency"] == 1.5
    made.manifest["guarantees"] = promise(3, 1.51)
    assert answers(made.judge())["l (frequency)"] is False


def test_exact_values_between_the_bounds_are_neither_accepted_nor_refused():
    """With a second row of Flu in reach, equal weights give Bob 2/4; three linked values would still allow 1/3."""
    verdict = verdict_of("Table 1(c)", 2, 2)
    assert verdict.levels["l_distinct"] == 2
    cells = [("21-55", "10***")] * 5
    made = release(cells, EXACT, recoding="non-homogeneous", guarantees=promise(2, 3))
    made.private = {"rows": made.private["rows"]}
    middle = made.judge()
    assert answers(middle)["l (frequency)"] is None
    assert middle.levels["l_frequency"] == pytest.approx(5 / 2)
