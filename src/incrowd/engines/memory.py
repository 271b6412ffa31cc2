"""Memory: what a run that goes by batches may take, and what fits into it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd import io
from incrowd.errors import InputError, ParameterError, counted

DEFAULT = "4GB"
_UNITS = {"MB": 2**20, "GB": 2**30, "TB": 2**40}
_PROCESS = 600 * 2**20  # bytes of a process with its libraries, kernels and the batches that are under way
_LEAST = 1 << 30

# Bytes that are reckoned with: what the arrays hold that are there at once, rounded up.
_PER_DISTINCT = 200  # of a distinct row, and 24 more for each column
_PER_DISTINCT_COLUMN = 24
_PER_ROW = 160  # of a row that is brought in order, and as many for each *other* column
_PER_CELL = 400  # of a distinct published row while it is found, sealed and verified
_FREE = 0.6  # share of the memory that arrays on the disk may fill; the rest is for what is no such array
_ON_DISK = 40  # of a row: its numbers, twice, and the row map; and so many for each *other* column


@dataclass(frozen=True)
class Memory:
    """The bytes that a run may take."""

    limit: int

    @classmethod
    def of(cls, given: str | int | None) -> Memory:
        """Read a number of bytes, or a text such as 4GB."""
        text = DEFAULT if given is None else given
        if isinstance(text, int) and not isinstance(text, bool):
            limit = text
        else:
            found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(MB|GB|TB)", str(text).strip().upper())
            if found is None:
                fact = f"The memory is {text!r}"
                raise ParameterError(fact, "write for example memory='4GB', or a number of bytes")
            limit = int(float(found[1]) * _UNITS[found[2]])
        if limit < _LEAST:
            fact = f"The memory is {given}, and a run takes {_LEAST // 2**20} MB at least"
            raise ParameterError(fact, "give more, for example memory='2GB'")
        return cls(limit)

    def distinct_rows(self, n_columns: int) -> int:
        """Return how many distinct rows fit."""
        return (self.limit - _PROCESS) // (_PER_DISTINCT + _PER_DISTINCT_COLUMN * n_columns)

    def rows_in_order(self, n_other: int) -> int:
        """Return how many rows can be brought in order at once."""
        return (self.limit - _PROCESS) // (_PER_ROW * (1 + n_other))

    @property
    def of_arrays(self) -> int:
        """Bytes that a process may hold while arrays lie on the disk."""
        return int(self.limit * _FREE)

    def require_cells(self, n_rows: int, k: int) -> None:
        """Refuse a release of more groups than fit."""
        needed = n_rows // k * _PER_CELL + _PROCESS
        if needed > self.limit:
            fact = (
                f"A release of {counted(n_rows, 'row')} in groups of {k} takes up to {needed / 2**30:.1f} GB of memory"
            )
            raise InputError(fact, "allow more with memory=..., or use a larger k")


def foreseen(source: Any, folder: Path, n_columns: int, n_other: int, memory: Memory) -> str | None:  # noqa: ANN401
    """Say what a run will need, before it begins; nothing of a table whose rows are not counted quickly."""
    n_rows = io.count_quickly(source)
    if n_rows is None:
        return None
    disk, most = n_rows * _ON_DISK * (1 + n_other), n_rows * (_ON_DISK * (1 + n_other) + _stored(n_columns))
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    fit = memory.distinct_rows(n_columns)
    text = (
        f"{counted(n_rows, 'row')}: at most {memory.limit / 2**30:.1f} GB of memory, and on the disk beside the output "
    )
    text += f"about {disk / 1e9:.1f} GB" if n_rows <= fit else (
        f"{disk / 1e9:.1f} GB, or {most / 1e9:.1f} GB if more than {fit} rows differ"
    )  # fmt: skip
    return f"{text}; {shutil.disk_usage(there).free / 1e9:.1f} GB are free."


def _stored(n_columns: int) -> int:
    return 4 * (3 * n_columns + 10)  # bytes of a row: its codes, and twice the row that is moved about


def require_stored(folder: Path, n_rows: int, n_columns: int) -> None:
    """Refuse a table whose rows surely do not fit the disk: their codes, and twice the rows that are moved about."""
    needed, free = n_rows * _stored(n_columns), shutil.disk_usage(folder).free
    if needed > free:
        gigabytes = f"about {needed / 1e9:.1f} GB on the disk beside the output, and {free / 1e9:.1f} GB are free"
        fact = f"Cutting {counted(n_rows, 'row')} that are nearly all different takes {gigabytes}"
        raise InputError(fact, "free some space, write the release to another disk, or give numbers bins")


def require_disk(folder: Path, n_rows: int, n_other: int) -> None:
    """Refuse a run for which the disk surely has too little room: half of what is reckoned with."""
    needed, free = n_rows * _ON_DISK * (1 + n_other), shutil.disk_usage(folder).free
    if needed / 2 > free:
        gigabytes = f"about {needed / 1e9:.1f} GB on the disk beside the output, and {free / 1e9:.1f} GB are free"
        fact = f"Bringing {counted(n_rows, 'row')} in order takes {gigabytes}"
        raise InputError(fact, "free some space, or write the release to another disk")
