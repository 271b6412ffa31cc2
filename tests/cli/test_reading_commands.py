"""Files as people have them, through whole commands: what was taken is said, kept in the schema, found by verify."""

from __future__ import annotations

import io
import json
import random
import sys

import polars as pl
import pytest

from incrowd.cli import main
from incrowd.cli.options import READING

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def incrowd(monkeypatch, capsys):
    def run(folder, *arguments, code=0, data=None):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        if data is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert (stop.value.code or 0) == code, printed
        return printed

    return run


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german")
    rng = random.Random(1)
    lines = ["Alter;Größe;Einkommen;Geburt;Beruf;Krankheit"]
    for _ in range(200):
        age, day = (
            rng.randrange(20, 80),
            f"{rng.randrange(1, 29):02d}.{rng.randrange(1, 13):02d}.{rng.randrange(1950, 2000)}",
        )
        height = f"{rng.uniform(1.5, 2):.2f}".replace(".", ",")
        income = f"{rng.randrange(10, 90) * 250:,}".replace(",", ".")
        job, ill = rng.choice(["Bäcker", "Ärztin", "Schüler"]), rng.choice(["keine", "Grippe"])
        lines.append(f"{rng.choice([age] * 9 + [-9])};{height};{income};{day};{job};{ill}")
    (folder / "leute.csv").write_bytes("\n".join(lines).encode("latin-1"))
    return folder


def test_a_german_file_from_init_to_verify(incrowd, german):
    said = incrowd(german, "init", "leute.csv", "-o", "leute.toml", "--sensitive", "Krankheit").out
    flat = " ".join(said.split())
    assert "was read as cp1252 (Windows-1252, which includes Latin-1)" in flat
    assert "Numbers have a decimal comma in column 'Größe'; --decimal , was taken" in flat
    assert "Thousands are separated by '.'" in flat
    assert "Dates of 'Geburt' were read as %d.%m.%Y" in flat
    assert "Values that may mean missing are in 'Alter'" in flat
    assert "are unique by the 5 quasi-identifiers" in flat
    assert max(map(len, said.splitlines())) <= 80
    text = (german / "leute.toml").read_text(encoding="utf-8")
    for line in (
        'encoding = "cp1252"',
        'decimal = ","',
        'thousands = "."',
        'date_format = "%d.%m.%Y"',
        "# missing = [-9]",
    ):
        assert line in text
    (german / "leute.toml").write_text(text.replace("# missing = [-9]", "missing = [-9]"), encoding="utf-8")
    incrowd(german, "publish", "leute.csv", "-s", "leute.toml", "-k", "5", "-o", "out")
    found = json.loads(incrowd(german, "verify", "out", "--original", "leute.csv", "--json").out)
    assert (found["ok"], found["complete"]) == (True, True), found
    incrowd(german, "attack", "out", "--original", "leute.csv", "--attacks", "linking", "--quiet")
    done = incrowd(german, "verify", "out", "--original", "leute.csv", "--date-format", "Geburt=%m.%d.%Y", code=3)
    assert "not of its type" in done.out


def test_standard_input(incrowd, german, tmp_path):
    text = (german / "leute.csv").read_bytes().decode("latin-1").encode()
    incrowd(german, "init", "-", "-o", tmp_path / "a.toml", "--sensitive", "Krankheit", "--quiet", data=text)
    assert 'encoding = "cp1252"' not in (tmp_path / "a.toml").read_text(encoding="utf-8")


def test_options_instead_of_parameters_in_messages(incrowd, tmp_path):
    pl.DataFrame(
        {"d": ["03/04/1998", "05/06/1990"] * 20, "a": [1, 2] * 20, "b": ["x", "y"] * 20, "c": list("abcd") * 10}
    ).write_csv(tmp_path / "a.csv")
    said = " ".join(incrowd(tmp_path, "init", "a.csv", "-o", "a.toml", "--sensitive", "b").out.split())
    assert "Give --date-format %d/%m/%Y or --date-format %m/%d/%Y" in said
    both = " ".join(
        incrowd(tmp_path, "init", "a.csv", "-o", "b.toml", "--sensitive", "a", "--sensitive", "b").out.split()
    )
    assert "'a' and 'b' are protected" in both
    incrowd(tmp_path, "init", "a.csv", "-o", "c.toml", "--sensitive", "b", "--date-format", "%d/%m/%Y", "--quiet")
    assert 'date_format = "%d/%m/%Y"' in (tmp_path / "c.toml").read_text()
    warned = incrowd(tmp_path, "init", "a.csv", "-o", "d.toml", "--sensitive", "b", "--target", "a").err
    assert "'a' would be released as it is" in warned
    assert max(map(len, warned.splitlines())) <= 80


@pytest.mark.parametrize("command", ["init", "publish", "verify", "attack", "evaluate", "compare", "audit"])
def test_every_command_that_reads_has_the_options(incrowd, tmp_path, command):
    shown = incrowd(tmp_path, command, "--help").out
    for name in READING:
        assert f"--{name.replace('_', '-')}" in shown
