"""Tables whose distinct rows do not fit the memory: coded on the disk, cut there by the kernels that cut in memory.

1. One pass over the columns that methods look at: each value gets a number, the numbers go to the disk.
2. Domains are fitted from how often each value occurs; leaf ranks go to the disk.
3. The method cuts these rows where they lie. Cuts go down group by group, so what they look at soon fits the memory.
4. Every row gets the number of its cell and its sensitive values together: of these there are few again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Coding, DiskArrays, StoredTable, SummedTable, ValueCounts, cleaned, code_classes
from incrowd.coding.cleaning import coded_columns, refuse_empty
from incrowd.coding.secrets import Secret, combine
from incrowd.coding.stored import SLICE
from incrowd.engines.choosing import Shown, assembled, columns_of
from incrowd.engines.distinct import Counter, Dictionary, Distinct, settle
from incrowd.engines.memory import Memory, require_stored
from incrowd.errors import InputError, SchemaError
from incrowd.io import Batches
from incrowd.publish.publisher import CellPublisher, Choice, Progress
from incrowd.schema import Schema

Codes = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_MOST_ROWS = (1 << 31) - 2  # rows have numbers of 32 bits
_NOBODY = -1


@dataclass(frozen=True)
class Stored:
    """A table on the disk.

    Attributes
    ----------
    table
        Its rows that are kept, coded.
    batches
        The table as it came; of a text file the types are known now.
    kept
        The numbers of the rows that are kept; ``None``: all of them.
    """

    table: StoredTable
    batches: Batches
    kept: Codes | None


class _Numbers:
    """The number of each row's value, column by column, on the disk."""

    def __init__(self, spill: Path, columns: Sequence[str]) -> None:
        self._files = {name: (spill / f"values-{m}.int32").open("wb") for m, name in enumerate(columns)}
        self._paths = {name: Path(file.name) for name, file in self._files.items()}

    def add(self, name: str, numbers: Codes) -> None:
        numbers.tofile(self._files[name])

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def slices(self, names: Sequence[str], n_rows: int) -> Any:  # noqa: ANN401
        """Yield the first row and the numbers of columns, so many rows at a time."""
        handles = [self._paths[name].open("rb") for name in names]
        try:
            for start in range(0, n_rows, SLICE):
                yield start, {n: np.fromfile(file, np.int32, SLICE) for n, file in zip(names, handles, strict=True)}
        finally:
            for file in handles:
                file.close()

    def remove(self) -> None:
        for path in self._paths.values():
            path.unlink()


def store(
    batches: Batches, schema: Schema, publisher: CellPublisher, spill: Path, memory: Memory, *,
    also: Sequence[str], progress: Progress,
) -> Stored:  # fmt: skip
    """Code a table on the disk.

    Parameters
    ----------
    publisher
        The method that is to cut it.
    also
        Columns of which the distinct values are wanted, too: of text, to find its type.
    """
    columns = columns_of(schema)
    most = memory.distinct_rows(1)
    numbers = _Numbers(spill, columns)
    extra = [name for name in also if name not in columns] if batches.is_text else []
    known = {name: Dictionary(name, most) for name in [*columns, *extra]}
    n_rows = 0
    try:
        for batch in batches.iterate(list(known)):
            for name, dictionary in known.items():
                codes = dictionary.encode(batch[name])
                if name in columns:
                    numbers.add(name, codes.astype(np.int32, copy=False))
            n_rows += batch.height
            if n_rows > _MOST_ROWS:
                fact = f"The table has more than {_MOST_ROWS} rows, and too many different ones for the memory"
                raise InputError(fact, "give numbers bins, use fewer quasi-identifiers, or publish it in parts")
            progress("coding", n_rows, 0)
    finally:
        numbers.close()
    memory.require_cells(n_rows, int(publisher.privacy().limits().size))
    require_stored(spill, n_rows, len(columns))
    typed, values = settle(batches, known)
    disk = DiskArrays(spill, memory.of_arrays)
    with disk.watched():
        coder = _Coder(schema, {name: values[name] for name in columns}, numbers, n_rows, disk, progress)
        table = coder.table(publisher.rare(schema), list(batches.columns))
    numbers.remove()
    return Stored(table, typed, coder.kept)


