"""Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.errors import InputError


def read_parquet(path: Path) -> pl.DataFrame:
    """Read a Parquet file."""
    with path.open("rb") as handle:
        # By its name the file is read in pieces; a name that is not text must be opened here.
        source = path if _is_text(path) else handle
        return _read(path, "a Parquet", lambda: pl.read_parquet(source, glob=False, hive_partitioning=False))


def read_arrow(path: Path) -> pl.DataFrame:
    """Read an Arrow (Feather) file."""
    # Not by its name, which may map the file into memory: it could be replaced while the frame lives.
    return _read(path, "an Arrow", lambda: pl.read_ipc(path.read_bytes()))


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a Parquet file."""
    with path.open("wb") as handle:
        frame.write_parquet(handle)


def write_arrow(frame: pl.DataFrame, path: Path) -> None:
    """Write an Arrow (Feather) file."""
    with path.open("wb") as handle:
        frame.write_ipc(handle)


def _is_text(path: Path) -> bool:
    """Tell whether a name has no bytes that the system's encoding does not know."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(path: Path, kind: str, read: Callable[[], Any]) -> pl.DataFrame:
    try:
        frame: pl.DataFrame = read()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):  # damage may make the library panic
        fact = f"'{path}' is not {kind} file, or it is damaged"
    else:
        return frame
    # Outside the handler, because the message of the library may quote a cell.
    raise InputError(fact, "write it again, or check that the copy is complete")
