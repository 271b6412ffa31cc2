"""The papers' experiments as data, and what puts our numbers beside theirs."""

from incrowd.experiments.experiment import (
    Cell,
    Done,
    Experiment,
    Options,
    Report,
    Section,
    Verdict,
    beside,
    run_experiment,
)
from incrowd.experiments.registry import experiment, experiments, published
from incrowd.experiments.report import to_markdown, write_report

__all__ = [
    "Cell",
    "Done",
    "Experiment",
    "Options",
    "Report",
    "Section",
    "Verdict",
    "beside",
    "experiment",
    "experiments",
    "published",
    "run_experiment",
    "to_markdown",
    "write_report",
]
