"""Planted in files: bytes that nobody looks at, files too many or too few, digests, projections."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.rows import rank
from checks.gauntlet.plants import plant
from checks.gauntlet.plants_manifest import TEXT


def _one(folder: Path, rng: random.Random, pattern: str) -> Path:
    return rng.choice(sorted(folder.glob(pattern)))


@plant(sure=True, on_files=True)
def file_added(folder: Path, rng: random.Random) -> bool:
    """A file, visible or not, that does not belong to a release."""
    (folder / rng.choice(("notes.txt", ".hidden", "release.json", "rows.parquet"))).write_text(TEXT, "utf-8")
    return True


@plant(sure=True, on_files=True)
def folder_added(folder: Path, rng: random.Random) -> bool:
    """A folder in the release."""
    del rng
    (folder / "more").mkdir()
    return True


@plant(sure=True, on_files=True)
def bytes_after_parquet(folder: Path, rng: random.Random) -> bool:
    """Bytes behind the end of a Parquet file."""
    path = _one(folder, rng, "*.parquet")
    path.write_bytes(path.read_bytes() + TEXT.encode())
    return True


@plant(sure=True, on_files=True)
def bytes_inside_parquet(folder: Path, rng: random.Random) -> bool:
    """Bytes between the data and the footer of a Parquet file: readers jump over them."""
    path = _one(folder, rng, "*.parquet")
    raw = path.read_bytes()
    footer = int.from_bytes(raw[-8:-4], "little") + 8
    path.write_bytes(raw[:-footer] + TEXT.encode() + raw[-footer:])
    return True


@plant(sure=True, on_files=True)
def parquet_written_otherwise(folder: Path, rng: random.Random) -> bool:
    """The same table with other compression, statistics or groups of rows."""
    path = _one(folder, rng, "*.parquet")
    before, frame = path.read_bytes(), pl.read_parquet(path)
    if rng.random() < 0.3:
        frame.write_parquet(path, compression="zstd", compression_level=3, statistics=True)
    elif rng.random() < 0.5:
        frame.write_parquet(path, compression="uncompressed", statistics=False)
    else:
        frame.write_parquet(path, compression="zstd", compression_level=3, statistics=False, row_group_size=7)
    return path.read_bytes() != before  # few rows fit one group


@plant(sure=True, on_files=True)
def text_in_parquet_metadata(folder: Path, rng: random.Random) -> bool:
    """A message among the metadata of a Parquet file."""
    path = _one(folder, rng, "*.parquet")
    pl.read_parquet(path).write_parquet(
        path, compression="zstd", compression_level=3, statistics=False, row_group_size=262144, metadata={"note": TEXT}
    )
    return True


@plant(sure=True, on_files=True)
def csv_written_otherwise(folder: Path, rng: random.Random) -> bool:
    """The same rows with other quotes, line ends, a byte order mark, or an empty line."""
    path = _one(folder, rng, "*.csv")
    raw = path.read_bytes()
    first, _, rest = raw.partition(b"\n")
    ways: list[bytes] = [
        b"\xef\xbb\xbf" + raw,
        raw.replace(b"\n", b"\r\n"),
        raw + b"\n",
        raw[:-1],
        first + b" \n" + rest,
        b'"'
        + first.partition(b",")[0].replace(b'"', b"")
        + b'"'
        + first[len(first.partition(b",")[0]) :]
        + b"\n"
        + rest,
    ]
    path.write_bytes(rng.choice(ways))
    return path.read_bytes() != raw


@plant(sure=True, on_files=True)
def csv_says_something_else(folder: Path, rng: random.Random) -> bool:
    """A cell of the CSV file is not that of the Parquet file."""
    path = _one(folder, rng, "*.csv")
    lines = path.read_bytes().split(b"\n")
    place = rng.randrange(1, len(lines) - 1)
    lines[place] = lines[place] + b"1"
    path.write_bytes(b"\n".join(lines))
    return True


@plant(sure=True, on_files=True)
def csv_rows_in_another_order(folder: Path, rng: random.Random) -> bool:
    """The rows of the CSV file in another order than those of the Parquet file."""
    path = _one(folder, rng, "*.csv")
    head, *lines = path.read_bytes().split(b"\n")[:-1]
    if b'"' in path.read_bytes() or len(set(lines)) < 2:
        return False
    path.write_bytes(b"\n".join([head, *sorted(lines, reverse=True), b""]))
    return lines != sorted(lines, reverse=True)


@plant(sure=True, on_files=True)
def json_written_otherwise(folder: Path, rng: random.Random) -> bool:
    """The same manifest with other spaces, escapes, or a key that stands there twice."""
    path = folder / "manifest.json"
    text = path.read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    ways = [
        text + " ",
        text.replace("\n ", "\n  ", 1),
        json.dumps(data, indent=2) + "\n",
        json.dumps(data) + "\n",
        text.replace("{", '{\n "format": 2,', 1),
        text.replace('"format"', '"\\u0066ormat"', 1),
        "\ufeff" + text,
    ]
    path.write_text(rng.choice(ways), "utf-8")
    return True


@plant(sure=True, on_files=True)
def public_file_removed(folder: Path, rng: random.Random) -> bool:
    """A file of the release is gone."""
    _one(folder, rng, "*").unlink()
    return True


@plant(sure=True, honest=True, on_files=True)
def private_file_removed(folder: Path, rng: random.Random) -> bool:
    """A file that the owner must keep is gone."""
    secret = folder.with_name(folder.name + ".private")
    gone = rng.choice(sorted(file for file in secret.iterdir() if file.name not in ("manifest.json", "recoding.npz")))
    gone.unlink()
    return True


@plant(sure=True, on_files=True)
def private_file_broken(folder: Path, rng: random.Random) -> bool:
    """A file that the owner keeps cannot be read."""
    secret = folder.with_name(folder.name + ".private")
    file = rng.choice(sorted(file for file in secret.iterdir() if file.name not in ("manifest.json", "recoding.npz")))
    file.write_bytes(file.read_bytes()[: rng.randrange(1, 40)])
    return True


def _columns(f: Forger) -> list[dict[str, Any]]:
    return [] if f.is_rows else list(f.manifest["columns"])


def _stem(f: Forger, name: str) -> str:
    place = next(number for number, part in enumerate(f.manifest["parts"]) if name in part)
    return f"projection-{place + 1}"


@plant(sure=True)
def projection_in_another_order(f: Forger, rng: random.Random) -> bool:
    """A projection in the order of the original, or of another projection."""
    if f.is_rows:
        return False
    stem = rng.choice(list(f.tables))
    rows = f.private[stem.replace("projection", "rows")]["row"].to_list()
    order = sorted(range(len(rows)), key=lambda row: rows[row])
    if rng.random() < 0.5:
        order = order[1:] + order[:1]
    taken = f.tables[stem][order]
    if taken.equals(f.tables[stem], null_equal=True):
        return False
    f.tables[stem] = taken
    f.private[stem.replace("projection", "rows")] = pl.DataFrame({"row": [rows[row] for row in order]})
    return True


@plant(sure=True)
def projection_cell_changed(f: Forger, rng: random.Random) -> bool:
    """A cell of a projection is somebody else's."""
    if f.is_rows:
        return False
    stem = rng.choice(list(f.tables))
    table = f.tables[stem]
    name = rng.choice(table.columns)
    values = table[name].to_list()
    one, two = rng.randrange(len(values)), rng.randrange(len(values))
    if values[one] == values[two]:
        return False
    values[one] = values[two]
    table = table.with_columns(pl.Series(name, values, dtype=table[name].dtype))
    order = sorted(range(len(values)), key=lambda row: tuple(map(rank, table.row(row))))
    rows = f.private[stem.replace("projection", "rows")]
    f.tables[stem], f.private[stem.replace("projection", "rows")] = table[order], rows[order]
    return True


