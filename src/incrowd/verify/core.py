"""The order in which a release is looked through: manifest, payload, promises, and then the originals."""

from __future__ import annotations

from typing import Any

import polars as pl

from incrowd.verify.csv_text import check_csv
from incrowd.verify.domain import Array
from incrowd.verify.manifest import read_claims
from incrowd.verify.original import check_original, row_map_problems
from incrowd.verify.payload import check_labels, read_payload
from incrowd.verify.promises import check_promises
from incrowd.verify.tables import check_marginals, check_rows
from incrowd.verify.verdict import Findings, Verdict


def check(
    manifest: dict[str, Any],
    frame: pl.DataFrame,
    *,
    original: pl.DataFrame | None = None,
    rows: Array | None = None,
    rings: pl.DataFrame | None = None,
    blocks: Array | None = None,
    csv: pl.DataFrame | None = None,
    promises_only: bool = False,
) -> Verdict:
    """Check a release in memory.

    Parameters
    ----------
    manifest
        The public manifest as plain data.
    frame
        The content of ``release.parquet``; the label columns may all be absent.
    original
        The table that the release was made from.
    rows
        The original row number of each released row.
    rings
        Where each released row and its original are, for methods that deal rows out on rings.
    blocks
        The block of each released row, for methods that tell sensitive values by blocks.
    csv
        The content of ``release.csv``, every column read as text.
    promises_only
        Leave out what no promise depends on: how many released rows are consistent with each original.
    """
    findings = Findings()
    check_into(
        findings, manifest, frame,
        original=original, rows=rows, csv=csv, rings=rings, blocks=blocks, promises_only=promises_only,
    )  # fmt: skip
    return findings.verdict()


def check_into(
    findings: Findings,
    manifest: object,
    frame: pl.DataFrame,
    *,
    original: pl.DataFrame | None,
    rows: Array | None,
    csv: pl.DataFrame | None,
    rings: pl.DataFrame | None = None,
    blocks: Array | None = None,
    promises_only: bool = False,
) -> None:
    """Add every check of a release to what was found about its folder."""
    claims, reading = read_claims(manifest)
    findings.judge("manifest", reading.manifest, "every key is there and of its type")
    findings.judge("hierarchies", reading.hierarchies, "distinct leaves, contiguous and nested nodes")
    findings.judge("nothing private", reading.private, "the manifest tells no seed and no unknown key")
    if claims is not None:
        findings.judge("promises", reading.promises, f"{len(claims.promises)} promises, none impossible at sight")
    if reading.marginals:
        findings.judge("marginals", reading.marginals, "")
    if claims is None:
        findings.skip("payload", "not looked at: the manifest cannot be relied on")
        return
    payload = read_payload(findings, claims, frame, labelled=csv is not None)
    check_rows(findings, claims, frame.height)
    if payload is None:
        findings.skip("promises", "not looked at: the payload cannot be read")
        return
    check_labels(findings, claims, payload, csv)
    check_csv(findings, claims, payload, csv)
    check_marginals(findings, claims, payload)
    check_promises(findings, claims, payload)
    if original is not None:
        check_original(
            findings, claims, payload, original, rows, rings=rings, blocks=blocks, promises_only=promises_only
        )
        return
    if rows is not None:
        problems = row_map_problems(rows, frame.height, claims.rows["input"])
        findings.judge("row map", problems, f"{len(rows)} released rows, each from its own original")
    if claims.k is not None and not claims.homogeneous:
        findings.skip("k", "needs the original: rows of a non-homogeneous release do not form groups")
        findings.levels["k"] = None
    if claims.in_shares:
        findings.skip("blocks", "needs the original: what its rows share out in blocks was not looked at")
    findings.skip("original", "needs the original: whether cells cover their people was not looked at")
