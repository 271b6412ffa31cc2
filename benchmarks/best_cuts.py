"""BestCuts in memory: CPU seconds, clock and peak memory from Adult to millions of rows, and how they grow.

Two tables of eight quasi-identifiers: *names* are Adult's columns, resampled, a twentieth of the values drawn anew;
*numbers* are random, with a class that depends on four of them. Each size is a process of its own, which reads the
table from a file and publishes a small one first; memory is what it needs on top of the frame, in multiples of it.
Growth is of CPU time, from one size to the next, as a power of the number of rows.
"""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic
from benchmarks.measure import QUASI, complete_adult, peak_memory
from incrowd import datasets

_SETUP = """
import time
import polars as pl
import incrowd as ic
from benchmarks.best_cuts import SCHEMAS
schema, frame = SCHEMAS["{name}"](), pl.read_parquet("{file}")
ic.BestCuts(k=50).publish(frame.head(30_000), schema, seed=1)
"""
_RUN = """
seconds, clock = time.process_time(), time.perf_counter()
release = ic.BestCuts(k=50, runs={runs}).publish(frame, schema, seed=1)
print(time.process_time() - seconds, time.perf_counter() - clock, frame.estimated_size(), len(release.cell_lo))
"""


def names(n, rng):
    """Adult's eight quasi-identifiers and income."""
    known = complete_adult().select(*QUASI, "income")
    rows, anew = (known[rng.integers(0, known.height, n)] for _ in range(2))
    return rows.select(rows[x].zip_with(pl.Series(rng.random(n) >= 0.05), anew[x]) for x in rows.columns)


def numbers(n, rng):
    """Eight columns of numbers, and a class."""
    X = rng.integers(0, 1000, (n, 8))
    y = X[:, 0] + X[:, 1] + X[:, 2] * (X[:, 3] > 500) + rng.normal(0, 200, n) > 1200
    return pl.DataFrame({f"x{m}": X[:, m] for m in range(8)} | {"s": np.where(y, "a", "b")})


TABLES = {"names": names, "numbers": numbers}
SCHEMAS = {
    "names": lambda: datasets.schema("adult", "nsvdist", quasi=QUASI, order="free"),
    "numbers": lambda: ic.Schema(quasi={f"x{m}": ic.Intervals() for m in range(8)}, sensitive="s"),
}


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench best_cuts", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, help="trees to choose from; by default as many as the method takes")
    parser.add_argument("--table", action="append", choices=list(TABLES), help="repeatable; both without")
    parser.add_argument("rows", type=int, nargs="*", default=[30_000, 100_000, 300_000, 1_000_000])
    options = parser.parse_args(arguments)
    print(" ".join(["./dev bench best_cuts", *arguments]) + "   (generated; do not edit)\n")
    print(f"{'table':8} {'rows':>10} {'groups':>7} {'CPU s':>7} {'clock s':>8} {'x frame':>8} {'growth':>7}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        for name in options.table or TABLES:
            before = None
            for n in options.rows:
                TABLES[name](n, np.random.default_rng(1)).write_parquet(file)
                told = []
                used = peak_memory(_SETUP.format(name=name, file=file), _RUN.format(runs=options.runs), told)
                seconds, clock, size, groups = (float(x) for x in told[-1].split())
                growth = f"{math.log(seconds / before[1]) / math.log(n / before[0]):.2f}" if before else ""
                cost = f"{seconds:7.2f} {clock:8.2f} {used / size:8.2f} {growth:>7}"
                print(f"{name:8} {n:10d} {groups:7.0f} {cost}", flush=True)
                before = n, seconds
