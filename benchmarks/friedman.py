"""k-anonymous trees on Adult beside Friedman, Wolff, Schuster 2008: Table 6, Figs 6 to 8, and time.

The eight categorical attributes, all public, the class private; 30 162 training and 15 060 test rows. The paper's
taxonomies are those of the top-down specialization papers: with INCROWD_DATA set they are read from
hierarchies/adult_tds, otherwise the trees of `incrowd.datasets` stand in for them.
"""

import argparse
import os
import time
from importlib.util import find_spec
from pathlib import Path

import polars as pl
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from benchmarks import j48
from benchmarks.measure import complete_adult, complete_adult_test, resampled
from incrowd import plots
from incrowd.datasets import adult_schema
from incrowd.datasets.adult import COLUMNS
from incrowd.mining.tree import KAnonymousTreeClassifier, diversity_for_confidence
from incrowd.publish import PUBLISHERS

CLASS = "income"
NAMES = [
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
]  # fmt: skip
KS = (2, 5, 10, 25, 50, 100, 200, 500, 750, 1000, 1500)
TABLE_6 = {10: 5198, 25: 5273, 50: 5379, 100: 5439}
LIMITS = {"adult": 1.0, "million": 30.0}


def hierarchies(names=NAMES):
    folder = os.environ.get("INCROWD_DATA")
    if folder:
        return {
            name: ic.Taxonomy.read_csv(Path(folder) / "hierarchies" / "adult_tds" / f"{name}.csv") for name in names
        }
    own = adult_schema().attributes
    return {name: own[name].hierarchy if name in own else None for name in names}


def induced(frame, names=NAMES, **parameters):
    trees = hierarchies([name for name in names if name in NAMES])
    return KAnonymousTreeClassifier(hierarchies=trees, **parameters).fit(frame.select(names), frame[CLASS])


def exposed(tree, labels):
    """Share of people in spans of one class."""
    told = pl.DataFrame({"span": tree.spans_.span_of, "class": labels})
    return (told.select(pl.col("class").n_unique().over("span") == 1)).to_series().mean()


def table_6():
    train, names = complete_adult(), [name for name in NAMES if name != "relationship"]
    print("Table 6: people outside the majority class of their span (CM), without relationship")
    print(f"{'k':>6} {'ours':>6} {'paper':>6}")
    for k, paper in TABLE_6.items():
        spans = induced(train, names, k=k).spans_
        counts = pl.DataFrame({"span": spans.span_of, "class": train[CLASS]}).group_by("span", "class").len()
        cm = train.height - counts.group_by("span").agg(pl.col("len").max())["len"].sum()
        print(f"{k:6d} {cm:6d} {paper:6d}  at most the paper's: {'yes' if cm <= paper else 'no'}")


def figure_6():
    train, test = complete_adult(), complete_adult_test()
    c45, name = c45_baseline(train, test)
    id3 = 1 - induced(train, k=1).score(test.select(NAMES), test[CLASS])
    print("\nFigs 6 and 7: test error and people whose class is certain, in percent")
    print(f"ID3 (k = 1) {100 * id3:.2f}, {name} {100 * c45:.2f}")
    print(f"{'k':>6} {'error':>7} {'TDS':>7} {'exposed':>8} {'leaves':>7}")
    rows = []
    for k in KS:
        tree = induced(train, k=k)
        error, told = 1 - tree.score(test.select(NAMES), test[CLASS]), exposed(tree, train[CLASS])
        tds = specialized(train, test, k)
        rows += [
            (k, 100 * error, 100 * told, "anonymous tree"),
            (k, 100 * id3, None, "ID3"),
            (k, 100 * c45, None, name),
        ]
        rows += [] if tds is None else [(k, 100 * tds, None, "TDS and ID3")]
        bar = f"  at most 18: {'yes' if error <= 0.18 else 'no'}" if k == 100 else ""
        specialization = "      -" if tds is None else f"{100 * tds:7.2f}"
        print(f"{k:6d} {100 * error:7.2f} {specialization} {100 * told:8.2f} {tree.n_leaves_:7d}{bar}")
    return pl.DataFrame(rows, schema=["k", "error", "exposed", "method"], orient="row")


