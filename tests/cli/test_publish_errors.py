"""Bad input gives a clear error, the right exit code, no cell of the data, and leaves nothing behind."""

import errno
import sys
from pathlib import Path

import polars as pl
import pytest

from incrowd.cli import main
from incrowd.publish import BestCuts
from incrowd.release import folder

SECRET = "Zaphod"
GOOD = "name,age,work,ill\n" + "".join(
    f"{SECRET}{i},{20 + 7 * i % 13},{'ab'[i % 2]},{'xy'[i // 2 % 2]}\n" for i in range(20)
)
SCHEMA = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { kind = "intervals" }
[columns.work]
role = "quasi"
hierarchy = { kind = "suppress" }
[columns.ill]
role = "sensitive"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(GOOD, encoding="utf-8")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def publish(monkeypatch, capsys, *extra, data="data.csv", k=2):
    return run(monkeypatch, capsys, "publish", data, "-s", "schema.toml", "-o", "out", "-k", str(k), *extra)


def assert_refused(home, monkeypatch, capsys, code, *words, before=None, **options):
    before = set(home.rglob("*")) if before is None else before
    got, out, err = publish(monkeypatch, capsys, **options)
    assert (got, out) == (code, "")
    assert err.startswith("Error: ")
    assert "Hint: " in err
    assert "Traceback" not in err
    assert SECRET not in err
    for word in words:
        assert word in err
    assert set(home.rglob("*")) == before


def test_good_input_is_published(home, monkeypatch, capsys):
    code, out, _ = publish(monkeypatch, capsys)
    assert code == 0
    assert "20 of 20 rows" in out
    assert sorted(path.name for path in (home / "out").iterdir()) == ["manifest.json", "release.csv", "release.parquet"]
    everything = b"".join(path.read_bytes() for path in (home / "out").iterdir())
    assert SECRET.encode() not in everything


def written(text):
    data = text if isinstance(text, bytes) else text.encode()
    Path("data.csv").write_bytes(data)


LINES = GOOD.splitlines(keepends=True)
BAD_DATA = {
    "empty file": ("", 2, ["empty"]),
    "header only": (LINES[0], 2, ["rows"]),
    "one row": ("".join(LINES[:2]), 3, ["1 row ", "k = 2"]),
    "unknown column": (GOOD.replace("work,", "job,"), 2, ["'work'"]),
    "duplicate column names": (GOOD.replace("work,", "age,", 1), 2, ["age"]),
    "mixed types": (
        GOOD.replace(",23,", f",{SECRET},"),
        2,
        ["'age'", "18 numbers", "2 other texts", "first in row 7"],
    ),
    "all-missing column": (GOOD.replace(",a,", ",,").replace(",b,", ",,"), 2, ["'work'", "all 20"]),
    "NUL bytes": (GOOD.replace("x\n", "\0\n", 1), 2, ["NUL"]),
    "non-UTF-8": (GOOD.replace(",x", ",é").encode().replace(b"\xc3\xa9", b"\xc3", 1), 2, ["line 2", "not UTF-8"]),
    "ragged row": (GOOD + "a,b\n", 2, ["22"]),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_refused(home, monkeypatch, capsys, name):
    text, code, words = BAD_DATA[name]
    written(text)
    assert_refused(home, monkeypatch, capsys, code, *words)


def test_more_people_asked_for_than_there_are(home, monkeypatch, capsys):
    assert_refused(home, monkeypatch, capsys, 3, "20 rows", "k = 21", "k = 20", k=21)


def test_unreadable_path(home, monkeypatch, capsys):
    assert_refused(home, monkeypatch, capsys, 2, "nowhere.csv", data="nowhere.csv")
    assert_refused(home, monkeypatch, capsys, 2, "schema.toml", data="data.csv/schema.toml")


def with_taxonomy(rows):
    Path("work.csv").write_text(rows, encoding="utf-8")
    schema = SCHEMA.replace('{ kind = "suppress" }', '{ kind = "taxonomy", file = "work.csv" }')
    Path("schema.toml").write_text(schema, encoding="utf-8")


def test_value_missing_from_a_taxonomy(home, monkeypatch, capsys):
    with_taxonomy("a,any,*\nc,any,*\n")
    assert_refused(home, monkeypatch, capsys, 2, "'work'", "10 rows", "1 distinct value outside")


def test_taxonomy_that_is_not_a_tree(home, monkeypatch, capsys):
    with_taxonomy("a,one,left,*\nb,one,right,*\n")
    assert_refused(home, monkeypatch, capsys, 2, "not nested", "'one'")


def test_output_folder_that_exists(home, monkeypatch, capsys):
    (home / "out").mkdir()
    assert_refused(home, monkeypatch, capsys, 2, "'out' already exists")
    (home / "out").rmdir()
    (home / "out.private").mkdir()
    assert_refused(home, monkeypatch, capsys, 2, "'out.private' already exists")


def test_schema_that_is_not_one(home, monkeypatch, capsys):
    for text, word in [
        ("role = ", "not valid TOML"),
        (SCHEMA.replace("identifier", "ident"), "'ident'"),
        (SCHEMA.replace("kind", "kin"), "unknown"),
        (SCHEMA.replace("[columns.work]", "[columns.job]"), "'job'"),
        (SCHEMA + "\nhello = 1", "'hello'"),
        ("", "no quasi-identifier"),
    ]:
        Path("schema.toml").write_text(text, encoding="utf-8")
        assert_refused(home, monkeypatch, capsys, 2, word)
    Path("schema.toml").write_bytes("[columns.größe]".encode("latin-1"))
    assert_refused(home, monkeypatch, capsys, 2, "is no schema: it is not text in UTF-8", "that init wrote")


def test_disk_full(home, monkeypatch, capsys):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    assert_refused(home, monkeypatch, capsys, 2, "No space left")


def interrupt(*_args, **_kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("where", "name"), [(BestCuts, "choose"), (folder, "_check_written")])
def test_control_c_in_the_middle(home, monkeypatch, capsys, where, name):
    monkeypatch.setattr(where, name, interrupt)
    before = set(home.rglob("*"))
    code, out, err = publish(monkeypatch, capsys)
    assert (code, out) == (130, "")
    assert "Nothing was written" in err
    assert set(home.rglob("*")) == before


def test_errors_as_json(home, monkeypatch, capsys):
    code, out, err = publish(monkeypatch, capsys, "--json", k=99)
    assert code == 3
    assert '"best": {"k": 20}' in out
    assert err == ""


def test_wrong_usage(home, monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, "publish", "data.csv")
    assert code == 2
    assert "--schema" in err or "--output" in err
    code, _, err = publish(monkeypatch, capsys, "--set", "recoding")
    assert code == 2
    assert "NAME=VALUE" in err
    code, _, err = publish(monkeypatch, capsys, "--set", "colour=red")
    assert code == 2
    assert "no parameter 'colour'" in err
    code, _, err = publish(monkeypatch, capsys, "-m", "magic")
    assert code == 2
    assert "no method 'magic'" in err
    code, _, err = publish(monkeypatch, capsys, "-l", "1.5", "--l-kind", "most")
    assert code == 2
    assert "--l-kind is 'most'" in err


def test_too_little_memory_is_said_in_options(home, monkeypatch, capsys):
    from incrowd.workflow import estimates

    monkeypatch.setattr(estimates, "available_memory", lambda: 10**6)
    assert_refused(home, monkeypatch, capsys, 2, "This needs about", "MB of memory for 20 rows", "--force tries it")
    assert publish(monkeypatch, capsys, "--force")[0] == 0
