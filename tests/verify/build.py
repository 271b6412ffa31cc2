"""Releases written by hand as docs/release-format.md says, without any code of the publishers; and published ones."""

from __future__ import annotations

import copy
import json
import warnings
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.verify import Verdict, check


@dataclass
class Made:
    """A release in memory: change any part of it, then check it."""

    manifest: dict[str, Any]
    frame: pl.DataFrame
    private: dict[str, Any] | None
    original: pl.DataFrame | None

    def copy(self) -> Made:
        private = {name: copy.deepcopy(data) for name, data in self.private.items()}
        return Made(copy.deepcopy(self.manifest), self.frame.clone(), private, self.original.clone())

    @property
    def rows(self) -> list[int]:
        return self.private["rows"]["row"].to_list()

    def set_rows(self, rows: list[int]) -> None:
        self.private["rows"] = pl.DataFrame({"row": rows}, schema={"row": pl.Int64})

    def quasi(self, name: str) -> dict[str, Any]:
        return next(q for q in self.manifest["quasi"] if q["name"] == name)

    def domain(self, name: str) -> dict[str, Any]:
        return next(q for q in self.private["domains"]["quasi"] if q["name"] == name)

    def put(self, column: str, row: int, value: Any) -> None:
        self.frame = put(self.frame, column, row, value)

    def judge(self, *, only: bool = False) -> Verdict:
        return check(self.manifest, (self.frame,), original=self.original, private=self.private, promises_only=only)


def answers(verdict: Verdict) -> dict[str, bool | None]:
    """What each check says; one that was made twice holds only if it held both times."""
    found: dict[str, bool | None] = {}
    for c in verdict.checks:
        found[c.name] = False if c.ok is False else found.get(c.name, c.ok)
    return found


def detail(verdict: Verdict, name: str) -> str:
    return next(c.detail for c in verdict.checks if c.name == name)


def put(frame: pl.DataFrame, column: str, row: int, value: Any) -> pl.DataFrame:
    changed = frame[column].to_list()
    changed[row] = value
    return frame.with_columns(pl.Series(column, changed, frame[column].dtype))


def put_other(made: Made, column: pl.Series) -> None:
    """Give the column that is kept as it is other values, in the original as in the release."""
    made.original = made.original.with_columns(column.alias("hours"))
    made.frame = made.frame.with_columns(column[made.rows].alias("hours"))


WORK = ["clerk", "cook", "judge", "nurse", "smith"]
ABOVE = ["hand", "hand", "head", "head", "iron"]
AGES = list(range(20, 40))
DAYS = [date(2020, 1, 1) + timedelta(days=7 * i) for i in range(12)]
GRADES = ["low", "mid", "fair", "high", "top", "best"]
ILLS = ["angina", "flu", "measles", "zoster"]
COLUMNS = ("age", "work", "day", "grade")


def table(n: int, seed: int, *, missing: bool) -> pl.DataFrame:
    """An original with an identifier, four quasi-identifiers, another column, and a sensitive one."""
    rng = np.random.default_rng(seed)
    work: list[str | None] = [WORK[i] for i in rng.integers(0, 5, n)]
    ills: list[str | None] = [ILLS[i] for i in rng.integers(0, len(ILLS), n)]
    ages: list[int | None] = rng.choice(AGES, n).tolist()
    if missing:
        work = [None if i % 17 == 3 else "?" if i % 29 == 5 else w for i, w in enumerate(work)]
        ills = ["?" if i % 31 == 7 else s for i, s in enumerate(ills)]
        ages = [None if i % 23 == 2 else a for i, a in enumerate(ages)]
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in rng.permutation(n)],
            "age": ages,
            "work": work,
            "day": [DAYS[i] for i in rng.integers(0, len(DAYS), n)],
            "grade": [GRADES[i] for i in rng.integers(0, len(GRADES), n)],
            "hours": rng.integers(1, 60, n) / 2,
            "ill": ills,
        }
    )


def label(column: str, lo: Any, hi: Any, leaves: list[Any]) -> str:
    """Labels as people would write them, each rule spelled out once more."""
    if column == "work":
        shift = int(leaves[0] is None)
        nodes = {(shift, shift + 1): "hand", (shift + 2, shift + 3): "head", (0, len(leaves) - 1): "*"}
        return ["(missing)", *WORK][lo + 1 - shift] if lo == hi else nodes[lo, hi]
    if column == "grade":
        if lo == hi:
            return GRADES[lo]
        if hi - lo == len(GRADES) - 1:
            return "*"
        return "|".join(GRADES[lo : hi + 1]) if hi - lo < 4 else f"{GRADES[lo]} to {GRADES[hi]}"
    if lo is None:
        return "(missing)" if hi is None else "*"
    if lo == hi:
        return str(lo)
    return f"{lo} to {hi}" if column == "day" else f"{lo}-{hi}"


