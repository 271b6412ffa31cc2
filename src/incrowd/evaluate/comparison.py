"""Comparison: methods x k x l x classifiers on one table, as in Figs. 2-4 of Last et al. 2014.

Every fold of every method is a task of `incrowd.evaluate.runner`: in parallel if asked to, and with a store a run that
was stopped goes on where it was. All methods see the same folds. What cannot be published is a row that says so, and
so is a classifier that cannot be trained on what is published.
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io, plots
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, VerificationError
from incrowd.evaluate.classifiers import CLASSIFIERS, chosen
from incrowd.evaluate.evaluation import DEFAULT_CLASSIFIERS, check_samples, plan_of, summaries
from incrowd.evaluate.protocol import Record, judge_baselines, judge_release, unfit
from incrowd.evaluate.runner import Progress, Task, fingerprint, run_tasks
from incrowd.evaluate.tables import aligned, explained, nothing_to_keep
from incrowd.evaluate.training_data import TestRows, Training, check_choice
from incrowd.losses.registry import LOSSES
from incrowd.publish import describe, make
from incrowd.schema import Schema

_REFUSALS = (InfeasibleError, IncompatibleError, ParameterError, VerificationError)
_KINDS = {"refused": "infeasible", "incompatible": "incompatible", "failed": "failed"}
_BEYOND = 0.5  # of retention that is drawn below and above the lines
_BANDS = {"accuracy": ("low", "high"), "retention": ("retention_low", "retention_high")}
_LEVELS = ("k", "l", "t", "alpha")
_SHOWN = ("method", "k", "l", "classifier", "retention", "accuracy", "original")


@dataclass(frozen=True)
class Comparison:
    """What classifiers keep with each method.

    Attributes
    ----------
    rows
        One per method, k, l and classifier; see `frame`.
    about
        How they were compared.
    """

    rows: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per method, k, l and classifier.

        ``status`` is ``ok``, or says why nothing could be published (``infeasible``), or why the classifier cannot be
        trained on what was (``incompatible``). Losses are means over folds, ``level_k`` and such
        the weakest level that verification found in a fold, ``publishing`` the seconds of a release; scores and their
        intervals are those of `Evaluation.frame`.
        """
        return pl.DataFrame([dict(row) for row in self.rows], infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; every row has every key."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        return {**self.about, "rows": [{name: row.get(name) for name in names} for row in self.rows]}

    def __str__(self) -> str:
        plain = all(row["l"] == 1 for row in self.rows)
        names = [*(name for name in _SHOWN if name != "l" or not plain), *self.about["losses"], "publishing"]
        others = [row for row in self.rows if row["status"] != "ok"]
        refused = dict.fromkeys(f"{row['method']}, k = {row['k']}, l = {row['l']:g}: {row['status']}" for row in others)
        done = self.frame.filter(pl.col("status") == "ok")
        table = aligned(done, names) if done.height else []
        title = f"trained on {self.about['training']}, tested on {self.about['test']} rows, {self.about['plan']}"
        notes = [*self.about["notes"], *nothing_to_keep(done)]
        below = [*explained(done, names, self.about["folds"]), *(f"Note: {note}" for note in notes), *refused]
        return "\n".join([title, "", *table, "", *below] if table and below else [title, "", *table, *below])

    def __repr__(self) -> str:
        methods = list(dict.fromkeys(row["method"] for row in self.rows))
        return f"Comparison({', '.join(methods)}; {len(self.rows)} rows)"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.frame._repr_html_()}"

    def plot(
        self,
        *,
        classifiers: str | Iterable[str] | None = None,
        score: str = "accuracy",
        theme: plots.Theme = "light",
    ) -> plots.Figure:
        """Draw a score against k: one panel per classifier and l, one line per method, and both baselines.

        A shade around a line of accuracies or retentions is their 95 % interval; of retentions it is cut off far from
        the lines.

        Parameters
        ----------
        classifiers
            Some of those that were compared; all without.
        score
            ``"accuracy"``, ``"retention"``, another score or a loss.
        theme
            ``"light"`` or ``"dark"``.
        """
        frame = self.frame
        if (frame["status"] != "ok").all():
            fact = "Nothing could be published, so there is nothing to draw"
            raise ParameterError(fact, "print the comparison: it says why")
        if score not in frame.columns:
            fact = f"There is no score {score!r}"
            raise ParameterError(fact, f"its columns are {', '.join(frame.columns)}")
        wanted = {known.name for known in chosen(classifiers)} if classifiers is not None else set(frame["classifier"])
        frame = frame.filter(pl.col("classifier").is_in(list(wanted)))
        panels = list(dict.fromkeys(frame.select("classifier", "l").iter_rows()))
        if not panels:
            fact = "None of these classifiers was compared"
            raise ParameterError(fact, f"use {', '.join(dict.fromkeys(self.frame['classifier']))}")
        several = len({l for _, l in panels}) > 1
        columns = 2 if len(panels) == 4 else 3
        shade = "; shade: 95 % interval" if score in _BANDS else ""
        title = f"{score} against k\n{self.about['plan']}, trained on {self.about['training']}{shade}"
        drawn = plots.figure(len(panels), title=title, theme=theme, width=3.8, height=3.4, columns=columns)
        for axes, (name, l) in zip(drawn.axes, panels, strict=True):
            part = frame.filter((pl.col("classifier") == name) & (pl.col("l") == l)).sort("k", maintain_order=True)
            title = f"{name}, l = {l:g}" if several else str(name)
            _draw(axes, part, score, title)
        return plots.one_legend(plots.one_scale(drawn))


