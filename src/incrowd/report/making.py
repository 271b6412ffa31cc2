"""How a release was made, and the command that does it again: from its public manifest alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from incrowd.errors import IncrowdError
from incrowd.manifest import Manifest
from incrowd.publish import find_publisher
from incrowd.report.summary import Making

_OPTIONS = {
    "k": "-k",
    "l": "-l",
    "l_kind": "--l-kind",
    "t": "-t",
    "alpha": "--alpha",
    "beta": "--beta",
    "delta": "--delta",
    "width": "--width",
}


def making_of(manifest: Manifest, files: Mapping[str, str]) -> Making:
    """Return method, parameters, versions, how rows add up, and the digests of the files."""
    method, rows = manifest.method, manifest.rows
    given = ", ".join(f"{name} = {_written(value)}" for name, value in method.parameters.items() if value is not None)
    policy = {"value": "missing values are values of their own", "drop": "rows with a missing value were left out"}
    facts = [
        ("Method", method.name),
        ("Parameters", given or "none"),
        ("Promises", manifest.promises or "none"),
        ("Missing values", policy.get(manifest.missing.policy, manifest.missing.policy)),
    ]
    if manifest.domains is not None:
        kinds = {"joined": "no value and no count of fewer than k people", "exact": "every value and every count"}
        facts.append(("The manifest lists", kinds.get(manifest.domains, manifest.domains)))
    facts += [("Version of incrowd", manifest.incrowd), ("Version of polars", manifest.polars)]
    accounts = [
        ("Rows of the original", rows.input),
        ("Left out because a value is missing", rows.missing),
        ("Suppressed", rows.suppressed),
        ("Released", rows.released),
    ]
    if rows.filler:
        accounts.append(("Of these, rows about nobody, which keep the groups of a series even", rows.filler))
    return Making(tuple(facts), tuple(accounts), command_of(manifest), tuple(files.items()))


def command_of(manifest: Manifest) -> str:
    """Return the command that makes such a release: the names of files are the reader's, defaults are left out."""
    name, parameters = manifest.method.name, manifest.method.parameters
    own = {
        key: value for key, value in parameters.items() if key not in _defaults(name) or _defaults(name)[key] != value
    }
    if "l" not in own:
        own.pop("l_kind", None)
    own = {"k": parameters.get("k", manifest.k)} | own
    words = ["incrowd", "publish", "data.csv", "-s", "data.toml", "-m", name]
    for key, value in own.items():
        if key in _OPTIONS and value is not None:
            words += [_OPTIONS[key], _written(value)]
    for key, value in own.items():
        if key not in _OPTIONS:
            words += ["--set", f"{key}={_written(value)}"]
    if manifest.domains == "exact":
        words += ["--domains", "exact"]
    return shlex.join([*words, "-o", "release"])


def _defaults(method: str) -> dict[str, Any]:
    """Return the defaults of a method's parameters; none of a method that is not installed here."""
    try:
        publisher = find_publisher(method)
    except IncrowdError:
        return {}
    return {each.name: each.default for each in fields(publisher) if each.default is not MISSING}


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=list)
