"""Evidence: what the owner keeps so that everything that was promised can be checked exactly later.

Each piece knows its files. The verifier gets them as plain data and reads them with code of its own; what they hold is
written in docs/release-format.md.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import hierarchy, io
from incrowd.errors import InputError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes
from incrowd.recoding import Recoding, from_arrays
from incrowd.release.domains import ExactDomain

Int64 = npt.NDArray[np.int64]

DOMAINS, RECODING = "domains.json", "recoding.npz"
NOBODY = -1
"""The original of a filler row."""


class Evidence(ABC):
    """How a method came to its cells, row by row of the table; `taken` brings it into the order of a release."""

    form: str = "exact"
    """How sensitive values are published by a method with this evidence."""

    @abstractmethod
    def taken(self, order: Int64) -> Evidence:
        """Return the evidence of the released rows, in their order."""

    @abstractmethod
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return what is kept, by the names of its files."""

    def deal(self, rng: np.random.Generator, n_rows: int) -> Int64:
        """Return whose *other* columns each row shows: its own."""
        del rng
        return np.arange(n_rows)


@dataclass(frozen=True)
class Rings(Evidence):
    """Where rows and their cells are, for methods that deal cells out on rings."""

    places: pl.DataFrame

    def taken(self, order: Int64) -> Rings:
        """Return the places of the released rows."""
        return Rings(self.places[order])

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the places."""
        return {"rings": self.places}


@dataclass(frozen=True)
class Blocks(Evidence):
    """Blocks of rows whose sensitive values are told together, and the members of each row's cell.

    Attributes
    ----------
    block
        The block of each row.
    search
        Which row of `members` belongs to each row.
    members
        Rows that each cell was made of, [searches x k].
    """

    block: Int64
    search: Int64
    members: Codes
    form = "shares"

    def taken(self, order: Int64) -> Blocks:
        """Return blocks and members of the released rows, numbered in their order; all rows must be released."""
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return Blocks(self.block[order], self.search[order], place[self.members])

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return blocks and members."""
        columns = {str(number + 1): self.members[:, number] for number in range(self.members.shape[1])}
        blocks = pl.DataFrame(
            {"block": self.block, "members": self.search}, schema=dict.fromkeys(("block", "members"), pl.Int64())
        )
        return {"blocks": blocks, "members": pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int32()))}

    def deal(self, rng: np.random.Generator, n_rows: int) -> Int64:
        """Return whose *other* columns each row shows: those of somebody of its block, drawn by chance.

        A person may fit a single row, so that its untouched columns would be theirs; in a block there are k people.
        """
        by_block = np.argsort(self.block, kind="stable")
        drawn = np.lexsort((rng.random(n_rows), self.block))
        dealt = np.empty(n_rows, np.int64)
        dealt[by_block] = drawn
        return dealt


