"""Out of core beside polars: Adult's eight columns resampled with noise, published and verified from disk to disk.

Each run is a process of its own. What is compared is CPU time, because other work on the machine makes clocks unequal;
peak memory is the largest resident size of the process.
"""

import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import QUASI, complete_adult

_PART = 5_000_000  # rows that are made at once
_NOISE = 0.05  # chance that a value is drawn anew

_COPY = """
import polars as pl
pl.scan_parquet("{source}/*.parquet").sink_parquet("{target}")
"""
_PUBLISH = """
import json
import incrowd as ic
from incrowd.datasets import adult_schema
stages = {{}}
release = ic.publish(
    "{source}", adult_schema(), method="{method}", k={k}, engine="streamed", output="{target}", memory="{memory}",
    progress=lambda stage, done, total: stages.__setitem__(stage, done),
)
print(json.dumps({{"rows": release.n_rows, "k": release.levels["k"]}}))
"""


def main(arguments):
    """Print times, ratios and memory; arguments are methods (mondrian) and numbers of rows (1000000 10000000)."""
    sizes = [int(each) for each in arguments if each.isdigit()] or [1_000_000, 10_000_000]
    methods = [each for each in arguments if not each.isdigit()] or ["mondrian", "best_cuts"]
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'rows':>11} {'what':<28} {'CPU s':>8} {'clock s':>8} {'MB':>6} {'beside polars':>14}")
        taken = {}
        for n in sizes:
            source, target = Path(folder) / "table", Path(folder) / "out"
            make_table(n, source)
            copied = run(_COPY.format(source=source, target=f"{target}.parquet"))
            show(n, "polars reads and writes", copied, copied)
            for method in methods:
                code = _PUBLISH.format(source=source, target=target, method=method, k=100, memory="4GB")
                taken[method, n] = run(code)
                show(n, f"{method}, published, verified", taken[method, n], copied)
                shutil.rmtree(target)
                shutil.rmtree(f"{target}.private")
            shutil.rmtree(source)
            Path(f"{target}.parquet").unlink()
        for method in methods if len(sizes) > 1 else ():
            first, last = taken[method, sizes[0]], taken[method, sizes[-1]]
            growth = math.log(last["cpu"] / first["cpu"]) / math.log(sizes[-1] / sizes[0])
            print(f"{method}: CPU time grows as rows to the power of {growth:.2f}")


def make_table(n, folder):
    """Write Adult resampled to n rows, each value drawn anew with a small chance."""
    folder.mkdir()
    known, rng = complete_adult().select(*QUASI, "income"), np.random.default_rng(0)
    for number, start in enumerate(range(0, n, _PART)):
        size = min(_PART, n - start)
        rows = known[rng.integers(0, known.height, size)]
        columns = []
        for name in known.columns:
            anew = known[name][rng.integers(0, known.height, size)]
            columns.append(rows[name].zip_with(pl.Series(rng.random(size) >= _NOISE), anew))
        pl.DataFrame(columns).write_parquet(folder / f"{number}.parquet")


def run(code):
    """Run code in a process of its own; return its seconds, its memory, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    wrapped = code + "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    done = subprocess.run([sys.executable, "-c", wrapped], check=True, capture_output=True, text=True)
    after, lines = resource.getrusage(resource.RUSAGE_CHILDREN), done.stdout.splitlines()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = json.loads(lines[0]) if len(lines) > 1 else {}
    return {"cpu": cpu, "clock": time.perf_counter() - start, "memory": int(lines[-1]) / 1024, **said}


def show(n, what, found, beside):
    """Print a line."""
    print(
        f"{n:>11} {what:<28} {found['cpu']:8.1f} {found['clock']:8.1f} {found['memory']:6.0f} "
        f"{found['cpu'] / beside['cpu']:14.1f}",
        flush=True,
    )
