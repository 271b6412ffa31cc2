"""Anonymous association rules of market baskets: seconds, rules mined, kept, and dropped with the reason.

Needs INCROWD_DATA, a folder with transactions/groceries.csv and transactions/retail_fimi.csv.gz (columns tid, item).
Public items: a random half of all items, or all but the ten that are bought most often.
"""

import os
import random
import time
from pathlib import Path

import polars as pl

import incrowd as ic

K = 50
MIN_CONFIDENCE = 0.25
SUPPORTS = (0.01, 0.005)
FILES = ("groceries.csv", "retail_fimi.csv.gz")


def main(_arguments):
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        raise SystemExit("set INCROWD_DATA to the folder that has transactions/ in it")
    print(f"k = {K}, min_confidence = {MIN_CONFIDENCE}; seconds from lists in memory to audited rules")
    print(f"{'baskets':<20} {'people':>7} {'support':>8} {'public':<14} {'cpu s':>6} {'wall s':>7}", end="")
    print(f" {'mined':>6} {'kept':>5} {'alone':>6} {'with others':>12} {'proven':>7} {'level':>6}")
    for name in FILES:
        frame = pl.read_csv(Path(folder) / "transactions" / name, schema_overrides={"item": pl.String})
        baskets = frame.group_by("tid", maintain_order=True).agg("item")["item"].to_list()
        by_count = frame.group_by("item").len().sort(["len", "item"], descending=[True, False])["item"].to_list()
        shuffled = sorted(by_count)
        random.Random(1).shuffle(shuffled)
        choices = {"random half": shuffled[: len(shuffled) // 2], "not the top 10": by_count[10:]}
        for support in SUPPORTS:
            for label, public in choices.items():
                line(name, baskets, support, label, public)


def line(name, baskets, support, label, public):
    wall, cpu = time.perf_counter(), time.process_time()
    found = ic.anonymous_rules(baskets, public=public, k=K, min_support=support, min_confidence=MIN_CONFIDENCE)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    alone = found.dropped.filter(reason="alone").height
    print(f"{name:<20} {len(baskets):>7} {support:>8} {label:<14} {cpu:6.1f} {wall:7.1f}", end="")
    print(f" {found.rules.height + found.dropped.height:>6} {found.rules.height:>5} {alone:>6}", end="")
    print(f" {found.dropped.height - alone:>12} {'yes' if found.exact else 'no':>7} {found.level or '-':>6}")
