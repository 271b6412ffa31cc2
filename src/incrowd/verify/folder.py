"""A release folder on disk: what lies in it, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl

from incrowd.verify.core import check_into
from incrowd.verify.domain import Array
from incrowd.verify.files import file_bytes, folder_problems, read_csv, read_manifest, read_parquet
from incrowd.verify.verdict import Findings, Verdict

_SHUFFLED_FROM = 10
_IN_ORDER = 0.99


def check_folder(folder: Path, original: pl.DataFrame | None, rows: Array | None) -> Verdict:
    """Check the files of a release."""
    findings = Findings()
    problems = folder_problems(folder)
    manifest = read_manifest(file_bytes(folder / "manifest.json"), problems)
    frame = read_parquet(file_bytes(folder / "release.parquet"), problems)
    csv = read_csv(file_bytes(folder / "release.csv"), problems)
    findings.judge("files", problems, "the three files of a release and no other")
    if manifest is None or frame is None:
        findings.skip("payload", "not looked at: the files cannot be read")
        return findings.verdict()
    whole = folder.resolve()
    private = whole.with_name(f"{whole.name}.private")
    rings = None
    if rows is None and (private / "rows.parquet").is_file():
        rows = _read_rows(findings, private / "rows.parquet")
        rings = _read_rings(findings, private / "rings.parquet")
    _check_order(findings, rows)
    check_into(findings, manifest, frame, original=original, rows=rows, csv=csv, rings=rings)
    return findings.verdict()


def _read_rows(findings: Findings, path: Path) -> Array | None:
    try:
        return pl.read_parquet(io.BytesIO(path.read_bytes()))["row"].to_numpy()
    except (OSError, pl.exceptions.PolarsError):
        findings.judge("row map", ["the private rows.parquet has no readable column 'row'"], "")
        return None


def _read_rings(findings: Findings, path: Path) -> pl.DataFrame | None:
    try:
        return pl.read_parquet(io.BytesIO(path.read_bytes())) if path.is_file() else None
    except (OSError, pl.exceptions.PolarsError):
        findings.judge("rings", ["the private rings.parquet cannot be read"], "")
        return None


def _check_order(findings: Findings, rows: Array | None) -> None:
    """Rows that stand in the order of the originals, or nearly, say who is who to whoever knows that order."""
    if rows is None or rows.ndim != 1 or rows.dtype.kind not in "iu":
        findings.skip("order", "needs the row map: whether rows are shuffled cannot be seen without it")
        return
    problems = []
    if len(rows) >= _SHUFFLED_FROM:
        alike = _rank_correlation(rows)
        if abs(alike) >= _IN_ORDER:
            way = "order" if alike > 0 else "reversed order"
            problems.append(f"the rows stand in the {way} of the originals (rank correlation {alike:.3f})")
    findings.judge("order", problems, "rows are shuffled")


def _rank_correlation(rows: Array) -> float:
    """Return Spearman's correlation of row numbers with their positions."""
    n = len(rows)
    gap = (np.argsort(rows, kind="stable") - np.arange(n)).astype(np.float64)
    return 1 - 6 * float(gap @ gap) / (n * (float(n) ** 2 - 1))
