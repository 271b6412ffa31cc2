"""What workers of Spark do for the verifier: read parts, look up originals, compare *other* columns."""

from __future__ import annotations

import base64
import io as memory
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.verify.canonical import odd_numbers, parquet_bytes
from incrowd.verify.compare import equal_values, shown_by
from incrowd.verify.domain import Array
from incrowd.verify.order import first_unsorted
from incrowd.verify.parts import PART_ROWS, fits_cover, read_part


def fields_of(dtypes: Mapping[str, pl.DataType], letter: str) -> list[str]:
    """Return the columns of a Spark frame that carries columns of these types."""
    return [f"{letter}{m} {'string' if dtype == pl.String else 'long'}" for m, dtype in enumerate(dtypes.values())]


def bits_of(frame: pl.DataFrame, letter: str, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the columns that a Spark frame carries."""
    pairs = enumerate(dtypes.items())
    return pl.DataFrame([io.from_bits(frame[f"{letter}{m}"], dtype).alias(name) for m, (name, dtype) in pairs])


@dataclass(frozen=True)
class ReadPart:
    """From the numbers of parts to their distinct rows without *other* columns, and a report about each part."""

    folder: Path
    names: Sequence[str]
    cover: str
    same_polars: bool
    shown: Sequence[str]
    dtypes: Mapping[str, pl.DataType]

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield distinct rows with their number in ``n``, or a report in ``about``."""
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                yield from self._read(number)

    def _read(self, number: int) -> Iterator[Any]:
        name, problems = self.names[number], list[str]()
        part = read_part(self.folder / name, is_last=number == len(self.names) - 1, problems=problems)
        about: dict[str, Any] = {"part": number, "problems": problems, "unreadable": part is None}
        if part is not None:
            data, frame = part
            if not fits_cover(io.Cover.from_json(self.cover, "The dataset"), frame):
                problems.append(f"{name} has other columns or types than the manifest lists")
                about["unreadable"] = True
            else:
                problems += [f"{name} holds {what}" for what in odd_numbers(frame)]
                about |= {
                    "height": frame.height,
                    "unlike": self.same_polars and parquet_bytes(frame) != data,
                    "unsorted": first_unsorted(frame),
                    "first": _packed(frame.head(1)),
                    "last": _packed(frame.tail(1)),
                }
                distinct = frame.group_by(self.shown).agg(pl.len().cast(pl.Int64).alias("n"))
                columns = [io.plain_bits(distinct[each]).alias(f"p{m}") for m, each in enumerate(self.shown)]
                found = pl.DataFrame([*columns, distinct["n"]])
                yield from io.to_record_batches(found.with_columns(about=pl.lit(None, pl.String())))
        blank = {f"p{m}": None for m in range(len(self.shown))}
        schema = {
            f"p{m}": pl.String() if self.dtypes[each] == pl.String else pl.Int64() for m, each in enumerate(self.shown)
        }
        row = pl.DataFrame(
            [{**blank, "n": 0, "about": json.dumps(about)}], schema={**schema, "n": pl.Int64(), "about": pl.String()}
        )
        yield from io.to_record_batches(row)

    @staticmethod
    def report(text: str) -> dict[str, Any]:
        """Return what a worker said about a part."""
        found: dict[str, Any] = json.loads(text)
        return found

    @staticmethod
    def in_order(above: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
        """Tell whether a part may follow another one."""
        return first_unsorted(pl.concat([_unpacked(above["last"]), _unpacked(below["first"])])) is None


def _packed(frame: pl.DataFrame) -> str:
    return base64.b64encode(frame.write_ipc(None).getvalue()).decode()


def _unpacked(text: str) -> pl.DataFrame:
    return pl.read_ipc(memory.BytesIO(base64.b64decode(text)))


@dataclass(frozen=True)
class LookUp:
    """From the numbers of parts to their rows: the original's number, the number of what is shown, *other* columns."""

    folder: Path
    names: Sequence[str]
    row_map: Path
    shown: Path
    other: Mapping[str, pl.DataType]

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield the rows of each part whose number comes."""
        known = pl.read_ipc(self.shown.read_bytes())
        by = known.columns
        known = known.with_row_index("").with_columns(pl.col("").cast(pl.Int64))
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                part = pl.read_parquet((self.folder / self.names[number]).read_bytes())
                rows = pl.scan_parquet(self.row_map, glob=False).slice(number * PART_ROWS, part.height).collect()["row"]
                shown = part.select(by).join(known, on=by, how="left", nulls_equal=True, maintain_order="left")[""]
                other = [io.plain_bits(part[name]).alias(f"q{m}") for m, name in enumerate(self.other)]
                yield from io.to_record_batches(pl.DataFrame([rows, shown.alias("shown"), *other]))


@dataclass(frozen=True)
class Others:
    """Compares *other* columns with their originals, and columns that may repeat unreleased ones; keeps a sample."""

    values: Callable[[pl.DataFrame], pl.DataFrame]
    other: Mapping[str, pl.DataType]
    repeats: Sequence[tuple[str, str]]
    tokens: Sequence[str]
    step: int

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        """Yield one report about all rows that come."""
        wrong: dict[str, Array] = {}
        alike = dict.fromkeys(self.repeats, True)
        seen: dict[str, set[object]] = {secret: set() for _, secret in self.repeats}
        samples = []
        for batch in arrived:
            frame = pl.DataFrame(batch)
            if not frame.height:
                continue
            own = self.values(frame)
            for name, secret in self.repeats:
                alike[name, secret] &= bool(equal_values(own[name], own[secret]).all())
                if len(seen[secret]) < 2:
                    seen[secret].update(own[secret].unique().head(2).to_list())
            if self.other:
                released = frame["shown"].is_not_null()
                mine, shown = own.filter(released), frame.filter(released)
                published = bits_of(shown, "q", self.other)
                for name in self.other:
                    counts = np.array([int((~s).sum()) for s in shown_by(published[name], mine[name], self.tokens)])
                    wrong[name] = wrong.get(name, np.zeros(len(counts), np.int64)) + counts
                some = (shown["row"] % self.step) == 0
                samples.append(mine.filter(some).with_columns(shown.filter(some)["shown"].alias(" shown")))
        data = pickle.dumps((wrong, alike, seen, pl.concat(samples) if samples else None))
        yield from io.to_record_batches(pl.DataFrame({"about": [data]}))

    @staticmethod
    def joined(
        reports: Iterable[bytes], repeats: Sequence[tuple[str, str]]
    ) -> tuple[dict[str, Array], list[tuple[str, str]], list[pl.DataFrame]]:
        """Return what is wrong in each reading of a column, the pairs that are equal in all rows, and the sample."""
        wrong: dict[str, Array] = {}
        alike = dict.fromkeys(repeats, True)
        seen: dict[str, set[object]] = {secret: set() for _, secret in repeats}
        samples = []
        for data in reports:
            own_wrong, own_alike, own_seen, sample = pickle.loads(bytes(data))
            for name, counts in own_wrong.items():
                wrong[name] = wrong.get(name, 0) + counts
            for pair in repeats:
                alike[pair] &= own_alike[pair]
            for secret, values in own_seen.items():
                seen[secret] |= values
            samples += [sample] if sample is not None else []
        return wrong, [pair for pair in repeats if alike[pair] and len(seen[pair[1]]) > 1], samples
