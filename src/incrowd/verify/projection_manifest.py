"""The manifest of projections, read as a stranger's claims: every key is looked at, nothing is taken for granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from incrowd.verify.domain import TYPES, is_number
from incrowd.verify.fields import Reading
from incrowd.verify.manifest import (
    FORMAT,
    Promise,
    check_code_names,
    read_method,
    read_missing,
    read_promises,
    read_rows,
)
from incrowd.verify.methods import method_problems

PAYLOAD = "projections"

_KEYS = (
    "format",
    "incrowd",
    "polars",
    "payload",
    "method",
    "guarantees",
    "rows",
    "missing",
    "class",
    "quasi_sets",
    "parts",
    "columns",
    "left_out",
    "dropped",
)
_ROLES = ("quasi", "other")
_NUMBERS = ("int", "float")


@dataclass(frozen=True)
class Shown:
    """One published column as the manifest describes it.

    Attributes
    ----------
    type
        Of the values that it had, ``None`` for a column that is shown as it came.
    cuts
        Where its numbers were cut, ``None`` for values that are shown as they are.
    suppressed
        Rows whose value was made missing.
    """

    name: str
    role: str
    type: str | None
    cuts: tuple[float, ...] | None
    suppressed: int

    @property
    def labels(self) -> list[str]:
        """The intervals between the cuts, from low to high; the upper end belongs to each."""
        ends = [_written(cut) for cut in self.cuts or ()]
        lows, highs = ["-inf", *ends], [*(f"{end}]" for end in ends), "inf)"]
        return [f"({low}-{high}" for low, high in zip(lows, highs, strict=True)]


@dataclass(frozen=True)
class Target:
    """The class as the manifest describes it."""

    name: str
    role: str
    type: str


@dataclass(frozen=True)
class ProjectionClaims:
    """Everything that the manifest claims and the verifier needs."""

    promises: tuple[Promise, ...]
    rows: dict[str, int]
    policy: str
    tokens: tuple[str, ...]
    codes: dict[str, tuple[str, ...]]
    target: Target
    quasi_sets: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[str, ...], ...]
    columns: dict[str, Shown]
    left_out: tuple[str, ...]
    dropped: tuple[str, ...]
    parameters: dict[str, Any]

    @property
    def k(self) -> int | None:
        """The largest k that is promised."""
        return max((p.given["k"] for p in self.promises if p.kind == "k"), default=None)

    @property
    def quasi(self) -> list[str]:
        """All quasi-identifiers, published or not."""
        return list(dict.fromkeys(name for known in self.quasi_sets for name in known))


def is_projections(manifest: object) -> bool:
    """Tell whether a manifest speaks of projections."""
    return isinstance(manifest, dict) and manifest.get("payload") == PAYLOAD


def read_projection_claims(manifest: object) -> tuple[ProjectionClaims | None, Reading]:
    """Return the claims of a manifest, or ``None`` when they cannot be read, and all problems found."""
    reading = Reading()
    if not isinstance(manifest, dict) or not is_projections(manifest):
        reading.manifest.append("it does not speak of projections")
        return None, reading
    version = reading.field(manifest, "format", "a whole number")
    if version is not None and version != FORMAT:
        reading.manifest.append(f"format is {version}, and this verifier knows format {FORMAT}")
        return None, reading
    reading.closed(manifest, _KEYS)
    reading.field(manifest, "incrowd", "a version number")
    reading.field(manifest, "polars", "a version number")
    parameters = read_method(reading, manifest)
    rows = read_rows(reading, manifest)
    policy, tokens, codes = read_missing(reading, manifest)
    target = _read_target(reading, manifest)
    columns = _read_columns(reading, manifest)
    promises = read_promises(reading, manifest, has_sensitive=True)
    lists = {key: reading.field(manifest, key, "a list of lists of texts") or [] for key in ("quasi_sets", "parts")}
    names = {key: tuple(reading.field(manifest, key, "a list of texts") or ()) for key in ("left_out", "dropped")}
    for promise in promises:
        if promise.kind not in ("k", "l") or promise.given.get("l_kind", "frequency") != "frequency":
            reading.manifest.append(f"projections cannot promise {promise.kind} of this kind")
    problems, reading.unchecked = method_problems(manifest.get("method"), manifest.get("guarantees"), PAYLOAD)
    reading.private += problems
    if target is None or reading.manifest:
        return None, reading
    claims = ProjectionClaims(
        tuple(promises),
        rows,
        policy,
        tokens,
        codes,
        target,
        tuple(map(tuple, lists["quasi_sets"])),
        tuple(map(tuple, lists["parts"])),
        {column.name: column for column in columns},
        names["left_out"],
        names["dropped"],
        {} if problems or reading.unchecked else parameters,
    )
    coded = [*claims.quasi, *claims.left_out, *([target.name] if target.role == "sensitive" else [])]
    check_code_names(reading, codes, coded)
    reading.manifest += _name_problems(claims, [column.name for column in columns])
    if reading.manifest:
        return None, reading
    reading.promises = _impossible(claims, parameters)
    return claims, reading


def _read_target(reading: Reading, manifest: dict[str, Any]) -> Target | None:
    data = reading.field(manifest, "class", "an object")
    if data is None:
        return None
    reading.closed(data, ("name", "role", "type"), "class")
    name, role, kind = (reading.field(data, key, "text", "class.") for key in ("name", "role", "type"))
    if role not in (None, "sensitive", "other"):
        reading.manifest.append("class.role is neither sensitive nor other")
    if kind is not None and kind not in TYPES:
        reading.manifest.append(f"class.type is not one of {', '.join(TYPES)}")
    return None if None in (name, role, kind) else Target(name, role, kind)


def _read_columns(reading: Reading, manifest: dict[str, Any]) -> list[Shown]:
    found = []
    for number, entry in enumerate(reading.field(manifest, "columns", "a list") or ()):
        where = f"columns[{number}]"
        if not isinstance(entry, dict):
            reading.manifest.append(f"{where} is not an object")
            continue
        reading.closed(entry, ("name", "role", "type", "cuts", "suppressed"), where)
        name, role = (reading.field(entry, key, "text", f"{where}.") for key in ("name", "role"))
        kind = reading.field(entry, "type", "text or null", f"{where}.")
        suppressed = reading.field(entry, "suppressed", "a count", f"{where}.")
        if role is not None and role not in _ROLES:
            reading.manifest.append(f"{where}.role is neither quasi nor other")
        if (kind is None) != (role == "other") or kind not in (None, *TYPES):
            reading.manifest.append(f"{where}.type is not that of a column with this role")
        cuts = entry.get("cuts")
        if "cuts" not in entry or not _are_cuts(cuts, kind):
            reading.manifest.append(f"{where}.cuts are not those of a column of this type")
            cuts = None
        if name is not None and suppressed is not None:
            found.append(Shown(name, str(role), kind, None if cuts is None else tuple(map(float, cuts)), suppressed))
            if role == "other" and suppressed:
                reading.manifest.append(f"{where}.suppressed is not 0, and the column is shown as it came")
    return found


def _are_cuts(cuts: object, kind: str | None) -> bool:
    """Numbers are always cut, in increasing order; nothing else is."""
    if kind not in _NUMBERS:
        return cuts is None
    if not isinstance(cuts, list) or not all(map(is_number, cuts)):
        return False
    return all(low < high for low, high in pairwise(map(float, cuts)))


def _name_problems(claims: ProjectionClaims, columns: Sequence[str]) -> list[str]:
    problems = []
    placed = [name for part in claims.parts for name in part]
    if len(set(placed)) < len(placed):
        problems.append("a column is in two parts, or twice in one")
    if not claims.parts or (len(claims.parts) > 1 and not all(claims.parts)):
        problems.append("parts has none, or an empty one beside others")
    if sorted(placed) != sorted(columns):
        problems.append("columns does not describe the columns of the parts, each once")
    if claims.target.name in placed:
        problems.append("the class is a column of a part")
    kept = {*placed, claims.target.name}
    back = sorted(kept & {*claims.left_out, *claims.dropped})
    if back:
        problems.append(f"columns {', '.join(map(repr, back))} are both published and not")
    roles = {name: claims.columns[name].role for name in placed if name in claims.columns}
    wrong = [name for name, role in roles.items() if (role == "quasi") != (name in claims.quasi)]
    if wrong:
        problems.append(f"columns {', '.join(map(repr, wrong))} are in quasi_sets and other, or in neither")
    if not claims.quasi_sets or not all(claims.quasi_sets) or claims.target.name in claims.quasi:
        problems.append("quasi_sets names no column, has an empty set, or names the class")
    if strange := sorted(set(claims.quasi) - kept - {*claims.left_out}):
        problems.append(f"quasi_sets names {', '.join(map(repr, strange))}, neither published nor left out")
    return problems


def _impossible(claims: ProjectionClaims, parameters: dict[str, Any]) -> list[str]:
    """Say which promises cannot hold, whatever the rows are, or are not those that the method was asked for."""
    released, k = claims.rows["released"], claims.k
    problems = [] if k is not None else ["the manifest promises no k"]
    if k is not None and k > released:
        problems.append(f"k = {k} is promised for {released} released rows")
    asked = parameters.get("quasi_sets")
    told = [list(known) for known in claims.quasi_sets]
    if "quasi_sets" in parameters and (told != asked if asked is not None else len(told) != 1):
        problems.append("quasi_sets are not those that the method was given")
    most = parameters["suppress"] * released if is_number(parameters.get("suppress")) else released
    return problems + [
        f"column {column.name!r} has more rows suppressed than the method was allowed"
        for column in claims.columns.values()
        if column.suppressed > most
    ]


def _written(cut: float) -> str:
    """Write a cut in six digits if they are all of it."""
    short = format(cut, ".6g")
    return short if float(short) == cut else repr(cut)
