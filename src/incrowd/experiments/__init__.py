"""The papers' experiments as data, and what puts our numbers beside theirs."""

from incrowd.experiments.experiment import (
    Done,
    Experiment,
    Options,
    Report,
    Section,
    Task,
    Verdict,
    beside,
    run_experiment,
)
from incrowd.experiments.registry import experiment, experiments, published
from incrowd.experiments.report import to_markdown, write_report

__all__ = [
    "Done",
    "Experiment",
    "Options",
    "Report",
    "Section",
    "Task",
    "Verdict",
    "beside",
    "experiment",
    "experiments",
    "published",
    "run_experiment",
    "to_markdown",
    "write_report",
]
