"""A release in a database, a file or a Parquet dataset: read back, and checked as a release folder is.

Its tables and its manifest are written again as the files of a release folder. What the owner keeps has the digests of
those files, so that the rows are compared to the byte with those that were published. What a database or a file of
another program may hold beside the cells of a table, nobody can see: that is said.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from incrowd import io
from incrowd.errors import InputError, VerificationError, counted
from incrowd.verify.canonical import json_bytes, odd_numbers, parquet_bytes
from incrowd.verify.core import check_into
from incrowd.verify.csv_text import csv_bytes, for_people
from incrowd.verify.domain import Array
from incrowd.verify.files import read_json
from incrowd.verify.folder import MANIFEST, read_private_folder, row_maps
from incrowd.verify.projection_manifest import is_projections
from incrowd.verify.verdict import Findings, Verdict

_HIDES = {
    "database": "comments, deleted rows, and other tables",
    "file": "comments, hidden sheets, and properties",
}


def check_place(
    place: io.Place,
    read_original: Callable[[Path], pl.DataFrame | None],
    rows: Array | None = None,
    private: Path | None = None,
) -> Verdict:
    """Check a release that does not live in a folder of its own.

    Parameters
    ----------
    place
        Where it lives.
    read_original
        Returns the table that the release was made from, given a folder of this release.
    rows
        The original row number of each released row, in place of the owner's row map.
    private
        What the owner keeps; by default the place's own, if it is there.
    """
    findings = Findings()
    kept = private if private is not None else place.private if place.private.is_dir() else None
    try:
        found = io.fetch(place)
    except VerificationError as error:
        findings.judge("stored tables", error.violations, "")
        findings.skip("payload", "not checked: the tables cannot be read")
        return findings.verdict()
    if len(found.covers) > 1:
        return _check_several(findings, found)
    with tempfile.TemporaryDirectory(prefix="incrowd-") as temporary:
        folder = Path(temporary) / "release"
        folder.mkdir()
        cover, spoiled = rebuild(found, folder, str(place)), []
        if cover.to_json() != found.covers[0]:
            spoiled.append("the manifest beside the table is not written in its one way")
        spoiled += [f"they hold {what}" for table in found.tables.values() for what in odd_numbers(table)]
        n_rows = sum(table.height for table in found.tables.values())
        fine = f"{counted(n_rows, 'row')}, with the columns and types that the manifest beside them lists"
        findings.judge("stored tables", spoiled, fine)
        _check_container(findings, place, found, cover)
        owned = None if kept is None else _read_private(findings, kept, folder, cover, place)
        if rows is not None:
            names = row_maps(cover.manifest)
            maps = [rows] if names == ["rows"] else list(rows)
            owned = (owned or {}) | {name: pl.DataFrame({"row": own}) for name, own in zip(names, maps, strict=False)}
        original = read_original(folder)
        check_into(findings, cover.manifest, tuple(found.tables.values()), original=original, private=owned)
    return findings.verdict()


def rebuild(found: io.Fetched, folder: Path, where: str) -> io.Cover:
    """Write the files of a release folder from what a place returned; return the cover that lay beside it."""
    if len(found.covers) > 1:
        fact = f"'{where}' holds the rows of {len(found.covers)} releases, which cannot be told apart"
        raise InputError(fact, "use the release folders or tables that hold one release each")
    cover = io.Cover.from_json(found.covers[0], f"'{where}'")
    (folder / MANIFEST).write_bytes(json_bytes(cover.manifest))
    for stem, frame in found.tables.items():
        (folder / f"{stem}.parquet").write_bytes(parquet_bytes(frame))
        shown = frame if is_projections(cover.manifest) else for_people(cover.manifest, frame)
        with (folder / f"{stem}.csv").open("wb") as file:
            file.writelines(csv_bytes(frame if shown is None else shown))
    return cover


def _check_several(findings: Findings, found: io.Fetched) -> Verdict:
    """Say what can be said of a table to which releases were appended: how many rows there must be."""
    manifests = [io.Cover.from_json(text, "The table of manifests").manifest for text in found.covers]
    counts = [rows.get("released") for each in manifests if isinstance(rows := each.get("rows"), dict)]
    expected = sum(count for count in counts if isinstance(count, int))
    heights = {table.height for table in found.tables.values()}
    problems = [] if heights == {expected} else [f"{max(heights)} rows are there, and the manifests say {expected}"]
    findings.judge("rows", problems, f"{expected} rows of {counted(len(manifests), 'release')}")
    findings.skip("releases", "the rows of appended releases cannot be told apart: their promises were not checked")
    return findings.verdict()


def _check_container(findings: Findings, place: io.Place, found: io.Fetched, cover: io.Cover) -> None:
    if place.kind != "dataset":
        what = _HIDES[place.kind]
        findings.skip("place", f"a {place.kind} can hold more than the cells of a table ({what}); only cells were read")
        return
    if cover.manifest.get("polars") != pl.__version__:
        why = f"only the polars that wrote a Parquet file can write the same bytes, and this is {pl.__version__}"
        findings.skip("place", why)
        return
    (frame,) = found.tables.values()
    parts = sorted(path for path in place.path.iterdir() if path.suffix == ".parquet")
    slices = [frame.slice(start, io.PART_ROWS) for start in range(0, max(frame.height, 1), io.PART_ROWS)]
    is_same = len(parts) == len(slices) and all(
        part.read_bytes() == parquet_bytes(rows) for part, rows in zip(parts, slices, strict=True)
    )
    problems = [] if is_same else ["the parts are not written as the rows of this release are"]
    findings.judge("place", problems, "written again, every byte of the dataset is the same")


def _read_private(
    findings: Findings, private: Path, folder: Path, cover: io.Cover, place: io.Place
) -> dict[str, object]:
    about, _ = read_json(private / MANIFEST, [])
    told = about.get("public") if isinstance(about, dict) else None
    if place.kind == "dataset" and isinstance(told, dict) and io.DATASET_COVER in told:  # those of its own files
        own = sorted(path.name for path in place.path.iterdir())
        return read_private_folder(findings, private, place.path, own, cover.manifest)
    files, unlike = sorted(path.name for path in folder.iterdir()), ""
    if cover.manifest.get("polars") != pl.__version__:
        # The Parquet files that were published cannot be written again, so their digests say nothing here.
        unlike = ".parquet"
        why = f"compared without bounds: only the polars that published them writes the same, not {pl.__version__}"
        findings.skip("digests", why)
    return read_private_folder(findings, private, folder, files, cover.manifest, unlike)
