"""Table 4 of Last et al. 2014: accuracy at k = 50, four classifiers on eight tables, l = 1 and higher.

`quick` takes one fold and two samples, and for Adult J48 and naive Bayes only. Besides the paper's four methods:
multi-dimensional Mondrian, InfoGain Mondrian, TreeAnonymizer, and SeqA with a random start; and with the first
classifier what NSVDist's release gives when each drawn row takes its cell's most frequent class, when expectations are
learned from instead of samples, and when trees sort numbers as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

import polars as pl

from incrowd import plots
from incrowd.datasets import DATASETS
from incrowd.experiments import nsvdist
from incrowd.experiments.experiment import AVERAGES, Done, Experiment, Options, Report, Section, Task, Verdict, judged
from incrowd.experiments.nsvdist import LABELS, OUR_METHODS, PAPER_METHODS, TITLES
from incrowd.experiments.nsvdist_ranks import by_tables

K = nsvdist.K
CLOSE = 1.5  # points within which we count as reaching the paper's figure
MOST = 7  # of the eight tables
_BEST = 60  # of the 64 cases

_VARIANTS = {
    "paper": "samples, as in the paper",
    "majority_labels": "samples with each cell's most frequent class",
    "soft": "expectations and class probabilities, no sampling",
    "numeric": "samples; trees with numbers sorted as numbers",
}

_AS_PAPER = (pl.col("view") == "samples") & (pl.col("trees") == "alphabetical") & pl.col("seen").is_null()

_NAMED = ("abalone", "adult", "ecoli", "yeast")
_SEEN = {
    "columns": (_NAMED, "names: a column for each value"),
    "by_class": (_NAMED, "names: numbered in a table sorted by class"),
    "everything": (("adult",), "with the final weight"),
}
"""Other ways in which support vectors may have seen the original rows: in which tables, and in words."""


def tasks(options: Options) -> list[Task]:
    """Return the tasks of Table 4, and those of the variants."""
    names, learners = options.among(nsvdist.TABLES), nsvdist.classifiers(options)
    ks = {name: [K] for name in names}
    made = nsvdist.accuracy_tasks(names, [*PAPER_METHODS, *OUR_METHODS], learners, ks, options)
    ours = [c for c in made if c["method"] == "nsvdist" and c["l"] == 1 and c["classifier"] == learners[0]]
    made += [c | {"view": view} for c in ours for view in ("majority_labels", "soft")]
    made += [c | {"trees": "numeric"} for c in ours if c["dataset"] != "adult"]
    svm = [c for c in made if c["method"] == "original" and c["classifier"] == "libsvm"]
    return made + [c | {"seen": how} for how, (names, _) in _SEEN.items() for c in svm if c["dataset"] in names]


def report(done: Sequence[Done], options: Options) -> Report:
    """Put ours beside the paper's."""
    means = nsvdist.means(done)
    plain = means.filter(_AS_PAPER)
    joined = side_by_side(plain)
    learners = nsvdist.classifiers(options)
    sections = [_section(joined, learner, level) for learner in learners for level in (1, 2)]
    sections = [section for section in sections if section.frame.height]
    sections.insert(0, _retention(means, learners[0]))
    ranked, rank_verdicts, _ = by_tables(plain, learners, K)
    sections += [*ranked, *_svm(means)]
    sections.append(Section("All figures", joined.drop("method").rename({"label": "method"}), shown=False))
    sections.append(Section(AVERAGES, means, shown=False))
    judged_learners = [learner for learner in learners if learner in TITLES]
    verdicts = [each for learner in judged_learners for level in (1, 2) for each in _verdicts(joined, learner, level)]
    found = judged([*verdicts, *_exceptions(joined), *rank_verdicts], options)
    return Report(sections, found, _notes(options), lambda: draw(joined, learners[0]))


def side_by_side(plain: pl.DataFrame) -> pl.DataFrame:
    """Return ours, the paper's and the difference for each table, classifier, method and level of l."""
    joined = plain.join(nsvdist.table4(), on=["dataset", "classifier", "method", "level"], how="left", nulls_equal=True)
    return joined.select(
        "dataset", "classifier", "level", "method", pl.col("method").replace(LABELS).alias("label"),
        pl.col("accuracy").alias("ours"), "paper", (pl.col("accuracy") - pl.col("paper")).alias("difference"),
        "sd", "lm", "folds",
    )  # fmt: skip


