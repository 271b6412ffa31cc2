"""Bottom-up generalization in its plainest form: all groups are made again for every node of every step."""

from incrowd.publish.iac import level_bounds, n_levels
from naive_specialize import gain


def nodes_of(hierarchy, used):
    """Each node as the set of its leaves that occur, with its children, the finest division of it last."""
    found = {}
    for level in range(2, n_levels(hierarchy) + 1):
        above, below = (level_bounds(hierarchy, at)[0].tolist() for at in (level - 1, level))
        for first in {above[leaf] for leaf in used}:
            node = frozenset(leaf for leaf in used if above[leaf] == first)
            parts = {frozenset(leaf for leaf in node if below[leaf] == start) for start in {below[x] for x in node}}
            if len(parts) > 1:
                found[node] = parts
    return found


def bottom_up(table, holds):
    """The values of each attribute in the end, as sets of leaves; `holds` judges the rows of a group."""
    codes, classes = table.codes.tolist(), table.classes[0].tolist()
    columns = [[row[m] for row in codes] for m in range(table.n_quasi)]
    trees = [nodes_of(h, sorted(set(own))) for h, own in zip(table.hierarchies, columns, strict=True)]
    cut = [{frozenset([leaf]) for leaf in own} for own in columns]

    def groups(cut):
        found = {}
        for i, row in enumerate(codes):
            key = tuple(next(node for node in own if leaf in node) for own, leaf in zip(cut, row, strict=True))
            found.setdefault(key, []).append(i)
        return found

    def after(m, node):
        return [*cut[:m], (cut[m] - trees[m][node]) | {node}, *cut[m + 1 :]]

    while failing := [key for key, rows in groups(cut).items() if not holds(rows)]:
        smallest = min(map(len, groups(cut).values()))
        rated, all_rated = [], []
        for m, tree in enumerate(trees):
            for node, parts in tree.items():
                if not parts <= cut[m]:
                    continue
                rows = [[i for i, leaf in enumerate(columns[m]) if leaf in part] for part in sorted(parts, key=min)]
                lost = gain([[classes[i] for i in own] for own in rows]) * sum(map(len, rows))
                gained = min(map(len, groups(after(m, node)).values())) - smallest
                all_rated.append((lost, m, min(node), node))
                if any(key[m] <= node for key in failing):
                    rated.append((lost / gained if gained else lost, m, min(node), node))
        _, m, _, node = min(rated or all_rated, key=lambda one: one[:3])
        cut = after(m, node)
    return cut
