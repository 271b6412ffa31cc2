"""The public manifest, read as a stranger's claims: every key is looked at, nothing is taken for granted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.hierarchy.hierarchy import text
from incrowd.verify.domain import (
    TYPES,
    Array,
    Domain,
    Values,
    is_number,
    is_text,
    is_whole,
    level_problems,
    read_values,
    value_problems,
)
from incrowd.verify.fields import Reading

FORMAT = 1

_KEYS = {
    "format",
    "incrowd",
    "method",
    "recoding",
    "guarantees",
    "rows",
    "missing",
    "quasi",
    "sensitive",
    "target",
    "other",
    "dropped",
}
_ROW_KEYS = ("input", "missing", "suppressed", "released")
_HIERARCHY_KEYS = {
    "intervals": ("kind", "type", "values"),
    "taxonomy": ("kind", "type", "leaves", "levels"),
}
_PRIVATE_PARAMETER = re.compile(r"seed|random_state|row_?map|^rows?$", re.IGNORECASE)
_PARAMETER_NAME = re.compile(r"\w{1,40}", re.ASCII)
_LONGEST_TEXT, _LONGEST_LIST = 100, 32
_L_KINDS = ("frequency", "distinct", "entropy", "recursive")


_PROMISES: dict[str, dict[str, str]] = {
    "k": {"k": "a whole number from 1"},
    "l": {"l": "a number from 1", "l_kind": "text"},
    "t": {"t": "a number from 0", "ordered": "true or false"},
    "alpha": {"alpha": "a share above 0"},
    "lkc": {"L": "a whole number from 1", "K": "a whole number from 1", "C": "a share above 0"},
}


@dataclass(frozen=True)
class Promise:
    """One guarantee as the manifest states it."""

    kind: str
    given: dict[str, Any]


@dataclass(frozen=True)
class Quasi:
    """One quasi-identifier as the manifest describes it."""

    name: str
    domain: Domain
    marginal: Array


@dataclass(frozen=True)
class Sensitive:
    """The sensitive column as the manifest describes it."""

    name: str
    values: Values
    form: str
    marginal: Array

    @property
    def columns(self) -> list[str]:
        """Names of its columns in the payload."""
        return [self.name] if self.form == "exact" else [f"{self.name}={v}" for v in text(self.values.series)]


@dataclass(frozen=True)
class Claims:
    """Everything that the manifest claims and the verifier needs."""

    recoding: str
    promises: tuple[Promise, ...]
    rows: dict[str, int]
    policy: str
    tokens: tuple[str, ...]
    quasi: tuple[Quasi, ...]
    sensitive: Sensitive | None
    other: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def k(self) -> int | None:
        """The largest k that is promised."""
        return max((p.given["k"] for p in self.promises if p.kind == "k"), default=None)

    @property
    def in_shares(self) -> bool:
        """Whether distributions are means of the shares in blocks, and not counts of members."""
        return self.sensitive is not None and self.sensitive.form == "shares"

    @property
    def homogeneous(self) -> bool:
        """Whether rows with equal cells form a group."""
        return self.recoding == "homogeneous"


def read_claims(manifest: object) -> tuple[Claims | None, Reading]:
    """Return the claims of a manifest, or ``None`` when they cannot be read, and all problems found."""
    reading = Reading()
    if not isinstance(manifest, dict):
        reading.manifest.append("it is not an object")
        return None, reading
    version = reading.field(manifest, "format", "a whole number")
    if version is not None and version != FORMAT:
        reading.manifest.append(f"format is {version}, and this verifier knows format {FORMAT}")
        return None, reading
    reading.closed(manifest, _KEYS)
    reading.field(manifest, "incrowd", "a version number")
    parameters = read_method(reading, manifest)
    recoding = reading.field(manifest, "recoding", "text")
    if recoding not in (None, "homogeneous", "non-homogeneous"):
        reading.manifest.append("recoding is neither homogeneous nor non-homogeneous")
    rows = read_rows(reading, manifest)
    policy, tokens = read_missing(reading, manifest)
    quasi = tuple(_read_quasi(reading, manifest))
    sensitive = _read_sensitive(reading, manifest)
    if sensitive is not None and (parameters.get("mode") == "hardened") != (sensitive.form == "shares"):
        reading.manifest.append("mode hardened tells sensitive values as shares, and nothing else does")
    promises = tuple(read_promises(reading, manifest, has_sensitive=sensitive is not None))
    other = tuple(reading.field(manifest, "other", "a list of texts") or ())
    dropped = tuple(reading.field(manifest, "dropped", "a list of texts") or ())
    claims = Claims(str(recoding), promises, rows, policy, tokens, quasi, sensitive, other, dropped)
    _check_names(reading, claims, reading.field(manifest, "target", "text or null"))
    readable = not (reading.manifest or reading.hierarchies or reading.marginals)
    if readable:
        reading.promises = _impossible(claims, parameters)
    return (claims if readable else None), reading


def read_method(reading: Reading, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the method: few words and numbers, and nothing that would repeat its random choices."""
    method = reading.field(manifest, "method", "an object") or {}
    reading.closed(method, ("name", "parameters"), "method")
    reading.field(method, "name", "a short name", "method.")
    parameters: dict[str, Any] = reading.field(method, "parameters", "an object", "method.") or {}
    for number, (key, value) in enumerate(parameters.items(), start=1):
        if _PARAMETER_NAME.fullmatch(key) is None:
            reading.private.append(f"parameter {number} of the method has something else than a short name")
        elif _PRIVATE_PARAMETER.search(key):
            reading.private.append(f"the method tells its {key!r}")
        elif not _is_plain(value):
            reading.private.append(
                f"parameter {key!r} of the method is neither a short scalar nor a short list of them"
            )
    return parameters


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return len(value) <= _LONGEST_LIST and all(_is_scalar(v) for v in value)
    return _is_scalar(value)


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return is_text(value) and len(value) <= _LONGEST_TEXT
    return value is None or isinstance(value, bool | float | np.generic) or is_whole(value)


