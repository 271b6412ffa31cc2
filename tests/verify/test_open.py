"""What stays open when something is not given: exactly these checks, and the others are made."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify import assignment, check
from verify.build import answers, publish
from verify.on_disk import OnDisk
from verify.projections_by_hand import make

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
        "nhaa": "concealment, domains, rings, row map",
        "shares": "blocks, concealment, domains, row map, shares",
        "counts": BY_ROW_MAP,
    },
    "only a row map": {
        "mondrian": ALONE,
        "nhaa": "concealment, domains, private folder, rings",
        "shares": "blocks, concealment, domains, private folder, shares, shuffled columns",
        "counts": ALONE,
    },
    "no original": {
        "mondrian": "original",
        "nhaa": "concealment, k, l (frequency), original",
        "shares": "blocks, concealment, k, original",
        "counts": "k, original",
    },
    "no evidence": {
        "mondrian": "",
        "nhaa": "concealment, rings",
        "shares": "blocks, concealment, shares, shuffled columns",
        "counts": "",
    },
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
    values = made.manifest["sensitive"]["values"]
    counts = made.frame.select(f"ill={value}" for value in values).to_numpy()
    whole = np.array([(made.original["ill"] == value).sum() for value in values])
    far = np.abs(counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum()).sum(axis=1) / 2
    assert made.judge().levels["t"] == pytest.approx(far.max())
    made.private = None
    assert made.judge().levels["t"] == pytest.approx(far.max())
    made.manifest["rows"]["suppressed"] = 1  # then nobody knows who is behind the rows
    assert made.judge().levels["t"] is None


def test_without_a_row_map_originals_are_counted_one_by_one():
    made = publish(METHODS["mondrian"], domains="exact")
    details = []
    for private in (made.private, None):
        made.private = private
        details += [check.detail for check in made.judge().checks if check.name == "originals per row"]
    assert ["lower bound" in detail for detail in details] == [True, False]


START = ["manifest", "hierarchies", "nothing private", "roles", "promises", "columns", "cells", "legal cells"]
TABLES = ["rows", "counts", "labels", "owner's word"]
ORIGINALS = [
    *("private folder", "original", "dropped columns", "original values", "missing rows", "row map", "rows kept"),
    *("domains", "original counts", "rare values", "published leaves", "covers"),
]
END = ["originals per row", "releases per original"]
MADE = {
    "mondrian": [
        *START, *TABLES, "k", "l (frequency)", *ORIGINALS, "extents", "own value", "other columns", "identifiers", *END
    ],
    "nhaa": [
        *START, *TABLES, *ORIGINALS, "own value", "other columns", "identifiers", "rings", "k", "concealment",
        "l (frequency)", *END
    ],
    "shares": [
        *START, "distributions", *TABLES, "l (frequency)", *ORIGINALS, "own value", "other columns",
        "shuffled columns", "identifiers", "blocks", "concealment", "members", "k", "shares", *END,
    ],
    "counts": [
        *START, "distributions", *TABLES, "l (frequency)", *ORIGINALS, "own value", "other columns", "identifiers",
        "k", "members", "releases per original",
    ],
}  # fmt: skip


NOT_PROMISED = {
    "mondrian": {"releases per original"},
    "nhaa": {"originals per row", "releases per original"},
    "shares": {"originals per row", "releases per original"},
    "counts": {"releases per original"},
}
BY_ROWS = {"private folder", "rows kept", "covers", "own value", "other columns"}
NEEDS_A_MAP = {
    "mondrian": BY_ROWS | {"extents"},
    "nhaa": BY_ROWS | {"originals per row"},
    "shares": BY_ROWS | {"originals per row", "shuffled columns", "members"},
    "counts": BY_ROWS,
}


@pytest.mark.parametrize("only", [False, True], ids=["all", "promises"])
@pytest.mark.parametrize("name", METHODS)
def test_every_check_is_made(name, only):
    """Only what no promise rests on is left out when only promises are asked for."""
    verdict = publish(METHODS[name]).judge(only=only)
    wanted = [check for check in MADE[name] if not only or check not in NOT_PROMISED[name]]
    assert sorted(check.name for check in verdict.checks) == sorted(wanted)
    assert all(check.ok and check.detail for check in verdict.checks)


@pytest.mark.parametrize("only", [False, True], ids=["all", "promises"])
@pytest.mark.parametrize("name", METHODS)
def test_every_check_without_a_row_map_is_made(name, only):
    made = publish(METHODS[name], domains="exact")
    made.private = None
    found = sorted(check.name for check in made.judge(only=only).checks)
    # without rings, and without groups, what somebody can link is what a promise rests on
    left_out = NOT_PROMISED[name] - {"originals per row"} if only and name != "nhaa" else set()
    wanted = [check for check in MADE[name] if check not in NEEDS_A_MAP[name] | left_out]
    assert found == sorted([*wanted, "assignment"])


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_rows_are_assigned_in_pieces(monkeypatch, at_once):
    monkeypatch.setattr(assignment, "_BLOCK", at_once)
    made = publish(METHODS["counts"], domains="exact")
    made.private = None
    assert answers(made.judge())["assignment"] is True
    pay = made.original["pay"].value_counts().filter(pl.col("count") == 1)["pay"][0]
    for row in (0, 1):  # both are the only one who has it
        made.put("pay.lo", row, pay)
        made.put("pay.hi", row, pay)
    assert answers(made.judge())["assignment"] is False


PROJECTIONS = [
    *("manifest", "nothing private", "roles", "owner's word", "promises", "columns", "order", "rows", "classes"),
    *("values", "k", "k of joins", "people behind joins", "l (frequency)", "original", "missing rows", "suppression"),
    *("cuts", "same rows", "row maps", "identifiers", "links"),
]


def test_every_check_of_projections_is_made():
    assert [check.name for check in make().check().checks] == PROJECTIONS


FILES = ["files", "private files", "csv", "parquet"]


@pytest.mark.parametrize("method", ["mondrian", "dmpd"])
def test_every_check_of_files_is_made(tmp_path, method):
    found = [check.name for check in OnDisk.of(method, tmp_path).verify().checks]
    assert found[:5] == [*FILES, "order" if method == "mondrian" else "manifest"]


def test_rows_are_one_table():
    made = publish(METHODS["mondrian"])
    verdict = check(made.manifest, (made.frame, made.frame), original=made.original, private=made.private)
    assert answers(verdict)["payload"] is False


def test_names_of_strange_files_are_not_told_in_full():
    made = publish(METHODS["mondrian"])
    made.private["x" * 50] = None
    said = next(check.detail for check in made.judge().checks if check.name == "private folder")
    assert f"holds {'x' * 40}, " in said
