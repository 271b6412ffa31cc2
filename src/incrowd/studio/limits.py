"""More limits of a release than k and l, and those that single sensitive columns have: as fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError
from incrowd.studio.names import as_number
from incrowd.studio.pages import Form

if TYPE_CHECKING:
    from incrowd.schema import Attribute, Schema

MORE = (
    ("t", "Closeness (t)", "the values of a crowd are spread nearly as in the whole table: 0 is the same, 1 anything"),
    ("alpha", "Largest share (alpha)", "no sensitive value has more than this part of a crowd: 0.5 is half of it"),
    (
        "beta",
        "Largest gain (beta)",
        "no value's share grows by more than this, relative to the whole table: 1 doubles it",
    ),
    ("delta", "Largest change (delta)", "shares change by less than 2 to the power of this, up or down"),
    ("width", "Width (numbers only)", "the largest and the smallest sensitive number of a crowd are so far apart"),
)
"""Name, label and meaning of each."""

OWN = (("l", "Diversity (l)", "no value has more than 1/l of a crowd"), *MORE)
"""Those that a single column may have."""

PARAMETERS = ("k", *(name for name, _, _ in OWN))


def given_limits(form: Form) -> dict[str, float]:
    """Return the limits of the whole release that somebody typed."""
    found = {name: form.number(name) for name, _, _ in OWN}
    return {name: value for name, value in found.items() if value is not None}


def columns_with_limits(schema: Schema) -> list[dict[str, Any]]:
    """Return what the form shows of sensitive columns: limits if there are several, ranges if they are numbers."""
    several = len(schema.secrets) > 1
    rows = []
    for number, attribute in enumerate(schema.attributes.values()):
        if attribute.name not in schema.secrets:
            continue
        ranged = attribute.type in ("int", "float") and attribute.hierarchy is None
        shown = OWN if several or attribute.limits else ()
        values = {name: _text(attribute.limits.get(name)) for name, _, _ in shown}
        ranges = ", ".join(map(as_number, attribute.ranges))
        row = {"number": number, "name": attribute.name, "limits": shown, "values": values, "ranged": ranged}
        rows += [row | {"ranges": ranges}] if shown or ranged else []
    return rows


def column_limits(form: Form, schema: Schema) -> tuple[dict[str, Mapping[str, Any]], dict[str, list[float]]]:
    """Return limits and ranges by column, of the columns that the form was about."""
    limits: dict[str, Mapping[str, Any]] = {}
    ranges: dict[str, list[float]] = {}
    for row in columns_with_limits(schema):
        attribute, number = schema.attributes[row["name"]], row["number"]
        if row["limits"] and f"l-{number}" in form.fields:
            limits[attribute.name] = _changed(form, attribute, number)
        if row["ranged"] and f"ranges-{number}" in form.fields:
            ranges[attribute.name] = _numbers(form.text(f"ranges-{number}"), attribute.name)
    return limits, ranges


def _changed(form: Form, attribute: Attribute, number: int) -> dict[str, Any]:
    names = [name for name, _, _ in OWN]
    found = {name: form.number(f"{name}-{number}") for name in names}
    kept = {name: value for name, value in attribute.limits.items() if name not in names}
    asked = {name: int(v) if v.is_integer() else v for name, v in found.items() if v is not None}
    return {**asked, **kept} if asked else {}


def _numbers(text: str, column: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        fact = f"The ranges of '{column}' are not numbers"
    raise ParameterError(fact, "write where each begins, for example 0, 2000, 4000")


def _text(value: object) -> str:
    return as_number(value) if isinstance(value, int | float) else ""
