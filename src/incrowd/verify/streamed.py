"""A release in a Parquet dataset, and its original, looked through a part at a time: memory does not grow with rows.

What the checks look at is the same as in memory. Released rows and originals become the distinct ones with how often
each occurs; of an original and the row that stands for it, the distinct pairs. A check that every row of some kind
holds is made of each distinct one, and what is counted counts how often they occur. So rows that messages number are
distinct rows. *Other* columns are held against those that the release hides in a sample.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import InputError, counted
from incrowd.verify.canonical import json_bytes
from incrowd.verify.core import check_manifest
from incrowd.verify.domain import Array
from incrowd.verify.extents import check_extents
from incrowd.verify.files import read_json
from incrowd.verify.folder import read_private_folder
from incrowd.verify.groups import count_weights
from incrowd.verify.manifest import Claims
from incrowd.verify.original import (
    Behind,
    check_columns,
    check_covers,
    check_own_value,
    check_values,
    codes_of,
    judge_members,
    published_leaves,
)
from incrowd.verify.originals import Originals, read_originals
from incrowd.verify.pairs import Pairs, pair_up
from incrowd.verify.parts import Released, part_names, read_released, read_row_map
from incrowd.verify.payload import Payload, check_labels, declared_names, expected_types, read_payload
from incrowd.verify.pieces import Spilled, check_pieces
from incrowd.verify.private import Kept, read_private
from incrowd.verify.promises import check_promises, each_secret
from incrowd.verify.rare import check_counts_and_rare
from incrowd.verify.row_map import NOBODY, Deal
from incrowd.verify.sideways import is_nearly_unique, revealing
from incrowd.verify.source import dataset_hints
from incrowd.verify.tables import check_counts, check_rows
from incrowd.verify.verdict import Findings, Verdict

Progress = Callable[[str, int, int], None]


def _silent(_stage: str, _done: int, _total: int) -> None:
    pass


def verify_dataset(
    release: str | Path,
    original: Any = None,  # noqa: ANN401
    *,
    private: str | Path | None = None,
    reading: io.Reading | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Check a release in a Parquet dataset batch by batch.

    Parameters
    ----------
    release
        The folder of the dataset.
    original
        The table that it was made from: a Parquet or text file, a folder of them, a lazy frame, or a frame.
    private
        What the owner keeps; by default the folder beside the dataset, if it is there.
    reading
        How else the original is to be read.
    """
    folder, own = find_dataset(Path(release), private)
    batches = None if original is None else io.open_batches(original, reading_of(folder, reading or io.Reading()))
    with tempfile.TemporaryDirectory(prefix="incrowd-") as temporary:
        return check_dataset(folder, own, batches, spill=Path(temporary), progress=progress or _silent)


def find_dataset(folder: Path, private: str | Path | None) -> tuple[Path, Path | None]:
    """Return the folder of a dataset, and what its owner keeps, if it is there."""
    io.recover(folder)
    place = io.find_place(folder)
    if place is None or place.kind != "dataset":
        fact = f"'{folder}' is not a Parquet dataset that holds a release"
        raise InputError(fact, "give the folder that publish wrote with --dataset, or verify it in memory")
    kept = Path(private) if private is not None else place.private
    if private is not None and not kept.is_dir():
        fact = f"There is no private folder '{kept}'"
        raise InputError(fact, "give the folder that publish named under 'Keep private'")
    return folder, kept if kept.is_dir() else None


def reading_of(folder: Path, how: io.Reading) -> io.Reading:
    """Return how the original of a dataset is read: as text, written in one way."""
    coded, untouched, _ = dataset_hints(folder)
    written = {name: kind for name, kind in coded.items() if kind in ("int", "float", "date")}
    return replace(how, types=dict.fromkeys([*coded, *untouched], "str"), canonical=written)


class Looking(Protocol):
    """How the rows of a dataset, and their originals, are looked through."""

    @property
    def problems(self) -> list[str]:
        """What is wrong with the row map."""

    @property
    def is_mapped(self) -> bool:
        """Whether it is known which original each row stands for."""

    def released(self, findings: Findings, claims: Claims, cover: io.Cover, problems: list[str]) -> Released | None:
        """Read all parts, and judge how they are written."""

    @property
    def spill(self) -> Spilled | None:
        """Where pairs are that do not fit the memory."""

    @property
    def original(self) -> io.Batches | None:
        """The originals, if they are read in batches."""

    def pairs(self, claims: Claims) -> Pairs | None:
        """Go through the originals; ``None`` without any."""