def cell(column: str, values: list[Any], leaves: list[Any]) -> tuple[Any, Any]:
    """The smallest legal cell that holds all values: ends, or places of leaves."""
    if column in ("age", "day"):
        known = [v for v in values if v is not None]
        if len(known) < len(values):
            return None, max(AGES) if known else None
        return min(known), max(known)
    places = [leaves.index(v) for v in values]
    if column == "grade":
        return min(places), max(places)
    shift = int(leaves[0] is None)
    nodes = [(i, i) for i in range(len(leaves))]
    nodes += [(shift, shift + 1), (shift + 2, shift + 3), (0, len(leaves) - 1)]
    return min(((a, b) for a, b in nodes if a <= min(places) and max(places) <= b), key=lambda node: node[1] - node[0])


def make(
    *, n: int = 120, seed: int = 0, k: int = 6, recoding: str = "homogeneous", form: str = "exact",
    policy: str = "drop", missing: bool = False, guarantees: list[dict[str, Any]] | None = None,
) -> Made:  # fmt: skip
    """A valid release: consecutive rows share a box, or each row has the box of itself and its k-1 successors."""
    original = table(n, seed, missing=missing)
    clean = original.with_columns(pl.col("work", "ill").replace({"?": None}))
    people = dict(enumerate(clean.iter_rows(named=True)))
    if policy == "drop":
        people = {i: p for i, p in people.items() if None not in (p["age"], p["work"], p["ill"])}
    nulls = [None] if missing and policy == "value" else []
    leaves = {"work": [*nulls, *WORK], "grade": GRADES}
    # every block of k has all values of the sensitive column as evenly as the data allows
    by_value = sorted(people, key=lambda i: (str(people[i]["ill"]), i))
    n_blocks = len(people) // k
    records = []
    for block in (by_value[b::n_blocks] for b in range(n_blocks)):
        for at, i in enumerate(block):
            members = block if recoding == "homogeneous" else [block[(at + j) % len(block)] for j in range(k)]
            box = {q: cell(q, [people[m][q] for m in members], leaves.get(q, [])) for q in COLUMNS}
            records.append((i, box, Counter(people[m]["ill"] for m in members)))
    records = [records[i] for i in np.random.default_rng(seed + 1).permutation(len(records))]
    rows = [r[0] for r in records]
    columns: dict[str, pl.Series] = {}
    ends = {"age": pl.Int64, "work": pl.Int32, "day": pl.Date, "grade": pl.Int32}
    for q in COLUMNS:
        lo, hi = [r[1][q][0] for r in records], [r[1][q][1] for r in records]
        columns[q] = pl.Series([label(q, a, b, leaves.get(q, [])) for a, b in zip(lo, hi, strict=True)])
        columns |= {f"{q}.lo": pl.Series(lo, dtype=ends[q]), f"{q}.hi": pl.Series(hi, dtype=ends[q])}
    other = ["hours"] if (recoding, form) != ("non-homogeneous", "counts") else []
    columns |= {name: original[name][rows] for name in other}
    values = [*nulls, *ILLS]
    if form == "exact":
        columns["ill"] = pl.Series([people[i]["ill"] for i in rows], dtype=pl.String)
    for value in values if form == "counts" else ():
        name = f"ill={'(missing)' if value is None else value}"
        columns[name] = pl.Series([r[2][value] for r in records], dtype=pl.Int32)

    def count(q: str, listed: list[Any]) -> list[int]:
        found = Counter(people[i][q] for i in rows)
        return [found[v] for v in listed]

    def exact(q: str, kind: str, listed: list[Any]) -> dict[str, Any]:
        plain = [str(v) if kind == "date" and v is not None else v for v in listed]
        hierarchy: dict[str, Any] = {"kind": "intervals", "type": kind, "values": plain}
        if q == "work":
            levels = [[*(["(missing)"] if nulls else []), *ABOVE], ["*"] * len(listed)]
            hierarchy = {"kind": "taxonomy", "type": kind, "leaves": plain, "levels": levels}
        leaf_of = None if q in ("age", "day") else list(range(len(listed)))
        return {"name": q, "hierarchy": hierarchy, "counts": count(q, listed), "leaf_of": leaf_of}

    domains = [
        exact("age", "int", [*nulls, *AGES]), exact("work", "str", leaves["work"]),
        exact("day", "date", DAYS), exact("grade", "str", GRADES),
    ]  # fmt: skip
    told = {"values": values, "counts": count("ill", values)} if form == "counts" else {}
    manifest = {
        "format": 2, "incrowd": "0.2.0", "polars": "1.35.2", "method": {"name": "manual", "parameters": {"k": k}},
        "recoding": recoding, "guarantees": guarantees if guarantees is not None else [{"kind": "k", "k": k}],
        "rows": {"input": n, "missing": n - len(people), "suppressed": len(people) - len(rows), "released": len(rows)},
        "missing": {"policy": policy, "tokens": ["?"]},
        "domains": "exact",
        "quasi": [
            {"name": "age", "kind": "intervals", "type": "int", "missing": count("age", [None])[0] if nulls else None,
             "values": AGES, "counts": count("age", AGES)},
            {"name": "work", "kind": "taxonomy", "type": "str", "leaves": leaves["work"],
             "levels": domains[1]["hierarchy"]["levels"], "rest": [], "counts": count("work", leaves["work"])},
            {"name": "day", "kind": "intervals", "type": "date", "missing": None, "values": [str(d) for d in DAYS],
             "counts": count("day", DAYS)},
            {"name": "grade", "kind": "names", "type": "str", "leaves": GRADES, "rest": [],
             "counts": count("grade", GRADES)},
        ],
        "sensitive": {"name": "ill", "type": "str", "form": form, **told},
        "target": "ill", "other": other, "dropped": ["name", *(["hours"] if not other else [])],
    }  # fmt: skip
    private = {"rows": pl.DataFrame({"row": rows}, schema={"row": pl.Int64}), "domains": {"quasi": domains}}
    return Made(json.loads(json.dumps(manifest)), pl.DataFrame(columns), private, original)


