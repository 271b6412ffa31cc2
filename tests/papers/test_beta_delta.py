"""Beta-likeness and delta-disclosure on examples that are worked out by hand from the definitions of their papers.

Cao and Karras (PVLDB 5, 2012): for each value with the share p in the table and q > p in a group,
(q - p) / p <= beta; enhanced: <= min(beta, -ln p). Brickell and Shmatikov (KDD 2008): |log(q / p)| < delta for every
value of the table and every group. The tables here are ours: those of the papers were not at hand.
"""

from math import log, log2

import polars as pl
import pytest

import incrowd as ic

SCHEMA = ic.Schema(quasi={"sex": None}, sensitive="ill")
WOMEN = ["flu"] * 3 + ["gout"] + ["hiv"]
MEN = ["flu"] * 2 + ["gout"] * 2 + ["hiv"]
# In the table: flu 5/10, gout 3/10, hiv 2/10.
# Women: flu 3/5 gains (0.6 - 0.5) / 0.5 = 0.2; gout 1/5 and hiv 1/5 gain nothing.
# Men: gout 2/5 gains (0.4 - 0.3) / 0.3 = 1/3; flu 2/5 and hiv 1/5 gain nothing.
# Logarithms to base 2: women 0.263, -0.585, 0; men -0.322, 0.415, 0.


def published(women, men, **asked):
    frame = pl.DataFrame({"sex": ["f"] * len(women) + ["m"] * len(men), "ill": [*women, *men]})
    release = ic.Mondrian(k=2, **asked).publish(frame, SCHEMA, seed=1)
    verdict = release.verify(frame)
    assert verdict.ok
    return len(release.cell_lo), verdict.levels


def is_told_apart(women, men, **asked):
    """Whether two groups may be published, rather than one of everybody."""
    return published(women, men, **asked)[0] == 2


@pytest.mark.parametrize(
    ("beta", "holds"), [(0.34, True), (0.3333333333333334, True), (0.3333333333333333, False), (0.2, False)]
)
@pytest.mark.parametrize("enhanced", [False, True])
def test_the_largest_gain_counts(beta, holds, enhanced):
    """Gains of 0.2 and 1/3, to the last digit; -ln 0.5 = 0.693 and -ln 0.3 = 1.204 are larger: enhanced is the same."""
    assert -log(0.5) > 0.2
    assert -log(0.3) > 1 / 3
    assert is_told_apart(WOMEN, MEN, beta=beta, enhanced=enhanced) is holds
    assert published(WOMEN, MEN, beta=9)[1]["beta"] == pytest.approx(1 / 3)


def test_a_gain_counts_by_what_there_was():
    """The same difference of 0.1: from 0.4 to 0.5 it is a gain of 0.25, from 0.1 to 0.2 one of 1."""
    often = ["yes"] * 5 + ["no"] * 5, ["yes"] * 3 + ["no"] * 7  # yes 8/20
    rarely = ["yes"] * 2 + ["no"] * 8, ["no"] * 10  # yes 2/20
    for (women, men), beta in ((often, 0.25), (rarely, 1)):
        assert is_told_apart(women, men, beta=beta)
        assert not is_told_apart(women, men, beta=beta - 0.01)
    assert is_told_apart(*often, t=0.1)
    assert is_told_apart(*rarely, t=0.1)


def test_enhanced_keeps_frequent_values_from_certainty():
    """Of 10 people 8 have flu: all of the women gain (1 - 0.8) / 0.8 = 0.25, more than -ln 0.8 = 0.223."""
    women, men = ["flu"] * 5, ["flu"] * 3 + ["gout"] * 2
    assert -log(0.8) < 0.25
    assert is_told_apart(women, men, beta=1)
    assert not is_told_apart(women, men, beta=1, enhanced=True)


@pytest.mark.parametrize(("delta", "holds"), [(0.6, True), (0.58, False), (0.3, False)])
def test_the_largest_change_counts(delta, holds):
    """Gout among women, from 3/10 to 1/5, is -0.585, the largest; that shares fall counts as well."""
    assert round(log2((1 / 5) / (3 / 10)), 3) == -0.585
    assert is_told_apart(WOMEN, MEN, delta=delta) is holds
    assert published(WOMEN, MEN, delta=9)[1]["delta"] == pytest.approx(log2(3 / 2))


def test_a_group_without_a_value_has_no_delta():
    """Nobody among the women has gout: log(0 / p) is without end."""
    women, men = ["flu"] * 5, ["flu"] * 3 + ["gout"] * 2
    assert not is_told_apart(women, men, delta=40)


def test_delta_is_not_reached():
    """From 1/2 to 1/4 and 3/4: exactly 1 is not less than 1."""
    women, men = ["flu"] + ["gout"] * 3, ["flu"] * 3 + ["gout"]
    assert not is_told_apart(women, men, delta=1)
    assert is_told_apart(women, men, delta=1.01)
