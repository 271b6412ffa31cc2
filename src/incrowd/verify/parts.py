"""The parts of a dataset, one after the other: each written in its one way, the rows of all of them in order."""

from __future__ import annotations

import io as memory
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import InputError
from incrowd.verify.canonical import odd_numbers, odd_types, parquet_bytes
from incrowd.verify.domain import Array
from incrowd.verify.files import file_bytes
from incrowd.verify.groups import count_weights, number_rows, relabel
from incrowd.verify.manifest import Claims
from incrowd.verify.order import first_unsorted
from incrowd.verify.payload import rank_values
from incrowd.verify.row_map import Deal
from incrowd.verify.verdict import Findings, first_row

Progress = Callable[[str, int, int], None]
PART_ROWS = 1 << 20
"""Rows of a part, as docs/release-format.md says."""


@dataclass(frozen=True)
class Released:
    """The rows of a dataset.

    Attributes
    ----------
    frame
        The distinct rows of what is generalized and the sensitive column; *other* columns are there without values.
    weights
        How many rows are like each of them.
    n_rows
        Rows of the dataset.
    """

    frame: pl.DataFrame
    weights: Array
    n_rows: int


def part_names(folder: Path, problems: list[str]) -> list[str]:
    """Return the names of the parts; what else lies in the folder is a problem."""
    found = sorted(path.name for path in folder.iterdir() if path.name != io.DATASET_COVER)
    if found != [f"part-{number:05d}.parquet" for number in range(len(found))] or not found:
        problems.append("the folder does not hold the parts of a dataset and nothing else")
    return [name for name in found if name.endswith(".parquet")]


def read_released(
    findings: Findings, claims: Claims, folder: Path, cover: io.Cover, problems: list[str], deal: Deal | None,
    progress: Progress,
) -> Released | None:  # fmt: skip
    """Read all parts, judge how they are written, and give the rows to `deal`, with the number of what each shows."""
    names = part_names(folder, [])
    seen, other = _Seen(claims), list(claims.other)
    unlike: list[str] = []
    last: pl.DataFrame | None = None
    unsorted: int | None = None
    n_rows = 0
    for number, name in enumerate(names):
        part = read_part(folder / name, is_last=number == len(names) - 1, problems=problems)
        if part is None:
            return None
        data, frame = part
        if not fits_cover(cover, frame):
            problems.append(f"{name} has other columns or types than the manifest lists")
            return None
        problems += [f"{name} holds {what}" for what in odd_numbers(frame)]
        if cover.manifest.get("polars") == pl.__version__ and parquet_bytes(frame) != data:
            unlike.append(name)
        starts, sizes = _runs(frame)
        few = frame if len(starts) == frame.height else frame[starts]
        if unsorted is None:
            place = first_unsorted(few if last is None else pl.concat([last, few]))
            unsorted = None if place is None else n_rows + int(starts[place - (last is not None)])
        shown = np.repeat(seen.add(few, sizes), sizes)
        if deal is not None:
            deal.add(shown, frame.select(other))
        last = frame.tail(1) if frame.height else last
        n_rows += frame.height
        progress("checking parts", n_rows, claims.rows["released"])
    judge_files(findings, cover, unlike, unsorted)
    return Released(*seen.rows(), n_rows)


def judge_files(findings: Findings, cover: io.Cover, unlike: list[str], unsorted: int | None) -> None:
    """Judge the bytes of parts, of which some are unlike what is written again, and the first row out of order."""
    if cover.manifest.get("polars") != pl.__version__:
        why = f"only the polars that wrote a Parquet file can write the same bytes, and this is {pl.__version__}"
        findings.skip("place", why)
    else:
        wrong = [f"{', '.join(unlike[:3])} is not written as the rows of a release are"] if unlike else []
        findings.judge("place", wrong, "written again, every byte of the dataset is the same")
    wrong = [] if unsorted is None else [f"rows are not sorted, {first_row(unsorted)}"]
    findings.judge("order", wrong, "rows are sorted by what they show")


def read_part(path: Path, *, is_last: bool, problems: list[str]) -> tuple[bytes, pl.DataFrame] | None:
    """Return the bytes of a part and its rows; what is wrong with it is a problem."""
    data = file_bytes(path)
    try:
        height = pl.scan_parquet(memory.BytesIO(data or b"")).select(pl.len()).collect().item()
        if height > PART_ROWS or (height < PART_ROWS and not is_last):
            problems.append(f"{path.name} has {height} rows, and a part has {PART_ROWS}")
            return None
        frame = pl.read_parquet(memory.BytesIO(data or b"")).rechunk()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        problems.append(f"{path.name} cannot be read")
        return None
    if odd := odd_types(frame):
        problems.append(f"{path.name} has columns of a type that no release has: {', '.join(map(repr, odd))}")
        return None
    return data or b"", frame