def retention(joined: pl.DataFrame, figure: str = "ours") -> pl.DataFrame:
    """Return (accuracy - majority) / (original - majority) of every method; null where the original gains nothing."""
    keys = ["dataset", "classifier"]
    ends = [
        joined.filter(pl.col("method") == end).select(*keys, pl.col(figure).alias(end))
        for end in ("majority", "original")
    ]
    ranged = joined.join(ends[0], on=keys).join(ends[1], on=keys)
    gained = pl.col("original") - pl.col("majority")
    kept = pl.when(gained > 0).then((pl.col(figure) - pl.col("majority")) / gained)
    return ranged.with_columns(kept.alias("retention")).drop("majority", "original")


def _section(joined: pl.DataFrame, learner: str, level: int) -> Section:
    """Return one of the table's parts: a row per table, a column per method, ours and the difference to the paper."""
    part = joined.filter((pl.col("classifier") == learner) & (pl.col("level").is_null() | (pl.col("level") == level)))
    order = [*PAPER_METHODS, *OUR_METHODS, "majority", "original"]
    rows = []
    for (name,), rows_of in part.group_by("dataset", maintain_order=True):
        found = {row["method"]: row for row in rows_of.to_dicts()}
        cells = {LABELS[method]: _cell(found.get(method)) for method in order}
        rows.append({"table": DATASETS[str(name)].title, **cells})
    title = f"{TITLES.get(learner, learner)}, l {'= 1' if level == 1 else '> 1'}"
    text = "Accuracy in percent; in brackets ours minus the paper's, where the paper has a figure."
    return Section(title, pl.DataFrame(rows, infer_schema_length=None), text)


def _cell(row: dict[str, object] | None) -> str:
    if row is None:
        return ""
    gap = row["difference"]
    return f"{row['ours']:.2f}" + ("" if gap is None else f" ({gap:+.2f})")


def _retention(means: pl.DataFrame, learner: str) -> Section:
    """Return how much of what the class can be told by is left by NSVDist at l = 1, in all variants."""
    variant = (
        pl.when(pl.col("trees") == "numeric")
        .then(pl.lit("numeric"))
        .when(pl.col("view") != "samples")
        .then(pl.col("view"))
        .otherwise(pl.lit("paper"))
    )
    here = (pl.col("classifier") == learner) & pl.col("seen").is_null()
    ours = means.filter(here & (pl.col("level").is_null() | (pl.col("level") == 1)))
    frame = ours.filter(pl.col("method").is_in(["nsvdist", "majority", "original"]))
    frame = frame.with_columns(variant.alias("variant")).rename({"accuracy": "ours"})
    published = side_by_side(means.filter(_AS_PAPER))
    rows = []
    for name, words in _VARIANTS.items():
        chosen = frame.filter((pl.col("variant") == name) | (pl.col("method") != "nsvdist"))
        kept = retention(chosen).filter(pl.col("method") == "nsvdist")
        if kept.height:
            found = dict(zip(kept["dataset"], kept["retention"], strict=True))
            rows.append({"learned from": words, **_titled(found)})
    hardened = ours.filter(pl.col("method").is_in(["nsvdist_hardened", "majority", "original"]))
    kept = retention(hardened.rename({"accuracy": "ours"})).filter(pl.col("method") == "nsvdist_hardened")
    if kept.height:
        found = dict(zip(kept["dataset"], kept["retention"], strict=True))
        rows.append({"learned from": "samples of the hardened mode", **_titled(found)})
    theirs = retention(published.filter(pl.col("classifier") == learner), "paper").filter(
        (pl.col("method") == "nsvdist") & (pl.col("level") == 1)
    )
    if theirs["retention"].count():
        found = dict(zip(theirs["dataset"], theirs["retention"], strict=True))
        rows.append({"learned from": "the paper's figures", **_titled(found)})
    text = (
        f"(accuracy - majority) / (original - majority), NSVDist, {TITLES.get(learner, learner)}, k = {K}, l = 1. "
        "1: nothing lost; 0: no better than the majority class."
    )
    return Section("How much is kept", pl.DataFrame(rows, infer_schema_length=None), text)


