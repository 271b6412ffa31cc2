"""What is proposed for a wide column, beside an alphabetical tree: detail lost, and what classifiers keep.

Three generated tables of age, sex, one wide column and a class that depends on all of them: codes like ICD's (the class
depends on chapter, block, category and code), job titles (on the first word and the title), and random names (on each
name by itself). Values have Zipf's frequencies. Retention is that of `incrowd.evaluate` on two folds, mean of seeds.
"""

import argparse
import string
import time

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.schema.name_proposal import propose_for_names

HEADS = [
    "Nurse", "Clerk", "Engineer", "Teacher", "Driver", "Manager", "Technician", "Cook", "Mechanic", "Assistant",
    "Doctor", "Lawyer", "Salesperson", "Guard", "Painter", "Carpenter", "Cleaner", "Farmer", "Analyst", "Designer",
    "Officer", "Operator", "Welder", "Porter", "Librarian", "Musician", "Pilot",
]  # fmt: skip
PLACES = [
    "paediatric", "surgical", "night", "senior", "junior", "chief", "field", "office", "deputy", "trainee",
    "mobile", "regional", "industrial", "public", "private", "marine", "rural", "urban", "hotel", "hospital",
    "school", "army", "railway", "airport", "bank", "court", "garden", "harbour", "mining", "dental",
]  # fmt: skip


def codes(rng):
    """Return up to 2000 codes such as E11.9, and the effect of each."""
    found = {}
    for chapter in string.ascii_uppercase[:20]:
        of_chapter = rng.normal(0, 1)
        for block in range(10):
            of_block = of_chapter + rng.normal(0, 0.6)
            for category in rng.choice(10, 3, replace=False):
                of_category = of_block + rng.normal(0, 0.6)
                for last in rng.choice(10, int(rng.integers(1, 7)), replace=False):
                    found[f"{chapter}{block}{category}.{last}"] = of_category + rng.normal(0, 0.5)
    chosen = rng.permutation(len(found))[:2000]
    return [list(found.items())[at] for at in chosen]


def jobs(rng):
    """Return some 500 job titles, most of which share their first word, and the effect of each."""
    found = []
    for head in HEADS:
        of_head = rng.normal(0, 1)
        places = rng.choice(PLACES, int(rng.integers(3, 30)), replace=False)
        found += [(f"{head}, {place}", of_head + rng.normal(0, 0.5)) for place in places]
    return [*found, *names(rng, 40)]


def names(rng, n=2000):
    """Return random names, and the effect of each."""
    made = {"".join(rng.choice(list(string.ascii_lowercase), int(rng.integers(4, 10)))).title() for _ in range(n)}
    return [(name, rng.normal(0, 1)) for name in sorted(made)]


def people(values, rng, rows):
    """Return people with these values."""
    share = rng.permutation(1 / np.arange(1, len(values) + 1) ** 0.8)
    at = rng.choice(len(values), rows, p=share / share.sum())
    age, woman = rng.integers(18, 90, rows), rng.integers(0, 2, rows)
    score = np.array([effect for _, effect in values])[at] + 0.03 * (age - 54) + 0.3 * woman
    ill = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    wide = [values[i][0] for i in at]
    return pl.DataFrame({"age": age, "sex": np.where(woman == 1, "f", "m"), "wide": wide, "ill": ill})


def measure(frame, spec, method, k):
    """Return detail lost, in all columns and in the wide one, and what a tree and a logistic model keep."""
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None, "wide": spec}, sensitive="ill")
    release = ic.publish(frame, schema, method=method, k=k, seed=1)
    (of_wide,) = (row["detail lost"] for row in release.overview().columns if row["column"] == "wide")
    judged = ic.evaluate(
        method, frame, schema, k=k, cv=2, samples=1, classifiers=["tree", "logistic"], training="recommended", seed=1
    )
    return [release.loss("lm"), float(of_wide.rstrip("%")) / 100, *judged.frame["retention"].to_list()]


def main(arguments):
    """Print one line per table, method and hierarchy."""
    parser = argparse.ArgumentParser(prog="./dev bench hierarchies")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args(arguments)
    print(f"{given.rows} rows, k = {given.k}, mean of {given.seeds} seeds")
    print(f"{'table':8} {'method':10} {'hierarchy':22} {'LM':>6} {'column':>7} {'tree':>6} {'logistic':>9} {'s':>5}")
    for make in (codes, jobs, names):
        frames = []
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            frames.append(people(make(rng), rng, given.rows))
        proposed = propose_for_names(frames[0]["wide"])[0]
        specs = {"balanced, alphabetical": ic.balanced(), f"proposed: {proposed.kind}": proposed}
        specs |= {"without a class: common": ic.common()} if proposed.supervised else {"by_class": ic.by_class()}
        for method in ("best_cuts", "mondrian"):
            for name, spec in specs.items():
                start = time.perf_counter()
                found = np.mean([measure(frame, spec, method, given.k) for frame in frames], axis=0)
                seconds = (time.perf_counter() - start) / given.seeds
                figures = f"{found[0]:6.3f} {found[1]:7.1%} {found[2]:6.2f} {found[3]:9.2f} {seconds:5.1f}"
                print(f"{make.__name__:8} {method:10} {name:22} {figures}", flush=True)
