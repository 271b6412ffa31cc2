"""NSVDist: time against the paper's algorithm as written, growth, large tables, and loss against Mondrian.

Designs that were tried for the search (Adult, 14 quasi-identifiers, k = 50; CPU time per seed on one core of two):

1. dense incremental costs over all rows: 2.3 ms, from the 35 s on two cores that were known for it;
2. best-first search in a tree of boxes, one heap entry per row, costs by walking up the hierarchies: 1.0 ms;
3. the same with look-up tables per seed (cost of the closure with each leaf added), and leaves of the tree as heap
   entries, but tuples of arrays in the inner loop: 0.7 to 1.0 ms (reference counting cost more than the search);
4. as 3 with plain arrays in the inner loop, and leaves looked at again only when they come to the top: 0.44 ms;
5. as 4, with boxes cut where the two parts are dear to join (gap times rows of the smaller part) instead of at the
   median of the widest attribute: 0.09 ms. Bounds are worth more than fast inner loops.

Shipped is 5. A heap with four children per node, early abandoning of rows by thirds and smaller leaves made no
difference that could be told from noise. Equal rows share one search where that is exact (see `make_jobs`).
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic
from benchmarks.literal_nsvdist import members
from benchmarks.measure import QUASI, complete_adult, peak_memory, resampled, side_by_side
from incrowd import datasets
from incrowd.coding import Table
from incrowd.datasets import adult_schema
from incrowd.datasets.schemas import NSVDIST
from incrowd.domains import flatten


def quiet(*_):
    pass


def searched(method, table):
    start = time.perf_counter()
    choice = method.choose(table, np.random.default_rng(0), quiet)
    return time.perf_counter() - start, choice


def lm(choice, table):
    extents = []
    for m, hierarchy in enumerate(table.hierarchies):
        whole = hierarchy.pos[-1] - hierarchy.pos[0]
        extents.append((hierarchy.pos[choice.hi[:, m]] - hierarchy.pos[choice.lo[:, m]]) / whole)
    return float(np.mean(extents, axis=0)[choice.cell_of].mean())


def literal_seconds(table, k, n_seeds=12):
    """Time of the literal algorithm for all rows on two cores, from some of them."""
    domains = flatten(table.hierarchies)
    codes = np.ascontiguousarray(table.codes)
    n_values = table.n_values
    seeds = np.linspace(0, table.n_rows - 1, n_seeds + 1).astype(int)
    members(codes, table.sensitive, n_values, seeds[0], k, k, domains)
    start = time.perf_counter()
    for seed in seeds[1:]:
        members(codes, table.sensitive, n_values, seed, k, k, domains)
    return (time.perf_counter() - start) / n_seeds * table.n_rows / 2


def all_fourteen():
    frame = complete_adult()
    names = [name for name in frame.columns if name != "income"]
    table = Table.encode(frame, ic.Schema(quasi={name: ic.balanced(5) for name in names}, sensitive="income"))
    method = ic.NSVDist(k=50, mode="paper")
    searched(ic.NSVDist(k=2, mode="paper"), table)
    seconds = min(searched(method, table)[0] for _ in range(2))
    literal = literal_seconds(table, 50)
    print(f"Adult, {table.n_rows} rows, 14 quasi-identifiers, k = 50: {seconds:.2f} s (limit 8)")
    print(f"  literal algorithm, scaled from some rows: {literal:.0f} s, {literal / seconds:.0f} x (limit 60, aim 100)")


def eight():
    table = Table.encode(complete_adult(), adult_schema())
    for k, limit in ((5, 1), (50, 5), (200, 10)):
        seconds = min(searched(ic.NSVDist(k=k, mode="paper"), table)[0] for _ in range(2))
        print(f"Adult, 8 quasi-identifiers, k = {k}: {seconds:.2f} s (limit {limit})")
    seconds, choice = searched(ic.NSVDist(k=50, mode="paper"), table)
    print(f"  LM at k = 50: exact {lm(choice, table):.4f}", end="")
    for size in (2000, 5000, 10000):
        seconds, choice = searched(ic.NSVDist(k=50, presplit=size, mode="paper"), table)
        print(f", presplit {size}: {lm(choice, table):.4f} in {seconds:.2f} s", end="")
    mondrian = ic.Mondrian(k=50).choose(table, None, quiet)
    print(f", Mondrian: {lm(mondrian, table):.4f}")


def noisy(n):
    """Adult resampled, with noise on age and hours so that rows differ."""
    rng = np.random.default_rng(n)
    frame = resampled(n)
    age = np.clip(frame["age"].to_numpy() + rng.integers(-3, 4, n), 17, 90)
    hours = np.clip(frame["hours-per-week"].to_numpy() + rng.integers(-3, 4, n), 1, 99)
    return frame.with_columns(pl.Series("age", age), pl.Series("hours-per-week", hours))


def growth():
    sizes = [10_000, 20_000, 50_000, 100_000]
    times = [searched(ic.NSVDist(k=50, mode="paper"), Table.encode(noisy(n), adult_schema()))[0] for n in sizes]
    power = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    shown = ", ".join(f"{n}: {t:.2f} s" for n, t in zip(sizes, times, strict=True))
    print(f"growth, k = 50, 8 quasi-identifiers, exact: {shown}; n^{power:.2f} (limit 1.6)")


def million():
    setup = """
