"""What it costs that k rows are left to everybody after matching: hardened NSVDist on Adult, with and without.

Loss is LM by exact domains, time the processor time of `publish`; the attack *matching* counts what is left, with code
of its own (on a sample, and for the last column).
"""

import argparse
import time

import incrowd as ic
from benchmarks.measure import complete_adult
from incrowd.datasets import adult_schema

LOSS, TIME = 1.5, 5.0  # at most so many times what it is without


def publish(frame, k, l, *, concealment):
    method = ic.NSVDist(k=k, l=l, concealment=concealment)
    start = time.process_time()
    release = method.publish(frame, adult_schema(), seed=1, domains="exact")
    return release, time.process_time() - start


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench concealment")
    parser.add_argument("--rows", type=int, default=30162)
    parser.add_argument("--sample", type=int, default=3000, help="rows of the table that is attacked")
    options = parser.parse_args(arguments)
    whole = complete_adult()
    frame, small = whole.head(options.rows), whole.sample(options.sample, seed=0)
    publish(small, 5, 1, concealment=False)  # compiles
    publish(small, 5, 1, concealment=True)
    print(f"./dev bench concealment --rows {options.rows} --sample {options.sample}   (generated; do not edit)\n")
    print(
        "  rows   k    l   LM without   with   ratio   CPU s without   with   ratio   level   attacked: without  with"
    )
    for k in (10, 50):
        for l in (1, 1.1):
            bare, seconds = publish(frame, k, l, concealment=False)
            own, more = publish(frame, k, l, concealment=True)
            lost, lost_more = bare.loss("lm"), own.loss("lm")
            left = [
                ic.attack(publish(small, k, l, concealment=c)[0], small, attacks=["matching"])["matching"]
                for c in (False, True)
            ]
            levels = [finding.numbers["concealment_level"] for finding in left]
            held = lost_more <= LOSS * lost and more <= TIME * seconds and own.levels["concealment"] >= k <= levels[1]
            print(
                f"{frame.height:6d} {k:3d} {l:4g} {lost:12.4f} {lost_more:6.4f} {lost_more / lost:7.2f} {seconds:15.1f}"
                f" {more:6.1f} {more / seconds:7.2f} {own.levels['concealment']:7d} {levels[0]:19d} {levels[1]:5d}"
                f"   {'bars held' if held else 'BROKEN'}",
                flush=True,
            )
