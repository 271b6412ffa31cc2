"""What stays open when something is not given: exactly these checks, and the others are made."""

from __future__ import annotations

import pytest

import incrowd as ic
from verify.build import publish

METHODS = {
    "mondrian": ic.Mondrian(k=5, l=2),
    "nhaa": ic.NHAA(k=4, l=2),
    "shares": ic.NSVDist(k=4, l=1.5),
    "counts": ic.NSVDist(k=4, l=2, mode="paper"),
}
BY_ROW_MAP = "domains, row map"
ALONE = "domains, private folder"
OPEN = {
    "nothing is missing": dict.fromkeys(METHODS, ""),
    "no private folder": {
        "mondrian": BY_ROW_MAP,
        "nhaa": "domains, rings, row map",
        "shares": "blocks, domains, row map, shares",
        "counts": BY_ROW_MAP,
    },
    "only a row map": {
        "mondrian": ALONE,
        "nhaa": "domains, private folder, rings",
        "shares": "blocks, domains, private folder, shares, shuffled columns",
        "counts": ALONE,
    },
    "no original": {
        "mondrian": "original",
        "nhaa": "k, l (frequency), original",
        "shares": "blocks, k, original",
        "counts": "k, original",
    },
    "no evidence": {"mondrian": "", "nhaa": "rings", "shares": "blocks, shares, shuffled columns", "counts": ""},
    "no domains": {"mondrian": ALONE, "nhaa": "domains", "shares": "domains", "counts": ALONE},
    "a manifest without rows": dict.fromkeys(METHODS, "payload"),
    "a column less": dict.fromkeys(METHODS, "promises"),
}
FAILED = {"a manifest without rows": {"manifest"}, "a column less": {"columns"}}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("how", OPEN)
def test_what_stays_open(name, how):
    made = publish(METHODS[name], domains="exact")
    if how == "no private folder":
        made.private = None
    elif how == "only a row map":
        made.private = {"rows": made.private["rows"]}
    elif how == "no original":
        made.original = None
    elif how == "no evidence":
        made.private = {stem: table for stem, table in made.private.items() if stem in ("rows", "domains")}
    elif how == "no domains":
        made.private.pop("domains")
    elif how == "a manifest without rows":
        made.manifest.pop("rows")
    elif how == "a column less":
        made.frame = made.frame.drop("age.lo")
    verdict = made.judge()
    assert ", ".join(sorted({check.name for check in verdict.checks if check.ok is None})) == OPEN[how][name]
    needs_evidence = name in ("nhaa", "shares") and how in ("no evidence", "no domains")
    wanted = {"private folder"} if needs_evidence else FAILED.get(how, set())
    assert {check.name for check in verdict.checks if check.ok is False} == wanted


def test_how_close_counts_are_is_known_without_a_row_map():
    made = publish(METHODS["counts"])
    near = made.judge().levels["t"]
    made.private = None
    assert made.judge().levels["t"] == near > 0
    made.manifest["rows"]["suppressed"] = 1  # then nobody knows who is behind the rows
    assert made.judge().levels["t"] is None


def test_without_a_row_map_originals_are_counted_one_by_one():
    made = publish(METHODS["mondrian"], domains="exact")
    details = []
    for private in (made.private, None):
        made.private = private
        details += [check.detail for check in made.judge().checks if check.name == "originals per row"]
    assert ["lower bound" in detail for detail in details] == [True, False]
