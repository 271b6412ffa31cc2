"""The reference: every public name, from its docstring."""

import inspect

import incrowd as ic

GROUPS = {
    "Reading, schemas, hierarchies": (
        "read", "write", "Schema", "Intervals", "Taxonomy", "balanced", "bins", "by_class", "common", "dates",
        "frequency", "mdl", "prefixes", "words",
    ),
    "Publishing": ("publish", "republish", "methods", "Anonymizer", "refit", "KmBaskets"),
    "Releases": ("Release", "RowRelease", "ProjectionRelease", "PartitionClassifier"),
    "Checking": ("verify", "Verdict", "attack", "AttackReport", "audit", "Audit", "audit_rules", "risk", "SampleRisk",
        "Population",
    ),
    "Models and rules": (
        "KAnonymousTreeClassifier", "KAnonymousForestClassifier", "KAnonymousClusters", "anonymous_rules",
        "rules_from_release", "compare_rules",
    ),
    "Measuring": (
        "evaluate", "Evaluation", "compare", "Comparison", "level_curves", "group_size_curve", "suppression_curves",
        "plot_levels", "plot_suppression",
    ),
}  # fmt: skip
"""Publishers and errors are told by what they are; every other public name stands here (a test checks it)."""


def groups():
    """Return the titles of the reference with their names."""
    publishers = [name for name in ic.__all__ if hasattr(getattr(ic, name), "promise")]
    errors = [name for name in ic.__all__ if name.endswith(("Error", "Warning")) or name == "Cancelled"]
    return GROUPS | {"Methods": tuple(publishers), "Errors": tuple(errors)}


def write(docs):
    """Write the page."""
    lines = ["# Reference", "", "`import incrowd as ic`: every public name. Generated when the site is built.", ""]
    for title, names in groups().items():
        lines += [f"## {title}", ""]
        for name in names:
            kind = "class" if inspect.isclass(getattr(ic, name)) else "function"
            whole = kind == "class" and title in ("Releases", "Checking") and name != "PartitionClassifier"
            members = "   :members:\n" if whole else ""
            lines += ["```{eval-rst}", f".. auto{kind}:: incrowd.{name}\n{members}```", ""]
    (docs / "api.md").write_text("\n".join(lines), encoding="utf-8")
