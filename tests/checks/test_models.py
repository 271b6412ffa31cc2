"""Random models beside the definition: a few in every run, a thousand in the slow ones."""

import pytest
from checks.models import KINDS, run


def test_a_few_of_each_kind():
    tally = run(len(KINDS))
    assert tally.wrong == []
    assert set(tally.tried) == set(KINDS)
    assert tally.broken > 5


@pytest.mark.slow
def test_a_thousand():
    tally = run(1000, seed=10_000)
    assert tally.wrong == []
    assert sum(tally.refused.values()) < 300
