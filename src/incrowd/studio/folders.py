"""The private folder of a studio: closed to other users, removed at the end, or by the next start after a crash."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(r"incrowd-studio-[0-9a-f]{16}")


@contextmanager
def private_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder that only this user can read, and remove it with all that is in it.

    It is locked as long as this process lives, so that the next start can tell which folders a crash has left.

    Parameters
    ----------
    parent
        Where to make it; the system's folder for temporary files without it.
    """
    place = parent or Path(tempfile.gettempdir())
    _remove_left(place)
    folder = place / f"incrowd-studio-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    handle = _opened(folder)
    try:
        if handle is not None:
            _locked(handle)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _remove_left(place: Path) -> None:
    """Remove the folders of studios that are gone; one that is locked, or somebody else's, stays."""
    for entry in os.scandir(place):
        if not _NAME.fullmatch(entry.name):
            continue
        handle = _opened(Path(entry.path))
        if handle is None:
            continue
        try:
            status = os.fstat(handle)
            is_mine = status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700
            if is_mine and _locked(handle):
                shutil.rmtree(entry.path, ignore_errors=True)
        finally:
            os.close(handle)


def _opened(folder: Path) -> int | None:
    """Open a folder itself, never what a link leads to; not every system can."""
    with suppress(OSError, AttributeError):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    return None


def _locked(handle: int) -> bool:
    """Lock an open folder until its process ends; as in `incrowd.io.locking`, without what that room loads."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
