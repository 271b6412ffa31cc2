"""What two groups can keep where l protects the class itself, and what is known of people then.

Who bets on the most frequent class of each group is right for at most 1/l of the people, whatever the groups: that is
the first ceiling. The second looks at every way to make two groups (nine tenths of a table, as in the design folds):
a threshold on one attribute; a band of values and the rest; a box of two attributes and the rest. Columns with more
than 60 values get 40 thresholds. Names stand in the order of their share of the most frequent class.

The adversary knows the groups, their counts, and which way each attribute points (from one group to the other), and no
more: he ranks the people of each group by the mean of their ranks, and gives the classes out by the counts. That is
right far more often than 1/l. The people of the other tenth, who are in no count, he ranks among them: he is about as
right, for what he knows is the pattern of the population. `./dev bench exposure` asks the same of whole releases.

docs/results/class-aware-ceiling.txt is this program's output.
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from incrowd import datasets
from incrowd.experiments import nsvdist
from incrowd.experiments.experiment import AVERAGES

K = 50
WIDE, CUTS = 60, 40
MOST = 1000  # partitions of a kind that the adversary is tried on
REPORT = Path("docs/results/class-aware.json")


def coded(frame, target):
    """Ranks of the values of each attribute, and the number of each row's class."""
    top, columns = frame[target].mode().sort()[0], []
    for column in frame.drop(target):
        if column.dtype.is_numeric():
            numbers = column.to_numpy()
            known = np.unique(numbers)
            cuts = (
                known[1:] if len(known) <= WIDE else np.unique(np.quantile(numbers, np.linspace(0, 1, CUTS + 1)[1:-1]))
            )
            columns.append(np.searchsorted(cuts, numbers, side="right"))
        else:
            shares = frame.group_by(column.name).agg((pl.col(target) == top).mean().alias("share"))
            order = shares.sort("share", column.name)[column.name].to_list()
            columns.append(np.array([order.index(value) for value in column]))
    classes = frame[target].unique().sort()
    return np.stack(columns, axis=1), frame[target].replace_strict(classes, range(len(classes))).to_numpy()


def ends(n):
    """All ranges of n values, as first and last."""
    return np.triu_indices(n)


def partitions(X, y):
    """Yield kind, the attributes, the ends of the first group, and its counts, for all partitions, in arrays."""
    n_classes, sizes = y.max() + 1, X.max(axis=0) + 1
    for m, size in enumerate(sizes):
        counts = np.zeros((size, n_classes), np.int64)
        np.add.at(counts, (X[:, m], y), 1)
        up_to = np.vstack([np.zeros((1, n_classes), np.int64), counts.cumsum(axis=0)])
        a, b = ends(size)
        one_sided = (a == 0) | (b == size - 1)
        for kind, which in (("threshold", one_sided), ("band", ~one_sided)):
            yield kind, (m,), np.stack([a, b], axis=1)[which], (up_to[b + 1] - up_to[a])[which]
    for m, o in itertools.combinations(range(len(sizes)), 2):
        up_to = np.zeros((sizes[m] + 1, sizes[o] + 1, n_classes), np.int64)
        np.add.at(up_to, (X[:, m] + 1, X[:, o] + 1, y), 1)
        up_to = up_to.cumsum(axis=0).cumsum(axis=1)
        (a, b), (c, d) = ends(sizes[m]), ends(sizes[o])
        for i, j in zip(a, b, strict=True):
            counts = up_to[j + 1, d + 1] - up_to[i, d + 1] - up_to[j + 1, c] + up_to[i, c]
            box = np.stack([np.full_like(c, i), np.full_like(c, j), c, d], axis=1)
            yield "box of two", (m, o), box, counts


def told(y, inside, ranks, out):
    """Share of the people about whom the adversary is right, and of those who are left out: sides, ranks, classes."""
    tops = [np.bincount(y[side]).argmax() for side in (inside, ~inside)]
    to_inside = np.sign(ranks[inside].mean(axis=0) - ranks[~inside].mean(axis=0))
    score, score_out = ranks @ to_inside, out.ranks @ to_inside
    n_right = n_right_out = 0
    for side, side_out, own, other, sign in (
        (inside, out.inside, tops[0], tops[1], -1),
        (~inside, ~out.inside, tops[1], tops[0], 1),
    ):
        order = np.sort(sign * score[side])
        n_own = int((y[side] == own).sum())
        guess = np.where(np.argsort(np.argsort(sign * score[side], kind="stable")) < n_own, own, other)
        n_right += (guess == y[side]).sum()
        last = order[n_own - 1] if n_own else -np.inf
        n_right_out += (np.where(sign * score_out[side_out] <= last, own, other) == out.y[side_out]).sum()
    return n_right / len(y), n_right_out / len(out.y)


