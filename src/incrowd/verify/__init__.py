"""The independent verifier: looks at what is handed out, shares no code with what made it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.verify.baskets import basket_columns, basket_rows, check_basket_files, is_basket_folder
from incrowd.verify.core import check
from incrowd.verify.domain import Array
from incrowd.verify.elsewhere import check_place, rebuild
from incrowd.verify.files import read_json
from incrowd.verify.folder import check_folder
from incrowd.verify.foreign import verify_table
from incrowd.verify.manifest import FORMATS
from incrowd.verify.population import Within
from incrowd.verify.source import read_original
from incrowd.verify.verdict import Check, Verdict

__all__ = ["Check", "Verdict", "check", "check_folder", "rebuild", "verify", "verify_table"]

_WHAT_TO_GIVE = "give the folder that publish wrote, or quasi=[...] (--quasi) for a table from elsewhere"


def verify(
    release: Any,  # noqa: ANN401
    original: Any = None,  # noqa: ANN401
    *,
    rows: Any = None,  # noqa: ANN401
    private: str | Path | None = None,
    after: str | Path | None = None,
    query: str | None = None,
    reading: io.Reading | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    population: Any = None,  # noqa: ANN401
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    **foreign: Any,  # noqa: ANN401
) -> Verdict:
    """Check a release, or somebody else's table.

    Parameters
    ----------
    release
        Where the release lives: its folder, a file, or the URL of a database with ``#table``; or, with `foreign`, a
        published table as a frame or a file.
    original
        The table that the release was made from: a frame, a file, or a database URL with `query`.
    rows
        The original row number of each released row; by default the owner's private row map.
    private
        The owner's private folder; by default the one beside the release, of a database in the working folder.
    after
        The release before in a series, its public or private folder; both lie beside each other. Then it is also
        checked that this one goes on where that ended.
    reading
        How else the original is to be read: its encoding, decimal sign, date format, and so on.
    progress
        Called with (stage, done, total) while the original is read.
    population
        A table of everybody who could be in a release folder: then it is told how many of them each row fits at least,
        and how likely they are to be in it.
    k_map, presence
        What has to hold among them: the least number of people, and the least and the largest chance.
    foreign
        The parameters of `verify_table`, for a table without a manifest.
    """
    how = reading or io.Reading()
    how = how if query is None else replace(how, query=query)
    within = _within(population, k_map, presence, how)
    if "quasi" in foreign:
        _refuse(within, "a table from elsewhere")
        if original is not None or rows is not None:
            fact = "Parameter quasi is for a table from elsewhere, and original and rows are for a release folder"
            raise InputError(fact, "leave quasi out to check a release folder, or original and rows to check a table")
        is_file = isinstance(release, str | Path)
        return verify_table(io.read_as(release, how, progress=progress) if is_file else release, **foreign)
    if foreign:
        fact = f"Without quasi-identifiers, {', '.join(foreign)} cannot be checked"
        hint = (
            "name them with quasi=[...] (--quasi) for a table from elsewhere; "
            "a release folder has its own promises, so leave out k=... (-k, -l, -t and --alpha)"
        )
        raise InputError(fact, hint)
    if not isinstance(release, str | Path):
        fact = "There is no release folder to verify"
        raise InputError(fact, _WHAT_TO_GIVE)
    kept = _private_folder(private)
    place = io.find_place(release)
    if place is not None and place.kind != "folder":
        _refuse(within, "a file or a database")
        return check_place(place, lambda folder: _original(folder, original, how, progress), _row_numbers(rows), kept)
    folder = Path(release)
    io.recover(folder)
    if not os.path.lexists(folder):
        fact = f"'{folder}' does not exist"
        raise InputError(fact, _WHAT_TO_GIVE)
    if not folder.is_dir() or not os.path.lexists(folder / "manifest.json"):
        fact = f"'{folder}' is not a release folder: there is no manifest.json in it"
        raise InputError(fact, _WHAT_TO_GIVE)
    if folder.name.endswith(".private") and (public := folder.with_name(folder.name.removesuffix(".private"))).is_dir():
        fact = f"'{folder}' is the private part of a release"
        raise InputError(fact, f"verify the release beside it: '{public}'")
    if is_basket_folder(folder):
        _refuse(within, "a release of baskets")
        return _check_baskets(folder, original, how, progress)
    _refuse_other_formats(folder)
    numbers = _row_numbers(rows)
    return check_folder(
        folder, _original(folder, original, how, progress), numbers, kept, _release_before(after), within
    )


def _check_baskets(
    folder: Path, original: Any, how: io.Reading, progress: Callable[[str, int, int], None] | None  # noqa: ANN401
) -> Verdict:  # fmt: skip
    """Check baskets; the columns of the original are those that the manifest names."""
    if original is None:
        return check_basket_files(folder)
    read = io.read_as(original, how, progress=progress) if isinstance(original, str | Path) else original
    return check_basket_files(folder, *basket_rows(read, basket_columns(folder)))


def _original(
    folder: Path, original: Any, how: io.Reading, progress: Callable[[str, int, int], None] | None  # noqa: ANN401
) -> pl.DataFrame | None:  # fmt: skip
    if isinstance(original, str | Path):
        return read_original(folder, original, how, progress=progress)
    return None if original is None else io.to_polars(original)


def _refuse(within: Within | None, what: str) -> None:
    if within is not None:
        fact = f"A population was given for {what}, and only release folders are held against one"
        raise InputError(fact, "save the release as a folder; of a table as it is: incrowd risk --population")


def _within(
    population: Any, k_map: int | None, presence: tuple[float, float] | None, how: io.Reading  # noqa: ANN401
) -> Within | None:  # fmt: skip
    if population is None:
        if k_map is None and presence is None:
            return None
        fact = "Parameters k_map and presence are about a population, and none was given"
        raise InputError(fact, "give the table of everybody who could be in the release: population=... (--population)")
    is_place = isinstance(population, str | Path)
    people = io.read_as(population, replace(how, query=None)) if is_place else io.to_polars(population)
    return Within(people, k_map, None if presence is None else (presence[0], presence[-1]))


def _release_before(after: str | Path | None) -> Path | None:
    if after is None:
        return None
    folder = Path(str(after).rstrip("/").removesuffix(".private"))
    for needed in (folder, folder.with_name(f"{folder.name}.private")):
        if not (needed / "manifest.json").is_file():
            fact = f"There is no release before in '{needed}'"
            raise InputError(fact, "give the folder of the release before, with its private one beside it")
    return folder


def _private_folder(private: str | Path | None) -> Path | None:
    if private is not None and not Path(private).is_dir():
        fact = f"There is no private folder '{private}'"
        raise InputError(fact, "give the folder that publish named under 'Keep private'")
    return None if private is None else Path(private)


def _refuse_other_formats(folder: Path) -> None:
    """Refuse what another version of incrowd can judge: it is neither right nor wrong here."""
    manifest, _ = read_json(folder / "manifest.json", [])
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(version, bool) or not isinstance(version, int):
        return  # which is a violation
    if version > FORMATS[-1]:
        fact = f"'{folder}' has release format {version}, and this version of incrowd reads formats up to "
        fact += str(FORMATS[-1])
        raise InputError(fact, "upgrade incrowd: pip install --upgrade incrowd")
    if version == 1:
        fact = f"'{folder}' has release format 1, which was never part of a published version of incrowd"
        raise InputError(fact, "publish it again from the original")


def _row_numbers(rows: Any) -> Array | None:  # noqa: ANN401
    if rows is None:
        return None
    try:
        numbers = np.asarray(rows)
    except ValueError:  # lists of different lengths
        numbers = np.empty(0, object)
    if numbers.ndim == 0 or numbers.dtype.kind not in "iuf":
        fact = f"rows is not a list of row numbers but {type(rows).__name__}"
        raise InputError(fact, "give the original row number of each released row, counted from 0")
    return numbers
