"""Generated tables for the contract of publishers: every kind of hierarchy, missing values, duplicates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from incrowd.hierarchy import Intervals, Spec, Taxonomy, balanced, bins, dates, frequency, mdl, prefixes
from incrowd.schema import Schema

_ROWS = 60
_JOBS = {"paid": {"employed": ["private", "public"], "own": ["self"]}, "unpaid": ["student", "retired"]}
_NAMES = ["Ada", "Bö", "中文", "a b", "x;y", 'quo"te', "e,f", "zz"]


@dataclass(frozen=True)
class Sample:
    """A generated table with its schema; its sensitive column is ``class``."""

    frame: pl.DataFrame
    schema: Schema

    def without_other(self) -> Sample:
        """Return the same table with the *other* column left out."""
        attributes = [self.schema.attributes[name] for name in self.schema.attributes if name not in self.schema.other]
        return replace(self, schema=Schema.of(attributes, missing=self.schema.missing, rest="drop"))

    def with_ordered_values(self) -> Sample:
        """Return the same table with numbers for sensitive values."""
        return replace(self, frame=self.frame.with_columns(pl.col("class").rank("dense").cast(pl.Int64())))

    def with_tree(self) -> Sample:
        """Return the same table with a tree of sensitive values."""
        own = self.schema.attributes.values()
        with_one = [replace(each, hierarchy=balanced(2)) if each.name == "class" else each for each in own]
        return replace(self, schema=Schema.of(with_one, missing=self.schema.missing, rest=self.schema.rest))


def _sample(columns: Mapping[str, Any], quasi: Mapping[str, Spec | None], **given: Any) -> Sample:  # noqa: ANN401
    """Add a class with three values, equally frequent, an identifier and a column that is released as it is."""
    frame = pl.DataFrame(columns)
    n = frame.height
    rng = np.random.default_rng(1)
    shared = {
        "class": rng.permutation(np.resize(["yes", "no", "perhaps"], n)),
        "id": [f"person {number}" for number in range(n)],
        "note": rng.integers(0, 7, n),
    }
    frame = frame.hstack(pl.DataFrame(shared))
    return Sample(frame, Schema(quasi=quasi, sensitive="class", identifiers=["id"], other=["note"], **given))


def _with_gaps(values: Any, every: int) -> list[Any]:  # noqa: ANN401
    return [None if row % every == 0 else value for row, value in enumerate(values)]


def mixed(n: int = _ROWS) -> Sample:
    """Return numbers, names and truth values with several kinds of hierarchy."""
    rng = np.random.default_rng(2)
    columns = {
        "age": rng.integers(17, 80, n),
        "job": rng.choice(["private", "public", "self", "student", "retired"], n),
        "zip": rng.choice(["10055", "10023", "10165", "10224", "20001"], n),
        "smokes": rng.random(n) < 0.4,
    }
    quasi: dict[str, Spec | None] = {
        "age": Intervals(),
        "job": Taxonomy.from_nested(_JOBS),
        "zip": prefixes(),
        "smokes": None,
    }
    return _sample(columns, quasi)


def numbers() -> Sample:
    """Return numbers and dates with every kind of hierarchy for them."""
    rng = np.random.default_rng(3)
    start = dt.date(1950, 1, 1)
    columns = {
        "income": rng.choice([-1.5, -0.0, 0.25, 2.5, 1e6, 1e-7], _ROWS),
        "height": rng.integers(150, 200, _ROWS),
        "weight": rng.integers(50, 90, _ROWS),
        "age": rng.integers(0, 9, _ROWS),
        "born": [start + dt.timedelta(days=int(day)) for day in rng.integers(0, 20_000, _ROWS)],
    }
    quasi: dict[str, Spec | None] = {
        "income": Intervals(),
        "height": bins(5),
        "weight": frequency(3),
        "age": mdl(),
        "born": Intervals(),
    }
    return _sample(columns, quasi)


def names() -> Sample:
    """Return names and days as text with every kind of hierarchy for them; one column has a single value."""
    rng = np.random.default_rng(4)
    columns = {
        "name": rng.choice(_NAMES, _ROWS),
        "grade": rng.choice(["low", "mid", "high"], _ROWS),
        "day": rng.choice(["2024-03-05", "2024-03-09", "2024-01-30", "2023-07-01"], _ROWS),
        "country": ["same"] * _ROWS,
    }
    quasi: dict[str, Spec | None] = {
        "name": balanced(2),
        "grade": Intervals(["low", "mid", "high"]),
        "day": dates(),
        "country": None,
    }
    return _sample(columns, quasi)


def _missing(policy: str) -> Sample:
    found = mixed()
    holes = {"age": 7, "job": 11, "smokes": 13, "class": 17}
    frame = found.frame.with_columns(
        pl.Series(name, _with_gaps(found.frame[name], every), found.frame.schema[name]) for name, every in holes.items()
    )
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("?")).otherwise("zip").alias("zip"))
    quasi = {name: found.schema.attributes[name].hierarchy for name in found.schema.quasi}
    schema = Schema(
        quasi=quasi, sensitive="class", identifiers=["id"], other=["note"], missing=policy, missing_tokens=["?"]  # type: ignore[arg-type]
    )  # fmt: skip
    return Sample(frame, schema)


def duplicates() -> Sample:
    """Return few distinct rows, each many times, and notes that go with none of them."""
    found = mixed(6)
    number = pl.int_range(pl.len())
    frame = pl.concat([found.frame] * 10).with_columns(id=number.cast(pl.String()), note=number % 7)
    return replace(found, frame=frame)


def one_quasi(n: int = 20) -> Sample:
    """Return a table with one quasi-identifier."""
    return _sample({"age": np.random.default_rng(5).integers(17, 80, n)}, {"age": Intervals()})


SAMPLES: dict[str, Callable[[], Sample]] = {
    "a table of mixed types": mixed,
    "numbers and dates": numbers,
    "names": names,
    "missing values as values": lambda: _missing("value"),
    "missing values dropped": lambda: _missing("drop"),
    "duplicates": duplicates,
    "one quasi-identifier": one_quasi,
}
