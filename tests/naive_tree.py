"""Algorithm 1 of Friedman et al. in its plainest form: spans by their definition, after every split that is tried."""

from collections import Counter

import naive_mondrian
from incrowd.kernels.information import n_log_n
from incrowd.learn.spans import Spans, find_spans


class Node:
    def __init__(self, number, rows, box):
        self.number, self.rows, self.box = number, rows, box
        self.m, self.parts, self.children = None, [], []

    def structure(self):
        """Attribute, last rank of each part, and the same of each child; a leaf is its rows."""
        if self.m is None:
            return sorted(self.rows)
        children = [None if child is None else child.structure() for child in self.children]
        return self.m, [hi for _, hi in self.parts], children


def place(node, row):
    """The leaf that a row is in; a part of a split that no row has is a place of its own."""
    while node.m is not None:
        at = next(p for p, (lo, hi) in enumerate(node.parts) if row[node.m] <= hi)
        if node.children[at] is None:
            return node.number, at
        node = node.children[at]
    return node.number


def level_cells(hierarchy):
    """The nodes of each level below the root, lowest first; none for intervals."""
    lo, hi = hierarchy.levels()
    return [sorted(set(zip(a.tolist(), b.tolist(), strict=True))) for a, b in zip(lo[:-1], hi[:-1], strict=True)]


class Plain:
    def __init__(self, codes, classes, hierarchies, public, *, class_public, gain, **constraints):
        self.codes, self.classes, self.hierarchies = codes, classes, hierarchies
        self.public, self.class_public, self.gain, self.constraints = public, class_public, gain, constraints
        self.logs = n_log_n(len(codes))
        self.domain = sorted(set(classes))
        everywhere = [(0, h.n_leaves - 1) for h in hierarchies]
        self.root = Node(0, list(range(len(codes))), everywhere)
        self.n_nodes = 1

    def impurity(self, rows):
        counts, total = Counter(self.classes[i] for i in rows), 0.0
        if self.gain == "gini":
            return len(rows) - sum(count * count for count in counts.values()) / len(rows)
        for value in self.domain:
            total += self.logs[counts[value]]
        return self.logs[len(rows)] - total

    def gain_of(self, node, m, parts):
        """The gain of a split, times its rows; None if all parts have the same classes."""
        filled = [[i for i in node.rows if lo <= self.codes[i][m] <= hi] for lo, hi in parts]
        filled = [rows for rows in filled if rows]
        whole, n = Counter(self.classes[i] for i in node.rows), len(node.rows)
        shares = [Counter(self.classes[i] for i in rows) for rows in filled]
        if all(s[c] * n == whole[c] * len(rows) for s, rows in zip(shares, filled, strict=True) for c in self.domain):
            return None
        gain = self.impurity(node.rows)
        for rows in filled:
            gain -= self.impurity(rows)
        return gain if gain > 0 else None

    def candidates(self, node, m, level=0):
        """Thresholds all at once; levels of a taxonomy one after the other."""
        (lo, hi), levels = node.box[m], level_cells(self.hierarchies[m])
        if self.hierarchies[m].to_dict()["kind"] != "taxonomy":
            present = sorted({self.codes[i][m] for i in node.rows})
            cuts = [(at, [(lo, at), (at + 1, hi)]) for at in present[:-1]]
        else:
            cuts = [(level, [c for c in levels[level] if lo <= c[0] and c[1] <= hi])] if level < len(levels) else []
        for at, parts in cuts:
            gain = self.gain_of(node, m, parts) if len(parts) > 1 else None
            if gain is not None:
                yield -gain, node.number, m, at, parts, node

    def spans(self):
        people = [dict(enumerate(row)) | {"class": c} for row, c in zip(self.codes, self.classes, strict=True)]
        private = {m: range(h.n_leaves) for m, h in enumerate(self.hierarchies) if not self.public[m]}
        tested, pending = set(), [self.root]
        while pending:
            node = pending.pop()
            tested.add(node.m)
            pending += [child for child in node.children if child is not None]
        private = {m: values if m in tested else [0] for m, values in private.items()}  # others change nothing
        if not self.class_public:
            private["class"] = self.domain
        known = [tuple(value for name, value in person.items() if name not in private) for person in people]
        distinct = dict(zip(known, people, strict=True))
        found = find_spans(lambda person: (place(self.root, person), person["class"]), list(distinct.values()), private)
        span_of = dict(zip(distinct, found.span_of, strict=True))
        return Spans.of_people(found.classes[span_of[key]] for key in known)

    def safe(self):
        found = self.spans()
        for number in range(len(found.classes)):
            values = [c for c, span in zip(self.classes, found.span_of, strict=True) if span == number]
            if found.multiple[number] and not naive_mondrian.holds(values, self.classes, **self.constraints):
                return False
        return True

    def run(self):
        n_attributes = len(self.hierarchies)
        queue = [c for m in range(n_attributes) for c in self.candidates(self.root, m)]
        while queue:
            best = min(queue, key=lambda candidate: candidate[:4])
            _, _, m, at, parts, node = best
            node.m, node.parts, n_before = m, parts, self.n_nodes
            for lo, hi in parts:
                rows = [i for i in node.rows if lo <= self.codes[i][m] <= hi]
                box = [(lo, hi) if other == m else old for other, old in enumerate(node.box)]
                node.children.append(Node(self.n_nodes, rows, box) if rows else None)
                self.n_nodes += bool(rows)
            if self.safe():
                queue = [candidate for candidate in queue if candidate[5] is not node]
                new = [child for child in node.children if child is not None]
                queue += [c for child in new for other in range(n_attributes) for c in self.candidates(child, other)]
            else:
                node.m, node.parts, node.children, self.n_nodes = None, [], [], n_before
                queue.remove(best)
                if self.hierarchies[m].to_dict()["kind"] == "taxonomy":
                    while at + 1 < len(level_cells(self.hierarchies[m])):
                        more = list(self.candidates(node, m, at + 1))
                        queue += more
                        if more:
                            break
                        at += 1
        return self