def _svm(means: pl.DataFrame) -> list[Section]:
    """Return what support vectors make of the original rows, depending on how they see them."""
    part = means.filter((pl.col("classifier") == "libsvm") & (pl.col("method") == "original"))
    if part["seen"].null_count() == part.height:
        return []
    paper = nsvdist.table4().filter((pl.col("classifier") == "libsvm") & (pl.col("method") == "original"))
    rows = []
    for name, figure in paper.select("dataset", "paper").rows():
        found = dict(part.filter(pl.col("dataset") == name).select("seen", "accuracy").rows())
        if found:
            words = {text: found.get(how) for how, (_, text) in _SEEN.items()}
            rows.append({"table": DATASETS[name].title, "the paper's": figure, "ours": found.get(None), **words})
    text = (
        "Accuracy in percent of support vectors that learn from the original rows. Ours: names are numbers in "
        "alphabetical order, and Adult's final weight is not seen. Where a cell is empty, the table has no names or no "
        "such column."
    )
    return [Section("How support vectors see the original rows", pl.DataFrame(rows, infer_schema_length=None), text)]


def _titled(found: dict[str, float]) -> dict[str, float | None]:
    known = [value for value in found.values() if value is not None]
    titled: dict[str, float | None] = {"average": mean(known), "median": median(known)} if known else {}
    return titled | {DATASETS[name].title: value for name, value in found.items()}


def _verdicts(joined: pl.DataFrame, learner: str, level: int) -> list[Verdict]:
    """Judge NSVDist: as good as in the paper, close to it on both sides, and better than the paper's other methods."""
    part = joined.filter((pl.col("classifier") == learner) & (pl.col("level") == level))
    ours = part.filter(pl.col("method") == "nsvdist").drop_nulls("difference")
    if not ours.height:
        return []
    least = MOST if ours.height == len(nsvdist.TABLES) else None
    best_other = (
        part.filter(pl.col("method").is_in(PAPER_METHODS[1:]))
        .group_by("dataset")
        .agg(pl.col("ours").max().alias("other"))
    )
    both = ours.join(best_other, on="dataset")
    figure = f"{CLOSE:g} points"
    claims = (
        (f"NSVDist is at most {figure} below the paper's figure, or above it", pl.col("difference") >= -CLOSE),
        (f"NSVDist is within {figure} of the paper's figure, on either side", pl.col("difference").abs() <= CLOSE),
        ("NSVDist is better than PAIS, SeqA and single-dimensional Mondrian", pl.col("ours") > pl.col("other")),
    )
    case, verdicts = f"{TITLES[learner]}, l {'= 1' if level == 1 else '> 1'}", []
    for claim, rule in claims:
        kept = both.filter(rule)["dataset"].to_list()
        found = f"{len(kept)} of {both.height} tables{_but(both, kept)}"
        verdicts.append(Verdict(f"{case}: {claim}", found, None if least is None else len(kept) >= least))
    return verdicts


def _exceptions(joined: pl.DataFrame) -> list[Verdict]:
    """Judge section 5.3: only in 4 of 64 cases another of the paper's methods, PAIS, was better."""
    part = joined.filter(pl.col("method").is_in(PAPER_METHODS) & pl.col("classifier").is_in(list(TITLES)))
    keys = ["dataset", "classifier", "level"]
    ours = part.filter(pl.col("method") == "nsvdist").select(*keys, pl.col("ours").alias("nsvdist"))
    others = part.filter(pl.col("method") != "nsvdist").join(ours, on=keys)
    better, equal = (
        others.filter(found) for found in (pl.col("ours") > pl.col("nsvdist"), pl.col("ours") == pl.col("nsvdist"))
    )
    n, not_best = ours.height, pl.concat([better, equal]).select(keys).unique().height
    if not n:
        return []
    told = [
        f"{words}: {', '.join(f'{label} {count}' for label, count in by)}"
        for words, found in (("better were", better), ("equal were", equal))
        if (by := found.group_by("label").len().sort("len", "label", descending=[True, False]).rows())
    ]
    all_cases = len(nsvdist.TABLES) * len(TITLES) * 2
    holds = n - not_best >= _BEST if n == all_cases else None
    claim = f"NSVDist is the best of the paper's four methods in {_BEST} of {all_cases} cases"
    return [Verdict(claim, "; ".join([f"{n - not_best} of {n}", *told]), holds)]


def _but(frame: pl.DataFrame, reached: Sequence[str]) -> str:
    rest = [DATASETS[name].title for name in frame["dataset"] if name not in reached]
    return f"; not {', '.join(rest)}" if rest else ""


