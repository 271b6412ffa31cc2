"""kACTUS in its plainest form: a nested tree over lists of rows, and groups rolled up by recursion."""

import math
from collections import Counter
from statistics import NormalDist

import naive_mondrian

TIE = 1e-9


def entropy(labels):
    return -sum(x / len(labels) * math.log2(x / len(labels)) for x in Counter(labels).values())


def gain_of(parts, classes):
    """Information gain of a split into these lists of rows, and the entropy of the split itself."""
    everything = [i for part in parts for i in part]
    left = sum(len(part) / len(everything) * entropy([classes[i] for i in part]) for part in parts if part)
    branching = entropy([number for number, part in enumerate(parts) for _ in part])
    return entropy([classes[i] for i in everything]) - left, branching


def is_number(hierarchy):
    return hierarchy.to_dict()["kind"] == "intervals"


def split(rows, m, codes, classes, hierarchy, least):
    """The parts, gain and gain ratio of an attribute's split, or None."""
    if not is_number(hierarchy):
        parts = [[i for i in rows if codes[i][m] == value] for value in sorted({codes[i][m] for i in rows})]
        if sum(len(part) >= least for part in parts) < 2:
            return None
        gain, branching = gain_of(parts, classes)
        return parts, gain, gain / branching
    missing = [i for i in rows if hierarchy.has_missing and codes[i][m] == 0]
    known = [i for i in rows if i not in set(missing)]
    best, n_thresholds = None, 0
    for threshold in sorted({codes[i][m] for i in known}):
        below, above = [i for i in known if codes[i][m] <= threshold], [i for i in known if codes[i][m] > threshold]
        if len(below) < least or len(above) < least:
            continue
        n_thresholds += 1
        gain, branching = gain_of([missing, below, above], classes)
        if best is None or gain > best[1] + TIE:
            best = [part for part in (missing, below, above) if part], gain, branching
    if best is None:
        if len(missing) < least or len(known) < least:
            return None
        best = [missing, known], *gain_of([missing, known], classes)
    parts, gain, branching = best
    gain -= math.log2(max(1, n_thresholds)) / len(rows)
    return parts, gain, gain / branching


def grow(rows, codes, classes, hierarchies, least, path=()):
    """A node: its rows, its path of branch numbers, its attribute and children, if it has any."""
    node = {"rows": rows, "path": path, "attribute": None, "children": []}
    useful = {}
    for m, hierarchy in enumerate(hierarchies):
        found = split(rows, m, codes, classes, hierarchy, least)
        if found is not None and found[1] > TIE:
            useful[m] = found
    chosen, ratio = None, 0.0
    average = sum(gain for _, gain, _ in useful.values()) / max(1, len(useful))
    for m, (_, gain, its_ratio) in useful.items():
        if gain >= average - TIE and its_ratio > ratio + TIE:
            chosen, ratio = m, its_ratio
    if chosen is not None:
        node["attribute"] = chosen
        parts = useful[chosen][0]
        node["children"] = [grow(p, codes, classes, hierarchies, least, (*path, b)) for b, p in enumerate(parts)]
    return node


def expected_errors(n, wrong, confidence):
    """C4.5's upper limit of the errors of a leaf."""
    z = NormalDist().inv_cdf(1 - confidence)
    if wrong == 0:
        return n * (1 - confidence ** (1 / n))
    if wrong + 0.5 >= n:
        return n
    f = (wrong + 0.5) / n
    return n * (f + z**2 / (2 * n) + z * math.sqrt(f / n - f**2 / n + z**2 / (4 * n**2))) / (1 + z**2 / n)


def prune(node, classes, confidence):
    """Replace subtrees that are not expected to be better than a leaf; return the expected errors."""
    wrong = len(node["rows"]) - max(Counter(classes[i] for i in node["rows"]).values())
    here = expected_errors(len(node["rows"]), wrong, confidence)
    below = sum(prune(child, classes, confidence) for child in node["children"])
    if node["children"] and here > below + 0.1 + TIE:
        return below
    node["attribute"], node["children"] = None, []
    return here


def in_order(paths):
    return sorted(paths, key=lambda path: (len(path), path))


class Rolling:
    """Groups by the path of their node, and the rows that were lent."""

    def __init__(self, k, complies, lends):
        self.k, self.complies, self.lends = k, complies, lends
        self.groups, self.lent = {}, set()

    def run(self, root):
        rest = self.roll_up(root)
        if rest:
            self.groups[()] = self.complete(rest, self.groups)
        return self.groups

    def roll_up(self, node):
        """What the node holds as a leaf once everything below it is done; complying leaves below become groups."""
        if not node["children"]:
            return node["rows"]
        leaves = {child["path"]: self.roll_up(child) for child in node["children"]}
        complying = {path: rows for path, rows in leaves.items() if rows and self.complies(rows)}
        rest = [i for path, rows in leaves.items() if path not in complying for i in rows]
        if rest:
            rest = self.complete(rest, complying)
        self.groups |= complying
        return rest

    def complete(self, rest, siblings):
        if self.complies(rest):
            return rest
        needed = self.k - len(rest)
        if needed > 0:
            after, lent = dict(siblings), []
            for path in sorted(in_order(siblings), key=lambda path: -len(siblings[path])):
                ready = sorted(siblings[path], key=lambda i: self.lends[i])
                n_lent = min(needed - len(lent), len(ready) - self.k)
                lent += ready[:n_lent]
                after[path] = ready[n_lent:]
            sides = [rest + lent, *(after[path] for path in siblings)]
            if len(lent) == needed and all(self.complies(side) for side in sides):
                siblings.update(after)
                self.lent |= set(lent)
                return rest + lent
        together, taken = list(rest), []
        for path in sorted(in_order(siblings), key=lambda path: len(siblings[path])):
            together, taken = together + siblings[path], [*taken, path]
            if self.complies(together):
                for gone in taken:
                    del siblings[gone]
                return together
        return rest


def attributes_on(root, path):
    node, found = root, set()
    for branch in path:
        found.add(node["attribute"])
        node = node["children"][branch]
    return found


def kactus(codes, classes, hierarchies, k, complies, lends, *, min_rows=None, confidence=0.5):
    """The cell of each row, as a list of (lo, hi), and the rows that were lent; rows are tuples of codes."""
    root = grow(list(range(len(codes))), codes, classes, hierarchies, k if min_rows is None else min_rows)
    if confidence is not None:
        prune(root, classes, confidence)
    rolling = Rolling(k, complies, lends)
    cells = [None] * len(codes)
    for path, rows in rolling.run(root).items():
        known = attributes_on(root, path)
        cell = [
            naive_mondrian.closure(h, [codes[i][m] for i in rows]) if m in known else (0, h.n_leaves - 1)
            for m, h in enumerate(hierarchies)
        ]
        for i in rows:
            cells[i] = cell
    return cells, rolling.lent
