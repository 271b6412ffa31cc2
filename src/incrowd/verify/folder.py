"""A release folder on disk: the files that belong to it and nothing else, each written in its one way."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd.verify.canonical import check_parquet, json_bytes
from incrowd.verify.core import check_into
from incrowd.verify.csv_text import csv_problems, for_people
from incrowd.verify.domain import Array
from incrowd.verify.files import digest, file_bytes, folder_problems, read_json, read_owned, read_table
from incrowd.verify.methods import evidence_of, makes_recoding
from incrowd.verify.order import check_order
from incrowd.verify.population import Within
from incrowd.verify.projection_manifest import is_projections
from incrowd.verify.series import check_chain
from incrowd.verify.verdict import Findings, Verdict

MANIFEST = "manifest.json"

_WHOLE = pl.Int64()
_OTHER_RELEASE = (
    "the private manifest names another method or parameters (if the folder is of another release, name the right one: "
    "private=...)"
)
_OWNED: dict[str, dict[str, pl.DataType] | pl.DataType] = {
    "rings": dict.fromkeys(("ring", "cell", "original", "width"), _WHOLE),
    "blocks": dict.fromkeys(("block", "members"), _WHOLE),
    "members": pl.Int32(),
    "groups": {"group": _WHOLE},
    "people": dict.fromkeys(("person", "signature"), _WHOLE),
    "signatures": {"signature": _WHOLE, "value": pl.String()},
}
_RECODINGS = ({"cuts", "lo", "hi"}, {"sizes", "lo_of", "hi_of"})


def check_folder(
    folder: Path,
    original: pl.DataFrame | None,
    rows: Array | None = None,
    private: Path | None = None,
    after: Path | None = None,
    within: Within | None = None,
) -> Verdict:
    """Check the files of a release.

    Parameters
    ----------
    folder
        The public folder.
    original
        The table that the release was made from.
    rows
        The original row number of each released row, in place of the owner's row map; one row for each projection.
    private
        What the owner keeps; by default the folder beside the public one, if it is there.
    after
        The release before in a series, whose private folder lies beside it.
    within
        The population, and what should hold in it.
    """
    findings = Findings()
    problems: list[str] = []
    manifest, data = read_json(folder / MANIFEST, problems)
    if not problems and json_bytes(manifest) != data:
        problems.append(f"{MANIFEST} is not written in its one way")
    stems = _stems(manifest)
    files = [MANIFEST, *(f"{stem}.{end}" for stem in stems for end in ("parquet", "csv"))]
    problems += folder_problems(folder, files)
    counts = manifest.get("rows") if isinstance(manifest, dict) else None
    n_rows = counts.get("released") if isinstance(counts, dict) else None
    read = [read_table(folder, stem, n_rows, problems) for stem in stems]
    tables = [table for table in read if table is not None]
    findings.judge("files", problems, f"the {len(files)} files of a release and no other")
    if private is None:
        beside = folder.resolve().with_name(f"{folder.resolve().name}.private")
        private = beside if beside.is_dir() else None
    owned = None if private is None else read_private_folder(findings, private, folder, files, manifest)
    if after is not None:
        check_chain(findings, manifest, owned, after)
    if not isinstance(manifest, dict) or len(tables) < len(stems):
        findings.skip("payload", "not checked: the files cannot be read")
        return findings.verdict()
    if rows is not None:
        names = row_maps(manifest)
        maps = [rows] if names == ["rows"] else list(rows)
        owned = (owned or {}) | {name: pl.DataFrame({"row": own}) for name, own in zip(names, maps, strict=False)}
    frames = tuple(frame for _, frame in tables)
    _check_csv(findings, folder, manifest, dict(zip(stems, frames, strict=True)))
    check_parquet(
        findings, {f"{s}.parquet": table for s, table in zip(stems, tables, strict=True)}, manifest.get("polars")
    )
    if not is_projections(manifest):  # whose order is looked at with the rest
        check_order(findings, frames)
    check_into(findings, manifest, frames, original=original, private=owned, within=within)
    return findings.verdict()


def _stems(manifest: Any) -> list[str]:  # noqa: ANN401 - plain data
    """Return the names of the tables' files, without their suffix."""
    if not is_projections(manifest):
        return ["release"]
    parts = manifest.get("parts")
    return [f"projection-{number + 1}" for number in range(len(parts) if isinstance(parts, list) else 0)]


