"""Groups with exact sensitive values: how much detail they lose on Adult, and how long they take.

With INCROWD_DATA set, names are generalized by its hierarchies/adult, as other tools were measured; otherwise by the
trees of `incrowd.datasets`. *Intervals* are ranges of all columns, names in alphabetical order. Domains are exact: no
rare values are joined, which would add the same loss to every method. `choosing` is the method alone, on coded rows;
`publishing` is everything, verified.
"""

import argparse
import time

import numpy as np

import incrowd as ic
from benchmarks.measure import QUASI, complete_adult, resampled
from benchmarks.publishers import schema, timed
from incrowd.coding import Table

METHODS = {
    "mondrian": lambda k: ic.Mondrian(k=k),
    "mondrian, by loss": lambda k: ic.Mondrian(k=k, cut="loss"),
    "seqa": lambda k: ic.SeqA(k=k),
    "tight_groups": lambda k: ic.TightGroups(k=k),
}
SLOW = {"seqa"}
REPEATS = 5
BARS = {  # LM at most, by k, and seconds
    ("taxonomies", "mondrian, by loss"): ({5: 0.054, 50: 0.175, 100: 0.222}, "choosing", 0.15),
    ("taxonomies", "tight_groups"): ({5: 0.043, 50: 0.148, 100: 0.193}, "publishing", 1.5),
    ("intervals", "tight_groups"): ({5: 0.030, 50: 0.132, 100: 0.179}, "publishing", 1.5),
}
LARGE = [("tight_groups", 300_000, 10.0), ("mondrian, by loss", 1_000_000, 2.0)]


def schemas():
    ranges = {name: ic.Intervals() for name in QUASI}
    intervals = ic.Schema(quasi=ranges, sensitive="income", rest="drop", missing="drop", missing_tokens=["?"])
    return {"taxonomies": schema(), "intervals": intervals}


def measure(method, frame, given, repeats=REPEATS):
    """The release, and the best times of choosing and of publishing."""
    table = Table.encode(frame, given)

    def choose():
        method.choose(table, np.random.default_rng(0), lambda *_: None)

    choose()  # compiles
    times = {
        "choosing": min(timed(choose) for _ in range(repeats)),
        "publishing": min(timed(lambda: method.publish(frame, given, domains="exact")) for _ in range(repeats)),
    }
    return method.publish(frame, given, domains="exact"), times


def held(value, limit):
    return f"{value:.4f} <= {limit}" if value <= limit else f"{value:.4f} > {limit} BROKEN"


def compare(options):
    frame = complete_adult()
    print(f"Adult, {frame.height} rows, {len(QUASI)} quasi-identifiers")
    for trees, given in schemas().items():
        print(f"\n{trees:18}{'k':>5}{'LM':>9}{'groups':>8}{'choosing':>10}{'publishing':>11}")
        for name in options.method:
            for k in options.k:
                release, times = measure(METHODS[name](k), frame, given, 1 if name in SLOW else REPEATS)
                loss = release.loss("lm")
                line = f"{name:18}{k:5}{loss:9.4f}{len(release.cell_lo):8}"
                line += f"{times['choosing']:10.3f}{times['publishing']:11.3f}"
                bars = BARS.get((trees, name))
                if bars is not None and k in bars[0]:
                    line += f"   LM {held(loss, bars[0][k])}, {bars[1]} {held(times[bars[1]], bars[2])}"
                print(line, flush=True)


def large(options):
    given = schemas()["taxonomies"]
    for name, n, limit in LARGE:
        frame = resampled(n)
        for k in options.k:
            release, times = measure(METHODS[name](k), frame, given, 1)
            print(
                f"{n} rows, {name}, k = {k}: LM {release.loss('lm'):.4f}, choosing {times['choosing']:.2f} s, "
                f"publishing {held(times['publishing'], limit)}",
                flush=True,
            )


def growth(options):
    """Seconds of processor time on more and more rows without repetitions: Adult with a day for each age."""
    rng = np.random.default_rng(1)
    print("\nrows with ages in days: processor seconds of choosing")
    for n in (10_000, 30_000, 100_000, 300_000):
        frame = resampled(n)
        frame = frame.with_columns(age=frame["age"] * 365 + rng.integers(0, 365, n))
        table = Table.encode(frame, schemas()["taxonomies"])
        line = f"{n:8}"
        for name in options.method:
            if name not in SLOW:
                method = METHODS[name](50)
                start = time.process_time()
                method.choose(table, rng, lambda *_: None)
                line += f"   {name} {time.process_time() - start:.2f}"
        print(line, flush=True)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench groups")
    parts = {f.__name__: f for f in (compare, large, growth)}
    parser.add_argument("part", nargs="*", help=f"some of {', '.join(parts)}; all without")
    parser.add_argument("--k", type=int, action="append", help="repeatable; 5, 50, 100 without")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="repeatable; all without")
    options = parser.parse_args(arguments)
    options.k = options.k or [5, 50, 100]
    options.method = options.method or list(METHODS)
    for name in options.part or parts:
        parts[name](options)
