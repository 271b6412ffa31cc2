"""Releases on disk: a public folder to share, a private one that stays; written, read back, checked, then named."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import InputError, VerificationError
from incrowd.hierarchy.hierarchy import leaves_from_data
from incrowd.manifest import Leaves, Manifest, ProjectionsManifest, Ranges, RowsManifest
from incrowd.release.domains import Domain, read_leaves, read_ranges
from incrowd.release.evidence import Private, read_json
from incrowd.release.projections import ProjectionRelease
from incrowd.release.release import Release
from incrowd.release.rows import RowRelease, SensitiveColumn
from incrowd.verify import check_folder

MANIFEST = "manifest.json"
_PUBLIC = re.compile(r"manifest\.json|(release|projection-\d+)\.(csv|parquet)")
_PRIVATE = re.compile(
    r"manifest\.json|domains\.json|recoding\.npz|(rows|rows-\d+|rings|blocks|members|groups|people|signatures)\.parquet"
)


def private_folder(path: Path) -> Path:
    """Return where the owner's part of a release lies."""
    return path.with_name(path.name + ".private")


def is_release(path: object) -> bool:
    """Tell whether this is a release: its folder, file or dataset, or a table of a database that has a manifest."""
    if not isinstance(path, str | Path):
        return False
    if io.is_url(path):
        return io.has_manifest(str(path))
    place = io.find_place(path)
    return place is not None and (place.kind != "folder" or (place.path / MANIFEST).is_file())


def save(release: Release, path: Path, *, replace: bool = False) -> None:
    """Write both folders, all of it or nothing; what was written is checked before it gets its name."""
    private = private_folder(path)
    if replace:
        check_replaceable(path)
    if release.private is None:
        if replace:
            io.refuse_existing(private)  # which would be of another release
        with io.atomic_folders(path, replace=replace) as (folder,):
            _write_public(release, folder)
            _check_written(release, folder, None)
        return
    with io.atomic_folders(path, private, owner_only=[private], replace=replace) as (folder, secret):
        write_both(release, folder, secret)


def write_both(release: Release, folder: Path, secret: Path) -> None:
    """Fill a public folder and the private one that belongs to it, and check what was written."""
    assert release.private is not None
    _write_public(release, folder)
    release.private.save(secret, release.quasi)
    _tie(release, folder, secret)
    _check_written(release, folder, secret)


def write_private(release: RowRelease, folder: Path, secret: Path) -> None:
    """Fill the private folder of a dataset whose row map is there already."""
    assert release.private is not None
    release.private.save_without_rows(secret, release.quasi)
    _tie(release, folder, secret)


def _tie(release: Release, folder: Path, secret: Path) -> None:
    """Write into the private folder what belongs to it: the digests of all files of both."""
    assert release.private is not None
    about = {
        "seed": release.private.seed,
        "method": release.manifest.method.to_dict(),
        "public": _digests(folder),
        "private": _digests(secret),
    }
    (secret / MANIFEST).write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def check_replaceable(path: Path) -> None:
    """Refuse to replace what is no release: what is replaced is gone."""
    io.recover(path)
    for folder, names in ((path, _PUBLIC), (private_folder(path), _PRIVATE)):
        if not os.path.lexists(folder):
            continue
        found = [] if folder.is_symlink() or not folder.is_dir() else [entry.name for entry in folder.iterdir()]
        if MANIFEST not in found or not all(names.fullmatch(name) for name in found):
            fact = f"'{folder}' exists and is not only a release, so it is not replaced"
            raise InputError(fact, "choose another name, or move it elsewhere")


def _write_public(release: Release, folder: Path) -> None:
    (folder / MANIFEST).write_text(release.manifest.to_json(), encoding="utf-8")
    tables = zip(release.stems(), release.coded_tables(), release.written_tables(), strict=True)
    for stem, coded, written in tables:
        io.write_canonical_parquet(coded, folder / f"{stem}.parquet")
        io.write_canonical_csv(written, folder / f"{stem}.csv")


def _check_written(release: Release, folder: Path, secret: Path | None) -> None:
    """Verify the files as a reader finds them, and that they hold what was verified against the original."""
    check_folder(folder, None, private=secret).raise_for_violations()
    for stem, table in zip(release.stems(), release.coded_tables(), strict=True):
        if not io.read(folder / f"{stem}.parquet").equals(table, null_equal=True):
            fact = f"{stem}.parquet does not hold the rows that were verified"
            raise VerificationError(fact, "nothing was written; report this", violations=[fact])


