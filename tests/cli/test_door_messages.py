"""What somebody is told about a table that is nearly right: the line, the value that means missing, the next step."""

import json
import random
import sys
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.cli import main

pytestmark = pytest.mark.end_to_end
SECRET = "Zaphod"
ROWS = 400


def rows(seed=1, ages=lambda rng: str(rng.randrange(20, 70))):
    rng = random.Random(seed)
    lines = [f"{ages(rng)},{rng.choice('abcd')},{rng.choice(['yes', 'no'])}" for _ in range(ROWS)]
    return ["age,ward,ill", *lines]


@pytest.fixture
def incrowd(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert (stop.value.code or 0) == code, printed
        assert SECRET not in printed.out + printed.err
        return " ".join(printed.out.split()), printed.err

    return run


def write(lines, name="a.csv"):
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def schema(text='type = "int"\n', name="a.toml"):
    Path(name).write_text(
        f'[columns.age]\nrole = "quasi"\nhierarchy = {{ kind = "intervals" }}\n{text}'
        '[columns.ward]\nrole = "quasi"\n[columns.ill]\nrole = "sensitive"\n',
        encoding="utf-8",
    )


PUBLISH = ("publish", "a.csv", "-s", "a.toml", "-k", "3", "-m", "mondrian", "-o", "out")


def test_one_slip_among_numbers_makes_no_names_of_them(incrowd):
    lines = rows()
    lines[16] = f"{SECRET},b,yes"
    write(lines)
    incrowd("init", "a.csv", "-o", "a.toml", "--sensitive", "ill")
    text = Path("a.toml").read_text(encoding="utf-8")
    assert "but 1 value of 400 is no number, in line 17: correct it, or list in missing what means missing" in text
    assert 'type = "int"\nhierarchy = { kind = "intervals" }' in text
    assert SECRET not in text
    _, err = incrowd(*PUBLISH, code=2)
    assert "Column 'age' is declared as int, but 1 of 400 rows does not fit: it is in line 17" in err
    lines[16] = "35,b,yes"
    write(lines)
    incrowd(*PUBLISH)


def test_slips_beside_marks_and_in_other_notations(incrowd):
    lines = [line.replace(",", ";").replace(".", ",") for line in rows(ages=lambda rng: f"{rng.uniform(1, 2):.2f}")]
    lines[5], lines[9], lines[30] = "?;a;yes", f"{SECRET};b;no", "?;a;no"
    write(lines)
    incrowd("init", "a.csv", "-o", "a.toml", "--sensitive", "ill")
    text = Path("a.toml").read_text(encoding="utf-8")
    assert 'decimal = ","' in text
    assert 'type = "float"' in text
    assert 'missing_tokens = ["?"]' in text
    assert "1 value of 398 is no number, in line 10" in text
    assert SECRET not in text


def test_many_exceptions_are_values(incrowd):
    write(rows(ages=lambda rng: rng.choice(["90+", *map(str, range(80, 90))])))
    incrowd("init", "a.csv", "-o", "a.toml", "--sensitive", "ill")
    assert 'type = "str"' in Path("a.toml").read_text(encoding="utf-8")


def test_publish_says_which_codes_no_row_has_and_which_may_be_some(incrowd):
    write(rows(ages=lambda rng: rng.choice(["99", "-9", *map(str, range(20, 60))])))
    schema('type = "int"\nmissing = [-9, 999]\n')
    out, _ = incrowd(*PUBLISH)
    assert "No row of 'age' has '999', which the schema lists as missing." in out
    assert "which may mean missing; if so, set missing = [99] in the schema." in out
    assert "'-9'" not in out
    schema('type = "int"\nmissing = [-9, 99]\n')
    out, _ = incrowd(*PUBLISH, "--if-exists", "replace")
    assert "mean" not in out
    assert "lists as missing" not in out


def test_likely_codes_of_many_columns_are_one_note():
    from incrowd.workflow.missing_codes import notes_on_codes

    table = pl.DataFrame({f"item{number}": [1, 2, 3, 99] * 5 for number in range(7)} | {"ill": ["a", "b"] * 10})
    roles = ic.Schema(quasi={name: ic.Intervals() for name in table.columns[:-1]}, sensitive="ill")
    (note,) = notes_on_codes(table, roles, ic.io.Findings(print))
    assert note.startswith("'item0', 'item1', 'item2', 'item3', 'item4' and 2 more columns have '99', which may mean")


@pytest.mark.parametrize("codes", ['["999.0"]', "[999]", '["999"]'])
def test_hierarchy_reads_codes_as_publish_does(incrowd, codes):
    write(rows(ages=lambda rng: rng.choice(["999", *map(str, range(20, 60))])))
    missing = sum(line.startswith("999") for line in Path("a.csv").read_text().splitlines())
    schema(f'type = "int"\nmissing = {codes}\n')
    text, _ = incrowd("hierarchy", "a.csv", "age", "-s", "a.toml", "--json")
    found = json.loads(text)
    assert (found["missing"], found["values"]) == (missing, 40)
    out, _ = incrowd(*PUBLISH)
    assert "lists as missing" not in out


def test_output_that_exists_names_the_way_to_replace_it(incrowd):
    write(rows())
    schema()
    incrowd(*PUBLISH)
    for command in (PUBLISH, ("init", "a.csv", "-o", "a.toml"), ("report", "out", "-o", "a.csv")):
        _, err = incrowd(*command, code=2)
        assert "already exists\n\nHint: choose another name, say --if-exists replace, or remove it first\n" in err
    incrowd("publish", "a.csv", "-s", "a.toml", "-k", "3", "-o", "b.csv", "-m", "mondrian")
    _, err = incrowd("publish", "a.csv", "-s", "a.toml", "-k", "3", "-o", "b.csv", code=2)
    assert err.endswith("'b.csv' already exists\n\nHint: choose another name, or remove it first\n")


def test_a_broken_release_is_said_though_quiet(incrowd):
    write(rows())
    schema()
    incrowd(*PUBLISH)
    with Path("out/release.csv").open("a", encoding="utf-8") as file:
        file.write(f"{SECRET},a,yes\n")
    out, err = incrowd("verify", "out", "-q", code=3)
    assert out == ""
    assert err.startswith("BROKEN ")


def test_what_is_a_file_may_go_to_standard_output(incrowd):
    write(rows())
    schema()
    incrowd(*PUBLISH)
    before = sorted(Path().iterdir())
    out, err = incrowd("init", "a.csv", "-o", "-", "--sensitive", "ill")
    assert out.startswith("# Schema of a table for incrowd.")
    assert 'hierarchy = { kind = "intervals" }' in out
    assert (err, "Wrote" in out) == ("", False)
    assert json.loads(incrowd("init", "a.csv", "-o", "-", "--sensitive", "ill", "--json")[0])["schema"] == "-"
    out, err = incrowd("hierarchy", "a.csv", "ward", "--kind", "balanced", "--set", "branching=2", "-o", "-")
    assert (len(out.split()), err) == (5, "")
    out, err = incrowd("report", "out", "-o", "-")
    assert out.startswith("<!DOCTYPE html>")
    assert out.endswith("</html>")
    _, err = incrowd(*PUBLISH[:-1], "-", code=2)
    assert "A release does not go to standard output" in err
    assert sorted(Path().iterdir()) == before
