"""From distinct rows to what is published of them: the method, the manifest, and the rows in the order of a release.

This is what engines have in common. They bring the distinct rows of a table and how often each occurs, and get what the
release shows of each of them, and where: the rest is moving rows about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Table
from incrowd.errors import IncompatibleError
from incrowd.manifest import Method
from incrowd.publish import publisher_names
from incrowd.publish.publisher import CellPublisher, Choice, Progress, Publisher
from incrowd.publish.registry import find_publisher
from incrowd.release.rows import RowRelease
from incrowd.release.seal import assemble_rows
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

LEFT_OUT = -1


@dataclass(frozen=True)
class Shown:
    """What a release shows.

    Attributes
    ----------
    release
        The release without its rows: manifest, domains, and what the owner keeps.
    rows
        The distinct published rows in the order of the release, without *other* columns.
    cell
        The number of each of them among the distinct cells, increasing.
    counts
        How many rows of the release each of them is.
    of_distinct
        Which of them each distinct row of the table is published as; `LEFT_OUT` for one that is dropped.
    """

    release: RowRelease
    rows: pl.DataFrame
    cell: Int32
    counts: Int64
    of_distinct: Int32


def require_cuts(publisher: Publisher[Any], schema: Schema, *, stored: bool = False) -> CellPublisher:
    """Return a method with what the schema asks of it; refuse one that must see every row by itself.

    `stored` says that rows may lie on the disk, each by itself.
    """
    publisher = publisher.settled(schema)
    if isinstance(publisher, CellPublisher) and (publisher.takes_weights or (stored and publisher.takes_stored_rows)):
        return publisher
    able = [name for name in publisher_names() if _is_able(name)]
    fact = f"Method {publisher.name!r}, with these parameters, needs all rows in memory"
    raise IncompatibleError(fact, f"use one of {', '.join(able)}, or engine='local'")


def _is_able(name: str) -> bool:
    kind = find_publisher(name)
    return issubclass(kind, CellPublisher) and kind.cuts_weighted_rows


def columns_of(schema: Schema) -> list[str]:
    """Return the columns that methods look at."""
    known = [*schema.quasi, *schema.secrets, *filter(None, [schema.target])]
    return list(dict.fromkeys(known))


def choose(
    publisher: CellPublisher,
    distinct: pl.DataFrame,
    weights: Int64,
    schema: Schema,
    columns: list[str],
    rng: np.random.Generator,
    *,
    seed: int | None,
    domains: str,
    progress: Progress,
) -> Shown:
    """Choose the cells of distinct rows, and say what is published.

    Parameters
    ----------
    distinct, weights
        The distinct rows of `columns_of`, and how often each occurs.
    columns
        All columns of the table.
    """
    blank = [pl.lit(None, pl.String()).alias(name) for name in columns if name not in distinct.columns]
    whole = distinct.with_columns(blank).select(columns)
    table = Table.encode(whole, schema, least=publisher.rare(schema), weights=weights)
    del whole
    publisher.require_feasible(table)
    choice = publisher.choose(table, rng, progress)
    return assembled(publisher, table, choice, rng, seed=seed, domains=domains, n=len(weights))


def assembled(
    publisher: CellPublisher, table: Table, choice: Choice, rng: np.random.Generator, *,
    seed: int | None, domains: str, n: int,
) -> Shown:  # fmt: skip
    """Say what is published of a table of weighted rows in these cells.

    Parameters
    ----------
    n
        Distinct rows that came in, dropped ones too.
    """
    release = assemble_rows(
        table,
        choice,
        publisher.promises(choice, table.schema),
        method=Method(publisher.name, publisher.parameters()),
        homogeneous=publisher.homogeneous,
        rng=rng,
        seed=seed,
        kind="polars",
        domains=domains,
    )
    assert table.weights is not None
    return _collapsed(release, table.weights, table.rows, n)


def _collapsed(release: RowRelease, weights: Int64, rows: Int64, n: int) -> Shown:
    """Join what is published alike; the distinct rows stand in the order of the release already."""
    assert release.private is not None
    distinct = release.private.rows
    of_row = np.zeros(n, np.int64)
    of_row[rows] = weights
    new = np.ones(len(distinct), np.bool_)
    new[1:] = np.diff(release.cell_of) != 0
    moved = new.copy()
    for secret in release.secrets:
        assert secret.codes is not None
        new[1:] |= np.diff(secret.codes) != 0
    first = np.flatnonzero(new)
    of_distinct = np.full(n, LEFT_OUT, np.int32)
    of_distinct[distinct] = np.cumsum(new) - 1
    few = replace(
        release,
        cell_of=release.cell_of[first],
        secrets=tuple(replace(s, codes=None if s.codes is None else s.codes[first]) for s in release.secrets),
        other=pl.DataFrame(),
    )
    cell = (np.cumsum(moved) - 1)[first].astype(np.int32)
    return Shown(few, few.coded(), cell, np.add.reduceat(of_row[distinct], first), of_distinct)
