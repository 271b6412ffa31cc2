"""What a release costs beside the search: coding, sealing, verifying, writing and checking what was written.

CPU seconds, so that other work on the machine counts little; medians of turns, one of each at a time.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic
from benchmarks.measure import complete_adult, resampled, side_by_side
from incrowd import datasets
from incrowd.coding import Table
from incrowd.verify import check_folder

K = 50
_PARTS = ("code", "cut", "seal", "verify", "publish", "write", "check", "save", "verify all")


def main(arguments):
    """Print one line per table; `quick` leaves out those of a million rows."""
    own, paper = datasets.adult_schema(), datasets.schema("adult")
    tables = {"Adult, 8 columns": (complete_adult(), own), "Adult, 14 columns": (complete_adult(), paper)}
    if "quick" not in arguments:
        million = resampled(1_000_000)
        tables |= {
            "1 M rows, 8 columns": (million, own),
            "1 M rows, 14 columns": (million, paper),
            "1 M rows, all weights differ": (_perturbed(million), paper),
        }
    print(f"Mondrian, k = {K}; CPU seconds: publish = code + cut + seal + verify, save = write + check,")
    print("verify all: against the original, everything counted\n")
    print(f"{'table':>28} {'leaves':>7} " + " ".join(f"{part:>10}" for part in _PARTS))
    for name, (frame, schema) in tables.items():
        seconds, n_leaves = measure(frame, schema, repeats=9 if frame.height < 100_000 else 3)
        print(f"{name:>28} {n_leaves:>7} " + " ".join(f"{seconds[part]:10.3f}" for part in _PARTS), flush=True)


def measure(frame, schema, repeats):
    """Return CPU seconds by part, and the number of leaves of the largest domain."""
    method = ic.Mondrian(k=K)
    release, table = method.publish(frame, schema), Table.encode(frame, schema)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        release.save(kept)
        numbers = iter(range(1000))
        seconds = side_by_side(
            {
                "code": lambda: Table.encode(frame, schema),
                "cut": lambda: method.choose(table, None, lambda *_: None),
                "verify": lambda: release.verify(frame, promises_only=True),
                "publish": lambda: method.publish(frame, schema),
                "check": lambda: check_folder(kept, None, private=Path(folder) / "kept.private"),
                "save": lambda: release.save(Path(folder) / f"saved-{next(numbers)}"),
                "verify all": lambda: release.verify(frame),
            },
            repeats=repeats,
            clock=time.process_time,
        )
    seconds["seal"] = seconds["publish"] - seconds["code"] - seconds["cut"] - seconds["verify"]
    seconds["write"] = seconds["save"] - seconds["check"]
    return seconds, max(hierarchy.n_leaves for hierarchy in table.hierarchies)


def _perturbed(frame):
    noise = np.random.default_rng(1).integers(-5000, 5000, frame.height)
    return frame.with_columns(pl.col("fnlwgt") + pl.Series(noise))
