"""Text tables with a delimiter (CSV, TSV, packed or not), read in batches of whole records.

A reader that guesses its way past a damaged file moves values into other columns, so every batch is checked: bytes,
quotes, and the number of fields in each record (`records`). What comes out is text, whose types `text_types` finds, or,
in large files, columns that `parsing` has given the same types at once.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

import polars as pl

from incrowd.errors import InputError
from incrowd.io.columns import check_names
from incrowd.io.encodings import (
    SAMPLE,
    Recoder,
    check_encoding,
    find_encoding,
    is_utf8,
    marked_encoding,
    say_encoding,
)
from incrowd.io.opening import Opened
from incrowd.io.parsing import Parser
from incrowd.io.reading import Findings, Reading
from incrowd.io.records import DELIMITERS, NotUtf8, Place, check_bytes, pieces, refuse_delimiter, refuse_title

# Large enough for the parser to use all cores, small enough for the processor's cache: 8 MB took a sixth longer.
_BATCH = 1 << 22
_BOM = b"\xef\xbb\xbf"
_PARSERS = 4  # two cores are busier with four: 5 M rows took 0.58 s, 0.67 s with three and 0.79 s with two
_WAITING = 8  # batches that are parsed while the next ones are read and checked


def read_delimited(
    path: Path,
    reading: Reading,
    report: Callable[[int], None],
    findings: Findings,
    *,
    delimiter: str | None = None,
    typed: bool = False,
) -> pl.DataFrame:
    """Read a text table; all columns are text and an empty cell without quotes is null.

    Parameters
    ----------
    path
        A file, packed if its name says so; ``-`` is standard input.
    reading
        How it is written.
    report
        Called with the number of bytes read from disk so far.
    findings
        Told about the encoding, if it is not UTF-8.
    delimiter
        The delimiter; by default the one of comma, semicolon, tab and bar that occurs most often in the header.
    typed
        Give columns that `text_types.find_types` makes numbers or dates of their types at once, where that is faster.
    """

    def read(encoding: str) -> pl.DataFrame:
        table = _Table(opened, encoding, reading.delimiter or delimiter, findings)
        return table.read_typed(report, reading) if typed else table.read(report)

    opened = Opened(path)
    encoding = None if reading.encoding is None else check_encoding(reading.encoding)
    if encoding is None:
        with opened.stream() as stream:
            encoding = marked_encoding(stream.read(4)) or "utf-8"
        if not is_utf8(encoding):
            findings.take("encoding", encoding, f"'{path}' was read as {say_encoding(encoding)}")
    problem: InputError
    try:
        return read(encoding)
    except NotUtf8 as found:
        problem, near = found.problem, found.sample
    # Outside the handler, because the decoding error carries the data along.
    other = None
    if reading.encoding is None:
        with opened.stream() as stream:
            other = find_encoding(stream.read(SAMPLE) + b"\n" + near)
    if other is None:
        raise problem
    text = f"'{path}' is not UTF-8 and was read as {say_encoding(other)}; give encoding='{other}' to be sure"
    findings.take("encoding", other, text)
    return read(other)


def text_batches(path: Path, reading: Reading, findings: Findings) -> Iterator[pl.DataFrame]:
    """Yield the rows of a text table a few megabytes at a time; all columns are text.

    An encoding that is neither UTF-8 nor marked in the file must be given: to find it, the whole file is read.
    """
    opened = Opened(path)
    encoding = None if reading.encoding is None else check_encoding(reading.encoding)
    if encoding is None:
        with opened.stream() as stream:
            encoding = marked_encoding(stream.read(4)) or "utf-8"
    sign = reading.delimiter or ("\t" if ".tsv" in path.suffixes else None)
    problem: InputError
    try:
        yield from _Table(opened, encoding, sign, findings).parts(lambda _done: None)
    except NotUtf8 as found:
        problem = found.problem
    else:
        return
    raise problem


@dataclass(frozen=True)
class _Table:
    """A text table whose encoding is known, and how it is to be read."""

    opened: Opened
    encoding: str
    delimiter: str | None
    findings: Findings

    def read(self, report: Callable[[int], None]) -> pl.DataFrame:
        """Return all rows as text."""
        return pl.concat(self.parts(report), rechunk=False)

    def read_typed(self, report: Callable[[int], None], reading: Reading) -> pl.DataFrame:
        """Return all rows, and columns of numbers and dates as such if all of their cells are some."""
        parts = list(self.parts(report, reading))
        torn = [name for name, dtype in parts[0].schema.items() if any(part.schema[name] != dtype for part in parts)]
        frame = pl.concat((part.drop(torn) for part in parts), rechunk=False)
        n_rows, names = sum(part.height for part in parts), parts[0].columns
        del parts

        def text_again(wanted: list[str]) -> pl.DataFrame:
            text = pl.concat(self.parts(lambda _done: None, only=wanted), rechunk=False)
            if text.height != n_rows:
                fact = f"'{self.opened.path}' has changed while it was read"
                raise InputError(fact, "read it again when nothing writes to it")
            return text

        self.findings.text_again = text_again
        return pl.concat([frame, text_again(torn)], how="horizontal").select(names) if torn else frame

    def parts(
        self,
        report: Callable[[int], None],
        reading: Reading | None = None,
        *,
        only: list[str] | None = None,
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows a few megabytes at a time: text, or with a reading the types that the first rows promise."""
        path = self.opened.path
        with self.opened.stream() as raw, ThreadPoolExecutor(_PARSERS) as threads:
            stream = raw if is_utf8(self.encoding) else cast("BinaryIO", Recoder(raw, self.encoding, str(path)))
            names, delimiter, place, rest = self._head(stream)
            parser = Parser(names, delimiter, only)
            waiting: deque[Future[pl.DataFrame]] = deque()
            n_lines = n_rows = 0
            for piece in pieces(place, stream, rest, delimiter, len(names), _BATCH):
                if reading is not None and not n_lines:
                    parser.promise(piece, reading)
                n_lines += piece.n_lines
                waiting.append(threads.submit(parser.parse, piece))
                if len(waiting) > _WAITING:
                    part = waiting.popleft().result()
                    n_rows += part.height
                    yield part
                report(self.opened.done)
            while waiting:
                part = waiting.popleft().result()
                n_rows += part.height
                yield part
        if not n_rows:
            fact = f"'{path}' has a header and no rows"
            raise InputError(fact, "check that the export was complete")
        self.findings.first_line = place.line if n_rows == n_lines else None

    def _head(self, stream: BinaryIO) -> tuple[list[str], str, Place, bytes]:
        """Read the header: names, delimiter, where the rows start, and what was read of them."""
        path = self.opened.path
        header, rest = _split_header(path, stream)
        text = header.removeprefix(_BOM).decode().rstrip("\r\n")
        delimiter = self.delimiter or _detect_delimiter(text)
        names = _header_names(path, text, delimiter)
        if len(names) == 1 and self.delimiter is None:
            refuse_title(path, rest)
        if len(names) == 1 and self.delimiter is not None:
            refuse_delimiter(path, text, rest, delimiter)
        return names, delimiter, Place(path, 1 + header.count(b"\n"), len(header), text), rest


