"""NHAA in its plainest form, over lists of rows: clusters, rings, pieces of rings, and the cells of all places."""

import naive_mondrian


def follow(values, l):
    """Row numbers in an order in which any l neighbours around the ring differ, near the given one; None if stuck."""
    n, order, left = len(values), [], list(range(len(values)))
    for place in range(n):
        placed = [values[i] for i in order]
        latest = {}
        for v in {values[i] for i in left}:
            final = n - l + placed.index(v) if v in placed else n - 1
            latest[v] = final - (sum(values[i] == v for i in left) - 1) * l
        if min(latest.values()) < place:
            return None
        tight = [p for p in range(place, n) if sum(at <= p for at in latest.values()) > p - place]
        horizon = min(tight, default=None)
        recent = placed[max(0, place - l + 1) :]
        due = [v for v in latest if horizon is None or latest[v] <= horizon]
        fine = [i for i in left if values[i] in due and values[i] not in recent]
        if not fine:
            return None
        order.append(fine[0])
        left.remove(fine[0])
    return order


def columns(values, l):
    """The same by filling rounds of at least l places column by column."""
    n = len(values)
    n_rounds = n // l
    rounds = [[None] * (n // n_rounds + (b < n % n_rounds)) for b in range(n_rounds)]
    cells = [(b, a) for a in range(len(rounds[0])) for b in range(n_rounds) if a < len(rounds[b])]
    firsts = sorted(set(values), key=lambda v: (values.count(v) < n_rounds, values.index(v)))
    for v in firsts:
        rows = [i for i in range(n) if values[i] == v]
        mine, cells = cells[: len(rows)], cells[len(rows) :]
        for i, (b, a) in zip(rows, sorted(mine), strict=True):
            rounds[b][a] = i
    return [i for turn in rounds for i in turn]


def arrange(values, l, most):
    order = follow(values, l) if len(values) * len(set(values)) <= most else None
    return columns(values, l) if order is None else order


def chop(values, l, block):
    """Row numbers of each piece of a ring."""
    n = len(values)
    whole = n - n % l
    n_blocks = max(1, whole // block)
    pieces = [list(range(b * block, (b + 1) * block if b < n_blocks - 1 else whole)) for b in range(n_blocks)]
    cores = [[values[i] for i in piece] for piece in pieces]
    for i in range(whole, n):
        room = [b for b in range(n_blocks) if cores[b].count(values[i]) < len(cores[b]) // l]
        pieces[max(room, default=0) if n_blocks > 1 else 0].append(i)
    return pieces


def rings(codes, sensitive, hierarchies, k, l, cluster, rank, most):
    """Rows of the table, ring by ring, in ring order."""
    size = min(cluster or k, len(codes))

    def keeps(values):
        return naive_mondrian.holds(values, sensitive, k=size, l=l)

    clusters = naive_mondrian.multi(codes, sensitive, hierarchies, keeps)
    near = naive_mondrian.multi(codes, sensitive, hierarchies, lambda _: True)
    nearness = {row: at for at, group in enumerate(near) for row in group}
    found = [sorted(group, key=lambda row: (nearness[row], rank[row])) for group in clusters]
    if l == 1:
        return found
    width = width_of(k, l)
    block = max(width, -(-(cluster or 0) // l) * l)
    chopped = []
    for group in found:
        ring = [group[i] for i in arrange([sensitive[row] for row in group], l, most)]
        for piece in chop([sensitive[row] for row in ring], l, block):
            rows = [ring[i] for i in piece]
            chopped.append([rows[i] for i in arrange([sensitive[row] for row in rows], l, most)])
    return chopped


def width_of(k, l):
    return next(w for w in range(k, k + l) if w % l == 0)


def cell(ring, place, codes, hierarchies, width):
    """The closure of the rows at `width` places from here on."""
    inside = [ring[(place + d) % len(ring)] for d in range(min(width, len(ring)))]
    return [naive_mondrian.closure(h, [codes[row][m] for row in inside]) for m, h in enumerate(hierarchies)]
