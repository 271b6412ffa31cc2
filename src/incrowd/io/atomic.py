"""Output that appears as a whole or not at all.

Everything is written beside its target under a hidden name that only the owner can open, and renamed at the end.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.errors import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_OWNER_ONLY = 0o700


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` when the block ends without an exception.

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
    with _output_errors(path):
        if target.is_dir():
            fact = f'Cannot write the file "{path}": it is a folder.'
            raise InputError(fact, "Give the name of a file.")
        # The suffix stays, because some writers choose their format by it.
        temporary = target.parent / f".{target.stem}.{secrets.token_hex(4)}{target.suffix}"
        try:
            mode = _create_file(temporary)
            yield temporary
            _sync(temporary)
            temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else mode)
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(target.parent)


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
def atomic_folders(*paths: str | Path, owner_only: Collection[str | Path] = ()) -> Iterator[tuple[Path, ...]]:
    """Give one temporary folder per path; either all of them appear at the end, or none.

    Parameters
    ----------
    *paths
        Folders that do not exist yet.
    owner_only
        Those of the paths that stay closed to other users.
    """
    targets = [Path(path) for path in paths]
    private = {Path(path) for path in owner_only}
    for target in targets:
        _refuse_existing(target)
    temporaries = [target.parent / f".{target.name}.{secrets.token_hex(4)}" for target in targets]
    modes: list[int] = []
    finished: list[Path] = []
    try:
        for target, temporary in zip(targets, temporaries, strict=True):
            with _output_errors(target):
                modes.append(_create_folder(temporary))
        with _output_errors(targets[0]):
            yield tuple(temporaries)
        for target, temporary, mode in zip(targets, temporaries, modes, strict=True):
            with _output_errors(target):
                _sync_tree(temporary)
                temporary.chmod(_OWNER_ONLY if target in private else mode)
        for target, temporary in zip(targets, temporaries, strict=True):
            with _output_errors(target):
                # Renaming onto an empty folder would succeed, so look once more.
                _refuse_existing(target)
                temporary.rename(target)
                finished.append(target)
        for target in targets:
            _sync_folder(target.parent)
    except BaseException:
        for folder in (*finished, *temporaries):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        fact = f'Output folder "{target}" exists.'
        raise InputError(fact, "Remove it first, or choose another name; nothing is ever overwritten.")


def _create_file(path: Path) -> int:
    """Create an empty file for the owner only; return the mode that this process gives to ordinary files."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        mode = os.fstat(handle).st_mode & 0o777
    finally:
        os.close(handle)
    path.chmod(0o600)
    return mode


def _create_folder(path: Path) -> int:
    """Create an empty folder for the owner only; return the mode that this process gives to ordinary folders."""
    path.mkdir()
    mode = path.stat().st_mode & 0o777
    path.chmod(_OWNER_ONLY)
    return mode


def _sync(path: Path) -> None:
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _sync(path)


def _sync_folder(folder: Path) -> None:
    # Makes the new name last through a power cut; not every system lets a folder be opened.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _output_errors(target: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(*_explain(error, Path(target))) from error


def _explain(error: OSError, target: Path) -> tuple[str, str]:
    code = error.errno
    if code is None and (found := re.search(r"\(os error (\d+)\)", str(error))):
        # polars passes the system's error on as text only.
        code = int(found[1])
    if code in _FULL:
        return (
            f'No space left while writing "{target}".',
            "Free some space or write elsewhere; nothing was left behind.",
        )
    if code in _FORBIDDEN:
        return f'No permission to write "{target}".', "Choose a folder that you may write to."
    if not target.parent.is_dir():
        return f'Cannot write "{target}": there is no folder "{target.parent}".', "Create that folder first."
    reason = os.strerror(code) if code is not None else type(error).__name__
    return f'Could not write "{target}": {reason}.', "Nothing was left behind; correct the cause and run it again."
