"""Rules and their spans by the definitions, every private basket tried; the largest safe set of rules."""

from itertools import combinations, product

from incrowd.learn.spans import find_spans


def rules(baskets, min_support, min_confidence):
    """(left, right, support, confidence) of every rule, as sets."""
    n = len(baskets)
    items = sorted(set().union(*baskets))
    support = {}
    for size in range(1, len(items) + 1):
        for itemset in map(frozenset, combinations(items, size)):
            support[itemset] = sum(itemset <= set(basket) for basket in baskets)
    found = []
    for itemset, both in support.items():
        if both / n < min_support:
            continue
        for size in range(1, len(itemset)):
            found += [
                (left, itemset - left, both / n, both / support[left])
                for left in map(frozenset, combinations(sorted(itemset), size))
                if both / support[left] >= min_confidence
            ]
    return found


def rank(rule):
    left, right, support, confidence = rule
    return -confidence, -support, len(left) + len(right), sorted(left), sorted(right)


def model(chosen, *, lift=False):
    """Class of a person: (not all of left, left only, both) for each rule; with lift, also whether right is there."""

    def classes(person):
        has = {item for item, there in person.items() if there}
        combination = []
        for left, right, *_ in chosen:
            combination.append(0 if not left <= has else 1 if not right <= has else 2)
            if lift:
                combination.append(right <= has)
        return tuple(combination)

    return classes


def spans(chosen, baskets, public, *, lift=False):
    """Spans by trying every combination of private items (Definition 5)."""
    items = sorted(set().union(*baskets, *(left | right for left, right, *_ in chosen)))
    people = [{item: item in basket for item in items} for basket in baskets]
    private = {item: [False, True] for item in items if item not in public}
    return find_spans(model(chosen, lift=lift), people, private)


def spans_of_columns(chosen, rows, domains, public):
    """The same for a table of categories, whose items are column=value."""

    def classes(person):
        return model(chosen)({f"{name}={value}": True for name, value in person.items() if value is not None})

    return find_spans(classes, rows, {name: values for name, values in domains.items() if name not in public})


def largest_safe(found, baskets, public, k, *, lift=False):
    """The largest safe set of rules by trying all; among equals, the first rules are in rather than out."""
    best = ()
    for pick in product([True, False], repeat=len(found)):
        chosen = [rule for rule, taken in zip(found, pick, strict=True) if taken]
        if len(chosen) > len(best) and len(spans(chosen, baskets, public, lift=lift).breaches(k)) == 0:
            best = tuple(chosen)
    return list(best)


def expected_support(itemset, rows):
    """Mean over rows of the probability that a row has all items: by trying every combination of its values.

    rows: for each row, for each column, {item: probability}.
    """
    total = 0.0
    for columns in rows:
        for values in product(*(column.items() for column in columns)):
            if itemset <= {item for item, _ in values}:
                likely = 1.0
                for _, share in values:
                    likely *= share
                total += likely
    return total / len(rows)
