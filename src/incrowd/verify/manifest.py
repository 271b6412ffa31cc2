"""The public manifest, read as a stranger's claims: every key is looked at, nothing is taken for granted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incrowd.verify.domain import TYPES, Array, Domain, Values, level_problems, read_values, value_problems

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
_PRIVATE_KEYS = {"seed", "random_state", "row", "row_map", "rows_map"}
_L_KINDS = ("frequency", "distinct", "entropy", "recursive")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300 and math.isfinite(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda v: isinstance(v, str),
    "text or null": lambda v: v is None or isinstance(v, str),
    "a list": lambda v: isinstance(v, list),
    "a list of texts": _is_texts,
    "a list of lists of texts": lambda v: isinstance(v, list) and all(map(_is_texts, v)),
    "a list of counts": lambda v: isinstance(v, list) and all(_is_whole(x) and 0 <= x < 2**40 for x in v),
    "an object": lambda v: isinstance(v, dict) and all(isinstance(key, str) for key in v),
    "an object or null": lambda v: v is None or isinstance(v, dict),
    "true or false": lambda v: isinstance(v, bool),
    "a whole number": _is_whole,
    "a count": lambda v: _is_whole(v) and v >= 0,
    "a whole number from 1": lambda v: _is_whole(v) and v >= 1,
    "a number from 1": lambda v: _is_number(v) and v >= 1,
    "a number from 0": lambda v: _is_number(v) and v >= 0,
    "a number above 0": lambda v: _is_number(v) and v > 0,
    "a share above 0": lambda v: _is_number(v) and 0 < v <= 1,
}

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
        return [self.name] if self.form == "exact" else [f"{self.name}={v}" for v in self.values.names()]


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
    def homogeneous(self) -> bool:
        """Whether rows with equal cells form a group."""
        return self.recoding == "homogeneous"


@dataclass
class Reading:
    """Problems found while a manifest is read, by the check that they belong to."""

    manifest: list[str] = field(default_factory=list)
    hierarchies: list[str] = field(default_factory=list)
    marginals: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)

    def field(self, data: dict[str, Any], key: str, kind: str, where: str = "") -> Any:  # noqa: ANN401 - plain data
        """Return a value of the kind asked for, ``None`` after noting why there is none."""
        if key not in data:
            self.manifest.append(f"{where}{key} is missing")
        elif not _KINDS[kind](data[key]):
            self.manifest.append(f"{where}{key} is not {kind}")
        else:
            return data[key]
        return None


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
    reading.private = _private_keys(manifest)
    reading.field(manifest, "incrowd", "text")
    method = reading.field(manifest, "method", "an object") or {}
    reading.field(method, "name", "text", "method.")
    reading.field(method, "parameters", "an object", "method.")
    recoding = reading.field(manifest, "recoding", "text")
    if recoding not in (None, "homogeneous", "non-homogeneous"):
        reading.manifest.append("recoding is neither homogeneous nor non-homogeneous")
    rows = _read_rows(reading, manifest)
    policy, tokens = _read_missing(reading, manifest)
    quasi = tuple(_read_quasi(reading, manifest))
    sensitive = _read_sensitive(reading, manifest)
    promises = tuple(_read_promises(reading, manifest, has_sensitive=sensitive is not None))
    other = tuple(reading.field(manifest, "other", "a list of texts") or ())
    dropped = tuple(reading.field(manifest, "dropped", "a list of texts") or ())
    claims = Claims(str(recoding), promises, rows, policy, tokens, quasi, sensitive, other, dropped)
    _check_names(reading, claims, reading.field(manifest, "target", "text or null"))
    readable = not (reading.manifest or reading.hierarchies or reading.marginals)
    return (claims if readable else None), reading


def _private_keys(manifest: dict[str, Any]) -> list[str]:
    unknown = sorted(str(key) for key in set(manifest) - _KEYS)
    problems = [f"the key {key!r} is not part of the format" for key in unknown]
    todo: list[Any] = [manifest.get("method")]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            problems += [f"the method tells its {key!r}" for key in part if key in _PRIVATE_KEYS]
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return problems


def _read_rows(reading: Reading, manifest: dict[str, Any]) -> dict[str, int]:
    rows = reading.field(manifest, "rows", "an object") or {}
    return {key: reading.field(rows, key, "a count", "rows.") for key in ("input", "missing", "suppressed", "released")}


def _read_missing(reading: Reading, manifest: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    missing = reading.field(manifest, "missing", "an object") or {}
    policy = reading.field(missing, "policy", "text", "missing.")
    if policy not in (None, "drop", "value"):
        reading.manifest.append("missing.policy is neither drop nor value")
    return str(policy), tuple(reading.field(missing, "tokens", "a list of texts", "missing.") or ())


def _read_quasi(reading: Reading, manifest: dict[str, Any]) -> list[Quasi]:
    found = []
    for number, entry in enumerate(reading.field(manifest, "quasi", "a list") or ()):
        where = f"quasi[{number}]."
        if not isinstance(entry, dict):
            reading.manifest.append(f"quasi[{number}] is not an object")
            continue
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
    listed = "values" if kind == "intervals" else "leaves"
    values = _read_listed(reading, data, listed, where)
    levels: list[list[str]] = []
    if kind == "taxonomy":
        levels = reading.field(data, "levels", "a list of lists of texts", where) or []
    if values is None:
        return None
    series = values.series
    problems = value_problems(series, null_first=True) + level_problems(levels, len(series))
    if kind == "intervals" and values.type in ("int", "float", "date") and not series.drop_nulls().is_sorted():
        problems.append("lists values that are not in increasing order")
    reading.hierarchies += [f"column {column!r} {problem}" for problem in problems]
    return Domain(kind, values, tuple(map(tuple, levels)))


def _read_listed(reading: Reading, data: dict[str, Any], key: str, where: str) -> Values | None:
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
    name = reading.field(data, "name", "text", where)
    form = reading.field(data, "form", "text", where)
    if form not in (None, "exact", "counts"):
        reading.manifest.append("sensitive.form is neither exact nor counts")
    marginal = reading.field(data, "marginal", "a list of counts", where)
    values = _read_listed(reading, data, "values", where)
    if values is None or None in (name, form, marginal):
        return None
    reading.manifest += [f"sensitive {problem}" for problem in value_problems(values.series, null_first=False)]
    _check_length(reading, name, marginal, len(values.series))
    return Sensitive(name, values, form, np.array(marginal, np.int64))


def _check_length(reading: Reading, name: str, marginal: list[int], n_values: int) -> None:
    if len(marginal) != n_values:
        reading.marginals.append(f"column {name!r} has {len(marginal)} counts for {n_values} values")


def _read_promises(reading: Reading, manifest: dict[str, Any], *, has_sensitive: bool) -> list[Promise]:
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
        if _is_number(entry.get("l")) and entry["l"] != int(entry["l"]):
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
