"""The parts of TightGroups in their plainest form, over lists of rows; losses are those of `naive_loss_cuts`."""

from functools import cache

from naive_loss_cuts import best_cut, loss_cuts


def ordered(losses, size):
    """Rows in the order of the leaves of cuts by loss."""
    return [row for leaf in loss_cuts(losses, lambda rows: len(rows) >= size) for row in leaf]


def groupings(rows, k):
    """Every way to cut a list into groups of k to 2k - 1."""
    if not rows:
        yield []
    for size in range(k, min(2 * k - 1, len(rows)) + 1):
        for others in groupings(rows[size:], k):
            yield [rows[:size], *others]


def least_loss(order, losses, allowed, k, longest):
    """The least loss of groups of neighbours: of fewer than 2k rows, or else the smallest that are allowed."""

    @cache
    def first(n):
        if n == 0:
            return 0
        fitting = [size for size in range(k, min(longest, n) + 1) if allowed(order[n - size : n])]
        fitting = [size for size in fitting if first(n - size) is not None]
        small = [size for size in fitting if size < 2 * k] or fitting[:1]
        return min((first(n - size) + losses.of(order[n - size : n]) for size in small), default=None)

    return first(len(order))


def best_between_poles(rows, losses, allowed):
    """Rows in the order of nearness to one pole rather than the other, and where to cut."""

    def apart(i, j):
        return losses.of([i, j]) // 2

    pole = max(rows, key=lambda i: apart(rows[0], i))
    other = max(rows, key=lambda i: apart(pole, i))
    nearest = sorted(rows, key=lambda i: apart(i, pole) - apart(i, other))
    sides = [(-at, nearest[:at], nearest[at:]) for at in range(1, len(rows))]
    return min(
        ((losses.of(a) + losses.of(b), at, a, b) for at, a, b in sides if allowed(a) and allowed(b)), default=None
    )


def recut(rows, losses, allowed):
    """The groups that rows are cut into by the better of cuts and poles, until neither is allowed."""
    cut, between = best_cut(rows, losses, allowed), best_between_poles(rows, losses, allowed)
    if cut is None and between is None:
        return [rows]
    best = between if cut is None or (between is not None and between[0] < cut[0]) else cut
    return [group for side in best[2:] for group in recut(side, losses, allowed)]


def growth(one, other, losses):
    """By how much the losses of two groups rise when they get one cell."""
    own = [losses.of(group) // len(group) for group in (one, other, [*one, *other])]
    return 2 * own[2] - own[0] - own[1]
