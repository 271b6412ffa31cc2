"""Pieces of a text table to columns: text, or at once the types that its first rows promise.

A number that is parsed where it stands is never kept as text: that halves time and memory. What comes out is what
`columns.guessed` makes of the text, for every cell: the parser takes four things for numbers that are not (leading
zeros, tabs, "nan" and "inf", whole numbers beyond 64 bits), and a piece in which one of them stands is read as text
first. A column that breaks its promise anywhere is text in that piece; whoever joins the pieces reads it once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import InputError
from incrowd.io.columns import GUESSES, SAMPLE, converted, fits, trimmed, without_tokens
from incrowd.io.reading import Reading
from incrowd.io.records import Piece

_WORTH_IT = 1 << 18  # bytes of a piece: below, finding types afterwards takes no time
_DIRECT: dict[str, type[pl.DataType]] = {"int": pl.Int64, "float": pl.Float64, "date": pl.Date}
_BLOCK = 1 << 17  # bytes that are looked at together, and whose masks stay in the processor's cache
_LARGEST = 1e18  # below, a float that was written as a whole number has at most 18 digits
_NEWLINE, _RETURN, _SPACE, _DASH, _ZERO, _ONE, _NINE = b"\n\r -019"
_DATE = 11  # bytes from the end of a field to the end of a date behind it
_BEFORE = np.zeros(256, dtype=bool)
_BEFORE[list(b' "+-')] = True  # what may stand before the first digit of a number


class Parser:
    """What turns pieces of one table into frames; threads may share it.

    Parameters
    ----------
    names
        All columns of the table.
    delimiter
        What divides them.
    only
        The columns that are wanted; by default all.
    """

    def __init__(self, names: list[str], delimiter: str, only: list[str] | None = None) -> None:
        self._schema = dict.fromkeys(names, pl.String)
        self._delimiter = delimiter
        self._only = None if only is None else [names.index(name) for name in only]
        self._promised: dict[str, str] = {}
        self._direct: frozenset[str] = frozenset()
        self._tokens: list[str] = []
        self._clear: set[str] = set()  # kinds that no token has

    def promise(self, piece: Piece, reading: Reading) -> None:
        """Take from the first rows which types the columns of the table have; a short table is left as text."""
        if len(piece.data) < _WORTH_IT or (rows := self._read(piece, {}, SAMPLE)) is None:
            return
        self._tokens = ["", *reading.missing_tokens]
        words = pl.Series(self._tokens, dtype=pl.String())
        self._clear = {kind for kind, parse in GUESSES.items() if parse(words).null_count() == len(words)}
        kept = {*reading.types, *reading.canonical, *reading.missing_codes}
        for text in rows:
            clear = trimmed(without_tokens(text, self._tokens))
            if text.name in kept or clear.null_count() == len(clear):
                continue
            kind = next((name for name, parse in GUESSES.items() if fits(clear, parse(clear))), None)
            if kind is not None:
                self._promised[text.name] = kind
        self._direct = self._plain(rows, self._promised)

    def parse(self, piece: Piece) -> pl.DataFrame:
        """Return the rows of a piece."""
        direct = self._direct
        part = self._at_once(piece, direct)
        if part is None:
            part = self._text(piece)
            self._direct &= self._fewer(direct, self._plain(part, direct))
            direct = frozenset()
        return part.with_columns(self._convert(part[name]) for name in self._promised if name not in direct)

    def _fewer(self, direct: frozenset[str], plain: frozenset[str]) -> frozenset[str]:
        """Return what the parser is trusted with after a piece that was parsed twice, so that there are few of them."""
        numbers = frozenset(name for name in direct if self._promised[name] != "date")
        return plain if plain != direct else numbers if numbers != direct else frozenset()

    def _convert(self, text: pl.Series) -> pl.Series:
        kind = self._promised[text.name]
        result = converted(text, kind, ()) if kind in self._clear else None
        if result is None:
            result = converted(text, kind, self._tokens)
        return text if result is None else result

    def _plain(self, rows: pl.DataFrame, names: Iterable[str]) -> frozenset[str]:
        """Return the columns of numbers that the parser can read: none is missing by a word, padded or too long."""
        kinds = {name: self._promised[name] for name in names}
        fit = (name for name, kind in kinds.items() if kind in _DIRECT and kind in self._clear)
        return frozenset(name for name in fit if converted(rows[name], kinds[name], ()) is not None)

    def _read(
        self, piece: Piece, numbers: dict[str, type[pl.DataType]], n_rows: int | None = None
    ) -> pl.DataFrame | None:
        try:
            return pl.read_csv(
                piece.data,
                has_header=False,
                columns=self._only,
                schema={**self._schema, **numbers},
                separator=self._delimiter,
                infer_schema=False,
                quote_char='"' if piece.quoted else None,
                n_rows=n_rows,
            )
        except pl.exceptions.PolarsError:
            return None

    def _text(self, piece: Piece) -> pl.DataFrame:
        for _ in range(2):
            if not piece.n_records:
                empty = pl.DataFrame(schema=self._schema)
                return empty if self._only is None else empty[:, self._only]
            part = self._read(piece, {})
            if part is not None and part.height == piece.n_records:
                return part
            piece = piece.looked_at()  # says what is wrong with it, and leaves blank lines out
        fact = f"'{piece.place.path}' could not be parsed"
        raise InputError(fact, "write it again with a common tool, or convert it to Parquet")

    def _at_once(self, piece: Piece, direct: frozenset[str]) -> pl.DataFrame | None:
        """Parse numbers and dates where they stand; None if a cell may not be what the parser makes of it."""
        if not direct or (self._delimiter != "\t" and b"\t" in piece.data):
            return None
        part = self._read(piece, {name: _DIRECT[self._promised[name]] for name in direct})
        if part is None or part.height != piece.n_records:
            return None
        by_kind = {kind: [part[name] for name in direct if self._promised[name] == kind] for kind in _DIRECT}
        fields = _Fields.of(piece, list(self._schema), with_dates=bool(by_kind["date"]))
        if not direct.isdisjoint(fields.padded()) or not all(_moderate(column) for column in by_kind["float"]):
            return None
        if by_kind["date"]:
            n_dates = sum(len(column) - column.null_count() for column in by_kind["date"])
            other = any(_any_date(column) for column in part if column.dtype == pl.String)
            if other or fields.n_dates != n_dates or not fields.are_all:
                return None
        return part


@dataclass(frozen=True)
class _Fields:
    """What the bytes of a piece say about its fields.

    `low` is where fields start that begin with a sign, space, quote or zero, and `n_dates` the number of fields of the
    form 1998-03-22: there the parser is right or fails, while it may read others otherwise than we do. They are all
    fields unless there is a delimiter among quotes.
    """

    names: list[str]
    text: npt.NDArray[np.uint8]
    low: npt.NDArray[np.int64]
    n_dates: int
    signs: list[int]
    are_all: bool

    @classmethod
    def of(cls, piece: Piece, names: list[str], *, with_dates: bool) -> _Fields:
        text = np.frombuffer(piece.data, dtype=np.uint8)
        signs = [ord(piece.delimiter), _NEWLINE]
        marks = [sign for sign, byte in ((_RETURN, b"\r"), (_SPACE, b" ")) if byte in piece.data]
        low = [np.zeros(int(text[0] < _ONE), dtype=np.int64)]  # the first field has no end in front
        head = np.frombuffer(b"\n" + piece.data[:_DATE], dtype=np.uint8)
        n_dates, n_fields = _count_dates(head, _any_of(head, signs), marks) if with_dates else 0, 0
        for start in range(0, len(text), _BLOCK):
            block = text[start : start + _BLOCK + _DATE]
            ends = _any_of(block, signs)
            starts = ends[: min(_BLOCK, len(block) - 1)]
            low.append(np.flatnonzero(starts & (block[1 : len(starts) + 1] < _ONE)) + start + 1)
            n_dates += _count_dates(block, ends, marks) if with_dates else 0
            n_fields += int(np.count_nonzero(ends[:_BLOCK])) if piece.quoted else 0
        found = np.concatenate(low)
        if with_dates:  # of which the year must not start with a sign or zero
            first, second = (text[np.minimum(found + step, len(text) - 1)] == _DASH for step in (4, 7))
            n_dates -= int(np.count_nonzero(first & second))
        are_all = not piece.quoted or n_fields == piece.n_records * len(names)
        return cls(names, text, found, n_dates, signs, are_all)

    def padded(self) -> list[str]:
        """Return the columns in which a number starts with a zero before another digit; all of them if it may be."""
        at = self.low[_starts_with_zero(self.text, self.low)]
        if not len(at) or not self.are_all:
            return self.names if len(at) else []
        ends = np.flatnonzero(_any_of(self.text, self.signs))
        columns = np.searchsorted(ends, at) % len(self.names)
        return [self.names[column] for column in np.unique(columns)]


def _count_dates(block: npt.NDArray[np.uint8], ends: npt.NDArray[np.bool_], marks: list[int]) -> int:
    n = len(block) - _DATE
    if n <= 0:
        return 0
    last = ends | (block == _RETURN) if _RETURN in marks else ends
    dates = ends[:n] & (block[5 : n + 5] == _DASH) & (block[8 : n + 8] == _DASH) & last[_DATE : n + _DATE]
    if _SPACE in marks:
        dates &= (block[6 : n + 6] != _SPACE) & (block[9 : n + 9] != _SPACE)
    return int(np.count_nonzero(dates))


def _any_of(text: npt.NDArray[np.uint8], signs: list[int]) -> npt.NDArray[np.bool_]:
    return np.asarray((text == signs[0]) | (text == signs[1]))


def _starts_with_zero(text: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    at = starts.copy()
    moving = np.flatnonzero(_BEFORE[text[at]])
    while len(moving):
        at[moving] += 1  # the last byte of a piece is a newline, so none moves beyond it
        moving = moving[_BEFORE[text[at[moving]]]]
    zero = text[at] == _ZERO
    after = text[at + zero]
    return np.asarray(zero & (after >= _ZERO) & (after <= _NINE))


def _any_date(text: pl.Series) -> bool:
    is_long = text.str.len_bytes() == _DATE - 1
    return is_long.any() and bool(text.filter(is_long).str.contains(r"^\d{4}-\d{2}-\d{2}$").any())


def _moderate(column: pl.Series) -> bool:
    borders = [border for border in (column.min(), column.max()) if isinstance(border, float)]
    return not column.is_nan().any() and all(abs(border) < _LARGEST for border in borders)