class _Coder:
    """From numbers of values to leaf ranks."""

    def __init__(
        self, schema: Schema, raw: Mapping[str, pl.Series], numbers: _Numbers, n_rows: int, disk: DiskArrays,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.schema, self.raw, self.numbers, self.n_rows, self.disk = schema, raw, numbers, n_rows, disk
        self.progress = progress
        self.coded = coded_columns(schema)
        self.clean = {name: cleaned(raw[name].alias(name), schema) for name in self.coded}
        self.counts, self.class_counts = self._count()
        self.n_kept = int(next(iter(self.counts.values())).sum())
        self.kept: Codes | None = None

    def _count(self) -> tuple[dict[str, Int64], dict[str, pl.DataFrame]]:
        """Count the values of the rows that are kept; beside the class, where a hierarchy is made of both."""
        counts = {name: np.zeros(len(self.raw[name]), np.int64) for name in self.raw}
        target = self.schema.target
        supervised = [n for n in self.coded if (s := self.schema.attributes[n].hierarchy) is not None and s.supervised]
        pairs: dict[str, list[pl.DataFrame]] = {name: [] for name in supervised if target is not None}
        for start, each in self.numbers.slices(list(self.raw), self.n_rows):
            kept = self._is_kept(each)
            for name, own in each.items():
                counts[name] += np.bincount(own if kept is None else own[kept], minlength=len(counts[name]))
            for name, found in pairs.items():
                assert target is not None
                both = pl.DataFrame({"value": each[name], "class": each[target]})
                both = both if kept is None else both.filter(pl.Series(kept))
                found.append(both.group_by(pl.all()).agg(pl.len().cast(pl.Int64()).alias("rows")))
                pairs[name] = [pl.concat(found).group_by("value", "class").agg(pl.col("rows").sum())]
            self.progress("counting values", min(start + SLICE, self.n_rows), self.n_rows)
        return counts, {name: found[0] for name, found in pairs.items()}

    def _is_kept(self, each: Mapping[str, Codes]) -> npt.NDArray[np.bool_] | None:
        """Tell which rows are kept; ``None``: all."""
        lost = {name: self.clean[name].is_null().to_numpy() for name in self.coded if self.clean[name].null_count()}
        if self.schema.missing == "value" or not lost:
            return None
        kept = np.ones(len(next(iter(each.values()))), np.bool_)
        for name, missing in lost.items():
            kept &= ~missing[each[name]]
        return kept

    def table(self, least: float, columns: list[str]) -> StoredTable:
        """Return the table."""
        if not self.n_rows:
            fact = "The table has no rows"
            raise SchemaError(fact, "check that this is the right table: there is nothing to publish")
        if not self.n_kept:
            for values in self.clean.values():
                refuse_empty(values)
            fact = f"All {self.n_rows} rows have a missing value in a quasi-identifier or a sensitive column"
            raise SchemaError(fact, "set missing to 'value' in the schema, or drop the column with most of them")
        coding = Coding.fit(ValueCounts({name: self._value_counts(name) for name in self.coded}), self.schema, least)
        ranks = self._ranks(coding)
        names = list(self.schema.quasi)
        combined, secrets = self._combined(coding, ranks)
        class_of, n_classes = self._classes(secrets)
        disk, n = self.disk, self.n_kept
        codes = disk.empty((n, len(names)), np.int32, columns=True)
        sensitive = disk.empty(n, np.int32) if secrets else None
        classes = disk.empty(n, np.int32)
        self.kept = disk.empty(n, np.int32) if n < self.n_rows else None
        combined_counts = np.zeros(len(secrets[0].value_of), np.int64) if secrets else None
        at = 0
        for start, each in self.numbers.slices(list(self.raw), self.n_rows):
            kept = self._is_kept(each)
            own = each if kept is None else {name: numbers[kept] for name, numbers in each.items()}
            size = len(next(iter(own.values())))
            some = slice(at, at + size)
            for m, name in enumerate(names):
                codes[some, m] = ranks[name][own[name]]
            if sensitive is not None and combined_counts is not None:
                sensitive[some] = combined(own)
                combined_counts += np.bincount(sensitive[some], minlength=len(combined_counts))
            classes[some] = class_of(own, None if sensitive is None else sensitive[some])
            if self.kept is not None and kept is not None:
                self.kept[some] = start + np.flatnonzero(kept)
            at += size
            self.progress("placing rows", start + len(next(iter(each.values()))), self.n_rows)
        known = {*self.coded, *self.schema.other}
        return StoredTable(
            self.schema, coding.hierarchies, codes, sensitive, secrets, pl.DataFrame(),
            np.broadcast_to(np.int64(0), (n,)), self.n_rows, [name for name in columns if name not in known], None,
            disk,
            leaf_counts=tuple(
                _sums(ranks[name], self.counts[name], hierarchy.n_leaves)
                for name, hierarchy in zip(names, coding.hierarchies, strict=True)
            ),
            combined_counts=combined_counts, class_codes=classes, n_classes=n_classes,
        )  # fmt: skip

    def _value_counts(self, name: str) -> pl.DataFrame:
        rows = pl.Series("rows", self.counts[name])
        found = pl.DataFrame([self.clean[name].alias("value"), rows])
        if name in self.class_counts:
            target = self.schema.target
            assert target is not None
            classes = self.clean.get(target, self.raw[target])
            own = self.class_counts[name]
            value, label = self.clean[name].gather(own["value"]), classes.gather(own["class"])
            found = pl.DataFrame([value.alias("value"), label.alias("class"), own["rows"]])
        return found.filter(pl.col("rows") > 0).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())

    def _ranks(self, coding: Coding) -> dict[str, Codes]:
        """Return the leaf of each numbered value that occurs, and the place of each sensitive one."""
        present = {name: np.flatnonzero(self.counts[name]) for name in self.coded}
        most = max(map(len, present.values()))
        padded = {name: np.append(at, np.repeat(at[:1], most - len(at))) for name, at in present.items()}
        codes, each = coding.encode(pl.DataFrame([self.clean[name].gather(at) for name, at in padded.items()]))
        found = {}
        for name, own in zip(self.coded, [*codes.T, *each], strict=True):
            found[name] = np.full(len(self.raw[name]), _NOBODY, np.int32)
            found[name][padded[name]] = own
        return found

    def _combined(self, coding: Coding, ranks: Mapping[str, Codes]) -> tuple[Any, tuple[Secret, ...]]:
        """Return what gives rows the number of their combination of sensitive values, and what these are."""
        names = list(self.schema.secrets)
        if len(names) < 2:
            columns = [np.arange(len(coding.sensitive_values[0]), dtype=np.int32)] if names else []
            _, secrets = combine(columns, coding.sensitive_values, coding.trees)
            return (lambda own: ranks[names[0]][own[names[0]]]), secrets
        counter = Counter(names, self.n_rows)
        for _, each in self.numbers.slices(list(self.raw), self.n_rows):
            kept = self._is_kept(each)
            counter.add(pl.DataFrame({n: ranks[n][each[n] if kept is None else each[n][kept]] for n in names}))
        distinct = counter.rows()
        combination, secrets = combine([distinct[n].to_numpy() for n in names], coding.sensitive_values, coding.trees)
        assert combination is not None

        def of_rows(own: Mapping[str, Codes]) -> Codes:
            return combination[counter.add(pl.DataFrame({n: ranks[n][own[n]] for n in names}))]

        return of_rows, secrets

    def _classes(self, secrets: tuple[Secret, ...]) -> tuple[Any, int]:
        """Return what gives rows their class, and the number of classes."""
        target = self.schema.target
        if target is None:
            return (lambda _own, _sensitive: 0), 1
        if target in self.schema.secrets:
            found = next(secret for secret in secrets if secret.name == target)
            return (lambda _own, sensitive: found.value_of[sensitive]), len(found.values)
        present = np.flatnonzero(self.counts[target])
        codes, values = code_classes(self.raw[target].gather(present))
        assert codes is not None
        class_of = np.zeros(len(self.raw[target]), np.int32)
        class_of[present] = codes
        return (lambda own, _sensitive: class_of[own[target]]), len(values)


