"""What workers of Spark do with rows: count them, send each where it will stand, bring it in order, write parts.

Rows travel as the number of what they show, their own number and their *other* columns. What is known of all rows
lies in files beside the output, which every worker can read; what a worker writes gets its name when it is complete,
and is the same if the worker has to do it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import Fingerprint
from incrowd.engines.choosing import LEFT_OUT, Shown
from incrowd.engines.distinct import Counter
from incrowd.engines.ordering import ROW, SHOWN, order_of
from incrowd.engines.parts import with_others
from incrowd.errors import InputError
from incrowd.release.rows import without_negative_zero

Int64 = npt.NDArray[np.int64]

BUCKET_ROWS = 1 << 20
"""Rows, about, that a worker brings in order at once."""

_MANY = 1 << 20  # distinct rows that a worker collects before it hands them on
_NO_LIMIT = 1 << 30
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class CountDistinct:
    """From rows to distinct ones: columns ``c0``, ``c1``, ..., how often each occurs, and where."""

    columns: Sequence[str]

    def __call__(self, split: int, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the distinct rows of a split."""
        counter = Counter(self.columns, _NO_LIMIT)
        for batch in batches:
            counter.add(batch)
            if counter.n_distinct > _MANY:
                yield self._found(counter, split)
                counter = Counter(self.columns, _NO_LIMIT)
        if counter.n_rows:
            yield self._found(counter, split)

    def _found(self, counter: Counter, split: int) -> pl.DataFrame:
        columns = [io.plain_bits(each).alias(f"c{m}") for m, each in enumerate(counter.rows())]
        return pl.DataFrame(columns).with_columns(n=pl.Series(counter.weights), split=pl.lit(split, pl.Int64()))


class Plan:
    """What is to become of every distinct row, as the driver writes it and workers read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, shown: Shown, distinct: pl.DataFrame, *, others: bool) -> int:
        """Write it; return the number of buckets."""
        first, n, n_buckets = _buckets(shown, others=others)
        distinct.write_ipc(self._folder / "distinct.arrow")
        pl.DataFrame({SHOWN: shown.of_distinct}).write_ipc(self._folder / "of_distinct.arrow")
        about = {"cell": shown.cell, "count": shown.counts, "first": first, "n": n}
        pl.DataFrame(about).write_ipc(self._folder / "about.arrow")
        shown.rows.write_ipc(self._folder / "shown.arrow")
        return n_buckets

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """The distinct rows of the table."""
        return _read(self._folder / "distinct.arrow")

    @cached_property
    def of_distinct(self) -> npt.NDArray[np.int32]:
        """What each of them shows."""
        return _read(self._folder / "of_distinct.arrow")[SHOWN].to_numpy()

    @cached_property
    def about(self) -> pl.DataFrame:
        """Of each distinct published row its cell, its number of rows, its first bucket and how many it has."""
        return _read(self._folder / "about.arrow")

    def rows(self, first: int, n: int) -> pl.DataFrame:
        """Return some distinct published rows."""
        return pl.scan_ipc(self._folder / "shown.arrow").slice(first, n).collect()


def _buckets(shown: Shown, *, others: bool) -> tuple[Int64, Int64, int]:
    """Return the first bucket of each distinct published row, and how many buckets it has.

    Rows with *other* columns are sorted within their cells, so whole cells stay together. Without, many equal rows are
    dealt out to several buckets at random.
    """
    unit = shown.cell if others else np.arange(len(shown.counts))
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    sizes = np.add.reduceat(shown.counts, starts)
    if others:
        ends = np.cumsum(sizes)
        first = (ends - sizes) // BUCKET_ROWS
        n = np.ones(len(first), np.int64)
    else:
        n = np.maximum(1, -(-sizes // BUCKET_ROWS))
        first, at, filled = np.empty(len(sizes), np.int64), 0, 0
        for number, size in enumerate(sizes.tolist()):
            if filled and filled + size > BUCKET_ROWS:
                at, filled = at + 1, 0
            first[number] = at
            filled += size
            if n[number] > 1:
                at, filled = at + int(n[number]), 0
    times = np.diff(starts, append=len(unit))
    used = first + n
    return np.repeat(first, times), np.repeat(n, times), int(used.max())


@dataclass(frozen=True)
class SendRows:
    """From rows to their buckets: bucket, what it shows, its number, *other* columns."""

    folder: Path
    columns: Sequence[str]
    other: Sequence[str]
    first_rows: Int64
    secret: int

    def __call__(self, split: int, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a split."""
        plan, counter = _known(self.folder, tuple(self.columns), self.secret)
        first, n = plan.about["first"].to_numpy(), plan.about["n"].to_numpy()
        at = int(self.first_rows[split]) if split < len(self.first_rows) else 0
        for batch in batches:
            numbers = counter.add(batch)
            if counter.n_distinct > plan.distinct.height:
                raise changed()
            shown = plan.of_distinct[numbers]
            rows = np.arange(at, at + batch.height)
            at += batch.height
            kept = np.flatnonzero(shown != LEFT_OUT)
            shown, rows = shown[kept], rows[kept]
            bucket = first[shown] + _scattered(rows, self.secret) % n[shown]
            sent = {"bucket": bucket, "shown": shown.astype(np.int64), "row": rows}
            others = [
                io.plain_bits(without_negative_zero(batch[name])[kept]).alias(f"o{m}")
                for m, name in enumerate(self.other)
            ]
            yield pl.DataFrame(sent).hstack(others)


