"""Text tables with a delimiter (CSV, TSV, packed or not), read in batches of whole records.

A reader that guesses its way past a damaged file moves values into other columns, so every batch is checked: bytes,
quotes, and the number of fields in each record (`records`). What comes out is text; `text_types` finds the types.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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
from incrowd.io.reading import Findings, Reading
from incrowd.io.records import DELIMITERS, NotUtf8, Piece, Place, check_bytes, pieces, refuse_delimiter, refuse_title

# Large enough for the parser to use all cores, small enough for the processor's cache: 8 MB took a sixth longer.
_BATCH = 1 << 22
_BOM = b"\xef\xbb\xbf"
_PARSERS = 3  # two cores are busier with three: 5 M rows took 0.78 s, 0.82 s with two and 0.95 s with one
_WAITING = 8  # batches that are parsed while the next ones are read and checked


def read_delimited(
    path: Path, reading: Reading, report: Callable[[int], None], findings: Findings, *, delimiter: str | None = None
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
    """
    opened = Opened(path)
    encoding = None if reading.encoding is None else check_encoding(reading.encoding)
    if encoding is None:
        with opened.stream() as stream:
            encoding = marked_encoding(stream.read(4)) or "utf-8"
        if not is_utf8(encoding):
            findings.take("encoding", encoding, f"'{path}' was read as {say_encoding(encoding)}")
    sign = reading.delimiter or delimiter
    problem: InputError
    try:
        return _read(opened, encoding, sign, report, findings)
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
    return _read(opened, other, sign, report, findings)


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
        yield from _parts(opened, encoding, sign, lambda _done: None, findings)
    except NotUtf8 as found:
        problem = found.problem
    else:
        return
    raise problem


def _read(
    opened: Opened, encoding: str, delimiter: str | None, report: Callable[[int], None], findings: Findings
) -> pl.DataFrame:
    return pl.concat(_parts(opened, encoding, delimiter, report, findings), rechunk=False)


def _parts(
    opened: Opened, encoding: str, delimiter: str | None, report: Callable[[int], None], findings: Findings
) -> Iterator[pl.DataFrame]:
    path = opened.path
    with opened.stream() as raw, ThreadPoolExecutor(_PARSERS) as parser:
        stream = raw if is_utf8(encoding) else cast("BinaryIO", Recoder(raw, encoding, str(path)))
        header, rest = _split_header(path, stream)
        text = header.removeprefix(_BOM).decode().rstrip("\r\n")
        is_given = delimiter is not None
        delimiter = delimiter or _detect_delimiter(text)
        names = _header_names(path, text, delimiter)
        if len(names) == 1 and not is_given:
            refuse_title(path, rest)
        if len(names) == 1 and is_given:
            refuse_delimiter(path, text, rest, delimiter)
        place = Place(path, 1 + header.count(b"\n"), len(header), text)
        waiting: deque[Future[pl.DataFrame]] = deque()
        n_lines = n_rows = 0
        for piece in pieces(place, stream, rest, delimiter, len(names), _BATCH):
            n_lines += piece.n_lines
            waiting.append(parser.submit(_parse, piece, names, delimiter))
            if len(waiting) > _WAITING:
                part = waiting.popleft().result()
                n_rows += part.height
                yield part
            report(opened.done)
        while waiting:
            part = waiting.popleft().result()
            n_rows += part.height
            yield part
    if not n_rows:
        fact = f"'{path}' has a header and no rows"
        raise InputError(fact, "check that the export was complete")
    findings.first_line = place.line if n_rows == n_lines else None


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


def _parse(piece: Piece, names: list[str], delimiter: str) -> pl.DataFrame:
    schema = dict.fromkeys(names, pl.String)
    for _ in range(2):
        if not piece.n_records:
            return pl.DataFrame(schema=schema)
        quote = '"' if piece.quoted else None
        try:
            part = pl.read_csv(
                piece.data, has_header=False, schema=schema, separator=delimiter, infer_schema=False, quote_char=quote
            )
        except pl.exceptions.PolarsError:
            part = pl.DataFrame()
        if part.height == piece.n_records:
            return part
        piece = piece.looked_at()  # says what is wrong with it, and leaves blank lines out
    fact = f"'{piece.place.path}' could not be parsed"
    raise InputError(fact, "write it again with a common tool, or convert it to Parquet")