def _impossible(claims: Claims, parameters: dict[str, Any]) -> list[str]:
    """Say which promises cannot hold, whatever the rows are."""
    problems = [] if claims.promises else ["the manifest promises nothing"]
    released, k, asked = claims.rows["released"], claims.k, parameters.get("k")
    if k is not None and k > released:
        problems.append(f"k = {k} is promised for {released} released rows")
    if k is not None and is_whole(asked) and k < parameters["k"]:
        problems.append(f"k = {k} is promised, and the method was asked for k = {asked}")
    if not claims.homogeneous and any(p.kind == "lkc" for p in claims.promises):
        problems.append("lkc is not defined for a non-homogeneous release: its rows do not form groups")
    return problems


def read_rows(reading: Reading, manifest: dict[str, Any]) -> dict[str, int]:
    """Return the row accounting."""
    rows = reading.field(manifest, "rows", "an object") or {}
    reading.closed(rows, _ROW_KEYS, "rows")
    return {key: reading.field(rows, key, "a count", "rows.") for key in _ROW_KEYS}


def read_missing(reading: Reading, manifest: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what happens to missing values, and the texts that mean missing."""
    missing = reading.field(manifest, "missing", "an object") or {}
    reading.closed(missing, ("policy", "tokens"), "missing")
    policy = reading.field(missing, "policy", "text", "missing.")
    if policy not in (None, "drop", "value"):
        reading.manifest.append("missing.policy is neither drop nor value")
    return str(policy), tuple(reading.field(missing, "tokens", "a list of texts", "missing.") or ())


def _read_quasi(reading: Reading, manifest: dict[str, Any]) -> list[Quasi]:
    found = []
    entries = reading.field(manifest, "quasi", "a list")
    if entries == []:
        reading.manifest.append("quasi names no column")
    for number, entry in enumerate(entries or ()):
        where = f"quasi[{number}]."
        if not isinstance(entry, dict):
            reading.manifest.append(f"quasi[{number}] is not an object")
            continue
        reading.closed(entry, ("name", "hierarchy", "marginal"), f"quasi[{number}]")
        name = reading.field(entry, "name", "text", where)
        marginal = reading.field(entry, "marginal", "a list of counts", where)
        hierarchy = reading.field(entry, "hierarchy", "an object", where)
        if hierarchy is None:
            continue
        domain = _read_domain(reading, hierarchy, f"{where}hierarchy.", str(name))
        if domain is not None and name is not None and marginal is not None:
            _check_length(reading, name, marginal, domain.n_leaves)
            found.append(Quasi(name, domain, np.array(marginal, np.int64)))
    return found


def _read_domain(reading: Reading, data: dict[str, Any], where: str, column: str) -> Domain | None:
    kind = reading.field(data, "kind", "text", where)
    if kind not in (None, "intervals", "taxonomy"):
        reading.manifest.append(f"{where}kind is neither intervals nor taxonomy")
    if kind not in ("intervals", "taxonomy"):
        return None
    reading.closed(data, _HIERARCHY_KEYS[kind], where.rstrip("."))
    listed = "values" if kind == "intervals" else "leaves"
    values = read_listed(reading, data, listed, where)
    levels: list[list[str]] = []
    if kind == "taxonomy":
        levels = reading.field(data, "levels", "a list of lists of texts", where) or []
    if values is None:
        return None
    series = values.series
    problems = value_problems(series, null_first=True) + level_problems(levels, len(series))
    if kind == "intervals" and not values.in_order:
        problems.append("lists values that are not in increasing order")
    reading.hierarchies += [f"column {column!r} {problem}" for problem in problems]
    return Domain(kind, values, tuple(map(tuple, levels)))


def read_listed(reading: Reading, data: dict[str, Any], key: str, where: str) -> Values | None:
    """Return a list of values of a type that is told beside it."""
    kind = reading.field(data, "type", "text", where)
    listed = reading.field(data, key, "a list", where)
    if kind is not None and kind not in TYPES:
        reading.manifest.append(f"{where}type is not one of {', '.join(TYPES)}")
    if kind not in TYPES or listed is None:
        return None
    series = read_values(listed, kind)
    if series is None:
        reading.manifest.append(f"{where}{key} holds something that is not of type {kind}")
        return None
    return Values(kind, series)


def _read_sensitive(reading: Reading, manifest: dict[str, Any]) -> Sensitive | None:
    data = reading.field(manifest, "sensitive", "an object or null")
    if data is None:
        return None
    where = "sensitive."
    reading.closed(data, ("name", "type", "values", "form", "marginal"), "sensitive")
    name = reading.field(data, "name", "text", where)
    form = reading.field(data, "form", "text", where)
    if form not in (None, "exact", "counts", "shares"):
        reading.manifest.append("sensitive.form is none of exact, counts, shares")
    marginal = reading.field(data, "marginal", "a list of counts", where)
    values = read_listed(reading, data, "values", where)
    if values is None or None in (name, form, marginal):
        return None
    reading.manifest += [f"sensitive {problem}" for problem in value_problems(values.series, null_first=False)]
    if not values.in_order:
        reading.manifest.append("sensitive lists values that are not in increasing order")
    _check_length(reading, name, marginal, len(values.series))
    return Sensitive(name, values, form, np.array(marginal, np.int64))


def _check_length(reading: Reading, name: str, marginal: list[int], n_values: int) -> None:
    if len(marginal) != n_values:
        reading.marginals.append(f"column {name!r} has {len(marginal)} counts for {n_values} values")


def read_promises(reading: Reading, manifest: dict[str, Any], *, has_sensitive: bool) -> list[Promise]:
    """Return the guarantees that are well formed."""
    found = []
    for number, entry in enumerate(reading.field(manifest, "guarantees", "a list") or ()):
        where = f"guarantees[{number}]."
        if not isinstance(entry, dict):
            reading.manifest.append(f"guarantees[{number}] is not an object")
            continue
        kind = reading.field(entry, "kind", "text", where)
        if kind not in _PROMISES:
            reading.manifest.append(f"{where}kind is not one of {', '.join(_PROMISES)}")
            continue
        for key, wanted in _PROMISES[kind].items():
            reading.field(entry, key, wanted, where)
        known = {"kind", *_PROMISES[kind], *(["c"] if entry.get("l_kind") == "recursive" else [])}
        reading.closed(entry, known, f"guarantees[{number}]")
        if kind == "l":
            _check_l(reading, entry, where)
        if kind != "k" and not has_sensitive:
            reading.manifest.append(f"{where}kind {kind} needs a sensitive column")
        found.append(Promise(kind, entry))
    return found


def _check_l(reading: Reading, entry: dict[str, Any], where: str) -> None:
    if entry.get("l_kind") not in _L_KINDS:
        reading.manifest.append(f"{where}l_kind is not one of {', '.join(_L_KINDS)}")
    if entry.get("l_kind") == "recursive":
        reading.field(entry, "c", "a number above 0", where)
        if is_number(entry.get("l")) and entry["l"] != int(entry["l"]):
            reading.manifest.append(f"{where}l is not a whole number, as recursive diversity needs")


def _check_names(reading: Reading, claims: Claims, target: str | None) -> None:
    announced = [q.name for q in claims.quasi] + list(claims.other)
    announced += [claims.sensitive.name] if claims.sensitive else []
    if len(set(announced)) != len(announced):
        reading.manifest.append("a column is announced more than once")
    back = sorted(set(announced) & set(claims.dropped))
    if back:
        reading.manifest.append(f"columns {', '.join(map(repr, back))} are both dropped and announced")
    if target is not None and target not in announced:
        reading.manifest.append("target is not an announced column")
    columns = [f"{q.name}{end}" for q in claims.quasi for end in ("", ".lo", ".hi")] + list(claims.other)
    columns += claims.sensitive.columns if claims.sensitive else []
    if len(set(columns)) != len(columns):
        reading.manifest.append("two payload columns have the same name")
