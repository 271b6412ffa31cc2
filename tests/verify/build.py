"""Releases written by hand, byte for byte as docs/release-format.md says, without any code of the publishers."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl


@dataclass
class Made:
    """A release in memory: change any part of it, then write it or check it."""

    manifest: dict[str, Any]
    frame: pl.DataFrame
    csv: pl.DataFrame
    rows: np.ndarray
    original: pl.DataFrame
    strays: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Made:
        parts = copy.deepcopy(self.manifest), self.frame.clone(), self.csv.clone(), self.rows.copy()
        return Made(*parts, self.original.clone(), dict(self.strays))

    def write(self, folder: Path, *, row_map: bool = True) -> Path:
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps(self.manifest))
        self.frame.write_parquet(folder / "release.parquet")
        self.csv.write_csv(folder / "release.csv")
        for name, text in self.strays.items():
            (folder / name).write_text(text)
        if row_map:
            private = folder.with_name(folder.name + ".private")
            private.mkdir()
            pl.DataFrame({"row": self.rows}).write_parquet(private / "rows.parquet")
        return folder


def answers(verdict):
    """What each check says; one that was made twice holds only if it held both times."""
    found = {}
    for c in verdict.checks:
        found[c.name] = False if c.ok is False else found.get(c.name, c.ok)
    return found


def put(frame, column, row, value):
    changed = frame[column].to_list()
    changed[row] = value
    return frame.with_columns(pl.Series(column, changed, frame[column].dtype))


def put_other(made: Made, column: pl.Series) -> None:
    """Give the column that is kept as it is other values, in the original as in both files."""
    made.original = made.original.with_columns(column.alias("hours"))
    made.frame = made.frame.with_columns(column[made.rows].alias("hours"))
    made.csv = made.csv.with_columns(column[made.rows].alias("hours"))


WORK = {
    "kind": "taxonomy",
    "type": "str",
    "leaves": ["clerk", "cook", "judge", "nurse", "smith"],
    "levels": [["hand", "hand", "head", "head", "iron"], ["*"] * 5],
}
AGES = list(range(20, 40))
DAYS = [date(2020, 1, 1) + timedelta(days=7 * i) for i in range(12)]
ILLS = ["angina", "flu", "measles", "zoster"]


def table(n: int, seed: int, *, missing: bool) -> pl.DataFrame:
    """An original with an identifier, three quasi-identifiers, another column, and a sensitive one."""
    rng = np.random.default_rng(seed)
    work: list[str | None] = [WORK["leaves"][i] for i in rng.integers(0, 5, n)]
    ills: list[str | None] = [ILLS[i] for i in rng.integers(0, len(ILLS), n)]
    if missing:
        work = [None if i % 17 == 3 else "?" if i % 29 == 5 else w for i, w in enumerate(work)]
        ills = ["?" if i % 31 == 7 else s for i, s in enumerate(ills)]
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in rng.permutation(n)],
            "age": rng.choice(AGES, n),
            "work": work,
            "day": [DAYS[i] for i in rng.integers(0, len(DAYS), n)],
            "hours": rng.integers(1, 60, n) / 2,
            "ill": ills,
        }
    )


def lo_hi_label(kind: str, lo: int, hi: int, has_null: bool) -> str:
    """Labels as people would write them, each rule spelled out once more."""
    if kind == "work":
        leaves, levels = WORK["leaves"], WORK["levels"]
        if has_null:
            leaves, levels = ["(missing)", *leaves], [["(missing)", *levels[0]], ["*"] * 6]
        if lo == hi:
            return leaves[lo]
        return next(
            level[lo]
            for level in levels
            if [i for i in range(len(level)) if level[i] == level[lo]] == [*range(lo, hi + 1)]
        )
    if kind == "age":
        return str(AGES[lo]) if lo == hi else f"{AGES[lo]}-{AGES[hi]}"
    return str(DAYS[lo]) if lo == hi else f"{DAYS[lo]} to {DAYS[hi]}"


def work_closure(codes: list[int], has_null: bool) -> tuple[int, int]:
    shift = int(has_null)
    nodes = [(i, i) for i in range(5 + shift)] + [(shift, 1 + shift), (2 + shift, 3 + shift), (0, 4 + shift)]
    return min(((a, b) for a, b in nodes if a <= min(codes) and max(codes) <= b), key=lambda node: node[1] - node[0])


def code_rows(original: pl.DataFrame, policy: str) -> tuple[list[int], dict[int, dict[str, Any]]]:
    """Return the kept rows and their codes."""
    has_null = policy == "value"
    kept, coded = [], {}
    for i, row in enumerate(original.iter_rows(named=True)):
        work = None if row["work"] in (None, "?") else row["work"]
        ill = None if row["ill"] in (None, "?") else row["ill"]
        if policy == "drop" and (work is None or ill is None):
            continue
        kept.append(i)
        code = 0 if work is None else WORK["leaves"].index(work) + int(has_null)
        coded[i] = {"age": AGES.index(row["age"]), "work": code, "day": DAYS.index(row["day"]), "ill": ill}
    return kept, coded


def make(
    *, n: int = 120, seed: int = 0, k: int = 6, recoding: str = "homogeneous", form: str = "exact",
    policy: str = "drop", missing: bool = False, guarantees: list[dict[str, Any]] | None = None,
) -> Made:  # fmt: skip
    """A valid release: consecutive rows share a box, or each row has the box of itself and its k-1 successors."""
    original = table(n, seed, missing=missing)
    has_null = policy == "value"
    kept, coded = code_rows(original, policy)
    # every block of k has all values of the sensitive column as evenly as the data allows
    by_value = sorted(kept, key=lambda i: (str(coded[i]["ill"]), i))
    n_blocks = len(kept) // k
    blocks = [by_value[b::n_blocks] for b in range(n_blocks)]
    values = ([None] if has_null and missing else []) + ILLS
    records = []
    for block in blocks:
        for at, i in enumerate(block):
            members = block if recoding == "homogeneous" else [block[(at + j) % len(block)] for j in range(k)]
            box = {}
            for q in ("age", "day"):
                codes = [coded[m][q] for m in members]
                box[q] = (min(codes), max(codes))
            box["work"] = work_closure([coded[m]["work"] for m in members], has_null)
            records.append((i, box, Counter(coded[m]["ill"] for m in members)))
    order = np.random.default_rng(seed + 1).permutation(len(records))
    records = [records[i] for i in order]
    rows = np.array([r[0] for r in records], np.int64)
    columns: dict[str, pl.Series] = {}
    for q in ("age", "work", "day"):
        los, his = [r[1][q][0] for r in records], [r[1][q][1] for r in records]
        labels = [lo_hi_label(q, a, b, has_null) for a, b in zip(los, his, strict=True)]
        columns[q] = pl.Series(labels)
        columns[f"{q}.lo"] = pl.Series(los, dtype=pl.Int32)
        columns[f"{q}.hi"] = pl.Series(his, dtype=pl.Int32)
    columns["hours"] = original["hours"][rows]
    csv = {name: columns[name] for name in ("age", "work", "day", "hours")}
    if form == "exact":
        columns["ill"] = csv["ill"] = pl.Series([coded[int(i)]["ill"] for i in rows], dtype=pl.String)
    else:
        for value in values:
            name = f"ill={'(missing)' if value is None else value}"
            counts = [r[2][value] for r in records]
            columns[name] = pl.Series(counts, dtype=pl.Int32)
            csv[name] = pl.Series([c / sum(r[2].values()) for c, r in zip(counts, records, strict=True)])
    work = copy.deepcopy(WORK)
    if has_null:
        work = {**work, "leaves": [None, *work["leaves"]], "levels": [["(missing)", *WORK["levels"][0]], ["*"] * 6]}

    def marginal(q: str, size: int) -> list[int]:
        count = Counter(coded[int(i)][q] for i in rows)
        return [count[c] for c in range(size)]

    ill_count = Counter(coded[int(i)]["ill"] for i in rows)
    manifest = {
        "format": 1, "incrowd": "0.1.0", "method": {"name": "by_hand", "parameters": {"k": k}}, "recoding": recoding,
        "guarantees": guarantees if guarantees is not None else [{"kind": "k", "k": k}],
        "rows": {"input": n, "missing": n - len(kept), "suppressed": len(kept) - len(rows), "released": len(rows)},
        "missing": {"policy": policy, "tokens": ["?"]},
        "quasi": [
            {"name": "age", "hierarchy": {"kind": "intervals", "type": "int", "values": AGES},
             "marginal": marginal("age", 20)},
            {"name": "work", "hierarchy": work, "marginal": marginal("work", 5 + int(has_null))},
            {"name": "day", "hierarchy": {"kind": "intervals", "type": "date", "values": [str(d) for d in DAYS]},
             "marginal": marginal("day", 12)},
        ],
        "sensitive": {"name": "ill", "type": "str", "values": values, "form": form,
                      "marginal": [ill_count[v] for v in values]},
        "target": "ill", "other": ["hours"], "dropped": ["name"],
    }  # fmt: skip
    return Made(manifest, pl.DataFrame(columns), pl.DataFrame(csv), rows, original)
