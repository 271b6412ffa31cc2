"""A schema as a person corrects it: other roles, other hierarchies, another class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.errors import SchemaError

if TYPE_CHECKING:
    from incrowd.hierarchy import Spec
    from incrowd.schema import Attribute, Role, Schema


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
    settings
        Names of what may be set; see the functions of `incrowd.hierarchy` of the same name.
    """

    kind: str
    words: str
    types: tuple[str, ...]
    settings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, str | list[str]]:
        """Return plain data."""
        return {"kind": self.kind, "words": self.words, "types": list(self.types), "settings": list(self.settings)}


_ANY = ("int", "float", "str", "date", "bool")
_NUMBERS, _ORDERED = ("int", "float"), ("int", "float", "str", "date")
RECIPES = (
    Recipe("intervals", "ranges (21-30)", ("int", "float", "date")),
    Recipe("by_class", "names in order of class", ("str",), ("at_least",)),
    Recipe("prefixes", "shortened (100**)", ("int", "str"), ("step", "branching")),
    Recipe("dates", "months, quarters, years", ("date", "str")),
    Recipe("words", "names that share words", ("str",), ("at", "branching")),
    Recipe("common", "rare names joined", ("str",), ("at_least", "branching")),
    Recipe("balanced", "neighbours, five at a time", _ORDERED, ("branching",)),
    Recipe("frequency", "neighbours, equally many people", _ORDERED, ("branching",)),
    Recipe("mdl", "ranges that tell classes apart", _NUMBERS),
    Recipe("suppress", "kept or hidden", (*_ORDERED, "bool")),
)
"""The ways to generalize a column that need no settings, the usual one of each type first."""

BINS = Recipe("bins", "ranges of equal width, or between edges", _NUMBERS, ("width", "start", "edges", "levels"))
"""One that needs settings."""


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
    hierarchies: Mapping[str, Spec | None] | None = None,
    missing: Mapping[str, Sequence[str]] | None = None,
    target: str | None = None,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
) -> Schema:
    """Return a schema with other roles, hierarchies, limits and class; what is not named stays.

    Parameters
    ----------
    roles
        Column to identifier, quasi, sensitive or other.
    kinds
        Quasi-identifier to the kind of its hierarchy; the usual one where it has none yet.
    hierarchies
        Quasi-identifier to its hierarchy itself; sensitive column to its tree.
    missing
        Column to its values that mean missing.
    target
        The class to predict; an empty text means none of its own: the sensitive column, if there is one.
    limits, ranges
        Sensitive column to what must hold for it, and to where its ranges begin.
    """
    from incrowd.schema import Role, Schema
    from incrowd.schema.schema import require_columns

    roles, kinds, given, missing = roles or {}, kinds or {}, hierarchies or {}, missing or {}
    limits, ranges = limits or {}, ranges or {}
    require_columns([*roles, *kinds, *given, *missing, *limits, *ranges], list(schema.attributes))
    attributes = []
    for attribute in schema.attributes.values():
        wanted = roles.get(attribute.name, attribute.role.value)
        if wanted not in list(Role):
            fact = f"Column {attribute.name!r} has the unknown role {wanted!r}"
            raise SchemaError(fact, f"use one of {', '.join(Role)}")
        role, name = Role(wanted), attribute.name
        spec = given[name] if name in given else _hierarchy(attribute, kinds.get(name), role)
        codes = tuple(missing.get(name, attribute.missing)) if role is not Role.OTHER else ()
        is_secret = role is Role.SENSITIVE
        attributes.append(
            replace(
                attribute,
                role=role,
                hierarchy=spec if is_secret or role is Role.QUASI else None,
                missing=codes,
                limits=limits.get(name, attribute.limits) if is_secret else {},
                ranges=tuple(ranges.get(name, attribute.ranges)) if is_secret else (),
            )
        )
    if target is None:
        target = schema.target if [schema.target] != schema.secrets else ""
    return Schema.of(
        attributes,
        target=target or None,
        missing=schema.missing,
        missing_tokens=schema.missing_tokens,
        rest=schema.rest,
        reading=schema.file,
    )


def carry_over(old: Schema, new: Schema) -> Schema:
    """Return a new proposal with the roles that a person chose before, where columns are the same.

    A hierarchy stays where the type of its column does, and so do the limits and ranges of a sensitive one.
    """
    same = {name: attribute for name, attribute in old.attributes.items() if name in new.attributes}
    alike = {name: a for name, a in same.items() if a.type == new.attributes[name].type}
    found = revise(
        new,
        roles={name: attribute.role.value for name, attribute in same.items()},
        hierarchies={name: a.hierarchy for name, a in alike.items() if a.hierarchy},
        limits={name: a.limits for name, a in alike.items()},
        ranges={name: a.ranges for name, a in alike.items()},
    )
    found = found.with_attributes(  # a reason that was given for a role is still that of the role
        replace(a, why=a.why if a.role.value == "quasi" or a.name not in same else same[a.name].why)
        for a in found.attributes.values()
    )
    keeps = old.target in (*found.other, *found.secrets) and [old.target] != found.secrets
    return revise(found, target=old.target) if keeps else found


def _hierarchy(attribute: Attribute, kind: str | None, role: Role) -> Spec | None:
    """Return the hierarchy of a quasi-identifier, the one that it has or one of another kind; or a sensitive tree."""
    from incrowd.schema import Role

    spec = attribute.hierarchy
    if role is not Role.QUASI:
        return spec if attribute.role is role else None
    if kind is None:
        is_new = attribute.role is not Role.QUASI and spec is None
        kind = recipes(attribute.type)[0].kind if is_new else kind_of(spec)
    return spec if kind == kind_of(spec) else _made(kind)


def kind_of(hierarchy: object) -> str:
    """Return the kind of a hierarchy or recipe, as schema files name it."""
    return "suppress" if hierarchy is None else str(hierarchy.to_dict()["kind"])  # type: ignore[attr-defined]


def _made(kind: str) -> Spec | None:
    from incrowd import hierarchy

    return hierarchy.from_dict({"kind": kind})
