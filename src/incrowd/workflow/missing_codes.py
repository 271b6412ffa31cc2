"""What to say of values that mean missing when a table is published: listed ones that no row has, and likely ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd import io

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema
    from incrowd.schema.suspects import Suspect

_NAMED = 5  # columns of a note


def notes_on_codes(frame: pl.DataFrame, schema: Schema, findings: io.Findings) -> list[str]:
    """Name codes of the schema that no row has, and values that probably mean missing and are not listed.

    Parameters
    ----------
    findings
        Knows which codes the reader has seen, which made them missing.
    """
    from incrowd.coding.cleaning import coded_columns, unused_codes
    from incrowd.schema.suspects import find_suspects, line_for

    notes, likely = [], []
    for name in coded_columns(schema):
        if name not in frame.columns:
            continue  # which is refused later, with a hint
        attribute = schema.attributes[name]
        seen = findings.codes.get(name, ())
        unseen = [code for code in unused_codes(frame[name], attribute) if code not in seen]
        if unseen:
            named = " or ".join(map(repr, unseen))
            notes.append(f"No row of {name!r} has {named}, which the schema lists as missing.")
        likely.append([each for each in find_suspects(frame[name]) if each.code not in attribute.missing])
    by_line: dict[str, list[list[Suspect]]] = {}
    for suspects in filter(None, likely):
        by_line.setdefault(line_for(suspects), []).append(suspects)
    return [*notes, *(_may_be_missing(line, found) for line, found in by_line.items())]


def _may_be_missing(line: str, found: list[list[Suspect]]) -> str:
    """Say which columns have the same values that probably mean missing."""
    names = [repr(suspects[0].column) for suspects in found]
    if len(names) == 1:
        what = ", ".join(each.text for each in found[0])
        return f"{names[0]} has {what}, which may mean missing; if so, set {line} in the schema."
    more = f" and {len(names) - _NAMED} more columns" if len(names) > _NAMED else ""
    what = ", ".join(repr(each.code) for each in found[0])
    return f"{', '.join(names[:_NAMED])}{more} have {what}, which may mean missing; if so, set {line} in the schema."
