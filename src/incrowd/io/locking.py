"""Locks that end with their process: one writer at a time, and a way to tell whether a writer is still there."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import InputError

if sys.platform != "win32":
    import fcntl

_PATIENCE = 60.0  # seconds; a lock is held while a small file is read and written
_PAUSE = 0.02
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


def lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed, or its process ends.

    Returns
    -------
    bool or None
        True: it is ours; False: somebody else has it; None: the system has no such locks here.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _TAKEN else None
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others out who ask for the same lock file, and wait for those who were first.

    Where the system has no locks the file itself is the lock: it is there as long as somebody works.
    """
    marker = path.with_name(path.name + ".taken")
    deadline = time.monotonic() + _PATIENCE
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        fact = f"The lock file '{path}' cannot be created: {os.strerror(error.errno or 0)}"
        raise InputError(fact, "choose a folder that exists and that you may write to") from error
    try:
        while (got := lock(handle)) is False:
            _pause(path, deadline)
        while got is None and not _created(marker):
            _pause(marker, deadline)
        try:
            yield
        finally:
            if got is None:
                marker.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _created(marker: Path) -> bool:
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return False
    return True


def _pause(path: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        fact = f"'{path}' has been locked by another process for {_PATIENCE:.0f} seconds"
        raise InputError(fact, "wait until the other process has ended; if there is none, remove that file")
    time.sleep(_PAUSE)
