"""A release in a Parquet dataset and its original, looked through by Spark.

Workers read parts and originals, and Spark SQL counts: the distinct published rows, and the distinct pairs of an
original and the row that stands for it, found by joining the row map with the originals. What is judged of them is
judged as in `incrowd.verify.streamed`. Nothing here is shared with the engine that publishes on Spark.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.verify.compare import equal_values, is_comparable
from incrowd.verify.manifest import Claims
from incrowd.verify.pairs import SAMPLE, Pairs, typed_like
from incrowd.verify.parts import Released, is_row_map, judge_files, part_names
from incrowd.verify.row_map import NOBODY
from incrowd.verify.spark_originals import Numbered, open_numbered
from incrowd.verify.spark_parts import LookUp, Others, ReadPart, bits_of, fields_of
from incrowd.verify.streamed import find_dataset, judge_dataset, reading_of
from incrowd.verify.verdict import Findings, Verdict

Watch = Callable[[str, Callable[[], Any]], Any]
"""Runs what starts jobs of Spark, under a name that people are shown."""


def verify_on_spark(
    release: str | Path,
    original: Any,  # noqa: ANN401
    session: Any,  # noqa: ANN401
    *,
    watch: Watch,
    private: str | Path | None = None,
    reading: io.Reading | None = None,
) -> Verdict:
    """Check a release in a Parquet dataset on Spark; see `incrowd.verify.streamed.verify_dataset`.

    Parameters
    ----------
    release
        The folder of the dataset, which all workers reach by this name.
    original
        A frame of Spark, or Parquet or text files.
    session
        The Spark session.
    watch
        Runs jobs.
    """
    folder, kept = find_dataset(Path(release).absolute(), private)
    how = reading_of(folder, reading or io.Reading())
    numbered = None if original is None else open_numbered(original, session, how)
    with tempfile.TemporaryDirectory(prefix="incrowd-", dir=folder.parent) as temporary:
        return check_on_spark(folder, kept, numbered, session, spill=Path(temporary), watch=watch)


def check_on_spark(
    folder: Path,
    private: Path | None,
    original: Numbered | None,
    session: Any,  # noqa: ANN401
    *,
    spill: Path,
    watch: Watch,
) -> Verdict:
    """Check the files of a dataset.

    Parameters
    ----------
    original
        The table that it was made from.
    spill
        A folder for what does not fit the memory, which all workers reach by this name.
    """
    room = spill / "verify"
    room.mkdir(mode=0o700)
    try:
        return judge_dataset(folder, private, _OnSpark(folder, private, original, session, room, watch))
    finally:
        shutil.rmtree(room, ignore_errors=True)


class _OnSpark:
    """Parts and originals, looked through by Spark."""

    def __init__(
        self,
        folder: Path,
        private: Path | None,
        original: Numbered | None,
        session: Any,  # noqa: ANN401
        room: Path,
        watch: Watch,
    ) -> None:
        self._folder, self._private, self._original = folder, private, original
        self._session, self._room, self._watch = session, room, watch
        self._map: Path | None = None
        self._problems: list[str] = []
        self.spill, self.original = None, None  # pairs that do not fit the memory are not yet judged in pieces

    @property
    def problems(self) -> list[str]:
        """What is wrong with the row map."""
        return self._problems

    @property
    def is_mapped(self) -> bool:
        """Whether it is known which original each row stands for."""
        return self._map is not None

    def released(self, findings: Findings, claims: Claims, cover: io.Cover, problems: list[str]) -> Released | None:
        """Read all parts, and judge how they are written."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        self._names = part_names(self._folder, [])
        first = _head(self._folder / self._names[0])
        if first is None:
            problems.append(f"{self._names[0]} cannot be read")
            return None
        self._shown = {name: dtype for name, dtype in first.schema.items() if name not in claims.other}
        read = ReadPart(
            self._folder,
            self._names,
            cover.to_json(),
            cover.manifest.get("polars") == pl.__version__,
            list(self._shown),
            dict(first.schema),
        )
        found = self._over_parts(read, f"{', '.join(fields_of(self._shown, 'p'))}, n long, about string").persist()
        told = self._watch("checking parts", lambda: found.filter("about is not null").select("about").collect())
        reports = sorted((ReadPart.report(row[0]) for row in told), key=lambda each: each["part"])
        fine = self._judge_parts(findings, cover, reports, problems)
        if not fine:
            found.unpersist()
            return None
        names = [f"p{m}" for m in range(len(self._shown))]
        groups = found.filter("about is null").groupBy(*names).agg(F.sum("n").alias("n"))
        file = self._room / "shown"
        self._watch("checking parts", lambda: groups.write.parquet(file.as_uri()))
        found.unpersist()
        rows = pl.read_parquet(file / "*.parquet", hive_partitioning=False)
        frame = bits_of(rows, "p", self._shown)
        frame.write_ipc(self._room / "shown.arrow")
        blank = [pl.lit(None, first.schema[name]).alias(name) for name in claims.other]
        self._find_map(findings, claims)
        return Released(frame.with_columns(blank).select(first.columns), rows["n"].to_numpy(), int(rows["n"].sum()))

    def _judge_parts(
        self, findings: Findings, cover: io.Cover, reports: list[dict[str, Any]], problems: list[str]
    ) -> bool:
        for each in reports:
            problems += each["problems"]
        if any(each["unreadable"] for each in reports):
            return False
        unsorted, start = None, 0
        for number, each in enumerate(reports):
            if unsorted is None and each["unsorted"] is not None:
                unsorted = start + each["unsorted"]
            if unsorted is None and number and not ReadPart.in_order(reports[number - 1], each):
                unsorted = start
            start += each["height"]
        unlike = [self._names[each["part"]] for each in reports if each["unlike"]]
        judge_files(findings, cover, unlike, unsorted)
        return True

    def _find_map(self, findings: Findings, claims: Claims) -> None:
        """Open the row map, if there is one and somebody to look up."""
        if self._private is None or self._original is None:
            return
        file = self._private / "rows.parquet"
        if is_row_map(file, claims.rows["released"]):
            self._map = file.absolute()  # workers have another working folder
        else:
            findings.judge("row map", ["it is not a list of row numbers, one for each released row"], "")

    def pairs(self, claims: Claims) -> Pairs | None:
        """Go through the originals; without a row map nothing stands for anybody."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        original = self._original
        if original is None:
            return None
        coded = [*(q.name for q in claims.quasi), *(secret.name for secret in claims.secrets)]
        repeats = self._repeated(claims, original)
        n_rows = original.count(self._watch)
        missing = [name for name in (*coded, *claims.other) if name not in original.columns]
        if missing:
            return Pairs(list(original.columns), n_rows, pl.DataFrame(), np.empty(0, np.int64), np.empty(0, np.int64))
        rows, names = original.frame(coded)
        if self._map is None:
            joined = rows.withColumn("shown", F.lit(NOBODY).cast("long"))
        else:
            joined = rows.join(self._lookup(claims), "row", "left").fillna(NOBODY, ["shown"])
        file = self._room / "pairs"
        groups = joined.groupBy("shown", *names).agg(F.count("*").alias("n"))
        self._watch("checking originals", lambda: groups.write.parquet(file.as_uri()))
        found = pl.read_parquet(file / "*.parquet", hive_partitioning=False)
        weights = found["n"].to_numpy()
        if int(weights.sum()) > n_rows:
            self._problems.append("it points to an original that another row has")
        frame = original.values(found, coded)
        if original.batches is not None:
            frame = typed_like(original.batches, frame)
        pairs = Pairs(list(original.columns), n_rows, frame, found["shown"].to_numpy().astype(np.int32), weights)
        if claims.other or repeats:
            self._look_at_others(claims, original, repeats, pairs)
        return pairs

    def _lookup(self, claims: Claims, *, others: bool = False) -> Any:  # noqa: ANN401
        """Return a Spark frame of the number of each original, what stands for it, and *other* columns."""
        assert self._map is not None
        other = self._types(claims) if others else {}
        look = LookUp(self._folder, self._names, self._map, self._room / "shown.arrow", other)
        return self._over_parts(look, ", ".join(["row long", "shown long", *fields_of(other, "q")]))

    def _types(self, claims: Claims) -> dict[str, pl.DataType]:
        first = pl.read_parquet_schema(self._folder / self._names[0])
        return {name: first[name] for name in claims.other}

    def _over_parts(self, work: Any, schema: str) -> Any:  # noqa: ANN401
        numbers = self._session.range(0, len(self._names), 1, len(self._names))
        return numbers.mapInArrow(work, schema)

    def _repeated(self, claims: Claims, original: Numbered) -> list[tuple[str, str]]:
        """Return published columns and unreleased ones that are equal in the first rows."""
        known = [*(q.name for q in claims.quasi), *claims.other, *(secret.name for secret in claims.secrets)]
        hidden = [name for name in original.columns if name not in known]
        if not hidden:
            return []
        head = original.head()
        shown = [*claims.other, *(secret.name for secret in claims.secrets)]
        shown = [name for name in shown if name in head.columns and is_comparable(head[name].dtype)]
        return [
            (name, secret)
            for name in shown
            for secret in hidden
            if is_comparable(head[secret].dtype) and equal_values(head[name], head[secret]).all()
        ]

    def _look_at_others(
        self, claims: Claims, original: Numbered, repeats: Sequence[tuple[str, str]], pairs: Pairs
    ) -> None:
        """Hold *other* columns, and columns that may repeat unreleased ones, against their originals, row by row."""
        coded = [*(q.name for q in claims.quasi), *(secret.name for secret in claims.secrets)]
        wanted = list(dict.fromkeys([*coded, *claims.other, *(name for pair in repeats for name in pair)]))
        rows, _ = original.frame(wanted)
        mapped = self._map is not None
        joined = rows.join(self._lookup(claims, others=True), "row", "left") if mapped else rows
        other = self._types(claims) if mapped else {}
        step = max(1, claims.rows["input"] // SAMPLE)
        look = Others(partial(original.values, columns=wanted), other, list(repeats), claims.tokens, step)
        told = self._watch("checking other columns", lambda: joined.mapInArrow(look, "about binary").collect())
        wrong, alike, samples = Others.joined([row[0] for row in told], repeats)
        pairs.wrong_other = {name: int(counts.min()) for name, counts in wrong.items() if counts.min() > 0}
        pairs.repeats = alike
        if mapped and claims.other:
            columns = list(dict.fromkeys([*coded, *claims.other]))
            whole = pl.concat(samples) if samples else pl.DataFrame()
            pairs.sample, pairs.sample_shown = whole.select(columns), whole[" shown"].to_numpy().astype(np.int32)


def _head(part: Path) -> pl.DataFrame | None:
    try:
        return pl.read_parquet(part, n_rows=0)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
