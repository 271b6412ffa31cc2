"""Columns that get their types while a file is parsed: the same as if all of it were text first."""

import random
from io import BytesIO
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from incrowd.errors import InputError
from incrowd.io import delimited, parsing, read, records
from incrowd.io.columns import converted
from incrowd.io.files import read_with_findings
from incrowd.io.reading import Findings, Reading

PLAIN = {
    "int": lambda rng: str(rng.randint(-50, 5000)),
    "float": lambda rng: f"{rng.uniform(-3, 3):.2f}",
    "date": lambda rng: f"{rng.randint(1900, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    "time": lambda rng: f"2020-01-{rng.randint(1, 28):02} 10:00:00",
    "bool": lambda rng: rng.choice(["true", "False"]),
    "text": lambda rng: rng.choice(["x", "two words", "é", "-", "2020-01-02"]),
    "code": lambda rng: f"{rng.randint(0, 999):05}",
    "comma": lambda rng: f"{rng.randint(0, 99)};{rng.randint(0, 99)}",
    "empty": lambda _rng: "",
}
SLIPS = [
    "", " ", " 7", "7 ", "\t7", "07", "-07", "+07", " 07", "+7", "7.0", "7.", ".5", "-0", "1e3", "nan", "inf", "-inf",
    "1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "123456789012345678901", "1_0", "x",
    "NA", "-9", "2020-1-2", "2020-01-2", "2020- 1-02", "2020/01/02", "02-01-2020", "+2020-01-02", "+2020-1-02",
    "0020-01-02", "+202-01-02", " 202-01-02", "2020-02-30", " 2020-01-02", "20-01-02", "2020-01-02T10:00:00", "1.234",
    "0.5", "00.5", "0", "00", "0x1", "true", "é",
]  # fmt: skip


def written(rng, folder, sign):
    """Write a table in which few cells are unlike the rest of their column."""
    kinds = rng.choices(list(PLAIN), k=rng.randint(2, 6))
    n = rng.choice([40, 90])
    slips = rng.choice([0, 0, 1, 3, 10])
    cells = [[PLAIN[kind](rng) for kind in kinds] for _ in range(n)]
    for _ in range(slips):
        cells[rng.randrange(n)][rng.randrange(len(kinds))] = rng.choice(SLIPS)
    quoting = rng.choice(["", "", "text", "all"])

    def cell(text):
        if quoting == "text" and any(c.isalpha() or c in " ;" for c in text):
            return f'"{text}"' if rng.random() < 0.9 else f'"{text}{sign}{rng.choice(SLIPS)}"'
        return f'"{text}"' if quoting == "all" else text.replace(sign, "_")

    end = rng.choice(["\n", "\n", "\r\n"])
    lines = [sign.join(f"c{at}" for at in range(len(kinds))), *(sign.join(map(cell, row)) for row in cells)]
    path = folder / "table.csv"
    path.write_text(end.join(lines) + end, encoding="utf-8", newline="")
    return path


