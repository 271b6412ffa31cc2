"""A ledger of releases: it warns when a table is published again, for two releases reveal more than each alone.

The ledger is a text file that the owner keeps: a line with a key, then one line of JSON per release. It holds no cell
of any table: per release the folder, the date, the method, the promises, the number of rows, for each column a keyed
hash of its name and values in sorted order, and the least 256 of the keyed hashes of its rows. Two tables with as many
rows and an equal column are taken for the same table; tables that share at least a tenth of their rows, by those 256,
are about the same people, too, if rows tell people apart: nine of ten are unlike all others. The key is in the ledger,
so keep the file private, like the original. Rows count as they are in the original, with all columns: not
recognized is a table of the same people in which a column was renamed, or changed in nearly every row.

Releases of one series (`incrowd.republish`) tell no more together than each alone: they are not warned of. Another
release of people who are in a series breaks what it promises: it is refused, unless the owner insists.

How it is used::

    ledger = Ledger("ledger.json")          # an InputError names a bad line, before anything is made
    earlier = ledger.earlier(frame, schema_columns)
    ...                                     # make the release
    with ledger.recording(release.manifest, frame, "out", refuse=False) as earlier:
        release.save("out")
    print(warn(earlier))

`recording` writes the release down as *planned* before the block, and as *done* after it; a block that fails takes its
line back. If the process is killed, the planned line stays and counts: whether somebody got the release is not known.
Several processes may share a ledger; each change is made under a lock (a hidden file beside it), to the file as it is.
"""

from __future__ import annotations

import heapq
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd import io
from incrowd.errors import InfeasibleError, InputError
from incrowd.io.locking import locked
from incrowd.manifest import Guarantee, Manifest

if TYPE_CHECKING:
    from incrowd.release import Release

_FORMAT, _OLD_FORMAT = 2, 1
_SKETCH = 256  # hashes of rows that are kept: enough to see a share of a tenth
_SHARED, _DISTINCT = 0.1, 0.9
_PLANNED, _DONE = "planned", "done"
_HINT = "give the file that an earlier run wrote, or a new name"


