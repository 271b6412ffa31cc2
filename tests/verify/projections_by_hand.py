"""Projections written by hand, byte for byte as docs/release-format.md says, without any code of the publishers."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.verify import Verdict, check

N = 240
PARTS = [["age", "hours"], ["job", "town", "grade"]]
SETS = [["age", "town"], ["job"]]
RARE = ["judge", "smith"]


@dataclass
class Made:
    """Projections in memory: change any part of them, then write them."""

    manifest: dict[str, Any]
    frames: list[pl.DataFrame]
    rows: list[np.ndarray]
    original: pl.DataFrame

    def copy(self) -> Made:
        frames = [frame.clone() for frame in self.frames]
        return Made(copy.deepcopy(self.manifest), frames, [rows.copy() for rows in self.rows], self.original.clone())

    def check(self, *, original: bool = True, row_maps: bool = True) -> Verdict:
        """Verify them in memory."""
        maps = {f"rows-{number}": pl.DataFrame({"row": rows}) for number, rows in enumerate(self.rows, start=1)}
        private = maps if row_maps else None
        return check(self.manifest, self.frames, original=self.original if original else None, private=private)

    def write(self, folder: Path) -> Path:
        """Write the public folder."""
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(self.manifest, ensure_ascii=False, indent=1) + "\n")
        for number, frame in enumerate(self.frames, start=1):
            io.write_canonical_parquet(frame, folder / f"projection-{number}.parquet")
            io.write_canonical_csv(frame, folder / f"projection-{number}.csv")
        return folder

    def show(self, number: int, column: str, values: Any) -> None:
        """Give a column of a projection other values."""
        self.frames[number] = self.frames[number].with_columns(pl.Series(column, values))

    def sort(self) -> None:
        """Put the rows of all projections, and their maps, in the order of the format."""
        for number, frame in enumerate(self.frames):
            order = frame.with_row_index("at").sort(frame.columns, maintain_order=True)["at"].to_numpy()
            self.frames[number], self.rows[number] = frame[order], self.rows[number][order]


def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    ill = rng.choice(["flu", "none", "zoster"], N, p=[0.4, 0.4, 0.2]).astype(object)
    age = rng.integers(20, 57, N)
    jobs = rng.choice(["clerk", "cook", "nurse"], N).astype(object)
    towns = rng.choice(["here", "there"], N).astype(object)
    # a few old people, far places and rare jobs, each with people of every class
    age[100:112], ill[100:112] = 58, ["zoster"] * 2 + ["flu", "none"] * 5
    towns[120:129], ill[120:129] = "far", ["zoster", "flu", "none"] * 3
    jobs[140:144], jobs[144:148], ill[140:148] = RARE[0], RARE[1], ["zoster", "flu", "none", "flu"] * 2
    towns[[3, 33, 133]] = "?"
    order = rng.permutation(N)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in rng.permutation(N)],
            "age": age,
            "job": jobs.tolist(),
            "town": towns.tolist(),
            "hours": rng.integers(1, 60, N) / 2,
            "grade": rng.choice(["a", "b", "c", "d"], N),
            "size": rng.integers(150, 200, N),
            "ill": ill.tolist(),
        }
    )[order]


def shown(original: pl.DataFrame) -> pl.DataFrame:
    """The originals as they are published: rows with a missing town dropped, ages cut, rare jobs made missing."""
    kept = original.with_row_index("row").filter(pl.col("town") != "?")
    return kept.with_columns(
        age=pl.when(pl.col("age") > 57)
        .then(pl.lit("(57-inf)"))
        .when(pl.col("age") > 39.5)
        .then(pl.lit("(39.5-57]"))
        .otherwise(pl.lit("(-inf-39.5]")),
        job=pl.when(pl.col("job").is_in(RARE)).then(None).otherwise("job"),
    )


def levels(frames: list[pl.DataFrame]) -> tuple[int, int]:
    """Partial and set level, everything counted one by one."""
    partial, joined = [], []
    for known in SETS:
        counted = []
        for part, frame in zip(PARTS, frames, strict=True):
            names = [name for name in part if name in known]
            rows = list(zip(*(frame[name].to_list() for name in [*names, "ill"]), strict=True))
            partial.append(min(Counter(row[:-1] for row in rows).values()))
            counted.append(Counter(rows))
        pairs = product(counted[0].items(), counted[1].items())
        joined.append(min(n * m for (a, n), (b, m) in pairs if a[-1] == b[-1]))
    return min(partial), min(joined)


def make() -> Made:
    original = table()
    published = shown(original)
    frames = [published.select(*part, "ill") for part in PARTS]
    rows = published["row"].to_numpy().astype(np.int64)
    parameters = {
        "k": 5, "l": 1.5, "generations": 10, "population": 5, "folds": 2, "inducer": "tree", "crossover": 0.5,
        "mutation": 0.5, "suppress": 0.1, "quasi_sets": SETS, "patience": None, "seconds": None,
    }  # fmt: skip
    manifest = {
        "format": 2, "incrowd": "0.2.0", "polars": pl.__version__, "payload": "projections",
        "method": {"name": "dmpd", "parameters": parameters},
        "guarantees": [{"kind": "k", "k": 5}, {"kind": "l", "l": 1.5, "l_kind": "frequency"}],
        "rows": {"input": N, "missing": 3, "suppressed": 0, "released": N - 3},
        "missing": {"policy": "drop", "tokens": ["?"]},
        "class": {"name": "ill", "role": "sensitive", "type": "str"},
        "quasi_sets": SETS,
        "parts": PARTS,
        "columns": [
            {"name": "age", "role": "quasi", "type": "int", "cuts": [39.5, 57], "suppressed": 0},
            {"name": "job", "role": "quasi", "type": "str", "cuts": None, "suppressed": 8},
            {"name": "town", "role": "quasi", "type": "str", "cuts": None, "suppressed": 0},
            {"name": "hours", "role": "other", "type": None, "cuts": None, "suppressed": 0},
            {"name": "grade", "role": "other", "type": None, "cuts": None, "suppressed": 0},
        ],
        "left_out": ["size"], "dropped": ["name"],
    }  # fmt: skip
    made = Made(copy.deepcopy(manifest), frames, [rows.copy() for _ in PARTS], original)
    made.sort()
    return made