def told(path, reading):
    """Everything that reading a file gives: the table or the error, and what is said."""
    said = []
    findings = Findings(said.append)
    try:
        frame = read_with_findings(path, reading, findings)
    except InputError as error:
        return str(error)
    return (
        frame.to_dict(as_series=False).__repr__(),
        frame.schema,
        said,
        findings.notation,
        findings.codes,
        findings.taken,
    )


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.one_in(20)) for seed in range(160)])
def test_types_are_those_of_the_text(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(delimited, "_BATCH", 700)
    monkeypatch.setattr(parsing, "_BLOCK", rng.choice([20, 1 << 17]))
    for _ in range(2):
        sign = rng.choice(",,;\t")
        path = written(rng, tmp_path, sign)
        reading = rng.choice(
            [
                Reading(),
                Reading(delimiter=sign, missing_tokens=("NA",)),
                Reading(delimiter=sign, missing_tokens=("-9", "x")),
                Reading(delimiter=sign, missing_codes={"c0": ("-9", "7")}, types={"c1": "str"}),
                Reading(delimiter=sign, decimal=","),
            ]
        )
        monkeypatch.setattr(parsing, "_WORTH_IT", 1 << 60)
        expected = told(path, reading)
        monkeypatch.setattr(parsing, "_WORTH_IT", 0)
        assert told(path, reading) == expected


def pieces(text, n_columns):
    place = records.Place(Path("a.csv"), 2, 0)
    return list(records.pieces(place, BytesIO(text.encode()), b"", ",", n_columns, 1 << 20))


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("column", [0, 1, 2, 3])
def test_each_slip_is_what_its_text_is(column, quote, monkeypatch):
    monkeypatch.setattr(parsing, "_WORTH_IT", 0)
    plain = ["-5", "2.5", "2020-01-02", "some text"]
    head = pieces(",".join(f"{quote}{cell}{quote}" for cell in plain) + "\n", 4)[0]
    parser, texts = parsing.Parser(list("ifdt"), ","), parsing.Parser(list("ifdt"), ",")
    parser.promise(head, Reading(missing_tokens=("NA", "x")))
    direct = parser._direct
    for slip, first in product(SLIPS, (False, True)):
        parser._direct = direct
        cells = [f"{quote}{slip if at == column else cell}{quote}" for at, cell in enumerate(plain)]
        lines = [",".join(plain), ",".join(cells)]
        [piece] = pieces("".join(f"{line}\n" for line in (lines[::-1] if first else lines)), 4)
        part, text = parser.parse(piece), texts.parse(piece)
        for name, kind in {"i": "int", "f": "float", "d": "date"}.items():
            expected = converted(text[name], kind, ["", "NA", "x"])
            expected = text[name] if expected is None else expected
            assert part[name].equals(expected), (name, slip)
            assert part[name].dtype == expected.dtype


def test_a_first_field_is_looked_at_too(monkeypatch):
    monkeypatch.setattr(parsing, "_WORTH_IT", 0)
    for text, dtype, is_at_once in (
        ("2020-01-02", pl.Date, True),
        ("2020-1-2", pl.String, False),
        ("07", pl.String, False),
    ):
        parser = parsing.Parser(["a", "b"], ",")
        parser.promise(pieces("2020-01-02,1\n" if "-" in text else "7,1\n", 2)[0], Reading())
        [piece] = pieces(f"{text},1\n", 2)
        assert (parser._at_once(piece, parser._direct) is not None) == is_at_once
        assert parser.parse(piece)["a"].dtype == dtype


def test_a_date_of_another_form_is_not_outweighed_by_a_text(monkeypatch):
    monkeypatch.setattr(parsing, "_WORTH_IT", 0)
    for note in ("2020-01-02", '"a,2020-01-02,b"'):
        parser = parsing.Parser(["day", "note"], ",")
        parser.promise(pieces("2020-01-02,a\n", 2)[0], Reading())
        part = parser.parse(pieces(f"2020-1-2,{note}\n", 2)[0])
        assert part["day"].to_list() == ["2020-1-2"]


def cut(monkeypatch, batch=4000):
    """Cut even small files in pieces, and say which of them the parser read at once."""
    done = []
    at_once = parsing.Parser._at_once

    def watched(self, piece, direct):
        part = at_once(self, piece, direct)
        done.extend([part is not None] if direct else [])
        return part

    monkeypatch.setattr(parsing.Parser, "_at_once", watched)
    monkeypatch.setattr(delimited, "_BATCH", batch)
    monkeypatch.setattr(parsing, "_WORTH_IT", 0)
    return done


def test_a_plain_file_is_parsed_once(tmp_path, monkeypatch):
    done = cut(monkeypatch)
    rows = pl.DataFrame({"n": range(2000), "x": [at / 8 for at in range(2000)], "word": ["a b"] * 2000})
    rows = rows.with_columns(pl.date(2000, 1, 1).alias("day"), pl.lit("007").alias("code"))
    rows.write_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").equals(rows)
    assert len(done) > 5
    assert all(done)


def test_few_pieces_are_parsed_twice(tmp_path, monkeypatch):
    done = cut(monkeypatch)
    lines = ["n,day,code", *(f'{at},2000-01-01,"a,7"' for at in range(4000)), *["NA,2000-01-01,b"] * 40]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    frame = read(tmp_path / "a.csv", missing_tokens=["NA"])
    assert frame.dtypes == [pl.Int64, pl.Date, pl.String]
    assert frame["n"].null_count() == 40
    assert done.count(False) < 15 < done.count(True)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    cut(monkeypatch)
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "1\n" * 4000 + "x\n")
    heads = delimited._Table._head

    def longer(self, stream):
        with path.open("a") as handle:
            handle.write("2\n")
        return heads(self, stream)

    monkeypatch.setattr(delimited._Table, "_head", longer)
    with pytest.raises(InputError, match="has changed while it was read"):
        read(path)
