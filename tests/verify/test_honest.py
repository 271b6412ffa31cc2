"""Releases that are right are found right: those of every publisher, and those written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify import check
from verify.build import Made, answers, make, publish

ALL_PROMISES = [
    {"kind": "k", "k": 6},
    {"kind": "l", "l": 3, "l_kind": "frequency"},
    {"kind": "l", "l": 4, "l_kind": "distinct"},
    {"kind": "l", "l": 3.7, "l_kind": "entropy"},
    {"kind": "l", "l": 3, "l_kind": "recursive", "c": 3.0},
    {"kind": "t", "t": 0.15, "ordered": False},
    {"kind": "t", "t": 0.15, "ordered": True},
    {"kind": "alpha", "alpha": 0.34},
    {"kind": "lkc", "L": 2, "K": 6, "C": 0.6},
]
KINDS = {
    "homogeneous exact": {"guarantees": ALL_PROMISES},
    "homogeneous counts": {"form": "counts", "guarantees": ALL_PROMISES},
    "missing dropped": {"missing": True},
    "missing is a value": {"missing": True, "policy": "value"},
    "non-homogeneous counts": {"recoding": "non-homogeneous", "form": "counts", "guarantees": ALL_PROMISES[:-1]},
    "non-homogeneous, missing": {"recoding": "non-homogeneous", "form": "counts", "missing": True, "policy": "value"},
}
METHODS = [
    ic.Mondrian(k=5, l=2),
    ic.Mondrian(k=4, recoding="single"),
    ic.Mondrian(k=4, l=1.5, cut="loss"),
    ic.InfoGainMondrian(k=5, t=0.5),
    ic.BestCuts(k=5, l=1.5),
    ic.SeqA(k=4, l=1.5, l_kind="entropy"),
    ic.TightGroups(k=4, l=1.5),
    ic.NHAA(k=4, l=2),
    ic.TDS(k=5, alpha=0.8),
    ic.TDR(k=5, l=2, l_kind="distinct"),
    ic.PAIS(k=5, L=2, C=0.9),
    ic.IACk(k=4, l=2, l_kind="recursive"),
    ic.IACc(k=3, delta_c=None, delta_d=None),
    ic.KACTUS(k=5),
    ic.TreeAnonymizer(k=5),
    ic.NSVDist(k=4, l=1.5),
    ic.NSVDist(k=4, l=2, mode="paper"),
]


def open_checks(made: Made, *, private: bool = True, original: bool = True) -> set[str]:
    verdict = check(
        made.manifest,
        (made.frame,),
        original=made.original if original else None,
        private=made.private if private else None,
    )
    assert verdict.violations == []
    return {name for name, ok in answers(verdict).items() if ok is None}


@pytest.mark.parametrize("kind", KINDS)
def test_releases_by_hand(kind):
    made = make(**KINDS[kind])
    loose = made.manifest["recoding"] == "non-homogeneous"
    suppressed = made.manifest["rows"]["suppressed"] > 0
    assert open_checks(made) == {"method"}
    without = {"method", "row map", "domains"} | ({"original counts"} if suppressed else set())
    assert open_checks(made, private=False) == without
    assert open_checks(made, original=False) == {"method", "original"} | ({"k"} if loose else set())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name} {getattr(method, 'mode', '')}")
@pytest.mark.parametrize(
    ("missing", "policy", "domains"), [(False, "value", "joined"), (True, "value", "joined"), (True, "drop", "exact")]
)
def test_releases_of_every_publisher(method, missing, policy, domains):
    made = publish(method, missing=missing, policy=policy, domains=domains)
    assert open_checks(made) == set()
    alone = open_checks(made, original=False)
    loose, shares = made.manifest["recoding"] == "non-homogeneous", "blocks" in made.private
    l_open = {"l (frequency)"} if method.name == "nhaa" else set()
    concealed = any(g["kind"] == "concealment" for g in made.manifest["guarantees"])
    hidden = ({"concealment"} if concealed else set()) | ({"blocks"} if shares else set())
    assert alone == {"original"} | ({"k"} if loose else set()) | hidden | l_open
    open_checks(made, private=False)


def test_labels_may_be_absent_in_memory():
    made = make()
    made.frame = made.frame.drop("age", "work", "day", "grade")
    assert open_checks(made) == {"method", "labels"}


def test_a_row_map_alone_leaves_the_rest_open():
    made = make()
    made.private = {"rows": made.private["rows"]}
    assert open_checks(made) == {"method", "private folder", "domains"}


@pytest.mark.parametrize("method", [ic.NHAA(k=4, l=2), ic.NSVDist(k=4, l=1.5), ic.NSVDist(k=4, mode="paper")])
def test_without_the_private_folder_a_promise_stays_open(method):
    made = publish(method)
    verdict = check(made.manifest, (made.frame,), original=made.original)
    assert verdict.violations == []
    assert not verdict.complete


def test_the_sensitive_column_may_be_of_any_type():
    for kind, values in {
        "int": [3, -1, 2, 7],
        "float": [0.5, -1.25, 3.0, 1e-7],
        "bool": [True, False, True, False],
        "date": pl.Series(["2020-01-01", "2020-01-02", "2019-05-05", "2021-01-01"]).str.to_date().to_list(),
    }.items():
        made = make()
        swap = dict(zip(["angina", "flu", "measles", "zoster"], values, strict=True))
        dtype = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean, "date": pl.Date}[kind]
        made.original, made.frame = (
            frame.with_columns(pl.col("ill").replace_strict(swap, return_dtype=dtype))
            for frame in (made.original, made.frame)
        )
        made.manifest["sensitive"]["type"] = kind
        assert open_checks(made) == {"method"}


def test_without_the_private_folder_the_promises_that_stay_open_are_named():
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 80, 120)
    jobs = [f"job {number}" for number in rng.integers(0, 40, 120)]
    frame = pl.DataFrame({"age": ages, "job": jobs, "ill": rng.choice(["a", "b", "c"], 120)})
    schema = ic.Schema(quasi={"age": ic.Intervals(), "job": ic.balanced(3)}, sensitive="ill")
    release = replace(ic.NSVDist(k=5).publish(frame, schema, seed=1), private=None)
    verdict = release.verify(frame)
    assert verdict.ok
    assert not verdict.complete
    assert verdict.unchecked == ["blocks", "k"]


def test_the_roles_of_columns_are_said():
    frame = pl.DataFrame({"name": ["a", "b"], "age": [1, 1], "job": ["x", "x"], "ill": ["y", "n"]})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=["job"], identifiers=["name"])
    said = [check.detail for check in ic.Mondrian(k=2).publish(frame, schema).verify().checks if check.name == "roles"]
    assert said == ["recognized by age; sensitive ill; as they came job; not released 1"]


def said(verdict, name="owner's word"):
    (found,) = [check for check in verdict.checks if check.name == name]
    assert found.ok
    return found.detail


def test_what_only_the_owner_knows_is_said():
    """Tokens that nobody needs, nodes that no cell shows, values that nobody has, and the parameters."""
    frame = pl.DataFrame({"job": ["a"] * 4 + ["b"] * 4 + ["c"] * 4, "ill": ["y", "n"] * 6})
    tree = ic.Taxonomy(["a", "b", "c", "d"], [["ab", "ab", "c", "d"]])
    schema = ic.Schema(quasi={"job": tree}, sensitive="ill", missing_tokens=["?", "n/a"])
    detail = {how: said(ic.TDS(k=4).publish(frame, schema, domains=how).verify()) for how in ("joined", "exact")}
    given = 'parameters {"k": 4, "l": 1, "l_kind": "frequency", "c": 3.0, "t": null, "ordered": false, "alpha": null}'
    assert detail["exact"].endswith(f"; 1 listed values that nobody has; {given}")
    assert detail["joined"] == f"missing tokens '?', 'n/a'; 1 names of nodes, 1 of them in no cell; {given}"


def test_projections_say_it_too():
    frame = pl.DataFrame({"job": list("aabb") * 5, "ill": list("yn") * 10})
    schema = ic.Schema(quasi={"job": None}, sensitive="ill", missing_tokens=["?"])
    release = ic.DMPD(k=2, generations=0, population=2, folds=2).publish(frame, schema, seed=1)
    assert said(release.verify()).startswith("missing tokens '?'; parameters {\"k\": 2, ")


def test_nothing_is_said_of_parameters_that_are_not_known():
    made = make()
    assert said(made.judge()) == "missing tokens '?'; 3 names of nodes, 3 of them in no cell"
    made.manifest["missing"]["tokens"] = []
    made.manifest["quasi"][1]["levels"] = made.manifest["quasi"][1]["levels"][1:]
    assert said(made.judge()) == "nothing else"


def test_counts_of_members_are_counted():
    made = publish(ic.NSVDist(k=4, l=2, mode="paper"))
    counts = made.frame.select(name for name in made.frame.columns if name.startswith("ill="))
    smallest = counts.sum_horizontal().min()
    assert said(made.judge(), "distributions") == f"every row has at least {smallest} members"


def test_a_value_that_no_row_counts_is_found():
    made = publish(ic.NSVDist(k=4, l=2, mode="paper"))
    about = made.manifest["sensitive"]
    made.frame = made.frame.drop(f"ill={about['values'].pop()}")
    about["counts"].pop()
    assert answers(made.judge())["own value"] is False


def test_how_many_originals_fit_is_said_to_be_a_lower_bound_where_it_is():
    by_groups, by_members = publish(ic.Mondrian(k=5)).judge(), publish(ic.NSVDist(k=4, l=2, mode="paper")).judge()
    assert said(by_groups, "originals per row").endswith("people (a lower bound: identical rows that cover their "
                                                         "own originals were not counted on)")  # fmt: skip
    assert said(by_members, "k").endswith(f"at least {by_members.levels['originals_per_release_min']} people")


def test_without_a_row_map_that_can_be_read_rows_are_matched():
    made = publish(ic.Mondrian(k=5))
    made.private["rows"] = made.private["rows"].cast(pl.String)
    found = answers(made.judge())
    assert found["private folder"] is False
    assert found["row map"] is found["domains"] is None


def test_the_row_map_is_checked_without_the_original_too():
    made = publish(ic.Mondrian(k=5))
    made.original = None
    assert answers(made.judge())["row map"] is True
    made.set_rows([made.rows[1], *made.rows[1:]])
    assert answers(made.judge())["row map"] is False


def test_a_value_that_no_row_counts_is_found_without_a_row_map():
    made = publish(ic.NSVDist(k=4, l=2, mode="paper"), domains="exact")
    made.private = None
    assert answers(made.judge())["assignment"] is True
    for at in (0, -1):
        forged = publish(ic.NSVDist(k=4, l=2, mode="paper"), domains="exact")
        forged.private = None
        about = forged.manifest["sensitive"]
        forged.frame = forged.frame.drop(f"ill={about['values'].pop(at)}")
        about["counts"].pop(at)
        assert answers(forged.judge())["assignment"] is False


def test_sensitive_values_of_another_type_are_counted():
    made = make()
    made.manifest["sensitive"]["type"] = "int"
    swap = {ill: number for number, ill in enumerate(["angina", "flu", "measles", "zoster"])}
    made.frame = made.frame.with_columns(pl.col("ill").replace_strict(swap, return_dtype=pl.Int64))
    made.original = made.original.with_columns(pl.col("ill").replace_strict(swap).cast(pl.String))
    assert open_checks(made) == {"method"}
    made.original = made.original.with_columns(
        pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("x")).otherwise("ill").alias("ill")
    )
    verdict = made.judge()
    assert answers(verdict)["original values"] is False
    assert "column 'ill' has 2 values that are not of its type" in str(verdict)


@pytest.mark.parametrize("hierarchy", [ic.Intervals(), None, ic.balanced(2)], ids=["intervals", "flat", "balanced"])
@pytest.mark.parametrize("n_known", [1, 2, 4])
def test_a_column_that_hardly_anybody_has(hierarchy, n_known):
    """Fewer than k rows have a value: there is one range, or one leaf, and its count may be rounded down to none."""
    frame = pl.DataFrame({"x": [*range(n_known), *[None] * (40 - n_known)], "age": [i % 9 for i in range(40)]})
    schema = ic.Schema(quasi={"x": hierarchy, "age": ic.Intervals()}, missing="value")
    for seed in range(4):
        assert ic.Mondrian(k=5).publish(frame, schema, seed=seed).verify(frame).complete
