"""Several files that are one table: a folder, a pattern of names, or a Parquet dataset."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path

import polars as pl

from incrowd.errors import InputError
from incrowd.io.columns import guessed
from incrowd.io.formats import Format, Types, find_format
from incrowd.io.reading import Reading

_PATTERN = "*?["
_FAMILIES = {"number": pl.Float64, "text": pl.String, "date": pl.Date, "time": pl.Datetime, "truth value": pl.Boolean}


def files_of(source: Path) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, in order; None if it is a file, or nothing."""
    if source.is_dir():
        if (source / "manifest.json").exists():
            fact = f"'{source}' is a folder"
            raise InputError(fact, "give the table that this release was made from")
        found = [path for path in sorted(source.rglob("*")) if path.is_file() and not _is_hidden(path, source)]
        known = [path for path in found if find_format(path) is not None]
        if not known:
            fact = f"'{source}' is a folder without a table"
            raise InputError(fact, "give a file, or a folder of files with equal columns")
        return known
    if any(sign in source.name for sign in _PATTERN) and not source.exists():
        found = [Path(name) for name in sorted(glob.glob(str(source), recursive=True)) if Path(name).is_file()]  # noqa: PTH207 - with a folder in front
        if not found:
            fact = f"No file has a name like '{source}'"
            raise InputError(fact, f"check the pattern; the working folder is '{Path.cwd()}'")
        return found
    return None


def read_files(
    paths: list[Path], reading: Reading, read_one: Callable[[Path], pl.DataFrame], kind: Format, root: Path
) -> tuple[pl.DataFrame, list[int]]:
    """Read files with equal columns as one table; also return the number of rows of each.

    Folders named like ``year=2020``, as Parquet datasets have them, become columns.
    """
    frames: list[pl.DataFrame] = []
    for path in paths:
        frame = _with_partitions(read_one(path), path, root)
        if frames and set(frame.columns) != set(frames[0].columns):
            _refuse_columns(frames[0].columns, frame.columns, paths[0], path)
        frames.append(frame.select(frames[0].columns) if frames else frame)
    if kind.types is not Types.NONE:
        _refuse_types(frames, paths, reading)
    return pl.concat(frames, how="vertical_relaxed", rechunk=False), [frame.height for frame in frames]


def one_format(paths: list[Path], given: Format | None) -> Format:
    """Return the format of all files, which must be one."""
    kinds = {path: given or find_format(path) for path in paths}
    first = next(iter(kinds.values()))
    for path, kind in kinds.items():
        if kind is None or first is None:
            fact = f"'{path}' has the suffix '{path.suffix}', which is not a known format"
            raise InputError(
                fact, "choose the files by a pattern such as 'folder/*.csv', or say what they are: format='csv'"
            )
        if kind.name != first.name:
            fact = f"'{paths[0]}' is {first.name} and '{path}' is {kind.name}: files of one table have one format"
            raise InputError(fact, "choose the files by a pattern such as 'folder/*.csv'")
    if first is None:  # pragma: no cover - there is at least one path
        fact = "There is no file"
        raise InputError(fact, "check the pattern")
    return first


def refuse_changing_types(
    typed: pl.DataFrame, text: pl.DataFrame, heights: list[int], paths: list[Path], reading: Reading
) -> None:
    """Refuse a column that is text only because one of the files has other values than the rest.

    Parameters
    ----------
    typed, text
        All rows with their types, and as they were read.
    """
    for column in typed:
        if column.dtype != pl.String or column.name in reading.types or len(paths) == 1:
            continue
        kinds, start = [], 0
        for height in heights:
            part = text[column.name].slice(start, height)
            kinds.append(_family(guessed(part)))
            start += height
        _refuse_kinds(column.name, kinds, paths)


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


def _with_partitions(frame: pl.DataFrame, path: Path, root: Path) -> pl.DataFrame:
    if not root.is_dir():
        return frame
    for part in path.relative_to(root).parts[:-1]:
        name, sign, value = part.partition("=")
        if sign and name and name not in frame.columns:
            column = guessed(pl.Series(name, [value]))
            frame = frame.with_columns(pl.lit(column[0], dtype=column.dtype).alias(name))
    return frame


def _refuse_columns(first: list[str], other: list[str], one: Path, path: Path) -> None:
    lacking = [name for name in first if name not in other]
    added = [name for name in other if name not in first]
    what = f"lacks the column '{lacking[0]}' of" if lacking else f"has a column '{added[0]}' that is not in"
    fact = f"'{path}' {what} '{one}'"
    raise InputError(fact, "give files with equal columns; choose them by a pattern such as 'folder/part-*.csv'")


def _refuse_types(frames: list[pl.DataFrame], paths: list[Path], reading: Reading) -> None:
    for name in frames[0].columns:
        if name not in reading.types:
            _refuse_kinds(name, [_family(frame[name]) for frame in frames], paths)


def _refuse_kinds(name: str, kinds: list[str | None], paths: list[Path]) -> None:
    known = [(kind, path) for kind, path in zip(kinds, paths, strict=True) if kind is not None]
    for kind, path in known[1:]:
        if kind != known[0][0]:
            fact = f"Column '{name}' holds {known[0][0]}s in '{known[0][1]}' and {kind}s in '{path}'"
            raise InputError(fact, "correct the file, or declare the column as text in the schema: type = 'str'")


def _family(column: pl.Series) -> str | None:
    if column.null_count() == len(column):
        return None
    if column.dtype.is_numeric():
        return "number"
    if column.dtype in (pl.Categorical, pl.Enum):
        return "text"
    return next((name for name, dtype in _FAMILIES.items() if column.dtype == dtype), str(column.dtype.base_type()))
