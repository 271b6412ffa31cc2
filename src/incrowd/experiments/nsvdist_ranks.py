"""Tables 5 to 10 of Last et al. 2014: which methods differ, by ranks.

*Over values of k* (as in the paper): for each table, classifier and l the methods and the majority class are ranked at
every k; Friedman's test asks whether they differ (Table 5), and NSVDist is compared with each of the others (Tables 6,
9 and 10) by its average rank (Tables 7 and 8). *Over tables*: the same from Table 4, ours and the paper's, where a case
is a table at k = 50.

The paper's p-values can be computed from its average ranks: they are one-sided, and not corrected for the number of
comparisons. Beside them stand the corrected ones of Bonferroni and Dunn, by which fewer differences are certain.
`quick` as in the figures; with fewer than three values of k or tables nothing is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from incrowd import plots
from incrowd.datasets import DATASETS
from incrowd.evaluate.statistics import (
    DunnTest,
    FriedmanTest,
    Ranks,
    average_ranks,
    bonferroni_dunn,
    friedman,
    friedman_of_ranks,
    plot_ranks,
)
from incrowd.experiments import nsvdist, nsvdist_curves
from incrowd.experiments.experiment import AVERAGES, Done, Experiment, Options, Report, Section, Verdict, judged
from incrowd.experiments.nsvdist import LABELS, PAPER_CLASSIFIERS, PAPER_METHODS, TITLES, K
from incrowd.experiments.registry import published

RANKED = (*PAPER_METHODS, "majority")
LEVELS = {1: "l1", 2: "l2"}
ALPHA = 0.05
_FEWEST = 3  # cases that a test is made of

Judged = tuple[Ranks, FriedmanTest, DunnTest]


def report(done: Sequence[Done], options: Options) -> Report:
    """Show average ranks and p-values, ours beside the paper's."""
    means = nsvdist.means(done)
    over_k = _over_ks(means, nsvdist.classifiers(options))
    over_tables, verdicts_over_tables, drawn = by_tables(means, nsvdist.classifiers(options))
    text_k = (
        "Average ranks over values of k, 1 the best (the paper's are turned round). p: the one-sided p of NSVDist "
        "against the best of the others, as the paper prints it; corrected: Bonferroni-Dunn."
    )
    sections = [Section("Over values of k (Tables 5 to 8)", over_k, text_k)] if over_k.height else []
    sections += [*over_tables, Section(AVERAGES, means, shown=False)]
    note = (
        "The paper's p-values follow from its average ranks as one-sided and uncorrected ones; those corrected for "
        "four comparisons and both sides are eight times as large, at most 1."
    )
    verdicts = [*judged([*_verdicts_over_k(over_k), *verdicts_over_tables], options), *paper_verdicts()]
    draw = None if drawn is None else (lambda: _draw(drawn))
    return Report(sections, verdicts, [note], draw)


def by_tables(
    means: pl.DataFrame, learners: Sequence[str], k: int = K
) -> tuple[list[Section], list[Verdict], Judged | None]:
    """Return ranks over tables at one k, ours and the paper's, what they say, and the first of ours, to draw."""
    frame, first = _over_tables(means, learners, k)
    text = f"Average ranks over tables at k = {k}, 1 the best, from our figures and from the paper's Table 4."
    sections = [Section("Ranks over tables", frame, text)] if frame.height else []
    return sections, _verdicts_over_tables(frame), first


def rank_tests(scores: pl.DataFrame) -> Judged | None:
    """Test the columns of a frame of accuracies, a row per case."""
    full = scores.drop_nulls()
    if full.height < _FEWEST:
        return None
    ranks = average_ranks(full)
    return ranks, friedman(full), bonferroni_dunn(ranks, LABELS["nsvdist"])


def paper_ranks(name: str, learner: str, level: int) -> Ranks:
    """Return the paper's average ranks (Tables 7 and 8), turned so that 1 is the best."""
    figures = published("nsvdist")["ranks"][LEVELS[level]][PAPER_CLASSIFIERS[learner]][name]
    turned = {LABELS[method]: len(RANKED) + 1 - figure for method, figure in zip(RANKED, figures, strict=True)}
    return Ranks(turned, published("nsvdist")["n_ks"][name])


def paper_tests(name: str, learner: str, level: int) -> Judged:
    """Return the tests that follow from the paper's average ranks."""
    ranks = paper_ranks(name, learner, level)
    return ranks, friedman_of_ranks(ranks), bonferroni_dunn(ranks, LABELS["nsvdist"])


