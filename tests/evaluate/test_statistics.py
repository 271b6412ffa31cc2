"""Rank tests and the combined F-test against published numbers, plain references and cases known by hand."""

import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import incrowd as ic
from incrowd import plots
from incrowd.evaluate import statistics

# Demsar 2006, Table 6: ranks of C4.5 with and without tuning (m, cf) on 14 tables.
DEMSAR = pl.DataFrame(
    {
        "C4.5": [4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3],
        "m": [3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1],
        "cf": [2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4],
        "m+cf": [1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2],
    },
    strict=False,
)

# NSVDist 2014, Tables 7 and 8: average ranks, 5 the best, of NSVDist, PAIS, SeqA, Mondrian and the majority class over
# values of k; and p-values of Tables 5 (Friedman), 9 and 10 (each of the others).
METHODS = ["NSVDist", "PAIS", "SeqA", "Mondrian", "majority"]
NSVDIST = [
    ("Abalone, J48", 9, [5.00, 2.44, 2.33, 1.78, 3.44], 0.00, [0.00, 0.00, 0.00, 0.02]),
    ("Abalone, NBC", 9, [4.67, 4.00, 2.89, 2.44, 1.00], 0.00, [0.19, 0.01, 0.00, 0.00]),
    ("Adult, J48", 11, [5.00, 3.91, 2.41, 2.50, 1.18], 0.00, [0.05, 0.00, 0.00, 0.00]),
    ("Adult, JRip", 11, [5.00, 4.00, 2.45, 2.55, 1.00], 0.00, [0.07, 0.00, 0.00, 0.00]),
    ("CMC, J48", 8, [4.63, 3.25, 3.13, 3.00, 1.00], 0.00, [0.04, 0.03, 0.02, 0.00]),
    ("CMC, JRip", 8, [4.63, 2.63, 2.75, 2.38, 2.63], 0.03, [0.01, 0.01, 0.00, 0.01]),
    ("CMC, SVM", 8, [4.63, 3.13, 2.63, 2.50, 2.13], 0.02, [0.03, 0.01, 0.00, 0.00]),
    ("Ecoli, SVM", 7, [4.00, 2.07, 2.00, 1.93, 5.00], 0.00, [0.01, 0.01, 0.01, 0.88]),
    ("Page Blocks, NBC", 7, [3.86, 3.14, 1.71, 1.29, 5.00], 0.00, [0.20, 0.01, 0.00, 0.91]),
    ("Page Blocks, SVM", 7, [2.29, 3.14, 2.14, 2.71, 4.71], 0.02, [0.84, 0.43, 0.69, 1.00]),
    ("Yeast, SVM", 7, [3.43, 2.43, 2.43, 2.29, 4.43], 0.05, [0.12, 0.12, 0.09, 0.88]),
    ("Breast Cancer, J48, l > 1", 9, [3.67, 4.56, 2.89, 2.89, 1.00], 0.00, [0.88, 0.15, 0.15, 0.00]),
    ("CMC, JRip, l > 1", 8, [4.50, 3.13, 1.88, 2.13, 3.38], 0.01, [0.04, 0.00, 0.00, 0.08]),
    ("Ecoli, J48, l > 1", 7, [4.43, 3.00, 1.50, 2.50, 3.57], 0.01, [0.05, 0.00, 0.01, 0.16]),
    ("Mammographic, JRip, l > 1", 9, [4.67, 4.22, 1.67, 1.78, 2.67], 0.00, [0.28, 0.00, 0.00, 0.00]),
]

# NSVDist 2014, Table 4 (J48, l = 1, k = 50): accuracy on eight tables.
TABLE_4 = {
    "NSVDist": [19.20, 82.20, 91.13, 50.08, 61.65, 78.65, 91.14, 39.06],
    "PAIS": [13.69, 81.11, 84.63, 44.13, 42.06, 77.14, 90.24, 30.85],
    "SeqA": [13.92, 74.87, 82.44, 43.18, 42.06, 76.92, 89.76, 30.96],
    "majority": [16.50, 74.69, 65.01, 42.70, 42.56, 51.45, 89.77, 31.20],
}


def published(n_cases, from_worst):
    return statistics.Ranks({name: 6 - rank for name, rank in zip(METHODS, from_worst, strict=True)}, n_cases)