@lru_cache(1)
def _known(folder: Path, columns: tuple[str, ...], run: int) -> tuple[Plan, Counter]:
    """Return the plan of a run, and a counter that knows the distinct rows; a worker needs them for every split."""
    del run
    plan, counter = Plan(folder), Counter(columns, _NO_LIMIT)
    counter.add(plan.distinct)
    if counter.n_distinct != plan.distinct.height:
        raise changed()  # two of them are one to us: rows cannot be told apart as they were counted
    return plan, counter


def _scattered(rows: Int64, secret: int) -> Int64:
    """Return a number for each row that looks random to everybody without the secret (SplitMix64)."""
    mixed = (rows.astype(np.uint64) + np.uint64(secret)) * _STEP
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


@dataclass(frozen=True)
class OrderBucket:
    """Brings one bucket in order, and writes it: the row map, and with *other* columns what each part gets of it."""

    folder: Path
    other: Mapping[str, pl.DataType]
    words: tuple[int, ...]
    part_rows: int

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield the number of rows."""
        frame = io.from_record_batches(arrived)
        if not frame.height:
            return
        frame = frame.sort("row")  # the order in which rows come depends on which worker was faster
        number = int(frame["bucket"][0])
        columns = [
            io.from_bits(frame[f"o{m}"], dtype).alias(name) for m, (name, dtype) in enumerate(self.other.items())
        ]
        rows = pl.DataFrame({SHOWN: frame["shown"].cast(pl.Int32()), ROW: frame["row"]}).hstack(columns)
        plan = Plan(self.folder)
        rng = np.random.default_rng([*self.words, number])
        ordered = rows[order_of(rows, plan.about["cell"].to_numpy(), list(self.other), rng)]
        with _complete(self.folder / f"rows-{number:06d}.parquet") as path:
            ordered.select(pl.col(ROW).alias("row")).write_parquet(path)
        if self.other:
            self._share_out(ordered, number, plan)
        yield from io.to_record_batches(pl.DataFrame({"n": [rows.height]}))

    def _share_out(self, ordered: pl.DataFrame, number: int, plan: Plan) -> None:
        """Write what each part gets: the bucket's place in the release is known from the counts."""
        counts, first = plan.about["count"].to_numpy(), plan.about["first"].to_numpy()
        start, done = int(counts[first < number].sum()), 0
        while done < ordered.height:
            part, inside = divmod(start + done, self.part_rows)
            size = min(self.part_rows - inside, ordered.height - done)
            with _complete(self.folder / f"part-{part}-{number:06d}.arrow") as path:
                ordered.slice(done, size).drop(ROW).write_ipc(path)
            done += size