def _over_ks(means: pl.DataFrame, learners: Sequence[str]) -> pl.DataFrame:
    rows = []
    for name in means["dataset"].unique(maintain_order=True):
        for learner in learners:
            for level in LEVELS:
                curve = nsvdist_curves.curve(means, name, learner, level)
                wanted = [LABELS[method] for method in RANKED]
                found = rank_tests(curve.select(wanted)) if set(wanted) <= set(curve.columns) else None
                if found is None:
                    continue
                theirs = paper_tests(name, learner, level) if learner in PAPER_CLASSIFIERS else None
                about = {"table": DATASETS[name].title, "classifier": TITLES.get(learner, learner)}
                rows.append({**about, "l": "1" if level == 1 else "> 1", **_row(found, theirs)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _over_tables(means: pl.DataFrame, learners: Sequence[str], k: int) -> tuple[pl.DataFrame, Judged | None]:
    at_k = means.filter(pl.col("k").is_null() | (pl.col("k") == k))
    table, rows, first = nsvdist.table4(), [], None
    for learner in learners:
        for level in LEVELS:
            found = rank_tests(_cases(at_k, learner, level, "accuracy"))
            theirs = rank_tests(_cases(table, learner, level, "paper")) if learner in PAPER_CLASSIFIERS else None
            if found is None:
                continue
            first = first or found
            about = {"classifier": TITLES.get(learner, learner), "l": "1" if level == 1 else "> 1"}
            rows.append({**about, "tables": found[0].n_cases, **_row(found, theirs)})
    return pl.DataFrame(rows, infer_schema_length=None), first


def _cases(frame: pl.DataFrame, learner: str, level: int, figure: str) -> pl.DataFrame:
    """Return a row per table and a column per method."""
    here = (pl.col("level") == level) | pl.col("level").is_null()
    part = frame.filter((pl.col("classifier") == learner) & here & pl.col("method").is_in(RANKED))
    wide = part.pivot("method", index="dataset", values=figure)
    if not set(RANKED) <= set(wide.columns):
        return pl.DataFrame(schema={LABELS[method]: pl.Float64() for method in RANKED})
    return wide.select(pl.col(method).alias(LABELS[method]) for method in RANKED)


def _row(ours: Judged, theirs: Judged | None) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for method in RANKED:
        label = LABELS[method]
        row[label] = ours[0].averages[label]
        row[f"{label} (paper)"] = None if theirs is None else theirs[0].averages[label]
    for who, test in (("", ours), (" (paper)", theirs)):
        row[f"Friedman p{who}"] = None if test is None else test[1].p_chi_square
        row[f"p{who}"] = None if test is None else _hardest(test[2]).p_one_sided
        row[f"corrected p{who}"] = None if test is None else _hardest(test[2]).p
        row[f"best{who}"] = None if test is None else is_best(test[0])
    return row


def _hardest(test: DunnTest) -> Any:  # noqa: ANN401
    """Return the comparison with the best of the others."""
    return min(test.others, key=lambda other: other.difference)


def is_best(ranks: Ranks) -> bool:
    """Tell whether NSVDist has the best average rank."""
    ours = ranks.averages[LABELS["nsvdist"]]
    return all(ours < rank for name, rank in ranks.averages.items() if name != LABELS["nsvdist"])


def paper_verdicts() -> list[Verdict]:
    """Judge what the paper says about its own ranks, from its ranks."""
    cases = [(name, learner, level) for name in nsvdist.TABLES for learner in PAPER_CLASSIFIERS for level in LEVELS]
    tests = [paper_tests(*case) for case in cases]
    certain = [test for test in tests if round(_hardest(test[2]).p_one_sided, 2) <= ALPHA]  # as Table 6 prints them
    corrected = [test for test in tests if all(other.differs and other.difference > 0 for other in test[2].others)]
    best = sum(is_best(test[0]) for test in tests)
    counted = f"p at most {ALPHA} in {len(certain)}, corrected below it in {len(corrected)}"
    found = f"from the paper's own ranks: best in {best} of {len(tests)}, {counted}"
    claim = "NSVDist has the best average rank in 54 of 64 cases, significantly so in 31"
    return [Verdict(claim, found, (best, len(certain)) == (54, 31))]


def _verdicts_over_k(frame: pl.DataFrame) -> list[Verdict]:
    if not frame.height:
        return []
    n = frame.height
    differ = frame.filter(pl.col("Friedman p") < ALPHA).height
    best = frame.filter("best").height
    verdicts = [
        Verdict("Over k: the methods differ (Friedman, p < 0.05) in all cases", f"in {differ} of {n}", differ == n),
        Verdict(
            "Over k: NSVDist has the best average rank in 54 of 64 cases",
            f"in {best} of {n}",
            best >= 54 if n == 64 else None,
        ),
    ]
    told = frame.drop_nulls("best (paper)")
    if told.height:
        same = told.filter(pl.col("best") == pl.col("best (paper)")).height
        found = f"in {same} of {told.height} cases"
        verdicts.append(
            Verdict("Over k: whether NSVDist is best agrees with the paper", found, same / told.height >= 0.8)
        )
    return verdicts


def _verdicts_over_tables(frame: pl.DataFrame) -> list[Verdict]:
    verdicts = []
    for row in frame.to_dicts():
        if row["best (paper)"] is None:
            continue
        verdict = ["best" if row[f"best{who}"] else "not best" for who in ("", " (paper)")]
        certain = [row[f"p{who}"] < ALPHA for who in ("", " (paper)")]
        words = [f"{which}, p {'<' if sure else '>='} {ALPHA}" for which, sure in zip(verdict, certain, strict=True)]
        case = f"{row['classifier']}, l {'= 1' if row['l'] == '1' else row['l']}"
        claim = f"From its Table 4, ranked over tables, {case}: NSVDist {words[1]} uncorrected ({row['p (paper)']:.2g})"
        holds = words[0] == words[1] if row["tables"] == len(nsvdist.TABLES) else None
        verdicts.append(Verdict(claim, f"{words[0]} ({row['p']:.2g})", holds))
    return verdicts


def _draw(found: Judged) -> plots.Figure:
    return plot_ranks(
        found[0], LABELS["nsvdist"], title=f"Average ranks over tables at k = {K}, first classifier, l = 1"
    )


EXPERIMENTS = (
    Experiment(
        "nsvdist-tables5-8", nsvdist.PAPER, "Tables 5 to 8", "which methods differ, by ranks over k and over tables",
        nsvdist_curves.tasks, nsvdist.run, report,
    ),
)  # fmt: skip
