"""Originals and the rows that stand for them, gone through once: the distinct pairs, and how often each occurs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl

from incrowd import io
from incrowd.verify.compare import equal_values, is_comparable, shown_by
from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.packed import Packed
from incrowd.verify.row_map import NOBODY, Deal, Lookup

Progress = Callable[[str, int, int], None]

SAMPLE = 200_000
"""Rows of the sample in which *other* columns are looked at beside those that are hidden."""

SHOWN, NUMBER = "", " "
"""Names that no column has: of what stands for an original, and how often a pair occurs."""

MANY = 2_000_000
"""Pairs that are collected before equal ones are joined; if they are still more than half of it, they are spilled."""


class Spill(Protocol):
    """Where pairs go that do not fit the memory."""

    def add(self, pairs: pl.DataFrame) -> None:
        """Take in more of them."""


@dataclass
class Pairs:
    """What was found out about the originals and their rows.

    Attributes
    ----------
    columns
        All columns of the original.
    n_rows
        Its rows.
    frame
        The coded columns of each distinct pair, as they came.
    shown
        The number of the released row that stands for it, `NOBODY` where none does.
    weights
        How often the pair occurs.
    wrong_other
        How many released rows have another value than their original, by *other* column; none where none has.
    repeats
        Published columns and unreleased ones that are equal in all rows.
    sample, sample_shown
        Some originals, and the numbers of the rows that stand for them.
    spilled
        Whether the pairs are on the disk.
    """

    columns: list[str]
    n_rows: int
    frame: pl.DataFrame
    shown: Array
    weights: Array
    wrong_other: dict[str, int] = field(default_factory=dict)
    repeats: list[tuple[str, str]] = field(default_factory=list)
    sample: pl.DataFrame = field(default_factory=pl.DataFrame)
    sample_shown: Array = field(default_factory=lambda: np.empty(0, np.int64))
    spilled: bool = False


def pair_up(
    claims: Claims, original: io.Batches, deal: Deal | None, progress: Progress, spill: Spill | None = None
) -> Pairs:
    """Go through the originals once; without a row map nothing stands for anybody.

    Pairs that are too many go to `spill`, if there is one: then all of them do.
    """
    coded = [*(q.name for q in claims.quasi), *(secret.name for secret in claims.secrets)]
    names = list(original.columns)
    if not {*coded, *claims.other} <= set(names):  # which the check of columns says; the rows do not matter any more
        return Pairs(names, claims.rows["input"], pl.DataFrame(), np.empty(0, np.int64), np.empty(0, np.int64))
    repeats = _Repeats(claims, original)
    others = _Others(claims)
    lookup = None if deal is None else Lookup(deal)
    wanted = list(dict.fromkeys([*coded, *claims.other, *repeats.columns]))
    step = max(1, claims.rows["input"] // SAMPLE)
    collected = _Collected(coded, spill)
    samples: list[tuple[pl.DataFrame, Array]] = []
    n_rows = 0
    for batch in original.iterate(wanted):
        repeats.look(batch)
        shown, start = np.full(batch.height, NOBODY, np.int32), 0
        for size, numbers, other in lookup.take(batch.height) if lookup is not None else ():
            shown[start : start + size] = numbers
            if claims.other:
                own = batch.slice(start, size).filter(pl.Series(numbers != NOBODY)).select(claims.other)
                others.look(other, own)
            start += size
        if claims.other:
            at = np.arange(-n_rows % step, batch.height, step)
            at = at[shown[at] != NOBODY]
            samples.append((batch[at].select(list(dict.fromkeys([*coded, *claims.other]))), shown[at]))
        collected.add(batch, shown)
        n_rows += batch.height
        progress("checking originals", n_rows, claims.rows["input"])
    found = Pairs(names, n_rows, *collected.found(), spilled=collected.spilled)
    found.frame = typed_like(original, found.frame)
    found.wrong_other, found.repeats = others.wrong(), repeats.found()
    if samples:
        found.sample = pl.concat([each[0] for each in samples])
        found.sample_shown = np.concatenate([each[1] for each in samples])
    return found


class _Collected:
    """The distinct pairs so far: as numbers where they fit, as rows, or on the disk."""

    def __init__(self, coded: list[str], spill: Spill | None) -> None:
        self._coded, self._spill = coded, spill
        self._packed: Packed | None = Packed(coded, MANY)
        self._joined: list[pl.DataFrame] = []
        self._n_joined = 0
        self.spilled = False

    def add(self, batch: pl.DataFrame, shown: Array) -> None:
        """Take in the next originals."""
        if self._packed is not None:
            if self._packed.add(batch, shown):
                if self._spill is not None and self._packed.n > MANY // 2:
                    self._unpack(self._packed)
                return
            self._unpack(self._packed)
        pairs = batch.select(self._coded).with_columns(pl.Series(SHOWN, shown))
        if self._spill is not None and self.spilled:
            self._spill.add(pairs.with_columns(pl.lit(1, pl.Int64()).alias(NUMBER)))
            return
        self._joined.append(pairs.group_by(pl.all()).agg(pl.len().cast(pl.Int64()).alias(NUMBER)))
        self._n_joined += self._joined[-1].height
        self._join()

    def found(self) -> tuple[pl.DataFrame, Array, Array]:
        """Return the coded columns of each distinct pair, the number of its row, and how often it occurs."""
        if self._packed is not None:
            return self._packed.rows()
        whole = _join(self._joined)
        return whole.select(self._coded), whole[SHOWN].to_numpy(), whole[NUMBER].to_numpy()

    def _unpack(self, packed: Packed) -> None:
        rows, shown, counts = packed.rows()
        self._packed = None
        if rows.height:
            self._joined = [rows.with_columns(pl.Series(SHOWN, shown), pl.Series(NUMBER, counts))]
            self._n_joined = rows.height
            self._join()

    def _join(self) -> None:
        """Join equal pairs if there are many; if they are many still, all of them go to the disk."""
        if self._n_joined > MANY // 2 and (len(self._joined) == 1 or self._n_joined > MANY):
            self._joined = [_join(self._joined)] if len(self._joined) > 1 else self._joined
            self._n_joined = self._joined[0].height
            if self._spill is not None and self._n_joined > MANY // 2:
                self._spill.add(self._joined[0])
                self._joined, self._n_joined, self.spilled = [self._joined[0].clear()], 0, True


def _join(parts: list[pl.DataFrame]) -> pl.DataFrame:
    whole = pl.concat(parts)
    return whole.group_by(pl.exclude(NUMBER)).agg(pl.col(NUMBER).sum())


def typed_like(original: io.Batches, frame: pl.DataFrame) -> pl.DataFrame:
    """Give texts of a file without types the form that the reader knows, from all that occur."""
    if not original.is_text:
        return frame
    known = {name: frame[name].unique(maintain_order=True) for name in frame.columns}
    _, typed = original.settled(known, io.Findings())
    return frame.with_columns(
        frame[name].replace_strict(known[name], typed[name], return_dtype=typed[name].dtype) for name in frame.columns
    )


class _Others:
    """Whether *other* columns show their originals' values: one reading of a column must hold in all rows."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._wrong: dict[str, Array] = {}

    def look(self, published: pl.DataFrame, own: pl.DataFrame) -> None:
        """Compare the next rows."""
        if not own.height:
            return
        for name in self._claims.other:
            wrong = np.array([int((~s).sum()) for s in shown_by(published[name], own[name], self._claims.tokens)])
            self._wrong[name] = self._wrong.get(name, np.zeros(len(wrong), np.int64)) + wrong

    def wrong(self) -> dict[str, int]:
        """Return how many rows are wrong in the reading that fits best, by column."""
        return {name: int(wrong.min()) for name, wrong in self._wrong.items() if wrong.min() > 0}