@dataclass(frozen=True)
class Entry:
    """One release: folder, date, method, promises, number of rows, hashes of its columns and of some rows.

    Its `state` is ``planned`` while it is written, and stays so if that was cut short.
    """

    id: str
    state: str
    folder: str
    date: str
    method: str
    k: int
    promises: str
    rows: int
    columns: list[str]
    people: list[str]
    series: str = ""
    """Id of the series that the release belongs to."""
    number: int = 0
    """Its number in the series, from 1."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """Read plain data; a `ValueError` names the key that is wrong."""
        if not isinstance(data, dict) or data.keys() | _LATER.keys() != _CHECKS.keys():
            wrong = sorted(_CHECKS.keys() ^ (data.keys() | _LATER.keys())) if isinstance(data, dict) else ["an object"]
            raise ValueError(", ".join(wrong))
        data = {**_LATER, **data}
        for name, is_fine in _CHECKS.items():
            if not is_fine(data[name]):
                raise ValueError(name)
        return cls(**data)


def _is_a(kind: type) -> Callable[[object], bool]:
    return lambda value: type(value) is kind


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_SERIES, _NUMBER = "series", "number"
_LATER: dict[str, Any] = {_SERIES: "", _NUMBER: 0}  # what older ledgers do not know
_CHECKS: dict[str, Callable[[object], bool]] = {
    "id": _is_a(str),
    "state": lambda value: value in (_PLANNED, _DONE),
    "folder": _is_a(str),
    "date": _is_a(str),
    "method": _is_a(str),
    "k": _is_a(int),
    "promises": _is_a(str),
    "rows": _is_a(int),
    "columns": _is_texts,
    "people": _is_texts,
    _SERIES: _is_a(str),
    _NUMBER: _is_a(int),
}


@dataclass(frozen=True)
class _Book:
    """What the file says."""

    key: str
    entries: list[Entry]


class Ledger:
    """The releases that were written down in a file, which need not exist yet.

    Parameters
    ----------
    path
        The ledger's file.

    Raises
    ------
    InputError
        The file is no ledger, one of its lines is bad, or it could not be written later.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        real = Path(os.path.realpath(path))
        self._lock = real.with_name(f".{real.name}.lock")
        self._fresh = _Book(secrets.token_hex(32), [])
        self._sketch: tuple[pl.DataFrame, str, list[str]] | None = None
        self.entries = self._read().entries
        if not os.access(real.parent, os.W_OK) or (real.exists() and not os.access(real, os.W_OK)):
            fact = f"The ledger '{path}' cannot be written"
            raise InputError(fact, "name a file in a folder that exists and that you may write to")

    def earlier(self, original: Any, columns: list[str], series: str = "") -> list[Entry]:  # noqa: ANN401
        """Return the releases about the same people: as many rows with one of these columns equal, or common rows.

        Those of the same series do not count.
        """
        return self._earlier(self._read(), io.to_polars(original), columns, series)

    def refuse(self, original: Any, columns: list[str], series: str = "", *, all_of_them: bool = True) -> None:  # noqa: ANN401
        """Raise an `InfeasibleError` if there are releases about the same people, or only those of another series."""
        _refuse(self.earlier(original, columns, series), all_of_them=all_of_them)

    @contextmanager
    def recording(
        self,
        manifest: Manifest,
        original: Any,  # noqa: ANN401
        folder: str | Path,
        *,
        refuse: bool = False,
        insist: bool = False,
    ) -> Iterator[list[Entry]]:
        """Write a release down before the block that writes it to disk, and again after it.

        Parameters
        ----------
        manifest
            What the release says of itself.
        original
            The table that it was made from.
        folder
            Where the block writes it.
        refuse
            Raise an `InfeasibleError` if there are earlier releases about the same people.
        insist
            Do not even refuse if these are releases of another series, or if the same one has gone on already.

        Yields
        ------
        list of Entry
            The earlier releases.
        """
        frame, number = io.to_polars(original), secrets.token_hex(8)
        with self._changing() as book:
            before = self._earlier(book, frame, manifest.recognized_by, series_of(manifest)[0])
            if not insist:
                _refuse(before, all_of_them=refuse)
                _refuse_fork(book, manifest)
            book.entries.append(self._entry(book.key, number, manifest, frame, folder))
        try:
            yield before
        except BaseException:
            # Interrupted after the folder had got its name: then the release is there.
            self._finish(number, done=io.is_written(folder))
            raise
        self._finish(number, done=True)

    def add(self, release: Release, original: Any, folder: str | Path) -> list[Entry]:  # noqa: ANN401
        """Write down a release that is on disk already; return the earlier ones of the same table."""
        with self.recording(release.manifest, original, folder) as before:
            return before

    def _entry(self, key: str, number: str, manifest: Manifest, frame: pl.DataFrame, folder: str | Path) -> Entry:
        return Entry(
            id=number,
            state=_PLANNED,
            folder=str(folder) if io.is_url(folder) else str(Path(folder).resolve()),
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            method=manifest.method.name,
            k=manifest.k,
            promises=manifest.promises,
            rows=frame.height,
            columns=_hashes(key, frame, manifest.recognized_by),
            people=self._people(key, frame),
            series=series_of(manifest)[0],
            number=series_of(manifest)[1],
        )

    def _finish(self, number: str, *, done: bool) -> None:
        with self._changing() as book:
            kept = [e if e.id != number else replace(e, state=_DONE) for e in book.entries if done or e.id != number]
            book.entries[:] = kept

    @contextmanager
    def _changing(self) -> Iterator[_Book]:
        """Give what the file says now, to change it; nobody else does meanwhile."""
        with locked(self._lock):
            book = self._read()
            yield book
            with io.atomic_file(self.path, owner_only=True) as path:
                path.write_text(_text(book), encoding="utf-8")
        self.entries = book.entries

    def _read(self) -> _Book:
        return _read(self.path) if self.path.exists() else replace(self._fresh, entries=[])

    def _earlier(self, book: _Book, frame: pl.DataFrame, columns: list[str], series: str) -> list[Entry]:
        if not book.entries:
            return []
        hashes, people = set(_hashes(book.key, frame, columns)), self._people(book.key, frame)
        return [
            e
            for e in book.entries
            if not (series and e.series == series)
            if (e.rows == frame.height and hashes & set(e.columns)) or _shared(people, e.people) >= _SHARED
        ]

    def _people(self, key: str, frame: pl.DataFrame) -> list[str]:
        """Return the least hashes of distinct rows; the last table's are kept, for it is asked for more than once."""
        if self._sketch is None or self._sketch[0] is not frame or self._sketch[1] != key:
            self._sketch = (frame, key, _people(key, frame))
        return self._sketch[2]


def _hashes(key: str, frame: pl.DataFrame, columns: list[str]) -> list[str]:
    found = []
    for name in columns:
        values = io.value_text(frame[name]).fill_null("\0").sort()
        digest = hmac.new(key.encode(), f"{name}\1{frame.height}\1".encode(), "sha256")
        digest.update("\1".join(values.to_list()).encode())
        found.append(digest.hexdigest())
    return found


def _people(key: str, frame: pl.DataFrame) -> list[str]:
    """Return the least hashes of distinct rows, which are a random sample of them that is the same everywhere."""
    texts = [pl.lit(f"{name}\2") + io.value_text(frame[name]).fill_null("\0") for name in sorted(frame.columns)]
    rows = frame.select(pl.concat_str(texts, separator="\1").unique())[:, 0]
    if len(rows) < _DISTINCT * frame.height:
        return []  # other people would have the same rows by chance
    secret = bytes.fromhex(key)
    return heapq.nsmallest(_SKETCH, (blake2b(row.encode(), digest_size=16, key=secret).hexdigest() for row in rows))