def _digests(folder: Path) -> dict[str, str]:
    """Return what ties a private folder to its release."""
    found = {}
    for file in sorted(folder.iterdir()):
        with file.open("rb") as handle:
            found[file.name] = hashlib.file_digest(handle, "sha256").hexdigest()
    return found


def load(path: Path, private: Path | None = None, tied: Path | None = None) -> Release:
    """Read a release folder, and the private one; by default the one that lies beside it, if there is one.

    `tied` is the dataset that was read into this folder: the private one may have the digests of its files.
    """
    io.recover(path)
    private = private or private_folder(path)
    if not path.is_dir():
        fact = f"'{path}' is not a release folder"
        raise InputError(fact, "give the folder that publish wrote")
    if path.name.endswith(".private"):
        fact = f"'{path}' is the private part of a release"
        raise InputError(fact, f"give the folder beside it: {path.with_name(path.name.removesuffix('.private'))}")
    try:
        manifest = Manifest.from_json((path / MANIFEST).read_text(encoding="utf-8"), str(path / MANIFEST))
    except (OSError, UnicodeDecodeError) as error:
        fact = f"'{path}' has no readable {MANIFEST}"
        raise InputError(fact, "give the folder that publish wrote") from error
    if isinstance(manifest, ProjectionsManifest):
        stems = [f"projection-{number + 1}" for number in range(len(manifest.parts))]
        projections = tuple(io.read(path / f"{stem}.parquet") for stem in stems)
        maps = [f"rows-{number + 1}" for number in range(len(stems))]
        return ProjectionRelease(projections=projections, manifest=manifest, private=_load_private(path, private, maps))
    assert isinstance(manifest, RowsManifest)
    return _load_rows(manifest, io.read(path / "release.parquet"), _load_private(path, private, ["rows"], tied))


def _load_private(path: Path, folder: Path, maps: list[str], tied: Path | None = None) -> Private | None:
    if not folder.is_dir():
        return None
    about = read_json(folder / MANIFEST)
    own = tied is not None and io.DATASET_COVER in about.get("public", {})
    if about.get("public") != _digests(tied if own and tied is not None else path):
        fact = f"'{folder}' does not belong to '{path}': one of them is of another release, or was changed"
        raise InputError(fact, "move it elsewhere to load the release without its private part")
    return Private.load(folder, about, maps)


def _load_rows(manifest: RowsManifest, coded: pl.DataFrame, private: Private | None) -> RowRelease:
    domains, bounds = [], []
    for entry in manifest.quasi:
        domain, lo, hi = _load_column(entry, coded[f"{entry.name}.lo"], coded[f"{entry.name}.hi"])
        domains.append(domain)
        bounds += [lo, hi]
    told = {about.name: about for about in manifest.secrets if about.values is not None}
    values_of = {
        name: leaves_from_data(list(about.values or ()), about.type).alias(name) for name, about in told.items()
    }
    n_told = sum(map(len, values_of.values()))
    bounds += [column.to_numpy() for column in coded.get_columns()[len(coded.columns) - n_told :] if n_told]
    cells, cell_of = np.unique(np.column_stack(bounds), axis=0, return_inverse=True)
    n = len(domains)
    secrets, begin = [], 2 * n
    for about in manifest.secrets:
        if about.name not in told:
            secrets.append(_exact(coded[about.name]))
            continue
        values = values_of[about.name]
        secrets.append(SensitiveColumn(values, None, cells[:, begin : begin + len(values)].astype(np.int32)))
        begin += len(values)
    return RowRelease(
        domains=tuple(domains),
        cell_lo=np.asfortranarray(cells[:, 0 : 2 * n : 2].astype(np.int32)),
        cell_hi=np.asfortranarray(cells[:, 1 : 2 * n : 2].astype(np.int32)),
        cell_of=cell_of.reshape(-1).astype(np.int64),
        secrets=tuple(secrets),
        other=coded.select(manifest.other),
        manifest=manifest,
        private=private,
    )


def _exact(column: pl.Series) -> SensitiveColumn:
    values = column.unique().sort()
    numbers = pl.Series(np.arange(len(values), dtype=np.int32))
    codes = column.replace_strict(values, numbers, return_dtype=pl.Int32()).to_numpy()
    return SensitiveColumn(values, codes, None)


def _load_column(entry: Ranges | Leaves, lo: pl.Series, hi: pl.Series) -> tuple[Domain, Any, Any]:
    if isinstance(entry, Ranges):
        return read_ranges(entry, lo, hi)
    return read_leaves(entry), lo.to_numpy(), hi.to_numpy()
