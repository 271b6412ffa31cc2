"""Estimates: about how long publishing a table takes and how much memory it needs, before it begins.

The constants of each method are in costs.json, measured by ``./dev bench estimates``: seconds grow as a power of the
rows and of the columns, memory with the number of cells. Both are estimates for one worker on the machine that they
were measured on: more workers are faster, and other parameters than the defaults may be slower. On the settings that
``./dev bench estimates --check`` measures they are never wrong by more than a factor of 3.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.runs import duration

_PROCESS = 350 * 2**20  # bytes of a process that has loaded its libraries and kernels
_STARTING = 2.0  # seconds until they are loaded
_UNSURE = 3.0  # estimates are wrong by less than this
_TEXT = (".csv", ".tsv", ".txt")
_ANYWAY = "use a larger machine, fewer rows or columns, or another method; force=True tries it anyway"
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True)
class Estimate:
    """What publishing will take.

    Attributes
    ----------
    seconds
        Until the release is written.
    memory
        Bytes at the peak, of the whole process.
    """

    seconds: float
    memory: float

    def __str__(self) -> str:
        """Return it for people: 'about 40 s and 1.2 GB'."""
        return f"about {duration(self.seconds)} and {_size(self.memory)}"


def estimate(method: str, n_rows: int, n_columns: int) -> Estimate | None:
    """Return what publishing a table takes; nothing for a method that was not measured.

    Parameters
    ----------
    method
        Its name.
    n_rows, n_columns
        Rows, and quasi-identifiers.
    """
    cost = _costs().get(method)
    if cost is None:
        return None
    rows, columns = max(1, n_rows), max(1, n_columns)
    seconds = cost["fixed"] + cost["seconds"] * rows ** cost["rows"] * columns ** cost["columns"]
    return Estimate(_STARTING + seconds, _PROCESS + cost["bytes_per_cell"] * rows * (columns + 1))


def refuse_impossible(found: Estimate, rows: int, columns: int) -> None:
    """Refuse what does not fit into the memory even if the estimate is far too high."""
    free = available_memory()
    if free is not None and found.memory / _UNSURE > free:
        fact = (
            f"This needs about {_size(found.memory)} of memory for {rows} rows and {columns} quasi-identifiers, and "
            f"{_size(free)} are free"
        )
        raise InputError(fact, _ANYWAY)


def refuse_unreadable(source: object) -> None:
    """Refuse a file of text that is several times larger than the memory."""
    free = available_memory()
    if free is None or not isinstance(source, str | Path) or Path(source).suffix.lower() not in _TEXT:
        return
    try:
        size = Path(source).stat().st_size
    except OSError:
        return  # reading it will say why
    if size / _UNSURE > free:
        fact = f"'{source}' has {_size(size)}, and {_size(free)} of memory are free"
        raise InputError(fact, _ANYWAY)


def available_memory() -> int | None:
    """Return how many bytes this process can still get: of the machine, its container, and its own limit."""
    found = [_machine(), *(_container(*names) for names in _CGROUPS), _own_limit()]
    return min((free for free in found if free is not None), default=None)


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    names = ("SC_PAGE_SIZE", "SC_AVPHYS_PAGES")
    if all(name in getattr(os, "sysconf_names", {}) for name in names):
        return os.sysconf(names[0]) * os.sysconf(names[1])
    return None


def _container(limit: str, used: str) -> int | None:
    try:
        return max(0, int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii")))
    except (OSError, ValueError):  # there is none, or "max"
        return None


def _own_limit() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


@cache
def _costs() -> dict[str, dict[str, Any]]:
    text = (files("incrowd.workflow") / "costs.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)["methods"]
    return found


def _size(amount: float) -> str:
    """Say how many bytes.

    >>> _size(1.23e9), _size(3.4e8)
    ('1.2 GB', '340 MB')
    """
    return f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{10 * round(amount / 1e7)} MB"