def row_maps(manifest: Any) -> list[str]:  # noqa: ANN401 - plain data
    """Return the names of the owner's row maps, without their suffix."""
    if not is_projections(manifest):
        return ["rows"]
    return [stem.replace("projection", "rows") for stem in _stems(manifest)]


def _check_csv(findings: Findings, folder: Path, manifest: Any, frames: dict[str, pl.DataFrame]) -> None:  # noqa: ANN401
    problems = []
    for stem, frame in frames.items():
        table = frame if is_projections(manifest) else for_people(manifest, frame)
        path = folder / f"{stem}.csv"
        if table is None or file_bytes(path) is None:
            problems.append(f"{path.name} cannot be compared with the Parquet file")
        else:
            problems += csv_problems(path, table)
    findings.judge("csv", problems, "written again from the Parquet file, every byte is the same")


def read_private_folder(
    findings: Findings, private: Path, folder: Path, files: list[str], manifest: Any,  # noqa: ANN401
    unlike: str = "", unread: Collection[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return what the owner keeps, and judge whether it is all there and belongs to this release.

    Files that end in `unlike` are known to have other bytes than when they were published; tables in `unread` are left
    to somebody who reads them in parts.
    """
    problems: list[str] = []
    about, _ = read_json(private / MANIFEST, problems)
    maps = row_maps(manifest)
    method = manifest.get("method") if isinstance(manifest, dict) else None
    stems = evidence_of(method)
    if stems is None:  # a method that is not ours: what there is
        stems = tuple(stem for stem in _OWNED if (private / f"{stem}.parquet").exists())
    wanted = [f"{stem}.parquet" for stem in (*maps, *stems)]
    wanted += [] if is_projections(manifest) else ["domains.json"]
    wanted += ["recoding.npz"] if (private / "recoding.npz").exists() and makes_recoding(method) else []
    problems += folder_problems(private, [MANIFEST, *wanted], "what the owner of a release keeps")
    if not isinstance(about, dict) or list(about) != ["seed", "method", "public", "private"]:
        problems.append(f"the private {MANIFEST} has other keys than its format says")
    else:
        problems += [] if about["method"] == method else [_OTHER_RELEASE]
        problems += [] if _is_seed(about["seed"]) else ["the seed is not a whole number from 0, nor null"]
        problems += _digest_problems(about["public"], folder, files, "public", unlike)
        problems += _digest_problems(about["private"], private, wanted, "private")
    found: dict[str, Any] = {}
    for stem in (each for each in (*maps, *stems) if each not in unread):
        schema = _OWNED.get(stem, {"row": _WHOLE})
        table = read_owned(private / f"{stem}.parquet", schema, problems)
        found |= {} if table is None else {stem: table}
    if "domains.json" in wanted:
        domains, _ = read_json(private / "domains.json", problems)
        found |= {} if domains is None else {"domains": domains}
    if "recoding.npz" in wanted and not _is_recoding(private / "recoding.npz"):
        problems.append("recoding.npz does not hold the whole numbers of a recoding, and nothing else")
    findings.judge("private files", problems, f"{len(wanted) + 1} files that belong to this release, digests compared")
    return found


def _is_seed(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_recoding(path: Path) -> bool:
    """Tell whether a file is an archive of the arrays of a recoding, which can be read without running anything."""
    data = file_bytes(path) or b""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return set(archive.files) in _RECODINGS and all(archive[name].dtype == np.int32 for name in archive.files)
    except (OSError, ValueError, EOFError, AttributeError, TypeError, NotImplementedError, zipfile.BadZipFile):
        return False


def _digest_problems(told: object, folder: Path, files: list[str], which: str, unlike: str = "") -> list[str]:
    """Say which files have other digests than the private manifest tells; it tells those of all files and no other."""
    if not isinstance(told, dict) or sorted(told) != sorted(files):
        return [f"the private manifest does not list the digests of all {which} files"]
    same = [name for name in files if not unlike or not name.endswith(unlike)]
    wrong = [name for name in same if told[name] != digest(folder / name)]
    return [f"{', '.join(wrong)} is not the {which} file that the private manifest has the digest of"] if wrong else []
