"""Out of core: a release of a table that does not fit the memory of one machine, with the rows on disk.

1. The table is read once: its distinct rows (of the columns that methods look at) and how often each occurs are kept in
   memory; on disk, which of them each row is.
2. The method cuts the distinct rows, weighted. What is published of each of them, and in which order, is known then.
3. Rows are dealt out to files by where they will stand and brought in order file by file, equal ones at random. *Other*
   columns are read from the table once more.
4. The dataset is written, verified from its files and from the table by code of the verifier's own, and then named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.coding import Fingerprint
from incrowd.engines.choosing import Shown, choose, columns_of, require_cuts
from incrowd.engines.distinct import Distinct, TooManyRowsError, find_distinct
from incrowd.engines.memory import Memory, require_disk
from incrowd.engines.ordering import ROW, SHOWN, Deal
from incrowd.engines.parts import Parts, finish_folders, repeated, spill_folder, with_others
from incrowd.engines.released import DatasetRelease, released
from incrowd.engines.stored import choose_stored, store
from incrowd.errors import InputError, SchemaError
from incrowd.publish.publisher import CellPublisher, Progress, Publisher
from incrowd.release.seal import refuse_domains, secret_rng
from incrowd.schema import Schema
from incrowd.verify.streamed import check_dataset


def publish_streamed(
    source: Any,  # noqa: ANN401
    schema: Schema,
    publisher: Publisher[Any],
    output: str | Path,
    *,
    seed: int | None = None,
    domains: str = "joined",
    memory: str | int | None = None,
    reading: io.Reading | None = None,
    findings: io.Findings | None = None,
    progress: Progress | None = None,
) -> DatasetRelease:
    """Publish a table by way of the disk: the same dataset as from memory, byte for byte.

    Parameters
    ----------
    source
        A Parquet or text file, a folder or a pattern of them, a lazy frame of polars, or a frame.
    output
        The dataset to write, a folder that does not exist; the private folder gets its name beside it.
    memory
        What the run may take, such as ``"4GB"``.
    reading, findings
        How the source is to be read, and what is told of it.
    """
    method, limit = require_cuts(publisher, schema, stored=True), Memory.of(memory)
    refuse_domains(domains)
    if isinstance(seed, bool) or (seed is not None and seed < 0):
        secret_rng(seed, b"")  # which says what is wrong
    target = Path(output)
    kept = target.with_name(target.name + ".private")
    batches = io.open_batches(source, schema.reading.with_settings(reading), findings)
    schema.check(pl.DataFrame(schema=dict.fromkeys(batches.columns, pl.String())))
    report = progress or (lambda _stage, _done, _total: None)
    with io.atomic_folders(target, kept, owner_only=[kept]) as (folder, secret), spill_folder(secret) as spill:
        run = _Run(batches, schema, method, spill, limit, report)
        shown, distinct = run.choose(seed, domains)
        run.write(shown, distinct, folder, secret)
        verdict = check_dataset(folder, secret, distinct.batches, spill=spill, progress=report)
        verdict.raise_for_violations()
    return released(shown, target, kept, verdict.levels)


class _Run:
    """What one run was given."""

    def __init__(
        self, batches: io.Batches, schema: Schema, method: CellPublisher, spill: Path, memory: Memory, report: Progress
    ) -> None:
        self.batches, self.schema, self.method = batches, schema, method
        self.spill, self.memory, self.report = spill, memory, report

    def choose(self, seed: int | None, domains: str) -> tuple[Shown, Distinct]:
        """Find the distinct rows, and choose what is published of them."""
        columns = columns_of(self.schema)
        also = self.schema.other if seed is None else self.batches.columns
        file = self.spill / "distinct.int32"
        distinct = self._distinct(columns, file, also)
        if distinct is None:
            return self._choose_stored(seed, domains, file, also)
        if not distinct.n_rows:
            fact = "The table has no rows"
            raise SchemaError(fact, "check that this is the right table: there is nothing to publish")
        rng = secret_rng(seed, b"" if seed is None else self._fingerprint(distinct.batches, distinct.n_rows))
        shown = choose(
            self.method, distinct.rows, distinct.weights, self.schema, list(self.batches.columns), rng,
            seed=seed, domains=domains, progress=self.report,
        )  # fmt: skip
        self._rng = rng.spawn(1)[0]
        return shown, distinct

    def _distinct(self, columns: list[str], file: Path, also: Sequence[str]) -> Distinct | None:
        """Find the distinct rows; ``None`` if they do not fit, and the method can do without."""
        if not self.method.takes_weights:
            return None
        try:
            most = self.memory.distinct_rows(len(columns))
            return find_distinct(self.batches, columns, file, most, self.report, also)
        except TooManyRowsError:
            if not self.method.takes_stored_rows:
                raise
            return None

    def _choose_stored(self, seed: int | None, domains: str, file: Path, also: Sequence[str]) -> tuple[Shown, Distinct]:
        """Choose what is published of rows that lie on the disk."""
        stored = store(self.batches, self.schema, self.method, self.spill, self.memory, also=also, progress=self.report)
        n_rows = stored.table.n_input
        rng = secret_rng(seed, b"" if seed is None else self._fingerprint(stored.batches, n_rows))
        found = choose_stored(self.method, stored, file, rng, seed=seed, domains=domains, progress=self.report)
        self._rng = rng.spawn(1)[0]
        return found

    def _fingerprint(self, batches: io.Batches, n_rows: int) -> bytes:
        found, done = Fingerprint(), 0
        for batch in batches.iterate(self.batches.columns):
            found.add(batch)
            done += batch.height
            self.report("mixing in the original", done, n_rows)
        return found.digest()

    def write(self, shown: Shown, distinct: Distinct, folder: Path, secret: Path) -> None:
        """Write both folders."""
        other = list(self.schema.other)
        require_disk(self.spill, distinct.n_rows, len(other))
        deal = Deal(self.spill, shown, other, self.memory.rows_in_order(len(other)))
        done = 0
        for numbers, columns in _together(distinct, other):
            deal.add(numbers, columns)
            done += len(numbers)
            self.report("dealing out rows", done, distinct.n_rows)
        parts, maps, n_released = Parts(folder), [], int(shown.counts.sum())
        if not other:
            for rows in repeated(shown):
                parts.write(rows)
        done = 0
        for number, frame in enumerate(deal.in_order(self._rng)):
            if other:
                rows = shown.rows[frame[SHOWN].to_numpy()]
                parts.write(with_others(rows, frame.select(other), len(shown.release.secrets)))
            maps.append(self.spill / f"rows-{number}.parquet")
            frame.select(pl.col(ROW).alias("row")).write_parquet(maps[-1])
            done += frame.height
            self.report("writing", done, n_released)
        parts.close()
        finish_folders(shown, folder, secret, maps)


def _together(distinct: Distinct, other: list[str]) -> Iterator[tuple[Any, pl.DataFrame]]:
    """Yield the numbers of the rows' distinct rows with their *other* columns."""
    if not other:
        for numbers in distinct.of_rows(io.BATCH_ROWS):
            yield numbers, pl.DataFrame()
        return
    with distinct.file.open("rb") as handle:
        for batch in distinct.batches.iterate(other):
            numbers = np.fromfile(handle, np.int32, batch.height)
            if len(numbers) != batch.height:
                raise _changed()
            yield numbers, batch
        if handle.read(1):
            raise _changed()


def _changed() -> InputError:
    fact = "The table has another number of rows than when it was read first"
    return InputError(fact, "let nobody write to it until the run is over, and try again")
