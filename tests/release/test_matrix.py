"""From every way in which a table is written to every place: formats, encodings, separators, notations, missing codes.

Each table holds the same people. What is published is verified against the file that it was read from, read back from
its place, and compared with what the same people give from memory.
"""

import datetime as dt
import itertools
import random
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd import io, workflow
from incrowd.io.reading import Reading

ROWS = 80
RNG = random.Random(7)
PEOPLE = [
    {
        "name": f"Zaphod{i}",
        "age": RNG.choice([*range(20, 40), *[99] * 3]),  # 99 means missing
        "speed": f"{RNG.choice([30, 50, 70, 999]):03d}",  # numbers with zeros in front, 999 means missing
        "size": RNG.randrange(1000, 9999) + 0.25,
        "born": dt.date(1990, 1 + i % 12, 1 + i % 28),
        "job": RNG.choice(["JOB1", "JOB2", "k.A."]),  # k.A. means missing
        "ill": RNG.choice(["yes", "no"]),
    }
    for i in range(ROWS)
]
WORDS = {  # letters that an encoding has
    "utf-8": ("Bäcker", "日本"),
    "cp1252": ("Bäcker", "Ärztin"),
    "utf-16": ("Bäcker", "日本"),
    "cp932": ("東京", "大阪"),
}  # fmt: skip
SEPARATORS = {",": "csv", ";": "csv", "\t": "tsv", "|": "txt"}
NOTATIONS = {"point": (".", "", "%Y-%m-%d"), "comma": (",", ".", "%d.%m.%Y"), "apostrophe": (".", "'", "%d/%m/%Y")}
FORMATS = ["parquet", "arrow", "xlsx", "sav", "dta", "sqlite", "duckdb", "csv.gz", "zip", "folder"]
TARGETS = ["folder", "sqlite", "duckdb", "dataset", "csv", "xlsx", "sav", "dta", "parquet"]
CODES = {"age": [99], "speed": [999], "job": ["k.A."]}


def schema(reading=None, date_format=None):
    quasi = {
        "age": ic.Intervals(),
        "speed": ic.Intervals(),
        "size": ic.Intervals(),
        "born": ic.Intervals(),
        "job": None,
    }
    types = {"age": "int", "speed": "int", "size": "float", "born": "date"}
    made = ic.Schema(
        quasi=quasi, sensitive="ill", identifiers=["name"], types=types, missing_codes=CODES, reading=reading
    )
    if date_format is None:
        return made
    return made.with_attributes(
        replace(attribute, date_format=date_format) if name == "born" else attribute
        for name, attribute in made.attributes.items()
    )


def people(words=("JOB1", "JOB2")):
    frame = pl.DataFrame(PEOPLE)
    return frame.with_columns(pl.col("job").replace(["JOB1", "JOB2"], list(words)))


def as_text(frame, separator, notation):
    decimal, thousands, days = NOTATIONS[notation]
    lines = [separator.join(frame.columns)]
    for row in frame.iter_rows(named=True):
        size = f"{row['size']:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
        row |= {"size": f'"{size}"' if separator in size else size, "born": row["born"].strftime(days)}
        lines.append(separator.join(map(str, row.values())))
    return "\n".join(lines) + "\n"


def place_of(target):
    return {"folder": "out", "dataset": "out", "sqlite": "sqlite:///o.db#t", "duckdb": "duckdb:///o.duckdb#t"}.get(
        target, f"out.{target}"
    )


def check(source, roles, target, words):
    """Publish a source to a place, verify it, and compare it with the release of the same people from memory."""
    output = place_of(target)
    done = workflow.publish(
        source,
        roles,
        output,
        method="mondrian",
        parameters={"k": 4},
        seed=1,
        private="mine",
        dataset=target == "dataset",
    )
    if target == "folder":
        Path("mine").rename("out.private")
    found = workflow.verify(
        output, source, private="out.private" if target == "folder" else "mine", reading=roles.reading
    )
    assert found.violations == []
    assert [line.split(":")[0] for line in found.unknown] == ([] if target in ("folder", "dataset") else ["place"])
    back = ic.Release.load(output)
    expected = ic.Mondrian(k=4).publish(people(words), schema(), seed=1)
    assert back.frame.equals(expected.frame, null_equal=True)
    assert done.release.manifest.missing.codes == {"age": ("99",), "speed": ("999",), "job": ("k.A.",)}


TEXTS = list(itertools.product(WORDS, SEPARATORS, NOTATIONS))
IN_PART = [  # each encoding, separator and notation at least once
    (encoding, list(SEPARATORS)[at], list(NOTATIONS)[(at + 1) % 3]) for at, encoding in enumerate(WORDS)
]


@pytest.mark.parametrize(
    ("encoding", "separator", "notation"),
    [pytest.param(*each, marks=() if each in IN_PART else pytest.mark.slow) for each in TEXTS],
)
def test_text_files(tmp_path, monkeypatch, encoding, separator, notation):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"people.{SEPARATORS[separator]}"
    text = as_text(people(WORDS[encoding]), separator, notation)
    file.write_bytes(text.encode(encoding))
    decimal, thousands, days = NOTATIONS[notation]
    reading = Reading(
        encoding=None if encoding == "utf-8" else encoding, delimiter=separator,
        decimal=decimal if notation == "comma" else None, thousands=thousands or None,
    )  # fmt: skip
    target = TARGETS[TEXTS.index((encoding, separator, notation)) % len(TARGETS)]
    check(str(file), schema(reading, days if notation != "point" else None), target, WORDS[encoding])


PAIRS = list(itertools.product(FORMATS, TARGETS))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("form", "target"),
    [pytest.param(*pair, marks=() if PAIRS.index(pair) % 16 == 0 else pytest.mark.slow) for pair in PAIRS],
)
def test_other_formats(tmp_path, monkeypatch, form, target):
    monkeypatch.chdir(tmp_path)
    frame = people(WORDS["utf-8"])
    source = f"people.{form}"
    if form in ("sqlite", "duckdb"):
        source = f"{form}:///in.{form}#people"
        io.write(frame, source.partition("#")[0], table="people")
    elif form == "zip":
        source = "people.csv.zip"
        with zipfile.ZipFile(source, "w") as packed:
            packed.writestr("people.csv", frame.write_csv())
    elif form == "folder":
        source = "parts"
        (tmp_path / "parts").mkdir()
        for number in range(4):
            frame.slice(number * 20, 20).write_csv(tmp_path / "parts" / f"part-{number}.csv")
    else:
        io.write(frame, source)
    check(source, schema(), target, WORDS["utf-8"])
