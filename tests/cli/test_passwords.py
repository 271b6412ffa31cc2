"""No password comes back, whatever command, option or mistyped address it was given in."""

import io
import sys
from pathlib import Path

import pytest
from test_publish_errors import home, run  # noqa: F401
from test_settings import every_command

from incrowd.cli import secrecy
from incrowd.passwords import find_passwords, without_passwords

SECRET = "tigersecret"
ADDRESSES = [
    f"postgresql://owner:{SECRET}@127.0.0.1:1/shop#people",
    f"postgresql://127.0.0.1:1/shop?user=owner&password={SECRET}#people",
    f"postgresql:///owner:{SECRET}@127.0.0.1/shop#people",
    f"postgresql//owner:{SECRET}@127.0.0.1/shop",
    f"mysql://owner:a//{SECRET}@127.0.0.1:1/shop#t",
    f"//owner:{SECRET}@127.0.0.1/shop",
    f"owner:{SECRET}@127.0.0.1/shop",
    f"jdbc:postgresql://127.0.0.1/shop?user=owner&password={SECRET}",
    f"jdbc:postgresql://owner:{SECRET}@127.0.0.1/shop",
    f"host=127.0.0.1 password='{SECRET}' dbname=shop",
    f"Server=127.0.0.1;Uid=sa;Pwd={SECRET};",
    f"mssql+pyodbc:///?odbc_connect=Server%3Dh%3BPWD%3D{SECRET}#t",
    f"https://owner:{SECRET}@host/people.csv",
    f"s3://key:{SECRET}@bucket/people.parquet",
]


def calls():
    """Yield a call for every option that takes a text, and for every argument, with an address in turn."""
    at = 0
    for path, command in every_command().items():
        if path[0] in ("studio", "bench", "demo"):
            continue
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        for parameter in command.params:
            if getattr(parameter, "is_flag", False) or parameter.name == "date_format":
                continue
            at += 1
            address = ADDRESSES[at % len(ADDRESSES)]
            given = [address if each is parameter else "data.csv" for each in arguments]
            option = [] if parameter in arguments else [max(parameter.opts, key=len), address]
            yield pytest.param([*path, *given, *option], id=f"{'-'.join(path)}-{parameter.name}-{at % len(ADDRESSES)}")


@pytest.mark.parametrize("call", list(calls()))
def test_no_option_brings_a_password_back(home, monkeypatch, capsys, call):  # noqa: F811
    code, out, err = run(monkeypatch, capsys, *call)
    assert code in (0, 2, 3, 4), err
    assert SECRET not in out + err


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "command", [("init",), ("publish", "data.csv", "-s", "schema.toml", "-k", "2", "-o"), ("verify",)]
)
def test_no_address_brings_a_password_back(home, monkeypatch, capsys, command, address):  # noqa: F811
    code, out, err = run(monkeypatch, capsys, *command, address)
    assert code == 2
    assert SECRET not in out + err
    assert "Hint: " in err


@pytest.mark.parametrize("where", ["variable", "file"])
def test_passwords_of_variables_and_files_are_known(home, monkeypatch, capsys, where):  # noqa: F811
    address = f"//owner:{SECRET}@127.0.0.1/p.toml"
    if where == "variable":
        monkeypatch.setenv("INCROWD_PUBLISH_SCHEMA", address)
    else:
        Path("incrowd.toml").write_text(f'[publish]\nschema = "{address}"\n', encoding="utf-8")
    code, _, err = run(monkeypatch, capsys, "publish", "data.csv", "-k", "2", "-o", "out")
    assert code == 2
    assert "'//owner@127.0.0.1/p.toml'" in err


def test_a_traceback_hides_them_wherever_a_driver_says_them(home, monkeypatch, capsys):  # noqa: F811
    def fail(*_args, **_kwargs):
        message = f"cannot log in with a@{SECRET} and geheim at postgresql://owner:a%40{SECRET}@h/d"
        raise LookupError(message)

    monkeypatch.setattr("incrowd.io.files._read_database", fail)
    monkeypatch.setenv("INCROWD_TRACEBACK", "1")
    monkeypatch.setenv("PGPASSWORD", "geheim")
    code, _, err = run(monkeypatch, capsys, "init", f"postgresql://owner:a%40{SECRET}@h/d#t", "-o", "a.toml")
    assert (code, "LookupError" in err) == (1, True)
    assert SECRET not in err
    assert "geheim" not in err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C:\\data\\a@b.csv", "C:\\data\\a@b.csv"),
        ("sqlite:////tmp/a:b@c.db#t", "sqlite:////tmp/a:b@c.db#t"),
        ("postgresql://postgres:postgres@host/postgres", "postgresql://postgres@host/postgres"),
        ("postgres:ann:x@host", "postgres@host"),
        ("Pwd={a b;c};Uid=sa", "Pwd=***;Uid=sa"),
        ("d?api_key=x&monkey=y", "d?api_key=***&monkey=y"),
    ],
)
def test_only_passwords_are_hidden(text, shown):
    assert without_passwords(text) == shown


def test_results_are_not_changed_by_a_password_that_is_a_common_word(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with secrecy.hiding():
        secrecy.remember(["postgresql://release:release@host/db", ["x", {"data": "mysql://a:b@h/d"}]])
        sys.stdout.write("release: 3 rows from postgresql:/release:release@host/db and mysql://a:b@h/d")
    assert out.getvalue() == "release: 3 rows from postgresql:/release@host/db and mysql://a@h/d"
    assert sys.stdout is out
    assert find_passwords("people.csv") == {}
