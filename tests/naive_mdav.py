"""MDAV in plain Python, from the steps of Domingo-Ferrer and Torra 2005: groups of row numbers."""


def groups(rows, k, weights):
    """`rows` are tuples of (numbers, names), in their order of preference."""

    def far(a, b):
        numbers = sum((x - y) ** 2 for x, y in zip(a[0], b[0], strict=True))
        return round(numbers + sum(w for x, y, w in zip(a[1], b[1], weights, strict=True) if x != y), 9)

    def middle(left):
        numbers = tuple(sum(x) / len(left) for x in zip(*(rows[i][0] for i in left), strict=True))
        names = zip(*(rows[i][1] for i in left), strict=True)
        return numbers, tuple(max(sorted(set(own)), key=own.count) for own in names)

    def farthest(left, place):
        return max(left, key=lambda i: (far(rows[i], place), -left.index(i)))

    def nearest(left, i):
        return sorted(left, key=lambda j: (far(rows[j], rows[i]), left.index(j)))[:k]

    left, found = list(range(len(rows))), []
    while len(left) >= 3 * k:
        first = farthest(left, middle(left))
        found.append(nearest(left, first))
        left = [i for i in left if i not in found[-1]]
        found.append(nearest(left, farthest(left, rows[first])))
        left = [i for i in left if i not in found[-1]]
    if len(left) >= 2 * k:
        found.append(nearest(left, farthest(left, middle(left))))
        left = [i for i in left if i not in found[-1]]
    return [*found, left] if left else found