def test_demsars_example():
    ranks = statistics.average_ranks(DEMSAR, higher_is_better=False)
    assert [round(rank, 3) for rank in ranks.averages.values()] == [3.143, 2.000, 2.893, 1.964]
    found = statistics.friedman_of_ranks(ranks)
    assert (round(found.chi_square, 2), round(found.f, 2)) == (9.28, 3.69)
    assert found.differ
    dunn = statistics.bonferroni_dunn(ranks, "C4.5", alpha=0.1)
    assert round(dunn.critical_difference, 2) == 1.04
    assert {other.name: other.differs for other in dunn.others} == {"m": True, "cf": False, "m+cf": True}
    assert dunn.verdict == "m and m+cf are better than C4.5; cf may be as good as C4.5."


@pytest.mark.parametrize(
    ("alpha", "quantiles"),
    [(0.05, [1.960, 2.241, 2.394, 2.498, 2.576, 2.638]), (0.10, [1.645, 1.960, 2.128, 2.241, 2.326, 2.394])],
)
def test_demsars_table_of_critical_values(alpha, quantiles):
    for n_methods, quantile in enumerate(quantiles, start=2):
        step = math.sqrt(n_methods * (n_methods + 1) / 60)
        assert statistics.critical_difference(n_methods, 10, alpha=alpha) / step == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize(("case", "n_cases", "ranks", "p", "p_of_others"), NSVDIST)
def test_nsvdist_tables_5_to_10(case, n_cases, ranks, p, p_of_others):
    found = published(n_cases, ranks)
    # Ranks are printed to two digits, so p may round to the next hundredth.
    assert statistics.friedman_of_ranks(found).p_chi_square == pytest.approx(p, abs=0.0065)
    others = statistics.bonferroni_dunn(found, "NSVDist").others
    assert [other.p_one_sided for other in others] == pytest.approx(p_of_others, abs=0.0075)


def test_nsvdist_printed_chi_square_and_not_the_f_form():
    cmc = statistics.friedman_of_ranks(published(8, [4.625, 2.625, 2.75, 2.375, 2.625]))
    assert (round(cmc.p_chi_square, 2), round(cmc.p, 2)) == (0.03, 0.02)


def test_nsvdist_table_4_over_tables():
    found = statistics.friedman(TABLE_4)
    assert found.ranks.averages["NSVDist"] == 1.0
    assert found.p < 0.005
    assert found.verdict.startswith("The 4 methods differ over 8 cases")
    pair = statistics.paired(TABLE_4["NSVDist"], TABLE_4["PAIS"], names=("NSVDist", "PAIS"))
    assert (pair.wins, pair.ties, pair.losses) == (8, 0, 0)
    assert pair.p == pytest.approx(2 / 2**8)
    assert pair.verdict == "NSVDist is better than PAIS (p = 0.0078): 8 wins, 0 ties, 0 losses."


def naive_friedman(table):
    """Conover's form: ranks, their sums, and the correction for ties, written out."""
    n, m = len(table), len(table[0])
    ranks = [[sum(b < a for b in row) + (sum(b == a for b in row) + 1) / 2 for a in row] for row in table]
    sums = [sum(row[j] for row in ranks) for j in range(m)]
    squares = sum(rank**2 for row in ranks for rank in row)
    middle = n * m * (m + 1) ** 2 / 4
    if squares == middle:
        return 0.0
    return (m - 1) * (sum(total**2 for total in sums) - n * middle) / (squares - middle)


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=2, max_size=8))
def test_friedman_is_the_plain_one(table):
    columns = {f"method {j}": [row[j] for row in table] for j in range(4)}
    found = statistics.friedman(columns, higher_is_better=False)
    assert found.chi_square == pytest.approx(naive_friedman(table), abs=1e-9)
    upside_down = statistics.friedman({name: [-x for x in column] for name, column in columns.items()})
    assert upside_down.ranks == found.ranks
    assert 0 <= found.p <= 1
    # The F form is the two-way analysis of variance of the ranks, if nothing is tied.
    if all(len(set(row)) == 4 for row in table) and math.isfinite(found.f):
        ranks = stats.rankdata(table, axis=1)
        between = len(table) * ((ranks.mean(axis=0) - 2.5) ** 2).sum() / 3
        within = ((ranks - ranks.mean(axis=0)) ** 2).sum() / (3 * (len(table) - 1))
        assert found.f == pytest.approx(between / within)


