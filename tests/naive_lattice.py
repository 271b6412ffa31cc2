"""Full-domain recoding in its plainest form: every combination of levels is tried."""

from itertools import product

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
