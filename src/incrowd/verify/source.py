"""The original from a file or a database, read as text where the manifest's types and tokens decide what text means."""

from __future__ import annotations

import io as memory
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.verify.domain import is_text
from incrowd.verify.files import file_bytes, read_json
from incrowd.verify.projection_manifest import is_projections


def read_original(
    folder: Path, source: str | Path, how: io.Reading, *, progress: Callable[[str, int, int], None] | None
) -> pl.DataFrame:
    """Read the table that a release was made from; of numbers and dates the reader knows how people write them.

    Missing tokens mean something in quasi-identifiers and sensitive columns only, so they are not left to the
    reader, which would apply them to every column.
    """
    coded, untouched, tokens = reading_hints(folder)
    types = dict.fromkeys([*coded, *untouched], "str")
    written = {name: kind for name, kind in coded.items() if kind in ("int", "float", "date")}
    try:
        frame = io.read_as(source, replace(how, types=types, canonical=written), progress=progress)
    except InputError:
        # either the table lacks a column, and the check of the original says so, or this fails as well
        frame = io.read_as(source, how, progress=progress)
    present = [name for name in coded if name in frame.columns and frame[name].dtype == pl.String]
    if not tokens or not present:
        return frame
    told = pl.col(present).str.strip_chars(" ").is_in(tokens).fill_null(value=False)
    return frame.with_columns(pl.when(~told).then(pl.col(present)).name.keep())


def reading_hints(folder: Path) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the coded columns with their types, the untouched ones to be read as text, and the missing tokens.

    Untouched text is compared as it stands, and truth values may be written as words or as numbers.
    """
    manifest, _ = read_json(folder / "manifest.json", [])
    return hints_of(manifest, folder)


def dataset_hints(folder: Path) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the same of a release in a Parquet dataset."""
    cover, _ = read_json(folder / io.DATASET_COVER, [])
    return hints_of(_get(cover, "manifest"), folder, [io.part_name(0)])


def hints_of(
    manifest: object, folder: Path, tables: Sequence[str] | None = None
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return what `reading_hints` does; `tables` are the files of a release of rows."""
    if not isinstance(manifest, dict):
        return {}, [], []  # the manifest is not what it should be: its own check says so
    if is_projections(manifest):
        columns = _list(manifest.get("columns"))
        kinds = {_get(entry, "name"): _get(entry, "type") for entry in columns if is_text(_get(entry, "name"))}
        known = [name for each in _list(manifest.get("quasi_sets")) for name in _list(each) if is_text(name)]
        coded = {name: kinds.get(name) for name in known}
        about = manifest.get("class")
        coded |= {_get(about, "name"): _get(about, "type")} if _get(about, "role") == "sensitive" else {}
        others = [_get(entry, "name") for entry in columns if _get(entry, "role") == "other"]
        files = [f"projection-{number + 1}.parquet" for number in range(len(_list(manifest.get("parts"))))]
    else:
        about = manifest.get("sensitive")
        entries = [*_list(manifest.get("quasi")), *(about if isinstance(about, list) else [about])]
        named = [entry for entry in entries if is_text(_get(entry, "name"))]
        coded = {_get(entry, "name"): _get(entry, "type") for entry in named}
        others, files = _list(manifest.get("other")), list(tables or ["release.parquet"])
    schema: dict[str, pl.DataType] = {}
    for file in files:
        try:
            schema |= pl.read_parquet_schema(memory.BytesIO(file_bytes(folder / file) or b""))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            continue
    untouched = [name for name in others if is_text(name) and schema.get(name) in (pl.String, pl.Boolean)]
    tokens = _list(_get(manifest.get("missing"), "tokens"))
    return {name: kind for name, kind in coded.items() if is_text(name)}, untouched, list(filter(is_text, tokens))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _get(value: object, key: str) -> Any:  # noqa: ANN401 - plain data
    return value.get(key) if isinstance(value, dict) else None
