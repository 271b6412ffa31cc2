"""A schema as a person corrects it: other roles, other hierarchies, another class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.errors import SchemaError

if TYPE_CHECKING:
    from incrowd.hierarchy import Spec
    from incrowd.schema import Schema


@dataclass(frozen=True)
class Recipe:
    """One way to generalize a column.

    Attributes
    ----------
    kind
        Its name in schema files.
    words
        What it does, in plain words.
    types
        The types of columns that it is for.
    """

    kind: str
    words: str
    types: tuple[str, ...]

    def to_dict(self) -> dict[str, str | list[str]]:
        """Return plain data."""
        return {"kind": self.kind, "words": self.words, "types": list(self.types)}


_ANY = ("int", "float", "str", "date", "bool")
RECIPES = (
    Recipe("intervals", "ranges (21-30)", ("int", "float", "date")),
    Recipe("by_class", "names in order of class", ("str",)),
    Recipe("prefixes", "shortened (100**)", ("int", "str")),
    Recipe("dates", "months, quarters, years", ("date", "str")),
    Recipe("balanced", "neighbours, five at a time", ("int", "float", "str", "date")),
    Recipe("frequency", "neighbours, equally many people", ("int", "float", "str", "date")),
    Recipe("mdl", "ranges that tell classes apart", ("int", "float")),
    Recipe("suppress", "kept or hidden", _ANY),
)
"""The ways to generalize a column that need no more settings, the usual one of each type first."""


def recipes(kind: str | None) -> tuple[Recipe, ...]:
    """Return the ways to generalize a column of some type (``None``: unknown), the usual one first.

    >>> [recipe.kind for recipe in recipes("bool")]
    ['suppress']
    """
    return tuple(recipe for recipe in RECIPES if kind is None or kind in recipe.types)


def revise(
    schema: Schema,
    *,
    roles: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    target: str | None = None,
) -> Schema:
    """Return a schema with other roles, hierarchies and class; what is not named stays.

    Parameters
    ----------
    roles
        Column to identifier, quasi, sensitive or other.
    kinds
        Quasi-identifier to the kind of its hierarchy; the usual one where it has none yet.
    target
        The class to predict; an empty text means none of its own: the sensitive column, if there is one.
    """
    from incrowd.schema import Role, Schema
    from incrowd.schema.schema import require_columns

    roles, kinds = roles or {}, kinds or {}
    require_columns([*roles, *kinds], list(schema.attributes))
    attributes = []
    for attribute in schema.attributes.values():
        wanted = roles.get(attribute.name, attribute.role.value)
        if wanted not in list(Role):
            fact = f"Column {attribute.name!r} has the unknown role {wanted!r}"
            raise SchemaError(fact, f"use one of {', '.join(Role)}")
        role = Role(wanted)
        spec = attribute.hierarchy
        if role is Role.QUASI:
            is_new = attribute.role is not Role.QUASI and spec is None
            kind = kinds.get(attribute.name) or (recipes(attribute.type)[0].kind if is_new else kind_of(spec))
            spec = spec if kind == kind_of(spec) else _made(kind)
        attributes.append(replace(attribute, role=role, hierarchy=spec if role is Role.QUASI else None))
    if target is None:
        target = schema.target if [schema.target] != schema.secrets else ""
    return Schema.of(
        attributes,
        target=target or None,
        missing=schema.missing,
        missing_tokens=schema.missing_tokens,
        rest=schema.rest,
    )


def kind_of(hierarchy: object) -> str:
    """Return the kind of a hierarchy or recipe, as schema files name it."""
    return "suppress" if hierarchy is None else str(hierarchy.to_dict()["kind"])  # type: ignore[attr-defined]


def _made(kind: str) -> Spec | None:
    from incrowd import hierarchy

    return hierarchy.from_dict({"kind": kind})
