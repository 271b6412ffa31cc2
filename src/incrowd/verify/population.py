"""A release against the population that its people are from: k-map and delta-presence.

Who is in the population, and what was asked for, comes from whoever verifies; the manifest promises nothing of it. A
person fits a row if each of their values is in its cell. Of names that the manifest joined, only the owner's private
folder says which cell holds them; a name that no list has fits nothing but a cell of the whole domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import ParameterError, counted
from incrowd.verify.domain import Array, is_number, is_whole, read_values, without_codes
from incrowd.verify.levels import TOLERANCE
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Column, read_column
from incrowd.verify.payload import Payload
from incrowd.verify.published import Leaves, Quasi, numbers_of
from incrowd.verify.verdict import Findings, first_row

_NOWHERE = -1
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Within:
    """A population, and what should hold among its people."""

    people: pl.DataFrame
    k_map: int | None = None
    presence: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.k_map is not None and not (is_whole(self.k_map) and self.k_map >= 1):
            fact = f"k_map is {self.k_map!r}"
            raise ParameterError(fact, "use a whole number, at least 1")
        pair = self.presence
        if pair is not None and not (len(pair) == 2 and all(map(is_number, pair)) and 0 <= pair[0] <= pair[1] <= 1):
            fact = f"presence is {pair!r}"
            raise ParameterError(fact, "use two shares from 0 to 1, the least and the largest")


def check_population(
    findings: Findings, claims: Claims, payload: Payload, asked: Within, domains: Sequence[Mapping[str, Any]] | None
) -> None:
    """Judge k-map and delta-presence; without either, note what is reached."""
    lost = [q.name for q in claims.quasi if q.name not in asked.people.columns]
    if not findings.judge("population", [f"it lacks {', '.join(map(repr, lost))}"] if lost else [], "has all columns"):
        return
    plain = [without_codes(asked.people[q.name], q.type, claims.codes.get(q.name, ())) for q in claims.quasi]
    read = [read_column(column, q.type, claims.tokens) for q, column in zip(claims.quasi, plain, strict=True)]
    pairs = list(zip(claims.quasi, read, strict=True))
    odd = [f"column {q.name!r} has {column.n_odd} values of another type" for q, column in pairs if column.n_odd]
    codes = [_codes(q, column, m, payload, domains) for m, (q, column) in enumerate(pairs)]
    if odd or any(code is None for code in codes):
        findings.judge("population values", odd, "")
        for name in ("k_map", "presence"):
            findings.skip(name, "needs the owner's private folder, which knows where joined names are")
        return
    rows, fits, chance = _count(claims, payload, [code for code in codes if code is not None])
    smallest = int(fits.min(initial=asked.people.height))
    findings.levels["k_map"] = smallest
    findings.levels["presence_least"] = float(chance.min(initial=1.0))
    findings.levels["presence_most"] = float(chance.max(initial=0.0))
    if asked.k_map is not None:
        few = fits < asked.k_map
        where = first_row(int(payload.cells.first[few].min())) if few.any() else ""
        problems = [f"rows that fit fewer than {asked.k_map} people: {int(rows[few].sum())}, {where}"]
        findings.judge("k_map", problems * bool(few.any()), f"every row fits {smallest} people or more")
    if asked.presence is not None:
        least, most = asked.presence
        wrong = (chance < least - TOLERANCE) | (chance > most + TOLERANCE)
        problems = [
            f"the chance of {counted(int(wrong.sum()), 'kind')} of people to be in the release is out of bounds"
        ]
        problems += [f"nobody fits {int(rows[fits == 0].sum())} rows"] if (fits == 0).any() else []
        bad = bool(wrong.any() or (fits == 0).any())
        findings.judge("presence", problems[0 if wrong.any() else 1 :] if bad else [], "of everybody within the bounds")


def _count(claims: Claims, payload: Payload, codes: list[Array]) -> tuple[Array, Array, Array]:
    """Return the rows of each group, the people who fit it, and the chance of each different person to be in."""
    people = pl.DataFrame({str(m): code for m, code in enumerate(codes)}).group_by(pl.all()).len("n")
    number = people["n"].to_numpy().astype(np.int64)
    own = [people[str(m)].to_numpy() for m in range(len(codes))]
    cells = payload.cells
    fits, chance = np.zeros(cells.n_groups, np.int64), np.zeros(len(number))
    step = max(1, _AT_ONCE // max(1, len(number)))
    for begin in range(0, cells.n_groups, step):
        at = np.arange(begin, min(begin + step, cells.n_groups))
        inside = np.ones((len(at), len(number)), np.bool_)
        for m, q in enumerate(claims.quasi):
            which = cells.of_groups(m)[at]
            lo, hi = cells.lo[m][which][:, None], cells.hi[m][which][:, None]
            everything = (lo == 0) & (hi == payload.n_codes[m] - 1) & isinstance(q, Leaves)
            inside &= ((lo <= own[m]) & (own[m] <= hi)) | (everything & (own[m] == _NOWHERE))
        fits[at] = inside @ number
        known = np.maximum(fits[at], 1)
        chance += np.where(fits[at] > 0, cells.size[at] / known, 0.0) @ inside
    return cells.size, fits, chance


def _codes(
    q: Quasi, column: Column, m: int, payload: Payload, domains: Sequence[Mapping[str, Any]] | None
) -> Array | None:
    """Return the code of each person's value, `_NOWHERE` where no cell but the whole domain holds it."""
    if not isinstance(q, Leaves):
        missing = 0 if q.missing is not None else _NOWHERE
        return np.append(payload.scales[m].code(numbers_of(column.values)), np.int32(missing))[column.index]
    place = {leaf: at for at, leaf in enumerate(q.leaves) if at not in q.rest}
    if q.rest:
        owned = None if domains is None else _owned(q, domains[m])
        if owned is None:
            return None
        place |= owned
    listed = column.values.cast(pl.String()).to_list() if q.type == "date" else column.values.to_list()
    if q.type == "bool" and q.rest:
        listed = [str(value).lower() for value in listed]
    return np.array([place.get(value, _NOWHERE) for value in [*listed, None]], np.int32)[column.index]


def _owned(q: Leaves, entry: Mapping[str, Any]) -> dict[Any, int] | None:
    """Return the published leaf of each value that the owner's domain lists."""
    hierarchy, leaf_of = entry.get("hierarchy", {}), entry.get("leaf_of")
    listed = hierarchy.get("leaves" if q.kind == "taxonomy" else "values")
    if not isinstance(listed, list) or not isinstance(leaf_of, list) or len(listed) != len(leaf_of):
        return None
    if read_values(listed, q.type) is None or not all(is_whole(at) and 0 <= at < len(q.leaves) for at in leaf_of):
        return None
    plain = [str(v).lower() if isinstance(v, bool) else v for v in listed]
    return dict(zip(plain, leaf_of, strict=True))