def _sums(place: Codes, counts: Int64, n: int) -> Int64:
    found = np.zeros(n, np.int64)
    np.add.at(found, place[counts > 0], counts[counts > 0])
    return found


def choose_stored(
    publisher: CellPublisher, stored: Stored, file: Path, rng: np.random.Generator, *,
    seed: int | None, domains: str, progress: Progress,
) -> tuple[Shown, Distinct]:  # fmt: skip
    """Choose the cells of rows on the disk, and say what is published.

    Parameters
    ----------
    file
        Where to write, of each row of the table, the number of its cell and sensitive values.
    """
    table = stored.table
    publisher.require_feasible(table)
    assert isinstance(table.disk, DiskArrays)
    with table.disk.watched():
        choice = publisher.choose(table, rng, progress)
        weights, pairs, n_values = _numbered(file, stored, choice)
    summed = SummedTable(
        table.schema, table.hierarchies, np.zeros((len(pairs), 0), np.int32),
        None if table.sensitive is None else (pairs % n_values).astype(np.int32),
        table.secrets, pl.DataFrame(), np.arange(len(pairs)), table.n_input, table.dropped, weights,
        leaf_counts=table.marginals,
    )  # fmt: skip
    own = Choice(
        choice.lo, choice.hi, pairs // n_values, recoding=choice.recoding, numbers=choice.numbers,
        privacy=choice.privacy,
    )  # fmt: skip
    shown = assembled(publisher, summed, own, rng, seed=seed, domains=domains, n=len(pairs) + 1)
    return shown, Distinct(pl.DataFrame(), weights, file, stored.batches, table.n_input)


