"""The files of a release: exactly those that belong to it, read with suspicion and within limits."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.verify.canonical import odd_types

LARGEST_MANIFEST = 1 << 28
"""Bytes of a manifest that are read."""

_CODES_PER_COLUMN = 3  # columns of a Parquet file for one of its CSV file


class _DuplicateKeyError(ValueError):
    """An object names a key twice: readers disagree on which of them counts."""


def folder_problems(folder: Path, files: Sequence[str], what: str = "a release") -> list[str]:
    """Say which files are too many, missing, or not files of their own."""
    present = sorted(path.name for path in folder.iterdir())
    strange = [name for name in present if name not in files]
    lost = [name for name in files if name not in present]
    odd = [name for name in files if name in present and not is_regular(folder / name)]
    problems = [f"{', '.join(map(repr, strange))} does not belong into {what}"] if strange else []
    problems += [f"{', '.join(lost)} is missing"] if lost else []
    return problems + ([f"{', '.join(odd)} is a link, a folder or something else than a file"] if odd else [])


def is_regular(path: Path) -> bool:
    """Tell whether a path is a file itself and not a link to one."""
    return path.is_file() and not path.is_symlink()


def file_bytes(path: Path) -> bytes | None:
    """Return the content of a file, ``None`` when it is not one or cannot be read."""
    try:
        return path.read_bytes() if is_regular(path) else None
    except OSError:
        return None


def digest(path: Path) -> str | None:
    """Return the SHA-256 digest of a file, ``None`` when it cannot be read."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest() if is_regular(path) else None
    except OSError:
        return None


def read_json(path: Path, problems: list[str]) -> tuple[Any, bytes]:
    """Return a file of plain data and its bytes; ``None`` after noting why it cannot be read."""
    if is_regular(path) and path.stat().st_size > LARGEST_MANIFEST:
        problems.append(f"{path.name} is too large: more than {LARGEST_MANIFEST} bytes")
        return None, b""
    data = file_bytes(path) or b""
    try:
        found = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_number)
        json.dumps(found, ensure_ascii=False).encode()  # half a character can be escaped, and not be written
    except _DuplicateKeyError:
        problems.append(f"{path.name} names a key twice")
    except (ValueError, RecursionError):
        problems.append(f"{path.name} cannot be read as JSON")
    else:
        return found, data
    return None, data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKeyError
    return found


def _no_number(name: str) -> None:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(name)


def read_table(folder: Path, stem: str, n_rows: object, problems: list[str]) -> tuple[bytes, pl.DataFrame] | None:
    """Return a Parquet file of a release and its content, unless it is not what its size and its CSV file allow.

    A few bytes of Parquet can unpack to more than any memory holds. Text cannot: a CSV file has at least a byte for
    each field.
    """
    name, csv = f"{stem}.parquet", folder / f"{stem}.csv"
    data = file_bytes(folder / name)
    room = csv.stat().st_size if is_regular(csv) else 0
    if data is None:
        problems.append(f"{name} cannot be read")
        return None
    try:
        lazy = pl.scan_parquet(io.BytesIO(data))
        n_columns, height = len(lazy.collect_schema()), lazy.select(pl.len()).collect().item()
        if height != n_rows:
            problems.append(f"{name} has {height} rows, and the manifest says {n_rows}")
            return None
        if height * n_columns > _CODES_PER_COLUMN * room:
            problems.append(f"{name} has more fields than {csv.name} has room for")
            return None
        frame = pl.read_parquet(io.BytesIO(data)).rechunk()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        problems.append(f"{name} cannot be read")
        return None
    if odd := odd_types(frame):
        problems.append(f"{name} has columns of a type that no release has: {', '.join(map(repr, odd))}")
        return None
    if _text_size(frame) > room:
        problems.append(f"{name} has more text than {csv.name} has room for")
        return None
    return data, frame


def _text_size(frame: pl.DataFrame) -> int:
    return int(sum(frame[name].str.len_bytes().sum() for name, dtype in frame.schema.items() if dtype == pl.String))


def read_owned(path: Path, schema: dict[str, pl.DataType] | pl.DataType, problems: list[str]) -> pl.DataFrame | None:
    """Return a table that the owner keeps; columns and types must be those given, or all of one type."""
    try:
        frame = pl.read_parquet(io.BytesIO(file_bytes(path) or b""))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        problems.append(f"{path.name} cannot be read")
        return None
    wanted = schema if isinstance(schema, dict) else {str(i + 1): schema for i in range(frame.width)}
    if dict(frame.schema) != wanted or any(frame.null_count().row(0)):
        problems.append(f"{path.name} has other columns or types than its format says, or missing values")
        return None
    return frame