TREE = ic.Taxonomy.from_nested({"hand": ["clerk", "cook"], "head": ["judge", "nurse"], "iron": ["smith", "wright"]})


def varied(n: int, seed: int, *, missing: bool) -> pl.DataFrame:
    """An original with every kind of quasi-identifier, rare values among them."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(17, 90, n),
            "pay": np.round(rng.gamma(2, 1000, n), 2),
            "day": [date(1950, 1, 1) + timedelta(days=int(x)) for x in rng.integers(0, 2000, n)],
            "city": [f"c{min(int(x), 12)}" for x in rng.geometric(0.2, n)],
            "work": rng.choice([*WORK, "wright"], n, p=[0.4, 0.3, 0.2, 0.06, 0.02, 0.02]),
            "left": rng.random(n) < 0.4,
            "rooms": np.minimum(rng.geometric(0.4, n), 9),
            "grade": rng.choice(["low", "mid", "high", "top"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "hours": rng.integers(-3, 60, n) / 2,
            "note": rng.choice(["x", "y", ""], n),
            "ill": rng.choice(ILLS, n, p=[0.3, 0.3, 0.25, 0.15]),
        }
    )  # fmt: skip
    if not missing:
        return frame
    gone = [
        pl.when(pl.Series(rng.random(n) < 0.05)).then(None).otherwise(pl.col(c)).alias(c) for c in frame.columns[1:]
    ]
    token = pl.when(pl.Series(rng.random(n) < 0.05)).then(pl.lit("?")).otherwise(pl.col("work")).alias("work")
    return frame.with_columns(gone).with_columns(token)


@cache
def _published(method: Any, seed: int, n: int, missing: bool, policy: str, domains: str) -> Made:
    original = varied(n, seed, missing=missing)
    other = [] if getattr(method, "mode", "") == "paper" else ["hours", "note"]
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "pay": ic.Intervals(), "day": ic.Intervals(), "city": None, "work": TREE,
               "left": None, "rooms": ic.Taxonomy.flat(range(1, 10)),
               "grade": ic.Intervals(["low", "mid", "high", "top"])},
        sensitive="ill", target="ill", other=other,
        identifiers=["name", *(c for c in ("hours", "note") if c not in other)],
        missing=policy, missing_tokens=["?"],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = method.publish(original, schema, seed=seed, domains=domains)
    manifest = json.loads(release.manifest.to_json())
    return Made(manifest, release.coded_tables()[0], release.private.files(release.quasi), original)


def publish(
    method: Any, *, seed: int = 0, n: int = 120, missing: bool = False, policy: str = "value", domains: str = "joined"
) -> Made:
    """A release that a publisher made, to be spoiled."""
    return _published(method, seed, n, missing, policy, domains).copy()
