"""The papers' figures, typed once: their tables must agree with each other and with what their texts count."""

import math

import pytest

from incrowd.experiments import published
from incrowd.experiments.nsvdist import PAPER_CLASSIFIERS, TABLES, higher_l, table4
from incrowd.experiments.nsvdist_ranks import LEVELS, is_best, paper_ranks, paper_tests

FIGURES = published("nsvdist")
CASES = [(name, learner, level) for name in TABLES for learner in PAPER_CLASSIFIERS for level in LEVELS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_ranks_and_p_values_agree(case):
    """Tables 6, 9 and 10 follow from 7 and 8: one-sided p-values of rank differences, to the digits printed."""
    name, learner, level = case
    column = list(PAPER_CLASSIFIERS).index(learner)
    ranks, test, dunn = paper_tests(name, learner, level)
    assert math.isclose(sum(ranks.averages.values()), 15, abs_tol=0.021)
    printed = FIGURES["posthoc"][LEVELS[level]][PAPER_CLASSIFIERS[learner]][name]
    for other, figure in zip(dunn.others, printed, strict=True):
        assert other.p_one_sided == pytest.approx(figure, abs=0.0076)
    assert FIGURES["table6"][LEVELS[level]][name][column] == max(printed)
    assert test.p_chi_square == pytest.approx(FIGURES["table5"][LEVELS[level]][name][column], abs=0.0076)


def test_ranks_are_of_whole_numbers_of_ks():
    for name, learner, level in CASES:
        ranks = paper_ranks(name, learner, level)
        for rank in ranks.averages.values():  # ties share half ranks
            twice = 2 * rank * ranks.n_cases
            assert abs(twice - round(twice)) <= 0.0101 * ranks.n_cases


def test_best_ranks_are_as_many_as_the_text_counts():
    assert sum(is_best(paper_ranks(*case)) for case in CASES) == 54


def test_significant_cases_are_as_many_as_the_text_counts():
    printed = [figure for level in FIGURES["table6"].values() for row in level.values() for figure in row]
    assert sum(figure <= 0.05 for figure in printed) == 31


def test_table4_has_the_exceptions_that_the_text_counts():
    """Only in 4 of 64 cases PAIS was better than NSVDist, and nothing else ever was."""
    table = table4().drop_nulls("level")
    wide = table.pivot("method", index=["dataset", "classifier", "level"], values="paper")
    assert wide.height == 64
    better = {name: (wide[name] > wide["nsvdist"]).sum() for name in ("pais", "seqa", "mondrian_single")}
    assert better["pais"] == 4
    assert sum(map(int, (wide["pais"] > wide["nsvdist"]) | (wide["seqa"] > wide["nsvdist"]))) == 4


def test_table4_majorities_are_those_of_the_tables():
    """The majority class's share is one over the global diversity; the same in all four parts."""
    table = table4()
    for name in TABLES:
        majority = table.filter((table["dataset"] == name) & (table["method"] == "majority"))["paper"]
        assert majority.n_unique() == 1
        diversity = FIGURES["table3"][name][2]
        assert majority[0] == pytest.approx(100 / diversity, rel=0.01)


def test_one_figure_is_cut_off():
    assert table4()["paper"].null_count() == 1


def test_retention_of_the_paper():
    from incrowd.experiments.nsvdist_table4 import retention

    kept = retention(table4(), "paper")
    ours = kept.filter((kept["method"] == "nsvdist") & (kept["level"] == 1) & (kept["classifier"] == "j48"))
    assert ours["retention"].mean() == pytest.approx(0.665, abs=0.001)


def test_higher_l():
    assert higher_l("mammographic") == pytest.approx(1.31, abs=0.005)
