"""Single-dimensional recoding in its plainest form: every way to divide each attribute's values is tried."""

from collections import Counter
from itertools import chain, pairwise, product

import numpy as np
import polars as pl

import incrowd as ic
import naive_mondrian


def people(n=300):
    rng = np.random.default_rng(3)
    age = rng.integers(18, 80, n)
    return pl.DataFrame({
        "age": age,
        "work": rng.choice(["private", "public", "self", "none"], n),
        "sex": rng.choice(["f", "m"], n),
        "rich": np.where(rng.random(n) < (age - 10) / 90, "yes", "no"),
    })  # fmt: skip


TREE = ic.Taxonomy.from_nested({"paid": {"employed": ["private", "public"], "own": ["self"]}, "none": None})
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "work": TREE, "sex": None}, sensitive="rich")


def divisions(hierarchy):
    """Every division of the leaves into legal values, each as a list of (first, last)."""
    lo, hi = hierarchy.levels()
    n = hierarchy.n_leaves
    if len(lo):
        nodes = {(int(a), int(b)) for a, b in zip(lo.ravel(), hi.ravel(), strict=True)}
        return divide((0, n - 1), nodes)
    first = int(hierarchy.has_missing)
    found = [[(0, n - 1)]]
    free = range(first + 1, n)
    for chosen in product([False, True], repeat=len(free)):
        starts = [first, *(start for start, cut in zip(free, chosen, strict=True) if cut)]
        if first == 0 and len(starts) == 1:
            continue  # everything, which is there already
        known = [(a, b - 1) for a, b in pairwise([*starts, n])]
        if first < n:
            found.append([(0, 0)] * first + known)
    return found


def divide(node, nodes):
    """A node as it is, or every division of each of its children."""
    inside = [x for x in nodes if x != node and node[0] <= x[0] and x[1] <= node[1]]
    children = sorted(x for x in inside if not any(y != x and y[0] <= x[0] and x[1] <= y[1] for y in inside))
    ways = [[node]]
    if children:
        ways += [list(chain(*parts)) for parts in product(*(divide(child, nodes) for child in children))]
    return ways


def groups(table, ways):
    """The rows of each group when each attribute is divided in its way."""
    values = [{x: at for at, (a, b) in enumerate(way) for x in range(a, b + 1)} for way in ways]
    members = {}
    for i, row in enumerate(table.codes.tolist()):
        members.setdefault(tuple(value[x] for value, x in zip(values, row, strict=True)), []).append(i)
    return list(members.values())


def cost(table, ways, loss, holds):
    """What the paper says: DM or CM, with every row of a group that fails suppressed; LM as a mean over cells."""
    n, classes = table.n_rows, table.classes[0].tolist()
    sensitive = [0] * n if table.sensitive is None else table.sensitive.tolist()
    total = 0
    for rows in groups(table, ways):
        if not holds([sensitive[i] for i in rows]):
            total += len(rows) * {"dm": n, "cm": 1, "lm": table.n_quasi}[loss]
        elif loss == "dm":
            total += len(rows) ** 2
        elif loss == "cm":
            total += len(rows) - max(Counter(classes[i] for i in rows).values())
        else:
            total += sum(extent(h, way, table.codes[i, m]) for i in rows for m, (h, way) in shown(table, ways))
    return total


def shown(table, ways):
    return list(enumerate(zip(table.hierarchies, ways, strict=True)))


def extent(hierarchy, way, leaf):
    first, last = next((a, b) for a, b in way if a <= leaf <= b)
    whole = hierarchy.pos[-1] - hierarchy.pos[0]
    return (hierarchy.pos[last] - hierarchy.pos[first]) / whole if whole else 0.0


def best_cost(table, loss, holds):
    """The least cost of any recoding."""
    return min(cost(table, ways, loss, holds) for ways in product(*map(divisions, table.hierarchies)))


def judge(table, k, constraints):
    """Return what tells whether a group with these sensitive values keeps everything."""

    def holds(values):
        return naive_mondrian.holds(values, table.sensitive.tolist(), k=k, **constraints)

    return holds


def few_ways(table, most=600):
    """Whether a table can be recoded in few enough ways to try them all."""
    return np.prod([len(divisions(h)) for h in table.hierarchies]) <= most
