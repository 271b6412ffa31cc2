"""Columns of numbers in which a few cells are none: proposed as what they are without these, which are pointed out.

One slip of the pen would otherwise make a hundred thousand ages names. The proposal declares numbers, so `publish`
refuses the table, and names the line, until a person has corrected these cells or has said that they mean missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd import io
from incrowd.errors import counted

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema

_MOST = 0.05  # share of cells up to which they are exceptions; more are values of their own, such as 90+


def without_exceptions(
    frame: pl.DataFrame, tokens: tuple[str, ...], findings: io.Findings
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the table without the few cells that are no numbers among numbers, and what to say about each column."""
    from incrowd.io.columns import guessed, without_tokens
    from incrowd.schema.suspects import WORDS

    columns, said = [], {}
    for column in frame.iter_columns():
        if column.dtype.to_python() is not str:
            continue
        text = without_tokens(column, [*WORDS, *tokens]).str.strip_chars(" ")
        numbers = findings.notation.plain(text)
        wrong = text.is_not_null() & numbers.is_null()
        n_wrong, n = int(wrong.sum()), len(text) - text.null_count()
        if not 0 < n_wrong <= _MOST * n:
            continue
        # Marks of missing values stay: the proposal looks at them.
        marks = column.is_not_null() & text.is_null()
        kept = (
            column.zip_with(marks, numbers.alias(column.name)) if marks.any() else guessed(numbers.alias(column.name))
        )
        columns.append(kept)
        first = findings.place(int(wrong.arg_max() or 0))
        one = n_wrong == 1
        what = f"{counted(n_wrong, 'value')} of {n} {'is no number, in' if one else 'are no numbers, first in'} {first}"
        said[column.name] = (
            f"{what}: correct {'it' if one else 'them'}, or list in missing what means missing, before you publish "
            f"(if {'it is a value' if one else 'they are values'}: set type to str)"
        )
    return frame.with_columns(columns), said


def without_settled(notes: Sequence[str], schema: Schema) -> list[str]:
    """Leave out that a column is text because of some rows, where numbers were proposed: the proposal says more."""
    numbers = [a.name for a in schema.attributes.values() if a.type in ("int", "float")]
    return [text for text in notes if not any(text.startswith(f"Column '{name}' is text because") for name in numbers)]


def with_exceptions(schema: Schema, said: Mapping[str, str]) -> Schema:
    """Return a schema whose columns of numbers say what is no number in them."""
    told = {name: text for name, text in said.items() if schema.attributes[name].type in ("int", "float")}
    return schema.with_attributes(
        replace(a, why=f"{a.why}; but {told[a.name]}") if a.name in told else a for a in schema.attributes.values()
    )
