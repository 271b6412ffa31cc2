"""Releases that live elsewhere than in a folder of their own: in a database, a file, a Parquet dataset.

The order is that of folders: everything is written and read back first, then the private folder gets its name, and the
release itself appears last, when the database commits or the file is renamed. What fails before that takes the private
folder back. A process that is killed between the two leaves a private folder alone, and no release.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import polars as pl

from incrowd import io
from incrowd.errors import InputError, VerificationError
from incrowd.release.folder import check_replaceable, load, write_both
from incrowd.release.release import Release
from incrowd.verify import rebuild


def save_to(release: Release, place: io.Place, *, private: Path | None = None, existing: str = "refuse") -> None:
    """Write a release to any place, all of it or nothing; what was written is read back before anybody sees it.

    Parameters
    ----------
    private
        The folder for what the owner keeps, which must not exist; by default `Place.private`.
    existing
        What to do if it is there: ``refuse``; ``append`` to the table of a database; or ``replace`` that, or a folder.
    """
    kept = private or place.private
    _refuse_existing(place, None if release.private is None else kept, existing)
    if place.kind == "folder":
        if kept == place.private or release.private is None:
            release.save(place.path, replace=existing == "replace")
        else:
            _save_apart(release, place, kept)
        return
    tables = dict(zip(release.stems(), release.coded_tables(), strict=True))
    how = cast("io.Existing", existing)
    writing, earlier = io.Writing(), _written()
    try:
        with io.storing(place, release.manifest.to_dict(), tables, writing, existing=how) as read:
            _compare(place, tables, read)
            if release.private is not None:
                with io.atomic_folder(kept, owner_only=True) as secret, _beside(secret) as folder:
                    write_both(release, folder, secret)
    except BaseException:
        if not writing.is_done:
            _take_back(kept, earlier)
        raise


def refuse_early(place: io.Place, private: Path, existing: str) -> None:
    """Refuse what cannot be written, before a search that takes long: a database is asked whether it would take it."""
    _refuse_existing(place, private, existing)
    if place.kind == "database":
        io.try_table(place, existing)


def _refuse_existing(place: io.Place, private: Path | None, existing: str) -> None:
    if existing not in ("refuse", "append", "replace"):
        fact = f"Parameter existing is '{existing}'"
        raise InputError(fact, "use refuse, append or replace")
    if place.kind == "folder" and existing == "replace" and private in (None, place.private):
        check_replaceable(place.path)
        return
    if place.kind != "database":
        if existing == "append":
            fact = f"'{place}' is not a table of a database, and only those are appended to"
            raise InputError(fact, "leave out append=True, or name a table, for example sqlite:///file.db#release")
        if existing == "replace" and place.path.exists():
            fact = f"'{place}' is neither a table of a database nor a release folder with its private part beside it"
            raise InputError(fact, "choose another name, or remove what is there first: only those can be replaced")
        io.refuse_existing(place.path, replaceable=place.kind == "folder")
    if private is not None and place.kind == "database" and private.exists():
        fact = f"'{private}', where the private part would be written, already exists"
        raise InputError(fact, "name another folder for it, for example private='release-2.private'")
    if private is not None:
        io.refuse_existing(private, replaceable=place.kind == "folder" and private == place.private)


def load_from(path: str | Path) -> Release:
    """Read a release from wherever it lives; the private folder too, if it lies where `save_to` puts it by default."""
    place = io.find_place(path)
    if place is None or place.kind == "folder":
        return load(Path(path))
    with tempfile.TemporaryDirectory(prefix="incrowd-") as temporary:
        folder = Path(temporary) / "release"
        folder.mkdir()
        rebuild(io.fetch(place), folder, str(place))
        return load(folder, place.private, place.path if place.kind == "dataset" else None)


def digests(path: str | Path) -> dict[str, str]:
    """Return the digests of the public files, by which a reader knows what somebody speaks of; of a table its rows'."""
    place = io.find_place(path)
    if place is None or place.kind in ("folder", "dataset"):
        return _digests_of(sorted(file for file in Path(path).iterdir() if file.is_file()))
    if place.kind == "file":
        return _digests_of([place.path, place.cover])
    with tempfile.TemporaryDirectory(prefix="incrowd-") as temporary:
        rebuild(io.fetch(place), Path(temporary), str(place))
        files = sorted(Path(temporary).glob("*.csv"))
        return {f"{place.table} as {name}": digest for name, digest in _digests_of(files).items()}


def _digests_of(files: Sequence[Path]) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _save_apart(release: Release, place: io.Place, kept: Path) -> None:
    """Write a release folder whose private folder lies elsewhere."""
    earlier = _written()
    try:
        with io.atomic_folder(place.path) as folder, io.atomic_folder(kept, owner_only=True) as secret:
            write_both(release, folder, secret)
    except BaseException:
        if not place.path.exists():
            _take_back(kept, earlier)
        raise


def _written() -> set[int]:
    return {id(path) for path in io.written_paths()}


def _take_back(private: Path, earlier: set[int]) -> None:
    """Remove a private folder, but only if this process has named it since: it may be somebody else's."""
    if any(path == private and id(path) not in earlier for path in io.written_paths()):
        shutil.rmtree(private, ignore_errors=True)


def _compare(place: io.Place, tables: dict[str, pl.DataFrame], read: Callable[[], io.Fetched]) -> None:
    """Compare what reads back with what was sealed, every cell of it."""
    try:
        found = read().tables
    except VerificationError as error:
        fact, spoiled = error.fact, []
    else:
        if all(found[stem].equals(table, null_equal=True) for stem, table in tables.items()):
            return
        spoiled = [name for stem, table in tables.items() for name in _spoiled(table, found[stem])]
        fact = f"'{place}' cannot hold {', '.join(map(repr, spoiled)) or 'the rows'} exactly as released"
    why = "publish to a folder or a Parquet dataset, which hold everything; elsewhere an empty text, spaces at the end"
    raise InputError(fact, f"{why} of a text, or very precise numbers and times may be lost; nothing was written")


def _spoiled(table: pl.DataFrame, found: pl.DataFrame) -> list[str]:
    """Name the columns whose values differ, whatever the order of the rows."""
    return [name for name in table.columns if not table[name].sort().equals(found[name].sort(), null_equal=True)]


@contextmanager
def _beside(secret: Path) -> Iterator[Path]:
    """Yield a folder for the public files, of which only the digests are needed; it lies in the staging folder."""
    folder = secret.with_name(f"{secret.name}.public")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
