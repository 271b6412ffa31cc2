"""Files as streams of bytes: plain, packed (gzip, bzip2, xz, Zstandard, zip with one member), or standard input."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from incrowd.errors import InputError, MissingDependencyError

STANDARD_INPUT = "-"
_NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard", ".zip": "zip"}
PACKINGS = tuple(_NAMES)
"""Suffixes of files that hold one packed file."""
_TESTS = {".gz": "gzip -t", ".bz2": "bzip2 -t", ".xz": "xz -t", ".zst": "zstd -t", ".zip": "unzip -t"}
_HIDDEN = ("__MACOSX/", ".")  # what a system adds to an archive


class Opened:
    """A file that can be opened more than once, and knows how much of it was read.

    Parameters
    ----------
    path
        The file; ``-`` is standard input, which is kept in memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: BinaryIO | None = None
        self._kept: bytes | None = None

    @property
    def done(self) -> int:
        """Bytes read from disk so far."""
        return 0 if self._raw is None or self._raw.closed else self._raw.tell()

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """Yield the unpacked bytes from the beginning."""
        suffix = self.path.suffix.lower()
        with ExitStack() as stack:
            self._raw = stack.enter_context(self._open())
            if suffix not in _NAMES:
                yield self._raw
                return
            try:
                yield stack.enter_context(_UNPACK[suffix](self._raw, self.path))
            except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:
                damaged = not isinstance(error, OSError) or isinstance(error, gzip.BadGzipFile) or error.errno is None
                if not damaged:
                    raise
            except Exception as error:
                if type(error).__name__ not in ("ZstdError", "_ZstdError"):
                    raise
            else:
                return
        fact = f"'{self.path}' is not a complete {_NAMES[suffix]} file"
        raise InputError(fact, f"test it with {_TESTS[suffix]}: it may be cut off, or have the wrong suffix")

    def _open(self) -> BinaryIO:
        if str(self.path) != STANDARD_INPUT:
            return self.path.open("rb")
        if self._kept is None:
            self._kept = sys.stdin.buffer.read()
        return io.BytesIO(self._kept)


def member_name(path: Path) -> str:
    """Return the name of the one file in a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _member(archive, path).filename
    except zipfile.BadZipFile:
        fact = f"'{path}' is not a complete zip file"
    raise InputError(fact, f"test it with {_TESTS['.zip']}: it may be cut off, or have the wrong suffix")


def _member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    members = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith(_HIDDEN)]
    if len(members) != 1:
        fact = f"'{path}' holds {len(members)} files, and a packed table is one file"
        raise InputError(fact, "unpack it, and give the folder or the file with the table")
    if members[0].flag_bits & 0x1:
        fact = f"'{path}' is protected by a password"
        raise InputError(fact, "unpack it with its password, and give the file inside")
    return members[0]


def _unzip(raw: BinaryIO, path: Path) -> BinaryIO:
    archive = zipfile.ZipFile(raw)
    return cast("BinaryIO", archive.open(_member(archive, path)))


def _unzstd(raw: BinaryIO, _path: Path) -> BinaryIO:
    try:
        return cast("BinaryIO", importlib.import_module("compression.zstd").ZstdFile(raw))
    except ModuleNotFoundError:  # it is part of Python from 3.14 on
        pass
    try:
        library = importlib.import_module("zstandard")
    except ModuleNotFoundError:
        fact = "Reading Zstandard files needs zstandard, which is not installed"
        raise MissingDependencyError(fact, extra="zstd") from None
    return cast("BinaryIO", io.BufferedReader(_Unzstd(raw, library)))


class _Unzstd(io.RawIOBase):
    """Unpacked Zstandard frames; one that is cut off is an error, which the library's own stream does not raise."""

    def __init__(self, raw: BinaryIO, library: Any) -> None:  # noqa: ANN401 - an optional module
        super().__init__()
        self._raw, self._library = raw, library
        self._frame: Any = None
        self._ready = b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever takes bytes
        """Fill a buffer as far as possible."""
        while not self._ready and self._unpack():
            pass
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _unpack(self) -> bool:
        packed = self._raw.read(1 << 17)
        if not packed:
            if self._frame is not None:
                raise EOFError
            return False
        while packed:
            self._frame = self._frame or self._library.ZstdDecompressor().decompressobj()
            self._ready += self._frame.decompress(packed)
            packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return True


_UNPACK: dict[str, Callable[[BinaryIO, Path], Any]] = {
    ".gz": lambda raw, _: gzip.GzipFile(fileobj=raw),
    ".bz2": lambda raw, _: bz2.BZ2File(raw),
    ".xz": lambda raw, _: lzma.LZMAFile(raw),  # noqa: SIM115 - closed by the exit stack
    ".zst": _unzstd,
    ".zip": _unzip,
}
