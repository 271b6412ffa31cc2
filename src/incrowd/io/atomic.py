"""Output that appears as a whole or not at all, also when the process is killed or the disk is full.

Everything is made in a hidden staging folder beside its target that only the owner can open, and renamed at the end.
Whatever ends the block early (an error, Ctrl-C, SIGTERM) removes it; what a killed process leaves is removed by the
next one that writes into the same folder.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from incrowd.errors import IncrowdError, InputError
from incrowd.io.locking import lock
from incrowd.io.staging import Staging, opened, refuse_existing, sync_file, sync_folder, sync_tree, uninterrupted

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_PAUSE = 0.01  # seconds; folders change places in less
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")

_written: deque[Path | str] = deque(maxlen=100)


def written_paths() -> tuple[Path | str, ...]:
    """Return what this process has written and named so far: after an interrupt it tells what is there.

    A table of a database is in it by its address, as text.
    """
    return tuple(_written)


def note_written(address: str) -> None:
    """Note the address of a table that was committed."""
    _written.append(address)


def is_written(target: str | Path) -> bool:
    """Tell whether this process has written this file, folder or address of a table."""
    if isinstance(target, str) and target in _written:
        return True
    there = Path(target).resolve()
    return any(isinstance(path, Path) and path.resolve() == there for path in _written)


@contextmanager
def atomic_file(path: str | Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` when the block ends without an exception.

    Parameters
    ----------
    path
        A file, which is replaced if it exists.
    owner_only
        Close the file to other users.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with atomic_file(target) as temporary:
    ...     _ = temporary.write_text("42")
    >>> target.read_text()
    '42'
    """
    # A link keeps pointing where it pointed: the file behind it is replaced.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        fact = f"Cannot write the file '{path}': it is a folder"
        raise InputError(fact, "give the name of a file")
    with _staged(target) as staging:
        # The name stays, because some writers choose their format by its suffix.
        temporary = staging.folder / target.name
        temporary.touch()
        yield temporary
        sync_file(temporary)
        if owner_only:
            temporary.chmod(0o600)
        elif target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        with uninterrupted():
            temporary.replace(target)
            _written.append(Path(path))
            sync_folder(target.parent)


@contextmanager
def atomic_folder(path: str | Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Give a temporary folder to fill; it becomes `path` when the block ends without an exception.

    Parameters
    ----------
    path
        A folder that does not exist yet, in a folder that does.
    owner_only
        Keep the folder closed to other users afterwards too.
    """
    with atomic_folders(path, owner_only=[path] if owner_only else ()) as (temporary,):
        yield temporary


@contextmanager
def atomic_folders(
    *paths: str | Path, owner_only: Collection[str | Path] = (), replace: bool = False
) -> Iterator[tuple[Path, ...]]:
    """Give one temporary folder per path; either all of them appear at the end, or none.

    The first of them appears last: whoever sees it sees the others too, even if the process is killed. Others that a
    killed process had named already are removed by the next one that writes into the same folder.

    Parameters
    ----------
    *paths
        Folders that do not exist yet, all in one folder, which does.
    owner_only
        Those of the paths that stay closed to other users.
    replace
        They may exist: the older ones stay until the new ones are complete, change places with them, and are removed.
    """
    targets = [Path(path) for path in paths]
    private = {Path(path) for path in owner_only}
    if len({target.parent for target in targets}) > 1:
        fact = "Folders that appear together must lie in one folder"
        raise InputError(fact, "give names in the same folder")
    with _staged(targets[0]) as staging:
        for target in targets if not replace else ():
            refuse_existing(target)
        temporaries = tuple(staging.folder / target.name for target in targets)
        for target, temporary in zip(targets, temporaries, strict=True):
            temporary.mkdir(mode=0o700 if target in private else 0o777)
        yield temporaries
        for temporary in temporaries:
            sync_tree(temporary)
        with uninterrupted(), _alone(targets[0].parent) if replace else nullcontext():
            staging.place(targets, replace=replace)
            _written.extend(targets)


@contextmanager
def atomic_paths(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give one temporary file per path, all in one folder; either all of them appear at the end, or none.

    The first of them appears last, as with `atomic_folders`.
    """
    with _staged(paths[0]) as staging:
        for path in paths:
            refuse_existing(path)
        temporaries = tuple(staging.folder / path.name for path in paths)
        for temporary in temporaries:
            temporary.touch()
        yield temporaries
        for temporary in temporaries:
            sync_file(temporary)
        with uninterrupted():
            staging.place(list(paths))
            _written.extend(paths)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Let one process at a time replace folders in a folder: of two at once, each would place a part."""
    handle = opened(parent)
    try:
        while handle is not None and lock(handle) is False:
            time.sleep(_PAUSE)
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def _staged(target: Path) -> Iterator[Staging]:
    """Make a staging folder, and remove it whatever happens; explain errors of the system."""
    with _output_errors(target):
        staging = Staging.beside(target)
        try:
            yield staging
        finally:
            with uninterrupted():
                staging.remove()


@contextmanager
def _output_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except IncrowdError:
        raise
    except Exception as error:
        code = _error_number(error)
        if not isinstance(error, OSError) and code not in _FULL | _FORBIDDEN:
            raise
        raise InputError(*_explain(error, code, target)) from error


def _error_number(error: Exception) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    # polars and others pass the system's error on as text only.
    found = _SYSTEM_ERROR.search(str(error))
    return int(found[1] or found[2]) if found else None


def _explain(error: Exception, code: int | None, target: Path) -> tuple[str, str]:
    if code in _FULL:
        return (
            f"No space left while writing '{target}'",
            "free some space or write elsewhere; nothing was left behind",
        )
    if code in _FORBIDDEN:
        return f"No permission to write '{target}'", "choose a folder that you may write to"
    if not target.parent.is_dir():
        return f"Cannot write '{target}': there is no folder '{target.parent}'", "create that folder first"
    reason = os.strerror(code) if code is not None else type(error).__name__
    return f"Could not write '{target}': {reason}", "correct the cause and run it again; nothing was left behind"