class _ByBatches:
    """One part, and one batch of the original, after the other."""

    def __init__(
        self, folder: Path, private: Path | None, original: io.Batches | None, room: Path, progress: Progress
    ) -> None:
        self._folder, self._private, self._original = folder, private, original
        self._room, self._progress = room, progress
        self._deal: Deal | None = None
        self._released: Released | None = None
        self.original, self.spill = original, cast("Spilled | None", None)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the row map."""
        return self._deal.problems if self._deal is not None else []

    @property
    def is_mapped(self) -> bool:
        """Whether it is known which original each row stands for."""
        return self._deal is not None

    def released(self, findings: Findings, claims: Claims, cover: io.Cover, problems: list[str]) -> Released | None:
        """Read all parts, and judge how they are written."""
        self._deal = _deal(findings, claims, self._private, self._original, self._room)
        args = (findings, claims, self._folder, cover, problems, self._deal, self._progress)
        self._released = read_released(*args)
        return self._released

    def pairs(self, claims: Claims) -> Pairs | None:
        """Go through the originals."""
        if self._original is None:
            return None
        found = self._released
        if found is not None and (claims.cells or "groups").startswith("groups"):
            secrets = [secret.name for secret in claims.secrets]
            self.spill = Spilled(self._room, found.frame.drop([*claims.other, *secrets]), found.weights)
        return pair_up(claims, self._original, self._deal, self._progress, self.spill)


def check_dataset(
    folder: Path, private: Path | None, original: io.Batches | None, *, spill: Path, progress: Progress = _silent
) -> Verdict:
    """Check the files of a dataset.

    Parameters
    ----------
    original
        The table that it was made from.
    spill
        A folder for what does not fit the memory.
    """
    with _room(spill) as room:
        return judge_dataset(folder, private, _ByBatches(folder, private, original, room, progress))


def judge_dataset(folder: Path, private: Path | None, looking: Looking) -> Verdict:
    """Check the files of a dataset, however they are looked through."""
    findings = Findings()
    problems: list[str] = []
    cover = _read_cover(folder, problems)
    names = part_names(folder, problems)
    if cover is None:
        findings.judge("stored tables", problems, "")
        findings.skip("payload", "not checked: the manifest cannot be read")
        return findings.verdict()
    claims = check_manifest(findings, cover.manifest)
    if claims is None or not _goes_by_batches(findings, claims):
        findings.skip("payload", "not checked: the manifest cannot be relied on")
        return findings.verdict()
    owned = None
    if private is not None:
        files = [io.DATASET_COVER, *names]
        owned = read_private_folder(findings, private, folder, files, cover.manifest, unread=("rows",))
    released = looking.released(findings, claims, cover, problems) if _has_columns(claims, cover, problems) else None
    n_rows = 0 if released is None else released.n_rows
    findings.judge("stored tables", problems, f"{counted(n_rows, 'row')}, with the columns and types of the manifest")
    payload = None if released is None else _check_payload(findings, claims, released)
    if payload is None:
        findings.skip("promises", "not checked: the payload cannot be read")
        return findings.verdict()
    kept = _read_kept(findings, claims, owned)
    pairs = looking.pairs(claims)
    if pairs is None:
        findings.skip("original", "needs the original: whether cells cover people was not checked", needed=False)
        return findings.verdict()
    _check_pairs(findings, claims, payload, pairs, looking, kept)
    return findings.verdict()


def _read_cover(folder: Path, problems: list[str]) -> io.Cover | None:
    data, found = read_json(folder / io.DATASET_COVER, problems)
    if data is None:
        return None
    try:
        cover = io.Cover.from_json(found.decode(), "The dataset")
    except (InputError, UnicodeDecodeError):
        problems.append(f"{io.DATASET_COVER} does not hold the manifest of a release")
        return None
    if cover.to_json().encode() != found or json_bytes(data) != found or list(cover.tables) != ["release"]:
        problems.append(f"{io.DATASET_COVER} is not written in its one way")
    return cover


def _has_columns(claims: Claims, cover: io.Cover, problems: list[str]) -> bool:
    """Tell whether the columns of the stored table, as the cover lists them, have what the manifest announces."""
    listed = {column.name: column.type for column in cover.tables.get("release", ())}
    wanted = dict.fromkeys(claims.other) | {n: str(t) for n, t in expected_types(claims, labels=True).items()}
    wrong = [name for name, kind in wanted.items() if name not in listed or kind not in (None, listed[name])]
    problems += [f"{counted(len(wrong), 'column')} of the manifest are not stored, or of another type"] if wrong else []
    return not wrong


def _goes_by_batches(findings: Findings, claims: Claims) -> bool:
    """Tell whether groups of exact values were published; other releases are looked at as a whole."""
    if claims.homogeneous and claims.series is None and all(secret.form == "exact" for secret in claims.secrets):
        return True
    findings.skip("groups", "a release without groups, or of a series, is checked in memory only: leave out memory")
    return False


@contextmanager
def _room(spill: Path) -> Iterator[Path]:
    folder = spill / "verify"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _deal(
    findings: Findings, claims: Claims, private: Path | None, original: io.Batches | None, room: Path
) -> Deal | None:
    """Open the row map, if there is one and somebody to look up."""
    if private is None or original is None:
        return None
    rows = read_row_map(private / "rows.parquet", claims.rows["released"])
    if rows is None:
        findings.judge("row map", ["it is not a list of row numbers, one for each released row"], "")
        return None
    return Deal(room, rows, claims.rows["input"])


def _check_payload(findings: Findings, claims: Claims, released: Released) -> Payload | None:
    """Judge the published rows by themselves."""
    payload = read_payload(findings, claims, released.frame, labelled=True, weights=released.weights)
    check_rows(findings, claims, released.n_rows)
    check_counts(findings, claims)
    if payload is None:
        return None
    check_labels(findings, claims, payload)
    findings.note_word(claims.tokens, claims.codes, claims.parameters, declared_names(claims, payload))
    check_promises(findings, claims, payload)
    return payload


def _read_kept(findings: Findings, claims: Claims, owned: dict[str, Any] | None) -> Kept | None:
    """Return what else the owner keeps; the row map is read in parts."""
    return read_private(findings, claims, owned, apart=("rows",))


def _check_pairs(
    findings: Findings, claims: Claims, payload: Payload, pairs: Pairs, looking: Looking, kept: Kept | None
) -> None:
    """Judge all that the originals can show."""
    if not check_columns(findings, claims, pairs.columns, pairs.n_rows):
        return
    if not _check_each(findings, claims, payload, pairs, looking, kept):
        return
    if not looking.is_mapped:
        findings.skip("assignment", "needs the owner's private folder: whether rows cover people was not checked")
        findings.skip("identifiers", "needs the owner's private folder")
        return
    _check_others(findings, claims, payload, pairs)
    repeats = [f"column {name!r} repeats the unreleased column {secret!r}" for name, secret in pairs.repeats]
    findings.judge("identifiers", repeats, "no column repeats an unreleased one")
    judge_members(findings, claims, payload, payload.cells.size, exact=False, k_judged=True)


def _check_each(
    findings: Findings, claims: Claims, payload: Payload, pairs: Pairs, looking: Looking, kept: Kept | None
) -> bool:
    """Judge every pair; return whether who is behind the rows could be looked at."""
    if pairs.spilled:
        assert looking.spill is not None
        assert looking.original is not None
        return check_pieces(
            findings, claims, payload, looking.spill, looking.original, kept, looking.problems,
            mapped=looking.is_mapped,
        )  # fmt: skip
    originals = read_originals(claims, pairs.frame)
    if not check_values(findings, claims, originals, int(pairs.weights[originals.dropped].sum())):
        return False
    rows = _rows_behind(findings, claims, originals, pairs, looking)
    if rows is None:
        return False
    codes = _codes(findings, claims, payload, originals, pairs.weights[rows], rows, kept, mapped=looking.is_mapped)
    if codes is None:
        return False
    if not looking.is_mapped:
        return True
    secrets = [
        column.ranks_in(told.values)[column.index[rows]]
        for column, told in zip(originals.secrets, payload.told, strict=True)
    ]
    own = _of_rows(payload, pairs.shown[rows])
    behind = Behind(np.arange(len(rows)), codes, secrets, mapped=True)
    if check_covers(findings, claims, own, behind):
        check_extents(findings, claims, own, originals, rows, codes)
    for at, part, _, told_alone in each_secret(findings, claims, own):
        check_own_value(part, told_alone, behind.about(at))
    return True


def _rows_behind(
    findings: Findings, claims: Claims, originals: Originals, pairs: Pairs, looking: Looking
) -> Array | None:
    """Return the pairs behind the released rows, after judging the row map; ``None`` if it leads nowhere."""
    if not looking.is_mapped:
        findings.skip("row map", "needs the owner's private folder: whose row is whose was not checked")
        return np.flatnonzero(~originals.dropped)
    released = pairs.shown != NOBODY
    n_released = int(pairs.weights[released].sum())
    problems = list(looking.problems)
    if not problems and n_released != claims.rows["released"]:
        problems = [f"it leads to {n_released} originals from {claims.rows['released']} released rows"]
    fine = findings.judge("row map", problems, f"{counted(n_released, 'released row')}, each from its own original")
    lost = int(pairs.weights[released & originals.dropped].sum())
    wrong = [f"{lost} rows come from originals with a missing value"] if lost else []
    kept = findings.judge("rows kept", wrong, "no released row comes from an original that is dropped")
    return np.flatnonzero(released) if fine and kept else None


def _codes(
    findings: Findings, claims: Claims, payload: Payload, originals: Originals, weights: Array, rows: Array,
    kept: Kept | None, *, mapped: bool,
) -> list[Array] | None:  # fmt: skip
    """Return the codes of the originals behind the rows, after judging what is told about their values."""
    counts = [count_weights(c.index[rows], weights, len(c.values) + 1) for c in originals.quasi]
    leaves = published_leaves(findings, claims, payload, originals, kept if mapped else None, counts)
    if leaves is None:
        return None
    if mapped or claims.rows["suppressed"] == 0:
        check_counts_and_rare(findings, claims, originals, leaves, counts, np.empty(0, np.int64))
    else:
        findings.skip("original counts", "needs the owner's private folder: suppressed originals are not known")
    codes = [
        codes_of(q, column, scale, table)[rows]
        for q, column, scale, table in zip(claims.quasi, originals.quasi, payload.scales, leaves, strict=True)
    ]
    nowhere = int(weights[np.any([code < 0 for code in codes], axis=0)].sum())
    wrong = [f"{nowhere} originals have a value that is in no leaf"] if nowhere else []
    return codes if findings.judge("published leaves", wrong, "every value has one") else None


def _of_rows(payload: Payload, rows: Array) -> Payload:
    """Return the payload of some of its rows, with repetitions."""
    cells = payload.cells
    group = cells.group[rows]
    first = np.zeros(cells.n_groups, np.int64)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    taken = replace(cells, cell=[cell[rows] for cell in cells.cell], group=group, first=first)
    told = tuple(replace(each, exact=None if each.exact is None else each.exact[rows]) for each in payload.told)
    assert isinstance(payload.frame, pl.DataFrame)
    return replace(payload, frame=payload.frame[rows], cells=taken, told=told, weights=None)


def _check_others(findings: Findings, claims: Claims, payload: Payload, pairs: Pairs) -> None:
    """Columns that are kept as they are hold their originals' values, and reveal none that the release hides."""
    if not claims.other:
        findings.judge("other columns", [], "0 columns, none reveals what is hidden")
        return
    problems = [
        f"{n} rows have a value of {name!r} that is not their original's" for name, n in pairs.wrong_other.items()
    ]
    shown = _of_rows(payload, pairs.sample_shown)
    problems += revealing(claims, shown, pairs.sample)
    unique = [name for name in claims.other if is_nearly_unique(pairs.sample[name])]
    noted = f"; nearly unique, so be sure that nobody knows them: {', '.join(map(repr, unique))}" if unique else ""
    fine = f"{counted(len(claims.other), 'column')}, none reveals what is hidden in a sample of "
    findings.judge("other columns", problems, f"{fine}{counted(pairs.sample.height, 'row')}{noted}")
