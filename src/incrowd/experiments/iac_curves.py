"""Figures 2 and 3 of Li, Liu, Baig and Wong 2011: what levels tell, how large groups are, what suppression changes.

The paper prints curves and no figures, so what is compared is what its text says of them. All of it takes seconds, so
`quick` is the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from incrowd import plots
from incrowd.experiments import adult, iac
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, beside
from incrowd.experiments.iac_figures import KS
from incrowd.experiments.registry import published

CLOSE = 1.0  # percent points of rows that count as "around"


def tasks(options: Options) -> list[Task]:
    """Return the one task."""
    options.among(["adult"])
    return [{"kind": "curves", "trees": adult.trees(), "ks": list(KS)}]


def report(done: Sequence[Done], _options: Options) -> Report:
    """Show the curves, and judge what the text says of them."""
    found = done[0][1]
    levels, sizes, suppression = (pl.DataFrame(found[name]) for name in ("levels", "sizes", "suppression"))
    wide = {
        name: suppression.pivot("attribute", index="k", values=name) for name in ("divergence", "change", "information")
    }
    sections = [
        Section("Normalized mutual information by level (Figure 2a)", levels, "Level 1 is the root."),
        Section("Peaks (Figure 2a)", beside(_peaks(levels)), "An attribute without a peak stays at its leaves."),
        Section("Rows in groups up to a size (Figure 2b)", sizes, shown=False),
        Section("Normalized Kullback-Leibler divergence (Figure 3a)", wide["divergence"]),
        Section("Change of normalized mutual information (Figure 3b)", wide["change"]),
        Section("Normalized mutual information (Figure 3b)", wide["information"]),
    ]
    verdicts = [*_of_levels(levels, sizes), *_of_suppression(suppression)]
    notes = [*adult.about_trees([done[0][0]["trees"]]), "Values of k are ours, but for 122 and 147."]
    return Report(sections, verdicts, notes, lambda: draw(levels, sizes, suppression))


def _peaks(levels: pl.DataFrame) -> pl.DataFrame:
    chosen = dict(levels.filter("chosen").select("attribute", "level").rows())
    table, peaks = published("iac")["table5"], published("iac")["peaks"]
    heights = dict(zip(table["attribute"], table["height"], strict=True))
    rows = [(name, float(level), float(peaks.get(name, heights[name]))) for name, level in chosen.items()]
    return pl.DataFrame(rows, ["attribute", "ours", "paper"], orient="row")


def _of_levels(levels: pl.DataFrame, sizes: pl.DataFrame) -> list[Verdict]:
    peaks = _peaks(levels)
    same = peaks.filter(pl.col("ours") == pl.col("paper"))["attribute"].to_list()
    rest = [name for name in peaks["attribute"] if name not in same]
    alone = 100 * float(sizes.filter(pl.col("size") == 1)["share"].sum())
    around = published("iac")["section6"]["unique_percent"]
    return [
        Verdict(
            "Fig. 2: every attribute has its peak at the level that the paper names",
            f"{len(same)} of {peaks.height}" + (f"; not {', '.join(rest)}" if rest else ""),
            not rest,
        ),
        Verdict(
            f"Fig. 2: around {around} percent of the generalized rows are unique",
            f"{alone:.2f} percent",
            abs(alone - around) <= CLOSE,
        ),
    ]


def _of_suppression(suppression: pl.DataFrame) -> list[Verdict]:
    """Judge by means over the values of k."""
    means = suppression.group_by("attribute", maintain_order=True).agg(pl.col("divergence", "change").mean())
    by = {name: means.sort(name, descending=True)["attribute"].to_list() for name in ("divergence", "change")}
    spread = {name: float(means[name].max()) / max(float(means[name].median()), 1e-12) for name in by}  # type: ignore[arg-type]
    return [
        Verdict(
            "Fig. 3: native country and race have the largest divergences",
            f"the order is {', '.join(by['divergence'])}",
            set(by["divergence"][:2]) == {"native-country", "race"},
        ),
        Verdict(
            "Fig. 3: that of sex is relatively small",
            f"place {by['divergence'].index('sex') + 1} of {means.height}",
            by["divergence"].index("sex") >= means.height // 2,
        ),
        Verdict(
            "Fig. 3: what marital status and workclass tell changes most",
            f"the order is {', '.join(by['change'])}",
            set(by["change"][:2]) == {"marital-status", "workclass"},
        ),
        Verdict(
            "Fig. 3: attributes differ less in that than in divergence",
            f"largest to median: {spread['change']:.1f} and {spread['divergence']:.1f} times",
            spread["change"] < spread["divergence"],
        ),
    ]


def draw(levels: pl.DataFrame, sizes: pl.DataFrame, suppression: pl.DataFrame) -> plots.Figure:
    """Draw the four panels."""
    drawn = plots.figure(4, title="IACk on Adult: levels and suppression", width=4.4, height=3.2, columns=2)
    information = ("level", "normalized mutual information")
    plots.lines(drawn.axes[0], levels, "level", "information", "attribute", labels=information, title="Fig. 2a")
    plots.lines(drawn.axes[1], sizes, "size", "share", labels=("size", "share of rows"), title="Fig. 2b", log_x=True)
    for axes, column, title in zip(drawn.axes[2:], ("divergence", "information"), ("Fig. 3a", "Fig. 3b"), strict=True):
        plots.lines(axes, suppression, "k", column, "attribute", title=title, labels=("k", column), log_x=True)
    return plots.one_legend(drawn)


EXPERIMENTS = (
    Experiment(
        "iac-figs2-3", iac.PAPER, "Figures 2 and 3", "what levels tell and what suppression changes", tasks, iac.run,
        report,
    ),
)  # fmt: skip
