"""The price of a second sensitive column on Adult: detail lost, accuracy kept, and time.

Occupation and relationship are sensitive, income is the class and published as it is, the six other attributes that a
neighbour could know are quasi-identifiers; k = 10, and l = 2 of each sensitive column. Loss is LM by exact domains.
*Retention* is how
much of what a tree gains over the most frequent class, on the raw test part, is kept by one that learns from the
release. Times are processor times of `publish`; the ratio is that of both columns to the slower of one.
"""

import argparse
import time

import incrowd as ic
from benchmarks.measure import complete_adult, complete_adult_test
from incrowd.datasets import adult_schema

K, L = 10, 2
TIME = 1.5  # a method that cuts may take so many times as long with two columns as with one
COLUMNS = (["occupation"], ["relationship"], ["occupation", "relationship"])
METHODS = {
    "best_cuts": ic.BestCuts(k=K, l=L),
    "mondrian, by loss": ic.Mondrian(k=K, l=L, cut="loss"),
    "infogain_mondrian": ic.InfoGainMondrian(k=K, l=L),
    "tight_groups": ic.TightGroups(k=K, l=L),
    "nsvdist": ic.NSVDist(k=K, l=L),
}


def schema(sensitive):
    own = adult_schema()
    quasi = {name: own.attributes[name].hierarchy for name in own.quasi if name != "occupation"}
    return ic.Schema(quasi=quasi, sensitive=sensitive, other=["income"], target="income", rest="drop")


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench several")
    parser.add_argument("--rows", type=int, default=30162)
    options = parser.parse_args(arguments)
    frame, test = complete_adult().head(options.rows), complete_adult_test()
    print(f"./dev bench several --rows {options.rows}   (generated; do not edit)\n")
    print("method             sensitive                  LM   retention   CPU s   ratio")
    for name, method in METHODS.items():
        method.publish(frame.head(2000), schema(COLUMNS[0]), seed=1)  # compiles
        taken = []
        for sensitive in COLUMNS:
            start = time.process_time()
            release = method.publish(frame, schema(sensitive), seed=1, domains="exact")
            taken.append(time.process_time() - start)
            found = ic.evaluate(
                release, holdout=test, original=frame, classifiers=["tree"], samples=1, training="recommended"
            )
            kept = found.frame["retention"][0]
            ratio = f"{taken[2] / max(taken[:2]):7.2f}" if len(taken) == len(COLUMNS) else ""
            print(
                f"{name:18} {', '.join(sensitive):24} {release.loss('lm'):6.3f} {kept:11.3f} {taken[-1]:7.2f} {ratio}",
                flush=True,
            )
