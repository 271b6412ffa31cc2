"""Figures 1, 5 and 6 of Last et al. 2014: information loss, the comparison with NHAA, and the classifier attack.

Figure 1: the loss (LM) against k of NSVDist, SeqA and single-dimensional Mondrian on Adult, CMC and Mammographic, for
both values of l; whole tables (of Adult the training part). Figure 5: Abalone with k = l = 2 to 5, where NHAA can be
compared: its loss, and accuracies. Figure 6: what naive Bayes, learned from NSVDist's release of Mammographic with
l = 1.5, tells of the people in the release, beside people who are not in it. `quick`: every other k, one fold, two
samples, and no Adult.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from incrowd import datasets, plots
from incrowd.datasets import DATASETS
from incrowd.experiments import nsvdist
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, judged
from incrowd.experiments.nsvdist import LABELS, METHODS, TITLES
from incrowd.experiments.nsvdist_curves import MAIN
from incrowd.experiments.nsvdist_curves import ks as chosen_ks

LOSSES = ("nsvdist", "seqa", "seqa_random", "mondrian_single")
RINGS = ("nsvdist", "nhaa", "mondrian_single")
RING_KS = (2, 3, 4, 5)
ATTACK_L = 1.5
SAME = 3.0  # points by which the two curves of figure 6 may differ and still "almost coincide"


def loss_tasks(options: Options) -> list[Task]:
    """Return a task per table, l, k and method of figure 1."""
    names = [name for name in options.among(MAIN) if not (options.quick and name == "adult")]
    ks = chosen_ks(options, names)
    levels = {name: (1.0, nsvdist.higher_l(name)) for name in names}
    return [
        {"dataset": name, "method": method, "k": k, "l": l, "seed": 1}
        for name in names
        for l in levels[name]
        for k in ks[name]
        for method in LOSSES
    ]


def run_loss(task: Task) -> dict[str, Any]:
    """Publish a whole table, and return the losses of the release."""
    schema = datasets.schema(task["dataset"])
    release = METHODS[task["method"]](task["k"], task["l"]).publish(
        datasets.load(task["dataset"]), schema, seed=task["seed"], domains="exact"
    )
    return {"lm": release.loss("lm"), "entropy": release.loss("entropy")}


def loss_report(done: Sequence[Done], options: Options) -> Report:
    """Show figure 1, and judge that NSVDist loses least."""
    del options
    rows = [{**task, "level": 1 if task["l"] == 1 else 2, **result} for task, result in done if "failed" not in result]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("method").replace(LABELS))
    sections, verdicts, panels = [], [], []
    for (name, level), part in frame.group_by("dataset", "level", maintain_order=True):
        title = f"{DATASETS[str(name)].title}, l {'= 1' if level == 1 else '> 1'}"
        wide = part.pivot("method", index="k", values="lm")
        sections.append(Section(title, wide, "LM: 0 unchanged, 1 suppressed."))
        claim = f"{title}: NSVDist loses less than SeqA and Mondrian"
        verdicts.append(_wins(claim, wide, "k", smallest=True))
        panels.append((title, part))
    whole = "Losses of whole tables (of Adult the training part). The entropy measure is in the JSON file."
    sections.append(Section("All losses", frame, shown=False))
    return Report(sections, verdicts, [whole], lambda: _draw_losses(panels))


def _draw_losses(panels: Sequence[tuple[str, pl.DataFrame]]) -> plots.Figure:
    drawn = plots.figure(len(panels), title="Information loss against k", width=3.6, height=2.8, columns=2)
    for axes, (title, part) in zip(drawn.axes, panels, strict=True):
        plots.lines(axes, part, "k", "lm", "method", title=title, log_x=True, labels=("k", "LM"))
    return plots.one_legend(drawn)


def ring_tasks(options: Options) -> list[Task]:
    """Return the tasks of figure 5."""
    options.among(["abalone"])
    samples = nsvdist.QUICK_SAMPLES if options.quick else nsvdist.SAMPLES
    learners = nsvdist.classifiers(options)
    made = []
    for fold in nsvdist.folds_of("abalone", quick=options.quick):
        shared = {"dataset": "abalone", "fold": fold, "seed": 1}
        for learner in learners:
            made += [shared | {"method": base, "classifier": learner} for base in ("majority", "original")]
        for k in RING_KS:
            for method in RINGS:
                asked = {"method": method, "k": k, "l": float(k), "samples": samples}
                made += [shared | asked | {"classifier": learner} for learner in learners]
    return made


def ring_report(done: Sequence[Done], options: Options) -> Report:
    """Show figure 5, and judge that NSVDist loses less than NHAA and teaches better."""
    means = nsvdist.means(done).with_columns(pl.col("method").replace(LABELS))
    learners = [name for name in nsvdist.classifiers(options) if name in means["classifier"].to_list()]
    released = means.drop_nulls("k")
    losses = released.filter(pl.col("classifier") == learners[0])
    lm = losses.pivot("method", index="k", values="lm").sort("k")
    sections = [Section("LM", lm, "0 unchanged, 1 suppressed.")]
    verdicts = [_wins("NSVDist loses less than NHAA and Mondrian", lm, "k = l", smallest=True)]
    for learner in learners:
        wide = released.filter(pl.col("classifier") == learner).pivot("method", index="k", values="accuracy").sort("k")
        title = TITLES.get(learner, learner)
        sections.append(Section(f"Accuracy, {title}", wide))
        claim = f"{title}: NSVDist teaches better than NHAA and Mondrian"
        verdicts.append(_wins(claim, wide, "k = l", smallest=False))
    note = (
        "Abalone with k = l. NHAA publishes everybody's exact class, NSVDist distributions in which each class has at "
        "most one of k people; where cells are still narrow (small k) that is the likely reason if NHAA teaches better."
    )
    return Report(sections, judged(verdicts, options), [note], lambda: _draw_rings(losses, released, learners))


def _wins(claim: str, wide: pl.DataFrame, what: str, *, smallest: bool) -> Verdict:
    """Judge whether NSVDist is the best of the columns in every row."""
    others = [name for name in wide.columns if name not in ("k", "NSVDist")]
    if "NSVDist" not in wide.columns or not others:
        return Verdict(claim, "not computed", holds=None)
    full = wide.drop_nulls()
    best = pl.min_horizontal(others) if smallest else pl.max_horizontal(others)
    wins = full.filter((pl.col("NSVDist") < best) if smallest else (pl.col("NSVDist") > best)).height
    return Verdict(claim, f"at {wins} of {full.height} values of {what}", wins == full.height if full.height else None)


def _draw_rings(losses: pl.DataFrame, released: pl.DataFrame, learners: Sequence[str]) -> plots.Figure:
    drawn = plots.figure(1 + len(learners), title="Abalone, k = l: NSVDist, NHAA, Mondrian", width=3.2, height=3.4)
    plots.lines(drawn.axes[0], losses, "k", "lm", "method", title="information loss", labels=("k = l", "LM"))
    for axes, learner in zip(drawn.axes[1:], learners, strict=True):
        part = released.filter(pl.col("classifier") == learner)
        plots.lines(
            axes, part, "k", "accuracy", "method", title=TITLES.get(learner, learner), labels=("k = l", "accuracy")
        )
    return plots.one_legend(drawn)


def attack_tasks(options: Options) -> list[Task]:
    """Return the tasks of figure 6: the same releases, asked about members and about others."""
    options.among(["mammographic"])
    samples = nsvdist.QUICK_SAMPLES if options.quick else nsvdist.SAMPLES
    learners = nsvdist.classifiers(options) if options.classifiers else ["nb"]
    ks = chosen_ks(options, ["mammographic"])["mammographic"]
    asked = {"dataset": "mammographic", "seed": 1, "method": "nsvdist", "l": ATTACK_L, "samples": samples}
    return [
        asked | {"fold": fold, "k": k, "classifier": learner, "on": on}
        for fold in nsvdist.folds_of("mammographic", quick=options.quick)
        for k in ks
        for learner in learners
        for on in ("members", "test")
    ]


def attack_report(done: Sequence[Done], options: Options) -> Report:
    """Show figure 6, and judge that members are told no better than others."""
    means = nsvdist.means(done).with_columns(
        pl.col("on").replace({"members": "people in the release", "test": "others"})
    )
    sections, verdicts = [], []
    learners = means["classifier"].unique(maintain_order=True).to_list()
    for learner in learners:
        part = means.filter(pl.col("classifier") == learner)
        wide = part.pivot("on", index="k", values="accuracy").sort("k")
        wide = wide.with_columns((pl.col("people in the release") - pl.col("others")).alias("difference"))
        sections.append(Section(TITLES.get(learner, learner), wide, "Accuracy in percent."))
        largest, mean = float(wide["difference"].abs().max() or 0), float(wide["difference"].mean() or 0)  # type: ignore[arg-type]
        found = f"difference {mean:+.2f} points on average, {largest:.2f} at most"
        claim = f"{TITLES.get(learner, learner)}: the two curves almost coincide (nowhere more than {SAME:g} points)"
        verdicts.append(Verdict(claim, found, largest <= SAME))
    limit = 100 / ATTACK_L
    top = float(means["accuracy"].max() or 0)  # type: ignore[arg-type]
    verdicts.append(
        Verdict(
            f"A classifier may tell the sensitive value more often than 1/l = {limit:.1f} percent of the time",
            f"up to {top:.1f} percent",
            top > limit,
        )
    )
    note = (
        "A classifier tells what is common in the population. What it tells of people in the release no better than of "
        "others, the release did not give away about them."
    )
    return Report(sections, judged(verdicts, options), [note], lambda: _draw_attack(means, learners))


def _draw_attack(means: pl.DataFrame, learners: Sequence[str]) -> plots.Figure:
    drawn = plots.figure(len(learners), title=f"Classifier attack: Mammographic, NSVDist, l = {ATTACK_L}")
    for axes, learner in zip(drawn.axes, learners, strict=True):
        part = means.filter(pl.col("classifier") == learner).sort("on", "k", descending=[True, False])
        plots.lines(axes, part, "k", "accuracy", "on", title=TITLES.get(learner, learner), log_x=True)
        axes.axhline(100 / ATTACK_L, color="#999999", linestyle=":", label="1/l")
    return drawn


EXPERIMENTS = (
    Experiment(
        "nsvdist-fig1", nsvdist.PAPER, "Figure 1", "information loss against k", loss_tasks, run_loss, loss_report
    ),
    Experiment(
        "nsvdist-fig5", nsvdist.PAPER, "Figure 5", "NSVDist beside NHAA on Abalone", ring_tasks, nsvdist.run,
        ring_report,
    ),
    Experiment(
        "nsvdist-fig6", nsvdist.PAPER, "Figure 6", "the classifier attack: people in the release and others",
        attack_tasks, nsvdist.run, attack_report,
    ),
)  # fmt: skip
