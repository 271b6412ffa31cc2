"""Planted in what the owner keeps: row map, blocks, members, rings, exact domains."""

from __future__ import annotations

import io
import random

import numpy as np
import polars as pl

from checks.gauntlet.forger import Forger
from checks.gauntlet.plants import plant


@plant(sure=False)
def originals_exchanged(f: Forger, rng: random.Random) -> bool:
    """The row map says that two rows are each other's."""
    if not f.is_rows:
        return False
    rows = f.private["rows"]["row"].to_list()
    one, two = rng.randrange(len(rows)), rng.randrange(len(rows))
    rows[one], rows[two] = rows[two], rows[one]
    f.private["rows"] = pl.DataFrame({"row": rows})
    return one != two


@plant(sure=True)
def original_named_twice(f: Forger, rng: random.Random) -> bool:
    """The row map names a row twice."""
    name = "rows" if f.is_rows else "rows-1"
    rows = f.private[name]["row"].to_list()
    if len(rows) < 2:
        return False
    one, two = rng.sample(range(len(rows)), 2)
    rows[one] = rows[two]
    f.private[name] = pl.DataFrame({"row": rows})
    return True


@plant(sure=False)
def block_changed(f: Forger, rng: random.Random) -> bool:
    """A row is said to be of another block."""
    if "blocks" not in f.private:
        return False
    blocks = f.private["blocks"]["block"].to_list()
    one, two = rng.randrange(len(blocks)), rng.randrange(len(blocks))
    if blocks[one] == blocks[two]:
        return False
    blocks[one] = blocks[two]
    f.private["blocks"] = f.private["blocks"].with_columns(pl.Series("block", blocks))
    return True


@plant(sure=False)
def member_changed(f: Forger, rng: random.Random) -> bool:
    """A cell is said to be made of somebody else."""
    if "members" not in f.private:
        return False
    members = f.private["members"]
    column, row = rng.choice(members.columns), rng.randrange(members.height)
    values = members[column].to_list()
    values[row] = rng.randrange(f.table.height)
    f.private["members"] = members.with_columns(pl.Series(column, values, dtype=pl.Int32()))
    return True


@plant(sure=False)
def ring_changed(f: Forger, rng: random.Random) -> bool:
    """Two rows are said to be in each other's place on their rings."""
    if "rings" not in f.private:
        return False
    rings = f.private["rings"]
    one, two = rng.randrange(rings.height), rng.randrange(rings.height)
    name = rng.choice(("original", "cell", "ring", "width"))
    values = rings[name].to_list()
    if name == "width":
        values = [value + 1 if row == one else value for row, value in enumerate(values)]
    else:
        values[one], values[two] = values[two], values[one]
    f.private["rings"] = rings.with_columns(pl.Series(name, values, dtype=rings[name].dtype))
    return True


@plant(sure=True)
def private_counts_changed(f: Forger, rng: random.Random) -> bool:
    """The owner's exact counts are wrong."""
    if f.domains is None:
        return False
    own = rng.choice(f.domains["quasi"])
    own["counts"][rng.randrange(len(own["counts"]))] += 1
    return True


@plant(sure=True)
def private_leaf_moved(f: Forger, rng: random.Random) -> bool:
    """The owner's files say that a value is published as another leaf."""
    if f.domains is None:
        return False
    entries = [d for d in f.domains["quasi"] if d["leaf_of"] and len(set(d["leaf_of"])) > 1]
    if not entries:
        return False
    own = rng.choice(entries)
    counted = [place for place, count in enumerate(own["counts"]) if count]
    place = rng.choice(counted)
    own["leaf_of"][place] = rng.choice([leaf for leaf in set(own["leaf_of"]) if leaf != own["leaf_of"][place]])
    return True


@plant(sure=True)
def recoding_of_a_method_without_one(f: Forger, rng: random.Random) -> bool:
    """A recoding lies beside a release whose method makes none."""
    if f.manifest["method"]["name"] not in ("seqa", "tight_groups", "mdav", "nhaa", "nsvdist", "dmpd", "pareto_dmpd"):
        return False
    held = io.BytesIO()
    numbers = np.array([rng.randrange(100) for _ in range(4)], np.int32)
    np.savez_compressed(held, allow_pickle=False, cuts=numbers, lo=numbers, hi=numbers)
    f.recoding = held.getvalue()
    return True


@plant(sure=True)
def recoding_with_a_letter(f: Forger, rng: random.Random) -> bool:
    """An array more in the recoding."""
    if f.recoding is None:
        return False
    with np.load(io.BytesIO(f.recoding)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    held = io.BytesIO()
    arrays["note"] = np.array([rng.randrange(100)], np.int32)
    np.savez_compressed(held, allow_pickle=False, **arrays)
    f.recoding = held.getvalue()
    return True