@dataclass(frozen=True)
class People(Evidence):
    """The groups of rows, and which sensitive values the groups of everybody have shown in a series of releases.

    Attributes
    ----------
    group
        The group of each row, filler behind all others.
    people
        Columns ``person`` (the hash of an identifier) and ``signature``, one row for each that a person was given, in
        the order of time.
    signatures
        Columns ``signature`` and ``value``: the values of each, as text behind ``=``; a missing one is empty.
    """

    group: Int64
    people: pl.DataFrame
    signatures: pl.DataFrame

    def taken(self, order: Int64) -> People:
        """Return the groups of the released rows."""
        return People(self.group[order], self.people, self.signatures)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return groups, people and signatures."""
        groups = pl.DataFrame({"group": self.group}, schema={"group": pl.Int64()})
        return {"groups": groups, "people": self.people, "signatures": self.signatures}


@dataclass(frozen=True)
class Private:
    """What the owner keeps: it would undo the release.

    Attributes
    ----------
    row_maps
        The original row number of each released row, one array for each table; `NOBODY` for a filler row.
    seed
        The seed of the run, or ``None`` if the operating system seeded the randomness.
    recoding
        The cuts, for methods that can recode new rows.
    domains
        The exact domains of the quasi-identifiers.
    evidence
        How the method came to its cells, where that is needed to check them.
    """

    row_maps: tuple[Int64, ...]
    seed: int | None = None
    recoding: Recoding | None = None
    domains: tuple[ExactDomain, ...] = ()
    evidence: Evidence | None = None

    @property
    def rows(self) -> Int64:
        """The original row number of each released row, of the first table."""
        return self.row_maps[0]

    def files(self, names: list[str]) -> dict[str, Any]:
        """Return everything but the recoding as plain data, by the stems of its files."""
        stems = ["rows"] if self.domains else [f"rows-{number + 1}" for number in range(len(self.row_maps))]
        found: dict[str, Any] = {
            stem: pl.DataFrame({"row": rows}, schema={"row": pl.Int64()})
            for stem, rows in zip(stems, self.row_maps, strict=True)
        }
        if self.domains:
            found["domains"] = {"quasi": [_domain_data(n, d) for n, d in zip(names, self.domains, strict=True)]}
        return found | (self.evidence.tables() if self.evidence else {})

    def save(self, folder: Path, names: list[str]) -> None:
        """Write everything into the private folder."""
        self._save(folder, self.files(names))

    def save_without_rows(self, folder: Path, names: list[str]) -> None:
        """Write everything but the row map, which is there already."""
        self._save(folder, {stem: data for stem, data in self.files(names).items() if stem != "rows"})

    def _save(self, folder: Path, files: Mapping[str, Any]) -> None:
        for stem, data in files.items():
            if isinstance(data, dict):
                (folder / DOMAINS).write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
            else:
                io.write(data, folder / f"{stem}.parquet")
        if self.recoding is not None:
            np.savez_compressed(folder / RECODING, allow_pickle=False, **self.recoding.arrays())

    @classmethod
    def load(cls, folder: Path, about: Mapping[str, Any], stems: list[str]) -> Private:
        """Read a private folder whose manifest is `about`; `stems` name its row maps."""
        rows = tuple(io.read(folder / f"{stem}.parquet")["row"].to_numpy() for stem in stems)
        recoding = None
        if (folder / RECODING).exists():
            with np.load(folder / RECODING, allow_pickle=False) as arrays:
                recoding = from_arrays(arrays)
        domains: tuple[ExactDomain, ...] = ()
        if (folder / DOMAINS).exists():
            domains = tuple(_read_domain(entry) for entry in read_json(folder / DOMAINS)["quasi"])
        return cls(rows, about["seed"], recoding, domains, _read_evidence(folder))

    def __repr__(self) -> str:
        return "Private(...)"  # a stray log line must not undo the release


def _read_evidence(folder: Path) -> Evidence | None:
    if (folder / "rings.parquet").exists():
        return Rings(io.read(folder / "rings.parquet"))
    if (folder / "blocks.parquet").exists():
        blocks, members = io.read(folder / "blocks.parquet"), io.read(folder / "members.parquet")
        return Blocks(blocks["block"].to_numpy(), blocks["members"].to_numpy(), members.to_numpy())
    if (folder / "people.parquet").exists():
        groups, people = io.read(folder / "groups.parquet"), io.read(folder / "people.parquet")
        return People(groups["group"].to_numpy(), people, io.read(folder / "signatures.parquet"))
    return None


def _domain_data(name: str, domain: ExactDomain) -> dict[str, Any]:
    leaf_of = None if domain.leaf_of is None else domain.leaf_of.tolist()
    return {"name": name, "hierarchy": domain.hierarchy.to_dict(), "counts": domain.counts.tolist(), "leaf_of": leaf_of}


def _read_domain(entry: Mapping[str, Any]) -> ExactDomain:
    built = cast("Hierarchy", hierarchy.from_dict(entry["hierarchy"]))
    leaf_of = None if entry["leaf_of"] is None else np.array(entry["leaf_of"], np.int32)
    return ExactDomain(built, np.array(entry["counts"], np.int64), leaf_of)


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of plain data."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fact = f"'{path}' cannot be read: {type(error).__name__}"
        raise InputError(fact, "give the folder of a release") from error
    if not isinstance(data, dict):
        fact = f"'{path}' does not hold a JSON object"
        raise InputError(fact, "give the folder of a release")
    return data
