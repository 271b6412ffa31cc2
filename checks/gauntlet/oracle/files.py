"""The files of a release, and whether each is written in the one way that there is."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

Table = dict[str, list[Any]]


class Unreadable(Exception):  # noqa: N818 - a finding
    """A file that is not there, or not what it should be."""


@dataclass
class Folder:
    """A release as it lies on the disk.

    Attributes
    ----------
    tables, dtypes
        Content of the Parquet files and the names of their types, by stem.
    private
        Content of the private folder: tables by stem, JSON files by stem.
    """

    manifest: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)
    dtypes: dict[str, dict[str, str]] = field(default_factory=dict)
    private: dict[str, Any] = field(default_factory=dict)


def read_folder(folder: Path, problems: list[str]) -> Folder:
    """Read both folders; what is not canonical, missing or too much is a problem."""
    secret = folder.with_name(folder.name + ".private")
    found = Folder(_read_json(folder / "manifest.json", problems, indent=1))
    if not isinstance(found.manifest, dict):
        fact = "manifest.json is not an object"
        raise Unreadable(fact)
    parts = found.manifest.get("parts")
    projections = found.manifest.get("payload") == "projections"
    stems = [f"projection-{number + 1}" for number in range(len(parts or []))] if projections else ["release"]
    _expect(folder, {"manifest.json", *(f"{stem}{end}" for stem in stems for end in (".parquet", ".csv"))}, problems)
    for stem in stems:
        found.tables[stem], found.dtypes[stem] = _read_parquet(folder / f"{stem}.parquet", problems, canonical=True)
    _read_private(folder, secret, stems, found, problems)
    return found


def _read_private(folder: Path, secret: Path, stems: list[str], found: Folder, problems: list[str]) -> None:
    projections = stems != ["release"]
    names = (
        {f"rows-{number + 1}.parquet" for number in range(len(stems))}
        if projections
        else {"rows.parquet", "domains.json"}
    )
    optional = set() if projections else {"recoding.npz", "rings.parquet", "blocks.parquet", "members.parquet"}
    there = {file.name for file in secret.iterdir()} if secret.is_dir() else set()
    lacking, extra = {"manifest.json", *names} - there, there - names - optional - {"manifest.json"}
    problems += [f"the private folder has no {name}" for name in sorted(lacking)]
    problems += [f"the private folder has a file too much: {name}" for name in sorted(extra)]
    for name in sorted(there - {"recoding.npz"}):
        file = secret / name
        if file.suffix == ".json":
            found.private[file.stem] = _read_json(file, problems, indent=None if name == "domains.json" else 1)
        elif file.suffix == ".parquet":
            found.private[file.stem] = _read_parquet(file, problems, canonical=False)[0]
    about = found.private.get("manifest", {})
    for place, base in (("public", folder), ("private", secret)):
        own = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (base.iterdir() if base.is_dir() else ())
            if file.is_file() and not (place == "private" and file.name == "manifest.json")
        }
        if about.get(place) != own:
            problems.append(f"the digests of the {place} files are not theirs")


def _expect(folder: Path, names: set[str], problems: list[str]) -> None:
    there = {file.name for file in folder.iterdir()}
    problems += [f"{file.name} is a link" for file in folder.iterdir() if file.is_symlink()]
    for name in sorted(names - there):
        fact = f"there is no {name}"
        raise Unreadable(fact)
    problems += [f"a file too much: {name}" for name in sorted(there - names)]


def _read_json(path: Path, problems: list[str], *, indent: int | None) -> Any:  # noqa: ANN401
    try:
        text = path.read_bytes().decode("utf-8")
        data = json.loads(text, object_pairs_hook=_once)
    except (OSError, ValueError) as error:
        fact = f"{path.name} cannot be read: {type(error).__name__}"
        raise Unreadable(fact) from error
    if text != json.dumps(data, ensure_ascii=False, indent=indent) + "\n":
        problems.append(f"{path.name} is not canonical")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        fact = "a key twice"
        raise ValueError(fact)
    return dict(pairs)


def _read_parquet(path: Path, problems: list[str], *, canonical: bool) -> tuple[Table, dict[str, str]]:
    try:
        raw = path.read_bytes()
        frame = pl.read_parquet(io.BytesIO(raw))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        fact = f"{path.name} cannot be read: {type(error).__name__}"
        raise Unreadable(fact) from error
    if canonical and raw != parquet_bytes(frame):
        problems.append(f"{path.name} is not canonical")
    table = frame.to_dict(as_series=False)
    zeros = (cell for cells in table.values() for cell in cells if isinstance(cell, float) and cell == 0)
    if any(math.copysign(1, zero) < 0 for zero in zeros):
        problems.append(f"{path.name} has a negative zero")
    return table, {name: str(kind) for name, kind in frame.schema.items()}


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return the one way to write a Parquet file."""
    out = io.BytesIO()
    frame.write_parquet(out, compression="zstd", compression_level=3, statistics=False, row_group_size=262144)
    return out.getvalue()


def csv_bytes(table: Table) -> bytes:
    """Return the one way to write a CSV file."""
    alone = len(table) == 1
    lines = [",".join(map(_field, table))]
    lines += [
        ",".join('""' if alone and cell is None else _field(cell) for cell in row)
        for row in zip(*table.values(), strict=True)
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _field(cell: Any) -> str:  # noqa: ANN401
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, dt.datetime):
        return cell.isoformat(timespec="microseconds")
    if isinstance(cell, dt.date):
        return cell.isoformat()
    text = str(cell)
    return '"' + text.replace('"', '""') + '"' if text == "" or any(c in text for c in ',"\n\r') else text