import incrowd as ic, time
from benchmarks.nsvdist import noisy
from incrowd.datasets import adult_schema
ic.NSVDist(k=50, presplit=5000, mode="paper").publish(noisy(6000), adult_schema())
frame = noisy(1_000_000)
"""
    statement = """
start = time.perf_counter()
release = ic.NSVDist(k=50, presplit=5000, mode="paper").publish(frame, adult_schema())
print("seconds", time.perf_counter() - start, "lm", release.loss("lm"))
"""
    printed = []
    grown = peak_memory(setup, statement, printed)
    seconds, loss = float(printed[0].split()[1]), float(printed[0].split()[3])
    print(f"1 000 000 rows, presplit = 5000, k = 50, verified: {seconds:.0f} s (limit 120), ", end="")
    print(f"{grown / 1e9:.1f} GB above the input (limit 3), LM {loss:.4f}")


def against_others():
    """LM with the hierarchies of a data folder, as peers were measured."""
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        print("set INCROWD_DATA to a folder with hierarchies/adult/*.csv to compare LM with other tools")
        return
    trees = Path(folder) / "hierarchies" / "adult"
    frame = complete_adult()
    quasi = {name: ic.Taxonomy.read_csv(trees / f"{name}.csv") for name in QUASI if name != "age"}
    schemas = {
        "taxonomies, age as intervals": ({"age": ic.Intervals()} | quasi, 0.157),
        "all intervals": ({name: ic.Intervals(frame[name].unique().sort()) for name in QUASI}, 0.143),
    }
    for name, (hierarchies, limit) in schemas.items():
        table = Table.encode(frame, ic.Schema(quasi=hierarchies, sensitive="income", rest="drop"))
        ours = lm(searched(ic.NSVDist(k=50, mode="paper"), table)[1], table)
        mondrian = lm(ic.Mondrian(k=50).choose(table, None, quiet), table)
        print(f"LM at k = 50, {name}: NSVDist {ours:.4f} (limit {limit}), Mondrian {mondrian:.4f}")


def hardened():
    """Time and loss of the hardened mode beside the paper's, end to end with verification, on the paper's tables."""
    for name in NSVDIST:
        frame, schema = datasets.load(name), datasets.schema(name)
        modes = {mode: ic.NSVDist(k=50, mode=mode) for mode in ("paper", "hardened")}
        runs = {mode: partial(method.publish, frame, schema, seed=1) for mode, method in modes.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ic.PrivacyWarning)
            seconds = side_by_side(runs, repeats=5)
            losses = {mode: run().loss("lm") for mode, run in runs.items()}
        print(
            f"{name:14} hardened / paper: {seconds['hardened']:.2f} / {seconds['paper']:.2f} s, "
            f"{seconds['hardened'] / seconds['paper']:.2f} x (limit 2); "
            f"LM {losses['hardened'] / losses['paper']:.3f} x (limit 1.3)"
        )


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench nsvdist")
    parts = {f.__name__: f for f in (all_fourteen, eight, growth, against_others, hardened, million)}
    parser.add_argument("part", nargs="*", help=f"some of {', '.join(parts)}; all without")
    for name in parser.parse_args(arguments).part or parts:
        parts[name]()
