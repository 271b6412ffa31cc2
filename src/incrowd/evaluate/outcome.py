"""What came out of an evaluation: scores of classifiers beside both baselines, for people, programs and plots."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from incrowd import plots
from incrowd.evaluate.protocol import Record
from incrowd.evaluate.scores import SCORES, interval, retention, retention_interval
from incrowd.evaluate.tables import aligned, explained, nothing_to_keep, percent

_SHOWN = ("classifier", "retention", "accuracy", "original", *SCORES[1:])
_SHOWN_BESIDE = ("classifier", "training", "retention", "accuracy", "original", "balanced_accuracy", "log_loss")


@dataclass(frozen=True)
class Evaluation:
    """Scores of classifiers that were trained on a release, beside both baselines.

    Attributes
    ----------
    about
        What was evaluated and how.
    records
        One per trained classifier: fold, sample, what it was trained on (``release``, ``original`` or ``majority``),
        its scores, and the seconds that training and predicting took.
    notes
        What to be careful about.
    """

    about: Mapping[str, Any]
    records: Sequence[Record]
    notes: Sequence[str] = field(default=())

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per classifier: retention, accuracy, both baselines, other scores, all means.

        ``retention_low`` and ``retention_high`` are the ends of the 95 % interval of retention, ``low`` and ``high`` of
        accuracy; see `incrowd.evaluate.scores`. Retention has none where the gain of the original is too uncertain.
        """
        return pl.DataFrame(summaries(self.records, self.about["test_share"]), infer_schema_length=None)

    @cached_property
    def scores(self) -> pl.DataFrame:
        """All records."""
        return pl.DataFrame(list(self.records), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; every record has every key."""
        names = list(dict.fromkeys(name for record in self.records for name in record))
        return {
            **self.about,
            "classifiers": self.frame.to_dicts(),
            "records": [{name: record.get(name) for name in names} for record in self.records],
            "notes": [*self.notes],
        }

    def __str__(self) -> str:
        lines = [self._title(), "", *aligned(self.frame, self._shown)]
        notes = [*self.notes, *nothing_to_keep(self.frame)]
        below = [*explained(self.frame, self._shown, self.about["folds"]), *(f"Note: {note}" for note in notes)]
        return "\n".join([*lines, "", *below] if below else lines)

    @property
    def _shown(self) -> tuple[str, ...]:
        """The columns for people; those of several ways to train leave some scores to `frame`."""
        return _SHOWN if self.frame["training"].n_unique() == 1 else _SHOWN_BESIDE

    def _named(self, row: Mapping[str, Any]) -> str:
        several = self.frame["training"].n_unique() > 1
        return f"{row['classifier']} ({row['training']})" if several else str(row["classifier"])

    def __repr__(self) -> str:
        kept = ", ".join(f"{self._named(row)} {percent(row['retention'])}" for row in self.frame.to_dicts())
        return f"Evaluation({self.about['method']}: retention {kept})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>Note: {html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self._title())}</p>{self.frame._repr_html_()}{notes}"

    def _title(self) -> str:
        about = self.about
        given = ", ".join(f"{name} = {value}" for name, value in about["parameters"].items() if value is not None)
        plan = f"tested on {about['test']} rows, {about['plan']}"
        plan = f"trained on {about['training'][0]}, {plan}" if len(about["training"]) == 1 else plan
        return f"{about['method']} ({given}): {plan}" if given else f"{about['method']}: {plan}"

    def plot(self, *, theme: plots.Theme = "light") -> plots.Figure:
        """Draw the accuracy of each classifier with its interval, between its two baselines."""
        rows = self.frame.to_dicts()
        drawn = plots.figure(title=self.about["method"], theme=theme, height=1.6 + 0.4 * len(rows))
        axes, colours = drawn.axes[0], plots.PALETTE[theme]
        places = np.arange(len(rows))
        looks = {"majority": ("X", colours[7]), "original": ("D", colours[1]), "accuracy": ("o", colours[0])}
        for name, (marker, colour) in looks.items():
            values = [np.nan if row[name] is None else row[name] for row in rows]
            if np.isnan(values).all():
                continue
            label = "release" if name == "accuracy" else name
            axes.plot(values, places, marker, color=colour, label=label, markersize=6)
        for place, row in zip(places, rows, strict=True):
            if row["low"] is not None:
                axes.plot([row["low"], row["high"]], [place, place], "-", color=colours[0], linewidth=2)
        axes.set_yticks(places, [self._named(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("accuracy")
        ink = axes.xaxis.label.get_color()
        axes.legend(
            frameon=False, fontsize="small", labelcolor=ink, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1)
        )
        return drawn


def progress_line(found: Evaluation) -> str:
    """Say in one line what each classifier keeps so far."""
    rows = [row for row in found.frame.to_dicts() if row["training"] == found.frame["training"][0]]
    kept = [f"{row['classifier']} {percent(row['accuracy'])} of {percent(row['original'])}" for row in rows]
    return f"accuracy {', '.join(kept)} on the original"


def summaries(records: Sequence[Record], test_share: float) -> list[dict[str, Any]]:
    """Return a row per classifier and way to train: means over folds and samples, with intervals and both baselines."""
    ways = list(dict.fromkeys((r["classifier"], r.get("training")) for r in records if r["data"] == "release"))
    majority = _mean(records, "majority", None, "accuracy")
    rows = []
    for name, training in ways:
        mine = [r for r in records if (r["data"], r["classifier"], r.get("training")) == ("release", name, training)]
        numbers = sorted({r["fold"] for r in mine})
        values = [[r["accuracy"] for r in mine if r["fold"] == number] for number in numbers]
        ends = interval(values, test_share)
        low, high = (None, None) if ends is None else (max(0.0, ends[0]), min(1.0, ends[1]))
        accuracy = _mean(mine, "release", name, "accuracy")
        original = _mean(records, "original", name, "accuracy")
        assert accuracy is not None
        kept = None if majority is None else retention(accuracy, majority=majority, original=original)
        kept_low, kept_high = (None, None) if kept is None else _kept_ends(records, name, numbers, values, test_share)
        row = {
            "classifier": name,
            "training": training,
            "retention": kept,
            "retention_low": kept_low,
            "retention_high": kept_high,
        }
        row |= {"accuracy": accuracy, "low": low, "high": high, "majority": majority, "original": original}
        row |= {score: _mean(mine, "release", name, score) for score in SCORES[1:]}
        rows.append(row | {"fits": len(mine), "seconds": sum(r["seconds"] for r in mine)})
    return rows


def _kept_ends(
    records: Sequence[Record], name: str, numbers: Sequence[int], values: Sequence[Sequence[float]], test_share: float
) -> tuple[float | None, float | None]:
    """Return the ends of the interval of a classifier's retention, each fold beside its own baselines."""
    majority = {r["fold"]: r["accuracy"] for r in records if r["data"] == "majority"}
    original = {r["fold"]: r["accuracy"] for r in records if r["data"] == "original" and r["classifier"] == name}
    baselines = [majority[number] for number in numbers], [original[number] for number in numbers]
    ends = retention_interval(values, *baselines, test_share)
    return (None, None) if ends is None else ends


def _mean(records: Sequence[Record], data: str, name: str | None, score: str) -> float | None:
    """Return the mean over folds of the means over samples, of what there is."""
    mine = [r for r in records if r["data"] == data and r["classifier"] == name and r[score] is not None]
    numbers = sorted({r["fold"] for r in mine})
    if not numbers:
        return None
    return float(np.mean([np.mean([r[score] for r in mine if r["fold"] == number]) for number in numbers]))
