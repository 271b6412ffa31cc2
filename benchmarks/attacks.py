"""Every attack against every kind of release of Adult: what the adversary gets, beside what is promised.

Two tables: income (two values) with all eight quasi-identifiers, and occupation (fourteen values) with income among the
quasi-identifiers instead. The classifier is compared with people of the test part. One line per release is printed as
soon as it is there; ``--json FILE`` keeps them, and a run that was stopped goes on from there.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import incrowd as ic
from benchmarks.measure import complete_adult, complete_adult_test
from incrowd.datasets import adult_schema

METHODS = {
    "mondrian": lambda k, l: ic.Mondrian(k=k, l=l),
    "nhaa": lambda k, l: ic.NHAA(k=k, l=l),
    "nsvdist paper": lambda k, l: ic.NSVDist(k=k, l=l, mode="paper"),
    "nsvdist hardened": lambda k, l: ic.NSVDist(k=k, l=l, mode="hardened"),
}
DIVERSITY = {"income": (1, 1.1), "occupation": (2, 5)}
WIDTHS = {"linking": 14, "matching": 22, "reconstruction": 38, "classifier": 24}
HEADS = tuple(WIDTHS)


def schema(sensitive):
    """Adult's schema, or the one in which occupation is sensitive and income is known."""
    own = adult_schema()
    if sensitive == "income":
        return own
    quasi = {name: own.attributes[name].hierarchy for name in own.quasi if name != "occupation"} | {"income": None}
    return ic.Schema(quasi=quasi, sensitive="occupation", missing="drop", missing_tokens=["?"], rest="drop")


def tables(n):
    train, test = complete_adult(), complete_adult_test()
    return (train, test) if n >= train.height else (train.sample(n, seed=0), test.sample(min(n, test.height), seed=0))


def one(name, n, sensitive, k, l, options):
    """Publish, attack, and return what came out as plain data."""
    train, test = tables(n)
    found = {"method": name, "rows": train.height, "sensitive": sensitive, "k": k, "l": l}
    try:
        release = METHODS[name](k, l).publish(train, schema(sensitive), seed=1)
    except (ic.InfeasibleError, ic.ParameterError) as refused:
        return found | {"refused": refused.fact}
    start = time.perf_counter()
    report = ic.attack(release, train, attacks=options.attack, non_members=test, known=options.known)
    return found | {"loss": release.loss("lm"), "seconds": time.perf_counter() - start, "report": report.to_dict()}


def line(found):
    """Write one line of the table."""
    head = f"{found['method']:17} {found['rows']:6d} {found['sensitive']:10} {found['k']:3d} {found['l']:4g}"
    if "refused" in found:
        return f"{head}  refused"
    by_name = {f["attack"]: f for f in found["report"]["findings"]}
    cells = []
    for attack in HEADS:
        f = by_name.get(attack)
        if f is None or f["outcome"] == "not applicable":
            cells.append(f"{'-':>{WIDTHS[attack]}}")
            continue
        mark = "BROKEN" if f["outcome"] == "promise broken" else "ok"
        numbers, success = f["numbers"], f["success"]
        told = {
            "linking": lambda n=numbers: f"{n['people_per_row_min']}/{n['rows_per_person_min']}",
            "matching": lambda n=numbers: f"{n['people_per_row_min']}/{n['concealment_level']} {n['people_below_k']}<k",
            "reconstruction": lambda n=numbers, s=success, b=f["baseline"]: (
                f"{n['certain_beyond_rows']} sure {n['claimed_share']:.1%}@{s['precision'] or 0:.1%}"
                f" ({b['recall']:.1%})"
            ),
            "classifier": lambda s=success, b=f["baseline"]: f"{s['precision']:.1%} vs {b['precision']:.1%}",
        }[attack]()
        cells.append(f"{told + ' ' + mark:>{WIDTHS[attack]}}")
    return f"{head} {found['loss']:6.3f}" + "".join(cells) + f" {found['seconds']:7.1f} s"


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench attacks")
    parser.add_argument("--rows", type=int, action="append", help="repeatable; 3000 and 30162 without")
    parser.add_argument("--k", type=int, action="append", help="repeatable; 5, 10, 50 without")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="repeatable; all without")
    parser.add_argument("--sensitive", action="append", choices=list(DIVERSITY), help="repeatable; both without")
    parser.add_argument("--attack", action="append", choices=HEADS, help="repeatable; all without")
    parser.add_argument("--known", type=float, default=0.0, help="share of values that the adversary knows")
    parser.add_argument("--finished", action="store_true", help="print what is kept, and compute nothing")
    parser.add_argument("--json", type=Path, help="keep results here, one per line, and go on from there")
    options = parser.parse_args(arguments)
    options.attack = options.attack or list(HEADS)
    warnings.simplefilter("ignore", ic.PrivacyWarning)
    kept = {}
    if options.json and options.json.exists():
        for text in options.json.read_text(encoding="utf-8").splitlines():
            found = json.loads(text)
            kept[found["method"], found["rows"], found["sensitive"], found["k"], found["l"]] = found
    print("linking: people per row / rows per person at least; matching: the same after dropping impossible pairs;")
    print("reconstruction: values certain though no row shows them, claims above 0.9, how many are right, (baseline);")
    print("classifier: values of members that it predicts, against those of people who are not in the table")
    heads = "".join(f"{head:>{WIDTHS[head]}}" for head in HEADS)
    print(f"{'method':17} {'rows':>6} {'sensitive':10} {'k':>3} {'l':>4} {'LM':>6}{heads}")
    ks, methods = options.k or [5, 10, 50], options.method or list(METHODS)
    asked = [
        (name, n, sensitive, k, l)
        for n, sensitive in product(options.rows or [3000, 30162], options.sensitive or DIVERSITY)
        for l, k, name in product(DIVERSITY[sensitive], ks, methods)
    ]
    for key in asked:
        if key not in kept and not options.finished:
            kept[key] = one(*key, options)
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(kept[key]) + "\n")
        if key in kept:
            print(line(kept[key]), flush=True)
