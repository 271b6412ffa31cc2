"""Tables of a release in other places than a release folder: written and read back before anybody sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incrowd.errors import InputError
from incrowd.io.atomic import atomic_folder, atomic_paths
from incrowd.io.canonical import write_canonical_parquet
from incrowd.io.covers import Cover, Rule, statistics_rule
from incrowd.io.database_tables import fetch_tables, name_rule, storing_tables, try_creating
from incrowd.io.formats import Types, format_of
from incrowd.io.places import DATASET_COVER, Place
from incrowd.io.reading import Findings, Reading
from incrowd.io.staging import refuse_existing
from incrowd.io.statistics_files import write_statistics

Existing = Literal["refuse", "append", "replace"]
Tables = Mapping[str, pl.DataFrame]

PART_ROWS = 1 << 20
"""Rows of a part of a Parquet dataset."""

# Names that a program accepts: Excel's tables, SPSS, Stata.
_RULES: dict[str, Rule] = {
    ".xlsx": lambda name: name[:255],
    ".sav": statistics_rule(64, ".$#@", in_bytes=True),
    ".dta": statistics_rule(32, "", in_bytes=False),
}


@dataclass(frozen=True)
class Fetched:
    """A release as a place returns it.

    Attributes
    ----------
    covers
        The texts that lie beside the tables: one, or several if releases were appended to a table.
    tables
        The tables by their stems, restored to names and types of the release.
    """

    covers: tuple[str, ...]
    tables: Tables


@dataclass
class Writing:
    """Whether what was written has appeared: a signal may come in the moment after."""

    is_done: bool = False

    def done(self) -> None:
        """Note that it has."""
        self.is_done = True


@contextmanager
def storing(
    place: Place, manifest: Mapping[str, Any], tables: Tables, writing: Writing, *, existing: Existing = "refuse"
) -> Iterator[Callable[[], Fetched]]:
    """Write tables to a place, and yield what reads them back; they appear when the block ends without an exception.

    Parameters
    ----------
    manifest
        The content of manifest.json.
    tables
        The tables of the release, by the stems of their files.
    writing
        Notes when they have appeared.
    existing
        What to do if a database has the table: refuse it, append to it, or replace it. Files are never replaced.
    """
    for path in () if place.kind == "database" else (place.path, place.cover):
        refuse_existing(path, replaceable=False)
    cover = Cover.of(manifest, tables, _rule(place))
    if place.kind == "database":
        with storing_tables(place.url, place.table, cover, tables, existing, writing.done) as found:
            yield lambda: Fetched((cover.to_json(),), found())
        return
    table = _only(tables, place)
    try:
        if place.kind == "dataset":
            with atomic_folder(place.path) as folder:
                _write_dataset(folder, cover, table)
                yield lambda: _fetch_dataset(folder)
        else:
            with atomic_paths(place.path, place.cover) as (file, beside):
                beside.write_text(cover.to_json(), encoding="utf-8")
                _write_file(file, cover, tables)
                yield lambda: _fetch_file(file, beside)
    finally:
        writing.is_done = place.path.exists()


def try_table(place: Place, existing: str) -> None:
    """Ask a database whether it would take a table; nothing is written."""
    try_creating(place.url, place.table, existing)


def fetch(place: Place) -> Fetched:
    """Read a release from a place."""
    if place.kind == "database":
        return Fetched(*fetch_tables(place.url, place.table))
    return _fetch_dataset(place.path) if place.kind == "dataset" else _fetch_file(place.path, place.cover)


def _rule(place: Place) -> Rule:
    if place.kind == "database":
        return name_rule(place.url)
    return _RULES.get(place.path.suffix.lower(), str) if place.kind == "file" else str


def _only(tables: Tables, place: Place) -> pl.DataFrame:
    if len(tables) != 1:
        fact = f"'{place}' holds one table, and this release has {len(tables)} (projections)"
        raise InputError(fact, "publish to a folder or to a database")
    return next(iter(tables.values()))


def _write_file(file: Path, cover: Cover, tables: Tables) -> None:
    ((stem, frame),) = tables.items()
    stored, suffix = cover.rename(stem, frame), file.suffix.lower()
    if suffix in (".sav", ".dta"):
        write_statistics(stored, file, format_of(file).name, labels=frame.columns)
        return
    writer = format_of(file).write
    assert writer is not None  # a place to write to has one
    writer(stored, file)


def _fetch_file(file: Path, beside: Path) -> Fetched:
    text = _read_text(beside)
    cover = Cover.from_json(text, f"'{beside}'")
    kind, where = format_of(file), f"'{file}'"
    try:
        frame = kind.read(file, Reading(), lambda _done: None, Findings())
    except OSError:
        fact = f"{where} cannot be opened"
        raise InputError(fact, "check that it is there and that you may read it") from None
    if kind.types is Types.NONE:  # a text file does not tell an empty text from a missing value
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())
    (stem,) = cover.tables
    return Fetched((text,), {stem: cover.restore(stem, frame, where)})


def _write_dataset(folder: Path, cover: Cover, frame: pl.DataFrame) -> None:
    (folder / DATASET_COVER).write_text(cover.to_json(), encoding="utf-8")
    for number, start in enumerate(range(0, max(frame.height, 1), PART_ROWS)):
        write_canonical_parquet(frame.slice(start, PART_ROWS), folder / part_name(number))


def _fetch_dataset(folder: Path) -> Fetched:
    text = _read_text(folder / DATASET_COVER)
    cover = Cover.from_json(text, f"'{folder / DATASET_COVER}'")
    found = sorted(path.name for path in folder.iterdir() if path.name != DATASET_COVER)
    expected = [part_name(number) for number in range(len(found))]
    if found != expected or not found:
        fact = f"'{folder}' does not hold the parts of a dataset and nothing else"
        raise InputError(fact, "remove what does not belong there, or restore the parts that are missing")
    try:
        parts = [pl.read_parquet((folder / name).read_bytes()) for name in found]
        frame = pl.concat(parts)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        fact = f"'{folder}' has parts that cannot be read"
    else:
        (stem,) = cover.tables
        return Fetched((text,), {stem: cover.restore(stem, frame, f"'{folder}'")})
    raise InputError(fact, "write it again, or check that the copy is complete")


def part_name(number: int) -> str:
    """Return the name of a part of a dataset."""
    return f"part-{number:05d}.parquet"


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        fact = f"'{path}', the manifest of the release, cannot be read"
    raise InputError(fact, "restore it: without it nobody can tell what the table promises")
