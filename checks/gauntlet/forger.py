"""A forger with the owner's folders in hand: changes a release and repairs everything that ties its files together."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from checks.gauntlet.oracle.files import csv_bytes, parquet_bytes
from checks.gauntlet.oracle.rows import rank, written_table

_IN_ORDER = ("rows", "rings", "blocks")  # private tables with one row for each released row


class Forger:
    """A release as data; `write` makes folders of it whose digests, order and CSV files fit.

    Attributes
    ----------
    manifest
        The public manifest.
    tables
        The public tables by stem.
    private
        The private tables by stem.
    domains
        The private domains, for a release of rows.
    """

    def __init__(self, folder: Path) -> None:
        secret = folder.with_name(folder.name + ".private")
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
        self.tables = {file.stem: pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))}
        self.private = {file.stem: pl.read_parquet(file) for file in sorted(secret.glob("*.parquet"))}
        self.domains = json.loads((secret / "domains.json").read_text("utf-8")) if self.is_rows else None
        self.about = json.loads((secret / "manifest.json").read_text("utf-8"))
        recoding = secret / "recoding.npz"
        self.recoding = recoding.read_bytes() if recoding.exists() else None
        self._private_before = {name: frame.clone() for name, frame in self.private.items()}
        self._private_bytes = {file.stem: file.read_bytes() for file in secret.glob("*.parquet")}
        self.before = copy.deepcopy(self.manifest)

    @property
    def is_rows(self) -> bool:
        """Whether this is a release of rows, and not of projections."""
        return "release" in self.tables

    @property
    def table(self) -> pl.DataFrame:
        """The rows."""
        return self.tables["release"]

    @table.setter
    def table(self, table: pl.DataFrame) -> None:
        self.tables["release"] = table

    @property
    def k(self) -> int:
        """The smallest crowd that is promised."""
        return int(max(g.get("k", g.get("K", 1)) for g in self.manifest["guarantees"]))

    def set_cells(self, name: str, rows: list[int], values: Any) -> None:  # noqa: ANN401
        """Write a value, or one for each, into some rows of a column of the release."""
        column = self.table[name].to_list()
        for place, row in enumerate(rows):
            column[row] = values[place] if isinstance(values, list) else values
        self.table = self.table.with_columns(pl.Series(name, column, dtype=self.table[name].dtype))

    def take(self, rows: list[int]) -> None:
        """Keep these rows in this order, with all that the owner keeps of them."""
        place = {row: number for number, row in enumerate(rows)}
        self.table = self.table[rows]
        for name in _IN_ORDER:
            if name in self.private:
                self.private[name] = self.private[name][rows]
        if "members" in self.private:
            self.private["members"] = self.private["members"].select(
                pl.all().replace_strict(place, default=0, return_dtype=pl.Int32())
            )

    def sort(self) -> None:
        """Bring the rows into the order of what is published."""
        keys = [tuple(map(rank, row)) for row in self.table.rows()]
        self.take(sorted(range(len(keys)), key=lambda row: keys[row]))

    def write(self, folder: Path) -> None:
        """Write both folders."""
        secret = folder.with_name(folder.name + ".private")
        for path in (folder, secret):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        (folder / "manifest.json").write_text(json.dumps(self.manifest, ensure_ascii=False, indent=1) + "\n", "utf-8")
        for stem, table in self.tables.items():
            (folder / f"{stem}.parquet").write_bytes(parquet_bytes(table.rechunk()))
            plain = table.to_dict(as_series=False)
            written = written_table(self.before, plain) if self.is_rows else plain
            (folder / f"{stem}.csv").write_bytes(csv_bytes(written))
        for stem, table in self.private.items():
            before = self._private_before[stem]
            if table.schema == before.schema and table.equals(before, null_equal=True):
                (secret / f"{stem}.parquet").write_bytes(self._private_bytes[stem])
            else:
                table.write_parquet(secret / f"{stem}.parquet")
        if self.domains is not None:
            (secret / "domains.json").write_text(json.dumps(self.domains, ensure_ascii=False) + "\n", "utf-8")
        if self.recoding is not None:
            (secret / "recoding.npz").write_bytes(self.recoding)
        self.about["method"] = self.manifest["method"]
        repair_digests(folder, self.about)


def repair_digests(folder: Path, about: dict[str, Any] | None = None) -> None:
    """Write the digests of all files, as they are now, into the private manifest."""
    secret = folder.with_name(folder.name + ".private")
    told = about if about is not None else json.loads((secret / "manifest.json").read_text("utf-8"))
    for place, base in (("public", folder), ("private", secret)):
        told[place] = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(base.iterdir())
            if file.is_file() and (base != secret or file.name != "manifest.json")
        }
    (secret / "manifest.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", "utf-8")
