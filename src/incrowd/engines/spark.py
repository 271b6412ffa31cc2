"""Spark: the same release of a table that is spread over a cluster, or over the processors of one machine.

1. Workers count the distinct rows of the columns that methods look at; the driver gets them, weighted.
2. The method cuts them on the driver, as in the engine by way of the disk.
3. Workers look up what each row shows and send it, with its number and its *other* columns, to the worker that brings
   that piece of the release in order, equal rows at random. No row of the table passes through the driver.
4. Workers write the parts of the dataset; Spark verifies them with code of the verifier's own.

What workers have in common lies in the staging folder beside the output, which all of them must reach by the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.coding import Fingerprint
from incrowd.engines.choosing import Shown, choose, columns_of, require_cuts
from incrowd.engines.memory import Memory, require_disk
from incrowd.engines.parts import finish_folders, spill_folder
from incrowd.engines.released import DatasetRelease, released
from incrowd.engines.spark_rows import (
    CountDistinct,
    DistinctTexts,
    OrderBucket,
    Plan,
    ReachFile,
    SendRows,
    WritePart,
    changed,
)
from incrowd.engines.spark_session import Jobs, open_session
from incrowd.engines.spark_source import SparkTable, first_rows, opened
from incrowd.errors import InputError, SchemaError, counted
from incrowd.publish.publisher import CellPublisher, Progress, Publisher
from incrowd.release.seal import refuse_domains, secret_rng
from incrowd.schema import Schema
from incrowd.verify import Verdict
from incrowd.verify.spark import check_on_spark, verify_on_spark
from incrowd.verify.spark_originals import open_numbered
from incrowd.verify.streamed import reading_of

Int64 = np.ndarray[Any, np.dtype[np.int64]]


def publish_spark(
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
    master: str | None = None,
) -> DatasetRelease:
    """Publish a table on Spark: the same dataset as from memory, byte for byte, however the table is divided.

    Parameters
    ----------
    source
        A frame of Spark; Parquet or text files, a folder or a pattern of them; an address such as ``s3a://...`` or a
        table of the catalogue.
    output
        The dataset to write, a folder that does not exist and that all workers reach by this name.
    memory
        What the driver may take for distinct rows, such as ``"4GB"``.
    master
        Where Spark runs, if there is no session yet: ``local[2]``, ``spark://host:7077``; all processors of this
        machine if it is not given.
    """
    method, limit = require_cuts(publisher, schema), Memory.of(memory)
    refuse_domains(domains)
    if isinstance(seed, bool) or (seed is not None and seed < 0):
        secret_rng(seed, b"")  # which says what is wrong
    target = Path(output).absolute()
    kept = target.with_name(target.name + ".private")
    report = progress or (lambda _stage, _done, _total: None)
    frame = source if io.is_spark_frame(source) else None
    how = schema.reading.with_settings(reading)
    with open_session(master, frame) as session, opened(source, session, how, findings) as table:
        schema.check(pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String())))
        with io.atomic_folders(target, kept, owner_only=[kept]) as (folder, secret), spill_folder(secret) as spill:
            run = _Run(table, schema, method, spill, limit, Jobs(session, report), report)
            run.also = schema.other if seed is None else table.columns
            shown = run.choose(seed, domains)
            run.write(shown, folder, secret)
            original = open_numbered(source if table.frame is None else table.frame, session, reading_of(folder, how))
            verdict = check_on_spark(folder, secret, original, session, spill=spill, watch=run.jobs.run)
            verdict.raise_for_violations()
    return released(shown, target, kept, verdict.levels)


def verify_spark(
    release: str | Path,
    original: Any = None,  # noqa: ANN401
    *,
    private: str | Path | None = None,
    reading: io.Reading | None = None,
    progress: Progress | None = None,
    master: str | None = None,
) -> Verdict:
    """Check a release in a Parquet dataset on Spark; see `incrowd.verify.spark`.

    Parameters
    ----------
    release
        The folder of the dataset.
    original
        What it was made from: a frame of Spark, files, an address or a table of the catalogue.
    private
        What the owner keeps; by default the folder beside the dataset, if it is there.
    master
        Where Spark runs, if there is no session yet.
    """
    report = progress or (lambda _stage, _done, _total: None)
    with open_session(master, original if io.is_spark_frame(original) else None) as session:
        watch, how = Jobs(session, report).run, reading or io.Reading()
        if original is None:
            return verify_on_spark(release, None, session, watch=watch, private=private, reading=how)
        with opened(original, session, how, None) as table:
            own = original if table.frame is None else table.frame
            return verify_on_spark(release, own, session, watch=watch, private=private, reading=how)


class _Run:
    """What one run was given."""

    def __init__(
        self, table: SparkTable, schema: Schema, method: CellPublisher, spill: Path, memory: Memory, jobs: Jobs,
        report: Progress,
    ) -> None:  # fmt: skip
        self.table, self.schema, self.method = table, schema, method
        self.spill, self.memory, self.jobs, self.report = spill, memory, jobs, report
        self.columns = columns_of(schema)
        self.also: Sequence[str] = ()
        self._refuse_unshared()

    def choose(self, seed: int | None, domains: str) -> Shown:
        """Find the distinct rows, and choose what is published of them."""
        distinct = self._count()
        self._distinct = distinct.drop("n")
        weights = distinct["n"].to_numpy()
        if not len(weights):
            fact = "The table has no rows"
            raise SchemaError(fact, "check that this is the right table: there is nothing to publish")
        rng = secret_rng(seed, b"" if seed is None else self._fingerprint())
        shown = choose(
            self.method, self._distinct, weights, self.schema, list(self.table.columns), rng,
            seed=seed, domains=domains, progress=self.report,
        )  # fmt: skip
        self._rng = rng.spawn(1)[0]
        return shown

    def _count(self) -> pl.DataFrame:
        """Return the distinct rows and how many rows are like each, in column ``n``."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        dtypes = self.jobs.run("counting rows", lambda: self.table.dtypes(self.columns))
        names = [f"c{m}" for m in range(len(self.columns))]
        found = self.table.map(CountDistinct(self.columns), self.columns, f"{_types(dtypes, 'c')}, n long, split long")
        sizes = None if self.table.splits is None else [split.n for split in self.table.splits]
        known = sizes is not None and None not in sizes
        found = found if known else found.persist()
        groups = found.groupBy(*names).agg(F.sum("n").alias("n"))
        file = self.spill / "groups"
        self.jobs.run("counting rows", lambda: groups.write.parquet(file.as_uri()))
        self.heights = [int(size) for size in sizes or () if size is not None]
        if not known:
            each = found.groupBy("split").agg(F.sum("n").alias("n"))
            per_split = self.jobs.run("counting rows", lambda: dict(map(tuple, each.collect())))
            found.unpersist()
            self.heights = [per_split.get(split, 0) for split in range(max(per_split, default=-1) + 1)]
        return self._read_groups(file, dtypes)

    def _read_groups(self, file: Path, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
        groups = pl.scan_parquet(file / "*.parquet")
        n, most = int(groups.select(pl.len()).collect().item()), self.memory.distinct_rows(len(self.columns))
        if n > most:
            fact = f"The table has {n} different rows in {counted(sum(self.heights), 'row')}, and {most} fit the driver"
            raise InputError(fact, "allow more with memory=..., give numbers bins, or use fewer quasi-identifiers")
        found = groups.collect()
        columns = [io.from_bits(found[f"c{m}"], dtype).alias(name) for m, (name, dtype) in enumerate(dtypes.items())]
        distinct = pl.DataFrame([*columns, found["n"]])
        if not self.table.is_text:
            return distinct
        self.table = self.table.settled(self._texts(distinct))
        assert self.table.batches is not None
        typed = self.table.batches.retyped(distinct.drop("n")).with_columns(distinct["n"])
        return typed.group_by(self.columns, maintain_order=True).agg(pl.col("n").sum())

    def _texts(self, distinct: pl.DataFrame) -> dict[str, pl.Series]:
        """Return the distinct texts of the columns that are read."""
        texts = {name: distinct[name].unique().drop_nulls() for name in self.columns}
        rest = [name for name in self.also if name not in texts]
        if rest:
            file = self.spill / "texts"
            found = self.table.map(DistinctTexts(rest), rest, "place long, text string").distinct()
            self.jobs.run("looking for types", lambda: found.write.parquet(file.as_uri()))
            each = pl.read_parquet(file / "*.parquet")
            texts |= {name: each.filter(pl.col("place") == m)["text"].alias(name) for m, name in enumerate(rest)}
        return texts

    def _fingerprint(self) -> bytes:
        hashed = self.table.hashed()
        found = self.jobs.run("mixing in the original", lambda: dict(map(tuple, hashed.collect())))
        if len(found) != len(self.table.columns):
            raise changed()
        return Fingerprint.of_digests(
            {name: bytes.fromhex(found[place]) for place, name in enumerate(self.table.columns)}
        )

    def write(self, shown: Shown, folder: Path, secret: Path) -> None:
        """Write both folders."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        other, n_released = list(self.schema.other), int(shown.counts.sum())
        require_disk(self.spill, sum(self.heights), len(other))
        dtypes = self.jobs.run("bringing rows in order", lambda: self.table.dtypes(other) if other else {})
        n_buckets = Plan(self.spill).write(shown, self._distinct, others=bool(other))
        words = tuple(int(word) for word in self._rng.integers(0, 1 << 62, 4))
        send = SendRows(self.spill, self.columns, other, first_rows(self.heights), int(self._rng.integers(1 << 62)))
        wanted = list(dict.fromkeys([*self.columns, *other]))
        sent = self.table.map(send, wanted, ", ".join(["bucket long, shown long, row long", *_fields(dtypes, "o")]))
        placed = sent.repartitionById(n_buckets, F.col("bucket").cast("int"))
        order = OrderBucket(self.spill, dtypes, words, io.PART_ROWS)
        part = WritePart(self.spill, folder, other, len(shown.release.secrets), io.PART_ROWS)
        numbers = self.jobs.session.range(0, -(-n_released // io.PART_ROWS), 1, -(-n_released // io.PART_ROWS))
        ordered, written = placed.mapInArrow(order, "n long"), numbers.mapInArrow(part, "n long")
        for stage, work in (("bringing rows in order", ordered), ("writing", written)):
            if self.jobs.run(stage, partial(_sum, work)) != n_released:
                raise changed()
        finish_folders(shown, folder, secret, sorted(self.spill.glob("rows-*.parquet")))

    def _refuse_unshared(self) -> None:
        """Refuse a folder that workers cannot reach, before anything else is done."""
        context = self.jobs.session.sparkContext
        if context.master.startswith("local"):
            return
        probe, n = self.spill / "probe", int(context.defaultParallelism)
        probe.write_bytes(b"")
        reached = self.jobs.session.range(0, n, 1, n).mapInArrow(ReachFile(probe), "n long")
        if self.jobs.run("looking for the workers", partial(_sum, reached)) != n:
            fact = f"Not all workers of Spark reach the folder '{self.spill.parent.parent}'"
            raise InputError(fact, "write to a file system that all machines share, by the same name")


def _sum(counted_rows: Any) -> int:  # noqa: ANN401
    return sum(row[0] for row in counted_rows.collect())


def _types(dtypes: Mapping[str, pl.DataType], letter: str) -> str:
    return ", ".join(_fields(dtypes, letter))


def _fields(dtypes: Mapping[str, pl.DataType], letter: str) -> list[str]:
    return [f"{letter}{m} {'string' if dtype == pl.String else 'long'}" for m, dtype in enumerate(dtypes.values())]
