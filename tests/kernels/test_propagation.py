"""Statements that rule values out: the same as rounds over all of them, and never the truth."""

import numpy as np
import pytest

from incrowd.attacks.propagation import _settle
from incrowd.attacks.statements import state


def rounds(statements, possible):
    """Apply every statement to sets of values until a round changes nothing."""
    sets = [set(np.flatnonzero(row)) for row in possible]
    changed = True
    while changed:
        changed = False
        for s in statements:
            for v, count in enumerate(s.counts):
                can = [i for i in s.people if v in sets[i]]
                has = [i for i in can if len(sets[i]) == 1]
                if count and len(can) == count:
                    new = {i: {v} for i in can}
                elif len(has) == count + s.slack:
                    new = {i: sets[i] - {v} for i in can if len(sets[i]) > 1}
                else:
                    continue
                changed |= any(sets[i] != left for i, left in new.items())
                sets = [new.get(i, left) for i, left in enumerate(sets)]
    return [sorted(left) for left in sets]


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_rounds_over_all_statements(seed):
    rng = np.random.default_rng(seed)
    n, n_values = int(rng.integers(3, 30)), int(rng.integers(2, 5))
    truth = rng.integers(0, n_values, n)
    statements = []
    for _ in range(int(rng.integers(1, 40))):
        people = np.sort(rng.choice(n, int(rng.integers(1, min(n, 6) + 1)), replace=False))
        counted = people[: max(1, len(people) - int(rng.integers(0, 3)))]
        statements.append(state(people, np.bincount(truth[counted], minlength=n_values)))
    possible = rng.random((n, n_values)) < rng.choice([0.5, 1.0])
    possible[np.arange(n), truth] = True
    expected = rounds(statements, possible)
    _settle(statements, possible)
    assert [np.flatnonzero(row).tolist() for row in possible] == expected
    assert possible[np.arange(n), truth].all()