class LeftOut(NamedTuple):
    """People who are in no count: their side, ranks among those who are, and classes."""

    inside: np.ndarray
    ranks: np.ndarray
    y: np.ndarray


def ranked(x, known):
    """Twice the rank of numbers among those that are known."""
    known = np.sort(known)
    return np.searchsorted(known, x) + np.searchsorted(known, x, side="right")


def members(X, attributes, box):
    """Tell which rows lie in a box."""
    found = np.ones(len(X), np.bool_)
    for at, m in enumerate(attributes):
        found &= (X[:, m] >= box[2 * at]) & (X[:, m] <= box[2 * at + 1])
    return found


def fold(name, number, l):
    """Print what the partitions of nine tenths of a table allow."""
    frame = datasets.load(name).drop_nulls()
    schema = datasets.schema(name, "nsvdist")
    frame = frame.select([*schema.quasi, schema.target])
    rng = np.random.default_rng([11, number])
    order, n = rng.permutation(frame.height), frame.height * 9 // 10
    X, y = coded(frame, schema.target)
    (X, X_out), (y, y_out) = ([whole[np.sort(part)] for part in (order[:n], order[n:])] for whole in (X, y))
    whole = np.bincount(y)
    majority = whole.max() / len(y)
    ranks, ranks_out = (
        np.stack([ranked(x, known) for x, known in zip(of.T, X.T, strict=True)], 1) for of in (X, X_out)
    )
    found = {}
    for kind, attributes, boxes, counts in partitions(X, y):
        rest = whole - counts
        legal = np.minimum(counts.sum(axis=1), rest.sum(axis=1)) >= K
        legal &= (counts.max(axis=1) * l <= counts.sum(axis=1)) & (rest.max(axis=1) * l <= rest.sum(axis=1))
        right = (counts.max(axis=1) + rest.max(axis=1)) / len(y)
        n, better = found.setdefault(kind, [0, []])
        found[kind][0] = n + int(legal.sum())
        better += [(right[at], attributes, boxes[at]) for at in np.flatnonzero(legal & (right > majority + 1e-9))]
    for kind, (n_legal, better) in found.items():
        line = f"  {kind:11} {n_legal:8} legal {len(better):8} better"
        if better:
            line += f", best {max(right for right, _, _ in better):.3f}"
        if better and len(whole) == 2:  # classes are given out by a rank
            tried = [better[at] for at in rng.permutation(len(better))[:MOST]]
            known = []
            for _, attributes, box in tried:
                out = LeftOut(members(X_out, attributes, box), ranks_out, y_out)
                known.append(told(y, members(X, attributes, box), ranks, out))
            there, gone = np.median(known, axis=0)
            line += f"; adversary, median of {len(tried)}: {there:.3f} in the table, {gone:.3f} left out"
        print(line, flush=True)
    return majority


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench ceiling", description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("table", nargs="*", default=["breast_cancer", "mammographic"])
    options = parser.parse_args(arguments)
    print("./dev bench ceiling   (generated; do not edit)\n\nRetention of J48 that 1/l allows:")
    sections = json.loads(REPORT.read_text(encoding="utf-8"))["sections"]
    rows = next(section["rows"] for section in sections if section["title"] == AVERAGES)
    base = {(r["dataset"], r["method"]): r["accuracy"] for r in rows if r["classifier"] == "j48" and r["k"] is None}
    bounds = {}
    for name in dict.fromkeys(dataset for dataset, _ in base):
        majority, original = base[name, "majority"], base[name, "original"]
        bounds[name] = (100 / nsvdist.higher_l(name) - majority) / (original - majority)
        print(f"  {name:15} 1/l {1 / nsvdist.higher_l(name):.3f}, at most {bounds[name]:.2f}")
    print(f"  mean, cut off at 1: {np.mean([min(1, bound) for bound in bounds.values()]):.3f}")
    for name in options.table:
        for number in range(options.folds):
            l = nsvdist.higher_l(name)
            print(f"\n{name}, nine tenths, draw {number}: two groups of {K} or more, l = {l:.2f}, 1/l = {1 / l:.3f}")
            print(f"  the most frequent class alone is right for {fold(name, number, l):.3f}")
