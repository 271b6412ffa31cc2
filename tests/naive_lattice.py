"""Full-domain recoding in its plainest form: every combination of levels is tried."""

from itertools import product
from math import log, prod

import naive_mondrian
from incrowd.losses import cell_loss
from incrowd.publish.iac import level_bounds, n_levels


def best_loss(table, loss, holds, suppress):
    """The least loss of any node, summed over rows and attributes; `holds` judges a list of sensitive values."""
    codes = [tuple(int(x) for x in row) for row in table.codes]
    sensitive = [0] * len(codes) if table.sensitive is None else table.sensitive.tolist()
    roots = [cost_of(table, m, loss, 1) for m in range(table.n_quasi)]
    found = []
    for levels in product(*(range(1, n_levels(h) + 1) for h in table.hierarchies)):
        bounds = [level_bounds(h, level)[0] for h, level in zip(table.hierarchies, levels, strict=True)]
        costs = [cost_of(table, m, loss, level) for m, level in enumerate(levels)]
        cells = [tuple(int(lo[x]) for lo, x in zip(bounds, row, strict=True)) for row in codes]
        members = {}
        for i, cell in enumerate(cells):
            members.setdefault(cell, []).append(i)
        gone = suppressed(members, sensitive, holds)
        if len(gone) > suppress * len(codes):
            continue
        found.append(
            sum((roots if i in gone else costs)[m][x] for i, row in enumerate(codes) for m, x in enumerate(row))
        )
    return min(found, default=None)


def near_along(nodes, sensitive, t):
    """Whether values are so near to all of a table, by the definition: over the levels, half the differences' sum."""

    def share(values, level):
        own = [level[v] for v in values]
        return {node: own.count(node) / len(own) for node in set(level)}

    levels = [range(nodes.shape[1]), *nodes[:-1].tolist()]  # the last one is the root's

    def holds(values):
        apart = 0
        for level in levels:
            one, whole = share(values, level), share(sensitive, level)
            apart += sum(abs(one[node] - whole[node]) for node in whole) / 2
        return apart / len(levels) <= t + 1e-12

    return holds


def least(table, loss, sensitive, k, constraints, suppress):
    """The least loss of groups of any node, from lists of rows: what the formulas of the papers say of them."""
    codes = [tuple(int(x) for x in row) for row in table.codes]
    whole = tuple((0, h.n_leaves - 1) for h in table.hierarchies)
    classes, n, found = table.classes[0].tolist(), len(codes), []

    def holds(values, **other):
        return naive_mondrian.holds(values, sensitive, **({"k": k} | constraints | other))

    for levels in product(*(range(1, n_levels(h) + 1) for h in table.hierarchies)):
        bounds = [level_bounds(h, level) for h, level in zip(table.hierarchies, levels, strict=True)]
        cells = [tuple((int(lo[x]), int(hi[x])) for (lo, hi), x in zip(bounds, row, strict=True)) for row in codes]
        members = {}
        for i, cell in enumerate(tuple(lo for lo, _ in cell) for cell in cells):
            members.setdefault(cell, []).append(i)
        gone = suppressed(members, sensitive, holds)
        if len(gone) <= suppress * n:
            shown = [whole if i in gone else cell for i, cell in enumerate(cells)]
            found.append(LOSS_OF_GROUPS[loss](table, shown, codes, classes, k))
    return min(found)


def groups_of(shown):
    groups = {}
    for i, cell in enumerate(shown):
        groups.setdefault(cell, []).append(i)
    return list(groups.values())


def dm(table, shown, codes, classes, k):
    return sum(len(group) ** 2 for group in groups_of(shown))


def aecs(table, shown, codes, classes, k):
    return len(shown) / len(groups_of(shown)) / k


def cm(table, shown, codes, classes, k):
    own = ([classes[i] for i in group] for group in groups_of(shown))
    return sum(len(group) - max(map(group.count, group)) for group in own) / len(shown)


def entropy_of(values):
    return -sum(values.count(v) / len(values) * log(values.count(v) / len(values)) for v in set(values))


def nmi(table, shown, codes, classes, k):
    kept = []
    for m, hierarchy in enumerate(table.hierarchies):
        told = [i for i, cell in enumerate(shown) if cell[m] != (0, hierarchy.n_leaves - 1)]
        cells, own = [shown[i][m] for i in told], [classes[i] for i in told]
        apart = entropy_of(cells) if told else 0
        together = entropy_of(list(zip(cells, own, strict=True))) if told else 0
        kept.append((entropy_of(own) - (together - apart)) / apart * len(told) / len(shown) if apart > 1e-12 else 0)
    return 1 - sum(kept) / len(kept)


def kl(table, shown, codes, classes, k):
    """Sum of p ln(p / q), where a cell's rows are spread evenly over the places in it."""
    n, total = len(codes), 0.0
    for row in set(codes):
        p = codes.count(row) / n
        fits = [
            prod(hi - lo + 1 for lo, hi in cell)
            for cell in shown
            if all(lo <= x <= hi for (lo, hi), x in zip(cell, row, strict=True))
        ]
        total += p * log(p / (sum(1 / size for size in fits) / n))
    return total


LOSS_OF_GROUPS = {"dm": dm, "aecs": aecs, "cm": cm, "nmi": nmi, "kl": kl}


def cost_of(table, m, loss, level):
    hierarchy = table.hierarchies[m]
    return cell_loss(loss, hierarchy, table.marginals[m], *level_bounds(hierarchy, level)).tolist()


def suppressed(members, sensitive, holds):
    """Rows of groups that fail, and of the next smallest until all of them together hold."""

    def keeps(rows, **without):
        return holds([sensitive[i] for i in rows], **without)

    failing = [cell for cell in members if not keeps(members[cell], k=1)]
    others = sorted((cell for cell in members if cell not in failing), key=lambda cell: (len(members[cell]), cell))
    gone = [i for cell in failing for i in members[cell]]
    while others and (not keeps(members[others[0]]) or (gone and not keeps(gone))):
        gone += members[others.pop(0)]
    return set(gone)


def savings(table, costs, k, share):
    """How much each node saves: rows of its groups of k cost what they do there, others a share of their roots."""
    codes = [tuple(int(x) for x in row) for row in table.codes]
    found = {}
    for levels in product(*(range(1, n_levels(h) + 1) for h in table.hierarchies)):
        bounds = [level_bounds(h, level)[0] for h, level in zip(table.hierarchies, levels, strict=True)]
        cells = [tuple(int(lo[x]) for lo, x in zip(bounds, row, strict=True)) for row in codes]
        found[levels] = sum(
            share * costs[m][0][x] - costs[m][level - 1][x]
            for cell, row in zip(cells, codes, strict=True)
            if cells.count(cell) >= k
            for m, (x, level) in enumerate(zip(row, levels, strict=True))
        )
    return found