def compare(
    frame: Any,  # noqa: ANN401
    schema: Schema,
    *,
    methods: str | Iterable[str] = ("mondrian", "nsvdist"),
    k: int | Iterable[int] = (5, 10, 25, 50),
    l: float | Iterable[float] = 1,
    classifiers: str | Iterable[str] = DEFAULT_CLASSIFIERS,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    cv: int | str | None = None,
    holdout: Any = None,  # noqa: ANN401
    samples: int = 10,
    training: Training = "recommended",
    test: TestRows = "raw",
    losses: str | Iterable[str] = ("lm",),
    seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods on one table.

    Parameters
    ----------
    methods
        Names; a text may hold several, comma-separated. See `incrowd.methods`.
    k, l
        One or several; l = 1 asks for no diversity.
    parameters
        More parameters of a method, by its name.
    losses
        Names of losses of the releases, see `Release.loss`; a text may hold several, comma-separated.
    jobs
        Number of processes. A script needs ``if __name__ == "__main__":`` with more than one.
    store
        File or folder of what is finished, so that a run that was stopped goes on: settings, scores and a hash of the
        table, no cell of it.
    frame, schema, classifiers, cv, holdout, samples, training, test, seed, progress
        As in `incrowd.evaluate`.
    """
    check_choice("training", training, Training)
    check_choice("test", test, TestRows)
    check_samples(samples)
    learners = [learner.name for learner in chosen(classifiers)]
    if brought := sorted(set(learners) - set(CLASSIFIERS)):
        fact = f"A comparison takes classifiers by name, and was given {', '.join(brought)}"
        raise ParameterError(fact, "evaluate() takes estimators; what a comparison has finished is found again by name")
    names, ks, ls = _listed(methods.split(",") if isinstance(methods, str) else methods), _listed(k), _listed(l)
    for name in names:
        describe(name)  # refuses what there is not
        if own := (parameters or {}).get(name):
            make(name, k=min(ks), **own)  # and parameters that are wrong for every k
    asked = _losses(losses)
    source, rows = io.to_polars(frame), None if holdout is None else io.to_polars(holdout)
    plan, n_folds, folds = plan_of(source, schema, cv=cv, holdout=rows, seed=seed)
    first = next(iter(folds))
    shared = {
        "data": fingerprint(source),
        "holdout": None if rows is None else fingerprint(rows),
        "schema": _schema_hash(schema),
        "cv": None if cv is None else str(cv),
        "seed": seed,
        "classifiers": learners,
    }
    ways = {"training": training, "test": test, "samples": samples, "losses": asked}
    settings = [
        {"method": name, "k": one, "l": float(other), "own": dict((parameters or {}).get(name, {}))}
        for name in names
        for other in ls
        for one in ks
    ]
    baselines = [{**shared, "fold": fold} for fold in range(n_folds)]
    releases = [{**shared, **ways, **setting, "fold": fold} for setting in settings for fold in range(n_folds)]
    function = partial(_judge, source, schema, rows)
    results = run_tasks(function, [*baselines, *releases], store=store, jobs=jobs, progress=progress)
    for result in results[:n_folds]:
        if "failed" in result:
            fact = f"The baselines could not be computed: {result['failed']}"
            raise ParameterError(fact, "run evaluate() on the same table, which says more")
    baseline_records = [record for result in results[:n_folds] for record in result["records"]]
    share = first.test.n_rows / max(1, first.train.n_rows)
    found: list[dict[str, Any]] = []
    for number, setting in enumerate(settings):
        mine = results[n_folds * (number + 1) : n_folds * (number + 2)]
        found += _rows(setting, mine, baseline_records, learners, asked, share)
    about = {"plan": plan, "folds": n_folds, "training": training, "test": test, "samples": samples, "losses": asked}
    return Comparison(found, {**about, "notes": [] if rows is None else first.unseen_classes()})


def _judge(source: pl.DataFrame, schema: Schema, holdout: pl.DataFrame | None, task: Task) -> Task:
    """Judge one fold: the baselines, or a release by one method."""
    _, _, folds = plan_of(source, schema, cv=task["cv"], holdout=holdout, seed=task["seed"])
    fold = next(fold for fold in folds if fold.number == task["fold"])
    learners = chosen(task["classifiers"])
    if "method" not in task:
        return {"records": judge_baselines(fold, learners, seed=task["seed"])}
    start = time.perf_counter()
    try:
        diverse = {"l": task["l"]} if task["l"] != 1 else {}
        publisher = make(task["method"], k=task["k"], **diverse, **task["own"])
        release = publisher.publish(fold.train.source, schema, seed=task["seed"])
    except _REFUSALS as error:
        return {"refused": error.fact}
    seconds = round(time.perf_counter() - start, 4)
    ways = {name: task[name] for name in ("training", "test", "samples", "seed")}
    reasons = {learner.name: reason for learner in learners if (reason := unfit(release, learner))}
    try:
        records = judge_release(release, fold, [one for one in learners if one.name not in reasons], **ways)
    except IncompatibleError as error:
        return {"incompatible": error.fact}
    losses = release.losses(task["losses"], fold.train.source)
    about = {"losses": losses, "levels": dict(release.levels or {}), "publishing": seconds}
    return {"records": records, "unfit": reasons, **about}


def _rows(
    setting: Mapping[str, Any],
    results: Sequence[Task],
    baselines: Sequence[Record],
    learners: Sequence[str],
    losses: Sequence[str],
    share: float,
) -> list[dict[str, Any]]:
    """Return the rows of one method, k and l."""
    head = {name: setting[name] for name in ("method", "k", "l")}
    refused = [(kind, result[kind]) for result in results for kind in _KINDS if kind in result]
    if refused:
        kind, reason = refused[0]
        part = "" if len(refused) == len(results) else f" in {len(refused)} of {len(results)} folds"
        return [{**head, "classifier": name, "status": f"{_KINDS[kind]}{part}: {reason}"} for name in learners]
    records = [record for result in results for record in result["records"]]
    lost = {name: _mean([result["losses"].get(name) for result in results]) for name in losses}
    levels = {f"level_{name}": _weakest(name, [r["levels"].get(name) for r in results]) for name in _LEVELS}
    publishing = _mean([result["publishing"] for result in results])
    found = summaries([*baselines, *records], share)
    done = [
        {**head, "classifier": row["classifier"], "status": "ok", **row, **lost, **levels, "publishing": publishing}
        for row in found
    ]
    unfits = results[0].get("unfit", {}).items()
    return [*done, *({**head, "classifier": name, "status": f"incompatible: {reason}"} for name, reason in unfits)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _weakest(name: str, values: Sequence[Any]) -> float | None:
    """Return the level of the worst fold: for shares and distances the largest, else the least."""
    known = [value for value in values if isinstance(value, int | float)]
    if not known:
        return None
    return float(max(known) if name in ("t", "alpha") else min(known))


def _draw(axes: Any, part: pl.DataFrame, score: str, title: str) -> None:  # noqa: ANN401
    ks = part["k"].to_list()
    log = len(set(ks)) > 2 and max(ks) >= 8 * max(1, min(ks))
    plots.lines(axes, part, "k", score, "method", title=title, log_x=log, band=_BANDS.get(score))
    ink = axes.xaxis.label.get_color()
    ends = {"accuracy": ("original", "majority"), "retention": (1.0, 0.0)}.get(score, ())
    for end, dash, label in zip(ends, ("--", ":"), ("original", "majority"), strict=False):
        heights = part[end].drop_nulls().to_list() if isinstance(end, str) else [end]
        if heights:
            axes.axhline(heights[0], color=ink, linestyle=dash, linewidth=1, label=label)
    if score == "retention":  # whose intervals have no bounds, and would flatten the lines
        known = [0.0, 1.0, *part[score].drop_nulls()]
        bottom, top = axes.get_ylim()
        axes.set_ylim(max(bottom, min(known) - _BEYOND), min(top, max(known) + _BEYOND))


def _listed(values: Any) -> list[Any]:  # noqa: ANN401
    """Return one value or several as a list, each once."""
    several = [values] if isinstance(values, str | int | float) else list(values)
    found = list(dict.fromkeys(value.strip() if isinstance(value, str) else value for value in several))
    if not found:
        fact = "There is nothing to compare"
        raise ParameterError(fact, "name at least one method, k and l")
    if any(isinstance(value, float) and not math.isfinite(value) for value in found):
        fact = "Parameter k or l is not a finite number"
        raise ParameterError(fact, "use numbers such as 5 or 1.5")
    return found


def _losses(losses: str | Iterable[str]) -> list[str]:
    """Return names of losses, each once."""
    asked = [name.strip() for name in (losses.split(",") if isinstance(losses, str) else losses)]
    found = [name for name in dict.fromkeys(asked) if name]
    unknown = [name for name in found if name not in LOSSES]
    if unknown:
        fact = f"There is no loss {', '.join(map(repr, unknown))}"
        raise ParameterError(fact, f"use some of {', '.join(LOSSES)}")
    return found


def _schema_hash(schema: Schema) -> str:
    columns = [
        (a.name, a.role.value, a.type, None if a.hierarchy is None else a.hierarchy.to_dict(), *a.missing)
        for a in schema.attributes.values()
    ]
    key = json.dumps([columns, schema.target, schema.missing, list(schema.missing_tokens), schema.rest], default=str)
    return hashlib.sha256(key.encode()).hexdigest()[:16]
