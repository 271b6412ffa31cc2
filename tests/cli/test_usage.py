"""What was mistyped is said in our style, and hints name options, not parameters of Python."""

import ast
import re
from pathlib import Path

import pytest
from test_publish_errors import home, run  # noqa: F401

import incrowd
from incrowd.cli.app import app
from incrowd.cli.terms import OPTIONS, OWN, as_options

PUBLISH = ("publish", "data.csv", "-s", "schema.toml", "-o", "out")
SEE = "see: incrowd publish --help"


@pytest.mark.parametrize(
    ("typed", "fact", "hint"),
    [
        (PUBLISH, "Missing option -k (size of the smallest crowd)", SEE),
        (("publish",), "Missing argument DATA (", SEE),
        ((*PUBLISH, "-k", "ten"), "The value of option -k is not valid", "use a whole number, at least 1"),
        ((*PUBLISH, "-k", "2.5"), "The value of option -k is not valid", "use a whole number, at least 1"),
        ((*PUBLISH, "-k", "2", "-l", "x"), "The value of option -l is not valid", "use a number, at least 1"),
        ((*PUBLISH, "-k", "2", "-j", "0"), "The value of option --jobs is not valid", "use a whole number, at least 1"),
        ((*PUBLISH, "-k", "2", "--attak"), "There is no option '--attak'", "did you mean --attack or --dataset?"),
        ((*PUBLISH, "-k", "2", "--xyzzy"), "There is no option '--xyzzy'", SEE),
        ((*PUBLISH, "-k"), "Option '-k' requires an argument", "see: incrowd --help"),
        (
            ("attack", "out", "--original", "a", "--known", "2"),
            "option --known is not valid",
            "use a number from 0 to 1",
        ),
        (("pubish",), "pubish", "see: incrowd --help"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_was_mistyped(monkeypatch, capsys, typed, fact, hint):
    code, out, err = run(monkeypatch, capsys, *typed)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert fact in err.partition("\n\n")[0]
    assert err.partition("\n\nHint: ")[2].startswith(hint)
    code, out, err = run(monkeypatch, capsys, *typed, "--json")
    if fact != "Option '-k' requires an argument":  # which --json would be
        assert (code, err) == (2, "")
        assert '"error": "ParameterError"' in out


def test_no_command_is_help(monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys)
    assert code in (0, 2)  # depends on the version of typer
    assert "Error" not in err


def test_parameters_become_options():
    assert as_options("k is 0") == "-k is 0"
    assert as_options("l is 2.5 and l_kind is 'distinct'") == "-l is 2.5 and --l-kind is 'distinct'"
    assert as_options("use test='raw'") == "use --test-rows raw"
    assert as_options('give one, for example query="select 1"') == 'give one, for example --query "select 1"'
    assert as_options("if you trust it: --trust (trust=True)") == "if you trust it: --trust"
    assert as_options("name it with sensitive= (--sensitive)") == "name it with --sensitive"
    assert as_options("'k' is not a column; the test is over") == "'k' is not a column; the test is over"


def test_every_option_of_the_table_exists():
    import typer

    commands = typer.main.get_command(app).commands.values()
    known = {option for command in commands for parameter in command.params for option in parameter.opts}
    assert set(OPTIONS.values()) <= known


PYTHON_ONLY = {
    # hierarchies, in Python and in TOML
    "edges", "low", "high", "values", "width",
    # functions that no command calls so
    "accuracy", "data", "identifiers", "other", "unseen", "rows", "shape", "table", "separator", "parts", "frontier",
    "schema", "INCROWD_TRACEBACK", "SENSITIVE", "NAME", "output",
}  # fmt: skip


def messages():
    for path in Path(incrowd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                for part in node.exc.args[1:2]:
                    yield path.name, ast.unparse(part)


def test_hints_name_no_parameter_that_the_command_line_cannot_translate():
    found = {
        (name, given)
        for name, text in messages()
        for given in re.findall(r"(?<![\w{.])([A-Za-z_]+)=(?!=)", text)
        if given not in {*OPTIONS, *OWN, *PYTHON_ONLY}
    }
    assert found == set()
