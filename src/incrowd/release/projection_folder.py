"""Projections on disk: a public folder that leaves the house, a private one that stays."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.release.folder import MANIFEST, digest, private_folder, read_manifest, read_private, write_json
from incrowd.release.projections import PAYLOAD, PrivateProjections, ProjectionRelease


def projection_file(number: int, end: str) -> str:
    """Return the name of a projection's file; the first one is number 0."""
    return f"projection-{number + 1}.{end}"


def save(release: ProjectionRelease, path: Path) -> None:
    """Write both folders, all of it or nothing."""
    if release.private is None:
        with io.atomic_folder(path) as folder:
            _save_public(release, folder)
        return
    private = private_folder(path)
    with io.atomic_folders(path, private, owner_only=[private]) as (folder, secret):
        _save_public(release, folder)
        about = {"seed": release.private.seed, "method": release.manifest["method"]}
        write_json(about | {"release": _digest(folder, len(release.projections))}, secret / MANIFEST)
        for number, rows in enumerate(release.private.rows):
            io.write(pl.DataFrame({"row": rows}), secret / _rows_file(number))


def load(path: Path) -> ProjectionRelease:
    """Read a folder of projections, and the private one if it lies beside it."""
    manifest = read_manifest(path)
    if manifest.get("payload") != PAYLOAD:
        fact = f"{path} holds generalized rows, not projections"
        raise InputError(fact, "load it with Release.load")
    n_parts = len(manifest["parts"])
    projections = tuple(io.read(path / projection_file(number, "parquet")) for number in range(n_parts))
    about, private = read_private(path, _digest(path, n_parts)), None
    if about is not None:
        files = [private_folder(path) / _rows_file(number) for number in range(n_parts)]
        private = PrivateProjections(tuple(io.read(file)["row"].to_numpy() for file in files), about["seed"])
    return ProjectionRelease(projections, manifest, private)


def _save_public(release: ProjectionRelease, folder: Path) -> None:
    write_json(release.manifest, folder / MANIFEST)
    for number, projection in enumerate(release.projections):
        for end in ("parquet", "csv"):
            io.write(projection, folder / projection_file(number, end))


def _digest(folder: Path, n_parts: int) -> str:
    return digest(folder / MANIFEST, *(folder / projection_file(number, "parquet") for number in range(n_parts)))


def _rows_file(number: int) -> str:
    return f"rows-{number + 1}.parquet"
