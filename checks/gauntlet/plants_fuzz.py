"""Planted blindly: any cell, any value of a manifest, files that no writer writes. The oracle tells the harmless."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.rows import rank
from checks.gauntlet.plants import plant

_ODD: tuple[Any, ...] = (
    None,
    "x",
    "",
    -1,
    0,
    1,
    1.5,
    10**30,
    True,
    False,
    [],
    {},
    [None],
    ["x"],
    {"x": 1},
    "2001-01-01",
)
_FREE = {"incrowd", "polars", "method", "target", "tokens", "codes"}  # of which nobody else knows what they should be


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Return the paths to everything in plain data that somebody could check."""
    if isinstance(data, dict):
        return [
            p for key, value in data.items() if key not in _FREE for p in [(*path, key), *_places(value, (*path, key))]
        ]
    if isinstance(data, list):
        return [p for at, value in enumerate(data) for p in [(*path, at), *_places(value, (*path, at))]]
    return []


def _put(data: Any, path: tuple[Any, ...], value: Any) -> Any:  # noqa: ANN401
    """Write a value, and return the one before."""
    for step in path[:-1]:
        data = data[step]
    before, data[path[-1]] = data[path[-1]], value
    return before


def _nudged(rng: random.Random, value: Any) -> Any:  # noqa: ANN401
    """Return a value near another."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-1, 1, 10))
    return value + rng.choice((" ", "x")) if isinstance(value, str) else list(value)[::-1]


def _same(one: Any, two: Any) -> bool:  # noqa: ANN401
    return type(one) is type(two) and one == two


@plant(sure=False)
def manifest_value_nudged(f: Forger, rng: random.Random) -> bool:
    """Something in the manifest is a little different."""
    path = rng.choice(_places(f.manifest))
    value = f.manifest
    for step in path:
        value = value[step]
    new = _nudged(rng, value)
    return not isinstance(value, dict) and not _same(_put(f.manifest, path, new), new)


@plant(sure=False)
def manifest_value_of_another_kind(f: Forger, rng: random.Random) -> bool:
    """Something in the manifest is no number, no text, or no list any more."""
    path, new = rng.choice(_places(f.manifest)), rng.choice(_ODD)
    return not _same(_put(f.manifest, path, new), new)


@plant(sure=False)
def private_domain_value_of_another_kind(f: Forger, rng: random.Random) -> bool:
    """Something in the owner's domains is no number, no text, or no list any more."""
    if f.domains is None:
        return False
    path, new = rng.choice(_places(f.domains)), rng.choice(_ODD)
    return not _same(_put(f.domains, path, new), new)


@plant(sure=False)
def any_cell_changed(f: Forger, rng: random.Random) -> bool:
    """A cell of the release is that of another row."""
    if not f.is_rows:
        return False
    name = rng.choice(f.table.columns)
    one, two = rng.randrange(f.table.height), rng.randrange(f.table.height)
    values = f.table[name].to_list()
    if _same(values[one], values[two]):
        return False
    f.set_cells(name, [one], values[two])
    f.sort()
    return True


@plant(sure=False)
def any_cells_exchanged(f: Forger, rng: random.Random) -> bool:
    """Two rows have each other's cell in one column."""
    if not f.is_rows:
        return False
    name = rng.choice(f.table.columns)
    one, two = rng.randrange(f.table.height), rng.randrange(f.table.height)
    values = f.table[name].to_list()
    if _same(values[one], values[two]):
        return False
    f.set_cells(name, [one, two], [values[two], values[one]])
    f.sort()
    return True


@plant(sure=False)
def private_cell_changed(f: Forger, rng: random.Random) -> bool:
    """A number of a private table is another, or none, or far outside."""
    stem = rng.choice(sorted(f.private))
    table = f.private[stem]
    name = rng.choice(table.columns)
    values = table[name].to_list()
    at = rng.randrange(len(values))
    new = rng.choice((None, -1, 10**6, values[rng.randrange(len(values))]))
    if _same(values[at], new):
        return False
    values[at] = new
    f.private[stem] = table.with_columns(pl.Series(name, values, dtype=table[name].dtype))
    return True


@plant(sure=True)
def private_table_of_another_shape(f: Forger, rng: random.Random) -> bool:
    """A private table has another type, another name, or rows too few."""
    stem = rng.choice(sorted(f.private))
    table = f.private[stem]
    name = table.columns[0]
    ways = [
        table.with_columns(pl.col(name).cast(pl.String())),
        table.rename({name: "x"}),
        table.head(table.height - 1),
        table.clear(),
        table.with_columns(pl.lit("x").alias("note")),
    ]
    f.private[stem] = rng.choice(ways)
    return True


@plant(sure=False, on_files=True)
def file_that_no_writer_writes(folder: Path, rng: random.Random) -> bool:
    """A file of the release, or of the owner, that is damaged or odd."""
    secret = folder.with_name(folder.name + ".private")
    files = [file for base in (folder, secret) for file in base.iterdir() if file.name != "recoding.npz"]
    path = rng.choice(sorted(file for file in files if file != secret / "manifest.json"))
    raw = path.read_bytes()
    at = rng.randrange(len(raw))
    ways = [
        b"",
        b"\xff" + raw,
        raw[:at],
        raw[:at] + b"\x00" + raw[at:],
        raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :],
        raw + raw,
    ]
    path.write_bytes(rng.choice(ways))
    return True


@plant(sure=True, on_files=True)
def json_that_readers_choke_on(folder: Path, rng: random.Random) -> bool:
    """A manifest with endless lists, numbers that are none, or half a character."""
    path = folder / "manifest.json"
    text = path.read_text("utf-8")
    ways = ("[" * 100_000, "NaN", "-Infinity", "1e999", "9" * 5000, '"\\ud800"', "[" * 5000 + "]" * 5000)
    path.write_text(text.replace("2", rng.choice(ways), 1), "utf-8")
    return True


@plant(sure=True, on_files=True)
def link_instead_of_a_file(folder: Path, rng: random.Random) -> bool:
    """A file of the release lies elsewhere."""
    path = rng.choice(sorted(folder.iterdir()))
    elsewhere = folder.with_name(folder.name + ".private") / "recoding.npz"
    elsewhere.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(elsewhere)
    return True


@plant(sure=True)
def projection_cells_exchanged(f: Forger, rng: random.Random) -> bool:
    """Two rows of a projection have each other's cell in one column."""
    if f.is_rows:
        return False
    stem = rng.choice(list(f.tables))
    table, rows = f.tables[stem], f.private[stem.replace("projection", "rows")]
    name = rng.choice(table.columns)
    values = table[name].to_list()
    one, two = rng.randrange(len(values)), rng.randrange(len(values))
    if _same(values[one], values[two]) or table.width < 2:
        return False
    values[one], values[two] = values[two], values[one]
    table = table.with_columns(pl.Series(name, values, dtype=table[name].dtype))
    order = sorted(range(len(values)), key=lambda row: tuple(map(rank, table.row(row))))
    f.tables[stem], f.private[stem.replace("projection", "rows")] = table[order], rows[order]
    return True