def write_delimited(frame: pl.DataFrame, path: Path, *, delimiter: str) -> None:
    """Write a text table; gzipped if the name ends in `.gz`."""
    # Some versions of the writer leave carriage returns bare, and a reader then takes them for the end of a line.
    bare = any((column.dtype == pl.String) and column.str.contains("\r", literal=True).any() for column in frame)
    style: Literal["non_numeric", "necessary"] = "non_numeric" if bare else "necessary"
    with path.open("wb") as handle:
        if path.suffix.lower() != ".gz":
            frame.write_csv(handle, separator=delimiter, quote_style=style)
            return
        # Without name and time, so that equal tables give equal files.
        with gzip.GzipFile(filename="", mode="wb", fileobj=handle, compresslevel=6, mtime=0) as packed:
            frame.write_csv(cast("IO[bytes]", packed), separator=delimiter, quote_style=style)


def _split_header(path: Path, stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read until the header record is complete; return it, and what was read beyond it."""
    data = b""
    start = 0
    while chunk := stream.read(max(_BATCH, len(data))):
        data += chunk
        while (end := data.find(b"\n", start) + 1) > 0:
            # A newline inside quotes belongs to a column's name.
            if data.count(b'"', 0, end) % 2 == 0:
                header = data[:end]
                check_bytes(Place(path, 1, 0), header)
                return header, data[end:]
            start = end
    if not data.removeprefix(_BOM).strip():
        fact = f"'{path}' is empty"
        raise InputError(fact, "check that the export was complete")
    check_bytes(Place(path, 1, 0), data)
    if data.count(b'"') % 2:
        fact = f"'{path}', line 1: a quote in the header is never closed"
        raise InputError(fact, "close the quote, or double it if it belongs to the name")
    return data, b""


def _detect_delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=bare.count)


def _header_names(path: Path, header: str, delimiter: str) -> list[str]:
    if not header.strip():
        fact = f"'{path}', line 1 is blank where the column names should be"
        raise InputError(fact, "put the column names into the first line")
    if "\r" in re.sub(r'"[^"]*"', "", header):
        fact = f"'{path}' ends its lines with carriage returns only"
        raise InputError(fact, "convert the line ends, for example with: tr '\\r' '\\n'")
    try:
        names = next(csv.reader([header], delimiter=delimiter, strict=True), [""])
    except csv.Error:
        fact = f"'{path}', line 1: the quotes of the header are not in order"
        raise InputError(fact, "quote a whole name, and double the quotes inside it") from None
    check_names(names, f"'{path}'")
    return names
