"""The order in which a release is looked through: manifest, payload, promises, and then the originals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from incrowd.errors import counted
from incrowd.verify.manifest import Claims, read_claims
from incrowd.verify.original import check_original, check_row_map
from incrowd.verify.payload import check_labels, declared_names, read_payload
from incrowd.verify.population import Within, check_population
from incrowd.verify.private import read_private
from incrowd.verify.projections import check_projections_into
from incrowd.verify.promises import check_promises
from incrowd.verify.rows import Frame
from incrowd.verify.series import check_series
from incrowd.verify.tables import check_counts, check_rows
from incrowd.verify.verdict import Findings, Verdict


def check(
    manifest: dict[str, Any],
    tables: Sequence[Frame],
    *,
    original: pl.DataFrame | None = None,
    private: Mapping[str, Any] | None = None,
    promises_only: bool = False,
    within: Within | None = None,
) -> Verdict:
    """Check a release in memory.

    Parameters
    ----------
    manifest
        The public manifest as plain data.
    tables
        The content of the Parquet files; the label columns may all be absent.
    original
        The table that the release was made from.
    private
        What the owner keeps, by the stems of its files: ``rows``, ``domains``, and the evidence of the method.
    promises_only
        Leave out what no promise depends on: how many released rows are consistent with each original.
    within
        The population, and what should hold in it.
    """
    findings = Findings()
    check_into(
        findings, manifest, tables,
        original=original, private=private, promises_only=promises_only, labelled=False, within=within,
    )  # fmt: skip
    return findings.verdict()


def check_into(
    findings: Findings,
    manifest: object,
    tables: Sequence[Frame],
    *,
    original: pl.DataFrame | None,
    private: Mapping[str, Any] | None,
    promises_only: bool = False,
    labelled: bool = True,
    within: Within | None = None,
) -> None:
    """Add every check of a release to what was found about its folder; `labelled` tables must have their labels."""
    if isinstance(manifest, dict) and manifest.get("payload") == "projections":
        frames = [table.select(table.columns) for table in tables]
        check_projections_into(findings, manifest, frames, original=original, private=private)
        if within is not None:
            findings.skip("population", "not checked: people fit rows with cells, and projections have none")
        return
    claims = check_manifest(findings, manifest)
    if claims is None:
        findings.skip("payload", "not checked: the manifest cannot be relied on")
        return
    if len(tables) != 1:
        findings.judge("payload", [f"{len(tables)} tables were given, and rows are one"], "")
        return
    frame = tables[0]
    payload = read_payload(findings, claims, frame, labelled=labelled)
    check_rows(findings, claims, frame.height)
    check_counts(findings, claims)
    if payload is None:
        findings.skip("promises", "not checked: the payload cannot be read")
        return
    check_labels(findings, claims, payload)
    findings.note_word(claims.tokens, claims.codes, claims.parameters, declared_names(claims, payload))
    check_promises(findings, claims, payload)
    kept = read_private(findings, claims, private)
    check_series(findings, claims, payload, kept)
    if within is not None:
        check_population(findings, claims, payload, within, None if kept is None else kept.domains)
    if original is not None:
        check_original(findings, claims, payload, original, kept, promises_only=promises_only)
        _say_what_is_open(findings, claims)
        return
    if kept is not None and claims.series is None:
        check_row_map(findings, claims, kept.rows, frame.height)
    _say_what_needs_it(findings, claims)


def _say_what_needs_it(findings: Findings, claims: Claims) -> None:
    """Name what only the original can show."""
    if claims.k is not None and not claims.homogeneous:
        findings.skip("k", "needs the original: rows of a non-homogeneous release do not form groups")
        findings.levels["k"] = None
    if claims.in_shares:
        findings.skip("blocks", "needs the original: whether blocks keep the promises was not checked")
    if claims.concealed:
        findings.skip("concealment", "needs the original and the owner's private folder, which knows the members")
    findings.skip("original", "needs the original: whether cells cover their people was not checked", needed=False)


def _say_what_is_open(findings: Findings, claims: Claims) -> None:
    """Name the promises that nothing that was given could show."""
    judged = {check.name.split(" of '")[0] for check in findings.checks}
    wanted = ["k"] if claims.k is not None and not claims.homogeneous else []
    wanted += ["blocks"] if claims.in_shares else []
    wanted += ["concealment"] if claims.concealed else []
    for name in wanted:
        if name not in judged:
            findings.skip(name, "needs the owner's private folder, or an original that fits the release")


def check_manifest(findings: Findings, manifest: object) -> Claims | None:
    """Judge the manifest by itself; return what it claims, if it can be read."""
    claims, reading = read_claims(manifest)
    findings.judge("manifest", reading.manifest, "every key is there and of its type")
    findings.judge("hierarchies", reading.hierarchies, "distinct leaves, contiguous and nested nodes")
    findings.judge("nothing private", reading.private, "the manifest has no unknown key or parameter")
    if reading.unchecked is not None:
        findings.skip("method", reading.unchecked)
    if claims is not None:
        secret = [each.name for each in claims.secrets]
        findings.note_roles([q.name for q in claims.quasi], secret, claims.other, claims.dropped)
        promises = counted(len(claims.promises), "promise")
        findings.judge("promises", reading.promises, f"{promises}, none trivially unsatisfiable")
    if reading.marginals:
        findings.judge("counts", reading.marginals, "")
    return claims
