"""Settings: the command line wins over the environment, which wins over incrowd.toml."""

import tomllib
from pathlib import Path

import pytest
from test_publish_errors import home, run  # noqa: F401

import incrowd as ic
from incrowd.cli import settings
from incrowd.cli.commands import Command, whole_command

FILE = """
[publish]
data = "data.csv"
schema = "schema.toml"
output = "out"
k = 2
l = 1.2
"""


def config(text=FILE, file="incrowd.toml"):
    Path(file).write_text(text, encoding="utf-8")


def published_k():
    return ic.Release.load("out").manifest.k


def commands(command, path=()):
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def every_command():
    return dict(commands(whole_command()))


def test_a_file_says_everything_that_a_command_line_can(home, monkeypatch, capsys):  # noqa: F811
    config()
    code, out, err = run(monkeypatch, capsys, "publish")
    assert (code, err) == (0, "")
    assert "k = 2, l = 1.2" in out


@pytest.mark.parametrize(
    ("typed", "variable", "expected"), [((), None, 2), ((), "3", 3), (("-k", "4"), "3", 4), (("-k", "4"), None, 4)]
)
def test_who_wins(home, monkeypatch, capsys, typed, variable, expected):  # noqa: F811
    config()
    if variable is not None:
        monkeypatch.setenv("INCROWD_PUBLISH_K", variable)
    assert run(monkeypatch, capsys, "publish", *typed)[0] == 0
    assert published_k() == expected


def test_another_file_and_lists_and_switches(home, monkeypatch, capsys):  # noqa: F811
    text = FILE + 'method = "mondrian"\nset = ["recoding=single"]\nquiet = true\nexcel-safe = true\n'
    config(text, "night.toml")
    config("[publish]\nk = 9\n")  # not read when another is named
    code, out, err = run(monkeypatch, capsys, "publish", "--config", "night.toml")
    assert (code, out, err) == (0, "", "")
    assert Path("out.excel.csv").is_file()
    assert ic.Release.load("out").manifest.method.parameters["recoding"] == "single"
    Path("foreign.csv").write_text("a,b\n1,x\n1,x\n", encoding="utf-8")
    config('[verify]\nrelease = "foreign.csv"\nquasi = ["a", "b"]\nk = 2\n')
    assert run(monkeypatch, capsys, "verify")[0] == 0


def test_a_switch_can_be_switched_off(home, monkeypatch, capsys):  # noqa: F811
    config(FILE + "json = true\nexcel-safe = true\n")
    code, out, _ = run(monkeypatch, capsys, "publish", "--no-json", "--no-excel-safe")
    assert (code, out.startswith("Published")) == (0, True)
    assert not Path("out.excel.csv").exists()
    monkeypatch.setenv("INCROWD_PUBLISH_JSON", "false")
    assert run(monkeypatch, capsys, "publish", "-o", "more")[1].startswith("Published")


