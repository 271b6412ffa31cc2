"""A release folder on disk: what lies in it, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.verify.core import check_into
from incrowd.verify.domain import Array
from incrowd.verify.verdict import Findings, Verdict

FILES = ("manifest.json", "release.parquet", "release.csv")
_KNOWN_METADATA = {"ARROW:schema"}
_SHUFFLED_FROM = 10


def check_folder(folder: Path, original: pl.DataFrame | None, rows: Array | None) -> Verdict:
    """Check the files of a release."""
    findings = Findings()
    present = sorted(path.name for path in folder.iterdir())
    strange = [name for name in present if name not in FILES]
    lost = [name for name in FILES if name not in present]
    problems = [f"{', '.join(map(repr, strange))} does not belong into a release"] if strange else []
    problems += [f"{', '.join(lost)} is missing"] if lost else []
    manifest, frame, csv = _read(folder, problems)
    problems += _metadata(folder)
    findings.judge("files", problems, "the three files of a release and no other")
    if manifest is None or frame is None:
        findings.skip("payload", "not looked at: the files cannot be read")
        return findings.verdict()
    whole = folder.resolve()
    private = whole.with_name(f"{whole.name}.private") / "rows.parquet"
    if rows is None and private.is_file():
        rows = _read_rows(findings, private)
    if rows is not None:
        _check_order(findings, rows)
    check_into(findings, manifest, frame, original=original, rows=rows, csv=csv)
    return findings.verdict()


def reading_hints(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return how to read the original from text: column types and missing tokens, as far as the manifest tells them."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        types = {column["name"]: column["hierarchy"]["type"] for column in manifest["quasi"]}
        sensitive = manifest["sensitive"]
        types |= {sensitive["name"]: sensitive["type"]} if sensitive else {}
        return types, list(manifest["missing"]["tokens"])
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return {}, []  # the manifest is not what it should be: its own check says so


def _read(folder: Path, problems: list[str]) -> tuple[Any, pl.DataFrame | None, pl.DataFrame]:
    manifest = frame = None
    csv = pl.DataFrame()
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        problems.append("manifest.json cannot be read as JSON")
    try:
        frame = pl.read_parquet(folder / "release.parquet", hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError):
        problems.append("release.parquet cannot be read")
    try:
        csv = pl.read_csv(folder / "release.csv", infer_schema=False)
    except (OSError, pl.exceptions.PolarsError):
        problems.append("release.csv cannot be read")
    return manifest, frame, csv


def _metadata(folder: Path) -> list[str]:
    """Name what a writer left beside the columns: pandas, for one, keeps the index there."""
    try:
        unknown = sorted(set(pl.read_parquet_metadata(folder / "release.parquet")) - _KNOWN_METADATA)
    except (OSError, pl.exceptions.PolarsError):
        return []
    return [f"release.parquet carries the metadata {', '.join(map(repr, unknown))}"] if unknown else []


def _read_rows(findings: Findings, path: Path) -> Array | None:
    try:
        return pl.read_parquet(path)["row"].to_numpy()
    except (OSError, pl.exceptions.PolarsError):
        findings.judge("row map", ["the private rows.parquet has no readable column 'row'"], "")
        return None


def _check_order(findings: Findings, rows: Array) -> None:
    """Rows that stand in the order of the originals say who is who to whoever knows that order."""
    numbers = rows.ndim == 1 and rows.dtype.kind in "iu"
    in_order = numbers and len(rows) >= _SHUFFLED_FROM and bool((rows[1:] > rows[:-1]).all())
    findings.judge("order", ["the rows stand in the order of the originals"] if in_order else [], "rows are shuffled")
