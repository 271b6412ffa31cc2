"""However a command ends, it ends with a documented exit code, a true sentence, and nothing half written."""

import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest
from test_publish_errors import SECRET, home, publish, run  # noqa: F401

import incrowd as ic
from incrowd.cli.commands import whole_command
from incrowd.release import Release, folder
from incrowd.runs import Run


def assert_nothing_is_left(home):  # noqa: F811
    assert sorted(path.name for path in home.iterdir()) == ["data.csv", "schema.toml"]


def sending(number):
    def send(*_args, **_kwargs):
        os.kill(os.getpid(), number)

    return send


def raising(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["int", "term", "hup"]
)
def test_a_signal_while_files_are_written_leaves_nothing(home, monkeypatch, capsys, number, code):  # noqa: F811
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setattr(folder, "_check_written", sending(number))
    assert publish(monkeypatch, capsys) == (code, "", "Stopped. Nothing was written.\n")
    assert_nothing_is_left(home)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_control_c_after_the_folders_have_their_names_says_that_they_are_there(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(Run, "tell", lambda _, stage, done, __: sending(signal.SIGINT)() if (stage, done) == ("writing", 1) else None)  # fmt: skip # noqa: E501
    code, out, err = publish(monkeypatch, capsys)
    assert (code, out) == (130, "")
    assert err == "Stopped. Written and complete: out, out.private. Nothing else was written.\n"
    assert ic.verify("out").ok


def test_a_stop_lists_the_ledger_and_the_copy_for_spreadsheets_too(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(Run, "tell", lambda _, stage, done, __: sending(signal.SIGTERM)() if (stage, done) == ("writing", 1) else None)  # fmt: skip # noqa: E501
    code, _, err = publish(monkeypatch, capsys, "--ledger", "ledger", "--excel-safe")
    assert code == 143
    listed = "ledger, out, out.private, out.excel.csv"
    assert err == f"Stopped. Written and complete: {listed}. Nothing else was written.\n"
    visible = {path.name for path in home.iterdir() if not path.name.startswith(".")}
    assert visible == {"data.csv", "schema.toml", *listed.split(", ")}


def test_a_stop_between_the_release_and_its_copy(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr("incrowd.io.write_excel_safe", sending(signal.SIGTERM))
    code, _, err = publish(monkeypatch, capsys, "--ledger", "ledger", "--excel-safe")
    assert code == 143
    assert err == "Stopped. Written and complete: ledger, out, out.private. Nothing else was written.\n"
    assert not Path("out.excel.csv").exists()


def test_a_stop_before_the_release_leaves_only_the_ledger(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr("incrowd.io.atomic._written", deque())  # what other tests wrote has the same names
    monkeypatch.setattr(folder, "_check_written", sending(signal.SIGTERM))
    code, _, err = publish(monkeypatch, capsys, "--ledger", "ledger")
    assert code == 143
    assert err == "Stopped. Written and complete: ledger. Nothing else was written.\n"
    assert not Path("out").exists()
    assert len(Path("ledger").read_text().splitlines()) == 1  # its key, and no release


def test_control_c_while_libraries_load(home, monkeypatch, capsys):  # noqa: F811
    class Interrupting:
        def find_spec(self, name, *_):
            if name == "incrowd.cli.app":
                sending(signal.SIGINT)()

    monkeypatch.delitem(sys.modules, "incrowd.cli.app")
    whole_command.cache_clear()
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert publish(monkeypatch, capsys) == (130, "", "Stopped. Nothing was written.\n")


class PanicException(BaseException):
    """As polars raises it."""


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(12, "Cannot allocate memory"), PanicException("could not spawn threads: WouldBlock")],
    ids=["python", "system", "polars"],
)
def test_too_little_memory_is_bad_input(home, monkeypatch, capsys, error):  # noqa: F811
    monkeypatch.setattr(folder, "_check_written", raising(error))
    code, out, err = publish(monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err.startswith(("Error: There is not enough memory", "Error: Could not write"))
    assert "Hint: " in err
    assert_nothing_is_left(home)


def test_a_fault_of_ours_shows_no_cell_and_no_traceback(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(Release, "save", raising(ValueError(SECRET)))
    code, out, err = publish(monkeypatch, capsys)
    assert (code, out) == (1, "")
    assert err.startswith("Error: Unexpected ValueError in test_exits.py, line ")
    assert "report this bug" in err
    assert SECRET not in err
    assert "Traceback" not in err
    code, out, err = publish(monkeypatch, capsys, "--json")
    assert (code, err) == (1, "")
    assert '"fact": "Unexpected ValueError in test_exits.py' in out


def test_work_that_was_cancelled_is_a_stop(home, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(Release, "save", raising(ic.Cancelled("cancelled")))
    assert publish(monkeypatch, capsys) == (130, "", "Stopped. Nothing was written.\n")


def test_a_seed_below_zero_is_bad_input(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = publish(monkeypatch, capsys, "--seed", "-1")
    assert code == 2
    assert err == "Error: The value of option --seed is not valid\n\nHint: use a whole number, at least 0\n"
    assert_nothing_is_left(home)
    assert run(monkeypatch, capsys, "attack", "out", "--original", "data.csv", "--seed", "-1")[0] == 2


def test_exit_codes_are_documented(monkeypatch, capsys):
    _, out, _ = run(monkeypatch, capsys, "--help")
    told = " ".join(out.split())
    for word in ("0 done", "2 bad input", "3 privacy not met", "4 could not be checked", "130", "143"):
        assert word in told
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    for word in ("0 done", "2 bad input", "3 privacy not met", "4 could not be checked", "130", "143"):
        assert word in readme


def test_what_could_not_be_checked_has_a_code_of_its_own(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "-m", "nsvdist")[0] == 0
    (home / "out.private").rename(home / "elsewhere")
    code, out, _ = run(monkeypatch, capsys, "verify", "out")
    assert code == 0
    assert "NOT CHECKED without the original" in out
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert code == 4
    assert "NOT CHECKED" in out
    (home / "elsewhere").rename(home / "out.private")
    assert run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")[0] == 0


def shell(command, **environment):
    return subprocess.run(
        ["bash", "-c", command.replace("incrowd", f"{sys.executable} -m incrowd")], check=False, capture_output=True,
        text=True, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_standard_output_that_is_full(home):  # noqa: F811
    done = shell("incrowd publish data.csv -s schema.toml -k 2 -o out > /dev/full")
    assert done.returncode == 2
    assert "Standard output cannot be written: No space left" in done.stderr
    assert "Written and complete: out, out.private." in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_reader_that_has_seen_enough(home):  # noqa: F811
    done = shell("set -o pipefail; incrowd methods | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Methods\n", "")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "encoding", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_names_that_the_terminal_cannot_write(home, encoding):  # noqa: F811
    Path("größe.csv").write_text(Path("data.csv").read_text(), encoding="utf-8")
    done = shell("incrowd init größe.csv -o größe.toml --sensitive ill", **encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("größe.toml").exists()
    done = shell("incrowd init fehlt-ß.csv -o x.toml", **encoding)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
