"""The manifest is read as a stranger's claims: whatever is not of its kind, or could carry a message, is refused."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.verify.manifest import read_claims
from verify.build import Made, answers, make, publish
from verify.test_honest import ALL_PROMISES


@pytest.fixture(scope="module")
def releases() -> dict[str, Made]:
    return {
        "exact": make(guarantees=ALL_PROMISES),
        "counts": make(form="counts", recoding="non-homogeneous", guarantees=ALL_PROMISES[:-1]),
        "nulls": make(missing=True, policy="value"),
    }


def problems_of(made: Made) -> dict[str, list[str]]:
    claims, reading = read_claims(made.manifest)
    found = {name: getattr(reading, name) for name in ("manifest", "hierarchies", "marginals", "private", "promises")}
    assert (claims is None) is bool(found["manifest"] or found["hierarchies"] or found["marginals"])
    return {name: problems for name, problems in found.items() if problems}


def test_honest_manifests_are_read(releases):
    for made in releases.values():
        assert problems_of(made) == {}


PLACES = [
    (),
    ("rows",),
    ("missing",),
    ("method",),
    ("quasi", 0),
    ("quasi", 1),
    ("quasi", 3),
    ("sensitive",),
    ("guarantees", 0),
    ("guarantees", 1),
    ("guarantees", 4),
    ("guarantees", -1),
]


@pytest.mark.parametrize("path", PLACES)
def test_no_object_has_other_keys_or_another_order(releases, path):
    for change in ("add", "turn"):
        made = releases["exact"].copy()
        place = made.manifest
        for key in path:
            place = place[key]
        if change == "add":
            place["note"] = 1
            assert any("the key 'note'" in text for text in problems_of(made).get("private", ())) or path == ("method",)
        else:
            turned = dict(reversed(list(place.items())))
            place.clear()
            place.update(turned)
            assert "not in the order of the format" in str(problems_of(made)["private"])
        assert answers(made.judge())["nothing private"] is False


def put(*path, value):
    def mutate(manifest):
        place = manifest
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value

    return mutate


AGE, WORK, DAY, GRADE = (("quasi", number) for number in range(4))
REFUSED = [
    # release, what is planted, what is noted where
    ("exact", put("format", value=1), "manifest", "format is 1, and this verifier knows formats 2, 3, 4, 5, 6"),
    ("exact", put("format", value=True), "manifest", "format is not a whole number"),
    ("exact", put("incrowd", value="0.1 by Ann"), "manifest", "incrowd is not a version number"),
    ("exact", put("polars", value="latest"), "manifest", "polars is not a version number"),
    ("exact", put("recoding", value="loose"), "manifest", "recoding is neither homogeneous nor non-homogeneous"),
    ("exact", put("domains", value="rounded"), "manifest", "domains is neither joined nor exact"),
    ("exact", put("domains", value=1), "manifest", "domains is not text"),
    ("exact", put("method", "name", value="Ann's"), "manifest", "method.name is not a short name"),
    ("exact", put("method", "parameters", value=[]), "manifest", "method.parameters is not an object"),
    ("exact", put("rows", "input", value=-1), "manifest", "rows.input is not a count"),
    ("exact", put("rows", "released", value=1.0), "manifest", "rows.released is not a count"),
    ("exact", put("missing", "policy", value="guess"), "manifest", "missing.policy is neither drop nor value"),
    ("exact", put("missing", "tokens", value="?"), "manifest", "missing.tokens is not a list of texts"),
    ("exact", put("missing", "tokens", value=["?", "?"]), "private", "missing.tokens are not a few short texts"),
    ("exact", put("missing", "tokens", value=["x" * 41]), "private", "missing.tokens are not a few short texts"),
    ("exact", put("missing", "tokens", value=[str(i) for i in range(33)]), "private", "missing.tokens are not a few"),
    ("exact", put("quasi", value=[]), "manifest", "quasi names no column"),
    ("exact", put("quasi", value=lambda q: [*q, "age"]), "manifest", "quasi[4] is not an object"),
    ("exact", put(*AGE, "kind", value="ranges"), "manifest", "quasi[0].kind is not one of intervals, taxonomy, names"),
    ("exact", put(*AGE, "type", value="str"), "manifest", "quasi[0].type is not one of int, float, date"),
    ("exact", put(*GRADE, "type", value="int"), "manifest", "quasi[3].type is not one of str, bool"),
    ("exact", put(*WORK, "type", value="list"), "manifest", "quasi[1].type is not one of int, float, str, date, bool"),
    ("exact", put(*AGE, "missing", value=-1), "manifest", "quasi[0].missing is not a count or null"),
    ("exact", put(*AGE, "counts", value=[1.5]), "manifest", "quasi[0].counts is not a list of counts"),
    ("exact", put(*AGE, "counts", 0, value=2**40), "manifest", "quasi[0].counts is not a list of counts"),
    (
        "exact",
        put(*AGE, "values", 3, value=23.5),
        "manifest",
        "quasi[0].values holds something that is not of type int",
    ),
    (
        "exact",
        put(*AGE, "values", 3, value=None),
        "manifest",
        "quasi[0].values holds something that is not of type int",
    ),
    (
        "exact",
        put(*DAY, "values", 0, value="2020-1-1"),
        "manifest",
        "quasi[2].values holds something that is not of type",
    ),
    ("exact", put(*AGE, "values", 3, value=22), "hierarchies", "column 'age' lists values that are not in increasing"),
    ("exact", put(*AGE, "values", 3, value=21), "hierarchies", "column 'age' lists values that are not in increasing"),
    (
        "exact",
        put(
            "quasi",
            0,
            value={"name": "age", "kind": "intervals", "type": "int", "missing": None, "values": [], "counts": []},
        ),
        "hierarchies",
        "column 'age' lists no values",
    ),
    (
        "exact",
        put(*WORK, "levels", value=lambda v: [v[0], ["u", "v", "v", "v", "v"], v[1]]),
        "hierarchies",
        "level 1 is not nested in level 2",
    ),
    (
        "exact",
        put(*WORK, "levels", 0, value=["a", "b", "a", "b", "c"]),
        "hierarchies",
        "level 1 has nodes that are not contig",
    ),
    ("exact", put(*WORK, "levels", 0, value=["a", "b"]), "hierarchies", "level 1 has 2 entries for 5 leaves"),
    (
        "exact",
        put(*WORK, "levels", 1, value=["*", "*", "*", "*", "x"]),
        "hierarchies",
        "column 'work' has no single root",
    ),
    ("exact", put(*WORK, "levels", value=[]), "hierarchies", "column 'work' has no single root"),
    ("exact", put(*WORK, "leaves", 1, value="clerk"), "hierarchies", "column 'work' lists 1 values more than once"),
    ("exact", put(*WORK, "leaves", 2, value=None), "hierarchies", "has a missing leaf that is not the first"),
    ("exact", put(*WORK, "leaves", 1, value=None), "hierarchies", "has a missing leaf that is not the first"),
    ("exact", put(*WORK, "leaves", 2, value=7), "hierarchies", "column 'work' has leaves that are not of type str"),
    (
        "exact",
        put(*GRADE, "leaves", 0, value=True),
        "hierarchies",
        "column 'grade' has leaves that are not of type str",
    ),
    ("exact", put(*WORK, "rest", value=[5]), "hierarchies", "has a list of rest that is not one of its leaves"),
    ("exact", put(*WORK, "rest", value=[1, 0]), "hierarchies", "has a list of rest that is not one of its leaves"),
    ("exact", put(*WORK, "rest", value=[1, 1]), "hierarchies", "has a list of rest that is not one of its leaves"),
    ("nulls", put(*WORK, "rest", value=[0]), "hierarchies", "has a list of rest that is not one of its leaves"),
    (
        "exact",
        put("quasi", 3, value=lambda q: q | {"leaves": [], "counts": []}),
        "hierarchies",
        "column 'grade' lists no values",
    ),
    ("exact", put(*AGE, "counts", value=[1]), "marginals", "column 'age' has 1 counts for 20 values"),
    ("exact", put("sensitive", "form", value="sum"), "manifest", "sensitive.form is none of exact, counts, shares"),
    ("exact", put("sensitive", "type", value="text"), "manifest", "sensitive.type is not one of int, float, str, date"),
    ("exact", put("sensitive", "name", value=7), "manifest", "sensitive.name is not text"),
    ("exact", put("sensitive", value=lambda s: s | {"values": [], "counts": []}), "private", "'values' of sensitive"),
    (
        "counts",
        put("sensitive", "values", 0, value=5),
        "manifest",
        "sensitive.values holds something that is not of type str",
    ),
    (
        "counts",
        put("sensitive", "values", value=lambda v: v[::-1]),
        "manifest",
        "sensitive lists values that are not in incr",
    ),
    ("counts", put("sensitive", "values", 1, value="angina"), "manifest", "sensitive lists 1 values more than once"),
    ("counts", put("sensitive", "counts", value=[1]), "marginals", "column 'ill' has 1 counts for 4 values"),
    ("exact", put("guarantees", 0, value="k"), "manifest", "guarantees[0] is not an object"),
    (
        "exact",
        put("guarantees", 0, "kind", value="n"),
        "manifest",
        "guarantees[0].kind is not one of k, l, t, alpha, lkc, beta, delta, width, m, concealment",
    ),
    ("exact", put("guarantees", 0, "k", value=0), "manifest", "guarantees[0].k is not a whole number from 1"),
    ("exact", put("guarantees", 1, "l", value=0.5), "manifest", "guarantees[1].l is not a number from 1"),
    (
        "exact",
        put("guarantees", 1, "l_kind", value="often"),
        "manifest",
        "guarantees[1].l_kind is not one of frequency, distinct, entropy, recursive",
    ),
    ("exact", put("guarantees", 4, "l", value=2.5), "manifest", "guarantees[4].l is not a whole number"),
    ("exact", put("guarantees", 4, "c", value=0), "manifest", "guarantees[4].c is not a number above 0"),
    (
        "exact",
        put("guarantees", 1, value=lambda g: g | {"c": 3.0}),
        "private",
        "the key 'c' of guarantees[1] is not part of the format",
    ),
    ("exact", put("guarantees", 5, "t", value=-0.1), "manifest", "guarantees[5].t is not a number from 0"),
    ("exact", put("guarantees", 5, "ordered", value=0), "manifest", "guarantees[5].ordered is not true or false"),
    ("exact", put("guarantees", 7, "alpha", value=0), "manifest", "guarantees[7].alpha is not a share above 0"),
    ("exact", put("guarantees", 7, "alpha", value=1.01), "manifest", "guarantees[7].alpha is not a share above 0"),
    ("exact", put("guarantees", 8, "L", value=0), "manifest", "guarantees[8].L is not a whole number from 1"),
    ("exact", put("sensitive", value=None), "manifest", "guarantees[1].kind l needs a sensitive column"),
    ("exact", put("target", value="wealth"), "manifest", "target is not an announced column"),
    ("exact", put("target", value=3), "manifest", "target is not text or null"),
    ("exact", put("other", value=["age"]), "manifest", "a column is announced more than once"),
    ("exact", put("other", value=["age.lo"]), "manifest", "two payload columns have the same name"),
    ("counts", put("other", value=["ill=flu"]), "manifest", "two payload columns have the same name"),
    ("exact", put("dropped", value=["hours"]), "manifest", "columns 'hours' are both dropped and announced"),
    ("exact", put("guarantees", value=[]), "promises", "the manifest promises nothing"),
    ("exact", put("guarantees", 0, "k", value=121), "promises", "k = 121 is promised for 120 released rows"),
    ("exact", put("recoding", value="non-homogeneous"), "promises", "lkc is not defined for a non-homogeneous release"),
    ("exact", put("sensitive", value=lambda s: [s]), "private", "a list of one column"),
    ("exact", put("missing", value=lambda m: m | {"codes": {}}), "private", "missing.codes is there and has no codes"),
    (
        "exact",
        put("missing", value=lambda m: m | {"codes": {"age": ["9", "9"]}}),
        "private",
        "missing.codes are not a few short texts",
    ),
    ("exact", put("guarantees", value=lambda g: [*g, {"kind": "m", "m": 2}]), "promises", "not a release of a series"),
    ("exact", put("format", value=4), "manifest", "format is 4, which is not that of a release with such promises"),
    ("exact", put("format", value=3), "manifest", "format is 3"),
    ("exact", put("guarantees", 5, value=lambda g: g | {"tree": False}), "manifest", "tree is there and is not true"),
    (
        "counts",
        lambda m: m.update(other=["hours"], dropped=["name"]),
        "promises",
        "other columns stand beside counts of members",
    ),
    (
        "counts",
        lambda m: m.update(recoding="homogeneous", sensitive=m["sensitive"] | {"form": "shares"}),
        "promises",
        "shares of blocks are told in a homogeneous release",
    ),
]


@pytest.mark.parametrize(("kind", "mutate", "where", "words"), REFUSED)
def test_what_is_not_of_the_format_is_refused(releases, kind, mutate, where, words):
    made = releases[kind].copy()
    mutate(made.manifest)
    assert words in "; ".join(problems_of(made)[where])
    assert not made.judge().ok


@pytest.mark.parametrize("manifest", [None, [], "x", 7, {}, {"format": 2}])
def test_what_is_no_manifest_is_refused(manifest):
    claims, reading = read_claims(manifest)
    assert claims is None
    assert reading.manifest != []


def test_limits_belong_to_what_is_allowed(releases):
    made = releases["exact"].copy()
    made.manifest["missing"]["tokens"] = ["x" * 40, *(str(i) for i in range(31))]
    made.manifest["guarantees"][0]["k"] = 120
    made.manifest["guarantees"][7]["alpha"] = 1
    made.manifest["guarantees"][5]["t"] = 0
    made.manifest["guarantees"][1]["l"] = 1
    assert problems_of(made) == {}


def test_the_largest_crowd_counts(releases):
    made = releases["exact"].copy()
    made.manifest["guarantees"] += [{"kind": "k", "k": 3}, {"kind": "lkc", "L": 1, "K": 9, "C": 1}]
    claims, _ = read_claims(made.manifest)
    assert (claims.k, claims.least) == (6, 9)
    made.manifest["guarantees"] = made.manifest["guarantees"][1:2]
    claims, _ = read_claims(made.manifest)
    assert (claims.k, claims.least) == (None, 1)


def test_evidence_that_is_needed(releases):
    needed = {
        ("homogeneous", "exact"): ("rows", "domains"),
        ("homogeneous", "counts"): ("rows", "domains"),
        ("non-homogeneous", "exact"): ("rows", "domains", "rings"),
        ("non-homogeneous", "counts"): ("rows", "domains"),
        ("non-homogeneous", "shares"): ("rows", "domains", "blocks", "members"),
    }
    for (recoding, form), files in needed.items():
        made = releases["counts" if form != "exact" else "exact"].copy()
        made.manifest |= {"recoding": recoding, "sensitive": made.manifest["sensitive"] | {"form": form}}
        assert read_claims(made.manifest)[0].evidence == files
    made.manifest |= {"sensitive": None, "target": None, "guarantees": made.manifest["guarantees"][:1]}
    assert read_claims(made.manifest)[0].evidence == ("rows", "domains", "rings")


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        (ic.Mondrian(k=4), {"recoding": "non-homogeneous"}, "makes a homogeneous release, and this one is non-"),
        (ic.NHAA(k=4), {"recoding": "homogeneous"}, "makes a non-homogeneous release, and this one is homogeneous"),
        (ic.NSVDist(k=4), {"form": "counts", "other": [], "dropped": ["name", "hours", "note"]}, "in another form"),
        (ic.NSVDist(k=4, mode="paper"), {"form": "shares"}, "in another form"),
    ],
)
def test_a_release_is_of_the_kind_that_its_method_makes(method, changes, words):
    made = publish(method)
    form = changes.pop("form", made.manifest["sensitive"]["form"])
    made.manifest |= changes
    made.manifest["sensitive"]["form"] = form
    assert words in "; ".join(problems_of(made)["promises"])
