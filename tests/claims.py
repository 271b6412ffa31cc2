"""What the tests ask of every publisher: each constraint that it has, and its own options.

A publisher that is not listed under `OPTIONS` has none of its own.
"""

from incrowd.errors import ParameterError
from incrowd.publish import PUBLISHERS
from incrowd.testing import constraints_of

# What comparisons with the plain algorithms ask of groups: near the edge, so that it often decides.
CONSTRAINTS = [
    {},
    {"l": 1.5},
    {"l": 2, "l_kind": "distinct"},
    {"l": 1.4, "l_kind": "entropy"},
    {"l": 2, "l_kind": "recursive", "c": 2.0},
    {"t": 0.3},
    {"t": 0.3, "ordered": True},
    {"alpha": 0.7},
    {"beta": 0.6},
    {"beta": 1.5, "enhanced": True, "delta": 1.5},
    {"l": 1.2, "t": 0.5, "alpha": 0.8},
]

# Given in every test: parameters without a default, or ones that make a search short.
ALWAYS = {
    "iacc": {"delta_c": None, "delta_d": None},
    "k_optimal": {"looks": 20},
    "iyengar": {"population": 10, "rounds": 30},
    "dmpd": {"generations": 2, "population": 6},
    "pareto_dmpd": {"generations": 2, "population": 6},
}
OPTIONS = {
    "mondrian": [
        {"strict": False},
        {"recoding": "single"},
        {"t": 0.4, "ordered": True, "recoding": "single"},
        {"cut": "loss"},
        {"l": 1.3, "t": 0.4, "cut": "loss"},
    ],
    "nsvdist": [
        {"l": 2, "loss": "entropy"},
        {"loss": "monotone_entropy"},
        {"presplit": 80},
        {"mode": "paper"},
        {"mode": "paper", "l": 1.3},
    ],
    "seqa": [
        {"start": "random"},
        {"start": "single_mondrian", "omega": 2},
        {"loss": "entropy", "l": 1.3},
        {"loss": "monotone_entropy", "passes": 2},
        {"t": 0.4, "ordered": True, "start": "random"},
    ],
    "mdav": [{"class_weight": 2}],
    "tight_groups": [{"sweeps": 0}, {"l": 1.3, "t": 0.4, "ordered": True, "sweeps": 1}],
    "iacc": [{"t": 0.4, "alpha": 0.8}],
    "tree": [{"tighten": False}, {"gain": "gini"}, {"t": 0.4, "ordered": True, "tighten": False}],
    "nhaa": [{"l": 2}, {"l": 3}, {"cluster": 80}, {"l": 2, "cluster": 80}],
    "kactus": [
        {"confidence": None},
        {"min_rows": 1, "confidence": 0.25},
        {"l": 1.3, "confidence": None},
        {"t": 0.4, "confidence": None},
    ],
    "dmpd": [{"suppress": 0.4}, {"suppress": 0.6, "l": 1.1, "inducer": "naive_bayes"}],
    "pareto_dmpd": [{"l": 1.3, "suppress": 0.4, "archive": 3}],
    "pais": [{"score": "discernibility"}],
    "iyengar": [{"loss": "cm"}, {"points": 5, "l": 1.3}],
    "k_optimal": [{"loss": "cm"}, {"points": 5, "l": 1.3}],
}


def settings_of(name):
    """Every setting in which a publisher is tested, the plain one first."""
    tried = [*constraints_of(name), *OPTIONS.get(name, [])]
    return [setting for setting in tried if takes(name, setting)]


def takes(name, setting):
    """Whether a publisher takes a setting: rings need a whole l."""
    try:
        make(name, setting, k=2)
    except ParameterError:
        return False
    return True


def make(name, setting=(), **parameters):
    return PUBLISHERS[name](**{**ALWAYS.get(name, {}), **dict(setting), **parameters})


CASES = [(name, setting) for name in PUBLISHERS for setting in settings_of(name)]
