"""Text tables with a delimiter (CSV, TSV, gzipped or not), read in batches of whole records.

A reader that guesses its way past a damaged file moves values into other columns, so every batch is checked before it
is parsed: bytes, quotes, and the number of fields in each record. What comes out is text; `columns` finds the types.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import InputError, counted
from incrowd.io.columns import check_names
from incrowd.io.reading import Note, Reading

# Large enough for the parser to use all cores, small enough for a bar that moves.
_BATCH = 1 << 23
_BOM = b"\xef\xbb\xbf"
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_DELIMITERS = ",;\t"


def read_delimited(
    path: Path, reading: Reading, report: Callable[[int], None], _note: Note, *, delimiter: str | None = None
) -> pl.DataFrame:
    """Read a text table; all columns are text and an empty cell without quotes is null.

    Parameters
    ----------
    path
        A file; gzipped if its name ends in `.gz`.
    reading
        How it is written.
    report
        Called with the number of bytes read from disk so far.
    delimiter
        The delimiter; by default the one of comma, semicolon and tab that occurs most often in the header.
    """
    with path.open("rb") as raw, _unpacked(path, raw) as stream:
        header, rest = _split_header(path, stream)
        text = header.removeprefix(_BOM).decode().rstrip("\r\n")
        delimiter = reading.delimiter or delimiter or _detect_delimiter(text)
        names = _header_names(path, text, delimiter)
        first_line = 1 + header.count(b"\n")
        parts = []
        for batch in _batches(_Place(path, first_line, len(header)), stream, rest, delimiter, len(names)):
            parts.append(_parse(path, batch, names, delimiter))
            report(raw.tell())
    if not any(part.height for part in parts):
        fact = f"'{path}' has a header and no rows"
        raise InputError(fact, "check that the export was complete")
    return pl.concat(parts, rechunk=False)


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


@dataclass(frozen=True)
class _Place:
    """Where a batch starts in its file, so that errors can name a line."""

    path: Path
    line: int
    offset: int

    def after(self, batch: bytes) -> _Place:
        return _Place(self.path, self.line + batch.count(b"\n"), self.offset + len(batch))

    def fail(self, batch: bytes, position: int, problem: str, hint: str) -> NoReturn:
        line = self.line + batch.count(b"\n", 0, position)
        fact = f"'{self.path}', line {line}: {problem}"
        raise InputError(fact, hint)


@dataclass(frozen=True)
class _Batch:
    data: bytes
    n_records: int


@contextmanager
def _unpacked(path: Path, raw: BinaryIO) -> Iterator[BinaryIO]:
    if path.suffix.lower() != ".gz":
        yield raw
        return
    try:
        with gzip.GzipFile(fileobj=raw) as stream:
            yield cast("BinaryIO", stream)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        fact = f"'{path}' is not a complete gzip file"
        raise InputError(fact, "test it with gzip -t: it may be cut off, or have the wrong suffix") from None


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
                _check_bytes(_Place(path, 1, 0), header)
                return header, data[end:]
            start = end
    if not data.removeprefix(_BOM).strip():
        fact = f"'{path}' is empty"
        raise InputError(fact, "check that the export was complete")
    _check_bytes(_Place(path, 1, 0), data)
    if data.count(b'"') % 2:
        fact = f"'{path}', line 1: a quote in the header is never closed"
        raise InputError(fact, "close the quote, or double it if it belongs to the name")
    return data, b""


def _detect_delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


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


def _batches(place: _Place, stream: BinaryIO, rest: bytes, delimiter: str, n_columns: int) -> Iterator[_Batch]:
    """Cut the stream after whole records and check each piece."""
    ended = False
    while not ended:
        # Reading as much again as is held keeps a record of any length linear.
        chunk = stream.read(max(_BATCH, len(rest)))
        ended = not chunk
        data = rest + chunk
        if ended and data and not data.endswith(b"\n"):
            data += b"\n"
        marks = _Marks.of(data, delimiter)
        whole, rest = data[: marks.end], data[marks.end :]
        if whole:
            _check_bytes(place, whole)
            yield _checked(place, whole, marks, n_columns)
            place = place.after(whole)
    if rest:
        place.fail(rest, 0, "a quote is never closed.", "Close the quote, or double it if it belongs to the text.")


@dataclass(frozen=True)
class _Marks:
    """What structures a piece of text: the delimiters and newlines outside quotes, and the quotes in pairs.

    `end` is where the last whole record ends.
    """

    positions: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    opening: npt.NDArray[np.int64]
    closing: npt.NDArray[np.int64]
    end: int

    @classmethod
    def of(cls, data: bytes, delimiter: str) -> _Marks:
        text = np.frombuffer(data, dtype=np.uint8)
        found = (text == ord(delimiter)) | (text == _NEWLINE)
        quoted = b'"' in data
        if quoted:
            found |= text == _QUOTE
        positions = np.flatnonzero(found)
        kinds = text[positions]
        opening = closing = np.empty(0, dtype=np.int64)
        if quoted:
            is_quote = kinds == _QUOTE
            # Only odd or even matters, so a small counter may wrap around.
            outside = np.cumsum(is_quote, dtype=np.uint8) % 2 == 0
            quotes = positions[is_quote]
            opening, closing = quotes[::2], quotes[1::2]
            structure = outside & ~is_quote
            positions, kinds = positions[structure], kinds[structure]
        newlines = positions[kinds == _NEWLINE]
        return cls(positions, kinds, opening, closing, int(newlines[-1]) + 1 if len(newlines) else 0)


def _check_bytes(place: _Place, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and place.offset == 0:
        fact = f"'{place.path}' is UTF-16 text"
        raise InputError(fact, "convert it to UTF-8, for example with: iconv -f UTF-16 -t UTF-8")
    if (position := data.find(b"\0")) >= 0:
        hint = "check that it is a text file; remove the NUL bytes, or convert it to UTF-8 with iconv"
        place.fail(data, position, "there is a NUL byte", hint)
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        problem = f"the text is not UTF-8 (byte {place.offset + error.start})"
        hint = "convert it, for example with: iconv -f LATIN1 -t UTF-8"
        position = error.start
    else:
        return
    # Outside the handler, because the decoding error carries the data along.
    place.fail(data, position, problem, hint)


def _checked(place: _Place, data: bytes, marks: _Marks, n_columns: int) -> _Batch:
    _check_quotes(place, data, marks)
    ends = np.flatnonzero(marks.kinds == _NEWLINE)
    widths = np.diff(ends, prepend=-1)
    if (widths == n_columns).all():
        return _Batch(data, len(widths))
    text = np.frombuffer(data, dtype=np.uint8)
    stops = marks.positions[ends]
    starts = np.concatenate(([0], stops[:-1] + 1))
    lengths = stops - starts
    # Only a table of one column means something by a blank line; its records all have the right width.
    blank = (lengths == 0) | ((lengths == 1) & (text[starts] == _RETURN))
    wrong = np.flatnonzero((widths != n_columns) & ~blank)
    if len(wrong):
        problem = f"{counted(widths[wrong[0]], 'field')}, but the header has {n_columns}"
        hint = "complete the line, or quote a field that contains the delimiter"
        place.fail(data, int(starts[wrong[0]]), problem, hint)
    keep = np.ones(len(text), dtype=bool)
    keep[stops[blank]] = keep[starts[blank]] = False
    return _Batch(text[keep].tobytes(), int((~blank).sum()))


def _check_quotes(place: _Place, data: bytes, marks: _Marks) -> None:
    if not len(marks.opening):
        return
    text = np.frombuffer(data, dtype=np.uint8)
    # Beyond the last whole record there may be an opening quote whose partner was not read yet.
    opening, closing = (quotes[quotes < len(text)] for quotes in (marks.opening, marks.closing))
    is_border = np.zeros(256, dtype=bool)
    is_border[[*np.unique(marks.kinds), _QUOTE]] = True
    good_before = is_border[text[opening - 1]] | (opening == 0)
    is_border[_RETURN] = True
    good_after = is_border[text[closing + 1]]
    bad = np.concatenate((opening[~good_before], closing[~good_after]))
    if len(bad):
        hint = "put the whole field in quotes and double the quotes inside it"
        place.fail(data, int(bad.min()), "a quote stands in the middle of a field", hint)


def _parse(path: Path, batch: _Batch, names: list[str], delimiter: str) -> pl.DataFrame:
    schema = dict.fromkeys(names, pl.String)
    if not batch.n_records:
        return pl.DataFrame(schema=schema)
    try:
        part = pl.read_csv(batch.data, has_header=False, schema=schema, separator=delimiter, infer_schema=False)
    except pl.exceptions.PolarsError:
        part = pl.DataFrame()
    if part.height != batch.n_records:
        fact = f"'{path}' could not be parsed"
        raise InputError(fact, "write it again with a common tool, or convert it to Parquet")
    return part
