"""Releases on disk: a public folder that leaves the house, a private one that stays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import hierarchy, io
from incrowd.errors import InputError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import leaves_from_data
from incrowd.recoding import from_arrays
from incrowd.release.projections import PAYLOAD, ProjectionRelease
from incrowd.release.release import FORMAT, Private, Release

MANIFEST, PARQUET, CSV, ROWS, RECODING, RINGS, BLOCKS = (
    "manifest.json",
    "release.parquet",
    "release.csv",
    "rows.parquet",
    "recoding.npz",
    "rings.parquet",
    "blocks.parquet",
)


def private_folder(path: Path) -> Path:
    """Return where the owner's part of a release lies."""
    return path.with_name(path.name + ".private")


def save(release: Release, path: Path) -> None:
    """Write both folders, all of it or nothing."""
    if release.private is None:
        with io.atomic_folder(path) as folder:
            _save_public(release, folder)
        return
    private = private_folder(path)
    with io.atomic_folders(path, private, owner_only=[private]) as (folder, secret):
        _save_public(release, folder)
        _save_private(release.private, release, folder, secret)


def load(path: Path) -> Release | ProjectionRelease:
    """Read a release folder, and the private one if it lies beside it."""
    if not path.is_dir():
        fact = f"{path} is not a release folder"
        raise InputError(fact, "give the folder that publish wrote")
    manifest = read_manifest(path)
    if manifest.get("payload") == PAYLOAD:
        return ProjectionRelease.load(path)
    coded = io.read(path / PARQUET)
    hierarchies = tuple(_hierarchy(column["hierarchy"]) for column in manifest["quasi"])
    names = [column["name"] for column in manifest["quasi"]]
    bounds = [coded[f"{name}{end}"].to_numpy() for end in (".lo", ".hi") for name in names]
    about = manifest["sensitive"]
    values = leaves_from_data(about["values"], about["type"]) if about else pl.Series([], dtype=pl.String())
    sensitive, counts = None, None
    if about and about["form"] == "exact":
        column = coded[about["name"]].cast(values.dtype)
        numbers = pl.Series(np.arange(len(values), dtype=np.int32))
        sensitive = column.replace_strict(values, numbers, return_dtype=pl.Int32()).to_numpy()
    elif about:
        first = len(coded.columns) - len(values)
        counts = coded.select(coded.columns[first:]).to_numpy().astype(np.int32)
        bounds += list(counts.T)
    cells, cell_of = np.unique(np.column_stack(bounds), axis=0, return_inverse=True)
    n = len(names)
    return Release(
        hierarchies=hierarchies,
        cell_lo=np.asfortranarray(cells[:, :n].astype(np.int32)),
        cell_hi=np.asfortranarray(cells[:, n : 2 * n].astype(np.int32)),
        cell_of=cell_of.reshape(-1).astype(np.int64),
        sensitive=sensitive,
        sensitive_values=values,
        cell_counts=None if counts is None else cells[:, 2 * n :].astype(np.int32),
        other=coded.select(manifest["other"]),
        manifest=manifest,
        private=_load_private(path),
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a folder that this version can read."""
    manifest = read_json(path / MANIFEST)
    if "format" not in manifest and path.name.endswith(".private"):
        fact = f"{path} is the private half of a release"
        raise InputError(fact, f"give the folder beside it: {path.with_name(path.name.removesuffix('.private'))}")
    if manifest.get("format") != FORMAT:
        fact = f"{path} has format {manifest.get('format')!r}, and this version reads format {FORMAT}"
        raise InputError(fact, "install the version of incrowd that wrote it")
    return manifest


def _save_public(release: Release, folder: Path) -> None:
    write_json(release.manifest, folder / MANIFEST)
    io.write(release.coded(), folder / PARQUET)
    io.write(release.labelled(), folder / CSV)


def digest(*files: Path) -> str:
    """Return what ties a private folder to its release."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _digest(folder: Path) -> str:
    return digest(folder / MANIFEST, folder / PARQUET)


def read_private(path: Path, own: str) -> dict[str, Any] | None:
    """Return what the private folder beside a release says, ``None`` if there is none; it must be of this release."""
    folder = private_folder(path)
    if not folder.is_dir():
        return None
    about = read_json(folder / MANIFEST)
    if about.get("release") != own:
        fact = f"{folder} does not belong to {path}: it was written with another release, or one of them was changed"
        raise InputError(fact, "move it away to load the release without its private part")
    return about


def _save_private(private: Private, release: Release, public: Path, folder: Path) -> None:
    about = {"seed": private.seed, "method": release.manifest["method"], "release": _digest(public)}
    write_json(about, folder / MANIFEST)
    io.write(pl.DataFrame({"row": private.rows}), folder / ROWS)
    recoding = private.recoding
    if recoding is not None:
        np.savez_compressed(folder / RECODING, allow_pickle=False, **recoding.arrays())
    if private.rings is not None:
        io.write(private.rings, folder / RINGS)
    if private.blocks is not None:
        io.write(pl.DataFrame({"block": private.blocks}), folder / BLOCKS)


def _load_private(path: Path) -> Private | None:
    folder, about = private_folder(path), read_private(path, _digest(path))
    if about is None:
        return None
    rows: npt.NDArray[np.int64] = io.read(folder / ROWS)["row"].to_numpy()
    recoding = None
    if (folder / RECODING).exists():
        with np.load(folder / RECODING, allow_pickle=False) as arrays:
            recoding = from_arrays(arrays)
    rings = io.read(folder / RINGS) if (folder / RINGS).exists() else None
    blocks = io.read(folder / BLOCKS)["block"].to_numpy() if (folder / BLOCKS).exists() else None
    return Private(rows, about["seed"], recoding, rings, blocks)


def _hierarchy(data: dict[str, Any]) -> Hierarchy:
    if data.get("kind") not in ("intervals", "taxonomy"):
        fact = f"A manifest holds a recipe of kind {data.get('kind')!r} where a hierarchy should be"
        raise InputError(fact, "the manifest was edited: get the release again")
    return cast("Hierarchy", hierarchy.from_dict(data))


def write_json(data: dict[str, Any], path: Path) -> None:
    """Write a manifest."""
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else str(value)


def read_json(path: Path) -> dict[str, Any]:
    """Read a manifest."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fact = f"{path} cannot be read as a manifest: {error}"
        raise InputError(fact, "give the folder of a release") from error
    if not isinstance(data, dict):
        fact = f"{path} is not a manifest"
        raise InputError(fact, "give the folder of a release")
    return data
