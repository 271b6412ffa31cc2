"""Values that probably mean missing: 99 far above all other ages, -9 among positive numbers, the word unknown.

They are pointed out with the number of rows and the line that would make them missing; they are never taken silently.
Only values of a fixed list are looked for, so that no message quotes a cell that could be somebody's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from incrowd.errors import counted

_MARKS = ("?", "-", ".", "NA", "N/A", "n/a", "na", "n.a.", "#N/A", "null", "NULL", "None", "k.A.", "k. A.", "k.a.",
          "s/d", "N/D", "n/d", "n.d.", "不明", "無回答", "未回答", "該当なし")  # fmt: skip
_PHRASES = (
    "unknown", "not known", "missing", "not stated", "not available", "not applicable", "no answer", "no response",
    "refused", "don't know", "unspecified", "keine angabe", "unbekannt", "weiß nicht", "keine antwort", "fehlend",
    "inconnu", "inconnue", "non renseigné", "non précisé", "sans réponse", "ne sait pas", "desconocido", "desconocida",
    "sin respuesta", "no consta", "sconosciuto", "non noto", "desconhecido", "onbekend", "okänd", "nieznany",
)  # fmt: skip
WORDS = tuple(
    dict.fromkeys(
        (*_MARKS, *(form for each in _PHRASES for form in (each, each.capitalize(), each.title(), each.upper())))
    )
)
"""Texts that often mean missing."""
_CODES = ("-1", "-2", "-7", "-8", "-9", "-88", "-99", "-999", "-9999", "999", "9999", "99999")  # among names and codes
_NUMBERS = (-1, -2, -7, -8, -9, -88, -99, -999, -9999, 8, 9, 88, 98, 99, 888, 998, 999, 9998, 9999, 99999)
_FEWEST = 3  # rows with a number that are no coincidence
_APART = 0.1  # distance from the other values, as a share of their range
_OFTEN = 5  # times as many rows as any of the values next to it
_NEXT_TO = 10
_FEW_DISTINCT = 2  # other values, without which nothing stands apart
_ONE_DIGIT, _LEAST_GAP = 9, 3  # 9 is a common number: it has to be farther away


@dataclass(frozen=True)
class Suspect:
    """A value of a column that probably means missing.

    Attributes
    ----------
    code
        The value as text.
    rows
        How many rows have it.
    """

    column: str
    code: str
    rows: int

    @property
    def text(self) -> str:
        """Say where it is and in how many rows."""
        return f"{self.code!r} in {counted(self.rows, 'row')}"


def find_suspects(column: pl.Series) -> list[Suspect]:
    """Return the values of a column of numbers or text that probably mean missing."""
    if column.dtype.is_numeric():
        return _among_numbers(column)
    if column.dtype != pl.String:
        return []
    text = column.str.strip_chars(" ")
    found = text.filter(text.is_in([*WORDS, *_CODES]).fill_null(value=False)).value_counts(name="rows")
    rows = dict(found.rows())
    words = [word for word in WORDS if word in rows]
    codes = [code for code in _CODES if rows.get(code, 0) >= _FEWEST]
    return [Suspect(column.name, each, rows[each]) for each in (*words, *codes)]


def line_for(suspects: Sequence[Suspect]) -> str:
    """Return the line of a schema that makes these values missing."""
    return (
        "missing = [" + ", ".join(each.code if _is_number(each.code) else f'"{each.code}"' for each in suspects) + "]"
    )


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _among_numbers(column: pl.Series) -> list[Suspect]:
    counts = column.drop_nulls().value_counts(name="rows").sort(column.name)
    values, rows = counts[column.name], counts["rows"]
    is_code = values.cast(pl.Float64()).is_in(list(map(float, _NUMBERS)))
    others = values.filter(~is_code)
    if len(others) < _FEW_DISTINCT:
        return []
    low, high = float(others.min()), float(others.max())  # type: ignore[arg-type]
    found = []
    for code, n in zip(values.filter(is_code).to_list(), rows.filter(is_code).to_list(), strict=True):
        gap = max(low - code, code - high)
        least = _LEAST_GAP - 1 if 0 < code <= _ONE_DIGIT else 1
        apart = gap > max(_APART * (high - low), least) or (code < 0 <= low)
        if n >= _FEWEST and (apart or (gap > 0 and n >= _OFTEN * _most_near(values, rows, code))):
            found.append(Suspect(column.name, str(int(code)), n))
    return found


def _most_near(values: pl.Series, rows: pl.Series, code: float) -> int:
    near = rows.filter((values != code) & ((values - code).abs() <= _NEXT_TO))
    return int(near.max() or 1)  # type: ignore[arg-type]