@plant(sure=True)
def projection_suppression_miscounted(f: Forger, rng: random.Random) -> bool:
    """A column that lost fewer or more values than it says."""
    columns = _columns(f)
    if not columns:
        return False
    rng.choice(columns)["suppressed"] += 1
    return True


@plant(sure=True)
def projection_cuts_changed(f: Forger, rng: random.Random) -> bool:
    """Cuts that are not those of the intervals that are shown."""
    columns = [column for column in _columns(f) if column["cuts"]]
    if not columns:
        return False
    column = rng.choice(columns)
    column["cuts"][0] = column["cuts"][0] - 1 if abs(column["cuts"][0]) < 2**50 else 0.5
    return True


@plant(sure=True)
def projection_feature_hidden(f: Forger, rng: random.Random) -> bool:
    """A column that is left out is not spoken of, or one that nobody has is."""
    if f.is_rows:
        return False
    if f.manifest["left_out"] and rng.random() < 0.5:
        f.manifest["left_out"].pop()
    else:
        f.manifest["left_out"].append(TEXT)
    return True


@plant(sure=True)
def quasi_sets_split(f: Forger, rng: random.Random) -> bool:
    """Quasi-identifiers that somebody knows together are said to be known apart."""
    del rng
    if f.is_rows or len(f.manifest["quasi_sets"]) != 1 or len(f.manifest["quasi_sets"][0]) < 2:
        return False
    f.manifest["quasi_sets"] = [[name] for name in f.manifest["quasi_sets"][0]]
    return True


@plant(sure=True)
def role_changed(f: Forger, rng: random.Random) -> bool:
    """A quasi-identifier of a projection is said to be none."""
    columns = [column for column in _columns(f) if column["role"] == "quasi"]
    if not columns:
        return False
    column = rng.choice(columns)
    column["role"] = "other"
    f.manifest["quasi_sets"] = [[n for n in known if n != column["name"]] for known in f.manifest["quasi_sets"]]
    return True


@plant(sure=True)
def projection_of_another_type(f: Forger, rng: random.Random) -> bool:
    """A column of a projection in a type that has room for more."""
    if f.is_rows:
        return False
    stem = rng.choice(list(f.tables))
    name = rng.choice(f.tables[stem].columns)
    f.tables[stem] = f.tables[stem].with_columns(pl.col(name).cast(pl.String()).cast(pl.Categorical()))
    return True
