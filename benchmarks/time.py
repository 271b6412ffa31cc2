"""Ten monthly releases of a growing Adult: a series, beside releases that are published each by itself.

Occupation is sensitive (14 values), seven quasi-identifiers, k = 10 and l = 2. Each month 3 % of the people leave, 2 %
get all columns of somebody else, occupation among them, and 5 % come. Loss is LM by exact domains. In the end the last
release is attacked with all earlier ones. *Fresh* releases are those of the same method without a history; Mondrian's
(``cut="loss"``) keep k and l each, and nothing together.
"""

import argparse
import time

import numpy as np
import polars as pl

import incrowd as ic
from benchmarks.measure import complete_adult, complete_adult_test
from incrowd.datasets import adult_schema

K, L, MONTHS = 10, 2, 10
OUT, CHANGED, IN = 0.03, 0.02, 0.05
GROWTH = 1.3  # the loss of the series may be so many times that of fresh releases


def schema():
    own = adult_schema()
    quasi = {name: own.attributes[name].hierarchy for name in own.quasi if name != "occupation"}
    return ic.Schema(quasi=quasi, sensitive="occupation", identifiers=["person"], rest="drop")


def months(n, seed):
    """Yield the table of each month."""
    rng = np.random.default_rng(seed)
    everybody = pl.concat([complete_adult(), complete_adult_test()])
    everybody = everybody[rng.permutation(everybody.height).tolist()]
    everybody = everybody.with_row_index("person").with_columns(pl.col("person").cast(pl.String))
    table, came = everybody[:n], n
    for month in range(MONTHS):
        if month:
            size = table.height
            table = table[np.sort(rng.permutation(size)[round(OUT * size) :]).tolist()]
            changed = rng.permutation(table.height)[: round(CHANGED * size)]
            row = np.arange(table.height)
            row[changed] = table.height + rng.integers(0, everybody.height, len(changed))
            values = pl.concat([table, everybody])[row.tolist()].with_columns(table["person"])
            table = pl.concat([values, everybody[came : came + round(IN * size)]])
            came += round(IN * size)
        yield table


def publish(tables, seed):
    """Publish every month by all methods; print what each costs."""
    found = {"series": [], "fresh": [], "mondrian": []}
    method, other = ic.MInvariance(k=K, l=L), ic.Mondrian(k=K, l=L, cut="loss")
    print("month   rows  filler  held back  signatures   LM: series   fresh   ratio  mondrian   CPU s")
    for month, table in enumerate(tables):
        start = time.process_time()
        if month:
            release = ic.republish(found["series"][-1], table, schema(), seed=seed)
        else:
            release = method.publish(table, schema(), seed=seed, domains="exact")
        taken = time.process_time() - start
        found["series"].append(release)
        found["fresh"].append(method.publish(table, schema(), seed=seed + month, domains="exact"))
        found["mondrian"].append(other.publish(table, schema(), seed=seed + month, domains="exact"))
        lm, fresh, mondrian = (found[name][-1].loss("lm") for name in found)
        rows, kept = release.manifest.rows, release.private.evidence
        n_signatures = kept.signatures["signature"].n_unique()
        print(
            f"{month + 1:5d} {rows.input:6d} {rows.filler:7d} {rows.suppressed:10d} {n_signatures:11d} {lm:13.4f}"
            f" {fresh:7.4f} {lm / fresh:7.3f} {mondrian:9.4f} {taken:7.1f}",
            flush=True,
        )
    return found


def attack(releases, table):
    """Attack the last release with all earlier ones; return the findings by name."""
    *earlier, last = releases
    report = ic.attack(last, table, attacks=["intersection", "differencing"], earlier=earlier)
    return {finding.attack: finding for finding in report.findings}


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench time")
    parser.add_argument("--rows", type=int, default=6000, help="people in the first month")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(f"./dev bench time --rows {options.rows} --seed {options.seed}   (generated; do not edit)\n")
    tables = list(months(options.rows, options.seed))
    found = publish(tables, options.seed)
    ratios = [a.loss("lm") / b.loss("lm") for a, b in zip(found["series"], found["fresh"], strict=True)]
    held = "<=" if max(ratios) <= GROWTH else "> BROKEN"
    print(f"\nloss of the series, of that of fresh releases: at most {max(ratios):.3f} {held} {GROWTH}\n")
    verdicts = {True: "keeps all promises", False: "BROKEN"}
    fine = all(release.verify(table).ok for release, table in zip(found["series"], tables, strict=True))
    print(f"verified with the originals: the series {verdicts[fine]}\n")
    for name, releases in found.items():
        for finding in attack(releases, tables[-1]).values():
            print(f"{name:9} {finding.attack:13} {finding.outcome}: {finding.why}", flush=True)
            if finding.success is not None:
                print(f"{'':24}{finding.success}")
