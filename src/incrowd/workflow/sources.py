"""Sources: tables and schemas, from files, databases or memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.runs import Run

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema

Source = Any
"""A file, a folder or pattern of files, standard input (``-``), a database URL, or a frame."""


@contextmanager
def working(run: Run | None) -> Iterator[Run]:
    """Yield a run; its number of workers applies inside the block."""
    work = run or Run()
    with work.limits():
        yield work


def read_source(
    source: Source, reading: io.Reading | None = None, *, run: Run, findings: io.Findings | None = None
) -> pl.DataFrame:
    """Return a frame from a file, a database or memory, read as the schema says.

    Parameters
    ----------
    findings
        Is told what was found out about the source.
    """
    if isinstance(source, str | Path):
        return io.read_with_findings(source, reading or io.Reading(), findings or io.Findings(), progress=run)
    return io.to_polars(source)


def settings(given: io.Reading | None, query: str | None) -> io.Reading:
    """Return what somebody says about a source, a query for a database among it."""
    found = given or io.Reading()
    return found if query is None else replace(found, query=query)


def read_schema(schema: Schema | str | Path | None, source: Source = "") -> Schema:
    """Return a schema, from its file if need be; `source` is what it is for."""
    from incrowd.schema import Schema

    if schema is None:
        is_there = not isinstance(source, str | Path) or Path(source).is_file()
        fact = "A table needs a schema" if is_there else f"'{source}' is neither a table nor a release folder"
        raise ParameterError(fact, "run: incrowd init data.csv -o data.toml, then add -s data.toml")
    return schema if isinstance(schema, Schema) else Schema.from_toml(schema)
