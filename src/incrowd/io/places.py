"""Places: where a release lives. A folder of its own, a Parquet dataset, one file, or a table of a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from incrowd.errors import InputError
from incrowd.io.connecting import is_url, public_url, refuse_broken_url, split_table
from incrowd.io.covers import COVER
from incrowd.io.formats import find_format, format_of, writable_suffixes
from incrowd.io.opening import STANDARD_INPUT

DATASET_COVER = "_manifest.json"  # readers of datasets pass over names that begin with _
Kind = Literal["folder", "dataset", "file", "database"]


@dataclass(frozen=True)
class Place:
    """Where a release lives.

    Attributes
    ----------
    kind
        What it is.
    path
        The folder or file; of a database the name of the table, in the working folder, where nothing is.
    url, table
        The database and the table in it, with its schema if one was given.
    """

    kind: Kind
    path: Path
    url: str = ""
    table: str = ""

    @property
    def private(self) -> Path:
        """Where the owner's part lies, unless the owner says otherwise."""
        return self.path.with_name(self.path.name + ".private")

    @property
    def cover(self) -> Path:
        """The file beside a file that has its manifest."""
        return self.path.with_name(self.path.name + COVER)

    def __str__(self) -> str:
        return f"{public_url(self.url)}#{self.table}" if self.kind == "database" else str(self.path)

    def __repr__(self) -> str:
        return f"Place({self.kind}: {self})"  # without the password


def place_of(output: str | Path, *, dataset: bool = False) -> Place:
    """Return the place to write to: a URL with #table, a file by its suffix, otherwise a folder.

    Parameters
    ----------
    dataset
        Whether the folder is to be a Parquet dataset.

    Examples
    --------
    >>> place_of("out"), place_of("out.sav")
    (Place(folder: out), Place(file: out.sav))
    """
    refuse_broken_url(output)
    if is_url(output):
        if dataset:
            fact = "A Parquet dataset is a folder, and the output is a database URL"
            raise InputError(fact, "give the name of a folder, or leave out dataset=True")
        return _table_place(str(output))
    path = Path(output)
    if str(output) == STANDARD_INPUT:
        fact = (
            "A release does not go to standard output: its manifest, and what only you keep, need places of their own"
        )
        raise InputError(fact, "publish to a folder, and send on the table in it: cat release/release.csv")
    if dataset:
        return Place("dataset", path)
    if path.is_dir() or find_format(path) is None:
        return Place("folder", path)
    if format_of(path).write is None:
        fact = f"Cannot write '{path}': this format can only be read"
        if format_of(path).name in ("SQLite", "DuckDB"):
            raise InputError(fact, f"name a table of it: {format_of(path).name.lower()}:///{path}#release")
        raise InputError(fact, f"use a folder, or one of the suffixes {', '.join(writable_suffixes())}")
    return Place("file", path)


def find_place(release: str | Path) -> Place | None:
    """Return the place of a release that is there, or None if there is nothing that looks like one.

    Whether a database has the table is only known when it is asked.
    """
    refuse_broken_url(release)
    if is_url(release):
        return _table_place(str(release))
    path = Path(release)
    if path.is_dir():
        return Place("dataset" if (path / DATASET_COVER).exists() else "folder", path)
    place = Place("file", path)
    return place if find_format(path) is not None and place.cover.exists() else None


def _table_place(address: str) -> Place:
    url, table = split_table(address)
    if table is None:
        fact = f"The address '{public_url(address)}' names no table"
        raise InputError(fact, f"end it with # and the name, for example {public_url(address)}#release")
    return Place("database", Path(table.replace("/", "_")), url, table)
