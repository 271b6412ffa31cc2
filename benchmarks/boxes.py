"""What one group of k rows could keep of Page Blocks, of which BestCuts keeps less than half with k = 200.

Nine of ten blocks are text, and of the other classes only one has more than 120 rows, so what a release with k = 200
keeps is one group: rows of that class with as few of text as may be. Every group that is published is a box, so this
looks for the box of at least k rows with the most rows of the class beyond those of text: from many starts, each
attribute's range is set to the best one for the ranges of the others (exactly, by prefix sums), until none gets better.
A second box is looked for among the rows that the first one leaves. No bound is proved; how many starts end within two
rows of the best one says how sure it is.

Retention is that of people who know the boxes: (right - text) / (J48 on the original - text), on rows that the box was
made of and on rows of the tenth that was left out. J48 itself learns from drawn rows and gets there or not: beside it
is what it keeps of BestCuts. Folds of seed 1. docs/results/page-blocks.txt is this program's output.
"""

import argparse

import numpy as np

from incrowd.evaluate.classifiers import classifier
from incrowd.evaluate.protocol import judge_baselines
from incrowd.experiments import nsvdist

TABLE, K = "page_blocks", 200
NEAR = 2  # rows less than the best


def best_range(values, gains, k):
    """The best sum of a range of sorted values with at least k rows, and its first and last value."""
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    stops = np.r_[starts[1:], len(values)]
    low = np.minimum.accumulate(sums[starts])
    ready = np.searchsorted(starts, stops - k, side="right") - 1
    found = np.where(ready >= 0, sums[stops] - low[ready], -np.inf)
    at = int(found.argmax())
    start = int(np.argmin(sums[starts[: ready[at] + 1]])) if ready[at] >= 0 else 0
    return found[at], (values[starts[start]], values[stops[at] - 1])


def climb(X, gains, k, box, rng):
    """Better ranges, attribute after attribute, until none is better."""
    reached, moved = -np.inf, True
    while moved:
        moved = False
        for m in rng.permutation(X.shape[1]):
            others = np.arange(X.shape[1]) != m
            rows = np.flatnonzero(inside(X[:, others], box[others]))
            if len(rows) < k:
                continue
            rows = rows[np.argsort(X[rows, m], kind="stable")]
            found, ends = best_range(X[rows, m], gains[rows], k)
            if found > reached:
                reached, moved = found, True
                box[m] = ends
    return reached, box


def inside(X, box):
    return ((box[:, 0] <= X) & (box[:, 1] >= X)).all(axis=1)


def best_box(X, y, text, k, starts, rng):
    """The best box of all starts, its class, and how many starts of that class end near it."""
    found = []
    whole = np.stack([X.min(axis=0), X.max(axis=0)], axis=1)
    for c in np.flatnonzero(np.bincount(y) > k / 4):
        gains = (y == c) * 1.0 - (y == text)
        for _ in range(starts if c != text else 0):
            some = X[rng.choice(np.flatnonzero(y == c), rng.integers(5, 50))]
            narrow = rng.random(X.shape[1]) < rng.uniform(0.1, 0.9)
            box = np.where(narrow[:, None], np.stack([some.min(axis=0), some.max(axis=0)], axis=1), whole)
            found.append((*climb(X, gains, k, box, rng), c))
    best = max(found, key=lambda one: one[0])
    return (*best, sum(one[0] >= best[0] - NEAR for one in found))


def gained(X, y, text, box, c):
    held = inside(X, box)
    return (np.sum(y[held] == c) - np.sum(y[held] == text)) / len(y)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench boxes", description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=30, help="per class; 30")
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args(arguments)
    learner, rng, told = classifier("j48"), np.random.default_rng(1), []
    print("./dev bench boxes   (generated; do not edit)\n")
    print(f"Page Blocks, k = {K}, l = 1: {options.starts} starts per class; gains in rows, and what is kept")
    print(
        f"\n{'fold':>4} {'gain':>5} {'near it':>8} {'second':>7} {'made of':>8} {'left out':>9} {'J48, BestCuts':>14}"
    )
    for number in range(options.folds):
        fold = nsvdist.fold_of(TABLE, number)
        (X, y), (asked, truth) = (
            (r.features.to_numpy().astype(float), r.target.to_numpy()) for r in (fold.train, fold.test)
        )
        _, y = np.unique(y, return_inverse=True)
        truth = np.searchsorted(np.unique(fold.train.target.to_numpy()), truth)
        text = np.bincount(y).argmax()
        gain, box, c, near = best_box(X, y, text, K, options.starts, rng)
        rest = ~inside(X, box)
        second = max(0, best_box(X[rest], y[rest], text, K, max(1, options.starts // 5), rng)[0])
        base, original = (r["accuracy"] for r in judge_baselines(fold, [learner]))
        task = {"dataset": TABLE, "fold": number, "seed": 1, "classifier": "j48", "method": "best_cuts", "k": K}
        ours = nsvdist.run(task | {"l": 1.0, "trees": "free", "view": "recommended", "samples": 3})["accuracy"] / 100
        kept = np.array([gain / len(y), gained(asked, truth, text, box, c), ours - base]) / (original - base)
        told.append((original - base, *kept * (original - base)))
        print(
            f"{number:4} {gain:5.0f} {near:8} {second:7.0f} {kept[0]:8.2f} {kept[1]:9.2f} {kept[2]:14.2f}", flush=True
        )
    whole, *parts = np.mean(told, axis=0)
    print(f"mean {'':21} " + f"{parts[0] / whole:8.2f} {parts[1] / whole:9.2f} {parts[2] / whole:14.2f}")
