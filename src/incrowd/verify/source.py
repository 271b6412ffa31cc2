"""The original from a file or a database, read as text where the manifest's types and tokens decide what text means."""

from __future__ import annotations

import io as memory
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.verify.domain import is_text
from incrowd.verify.files import file_bytes, read_json
from incrowd.verify.projection_manifest import is_projections


def read_original(
    folder: Path, source: str | Path, *, query: str | None, progress: Callable[[str, int, int], None] | None
) -> pl.DataFrame:
    """Read the table that a release was made from.

    Missing tokens mean something in quasi-identifiers and the sensitive column only, so they are not left to the
    reader, which would apply them to every column.
    """
    coded, untouched, tokens = reading_hints(folder)
    types = dict.fromkeys([*coded, *untouched], "str")
    try:
        frame = io.read(source, query=query, types=types, progress=progress)
    except InputError:
        # either the table lacks a column, and the check of the original says so, or this fails as well
        frame = io.read(source, query=query, progress=progress)
    present = [name for name in coded if name in frame.columns and frame[name].dtype == pl.String]
    if not tokens or not present:
        return frame
    told = pl.col(present).str.strip_chars(" ").is_in(tokens).fill_null(value=False)
    return frame.with_columns(pl.when(~told).then(pl.col(present)).name.keep())


def reading_hints(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the coded columns, the untouched ones to be read as text, and the missing tokens, as far as they are told.

    Untouched text is compared as it stands, and truth values may be written as words or as numbers.
    """
    manifest, _ = read_json(folder / "manifest.json", [])
    if not isinstance(manifest, dict):
        return [], [], []  # the manifest is not what it should be: its own check says so
    if is_projections(manifest):
        columns = _list(manifest.get("columns"))
        coded = [name for known in _list(manifest.get("quasi_sets")) for name in _list(known)]
        is_sensitive = _get(manifest.get("class"), "role") == "sensitive"
        coded += [_get(manifest.get("class"), "name")] if is_sensitive else []
        others = [_get(entry, "name") for entry in columns if _get(entry, "role") == "other"]
        files = [f"projection-{number + 1}.parquet" for number in range(len(_list(manifest.get("parts"))))]
    else:
        coded = [_get(entry, "name") for entry in [*_list(manifest.get("quasi")), manifest.get("sensitive")]]
        others, files = _list(manifest.get("other")), ["release.parquet"]
    schema: dict[str, pl.DataType] = {}
    for file in files:
        try:
            schema |= pl.read_parquet_schema(memory.BytesIO(file_bytes(folder / file) or b""))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            continue
    untouched = [name for name in others if is_text(name) and schema.get(name) in (pl.String, pl.Boolean)]
    tokens = _list(_get(manifest.get("missing"), "tokens"))
    return list(filter(is_text, coded)), untouched, list(filter(is_text, tokens))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _get(value: object, key: str) -> Any:  # noqa: ANN401 - plain data
    return value.get(key) if isinstance(value, dict) else None
