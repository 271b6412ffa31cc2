"""From a table to a schema to review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import counted
from incrowd.runs import Run
from incrowd.workflow.nearly_numbers import with_exceptions, without_exceptions, without_settled
from incrowd.workflow.sources import Source, read_source, settings, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema
    from incrowd.schema.uniqueness import Uniqueness


@dataclass(frozen=True)
class Proposal:
    """A schema to review, and the reason for each role.

    Attributes
    ----------
    schema
        The proposed schema.
    rows
        Number of rows that it was proposed from.
    notes
        What was found out about the file.
    uniqueness
        How many rows are unique by the proposed quasi-identifiers.
    """

    schema: Schema
    rows: int
    notes: tuple[str, ...] = ()
    uniqueness: Uniqueness | None = None

    @property
    def columns(self) -> list[dict[str, str]]:
        """One entry per column: role, hierarchy, and why."""
        return [
            {
                "column": attribute.name,
                "role": attribute.role.value,
                "hierarchy": "" if attribute.role.value != "quasi" else _kind(attribute.hierarchy),
                "why": attribute.why,
            }
            for attribute in self.schema.attributes.values()
        ]

    @property
    def kept(self) -> tuple[str, ...]:
        """Warnings: one for each column that would be released as it is."""
        return tuple(
            f"'{name}' would be released as it is: whoever knows its values can link rows by them. Make it quasi or "
            "identifier unless nobody can know it"
            for name in self.schema.other
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        suspects = {name: list(a.suspects) for name, a in self.schema.attributes.items() if a.suspects}
        return {
            "rows": self.rows,
            "columns": self.columns,
            "notes": list(self.notes),
            "missing_suspects": suspects,
            "unique": None if self.uniqueness is None else self.uniqueness.to_dict(),
        }


def propose(
    source: Source,
    *,
    sensitive: str | Sequence[str] | None = None,
    target: str | None = None,
    missing_tokens: Sequence[str] = (),
    query: str | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> Proposal:
    """Propose a schema for a table: roles, types and hierarchies, to be reviewed by a person.

    Parameters
    ----------
    sensitive
        The columns to protect; one is guessed if none is given.
    target
        The class to predict, if it is not the sensitive column.
    missing_tokens
        Texts that mean missing.
    query, reading
        What to ask a database for, and how else the source is to be read.
    """
    from incrowd.schema import Schema
    from incrowd.schema.uniqueness import measure_uniqueness

    names = [sensitive] if isinstance(sensitive, str) else list(sensitive or [])
    tokens = tuple(missing_tokens)
    notes: list[str] = []
    findings = io.Findings(notes.append)
    how = settings(reading, query)
    with working(run) as work:
        frame = read_source(source, replace(how, missing_tokens=tokens), run=work, findings=findings)
        plain, exceptions = without_exceptions(frame, tokens, findings)
        schema = Schema.propose(plain, sensitive=names, target=target, missing_tokens=tokens)
        schema = with_exceptions(schema, exceptions)
        schema = _in_file_order(schema, findings)
        notes = without_settled(notes, schema)
        notes += _tokens_taken(frame, [token for token in schema.missing_tokens if token not in tokens])
        work("looking for unique rows", 0, 1)
        unique = measure_uniqueness(frame, schema.quasi)
    return Proposal(_with_findings(schema, how, findings), frame.height, tuple(notes), unique)


def _in_file_order(schema: Schema, findings: io.Findings) -> Schema:
    """Return the schema with ranges of neighbours where the file says that its names have an order."""
    from incrowd.hierarchy import Intervals
    from incrowd.schema import Role

    why = "{} distinct names, which the file calls ordinal: ranges of neighbours in the order of their codes"
    return schema.with_attributes(
        replace(a, hierarchy=Intervals(findings.orders[a.name]), why=why.format(len(findings.orders[a.name])))
        if a.role is Role.QUASI and a.hierarchy is not None and a.name in findings.orders
        else a
        for a in schema.attributes.values()
    )


def _tokens_taken(frame: pl.DataFrame, tokens: Sequence[str]) -> list[str]:
    """Say which texts among numbers were put into the schema as marks of missing values."""
    texts = [column for column in frame if column.dtype.to_python() is str]
    rows = {token: sum(int((column == token).sum()) for column in texts) for token in tokens}
    return [
        f"{token!r} stands among numbers or dates, and was put into missing_tokens ({counted(n, 'cell')})"
        for token, n in rows.items()
    ]


def _with_findings(schema: Schema, given: io.Reading, findings: io.Findings) -> Schema:
    """Return the schema with how its file is written, so that nobody has to say or find it again."""
    from incrowd.schema import Schema

    file = {name: getattr(given, name) for name in io.FILE_SETTINGS} | findings.taken
    forms = {**findings.date_formats, **given.date_formats}
    attributes = [replace(a, date_format=forms.get(a.name)) for a in schema.attributes.values()]
    return Schema.of(
        attributes,
        target=schema.target if [schema.target] != schema.secrets else None,
        missing=schema.missing,
        missing_tokens=schema.missing_tokens,
        rest=schema.rest,
        reading=io.Reading(**file),
    )


def _kind(hierarchy: Any) -> str:  # noqa: ANN401
    return "suppress" if hierarchy is None else str(hierarchy.to_dict()["kind"])
