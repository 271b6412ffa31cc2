"""Schema: one role per column, one hierarchy per quasi-identifier."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import HierarchyError, SchemaError
from incrowd.hierarchy import Builder, Hierarchy, Spec
from incrowd.hierarchy.hierarchy import Weights
from incrowd.hierarchy.taxonomy import suppress_only

Missing = Literal["value", "drop"]


TYPES = ("int", "float", "str", "date", "bool")
_EXACT = 2**53  # below, every whole number is a float
_LONGEST_TOKEN, _MOST_TOKENS = 40, 32  # what the verifier takes for words, and not for a message


class Role(StrEnum):
    """What a column is."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    OTHER = "other"


@dataclass(frozen=True)
class Attribute:
    """One column: its role, for a quasi-identifier its hierarchy, and why it was proposed so.

    Attributes
    ----------
    hierarchy
        A hierarchy, a recipe for one, or ``None``: the value itself or ``*``.
    type
        How to read the column from text; ``None`` leaves it to the reader.
    why
        The reason of a proposal, for the person who reviews it.
    missing
        Values of this column that mean missing, as text: ``("-9", "99")``; numbers are compared as numbers.
    date_format
        How dates are written in a text file, such as ``%d.%m.%Y``; ``None`` leaves it to the reader.
    suspects
        Values that a proposal suspects to mean missing; they mean nothing until they are in `missing`.
    limits
        What must hold for this sensitive column, whatever the method is asked for: ``{"l": 3, "l_kind": "distinct"}``.
    ranges
        Where the ranges begin in which a sensitive number is published; none: as it is.
    """

    name: str
    role: Role
    hierarchy: Spec | None = None
    type: str | None = None
    why: str = ""
    missing: tuple[str, ...] = ()
    date_format: str | None = None
    suspects: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    ranges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.type not in (None, *TYPES):
            fact = f"Column {self.name!r} has the unknown type {self.type!r}"
            raise SchemaError(fact, f"use {', '.join(TYPES)}, or leave it out")
        object.__setattr__(self, "missing", as_codes(self.name, self.missing))
        if self.missing and self.role is Role.OTHER:
            fact = f"Column {self.name!r} is released as it is, and lists values that mean missing"
            raise SchemaError(fact, "leave out its setting missing, or give it the role quasi or sensitive")
        if self.limits and self.role is not Role.SENSITIVE:
            fact = f"Column {self.name!r} has {', '.join(self.limits)}, and is not sensitive"
            raise SchemaError(fact, "give it the role sensitive, or leave them out")
        object.__setattr__(self, "ranges", as_ranges(self.name, self.ranges))
        if self.ranges and (self.role is not Role.SENSITIVE or self.hierarchy is not None):
            public = self.role is not Role.SENSITIVE
            fact = f"Column {self.name!r} has ranges, and {'is not sensitive' if public else 'a tree'}"
            hint = "give a quasi-identifier a hierarchy, such as intervals" if public else "leave one of both out"
            raise SchemaError(fact, hint)

    def build(
        self, column: pl.Series, target: pl.Series | None, weights: Weights | None = None, least: float = 1
    ) -> Hierarchy:
        """Return the hierarchy of this column's values; errors name the column.

        `least` is the number of rows below which a value is rare; see `Builder.build`.
        """
        spec = self.hierarchy
        try:
            if isinstance(spec, Builder):
                return spec.build(column, target, weights, least)
            return suppress_only(column) if spec is None else spec.build(column, target, weights)
        except HierarchyError as error:
            if repr(self.name) in error.fact:
                raise
            fact = f"Column {self.name!r}: {error.fact}"
            raise HierarchyError(fact, error.hint) from error


