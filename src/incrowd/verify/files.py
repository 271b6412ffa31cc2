"""The bytes of a release folder: read once, parsed from memory, refused where something could ride along."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

FILES = ("manifest.json", "release.parquet", "release.csv")
_KNOWN_METADATA = {"ARROW:schema"}
_BOM = b"\xef\xbb\xbf"
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"BZh", b"\xfd7zXZ")
_WORDS = re.compile(rb"[\x20-\x7e]{4,}")
_SCHEMA_SLACK = 1024


class _DuplicateKeyError(ValueError):
    """An object names a key twice: readers disagree on which of them counts."""


def folder_problems(folder: Path, files: Sequence[str] = FILES) -> list[str]:
    """Say which files are too many, missing, or not files of their own."""
    present = sorted(path.name for path in folder.iterdir())
    strange = [name for name in present if name not in files]
    lost = [name for name in files if name not in present]
    odd = [name for name in files if name in present and not _is_regular(folder / name)]
    problems = [f"{', '.join(map(repr, strange))} does not belong into a release"] if strange else []
    problems += [f"{', '.join(lost)} is missing"] if lost else []
    return problems + ([f"{', '.join(odd)} is a link, a folder or something else than a file"] if odd else [])


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def file_bytes(path: Path) -> bytes | None:
    """Return the content of a file, ``None`` when it is not one or cannot be read."""
    try:
        return path.read_bytes() if _is_regular(path) else None
    except OSError:
        return None


def read_manifest(data: bytes | None, problems: list[str]) -> Any:  # noqa: ANN401 - plain data
    """Return a manifest as plain data."""
    try:
        return json.loads((data or b"").decode(), object_pairs_hook=_unique)
    except _DuplicateKeyError:
        problems.append("manifest.json names a key twice")
    except (ValueError, RecursionError):
        problems.append("manifest.json cannot be read as JSON")
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKeyError
    return found


def read_parquet(data: bytes | None, problems: list[str], name: str = "release.parquet") -> pl.DataFrame | None:
    """Return the coded rows, and name what a writer left beside the columns: pandas, for one, keeps the index there."""
    try:
        frame = pl.read_parquet(io.BytesIO(data or b""), hive_partitioning=False)
        metadata = pl.read_parquet_metadata(io.BytesIO(data or b""))
    except (OSError, pl.exceptions.PolarsError):
        problems.append(f"{name} cannot be read")
        return None
    unknown = sorted(set(metadata) - _KNOWN_METADATA)
    if unknown:
        problems.append(f"{name} carries the metadata {', '.join(map(repr, unknown))}")
    if not _is_bare_schema(metadata.get("ARROW:schema", ""), frame):
        problems.append(f"{name} carries metadata in its schema")
    return frame


def _is_bare_schema(encoded: str, frame: pl.DataFrame) -> bool:
    """Tell whether a schema holds no words but the columns' names, and is not much longer than one without notes."""
    try:
        found = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    zones = [str(dtype.time_zone) for dtype in frame.dtypes if isinstance(dtype, pl.Datetime)]
    known = [name.encode() for name in [*frame.columns, *zones]]
    own = io.BytesIO()
    frame.clear().write_parquet(own)
    plain = pl.read_parquet_metadata(io.BytesIO(own.getvalue())).get("ARROW:schema", "")
    words = set(_WORDS.findall(found))
    return len(encoded) <= 2 * len(plain) + _SCHEMA_SLACK and all(any(w in name for name in known) for w in words)


def read_csv(data: bytes | None, problems: list[str], name: str = "release.csv") -> pl.DataFrame:
    """Return the rows for people, every cell as the text that stands there; an empty frame when there are none."""
    data = data or b""
    if data.startswith(_BOM):
        problems.append(f"{name} starts with a byte order mark")
        data = data.removeprefix(_BOM)
    if data.startswith(_PACKED):
        problems.append(f"{name} is packed")
        return pl.DataFrame()
    try:
        data.decode()
        header, body = _split_header(data)
        names = next(csv.reader([header.decode()], strict=True), [])
        if names and len(set(names)) == len(names):
            schema = dict.fromkeys(names, pl.String())
            return pl.read_csv(body, has_header=False, schema=schema) if body else pl.DataFrame(schema=schema)
    except (ValueError, csv.Error, pl.exceptions.PolarsError):
        pass
    problems.append(f"{name} cannot be read")
    return pl.DataFrame()


def _split_header(data: bytes) -> tuple[bytes, bytes]:
    """Cut after the first line break that stands outside quotes."""
    end = data.find(b"\n") + 1
    while end and data.count(b'"', 0, end) % 2:
        end = data.find(b"\n", end) + 1
    end = end or len(data)
    return data[:end].rstrip(b"\r\n"), data[end:]
