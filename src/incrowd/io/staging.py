"""Staging folders: where output is made before it gets its name, and what the next run does if this one is killed.

A staging folder lies beside its targets, is hidden and closed to other users, and is locked as long as its process
lives. Before the first of several targets gets its name, a journal in it says which folder will become which target.
The last target to get its name is the *commit point*: before, everything can be taken back, by this process or by the
next one that writes beside it or reads what was written; afterwards everything is there.

A target that replaces an older one changes places with it, which the file system does in one step where it can (Linux,
macOS); elsewhere the older one is moved into the staging folder first, and brought back if the process is killed then.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from incrowd.errors import InputError
from incrowd.io.exchanging import exchange
from incrowd.io.locking import lock

_JOURNAL = ".incrowd-journal"
_OLD = ".incrowd-old-"  # before the name of what is being replaced
_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.incrowd")
_MOST = 40  # characters of a target's name that a staging folder repeats: names end at 255 bytes
_OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True)
class Staging:
    """A hidden folder for output on its way.

    Parameters
    ----------
    folder
        The hidden folder.
    handle
        Keeps it locked.
    """

    folder: Path
    handle: int | None

    @classmethod
    def beside(cls, target: Path) -> Staging:
        """Make a staging folder in the folder of a target, and remove those that killed processes left there."""
        _clean(target.parent)
        while True:
            folder = target.parent / f".{target.name[:_MOST]}.{secrets.token_hex(8)}.incrowd"
            folder.mkdir(mode=0o700)
            handle = opened(folder)
            # Somebody who cleans may take it for a left one in the moment before it is locked.
            if handle is None and folder.is_dir():
                return cls(folder, None)  # a system that opens no folders, where nobody cleans
            if handle is not None:
                if lock(handle) is not False and _same(folder, os.fstat(handle)):
                    return cls(folder, handle)
                os.close(handle)

    def place(self, targets: list[Path], *, replace: bool = False) -> None:
        """Give each target, made in here under its own name, its name outside: all of them or none; the first last.

        With `replace`, a target that is there already comes into this folder instead.
        """
        made = {target.name: _identity(self.folder / target.name) for target in targets}
        if len(made) > 1 or replace:
            journal = self.folder / _JOURNAL
            journal.write_text(json.dumps({"commit": targets[0].name, "made": made}), encoding="utf-8")
            sync_file(journal)
            sync_folder(self.folder)
        try:
            for target in reversed(targets):
                new = self.folder / target.name
                if replace and os.path.lexists(target):
                    _put_in_place(new, target)
                else:
                    refuse_existing(target)
                    new.rename(target)
                sync_folder(target.parent)
        except OSError:
            # Another run was faster: a folder with something in it is never replaced.
            refuse_existing(target)
            raise

    def remove(self) -> None:
        """Take back what was placed before the commit point, and remove the rest."""
        _take_back(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.handle is not None:
            with suppress(OSError):
                os.close(self.handle)


def refuse_existing(target: Path, *, replaceable: bool = True) -> None:
    """Refuse a target that is there already; whoever asks for it may replace it, unless that is never possible."""
    if os.path.lexists(target):
        fact = f"'{target}' already exists"
        asked = " say replace=True (--if-exists replace)," if replaceable else ""
        raise InputError(fact, f"choose another name,{asked} or remove it first")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, SIGTERM and SIGHUP until the block has ended."""
    held: list[int] = []

    def hold(number: int, _frame: FrameType | None) -> None:
        held.append(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        # None: a handler that was not installed by Python, and could not be put back.
        before = {number: found for number in numbers if (found := signal.getsignal(number)) is not None}
    try:
        for number in before:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(held):
            signal.raise_signal(late)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all that is in it are on the disk."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            sync_file(path)
        elif path.is_dir() and not path.is_symlink():
            sync_folder(path)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; not every system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def recover(path: Path) -> None:
    """Take back what a process that was killed while it replaced `path` has left half done; else nothing is changed."""
    with suppress(OSError), os.scandir(path.parent) as entries:
        left = any(_NAME.fullmatch(entry.name) for entry in entries)
        if left:
            _clean(path.parent)


def _clean(parent: Path) -> None:
    """Remove staging folders whose process is gone; where that cannot be told, they stay."""
    try:
        left = [Path(entry.path) for entry in os.scandir(parent) if _NAME.fullmatch(entry.name)]
    except OSError:
        return  # making the staging folder will say why
    for folder in left:
        handle = opened(folder)
        if handle is None:
            continue
        try:
            if _is_ours(handle) and lock(handle) and _same(folder, os.fstat(handle)):
                _take_back(folder)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)


def _is_ours(handle: int) -> bool:
    """Tell whether nobody else could have put something into the folder: its journal says what to remove."""
    status = os.fstat(handle)
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE


def _take_back(folder: Path) -> None:
    """Bring back targets that have their names already although the commit point was not reached."""
    try:
        journal = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
        commit, made = str(journal["commit"]), {str(name): tuple(value) for name, value in journal["made"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # no journal: no target has its name
    if _identity(folder / commit) != made.get(commit):
        return  # it has its name, and so have all others
    for name, identity in made.items():
        target, back, old = folder.parent / name, folder / name, folder / f"{_OLD}{name}"
        if name != Path(name).name:
            continue
        with suppress(OSError):
            if _identity(target) == identity:
                if os.path.lexists(back):  # they have changed places
                    _put_in_place(back, target)
                else:
                    target.rename(back)
            if os.path.lexists(old) and not os.path.lexists(target):
                old.rename(target)


def _put_in_place(new: Path, target: Path) -> None:
    """Let a new folder have the name of an older one, which takes its place."""
    if not exchange(new, target):
        old = new.with_name(f"{_OLD}{target.name}")
        target.rename(old)
        new.rename(target)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _same(folder: Path, status: os.stat_result) -> bool:
    return _identity(folder) == (status.st_dev, status.st_ino)


def opened(folder: Path) -> int | None:
    """Open a folder to lock it; not every system lets a folder be opened."""
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (OSError, AttributeError):  # Windows opens no folders
        return None