def c45_baseline(train, test):
    """Error of Weka's J48 with the paper's confidence factor, or of a pruned tree of scikit-learn without Weka."""
    if find_spec("weka"):
        columns = [*NAMES, CLASS]
        judge = j48.Judge(test.select(columns), ["-C", "0.27", "-M", "2"])
        return 1 - judge.accuracy(train.select(columns))[0] / 100, "C4.5 (J48)"
    coder = OrdinalEncoder().fit(pl.concat([train, test]).select(NAMES).to_numpy())
    plain = DecisionTreeClassifier(ccp_alpha=1e-4, random_state=0)
    plain.fit(coder.transform(train.select(NAMES).to_numpy()), train[CLASS])
    return 1 - plain.score(coder.transform(test.select(NAMES).to_numpy()), test[CLASS]), "pruned tree, for C4.5"


def specialized(train, test, k):
    """Error of ID3 on a table by top-down specialization, if that publisher exists; test rows are recoded alike."""
    if "tds" not in PUBLISHERS:
        return None
    schema = ic.Schema(quasi=hierarchies(), sensitive=CLASS, rest="drop")
    release = PUBLISHERS["tds"](k=k).publish(train, schema, seed=1)
    tree = KAnonymousTreeClassifier(k=1).fit(release.frame.select(NAMES), release.frame[CLASS])
    return 1 - tree.score(release.transform(test, unseen="suppress").select(NAMES), test[CLASS])


def figure_8():
    train, test = complete_adult(), complete_adult_test()
    print("\nFig. 8: test accuracy against a limit of confidence (entropy diversity, no k)")
    print(f"{'limit':>6} {'l':>6} {'accuracy':>9} {'leaves':>7}")
    rows = []
    for percent in (76, 80, 85, 86, 88, 90, 92, 94, 96, 98, 99):
        l = diversity_for_confidence(percent / 100)
        tree = induced(train, k=1, l=l)
        rows.append((percent, 100 * tree.score(test.select(NAMES), test[CLASS])))
        print(f"{percent:5d}% {l:6.3f} {rows[-1][1]:9.2f} {tree.n_leaves_:7d}")
    return pl.DataFrame(rows, schema=["limit", "accuracy"], orient="row")


def seconds():
    every = [name for name in COLUMNS if name != CLASS]
    print("\nTime to induce, in seconds of the processor: names only, and with the numbers")
    train = complete_adult()
    for what, frame, ks in (("adult", train, (1, 2, 10, 50, 1000)), ("million", resampled(1_000_000), (10, 50, 1000))):
        for k in ks:
            taken = [clock(frame, names, k, 3 if what == "adult" else 1) for names in (NAMES, every)]
            held = "held" if max(taken) <= LIMITS[what] else "BROKEN"
            print(
                f"{frame.height:8d} rows, k = {k:4d}: {taken[0]:6.2f} {taken[1]:6.2f}  limit {LIMITS[what]:g}: {held}"
            )
    start = time.process_time()
    private = induced(train, k=10, public=[name for name in NAMES if name not in ("relationship", "occupation")])
    print(f"two private attributes, k = 10: {time.process_time() - start:.2f} s, {private.n_leaves_} leaves")


def clock(frame, names, k, repeats):
    induced(frame[:2000], names, k=k)
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        induced(frame, names, k=k)
        taken.append(time.process_time() - start)
    return min(taken)


def draw(folder, errors, confidence):
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure = plots.figure(3, title="k-anonymous trees on Adult")
    plots.lines(figure.axes[0], errors, "k", "error", "method", labels=("k", "test error (%)"), log_x=True)
    told = errors.filter(pl.col("exposed").is_not_null())
    plots.lines(figure.axes[1], told, "k", "exposed", labels=("k", "exposed people (%)"), log_x=True)
    plots.lines(figure.axes[2], confidence, "limit", "accuracy", labels=("confidence limit (%)", "test accuracy (%)"))
    for kind in ("svg", "png"):
        plots.save(figure, Path(folder) / f"friedman.{kind}")


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench friedman", description=__doc__.splitlines()[0])
    parts = {part.__name__: part for part in (table_6, figure_6, figure_8, seconds)}
    parser.add_argument("part", nargs="*", help=f"some of {', '.join(parts)}; all without")
    parser.add_argument("--plot", metavar="FOLDER", help="draw Figs 6 to 8 there (needs both parts)")
    options = parser.parse_args(arguments)
    results = {name: parts[name]() for name in options.part or parts}
    if options.plot:
        draw(options.plot, results["figure_6"], results["figure_8"])
        print(f"\ndrawn: {Path(options.plot) / 'friedman.svg'}, and as PNG")
