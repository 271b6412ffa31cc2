"""Whether releases with l on the class tell more about people who are in them than about people who were left out.

A tenth of the people is left out, the others are published, ten times, so that everybody is left out once. The
adversary knows everybody's quasi-identifiers, the algorithm, and so the group that each person falls into. He learns
how values go with quasi-identifiers from the release (the pattern of the population), and fits what it says about each
person to the counts of groups, in turns. Three of him: one bets on the most frequent value of the group alone; one
treats everybody alike, because he does not know who was left out; one knows who is in, and fits only their values to
the counts. Shown is how many are told rightly, with their rows there and left out, and the difference with twice its
standard error over the draws. A release that tells about its own people makes a difference; the pattern makes none.

k = 50, l as in the NSVDist paper's second setting, ranges that begin and end anywhere. `BestCuts (k = 5)` is there to
show that this adversary sees a leak where there is one: small groups that follow the classes, without any l.
"""

import argparse
import warnings
from dataclasses import replace

import numpy as np

import incrowd as ic
from incrowd.attacks import bayes
from incrowd.coding import Table
from incrowd.datasets import load, schema
from incrowd.experiments import nsvdist
from incrowd.kernels.partition import walk

K = 50
MOST = 6000  # people of a table that are looked at
TURNS, FITTINGS = 6, 25
METHODS = {
    "BestCuts": lambda l: ic.BestCuts(k=K, l=l),
    "InfoGain Mondrian": lambda l: ic.InfoGainMondrian(k=K, l=l),
    "NSVDist (hardened)": lambda l: ic.NSVDist(k=K, l=l),
    "BestCuts (k = 5)": lambda _: ic.BestCuts(k=5),
}
ADVERSARIES = ("counts alone", "all alike", "knows who is in")


def people_of(name):
    """A table, coded, at most MOST of its rows."""
    frame = load(name)
    if frame.height > MOST:
        frame = frame.sample(MOST, seed=1)
    return Table.encode(frame, schema(name, "nsvdist", order="free"), least=np.inf)


def some(table, rows):
    """The same table with some of its rows."""
    other = table.other[rows.tolist()] if table.other.width else table.other
    return replace(table, codes=np.asfortranarray(table.codes[rows]), sensitive=table.sensitive[rows], other=other,
                   rows=np.arange(len(rows)), n_input=len(rows))  # fmt: skip


def fitted(belief, group, counts, pool):
    """Scale beliefs until those of each group's pool add up to its counts; everybody of a group is scaled alike."""
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    size = np.bincount(group[pool], minlength=len(counts))[:, None]
    for _ in range(FITTINGS):
        have = np.zeros(counts.shape)
        np.add.at(have, group[pool], belief[pool])
        belief = belief * (shares * size / np.maximum(have, 1e-9))[group]
        belief /= np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return belief


def of_groups(table, inside, choice):
    """Each person's group, what counts alone say, and the counts."""
    group = walk(table.codes, choice.recoding.cuts)
    counts = np.zeros((len(choice.lo), table.n_values))
    np.add.at(counts, (group[inside], table.sensitive[inside]), 1)
    return group, (counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))[group], counts


def of_cells(table, choice):
    """What the cells that a person fits say about them, and everybody together."""
    shares = choice.counts / choice.counts.sum(axis=1, keepdims=True)
    weight = np.bincount(choice.cell_of, minlength=len(choice.lo))
    found = np.zeros((len(table.codes), table.n_values))
    for lo, hi, share, n in zip(choice.lo, choice.hi, shares, weight, strict=True):
        found[((table.codes >= lo) & (table.codes <= hi)).all(axis=1)] += n * share
    overall = (weight[:, None] * shares).sum(axis=0)
    found[found.sum(axis=1) == 0] = overall
    return found / found.sum(axis=1, keepdims=True), overall


def beliefs(table, inside, choice):
    """What each adversary believes about everybody."""
    if choice.recoding is not None:
        group, plain, counts = of_groups(table, inside, choice)
    else:  # no groups: the release counts all together
        plain, overall = of_cells(table, choice)
        group, counts = np.zeros(len(plain), np.int64), overall[None]
    everybody = np.arange(len(plain))
    yield plain
    for pool in (everybody, inside):
        believed = plain
        for _ in range(TURNS):
            pattern = bayes.expect(table.codes[pool], believed[pool])
            whole = bayes.expect(table.codes[pool], believed[pool], table.codes) if len(pool) < len(plain) else pattern
            whole[pool] = pattern  # each by the others
            believed = fitted(whole, group, counts, pool)
        yield believed


def draw(table, make, out, seed):
    """Share of people told, those who are in and those who are left out, per adversary; and the number of groups."""
    inside = np.flatnonzero(~out)
    choice = make.choose(some(table, inside), np.random.default_rng(seed), lambda *_: None)
    told = []
    for believed in beliefs(table, inside, choice):
        right = believed.argmax(axis=1) == table.sensitive
        told.append((right[~out].mean(), right[out].mean()))
    return told, len(choice.lo)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench exposure", description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10, help="of ten for each way to deal people out; 10")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="repeatable; all without")
    parser.add_argument("table", nargs="*", default=list(nsvdist.TABLES))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ic.PrivacyWarning)
    print("./dev bench exposure   (generated; do not edit)\n")
    print("share of people told: in the release / left out, and the difference with two standard errors\n")
    print(f"{'table':14} {'method':19} {'1/l':>5} groups " + "".join(f"{name:>32}" for name in ADVERSARIES))
    for name in options.table:
        table, l = people_of(name), nsvdist.higher_l(name)
        for method in options.method or METHODS:
            print(line(name, method, table, l, options.draws), flush=True)


def line(name, method, table, l, n_draws):
    """One line of the report."""
    found, n_groups = [], []
    for number in range(n_draws):
        parts = np.random.default_rng([3, number // 10]).permutation(len(table.codes)) % 10
        told, n = draw(table, METHODS[method](l), parts == number % 10, number)
        found.append(told)
        n_groups.append(n)
    found = np.array(found)
    cells = ""
    for adversary in range(len(ADVERSARIES)):
        there, gone = found[:, adversary].T
        apart = there - gone
        noise = 2 * apart.std(ddof=1) / np.sqrt(len(apart))
        cells += f"{f'{there.mean():.3f}/{gone.mean():.3f} {apart.mean():+.3f} ({noise:.3f})':>32}"
    return f"{name:14} {method:19} {1 / l:5.3f} {np.mean(n_groups):6.1f} {cells}"