def test_json_from_the_file_is_also_for_errors(home, monkeypatch, capsys):  # noqa: F811
    config(FILE + "json = true\n")
    code, out, err = run(monkeypatch, capsys, "publish", "-k", "30")
    assert (code, err) == (3, "")
    assert out.startswith('{"error": "InfeasibleError"')


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("[publish]\nkk = 2\n", "Unknown key 'kk' in table [publish] of 'incrowd.toml'", "did you mean 'k'?"),
        ("[publish]\nl_kind = 2\n", "Unknown key 'l_kind'", "did you mean 'l-kind'?"),
        ("[verify]\nquasy = 2\n", "Unknown key 'quasy' in table [verify]", "did you mean 'quasi'?"),
        ("[publsh]\nk = 2\n", "Unknown command 'publsh' in 'incrowd.toml'", "did you mean 'publish'?"),
        ("k = 2\n", "Unknown key 'k' in 'incrowd.toml'", "the file has a table per command, such as [attack]"),
        ("[publish]\nconfig = 'x'\n", "Unknown key 'config'", "did you mean"),
        ("[publish]\nattack = 'yes'\n", "The value of key 'attack'", "write true or false, without quotes"),
        ("[publish]\nk = true\n", "The value of key 'k'", "write a number, a text in quotes, or a list of them"),
        ("[publish]\nk = {a = 1}\n", "The value of key 'k'", "write a number"),
        ("[publish]\nk = 'ten'\n", "The value of option -k in 'incrowd.toml'", "use a whole number, at least 1"),
        ("[publish]\nk = 2.5\n", "The value of option -k in 'incrowd.toml'", "use a whole number, at least 1"),
        ("[audit]\ntrust = true\n", "Key 'trust' in table [audit]", "remove it, and type --trust"),
        ("[publish\n", "'incrowd.toml' is not valid TOML at line 1", "write for example: [publish]"),
        (b"\xff\xfe", "Cannot read the settings 'incrowd.toml': it is not UTF-8 text", "give a file"),
    ],
)
def test_what_is_wrong_with_a_file(home, monkeypatch, capsys, text, fact, hint):  # noqa: F811
    Path("incrowd.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = run(monkeypatch, capsys, "publish", "data.csv", "-s", "schema.toml", "-o", "out")
    assert (code, out) == (2, "")
    assert fact in err.partition("\n\n")[0]
    assert err.partition("\n\nHint: ")[2].startswith(hint)
    assert not Path("out").exists()


def test_a_file_that_is_not_there(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = run(monkeypatch, capsys, "publish", "--config", "none.toml")
    assert (code, "Cannot read the settings 'none.toml': No such file" in err) == (2, True)


def test_a_file_cannot_make_us_run_code(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setenv("INCROWD_AUDIT_TRUST", "1")
    code, _, err = run(monkeypatch, capsys, "audit", "model.joblib", "data.csv", "-s", "schema.toml")
    assert (code, "There is no setting for environment variable INCROWD_AUDIT_TRUST" in err) == (2, True)


def test_what_is_wrong_with_a_variable(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setenv("INCROWD_PUBLISH_K", "ten")
    config()
    _, _, err = run(monkeypatch, capsys, "publish")
    assert err.startswith("Error: The value of environment variable INCROWD_PUBLISH_K is not valid")
    monkeypatch.delenv("INCROWD_PUBLISH_K")
    monkeypatch.setenv("INCROWD_PUBLISH_KK", "3")
    code, _, err = run(monkeypatch, capsys, "publish")
    assert code == 2
    assert err == (
        "Error: There is no setting for environment variable INCROWD_PUBLISH_KK\n\n"
        "Hint: did you mean 'INCROWD_PUBLISH_K'?\n"
    )


def test_help_reads_nothing(home, monkeypatch, capsys):  # noqa: F811
    config("broken")
    monkeypatch.setenv("INCROWD_PUBLISH_KK", "3")
    code, out, _ = run(monkeypatch, capsys, "publish", "--help")
    assert (code, "--config" in out, "INCROWD_PUBLISH" in out) == (0, True, False)


def test_a_saved_call_repeats_itself(home, monkeypatch, capsys):  # noqa: F811
    typed = ("publish", "data.csv", "-s", "schema.toml", "-o", "out", "-l", "1.2", "-m", "mondrian", "--set")
    monkeypatch.setenv("INCROWD_PUBLISH_K", "3")
    code, _, err = run(monkeypatch, capsys, *typed, "recoding=single", "--excel-safe", "--save-config", "incrowd.toml")
    assert (code, err) == (0, "")
    monkeypatch.delenv("INCROWD_PUBLISH_K")
    assert tomllib.loads(Path("incrowd.toml").read_text(encoding="utf-8")) == {
        "publish": {
            "data": "data.csv", "schema": "schema.toml", "output": "out", "k": 3, "method": "mondrian", "l": 1.2,
            "set": ["recoding=single"], "excel-safe": True,
        }
    }  # fmt: skip
    assert run(monkeypatch, capsys, "publish", "-o", "again")[0] == 0
    first, again = (ic.Release.load(folder).manifest for folder in ("out", "again"))
    assert (first.method, first.guarantees) == (again.method, again.guarantees)
    code, _, err = run(monkeypatch, capsys, "publish", "-o", "more", "--save-config", "incrowd.toml")
    assert (code, "'incrowd.toml' already exists" in err, Path("more").exists()) == (2, True, False)


def test_a_call_that_fails_is_not_saved_and_a_verdict_is(home, monkeypatch, capsys):  # noqa: F811
    config()
    assert run(monkeypatch, capsys, "publish", "-k", "30", "--save-config", "a.toml")[0] == 3
    assert not Path("a.toml").exists()
    Path("foreign.csv").write_text("a\n1\n2\n", encoding="utf-8")
    code, out, _ = run(monkeypatch, capsys, "verify", "foreign.csv", "--quasi", "a", "-k", "2", "--save-config", "-")
    assert code == 3
    assert out.endswith('[verify]\nrelease = "foreign.csv"\nquasi = "a"\nk = 2\n')
    code, out, _ = run(monkeypatch, capsys, "verify", "foreign.csv", "--json", "--save-config", "-")
    assert (code, "Option --save-config - prints TOML, and --json prints JSON" in out) == (2, True)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgresql://ann:pa:ss@host:5/db", "postgresql://ann@host:5/db"),
        ("postgresql+psycopg://ann:secret@host/db?sslmode=require", "postgresql+psycopg://ann@host/db?sslmode=require"),
        ("mysql://host/db?user=ann&password=secret", "mysql://host/db?user=ann"),
        ("snowflake://ann@host/db?private_key=x&warehouse=w&Token=t", "snowflake://ann@host/db?warehouse=w"),
        ("postgresql://ann:p%40ss/w?rd@host/db", "postgresql://ann@host/db"),
        ("postgresql://:secret@host/db", "postgresql://@host/db"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("people:secret@x.csv", "people@x.csv"),
    ],
)
def test_passwords_are_not_kept(tmp_path, monkeypatch, url, kept):
    monkeypatch.chdir(tmp_path)
    assert settings.without_password(url) == kept


def test_a_file_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people:secret@x.csv").touch()
    assert settings.without_password("people:secret@x.csv") == "people:secret@x.csv"


@pytest.mark.filterwarnings("ignore")  # SQLite knows no passwords
def test_passwords_and_seeds_are_not_saved(home, monkeypatch, capsys):  # noqa: F811
    import sqlite3

    with sqlite3.connect("people.db") as base:
        base.execute("create table t as select 1 as age, 'a' as work, 'x' as ill from (values (1), (2), (3), (4))")
    base.close()
    url = "sqlite:///people.db?password=Zarniwoop"
    text = Path("schema.toml").read_text(encoding="utf-8")
    Path("s.toml").write_text(text.replace('[columns.name]\nrole = "identifier"\n', ""), encoding="utf-8")
    typed = ("publish", url, "--query", "select * from t", "-s", "s.toml", "-o", "out", "-k", "2", "--seed", "7")
    code, _, err = run(monkeypatch, capsys, *typed, "--save-config", "saved.toml")
    saved = Path("saved.toml").read_text(encoding="utf-8") if code == 0 else ""
    assert code == 0, err
    assert "Zarniwoop" not in saved + err
    assert "seed" not in saved
    assert 'data = "sqlite:///people.db"' in saved
    assert "not saved, give it by its environment variable instead: " in err
    assert "the password in 'data' (INCROWD_PUBLISH_DATA may hold the whole URL)" in err
    assert "the seed (INCROWD_PUBLISH_SEED)" in err
    monkeypatch.setenv("INCROWD_PUBLISH_DATA", url)
    assert run(monkeypatch, capsys, "publish", "--config", "saved.toml", "-o", "again")[0] == 0


def test_every_command_has_the_options_of_all():
    found = every_command()
    assert len(found) >= 10
    for path, command in found.items():
        assert isinstance(command, Command), path
        keys = [settings.key_of(parameter) for parameter in command.params]
        assert {"config", "save-config", "log"} <= set(keys), path
        assert len(keys) == len(set(keys)), path


def test_keys_are_names_of_options():
    for command in every_command().values():
        for key, parameter in settings.settable(command).items():
            assert parameter.param_type_name == "argument" or {f"--{key}", f"-{key}"} & set(parameter.opts)


def test_texts_survive_toml():
    texts = ['a"b\\c\n\t\x7f', "ä ' #", ""]
    written = settings.to_toml(("publish",), {"set": texts, "data": texts[0]})
    assert tomllib.loads(written) == {"publish": {"set": texts, "data": texts[0]}}
