"""Ways to tell too much in a release that looks fine: every one of them was tried by somebody."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import polars as pl
import pytest

from incrowd.verify import check, verify
from verify.build import AGES, ILLS, Made, answers, make, put, put_other

PROMISES = [
    {"kind": "k", "k": 6},
    {"kind": "l", "l": 3, "l_kind": "frequency"},
    {"kind": "l", "l": 3, "l_kind": "recursive", "c": 3.0},
    {"kind": "t", "t": 0.2, "ordered": False},
    {"kind": "alpha", "alpha": 0.5},
]
LKC = {"kind": "lkc", "L": 2, "K": 6, "C": 0.6}


@pytest.fixture(scope="module")
def releases():
    return {
        "exact": make(guarantees=[*PROMISES, LKC]),
        "counts": make(form="counts", guarantees=[*PROMISES, LKC]),
        "loose": make(form="counts", recoding="non-homogeneous", guarantees=PROMISES),
    }


@pytest.fixture
def exact(releases):
    return releases["exact"].copy()


@pytest.fixture
def counts(releases):
    return releases["counts"].copy()


def judge(made: Made, *, rows: bool = True):
    return check(made.manifest, made.frame, original=made.original, rows=made.rows if rows else None, csv=made.csv)


def detail(verdict, name):
    return next(c.detail for c in verdict.checks if c.name == name)


# untouched columns


@pytest.mark.parametrize("announced", [True, False])
def test_any_column_that_is_not_released_may_not_be_repeated(exact, announced):
    exact.manifest["dropped"] = ["name"] if announced else []
    put_other(exact, exact.original["name"])
    assert answers(judge(exact))["identifiers"] is False
    assert answers(judge(exact, rows=False))["identifiers"] is False


def test_a_constant_that_is_not_released_tells_nothing(exact):
    exact.original = exact.original.with_columns(land=pl.lit("here"))
    put_other(exact, exact.original["land"])
    assert judge(exact).violations == []


@pytest.mark.parametrize("how", ["equal", "as text", "renamed"])
def test_an_untouched_column_may_not_repeat_a_generalized_one(exact, how):
    age = exact.original["age"]
    put_other(exact, {"equal": age, "as text": age.cast(pl.String), "renamed": 1000 - 7 * age}[how])
    verdict = judge(exact)
    assert answers(verdict)["other columns"] is False
    assert "'age'" in detail(verdict, "other columns")


def test_a_column_that_is_not_generalized_may_be_repeated(exact):
    for column in ("frame", "csv"):
        frame = getattr(exact, column)
        own = exact.original["age"][exact.rows]
        frame = frame.with_columns(own.cast(pl.String).alias("age"))
        if column == "frame":
            ranks = (own - 20).cast(pl.Int32)
            frame = frame.with_columns(ranks.alias("age.lo"), ranks.alias("age.hi"))
        setattr(exact, column, frame)
    put_other(exact, exact.original["age"])
    assert answers(judge(exact))["other columns"] is True


def test_a_coarser_column_of_two_values_is_no_copy(exact):
    put_other(exact, exact.original["age"] > 30)
    assert answers(judge(exact))["other columns"] is True


def test_a_few_rows_are_alike_by_chance():
    made = make(n=8, k=4)
    put_other(made, made.original["age"])
    assert judge(made).violations == []


@pytest.mark.parametrize("how", ["equal", "renamed"])
def test_an_untouched_column_may_not_tell_the_value_that_a_distribution_hides(releases, how):
    made = releases["loose"].copy()
    ill = made.original["ill"]
    put_other(made, ill if how == "equal" else ill.replace_strict(dict(zip(ILLS, "wxyz", strict=True))))
    assert answers(judge(made))["other columns"] is False


def test_a_nearly_unique_column_is_mentioned(exact):
    put_other(exact, pl.Series(np.random.default_rng(1).permutation(exact.original.height)))
    verdict = judge(exact)
    assert verdict.violations == []
    assert "nearly unique" in detail(verdict, "other columns")


# the manifest


def test_a_repeated_promise_does_not_hide_a_broken_one():
    made = make(recoding="non-homogeneous", guarantees=PROMISES[:1])
    made.manifest["guarantees"] += [{"kind": "l", "l": l, "l_kind": "distinct"} for l in (500, 1)]
    verdict = judge(made)
    assert [c.ok for c in verdict.checks if c.name == "l (distinct)"] == [False, True]


PLACES = [
    (), ("rows",), ("missing",), ("method",), ("quasi", 0), ("quasi", 0, "hierarchy"), ("quasi", 1, "hierarchy"),
    ("sensitive",), ("guarantees", 0), ("guarantees", 1), ("guarantees", -1),
]  # fmt: skip


@pytest.mark.parametrize("path", PLACES)
def test_no_object_of_the_manifest_has_other_keys(exact, path):
    place = exact.manifest
    for key in path:
        place = place[key]
    place["note"] = 1
    verdict = judge(exact)
    assert answers(verdict)["nothing private"] is False
    assert "'note'" in detail(verdict, "nothing private")


def test_c_belongs_to_recursive_diversity_only(exact):
    exact.manifest["guarantees"][1]["c"] = 3.0
    assert answers(judge(exact))["nothing private"] is False


@pytest.mark.parametrize(
    "parameters",
    [{"Seed": 1}, {"numpy_SEED": 1}, {"my_random_state": 0}, {"rows": [1, 2]}, {"a": {"b": 1}}, {"a": [[1]]},
     {"a": list(range(100))}, {"a": "x" * 1000}, {"a": 10**40}, {"Alice has the flu": 1}, {"a": "\ud800"}],
)  # fmt: skip
def test_parameters_are_few_words_and_numbers(exact, parameters):
    exact.manifest["method"]["parameters"] = parameters
    assert answers(judge(exact))["nothing private"] is False


@pytest.mark.parametrize("name", ["By Hand", "", "x" * 41, "näme"])
def test_a_method_has_a_short_name(exact, name):
    exact.manifest["method"]["name"] = name
    assert answers(judge(exact))["manifest"] is False


@pytest.mark.parametrize(
    ("version", "ok"), [("0.1.0", True), ("1.2.3rc1.dev2", True), ("0.1 by Ann", False), ("", False)]
)
def test_the_version_is_one(exact, version, ok):
    exact.manifest["incrowd"] = version
    assert answers(judge(exact))["manifest"] is ok


def test_a_key_that_is_named_twice_is_refused(exact, tmp_path):
    folder = exact.write(tmp_path / "out")
    text = json.dumps(exact.manifest)
    (folder / "manifest.json").write_text('{"other": ["name"],' + text[1:])
    verdict = verify(folder)
    assert answers(verdict)["files"] is False
    assert "twice" in detail(verdict, "files")


@pytest.mark.parametrize(
    ("mutate", "words"),
    [(lambda m: m.update(guarantees=[{"kind": "k", "k": 500}]), "released rows"),
     (lambda m: m.update(guarantees=[]), "promises nothing"),
     (lambda m: m["method"]["parameters"].update(k=7), "asked for k = 7"),
     (lambda m: m.update(recoding="non-homogeneous"), "not defined")],
)  # fmt: skip
def test_a_promise_that_cannot_hold_is_refused_at_sight(exact, mutate, words):
    mutate(exact.manifest)
    verdict = check(exact.manifest, exact.frame)
    assert answers(verdict)["promises"] is False
    assert words in detail(verdict, "promises")


def test_a_promise_beyond_the_parameter_is_fine(exact):
    exact.manifest["method"]["parameters"]["k"] = 5
    assert judge(exact).violations == []


def test_what_was_not_shown_is_said_first(releases):
    made = releases["loose"]
    assert str(check(made.manifest, made.frame)).startswith(
        "Verdict: holds as far as it could be checked; 1 promise not shown"
    )
    assert str(judge(made)).startswith("Verdict: holds (")
    exact_loose = make(recoding="non-homogeneous", guarantees=PROMISES)
    assert "5 promises not shown" in str(check(exact_loose.manifest, exact_loose.frame))


def test_at_least_one_column_is_generalized(exact):
    exact.manifest["quasi"] = []
    assert answers(judge(exact))["manifest"] is False


def numbers_for_ills(made: Made, values: list[int]) -> None:
    number = dict(zip(ILLS, values, strict=True))
    made.manifest["sensitive"] |= {"type": "int", "values": values}
    for name in ("original", "frame", "csv"):
        frame = getattr(made, name)
        setattr(made, name, frame.with_columns(pl.col("ill").replace_strict(number, return_dtype=pl.Int64)))


def test_numbers_are_listed_in_increasing_order(exact):
    made = exact.copy()
    numbers_for_ills(made, [1, 2, 3, 4])
    assert judge(made).violations == []
    numbers_for_ills(exact, [2, 1, 3, 4])
    assert answers(judge(exact))["manifest"] is False


# the rows


def test_a_date_is_no_time(exact):
    days = [date(2021, 1, d) for d in (1, 2, 3, 4)]
    exact.manifest["sensitive"] |= {"type": "date", "values": [str(d) for d in days]}
    number = dict(zip(ILLS, days, strict=True))
    for name in ("original", "frame"):
        frame = getattr(exact, name)
        setattr(exact, name, frame.with_columns(pl.col("ill").replace_strict(number, return_dtype=pl.Date)))
    exact.csv = None
    assert judge(exact).violations == []
    exact.frame = exact.frame.with_columns(pl.col("ill").cast(pl.Datetime) + pl.duration(microseconds=17))
    assert answers(judge(exact))["columns"] is False


@pytest.mark.parametrize("dtype", [pl.Enum([*ILLS, "Alice"]), pl.Categorical()])
def test_text_is_text(exact, dtype):
    exact.frame = exact.frame.with_columns(pl.col("ill").cast(dtype))
    assert answers(judge(exact))["columns"] is False


@pytest.mark.parametrize(
    "column",
    [pl.col("hours").cast(pl.Decimal(10, 2)), pl.concat_list("hours"), pl.struct("hours").alias("hours"),
     pl.col("hours").cast(pl.String).cast(pl.Binary), pl.col("hours").cast(pl.String).cast(pl.Categorical)],
)  # fmt: skip
def test_untouched_columns_hold_plain_values(exact, column):
    exact.frame = exact.frame.with_columns(column)
    assert answers(judge(exact))["columns"] is False


def test_tokens_mean_nothing_in_the_release(exact):
    exact.manifest["missing"] = {"policy": "value", "tokens": ["?"]}
    exact.manifest["sensitive"]["values"] = [None, *ILLS]
    exact.manifest["sensitive"]["marginal"] = [0, *exact.manifest["sensitive"]["marginal"]]
    exact.frame = put(exact.frame, "ill", 0, "?")
    assert answers(judge(exact))["sensitive values"] is False


def set_counts(made, row, values):
    for ill, value in zip(ILLS, values, strict=True):
        made.frame = put(made.frame, f"ill={ill}", row, value)
        made.csv = put(made.csv, f"ill={ill}", row, value / sum(values))


def test_counts_have_room_in_the_marginal(releases):
    made = releases["loose"].copy()
    made.manifest["sensitive"]["marginal"] = [1, 39, 40, 40]
    verdict = check(made.manifest, made.frame)
    assert "beyond its marginal" in detail(verdict, "distributions")
    made = releases["loose"].copy()
    made.manifest["sensitive"]["marginal"] = [10**6] * 4
    set_counts(made, 0, [50, 50, 50, 50])
    assert "more members than there are rows" in detail(check(made.manifest, made.frame), "distributions")


def test_rows_of_a_group_have_one_distribution(counts):
    own = [counts.frame[f"ill={ill}"][0] for ill in ILLS]
    set_counts(counts, 0, [own[0] + 1, *own[1:]])
    verdict = check(counts.manifest, counts.frame)
    assert answers(verdict)["distributions"] is False
    assert "first at release row 1" in detail(verdict, "distributions")


@pytest.mark.parametrize("order", ["near", "reversed", "shuffled"])
def test_rows_nearly_in_order_are_found(exact, tmp_path, order):
    at = np.argsort(exact.rows)
    at = at[::-1] if order == "reversed" else at
    if order == "near":
        at[[0, 1, 7, 8]] = at[[1, 0, 8, 7]]
    if order != "shuffled":
        exact.frame, exact.csv, exact.rows = exact.frame[at], exact.csv[at], exact.rows[at]
    assert answers(verify(exact.write(tmp_path / "out")))["order"] is (order == "shuffled")


def test_without_a_row_map_the_order_cannot_be_seen(exact, tmp_path):
    assert answers(verify(exact.write(tmp_path / "out", row_map=False)))["order"] is None


def test_rows_are_counted_from_one(exact):
    exact.frame = put(exact.frame, "age.hi", 3, len(AGES))
    assert "first at release row 4" in detail(judge(exact), "cells")