def _numbered(file: Path, stored: Stored, choice: Choice) -> tuple[Int64, Int64, int]:
    """Write the number of each row's pair of cell and sensitive values; return how often each pair occurs, and it."""
    n_values, n_cells = max(1, stored.table.n_values), len(choice.lo)
    counts = np.zeros(n_cells * n_values, np.int64)
    for _, keys in _keys(stored.table, choice):
        counts += np.bincount(keys, minlength=len(counts))
    pairs = np.flatnonzero(counts)
    number_of = np.zeros(len(counts), np.int32)
    number_of[pairs] = np.arange(len(pairs), dtype=np.int32)
    _write_numbers(file, stored, choice, number_of, len(pairs))
    return counts[pairs], pairs, n_values


def _keys(table: StoredTable, choice: Choice) -> Any:  # noqa: ANN401
    n_values = max(1, table.n_values)
    for start in range(0, len(choice.cell_of), SLICE):
        keys = choice.cell_of[start : start + SLICE] * n_values
        yield start, keys if table.sensitive is None else keys + table.sensitive[start : start + SLICE]


def _write_numbers(file: Path, stored: Stored, choice: Choice, number_of: Codes, none: int) -> None:
    """Write the number of each row of the table; rows that are dropped have the last one."""
    if stored.kept is None:
        with file.open("wb") as handle:
            for _, keys in _keys(stored.table, choice):
                number_of[keys].tofile(handle)
        return
    numbers = stored.table.disk.empty(stored.table.n_input, np.int32) if stored.table.disk else np.empty(0, np.int32)
    for start in range(0, len(numbers), SLICE):
        numbers[start : start + SLICE] = none
    for start, keys in _keys(stored.table, choice):
        numbers[stored.kept[start : start + len(keys)]] = number_of[keys]
    with file.open("wb") as handle:
        for start in range(0, len(numbers), SLICE):
            numbers[start : start + SLICE].tofile(handle)
