"""The papers' experiments as data, and what puts our numbers beside theirs."""

from incrowd.bench.experiment import Cell, Done, Experiment, Options, Report, Section, Verdict, beside, run_experiment
from incrowd.bench.registry import experiment, experiments, published
from incrowd.bench.report import to_markdown, write_report

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