class Schema:
    """Roles and hierarchies of a table's columns.

    Parameters
    ----------
    quasi
        Quasi-identifiers and their hierarchies: a `Hierarchy`, a recipe such as `balanced(5)`,
        or ``None`` for suppress-only. A list of names means ``None`` for each.
    sensitive
        The protected column, or several of them. A single one is also the class, unless `target` names another.
    identifiers
        Columns that are never published.
    other
        Columns that are released as they are.
    target
        The class that releases should stay good for.
    missing
        ``"value"``: a missing value is a value of its own; ``"drop"``: its row is left out and counted.
    missing_tokens
        Texts that mean missing, such as ``?``.
    rest
        What to do with a column that has no role: ``"error"`` or ``"drop"``.
    types
        How to read columns: ``{"zip": "str"}``. Known types are int, float, str, date and bool.
    missing_codes
        Values that mean missing in one column: ``{"age": [-9, 99]}``.
    ranges
        Where ranges of sensitive numbers begin: ``{"salary": [0, 2000, 4000]}`` publishes 2000 for 2000 to below 4000.
    reading
        How the file of the table is written, where the reader cannot find it out: encoding, decimal sign, and so on.

    Examples
    --------
    >>> import incrowd as ic
    >>> schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="disease", identifiers=["name"])
    >>> schema.quasi, schema.target
    (['age', 'sex'], 'disease')
    """

    def __init__(
        self,
        *,
        quasi: Mapping[str, Spec | None] | Sequence[str],
        sensitive: str | Sequence[str] | Mapping[str, Spec | None] | None = None,
        identifiers: Iterable[str] = (),
        other: Iterable[str] = (),
        target: str | None = None,
        missing: Missing = "value",
        missing_tokens: Iterable[str] = (),
        rest: Literal["error", "drop"] = "error",
        types: Mapping[str, str] | None = None,
        missing_codes: Mapping[str, Iterable[Any]] | None = None,
        ranges: Mapping[str, Iterable[float]] | None = None,
        reading: io.Reading | None = None,
    ) -> None:
        hierarchies = quasi if isinstance(quasi, Mapping) else dict.fromkeys(_names(quasi, "quasi"))
        attributes = [Attribute(name, Role.QUASI, _checked(name, spec)) for name, spec in hierarchies.items()]
        attributes += [Attribute(name, Role.OTHER) for name in _names(other, "other")]
        attributes += [Attribute(name, Role.IDENTIFIER) for name in _names(identifiers, "identifiers")]
        trees = sensitive if isinstance(sensitive, Mapping) else {}
        attributes += [Attribute(name, Role.SENSITIVE, _checked(name, trees.get(name))) for name in _listed(sensitive)]
        codes, starts = dict(missing_codes or {}), dict(ranges or {})
        require_columns([*(types or {}), *codes, *starts], [attribute.name for attribute in attributes])
        attributes = [
            replace(
                a,
                type=(types or {}).get(a.name),
                missing=as_codes(a.name, codes.get(a.name, ())),
                ranges=as_ranges(a.name, starts.get(a.name, ())),
            )
            for a in attributes
        ]
        self._set(attributes, target, missing, missing_tokens, rest, reading)

    @classmethod
    def of(
        cls,
        attributes: Iterable[Attribute],
        *,
        target: str | None = None,
        missing: Missing = "value",
        missing_tokens: Iterable[str] = (),
        rest: Literal["error", "drop"] = "error",
        reading: io.Reading | None = None,
    ) -> Schema:
        """Make a schema from attributes."""
        schema = cls.__new__(cls)
        schema._set(list(attributes), target, missing, missing_tokens, rest, reading)
        return schema

    def _set(
        self,
        attributes: list[Attribute],
        target: str | None,
        missing: Missing,
        missing_tokens: Iterable[str],
        rest: Literal["error", "drop"],
        reading: io.Reading | None = None,
    ) -> None:
        self.attributes = {attribute.name: attribute for attribute in attributes}
        names = [attribute.name for attribute in attributes]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            fact = f"Column {', '.join(map(repr, twice))} has more than one role"
            raise SchemaError(fact, "give each column one role: quasi, sensitive, identifier or other")
        if isinstance(missing_tokens, str):
            fact = f"missing_tokens is the text {missing_tokens!r}"
            raise SchemaError(fact, f"give a list: [{missing_tokens!r}]")
        missing_tokens = tuple(dict.fromkeys(missing_tokens))
        if len(missing_tokens) > _MOST_TOKENS or any(len(token) > _LONGEST_TOKEN for token in missing_tokens):
            fact = f"missing_tokens has {len(missing_tokens)} texts of up to {max(map(len, missing_tokens))} characters"
            hint = f"list at most {_MOST_TOKENS} words of at most {_LONGEST_TOKEN} characters: they are published"
            raise SchemaError(fact, hint)
        if missing not in get_args(Missing):
            fact = f"missing is {missing!r}"
            raise SchemaError(fact, "use 'value' or 'drop'")
        if rest not in ("error", "drop"):
            fact = f"rest is {rest!r}"
            raise SchemaError(fact, "use 'error' or 'drop'")
        if not self.quasi:
            fact = "The schema has no quasi-identifier"
            raise SchemaError(fact, "give the role quasi to the columns by which somebody could be recognized")
        secrets = self.secrets
        self.target = target if target is not None or len(secrets) != 1 else secrets[0]
        if target is not None and target not in (*secrets, *self.other):
            raise _wrong_target(target, self.quasi)
        self.missing, self.missing_tokens, self.rest = missing, missing_tokens, rest
        self.file = reading or io.Reading()

    def with_role(self, role: Role) -> list[str]:
        """Names of the columns of one role, in order."""
        return [name for name, attribute in self.attributes.items() if attribute.role is role]

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return self.with_role(Role.QUASI)

    @property
    def secrets(self) -> list[str]:
        """Names of the sensitive columns, however many there are."""
        return self.with_role(Role.SENSITIVE)

    @property
    def sensitive(self) -> str | list[str] | None:
        """The name of the sensitive column; a list of them where there are several, ``None`` where there is none."""
        names = self.secrets
        return names if len(names) > 1 else next(iter(names), None)

    @property
    def other(self) -> list[str]:
        """Names of the columns that are released as they are."""
        return self.with_role(Role.OTHER)

    @property
    def identifiers(self) -> list[str]:
        """Names of the columns that are never published."""
        return self.with_role(Role.IDENTIFIER)

    @property
    def types(self) -> dict[str, str]:
        """Declared types, for the reader."""
        return {name: attribute.type for name, attribute in self.attributes.items() if attribute.type}

    @property
    def missing_codes(self) -> dict[str, tuple[str, ...]]:
        """Values that mean missing in one column, of the quasi-identifiers and the sensitive columns."""
        coded = [*self.quasi, *self.secrets]
        return {name: self.attributes[name].missing for name in coded if self.attributes[name].missing}

    @property
    def reading(self) -> io.Reading:
        """How to read the table."""
        return replace(
            self.file,
            types=self.types,
            date_formats={name: a.date_format for name, a in self.attributes.items() if a.date_format},
            missing_tokens=self.missing_tokens,
            missing_codes=self.missing_codes,
        )

    def with_attributes(self, attributes: Iterable[Attribute]) -> Schema:
        """Return this schema with other attributes."""
        return Schema.of(
            attributes,
            target=self.target,
            missing=self.missing,
            missing_tokens=self.missing_tokens,
            rest=self.rest,
            reading=self.file,
        )

    def with_types(self, types: Mapping[str, str]) -> Schema:
        """Return this schema with these types declared."""
        return self.with_attributes(replace(a, type=types.get(a.name, a.type)) for a in self.attributes.values())

    def check(self, frame: pl.DataFrame) -> None:
        """Refuse a frame whose columns do not fit."""
        require_columns(list(self.attributes), frame.columns)
        patterns = [name for name in self.attributes if name.startswith("^") and name.endswith("$")]
        if patterns:
            fact = f"The column name {patterns[0]!r} looks like a regular expression"
            raise SchemaError(fact, "rename it without ^ at the start and $ at the end")
        rest = [name for name in frame.columns if name not in self.attributes]
        if rest and self.rest == "error":
            fact = f"Column {', '.join(map(repr, rest))} of the table has no role in the schema"
            raise SchemaError(
                fact, "give it a role (quasi, other or identifier), or set rest to 'drop' to drop all such columns"
            )

    @classmethod
    def propose(
        cls,
        frame: Any,  # noqa: ANN401
        *,
        sensitive: str | Sequence[str] | None = None,
        target: str | None = None,
        missing_tokens: Iterable[str] = (),
    ) -> Schema:
        """Guess roles, types and hierarchies from the data, each with a reason; a person must review them."""
        from incrowd.schema.proposal import propose  # noqa: PLC0415

        return propose(io.to_polars(frame), _listed(sensitive), tuple(missing_tokens), target)

    def accept_suspects(self) -> Schema:
        """Return this schema with all values that a proposal suspects as values that mean missing."""
        return self.with_attributes(
            replace(a, missing=(*a.missing, *a.suspects), suspects=()) for a in self.attributes.values()
        )

    def to_toml(self, path: str | Path) -> None:
        """Write the schema as a commented TOML file, all of it or nothing."""
        from incrowd.schema.toml import dumps  # noqa: PLC0415

        with io.atomic_file(path) as draft:
            draft.write_text(dumps(self, Path(path).absolute().parent), encoding="utf-8")

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read what `to_toml` wrote, or a person edited."""
        from incrowd.schema.toml import load  # noqa: PLC0415

        return load(Path(path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(tuple(self.attributes))

    def _key(self) -> tuple[object, ...]:
        attributes = [
            (
                *(a.name, a.role, a.type, None if a.hierarchy is None else a.hierarchy.to_dict()),
                *(a.missing, a.date_format, dict(a.limits), a.ranges),
            )
            for a in self.attributes.values()
        ]
        return attributes, self.target, self.missing, self.missing_tokens, self.rest, self.file

    def __repr__(self) -> str:
        quasi = ", ".join(f"{name}: {self.attributes[name].hierarchy!r}" for name in self.quasi)
        rest = f"other={self.other}, identifiers={self.identifiers}"
        return f"Schema(quasi={{{quasi}}}, sensitive={self.sensitive!r}, {rest})"


def as_codes(column: str, codes: Any) -> tuple[str, ...]:  # noqa: ANN401 - as somebody wrote them
    """Return values that mean missing as text; a few short ones, because they are published."""
    given = [codes] if isinstance(codes, str | int | float) else list(codes)
    texts = []
    for code in given:
        if isinstance(code, bool) or not isinstance(code, str | int | float) or code != code:  # noqa: PLR0124 - NaN
            fact = f"Column {column!r} lists a {type(code).__name__} that means missing"
            raise SchemaError(fact, "list numbers and texts, for example missing = [-9, 99]")
        whole = isinstance(code, float) and code.is_integer()
        texts.append(code.strip(" ") if isinstance(code, str) else str(int(code) if whole else code))
    texts = list(dict.fromkeys(texts))
    if len(texts) > _MOST_TOKENS or any(not 0 < len(text) <= _LONGEST_TOKEN for text in texts):
        fact = f"Column {column!r} lists {len(texts)} values that mean missing, of up to "
        fact += f"{max(map(len, texts))} characters"
        hint = f"list at most {_MOST_TOKENS} of at most {_LONGEST_TOKEN} characters, none empty: they are published"
        raise SchemaError(fact, hint)
    return tuple(texts)


def as_ranges(column: str, starts: Any) -> tuple[float, ...]:  # noqa: ANN401 - as somebody wrote them
    """Return where ranges begin: finite numbers in increasing order, two at least."""
    given = list(starts) if isinstance(starts, Iterable) and not isinstance(starts, str) else [starts]
    given = [start.item() if isinstance(start, np.generic) else start for start in given]
    numbers = all(type(start) in (int, float) and abs(start) <= sys.float_info.max for start in given)
    if not given or (numbers and len(given) > 1 and all(a < b for a, b in pairwise(given))):
        # Whole numbers as such, for a column of whole numbers takes no others.
        return tuple(int(start) if start == (start // 1) and abs(start) < _EXACT else start for start in given)
    fact = f"The ranges of column {column!r} are not two or more numbers in increasing order"
    raise SchemaError(fact, "list where each begins, the last has no end: ranges = [0, 2000, 4000]")


def require_columns(wanted: Sequence[str], present: Sequence[str]) -> None:
    """Refuse a table that lacks columns, with the most similar name in the hint."""
    lacking = [name for name in wanted if name not in present]
    if not lacking:
        return
    fact = f"The table has no column {', '.join(map(repr, lacking))}"
    folded = {name.casefold(): name for name in present}
    alike = get_close_matches(lacking[0].casefold(), list(folded), n=1)
    guess = f"did you mean {folded[alike[0]]!r}? The columns are " if alike else "use one of "
    raise SchemaError(fact, guess + ", ".join(map(repr, present)))


def _wrong_target(target: object, quasi: Sequence[str]) -> SchemaError:
    """Say why something cannot be the class."""
    if not isinstance(target, str):
        fact = f"The target is a {type(target).__name__}, and the class is one column"
        hint = (
            "name the column that the release stays good for; to keep several, join their values in a column of its own"
        )
        return SchemaError(fact, hint)
    if target in quasi:
        fact = f"The target {target!r} is a quasi-identifier, which is published generalized"
        hint = "give it the role sensitive, or other if nobody could know it of a person, or name another target"
        return SchemaError(fact, hint)
    fact = f"The target {target!r} is not a released column of the schema"
    return SchemaError(fact, "give it the role other or sensitive")


def _names(names: Iterable[str], where: str) -> list[str]:
    if isinstance(names, str):
        fact = f"{where} is the text {names!r}"
        raise SchemaError(fact, f"give a list: {where}=[{names!r}]")
    return list(names)


def _listed(sensitive: object) -> list[str]:
    """Return the names of the sensitive columns: one name, several, or none."""
    if sensitive is None or isinstance(sensitive, str):
        return [] if sensitive is None else [sensitive]
    names = list(sensitive) if isinstance(sensitive, Iterable) else [sensitive]
    if all(isinstance(name, str) for name in names):
        return [str(name) for name in names]
    fact = f"Parameter sensitive is a {type(sensitive).__name__}"
    raise SchemaError(fact, "name one column, or give a list of names")


def _checked(name: str, spec: object) -> Spec | None:
    if spec is None or (isinstance(spec, Spec) and not isinstance(spec, type)):
        return spec
    what = f"the class {spec.__name__}: call it" if isinstance(spec, type) else f"a {type(spec).__name__}"
    fact = f"The hierarchy of column {name!r} is {what}"
    raise SchemaError(fact, "use Intervals(), a Taxonomy, a recipe such as balanced(5), or None for suppress-only")
