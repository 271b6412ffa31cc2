"""Memory: what a run that goes by batches may take, and what fits into it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from incrowd.errors import InputError, ParameterError, counted

DEFAULT = "4GB"
_UNITS = {"MB": 2**20, "GB": 2**30, "TB": 2**40}
_PROCESS = 600 * 2**20  # bytes of a process with its libraries, kernels and the batches that are under way
_LEAST = 1 << 30

# Bytes that are reckoned with: what the arrays hold that are there at once, rounded up.
_PER_DISTINCT = 200  # of a distinct row, and 24 more for each column
_PER_DISTINCT_COLUMN = 24
_PER_ROW = 160  # of a row that is brought in order, and as many for each *other* column
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


def require_disk(folder: Path, n_rows: int, n_other: int) -> None:
    """Refuse a run for which the disk surely has too little room: half of what is reckoned with."""
    needed, free = n_rows * _ON_DISK * (1 + n_other), shutil.disk_usage(folder).free
    if needed / 2 > free:
        gigabytes = f"about {needed / 1e9:.1f} GB on the disk beside the output, and {free / 1e9:.1f} GB are free"
        fact = f"Bringing {counted(n_rows, 'row')} in order takes {gigabytes}"
        raise InputError(fact, "free some space, or write the release to another disk")
