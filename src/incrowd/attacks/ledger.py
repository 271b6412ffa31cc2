"""A ledger of releases: it warns when a table is published a second time, for releases about the same people add up.

The ledger is a small JSON file that the owner keeps. It holds no cell of any table: per release the folder, the date,
the method, the promises, the number of rows, for each column a keyed hash of its name and values in sorted order, and
the least 256 of the keyed hashes of its rows. Two tables with as many rows and an equal column are taken for the same
table; tables that share at least a tenth of their rows, by those 256, are about the same people, too, if rows tell
people apart: nine of ten are unlike all others. The key is in the ledger, so keep the file to yourself, as you would
the original. Rows count as they are in the original, with all columns: not recognized is a table of the same people in
which a column was renamed, or changed in nearly every row.
"""

from __future__ import annotations

import heapq
import hmac
import json
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.release import ProjectionRelease, Release

_FORMAT = 1
_SKETCH = 256  # hashes of rows that are kept: enough to see a share of a tenth
_SHARED, _DISTINCT = 0.1, 0.9


@dataclass(frozen=True)
class Entry:
    """One release: folder, date, method, promises, number of rows, hashes of its columns and of some rows."""

    folder: str
    date: str
    method: str
    guarantees: list[dict[str, Any]]
    rows: int
    columns: list[str]
    people: list[str] = field(default_factory=list)


class Ledger:
    """The releases that were written down in a file, which need not exist yet.

    Parameters
    ----------
    path
        The ledger's file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        fresh: dict[str, Any] = {"key": secrets.token_hex(32), "releases": []}
        data = _read(self.path) if self.path.exists() else fresh
        self._key: str = data["key"]
        self.entries = [Entry(**entry) for entry in data["releases"]]

    def earlier(self, original: Any, columns: list[str]) -> list[Entry]:  # noqa: ANN401
        """Return the releases about the same people: as many rows with one of these columns equal, or common rows."""
        frame = io.to_polars(original)
        hashes, people = set(self._hashes(frame, columns)), self._people(frame)
        return [
            e
            for e in self.entries
            if (e.rows == frame.height and hashes & set(e.columns)) or _shared(people, e.people) >= _SHARED
        ]

    def add(self, release: Release | ProjectionRelease, original: Any, folder: str | Path) -> list[Entry]:  # noqa: ANN401
        """Write a release down; return the earlier ones of the same table."""
        frame = io.to_polars(original)
        columns = columns_of(release)
        before = self.earlier(frame, columns)
        entry = Entry(
            str(Path(folder).resolve()),
            datetime.now(UTC).strftime("%Y-%m-%d"),
            release.manifest["method"]["name"],
            [dict(g) for g in release.manifest["guarantees"]],
            frame.height,
            self._hashes(frame, columns),
            self._people(frame),
        )
        self.entries.append(entry)
        data = {"format": _FORMAT, "key": self._key, "releases": [vars(e) for e in self.entries]}
        with io.atomic_file(self.path) as path:
            path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            path.chmod(0o600)
        self.path.chmod(0o600)
        return before

    def _hashes(self, frame: pl.DataFrame, columns: list[str]) -> list[str]:
        found = []
        for name in columns:
            values = frame[name].cast(pl.String()).fill_null("\0").sort()
            digest = hmac.new(self._key.encode(), f"{name}\1{frame.height}\1".encode(), "sha256")
            digest.update("\1".join(values.to_list()).encode())
            found.append(digest.hexdigest())
        return found

    def _people(self, frame: pl.DataFrame) -> list[str]:
        """Return the least hashes of distinct rows, which are a random sample of them that is the same everywhere."""
        texts = [pl.lit(f"{name}\2") + pl.col(name).cast(pl.String()).fill_null("\0") for name in sorted(frame.columns)]
        rows = frame.select(pl.concat_str(texts, separator="\1").unique())[:, 0]
        if len(rows) < _DISTINCT * frame.height:
            return []  # other people would have the same rows by chance
        key = bytes.fromhex(self._key)
        return heapq.nsmallest(_SKETCH, (blake2b(row.encode(), digest_size=16, key=key).hexdigest() for row in rows))


def columns_of(release: Release | ProjectionRelease) -> list[str]:
    """Return the columns by which a release's table is recognized: what is known about people, and what is not."""
    about = release.manifest.get("sensitive") or release.manifest.get("class")
    return [*release.quasi, *([about["name"]] if about else [])]


def _shared(one: list[str], other: list[str]) -> float:
    """Return about which share of the rows of the smaller table the larger one has, too."""
    if not one or not other:
        return 0.0
    end = min(part[-1] if len(part) == _SKETCH else "~" for part in (one, other))  # up to there both are complete
    seen = [{hash_ for hash_ in part if hash_ <= end} for part in (one, other)]
    return len(seen[0] & seen[1]) / max(1, min(map(len, seen)))


def warn(entries: list[Entry]) -> str | None:
    """Say in words what earlier releases of the same table mean; ``None`` when there are none."""
    if not entries:
        return None
    listed = ", ".join(f"{e.folder} ({e.method}, {e.date})" for e in entries[-5:])
    times = "once" if len(entries) == 1 else f"{len(entries)} times"
    return (
        f"people of this table were published before, {times}: {listed}. Releases "
        "about the same people add up: attack them together, incrowd attack RELEASE --original DATA --earlier FOLDER."
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        fine = data["format"] == _FORMAT and isinstance(data["key"], str) and isinstance(data["releases"], list)
    except (OSError, ValueError, KeyError, TypeError) as error:
        fact = f"{path} cannot be read as a ledger"
        raise InputError(fact, "give the file that an earlier run wrote, or a new name") from error
    if not fine:
        fact = f"{path} is no ledger of format {_FORMAT}"
        raise InputError(fact, "give the file that an earlier run wrote, or a new name")
    return dict(data)
