"""A coded table whose rows lie on the disk: the same arrays, in files that are looked at as if they were memory.

The operating system keeps of such a file in memory what it has room for. A thread counts what of them this process
holds, and gives it back above a limit: what is given back is read again when it is looked at.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.coding.table import Table
from incrowd.errors import InputError
from incrowd.hierarchy.hierarchy import Codes

Int64 = npt.NDArray[np.int64]

SLICE = 1 << 22
"""Rows that are moved between files at once."""

_PAUSE = 0.02  # seconds between two looks at the memory: at most about 100 MB are touched in between
_LEAST = 256 << 20  # bytes of files that a process may always hold: to give back less would only cost time


class DiskArrays:
    """Arrays in files that have no name, so that nothing is left of them whatever happens.

    Parameters
    ----------
    folder
        Where the files are.
    limit
        Bytes that the process may hold, files and everything else together.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._maps: list[weakref.ref[mmap.mmap]] = []
        self._lock = threading.Lock()

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, columns: bool = False) -> Any:  # noqa: ANN401
        """Return an array of zeros; with `columns`, each column is contiguous."""
        kind, wanted = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
        size = max(1, int(np.prod(wanted, dtype=np.int64)) * kind.itemsize)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            _take_room(file.fileno(), size)
            mapped = mmap.mmap(file.fileno(), size)
        with self._lock:
            self._maps = [known for known in self._maps if known() is not None]
            self._maps.append(weakref.ref(mapped))
        flat = np.frombuffer(mapped, kind, int(np.prod(wanted, dtype=np.int64)))
        return flat.reshape(wanted, order="F" if columns else "C")

    def copy(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401
        """Return a copy."""
        found = self.empty(array.shape, array.dtype)
        for start in range(0, len(array), SLICE):
            found[start : start + SLICE] = array[start : start + SLICE]
        return found

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep the process below its limit until the block ends."""
        if not sys.platform.startswith("linux"):
            yield  # the system itself has to see to it
            return
        end = threading.Event()
        thread = threading.Thread(target=self._watch, args=(end,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def _watch(self, end: threading.Event) -> None:
        page = mmap.PAGESIZE
        with Path("/proc/self/statm").open("rb", buffering=0) as file:
            while not end.wait(_PAUSE):
                file.seek(0)
                _, resident, of_files, *_ = (int(each) * page for each in file.read().split())
                if of_files > max(_LEAST, self._limit - (resident - of_files)):
                    self._give_back()

    def _give_back(self) -> None:
        with self._lock:
            known = [found for reference in self._maps if (found := reference()) is not None]
        for mapped in known:
            mapped.madvise(mmap.MADV_DONTNEED)  # of a shared file: the pages stay in the file


def _take_room(file: int, size: int) -> None:
    """Give a file all its bytes now: what is missing later, when memory is written to it, ends the process."""
    try:
        os.posix_fallocate(file, 0, size)
    except AttributeError:  # not on every system
        os.truncate(file, size)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):  # nor on every file system
            os.truncate(file, size)
            return
        fact = f"The disk has no room for {size / 1e9:.1f} GB of rows ({error.strerror})"
        raise InputError(fact, "free some space, or write the release to another disk") from None


@dataclass(frozen=True)
class StoredTable(Table):
    """A table with its codes on the disk; every row stands for itself.

    `rows` has the right length, and nothing in it; *other* columns are not here.

    Attributes
    ----------
    leaf_counts, combined_counts
        How often each leaf occurs, by quasi-identifier, and each combination of sensitive values.
    class_codes, n_classes
        The class of each row.
    """

    leaf_counts: tuple[Int64, ...] = ()
    combined_counts: Int64 | None = None
    class_codes: Codes | None = None
    n_classes: int = 1

    @cached_property
    def marginals(self) -> tuple[Int64, ...]:
        """How often each leaf occurs, per quasi-identifier."""
        return self.leaf_counts

    @cached_property
    def sensitive_counts(self) -> Int64:
        """How often each combination of sensitive values occurs; empty when nothing is sensitive."""
        return np.empty(0, np.int64) if self.combined_counts is None else self.combined_counts

    @cached_property
    def classes(self) -> tuple[Codes, int]:
        """The class of each row, and the number of classes."""
        assert self.class_codes is not None
        return self.class_codes, self.n_classes


@dataclass(frozen=True)
class SummedTable(Table):
    """A table of weighted rows of which only sums are known: of cells with the sensitive values of their rows.

    Attributes
    ----------
    leaf_counts
        How often each leaf occurs, by quasi-identifier.
    """

    leaf_counts: tuple[Int64, ...] = ()

    @cached_property
    def marginals(self) -> tuple[Int64, ...]:
        """How often each leaf occurs, per quasi-identifier."""
        return self.leaf_counts
