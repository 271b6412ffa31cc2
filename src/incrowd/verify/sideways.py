"""What may not leave the house by a side door: untouched columns that were touched, or that tell too much."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.verify.compare import as_text, equal_values, is_comparable, one_to_one
from incrowd.verify.domain import Array, without_tokens
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.verdict import Findings

_PROBE = 64
_SOME_ROWS = 10
_MANY_ROWS = 20
_NEARLY_UNIQUE = 0.9


def check_other(findings: Findings, claims: Claims, payload: Payload, original: pl.DataFrame, rows: Array) -> None:
    """Columns that are kept as they are hold their originals' values, and tell no more than the release does."""
    problems = []
    for name in claims.other:
        column, own = payload.frame[name], original[name].gather(rows)
        same = equal_values(column, own)
        if not same.all():
            # a reader that knew the tokens has made them missing
            same |= equal_values(column, without_tokens(own, claims.tokens))
        problems += wrong_rows(~same, f"have a value of {name!r} that is not their original's")
        problems += _told(claims, payload, name, original, rows)
    unique = [name for name in claims.other if is_nearly_unique(payload.frame[name])]
    noted = f"; nearly unique, so be sure that nobody knows them: {', '.join(map(repr, unique))}" if unique else ""
    problems = [*problems, noted.removeprefix("; ")] if problems and noted else problems
    findings.judge("other columns", problems, f"{len(claims.other)} columns as they came{noted}")


def is_nearly_unique(column: pl.Series) -> bool:
    """Tell whether a column has a value of its own for nearly every row."""
    return len(column) >= _MANY_ROWS and column.n_unique() > _NEARLY_UNIQUE * len(column)


def _told(claims: Claims, payload: Payload, name: str, original: pl.DataFrame, rows: Array) -> list[str]:
    """Say which generalized column, or sensitive column in distributions, an untouched column gives away."""
    if len(rows) < _SOME_ROWS:
        return []  # in a few rows columns are alike by chance
    cells = payload.cells
    hidden = [(q.name, 3) for m, q in enumerate(claims.quasi) if (cells.lo[m] < cells.hi[m]).any()]
    if claims.sensitive is not None and claims.sensitive.form == "counts":
        hidden.append((claims.sensitive.name, 2))
    column = payload.frame[name]
    told = [
        secret
        for secret, least in hidden
        if _may_be(_first(column), _first(original[secret], rows))
        and (_repeats(column, original[secret], rows) or _renames(column, original[secret], rows, least))
    ]
    return [f"column {name!r} tells the originals of {secret!r}" for secret in told]


def _first(column: pl.Series, rows: Array | None = None) -> list[object]:
    """Return a few values of a column, none if they cannot be compared with others."""
    if not is_comparable(column.dtype):
        return []
    return (column[:_PROBE] if rows is None else column.gather(rows[:_PROBE])).to_list()


def _may_be(values: list[object], others: list[object]) -> bool:
    """Tell whether the first values allow that a column is the hidden one, by its own or by other names."""
    if not values or not others:
        return False
    return len(set(values)) == len(set(others)) == len(set(zip(values, others, strict=True)))


def check_identifiers(
    findings: Findings, claims: Claims, frame: pl.DataFrame, original: pl.DataFrame, rows: Array | None
) -> None:
    """No published column repeats a column of the original that was not announced."""
    announced = {*(q.name for q in claims.quasi), *claims.other, *([claims.sensitive.name] if claims.sensitive else [])}
    hidden = [c for c in original.columns if c not in announced and is_comparable(original[c].dtype)]
    codes = {f"{q.name}{end}" for q in claims.quasi for end in ("", ".lo", ".hi")}
    counts = set(claims.sensitive.columns) if claims.sensitive and claims.sensitive.form == "counts" else set()
    firsts = {secret: _first(original[secret], rows) for secret in hidden}
    problems = []
    for name in (c for c in frame.columns if c not in codes | counts):
        first = _first(frame[name])
        for secret in hidden:
            known = secret in claims.dropped
            if rows is not None:
                repeats = _may_be(first, firsts[secret]) and _repeats(frame[name], original[secret], rows)
            else:
                # numbers of equal range may be anything, unless the manifest itself says that they were to go
                repeats = (
                    is_comparable(frame[name].dtype)
                    and (known or original[secret].dtype == pl.String)
                    and repeats_shuffled(frame[name], original[secret])
                )
            if repeats:
                problems.append(f"column {name!r} repeats the {'dropped' if known else 'unreleased'} column {secret!r}")
    lost = len(set(claims.dropped) - set(original.columns))
    unseen = f"; {lost} dropped columns are not in the original that was given" if lost else ""
    findings.judge("identifiers", problems, f"no column repeats one of {len(hidden)} unreleased ones{unseen}")


def _repeats(column: pl.Series, hidden: pl.Series, rows: Array) -> bool:
    """Tell whether a column is the hidden one; a constant says nothing about anybody."""
    own = hidden.gather(rows)
    return own.n_unique() > 1 and bool(equal_values(column, own).all())


def _renames(column: pl.Series, hidden: pl.Series, rows: Array, least: int) -> bool:
    """Tell whether a column is the hidden one under other names, too often for it to be chance."""
    own = hidden.gather(rows)
    return len(own) >= _MANY_ROWS and least <= own.n_unique() <= len(own) // 2 and one_to_one(column, own)


def repeats_shuffled(column: pl.Series, hidden: pl.Series) -> bool:
    """Tell whether a column holds values of a hidden one that tells people apart, in whatever order."""
    if hidden.n_unique() <= max(1, len(hidden) // 2) or column.n_unique() <= max(1, len(column) // 2):
        return False
    return bool(np.all(as_text(column).is_in(as_text(hidden).implode(), nulls_equal=True).to_numpy()))
