"""A release folder on disk: what lies in it, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd.verify.core import check_into
from incrowd.verify.domain import Array
from incrowd.verify.files import file_bytes, folder_problems, read_csv, read_manifest, read_parquet
from incrowd.verify.order import check_order
from incrowd.verify.projection_manifest import is_projections
from incrowd.verify.projections import check_projections_into
from incrowd.verify.verdict import Findings, Verdict


def check_folder(folder: Path, original: pl.DataFrame | None, rows: Array | None) -> Verdict:
    """Check the files of a release."""
    findings = Findings()
    unreadable: list[str] = []
    manifest = read_manifest(file_bytes(folder / "manifest.json"), unreadable)
    if is_projections(manifest):
        return _check_projections(findings, folder, manifest, original, rows)
    problems = folder_problems(folder) + unreadable
    frame = read_parquet(file_bytes(folder / "release.parquet"), problems)
    csv = read_csv(file_bytes(folder / "release.csv"), problems)
    findings.judge("files", problems, "the three files of a release and no other")
    if manifest is None or frame is None:
        findings.skip("payload", "not looked at: the files cannot be read")
        return findings.verdict()
    whole = folder.resolve()
    private = whole.with_name(f"{whole.name}.private")
    rings, blocks = None, None
    if rows is None and (private / "rows.parquet").is_file():
        rows = _read_rows(findings, private / "rows.parquet")
        rings = _read_owned(findings, private / "rings.parquet")
        owned = _read_owned(findings, private / "blocks.parquet")
        blocks = None if owned is None else owned.to_series().to_numpy()
    check_order(findings, rows)
    check_into(findings, manifest, frame, original=original, rows=rows, csv=csv, rings=rings, blocks=blocks)
    return findings.verdict()


def _check_projections(
    findings: Findings, folder: Path, manifest: dict[str, Any], original: pl.DataFrame | None, rows: Array | None
) -> Verdict:
    """Check the files of projections: as many as the manifest has parts."""
    parts = manifest.get("parts")
    stems = [f"projection-{number + 1}" for number in range(len(parts) if isinstance(parts, list) else 0)]
    files = ["manifest.json", *(f"{stem}.{end}" for stem in stems for end in ("parquet", "csv"))]
    problems = folder_problems(folder, files)
    frames = [read_parquet(file_bytes(folder / f"{s}.parquet"), problems, f"{s}.parquet") for s in stems]
    csvs = [read_csv(file_bytes(folder / f"{stem}.csv"), problems, f"{stem}.csv") for stem in stems]
    findings.judge("files", problems, f"the {len(files)} files of a release and no other")
    readable = [frame for frame in frames if frame is not None]
    if len(readable) < len(frames):
        findings.skip("payload", "not looked at: the files cannot be read")
        return findings.verdict()
    private = folder.resolve().with_name(f"{folder.resolve().name}.private")
    maps = None if rows is None else list(np.atleast_2d(rows))
    if rows is None and stems and (private / "rows-1.parquet").is_file():
        found = [_read_rows(findings, private / f"rows-{number + 1}.parquet") for number in range(len(stems))]
        maps = [own for own in found if own is not None]
    check_projections_into(findings, manifest, readable, original=original, rows=maps, csvs=csvs)
    return findings.verdict()


def _read_rows(findings: Findings, path: Path) -> Array | None:
    try:
        return pl.read_parquet(io.BytesIO(path.read_bytes()))["row"].to_numpy()
    except (OSError, pl.exceptions.PolarsError):
        findings.judge("row map", [f"the private {path.name} has no readable column 'row'"], "")
        return None


def _read_owned(findings: Findings, path: Path) -> pl.DataFrame | None:
    try:
        return pl.read_parquet(io.BytesIO(path.read_bytes())) if path.is_file() else None
    except (OSError, pl.exceptions.PolarsError):
        findings.judge(path.stem, [f"the private {path.name} cannot be read"], "")
        return None
