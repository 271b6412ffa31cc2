"""How fast a CSV file is read beside polars' own reader: checks of every record and of every type included.

Both read the same file in turns, so that other work on the machine hits both alike; wall-clock and CPU seconds.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import side_by_side
from incrowd.io import read


def main(arguments):
    """Print seconds and their ratio; `quick` takes 500 000 rows instead of 5 million."""
    n = 500_000 if "quick" in arguments else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        people(n).write_csv(path)
        size = path.stat().st_size / 1e6
        readers = {"polars": lambda: pl.read_csv(path, try_parse_dates=True), "incrowd": lambda: read(path)}
        print(f"{n} rows, 7 columns, {size:.0f} MB; medians of 7 turns")
        print(f"{'':>8} {'polars':>8} {'incrowd':>8} {'polars / incrowd':>18}")
        for name, clock in (("seconds", time.perf_counter), ("CPU", time.process_time)):
            taken = side_by_side(readers, clock=clock)
            ratio = taken["polars"] / taken["incrowd"]
            print(f"{name:>8} {taken['polars']:8.2f} {taken['incrowd']:8.2f} {ratio:18.0%}", flush=True)


def people(n):
    """Return a table of numbers, names and dates."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.integers(0, 100, n),
            "zip": rng.integers(10000, 99999, n),
            "sex": rng.choice(["m", "f"], n),
            "income": rng.normal(3000, 500, n).round(2),
            "job": rng.choice(["nurse", "driver", "clerk", "lawyer"], n),
            "day": pl.Series(rng.integers(0, 20000, n).astype("int32")).cast(pl.Date),
        }
    )