def _shared(one: list[str], other: list[str]) -> float:
    """Return about which share of the rows of the smaller table the larger one has, too."""
    if not one or not other:
        return 0.0
    end = min(part[-1] if len(part) == _SKETCH else "~" for part in (one, other))  # up to there both are complete
    seen = [{hash_ for hash_ in part if hash_ <= end} for part in (one, other)]
    return len(seen[0] & seen[1]) / max(1, min(map(len, seen)))


def series_of(manifest: Manifest) -> tuple[str, int]:
    """Return the id of the series that a release belongs to, and its number there; empty and 0 if it is in none."""
    series = getattr(manifest, _SERIES, None)
    return ("", 0) if series is None else (str(series.id), int(series.number))


def _refuse_fork(book: _Book, manifest: Manifest) -> None:
    """Refuse a release of a series that goes on from one that another release followed already."""
    own, number = series_of(manifest)
    later = [entry for entry in book.entries if own and entry.series == own and entry.number >= number]
    if later:
        fact = f"The series has a release number {number} already, which knows people whom this one does not: "
        hint = "go on from its last release, or, if that was never shared, publish all the same: insist=True"
        raise InfeasibleError(fact + _described(later[-1]), hint)


def _refuse(earlier: list[Entry], *, all_of_them: bool) -> None:
    of_series = [entry for entry in earlier if entry.series]
    if of_series:
        fact = f"A release by itself was refused, because the same people are in a series: {warn(of_series)}"
        hint = "go on with the series (after=PRIVATE), or publish all the same: insist=True"
        raise InfeasibleError(fact.removesuffix("."), hint)
    if earlier and all_of_them:
        fact = f"A further release was refused: {warn(earlier)}".removesuffix(".")
        raise InfeasibleError(fact, "share one of the earlier releases instead")


def warn(entries: list[Entry]) -> str | None:
    """Say in words what earlier releases of the same table mean; ``None`` when there are none."""
    if not entries:
        return None
    listed = ", ".join(_described(entry) for entry in entries[-5:])
    times = "once" if len(entries) == 1 else f"{len(entries)} times"
    return (
        f"people of this table were published before, {times}: {listed}. Several releases about the same people "
        "reveal more than each alone; to see how much: incrowd attack RELEASE --original DATA --earlier FOLDER."
    )


def _described(entry: Entry) -> str:
    cut_short = ", not finished" if entry.state == _PLANNED else ""
    return f"{entry.folder} ({entry.method}, {entry.promises}, {entry.date}{cut_short})"


def _text(book: _Book) -> str:
    head = {"format": _FORMAT, "key": book.key}
    # In ASCII, because names of folders may hold what ends a line, or is no text at all.
    return "".join(json.dumps(line) + "\n" for line in (head, *map(vars, book.entries)))


def _read(path: Path) -> _Book:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fact = f"'{path}' cannot be read as a ledger"
        raise InputError(fact, _HINT) from error
    if (old := _read_old(text)) is not None:
        return old
    lines = text.removesuffix("\n").split("\n")
    head = _plain(lines[0])
    if not isinstance(head, dict) or head.get("format") != _FORMAT or not _is_key(head.get("key")):
        fact = f"'{path}' cannot be read as a ledger of format {_FORMAT}"
        raise InputError(fact, _HINT)
    entries = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            entries.append(Entry.from_dict(json.loads(line)))
        except ValueError as error:
            # What is wrong with JSON would quote the line.
            wrong = "" if isinstance(error, json.JSONDecodeError) else f" (see {error})"
            fact = f"'{path}', line {number}: not an entry of a ledger{wrong}"
            raise InputError(fact, "correct that line, or restore the file: the ledger must be complete") from None
    return _Book(head["key"], entries)


def _plain(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return json.loads(text)
    except ValueError:
        return None


def _is_key(key: object) -> bool:
    return isinstance(key, str) and len(key) == 64 and set(key) <= set("0123456789abcdef")


def _read_old(text: str) -> _Book | None:
    """Read a ledger of the first format, one JSON object; ``None`` if it is something else."""
    data = _plain(text)
    if not isinstance(data, dict) or data.get("format") != _OLD_FORMAT or not _is_key(data.get("key")):
        return None
    entries = []
    for number, given in enumerate(data.get("releases", ())):
        try:
            entry = dict(given)
            guarantees = [Guarantee.from_dict(g) for g in entry.pop("guarantees")]
            entry |= {"promises": ", ".join(g.text for g in guarantees), "k": max(g.crowd or 1 for g in guarantees)}
            entries.append(Entry.from_dict({"people": [], **entry, "id": f"{number:016x}", "state": _DONE}))
        except (ValueError, KeyError, TypeError, InputError):
            fact = f"Release {number + 1} of the ledger is not an entry of format {_OLD_FORMAT}"
            raise InputError(fact, "correct it or restore the file") from None
    return _Book(data["key"], entries)
