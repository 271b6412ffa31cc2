"""A ledger of releases: it warns when a table is published a second time, for releases about the same people add up.

The ledger is a small JSON file that the owner keeps. It holds no cell of any table: per release the folder, the date,
the method, the promises, the number of rows, and for each column a keyed hash of its name and values in sorted order.
Two tables with as many rows and an equal column are taken for the same table. The key is in the ledger, so keep the
file to yourself, as you would the original; a table that gained or lost rows is not recognized.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.release import ProjectionRelease, Release

_FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One release: folder, date, method, promises, number of rows, and hashes of its columns."""

    folder: str
    date: str
    method: str
    guarantees: list[dict[str, Any]]
    rows: int
    columns: list[str]


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
        """Return the releases of the same table: as many rows, and at least one of these columns equal."""
        frame = io.to_polars(original)
        hashes = set(self._hashes(frame, columns))
        return [e for e in self.entries if e.rows == frame.height and hashes & set(e.columns)]

    def add(self, release: Release | ProjectionRelease, original: Any, folder: str | Path) -> list[Entry]:  # noqa: ANN401
        """Write a release down; return the earlier ones of the same table."""
        frame = io.to_polars(original)
        about = release.manifest.get("sensitive") or release.manifest.get("class")
        columns = [*release.quasi, *([about["name"]] if about else [])]
        before = self.earlier(frame, columns)
        entry = Entry(
            str(Path(folder).resolve()),
            datetime.now(UTC).strftime("%Y-%m-%d"),
            release.manifest["method"]["name"],
            [dict(g) for g in release.manifest["guarantees"]],
            frame.height,
            self._hashes(frame, columns),
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


def warn(entries: list[Entry]) -> str | None:
    """Say in words what earlier releases of the same table mean; ``None`` when there are none."""
    if not entries:
        return None
    listed = ", ".join(f"{e.folder} ({e.method}, {e.date})" for e in entries[-5:])
    return (
        f"this table was published before, {len(entries)} times: {listed}. Releases about the same people add up: "
        "attack them together with --earlier."
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