class _Repeats:
    """Published columns that repeat one that was not announced, as far as all rows so far do."""

    def __init__(self, claims: Claims, original: io.Batches) -> None:
        known = [*(q.name for q in claims.quasi), *claims.other, *(secret.name for secret in claims.secrets)]
        hidden = [name for name in original.columns if name not in known]
        first = next(iter(original.iterate(original.columns)), pl.DataFrame()) if hidden else pl.DataFrame()
        shown = [*claims.other, *(secret.name for secret in claims.secrets)] if first.width else []
        shown = [name for name in shown if name in first.columns and is_comparable(first[name].dtype)]
        self._pairs = [
            (name, secret)
            for name in shown
            for secret in hidden
            if is_comparable(first[secret].dtype) and equal_values(first[name], first[secret]).all()
        ]
        self._values: dict[str, set[object]] = {secret: set() for _, secret in self._pairs}

    @property
    def columns(self) -> list[str]:
        """Unreleased columns that must be read."""
        return list(self._values)

    def look(self, batch: pl.DataFrame) -> None:
        """Compare the next rows."""
        self._pairs = [pair for pair in self._pairs if equal_values(batch[pair[0]], batch[pair[1]]).all()]
        for secret, values in self._values.items():
            if len(values) < 2:
                values.update(batch[secret].unique().head(2).to_list())

    def found(self) -> list[tuple[str, str]]:
        """Return the pairs that are equal in all rows; a constant says nothing about anybody."""
        return [(name, secret) for name, secret in self._pairs if len(self._values[secret]) > 1]
