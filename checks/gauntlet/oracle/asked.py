"""What was asked for: the original as lists of Python values, and what each column means."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_NUMBERS = ("intervals", "ends", "bins", "mdl")  # hierarchies that read text as numbers, if all of it is


@dataclass(frozen=True)
class Asked:
    """An original with its roles, a method with its parameters.

    Attributes
    ----------
    columns
        The original, as lists.
    dtypes
        Polars' names of its types.
    hierarchies
        Kind of hierarchy of each quasi-identifier, in schema order.
    secrets, limits
        The sensitive columns in schema order, and what the schema asks of each.
    ranges
        Where the ranges of sensitive numbers begin, of columns that are published so.
    target
        The class, sensitive or not.
    """

    columns: dict[str, list[Any]]
    dtypes: dict[str, str]
    hierarchies: dict[str, str]
    secrets: list[str]
    limits: dict[str, dict[str, Any]]
    ranges: dict[str, tuple[float, ...]]
    other: list[str]
    target: str | None
    policy: str
    tokens: tuple[str, ...]
    codes: dict[str, tuple[str, ...]]
    method: str
    parameters: dict[str, Any]
    domains: str

    @property
    def sensitive(self) -> str | None:
        """Name of the sensitive column, where there is one only."""
        return self.secrets[0] if len(self.secrets) == 1 else None

    @property
    def several(self) -> bool:
        """Whether there are several sensitive columns."""
        return len(self.secrets) > 1

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return list(self.hierarchies)

    @property
    def n_rows(self) -> int:
        """Rows of the original."""
        return len(next(iter(self.columns.values())))

    @property
    def dropped(self) -> list[str]:
        """Names of the columns that are never published, in the order of the table."""
        used = {*self.quasi, *self.other, *self.secrets}
        return [name for name in self.columns if name not in used]

    @cached_property
    def meant(self) -> dict[str, list[Any]]:
        """Quasi-identifiers and sensitive columns as they are understood: missing is None, text may be numbers."""
        found = {name: self._meant(name, kind) for name, kind in self.hierarchies.items()}
        for name in self.secrets:
            own = _without(_secret(self._meant(name, None)), self.codes, name)
            starts = self.starts(name)
            found[name] = [None if v is None else max(s for s in starts if s <= v) for v in own] if starts else own
        return found

    def starts(self, name: str) -> list[Any]:
        """Return where the ranges of a sensitive column begin, as numbers of its type."""
        kind = int if "Int" in self.dtypes[name] else float
        return [plain(kind(start)) for start in self.ranges.get(name, ())]

    def _meant(self, name: str, kind: str | None) -> list[Any]:
        before = _without(self.columns[name], self.codes, name)
        return _without(_meant(before, self.tokens, kind), self.codes, name)

    @cached_property
    def shown(self) -> dict[str, list[Any]]:
        """The original as it is shown where it is not generalized: not a number is missing, no zero has a sign."""
        return {name: [plain(value) for value in values] for name, values in self.columns.items()}

    @cached_property
    def kept(self) -> list[int]:
        """Rows that the missing-value policy keeps."""
        if self.policy == "value":
            return list(range(self.n_rows))
        return [row for row in range(self.n_rows) if all(values[row] is not None for values in self.meant.values())]


def _without(values: list[Any], codes: dict[str, tuple[str, ...]], name: str) -> list[Any]:
    """Make missing what counts as missing in one column: a text, or the number or day that it reads as."""
    wanted = codes.get(name, ())
    return [None if any(_is_code(value, code) for code in wanted) else value for value in values]


def _is_code(value: Any, code: str) -> bool:  # noqa: ANN401
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, str):
        return value.strip(" ") == code
    if isinstance(value, dt.date):
        day = value.date() if isinstance(value, dt.datetime) else value
        return day.isoformat() == code
    try:
        return (int if isinstance(value, int) else float)(code) == value
    except ValueError:
        return False


def _meant(values: list[Any], tokens: tuple[str, ...], kind: str | None) -> list[Any]:
    known = [None if value in tokens else plain(value) for value in values]
    if kind is not None:
        known = [value.date() if isinstance(value, dt.datetime) else value for value in known]
    if kind in _NUMBERS and any(isinstance(value, str) for value in known):
        return _numbers(known)
    return known


def _numbers(values: list[Any]) -> list[Any]:
    for read in (int, float):
        try:
            found = [None if value is None else read(value) for value in values]
        except ValueError:
            continue
        return [None if value is None or is_nan(value) else value for value in found]
    return values


def _secret(values: list[Any]) -> list[Any]:
    """Timestamps that are all midnight are dates; others are text."""
    times = [value for value in values if isinstance(value, dt.datetime)]
    if not times:
        return values
    if all(value.time() == dt.time() for value in times):
        return [None if value is None else value.date() for value in values]
    return [None if value is None else str(value) for value in values]


def is_nan(value: object) -> bool:
    """Whether this is no number."""
    return isinstance(value, float) and math.isnan(value)


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return a number without the sign of zero, and nothing for what is no number."""
    return None if is_nan(value) else value + 0.0 if isinstance(value, float) else value


def same(one: Any, two: Any) -> bool:  # noqa: ANN401
    """Whether two cells hold the same: true is not 1."""
    return isinstance(one, bool) == isinstance(two, bool) and one == two


def key(value: Any) -> Any:  # noqa: ANN401
    """Return what equal cells share and others do not, for counting."""
    return (isinstance(value, bool), value)