def fits_cover(cover: io.Cover, frame: pl.DataFrame) -> bool:
    """Tell whether a part has the columns and types that lie beside the dataset."""
    try:
        own = io.Cover.of(cover.manifest, {"release": frame.head(0)}, str)
    except InputError:
        return False
    return dict(own.tables) == dict(cover.tables)


def _runs(frame: pl.DataFrame) -> tuple[Array, Array]:
    """Return where rows begin that differ from the one above them, and how many are equal to each."""
    new = np.ones(frame.height, np.bool_)
    new[1:] = False
    for column in frame:
        if frame.height:
            new[1:] |= column.slice(1).ne_missing(column.head(frame.height - 1)).to_numpy()
    starts = np.flatnonzero(new)
    return starts, np.diff(starts, append=frame.height)


class _Seen:
    """The distinct rows so far, without *other* columns; equal cells stand together in rows that are sorted."""

    def __init__(self, claims: Claims) -> None:
        self._other = list(claims.other)
        self._secrets = [secret.name for secret in claims.secrets]
        self._values: dict[tuple[object, ...], int] = {}
        self._rows: list[pl.DataFrame] = []
        self._counts: list[Array] = []
        self._n = 0
        self._last_cell: pl.DataFrame | None = None
        self._of_last_cell: dict[int, int] = {}

    def add(self, frame: pl.DataFrame, sizes: Array) -> Array:
        """Return the number of the distinct row that each row of a part is, which stands for so many equal ones."""
        cells = frame.drop([*self._other, *self._secrets])
        new = np.ones(frame.height, np.bool_)
        if frame.height:
            new[1:] = False
            for column in cells:
                new[1:] |= column.slice(1).ne_missing(column.head(frame.height - 1)).to_numpy()
        continues = self._last_cell is not None and frame.height > 0 and cells.head(1).equals(self._last_cell)
        cell = np.cumsum(new) - 1
        value = self._rank(frame)
        n_values = max(1, len(self._values))
        which, keys = relabel(cell * n_values + value, max(1, (int(cell.max(initial=0)) + 1) * n_values))
        numbers = np.arange(self._n, self._n + len(keys))
        first = np.zeros(len(keys), np.int64)
        first[which[::-1]] = np.arange(len(which) - 1, -1, -1)
        fresh = np.ones(len(keys), np.bool_)
        if continues:
            for at in range(int(np.searchsorted(keys, n_values))):
                known = self._of_last_cell.get(int(keys[at] % n_values))
                if known is not None:
                    numbers[at], fresh[at] = known, False
        numbers[fresh] = np.arange(self._n, self._n + fresh.sum())
        self._rows.append(frame[first[fresh]])
        self._n += int(fresh.sum())
        self._counts.append(np.column_stack([numbers, count_weights(which, sizes, len(keys))]))
        if frame.height:
            at_end = np.searchsorted(keys, cell[-1] * n_values)
            own = {int(keys[at] % n_values): int(numbers[at]) for at in range(int(at_end), len(keys))}
            whole = cell[-1] == 0 and continues
            self._of_last_cell = self._of_last_cell | own if whole else own
            self._last_cell = cells.tail(1)
        return numbers[which]

    def _rank(self, frame: pl.DataFrame) -> Array:
        """Return the number of each row's sensitive values, in the order in which they first occur."""
        ranked = [rank_values(frame[name]) for name in self._secrets]
        which = number_rows([ranks for ranks, _ in ranked], frame.height)
        first = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
        first[which[::-1]] = np.arange(len(which) - 1, -1, -1)
        together = zip(*(values.gather(ranks[first]).to_list() for ranks, values in ranked), strict=True)
        distinct = list(together) if ranked else [()] * len(first)
        for value in distinct:
            self._values.setdefault(value, len(self._values))
        return np.array([self._values[value] for value in distinct], np.int64)[which]

    def rows(self) -> tuple[pl.DataFrame, Array]:
        """Return the distinct rows, and how often each occurs."""
        frame = pl.concat(self._rows)
        blank = [pl.lit(None, frame.schema[name]).alias(name) for name in self._other]
        counts = np.concatenate(self._counts)
        return frame.with_columns(blank), count_weights(counts[:, 0], counts[:, 1], self._n)


def is_row_map(path: Path, n_rows: int) -> bool:
    """Tell whether a file is a list of row numbers, one for each released row."""
    try:
        table = pl.scan_parquet(path, glob=False)
        fine = dict(table.collect_schema()) == {"row": pl.Int64()}
        height, nulls = table.select(pl.len(), pl.col("row").null_count().alias("nulls")).collect().row(0)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False
    return bool(fine and height == n_rows and not nulls)


def read_row_map(path: Path, n_rows: int) -> Iterator[Array] | None:
    """Yield the owner's row map in pieces as long as parts are; ``None`` if it is not what it should be."""
    if not is_row_map(path, n_rows):
        return None
    table = pl.scan_parquet(path, glob=False)
    return (table.slice(start, PART_ROWS).collect()["row"].to_numpy() for start in range(0, max(n_rows, 1), PART_ROWS))