@dataclass(frozen=True)
class WritePart:
    """Writes parts of the dataset."""

    folder: Path
    output: Path
    other: Sequence[str]
    n_secrets: int
    part_rows: int

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield the number of rows of each part whose number comes."""
        plan = Plan(self.folder)
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                rows = self._with_others(plan, number) if self.other else self._repeated(plan, number)
                with _complete(self.output / io.part_name(number)) as path:
                    io.write_canonical_parquet(rows, path)
                yield from io.to_record_batches(pl.DataFrame({"n": [rows.height]}))

    def _repeated(self, plan: Plan, number: int) -> pl.DataFrame:
        ends = np.cumsum(plan.about["count"].to_numpy())
        start, stop = number * self.part_rows, min((number + 1) * self.part_rows, int(ends[-1]))
        first, last = (int(at) for at in np.searchsorted(ends, [start, stop - 1], side="right"))
        times = np.diff(np.concatenate([[start], ends[first:last], [stop]]))
        return plan.rows(first, last + 1 - first)[np.repeat(np.arange(len(times)), times)]

    def _with_others(self, plan: Plan, number: int) -> pl.DataFrame:
        files = sorted(self.folder.glob(f"part-{number}-*.arrow"))
        frame = pl.concat([_read(file) for file in files])
        shown = frame[SHOWN].to_numpy()
        first = int(shown.min())
        rows = plan.rows(first, int(shown.max()) + 1 - first)[shown - first]
        return with_others(rows, frame.select(self.other), self.n_secrets)


class _complete:  # noqa: N801 - a context manager
    """A file that gets its name when it is complete; who comes second with the same file changes nothing."""

    def __init__(self, path: Path) -> None:
        self._path, self._own = path, path.with_name(f".{path.name}.{uuid4().hex}")

    def __enter__(self) -> Path:
        return self._own

    def __exit__(self, kind: object, *_rest: object) -> None:
        if kind is None:
            self._own.replace(self._path)
        else:
            self._own.unlink(missing_ok=True)


def _read(file: Path) -> pl.DataFrame:
    return pl.read_ipc(file.read_bytes())


@dataclass(frozen=True)
class ReachFile:
    """Whether a worker reaches a file of the driver's."""

    file: Path

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield 1 for every number that comes if it does."""
        for batch in arrived:
            yield from io.to_record_batches(pl.DataFrame({"n": [int(self.file.is_file())] * batch.num_rows}))


@dataclass(frozen=True)
class DistinctTexts:
    """From rows to the distinct texts of columns: the place of the column, and a text."""

    columns: Sequence[str]

    def __call__(self, split: int, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the distinct texts of each batch."""
        del split
        for batch in batches:
            for place, name in enumerate(self.columns):
                texts = batch[name].unique().drop_nulls().alias("text")
                yield texts.to_frame().with_columns(place=pl.lit(place, pl.Int64())).select("place", "text")


@dataclass(frozen=True)
class HashColumns:
    """The fingerprints of columns, each by one worker that goes through all splits in order."""

    columns: Sequence[str]
    batches: Callable[[str], Iterator[pl.DataFrame]]

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield the place and the digest of each column whose number comes."""
        for batch in arrived:
            for place in batch.column(0).to_pylist():
                hashed = Fingerprint()
                for part in self.batches(self.columns[place]):
                    hashed.add(part)
                digest = hashed.of_columns()[self.columns[place]]
                yield from io.to_record_batches(pl.DataFrame({"place": [place], "digest": [digest.hex()]}))


@dataclass(frozen=True)
class HashRows:
    """The fingerprints of all columns, by one worker that all rows of a frame go through."""

    def __call__(self, split: int, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the place and the digest of each column."""
        del split
        hashed = Fingerprint()
        for batch in batches:
            hashed.add(batch)
        digests = [digest.hex() for digest in hashed.of_columns().values()]
        yield pl.DataFrame(
            {"place": range(len(digests)), "digest": digests}, schema={"place": pl.Int64, "digest": pl.String}
        )


def changed() -> InputError:
    """Return what to say of a table that is another one when it is read again."""
    fact = "The table has other rows than when it was read first"
    return InputError(
        fact, "let nobody write to it until the run is over; of a frame of Spark, write the rows to Parquet first"
    )