def _notes(options: Options) -> list[str]:
    folds = "one of ten folds" if options.quick else "ten folds"
    samples = nsvdist.QUICK_SAMPLES if options.quick else nsvdist.SAMPLES
    measured = (
        f"Measured on {folds} (Adult: its own split), {samples} samples of each release. The folds are not the "
        "paper's: single accuracies of small tables move by a point or more with them."
    )
    trees = (
        "The paper's trees are not printed. Values are sorted alphabetically, as it says; that every five have one "
        "parent is our reading, chosen among others because it comes closest to its figures (in trial runs of NSVDist "
        "by J48), so that closeness is no independent evidence. What numbers sorted as numbers do is in the first "
        "section, over all tables but Adult, whose numbers are sorted so anyway."
    )
    pais = (
        "PAIS for l > 1: the paper's figures are almost those of l = 1 (Adult, Breast Cancer, Mammographic), where "
        "groups as pure as that break l. Its PAIS seems not to have been held to l; ours is, and has little left "
        "to tell."
    )
    cuts = (
        "SeqA and single-dimensional Mondrian: which of equally wide attributes is cut first is not said in the paper, "
        "and is the likely reason where few cuts are allowed (CMC, Mammographic); not tried out. SeqA starts from "
        "multi-dimensional and single-dimensional Mondrian and at random, and what loses least (LM) of the three is "
        "taken; beside it stands the random start alone, as in its own paper."
    )
    svm = (
        "SVM is LibSVM's with an RBF kernel, gamma = 1/columns and C = 1 on numbers as they are. The paper prints 0 "
        "for both: RapidMiner makes 1 of C = 0 for this kernel, and 1/columns is LibSVM's own default. How names "
        "became numbers it does not say. That its accuracies on Ecoli and Yeast fall below the majority class speaks "
        "against a column for each value, with which nothing is learned there. Its figures for the original rows of "
        "both are above those of its other classifiers, and come within reach only if sequence names are numbered in "
        "a table sorted by class, so that a name's number tells the class: a leak, which we show and do not repeat. "
        "Ours are numbered alphabetically. Numbers scaled to 0 to 1 and C = 10 were tried on three folds of five "
        "tables: releases of Breast Cancer by PAIS then come out more than 20 points above the paper's figure. On "
        "Ecoli, Page Blocks and Yeast releases teach an SVM nothing to speak of beyond the majority class, in the "
        "paper as here, so that who is ahead there tells little."
    )
    weight = (
        "SVM on Adult does not see the final weight, a number in the hundred thousands: with it hardly any two people "
        "are alike, and everybody gets the majority class, whatever was released. The paper lists it among the "
        "quasi-identifiers, but its figures are close to those without it. This and the numbering of names were "
        "settled by looking at the paper's figures, so that closeness there is no independent evidence."
    )
    own = "Multi-dimensional Mondrian, InfoGain Mondrian and TreeAnonymizer are not in the paper."
    return [measured, trees, pais, cuts, svm, weight, own]


def draw(joined: pl.DataFrame, learner: str) -> plots.Figure:
    """Draw the accuracies of the paper's methods: ours filled, the paper's hollow, a row per table."""
    drawn = plots.figure(
        2, title=f"Accuracy at k = {K}, {TITLES.get(learner, learner)}: ours filled, the paper's hollow"
    )
    part = joined.filter(pl.col("classifier") == learner)
    names = part["dataset"].unique(maintain_order=True).to_list()
    colours = dict(zip([*PAPER_METHODS, "majority", "original"], plots.PALETTE["light"], strict=False))
    markers = dict(zip(colours, "osD^|x", strict=False))
    for level, axes in zip((1, 2), drawn.axes, strict=True):
        for i, (method, colour) in enumerate(colours.items()):
            rows = part.filter((pl.col("method") == method) & (pl.col("level").is_null() | (pl.col("level") == level)))
            offset = (i - 2.5) / 9
            heights = [names.index(name) + offset for name in rows["dataset"]]
            axes.plot(
                rows["ours"].to_list(), heights, markers[method], color=colour, markersize=5, label=LABELS[method]
            )
            axes.plot(
                rows["paper"].to_list(),
                heights,
                markers[method],
                color=colour,
                markersize=8,
                fillstyle="none",
                alpha=0.6,
            )
        axes.set_yticks(range(len(names)), [DATASETS[name].title for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("accuracy (percent)")
        axes.set_title("l = 1" if level == 1 else "l > 1")
    return plots.one_legend(drawn)


EXPERIMENTS = (
    Experiment(
        "nsvdist-table4", nsvdist.PAPER, "Table 4", "accuracy at k = 50, four classifiers on eight tables",
        tasks, nsvdist.run, report,
    ),
)  # fmt: skip
