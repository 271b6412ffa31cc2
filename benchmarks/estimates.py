"""What publishing costs, by method: measures seconds and memory, fits the constants of `incrowd.workflow.estimates`.

    ./dev bench estimates              measures every method, and writes src/incrowd/workflow/costs.json
    ./dev bench estimates mondrian     measures one again (or several), and keeps the others as they are
    ./dev bench estimates --check      measures the settings of CHECKED (all, or of the methods that are named) with
                                       whole commands, and compares

Each method publishes generated tables of 4 and 12 quasi-identifiers with 2 000 to 200 000 rows, k = 20, in a process
of its own that has published before, with one worker; a method goes on to larger tables as long as one takes less than
LIMIT seconds. Counted are processor seconds, because they depend less on what else the machine does: the fewest of up
to three runs, as long as they take less than REPEATED together; and the peak of resident memory. Seconds are fitted as
``fixed + c rows^p columns^q`` by least squares of logarithms, memory as a constant number of bytes per cell beside
that of the process, the largest that was measured on the largest tables.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from incrowd.publish import PUBLISHERS
from incrowd.workflow.estimates import estimate

COSTS = Path(__file__).parents[1] / "src" / "incrowd" / "workflow" / "costs.json"
ROWS, COLUMNS, K, LIMIT, REPEATED = (2_000, 10_000, 50_000, 200_000), (4, 12), 20, 5.0, 1.0
ALONE = {"INCROWD_WORKERS": "1", "POLARS_MAX_THREADS": "1", "INCROWD_COMPILE": "1"}
OWN = {"iacc": {"delta_c": 0.9, "delta_d": None}, "pais": {"L": 2, "C": 1.0}}
CHECKED = (("best_cuts", 10_000, 6), ("best_cuts", 100_000, 6), ("best_cuts", 1_000_000, 6), ("mondrian", 10_000, 6),
           ("mondrian", 100_000, 6), ("mondrian", 1_000_000, 6), ("seqa", 30_000, 8), ("nsvdist", 200_000, 8),
           ("tight_groups", 300_000, 6))  # fmt: skip


def people(n_rows, n_columns, seed=1):
    """A made-up table: ages, codes, amounts and names in turn, and a class that depends on some of them."""
    rng = np.random.default_rng(seed)
    makers = (
        lambda: np.clip(rng.gamma(6, 7, n_rows), 0, 99).astype(np.int64),
        lambda: np.array(list("abcdefghij"))[rng.zipf(1.6, n_rows) % 10],
        lambda: rng.integers(0, 2, n_rows),
        lambda: np.round(rng.lognormal(7, 1, n_rows), -1).astype(np.int64) % 20_000,
    )
    columns = {f"q{i}": makers[i % 4]() for i in range(n_columns)}
    score = columns["q0"] / 40 + columns["q2"] + rng.normal(0, 0.7, n_rows)
    return pl.DataFrame(columns | {"ill": np.array(["no", "yes"])[(score > np.median(score)).astype(int)]})


def schema_of(frame):
    import incrowd as ic

    numbers = {name for name in frame.columns if frame[name].dtype.is_integer()}
    quasi = {name: ic.Intervals() if name in numbers else ic.balanced(3) for name in frame.columns if name != "ill"}
    return ic.Schema(quasi=quasi, sensitive="ill")


def status(key):
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(key))


def measure(method):
    """Print a line of JSON for each table that a method publishes."""
    from incrowd.workflow import publish

    own = OWN.get(method, {})
    with tempfile.TemporaryDirectory() as folder:
        frame = people(500, 4)
        publish(frame, schema_of(frame), Path(folder) / "first", method=method, parameters={"k": K, **own})
        for n_columns in COLUMNS:
            for n_rows in ROWS:
                frame, runs = people(n_rows, n_columns), []
                base = status("VmRSS")
                Path("/proc/self/clear_refs").write_text("5")
                while not runs or (len(runs) < 3 and sum(runs) < REPEATED):
                    start = time.process_time()
                    target = Path(folder) / f"{n_rows}-{n_columns}-{len(runs)}"
                    publish(frame, schema_of(frame), target, method=method, parameters={"k": K, **own})
                    runs.append(time.process_time() - start)
                taken, peak = min(runs), status("VmHWM")
                point = {"rows": n_rows, "columns": n_columns, "seconds": taken, "base": base, "peak": peak}
                print(json.dumps(point), flush=True)
                if taken > LIMIT:
                    break


def fit(points):
    """Constants of one method."""
    rows, columns, taken = (np.array([point[key] for point in points]) for key in ("rows", "columns", "seconds"))

    def seconds(x):
        return np.exp(x[0]) + np.exp(x[1]) * rows ** x[2] * columns ** x[3]

    def wrong(x):
        return np.log(seconds(x) / taken) * np.sqrt(taken / taken.max() + 0.05)  # long runs matter most

    found = least_squares(wrong, (-2, -14, 1.1, 1), bounds=((-7, -40, 1, 0), (1, 5, 2.3, 3))).x
    large = sorted(points, key=lambda point: point["rows"] * point["columns"])[-2:]
    per_cell = max((p["peak"] - p["base"]) / (p["rows"] * (p["columns"] + 1)) for p in large)
    ratios = seconds(found) / taken
    return {
        "fixed": float(f"{np.exp(found[0]):.3g}"), "seconds": float(f"{np.exp(found[1]):.4g}"),
        "rows": round(float(found[2]), 3), "columns": round(float(found[3]), 3),
        "bytes_per_cell": round(float(per_cell)), "largest_rows": int(rows.max()),
        "worst_ratio": round(float(max(ratios.max(), 1 / ratios.min())), 2),
    }  # fmt: skip


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("methods", nargs="*")
    given = parser.parse_args(arguments)
    if given.one:
        measure(given.one)
    elif given.check:
        check(given.methods or [name for name, _, _ in CHECKED])
    else:
        calibrate(given.methods or list(PUBLISHERS))


def calibrate(methods):
    environment = os.environ | ALONE
    for method in methods:
        command = [sys.executable, "-m", "benchmarks", "estimates", "--one", method]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        points = [json.loads(line) for line in done.stdout.splitlines()]
        print(done.stdout, end="")
        if not points:
            print(method, done.stderr.splitlines()[-1:])
            continue
        known = json.loads(COSTS.read_text()) if COSTS.exists() else {"methods": {}}
        known["methods"][method] = fit(points)
        print(method, known["methods"][method], flush=True)
        write(known)


def write(known):
    known["measured"] = f"{platform.machine()}, Python {platform.python_version()}, one worker, k = {K}"
    known["methods"] = {name: known["methods"][name] for name in sorted(known["methods"])}
    COSTS.write_text(json.dumps(known, indent=1) + "\n")


def check(methods):
    """Compare estimates with whole commands, from a CSV file to a release.

    Compared are processor seconds with one worker, which are what somebody waits for on a machine with nothing else
    to do; those of the clock are printed too.
    """
    environment = os.environ | ALONE
    print(
        "| method | rows | quasi-identifiers | estimated | measured | clock | ratios |\n|---|---|---|---|---|---|---|"
    )
    for method, n_rows, n_columns in (each for each in CHECKED if each[0] in methods):
        with tempfile.TemporaryDirectory() as name:
            folder, frame = Path(name), people(n_rows, n_columns, seed=7)
            frame.write_csv(folder / "people.csv")
            schema_of(frame).to_toml(folder / "people.toml")
            command = [sys.executable, "-m", "incrowd", "publish", "people.csv", "-s", "people.toml", "-o", "out"]
            start = time.perf_counter()
            process = subprocess.Popen(
                [*command, "-m", method, "-k", str(K), "--quiet"],
                cwd=folder,
                env=environment,
                stderr=subprocess.DEVNULL,
            )
            _, code, used = os.wait4(process.pid, 0)
            clock, taken, peak = time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
            found = estimate(method, n_rows, n_columns)
            assert code == 0, (method, code)
            print(
                f"| {method} | {n_rows} | {n_columns} | {found.seconds:.1f} s, {found.memory / 1e9:.2f} GB | "
                f"{taken:.1f} s, {peak / 1e9:.2f} GB | {clock:.0f} s | "
                f"{found.seconds / taken:.2f}, {found.memory / peak:.2f} |",
                flush=True,
            )