def naive_5x2(one, other):
    above = below = 0.0
    for i in range(5):
        first, second = one[i][0] - other[i][0], one[i][1] - other[i][1]
        mean = (first + second) / 2
        above += first**2 + second**2
        below += (first - mean) ** 2 + (second - mean) ** 2
    return above / (2 * below)


@given(st.lists(st.floats(0, 1), min_size=20, max_size=20, unique=True))
def test_combined_f_is_the_plain_one(numbers):
    one, other = np.reshape(numbers, (2, 5, 2))
    found = statistics.combined_5x2(one, other)
    if math.isfinite(found.f):
        assert found.f == pytest.approx(naive_5x2(one, other))
    assert statistics.combined_5x2(other, one).f == found.f
    assert found.differ == (found.f > 4.7351)  # the 95 % point of F with 10 and 5 degrees of freedom


def test_combined_f_keeps_its_level_and_sees_what_is_there():
    rng = np.random.default_rng(1)
    null = [statistics.combined_5x2(*rng.normal(size=(2, 5, 2))).differ for _ in range(2000)]
    assert np.mean(null) < 0.06
    seen = [statistics.combined_5x2(*(rng.normal([[[3]], [[0]]], 1, (2, 5, 2)))).differ for _ in range(200)]
    assert np.mean(seen) > 0.5


def test_combined_f_without_any_spread():
    same = np.full((5, 2), 0.8)
    assert statistics.combined_5x2(same, same).p == 1
    apart = statistics.combined_5x2(same, same - 0.125, names=("DMPD", "TDS"))
    assert (apart.f, apart.p) == (math.inf, 0)
    assert apart.verdict == "DMPD is better than TDS (p = 0)."
    assert statistics.combined_5x2(same, same).verdict == "The first and the second may be equal (p = 1)."


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=5))
def test_paired_is_exact_or_near_it(pairs):
    one, other = (list(side) for side in zip(*pairs, strict=True))
    found, turned = statistics.paired(one, other), statistics.paired(other, one)
    assert (found.wins, found.losses) == (turned.losses, turned.wins)
    assert found.p == pytest.approx(turned.p)
    gaps = [a - b for a, b in pairs]
    sizes = [abs(gap) for gap in gaps]
    if len(set(sizes)) == len(sizes) and 0 not in sizes:  # every sign pattern is equally likely
        ranks = stats.rankdata(sizes)
        sums = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in product([0, 1], repeat=len(gaps))]
        ours = sum(r for r, g in zip(ranks, gaps, strict=True) if g > 0)
        tail = min(np.mean([s <= ours for s in sums]), np.mean([s >= ours for s in sums]))
        assert found.p == pytest.approx(min(1, 2 * tail))


def test_what_cannot_be_tested_is_refused():
    for bad in (
        lambda: statistics.friedman({"a": [1, 2], "b": [2, 1]}),
        lambda: statistics.average_ranks({"a": [1, 2], "b": [2]}),
        lambda: statistics.average_ranks({"a": [1, 2], "b": [2, float("nan")]}),
        lambda: statistics.average_ranks({}),
        lambda: statistics.Ranks({"a": 5.0, "b": 5.0}, 3),
        lambda: statistics.bonferroni_dunn(statistics.Ranks({"a": 1.0, "b": 2.0}, 3), "c"),
        lambda: statistics.combined_5x2(np.zeros((10, 1)), np.zeros((10, 1))),
        lambda: statistics.critical_difference(4, 14, alpha=5),
        lambda: statistics.critical_difference(1, 14),
    ):
        with pytest.raises(ic.ParameterError):
            bad()


@pytest.mark.parametrize("control", [None, "cf"])
def test_a_picture_has_every_method_at_its_rank(tmp_path, control):
    ranks = statistics.average_ranks(DEMSAR, higher_is_better=False)
    drawn = statistics.plot_ranks(ranks, control, title="ranks")
    axes = drawn.axes[0]
    assert axes.get_xlim() == (4, 1)
    assert {text.get_text().split()[0] for text in axes.texts} == set(ranks.averages)
    led = {line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 3}
    assert led == set(ranks.averages.values())
    bars = [line for line in axes.lines if line.get_linewidth() == 4]
    assert len(bars) == (control is not None)
    if control:
        limit = statistics.critical_difference(4, 14)
        assert sorted(bars[0].get_xdata()) == pytest.approx([ranks.averages["cf"] - limit, 4])
    plots.save(drawn, tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").stat().st_size > 1000
