"""Records of a text table: pieces of whole records, each checked before or while it is parsed.

Where nothing is quoted, counting is enough: if a piece has as many delimiters as all of its lines need, and the parser
has found no line with too many, then no line has too few. Only if that fails is each line looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from incrowd.errors import InputError, counted

DELIMITERS = ",;\t|"
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_TOP, _ALIKE = 20, 2  # lines below the first that are looked at; lines that show how a table is divided
_AROUND = 1 << 19  # bytes on either side of the place where text stops being UTF-8


class NotUtf8(Exception):  # noqa: N818 - it is handled
    """Text that is not UTF-8; the sample is for finding out what it is."""

    def __init__(self, problem: InputError, sample: bytes) -> None:
        super().__init__()
        self.problem, self.sample = problem, sample


@dataclass(frozen=True)
class Place:
    """Where a piece starts in its file, so that errors can name a line."""

    path: Path
    line: int
    offset: int
    header: str = ""

    def after(self, data: bytes, n_lines: int) -> Place:
        """Return the place behind a piece."""
        return Place(self.path, self.line + n_lines, self.offset + len(data), self.header)

    def problem(self, data: bytes, position: int, problem: str, hint: str) -> InputError:
        """Return an error that names the line."""
        line = self.line + data.count(b"\n", 0, position)
        fact = f"'{self.path}', line {line}: {problem}"
        return InputError(fact, hint)

    def fail(self, data: bytes, position: int, problem: str, hint: str) -> NoReturn:
        """Raise an error that names the line."""
        raise self.problem(data, position, problem, hint)


@dataclass(frozen=True)
class Piece:
    """Whole records, which were looked at one by one or only counted."""

    place: Place
    data: bytes
    n_records: int
    n_lines: int
    delimiter: str
    n_columns: int
    quoted: bool

    def looked_at(self) -> Piece:
        """Look at each record: raise what is wrong, and leave blank lines out."""
        return _look(self.place, self.data, _Marks.of(self.data, self.delimiter), self.delimiter, self.n_columns)


def pieces(place: Place, stream: BinaryIO, rest: bytes, delimiter: str, n_columns: int, size: int) -> Iterator[Piece]:
    """Cut a stream after whole records and check each piece."""
    ended = False
    while not ended:
        # Reading as much again as is held keeps a record of any length linear.
        chunk = stream.read(max(size, len(rest)))
        ended = not chunk
        data = rest + chunk
        if ended and data and not data.endswith(b"\n"):
            data += b"\n"
        if b'"' in data:
            marks = _Marks.of(data, delimiter)
            whole, rest = data[: marks.end], data[marks.end :]
            piece = _look(place, whole, marks, delimiter, n_columns) if _checked(place, whole) else None
        else:
            end = data.rfind(b"\n") + 1
            whole, rest = data[:end], data[end:]
            piece = _count(place, whole, delimiter, n_columns) if _checked(place, whole) else None
        if piece is not None:
            yield piece
            place = place.after(whole, piece.n_lines)
    if rest:
        place.fail(rest, 0, "a quote is never closed", "close the quote, or double it if it belongs to the text")


def check_bytes(place: Place, data: bytes) -> None:
    """Refuse bytes that are not text in UTF-8."""
    if (position := data.find(b"\0")) >= 0:
        hint = "check that it is a text file; if it is, name its encoding, such as encoding='utf-16-le'"
        place.fail(data, position, "there is a NUL byte", hint)
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        position = error.start
    else:
        return
    # Outside the handler, because the decoding error carries the data along.
    hint = "name its encoding, such as encoding='cp1252'; if most of it is UTF-8, correct that line"
    problem = place.problem(data, position, f"the text is not UTF-8 (byte {place.offset + position})", hint)
    raise NotUtf8(problem, data[max(0, position - _AROUND) : position + _AROUND])


def _checked(place: Place, data: bytes) -> bool:
    """Check the bytes of a piece, if there are any."""
    if data:
        check_bytes(place, data)
    return bool(data)


def _count(place: Place, data: bytes, delimiter: str, n_columns: int) -> Piece:
    text = np.frombuffer(data, dtype=np.uint8)  # which counts frequent bytes faster than the methods of bytes
    n_lines = int(np.count_nonzero(text == _NEWLINE))
    if n_columns > 1 and np.count_nonzero(text == ord(delimiter)) == n_lines * (n_columns - 1):
        return Piece(place, data, n_lines, n_lines, delimiter, n_columns, quoted=False)
    return _look(place, data, _Marks.of(data, delimiter), delimiter, n_columns)


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


def _look(place: Place, data: bytes, marks: _Marks, delimiter: str, n_columns: int) -> Piece:
    quoted, n_lines = bool(len(marks.opening)), data.count(b"\n")
    _check_quotes(place, data, marks)
    ends = np.flatnonzero(marks.kinds == _NEWLINE)
    widths = np.diff(ends, prepend=-1)
    if (widths == n_columns).all():
        return Piece(place, data, len(widths), n_lines, delimiter, n_columns, quoted)
    text = np.frombuffer(data, dtype=np.uint8)
    stops = marks.positions[ends]
    starts = np.concatenate(([0], stops[:-1] + 1))
    lengths = stops - starts
    # Only a table of one column means something by a blank line; its records all have the right width.
    blank = (lengths == 0) | ((lengths == 1) & (text[starts] == _RETURN))
    wrong = np.flatnonzero((widths != n_columns) & ~blank)
    if len(wrong):
        problem = f"{counted(widths[wrong[0]], 'field')}, but the header has {n_columns}"
        start, stop = int(starts[wrong[0]]), int(stops[wrong[0]])
        place.fail(data, start, problem, _other_delimiter(place.header, data[start:stop].decode(), delimiter))
    keep = np.ones(len(text), dtype=bool)
    keep[stops[blank]] = keep[starts[blank]] = False
    return Piece(place, text[keep].tobytes(), int((~blank).sum()), n_lines, delimiter, n_columns, quoted)


def _check_quotes(place: Place, data: bytes, marks: _Marks) -> None:
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


def refuse_title(path: Path, rest: bytes) -> None:
    """Refuse a first line that is a title: below it lines are divided, all in the same way."""
    lines = rest[:_AROUND].decode("utf-8", "replace").splitlines()[:_TOP]
    for sign in DELIMITERS:
        counts = [line.count(sign) for line in lines]
        first = next((at for at, count in enumerate(counts) if count), len(counts))
        if len(counts) - first >= _ALIKE and len(set(counts[first:])) == 1:
            name, other = {"\t": "tab"}.get(sign, sign), ";" if sign == "|" else "|"
            fact = f"'{path}', line 1 is one name, and the lines from {first + 2} on are divided by '{name}'"
            hint = f"delete the lines above the column names; if it is one column of text, give delimiter='{other}'"
            raise InputError(fact, hint)


def refuse_delimiter(path: Path, header: str, rest: bytes, taken: str) -> None:
    """Refuse a delimiter that leaves one column, where another one divides the first lines all in the same way."""
    lines = [header, *rest[:_AROUND].decode("utf-8", "replace").splitlines()[:_TOP]]
    for sign in DELIMITERS:
        counts = {line.count(sign) for line in lines}
        if sign != taken and len(lines) > _ALIKE and len(counts) == 1 and counts != {0}:
            name, own = ({"\t": "tab"}.get(each, each) for each in (sign, taken))
            fact = f"'{path}', line 1: '{own}' divides nothing, and '{name}' divides this line and those below it"
            raise InputError(fact, f"give delimiter='{name}', or leave the delimiter out")


def _other_delimiter(header: str, line: str, taken: str) -> str:
    """Say what to do with a line of the wrong width; perhaps another delimiter fits."""
    hint = "complete the line, or quote a field that contains the delimiter"
    for sign in DELIMITERS:
        if sign != taken and header.count(sign) == line.count(sign) > 0:
            name = {"\t": "tab"}.get(sign, sign)
            return f"{hint}; if '{name}' separates the fields, give delimiter='{name}'"
    return hint
