"""Publish tables and models that stay useful for classification, with every person hidden in a crowd of at least k."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd.attacks import AttackReport, attack
    from incrowd.audit import Audit, audit
    from incrowd.audit.rules import audit_rules
    from incrowd.baskets import BasketRelease, KmBaskets
    from incrowd.errors import (
        Cancelled,
        HierarchyError,
        IncompatibleError,
        IncrowdError,
        InfeasibleError,
        InputError,
        MissingDependencyError,
        ParameterError,
        PrivacyWarning,
        SchemaError,
        VerificationError,
    )
    from incrowd.evaluate import Comparison, Evaluation, compare, evaluate
    from incrowd.hierarchy import (
        Intervals,
        Taxonomy,
        balanced,
        bins,
        by_class,
        common,
        dates,
        frequency,
        mdl,
        prefixes,
        words,
    )
    from incrowd.io import read, write
    from incrowd.learn.clusters import KAnonymousClusters
    from incrowd.learn.forest import KAnonymousForestClassifier
    from incrowd.learn.tree import KAnonymousTreeClassifier
    from incrowd.publish import (
        DMPD,
        KACTUS,
        NHAA,
        PAIS,
        TDR,
        TDS,
        BestCuts,
        BottomUp,
        IACc,
        IACk,
        InfoGainMondrian,
        Iyengar,
        KOptimal,
        Lattice,
        Microaggregation,
        MInvariance,
        Mondrian,
        NSVDist,
        ParetoDMPD,
        Population,
        SeqA,
        TightGroups,
        TreeAnonymizer,
        methods,
        publish,
        republish,
    )
    from incrowd.publish.anonymizer import Anonymizer
    from incrowd.publish.decomposition.partition_classifier import PartitionClassifier
    from incrowd.publish.iac_curves import (
        group_size_curve,
        level_curves,
        plot_levels,
        plot_suppression,
        suppression_curves,
    )
    from incrowd.release import ProjectionRelease, Release, RowRelease
    from incrowd.risks import SampleRisk, risk
    from incrowd.rules.anonymous import anonymous_rules
    from incrowd.rules.release_rules import compare_rules, rules_from_release
    from incrowd.schema import Schema
    from incrowd.verify import Verdict, verify

# Heavy libraries load when a name is first used, so that `import incrowd` and `incrowd --help` are quick.
_HOME = {
    "incrowd.attacks": ("AttackReport", "attack"),
    "incrowd.audit": ("Audit", "audit"),
    "incrowd.audit.rules": ("audit_rules",),
    "incrowd.baskets": ("BasketRelease", "KmBaskets"),
    "incrowd.errors": (
        "Cancelled",
        "HierarchyError",
        "IncompatibleError",
        "IncrowdError",
        "InfeasibleError",
        "InputError",
        "MissingDependencyError",
        "ParameterError",
        "PrivacyWarning",
        "SchemaError",
        "VerificationError",
    ),
    "incrowd.evaluate": ("Comparison", "Evaluation", "compare", "evaluate"),
    "incrowd.hierarchy": (
        "Intervals",
        "Taxonomy",
        "balanced",
        "bins",
        "by_class",
        "common",
        "dates",
        "frequency",
        "mdl",
        "prefixes",
        "words",
    ),
    "incrowd.io": ("read", "write"),
    "incrowd.learn.clusters": ("KAnonymousClusters",),
    "incrowd.publish.anonymizer": ("Anonymizer",),
    "incrowd.publish.decomposition.partition_classifier": ("PartitionClassifier",),
    "incrowd.rules.release_rules": ("compare_rules", "rules_from_release"),
    "incrowd.rules.anonymous": ("anonymous_rules",),
    "incrowd.learn.forest": ("KAnonymousForestClassifier",),
    "incrowd.learn.refit": ("refit",),
    "incrowd.learn.tree": ("KAnonymousTreeClassifier",),
    "incrowd.publish": (
        "BestCuts",
        "BottomUp",
        "DMPD",
        "IACc",
        "IACk",
        "KACTUS",
        "KOptimal",
        "Iyengar",
        "Lattice",
        "InfoGainMondrian",
        "MInvariance",
        "Microaggregation",
        "Mondrian",
        "NHAA",
        "NSVDist",
        "PAIS",
        "ParetoDMPD",
        "Population",
        "TDR",
        "TDS",
        "SeqA",
        "TightGroups",
        "TreeAnonymizer",
        "methods",
        "publish",
        "republish",
    ),
    "incrowd.publish.iac_curves": (
        "group_size_curve",
        "level_curves",
        "plot_levels",
        "plot_suppression",
        "suppression_curves",
    ),
    "incrowd.release": ("ProjectionRelease", "Release", "RowRelease"),
    "incrowd.risks": ("SampleRisk", "risk"),
    "incrowd.schema": ("Schema",),
    "incrowd.verify": ("Verdict", "verify"),
}
_HOME_OF = {name: home for home, names in _HOME.items() for name in names}

__all__ = [
    "DMPD",
    "KACTUS",
    "NHAA",
    "PAIS",
    "TDR",
    "TDS",
    "Anonymizer",
    "AttackReport",
    "Audit",
    "BasketRelease",
    "BestCuts",
    "BottomUp",
    "Cancelled",
    "Comparison",
    "Evaluation",
    "HierarchyError",
    "IACc",
    "IACk",
    "IncompatibleError",
    "IncrowdError",
    "InfeasibleError",
    "InfoGainMondrian",
    "InputError",
    "Intervals",
    "Iyengar",
    "KAnonymousClusters",
    "KAnonymousForestClassifier",
    "KAnonymousTreeClassifier",
    "KOptimal",
    "KmBaskets",
    "Lattice",
    "MInvariance",
    "Microaggregation",
    "MissingDependencyError",
    "Mondrian",
    "NSVDist",
    "ParameterError",
    "ParetoDMPD",
    "PartitionClassifier",
    "Population",
    "PrivacyWarning",
    "ProjectionRelease",
    "Release",
    "RowRelease",
    "SampleRisk",
    "Schema",
    "SchemaError",
    "SeqA",
    "Taxonomy",
    "TightGroups",
    "TreeAnonymizer",
    "Verdict",
    "VerificationError",
    "__version__",
    "anonymous_rules",
    "attack",
    "audit",
    "audit_rules",
    "balanced",
    "bins",
    "by_class",
    "common",
    "compare",
    "compare_rules",
    "dates",
    "evaluate",
    "frequency",
    "group_size_curve",
    "level_curves",
    "mdl",
    "methods",
    "plot_levels",
    "plot_suppression",
    "prefixes",
    "publish",
    "read",
    "refit",
    "republish",
    "risk",
    "rules_from_release",
    "suppression_curves",
    "verify",
    "words",
    "write",
]


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    fact = f"module 'incrowd' has no attribute {name!r}"
    raise AttributeError(fact)


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps ``incrowd.publish`` and its like functions: importing a package of that name does not replace them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
