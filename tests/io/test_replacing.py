"""Folders that replace older ones: at every moment the old ones are there, or the new ones; never none, never half."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.errors import InputError
from incrowd.io import atomic_folders, recover, staging
from incrowd.io.exchanging import exchange

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

KILLED = """
import os, signal, sys
from pathlib import Path
from incrowd.io import atomic_folders, staging
folder, number, can = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "exchange"
seen = []

def killing(step):
    def spy(*args):
        result = step(*args)
        seen.append(args)
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return spy

if can:
    staging.exchange = killing(staging.exchange)
else:
    staging.exchange = lambda *_: False
    Path.rename = killing(Path.rename)
with atomic_folders(folder / "out", folder / "out.private", replace=True) as (public, private):
    (public / "x").write_text("new")
    (private / "y").write_text("new")
"""


def save(folder: Path, mark: str, *, replace: bool = True) -> None:
    with atomic_folders(folder / "out", folder / "out.private", replace=replace) as (public, private):
        (public / "x").write_text(mark)
        (private / "y").write_text(mark)


def marks(folder: Path) -> tuple[str, str]:
    return (folder / "out" / "x").read_text(), (folder / "out.private" / "y").read_text()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_old_becomes_new(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(staging, "exchange", lambda *_: False)
    save(tmp_path, "first")  # nothing to replace
    save(tmp_path, "second")
    assert marks(tmp_path) == ("second", "second")
    assert names(tmp_path) == ["out", "out.private"]


def test_a_failure_keeps_the_old_ones(tmp_path):
    save(tmp_path, "first")
    with pytest.raises(TypeError):
        save(tmp_path, 7)  # which cannot be written
    assert marks(tmp_path) == ("first", "first")
    assert names(tmp_path) == ["out", "out.private"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_error_between_the_two_takes_everything_back(tmp_path, monkeypatch, can_exchange):
    save(tmp_path, "first")
    step, seen = staging._put_in_place, []

    def failing(new, target):
        seen.append(target.name)
        if seen == ["out.private", "out"]:
            raise OSError(5, "disk")
        step(new, target)

    monkeypatch.setattr(staging, "_put_in_place", failing)
    if not can_exchange:
        monkeypatch.setattr(staging, "exchange", lambda *_: False)
    with pytest.raises(InputError):
        save(tmp_path, "second")
    assert marks(tmp_path) == ("first", "first")
    assert names(tmp_path) == ["out", "out.private"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("how", "step", "expected"),
    [
        ("exchange", 1, "old"),  # the private folders have changed places
        ("exchange", 2, "new"),  # the public ones too: the commit point
        ("rename", 1, "old"),  # the old private folder is in the staging folder
        ("rename", 2, "old"),  # the new one has its name
        ("rename", 3, "old"),  # the old public folder is in the staging folder
        ("rename", 4, "new"),
    ],
)
def test_killed_in_between(tmp_path, how, step, expected):
    save(tmp_path, "old")
    if how == "exchange" and not can_exchange_here(tmp_path):
        pytest.skip("this file system cannot let names change places")
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(step), how]
    assert subprocess.run(command, check=False, capture_output=True, timeout=20).returncode == -signal.SIGKILL
    if how == "exchange":
        assert marks(tmp_path)[0] == expected  # whoever has only the public folder never sees anything else
    recover(tmp_path / "out")
    assert marks(tmp_path) == (expected, expected)
    assert names(tmp_path) == ["out", "out.private"]


def can_exchange_here(folder: Path) -> bool:
    one, other = folder / "one", folder / "other"
    one.mkdir()
    (other / "x").mkdir(parents=True)
    found = exchange(one, other)
    assert (one / "x").exists() == found
    (one / "x" if found else other / "x").rmdir()
    one.rmdir()
    other.rmdir()
    return found


def test_names_that_do_not_exist_are_not_exchanged(tmp_path):
    (tmp_path / "one").mkdir()
    assert exchange(tmp_path / "one", tmp_path / "none") is False
    assert names(tmp_path) == ["one"]


@pytest.mark.slow
def test_two_at_once_place_a_pair_each(tmp_path):
    save(tmp_path, "old")
    code = "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path; import test_replacing as t\n"
    code += "for i in range(20): t.save(Path(sys.argv[1]), sys.argv[3] + str(i))"
    here = str(Path(__file__).parent)
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), here, mark]) for mark in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    public, private = marks(tmp_path)
    assert public == private
    assert names(tmp_path) == ["out", "out.private"]


def test_recovering_leaves_a_living_process_alone(tmp_path):
    with atomic_folders(tmp_path / "out", replace=True) as (public,):
        recover(tmp_path / "out")
        assert public.is_dir()
    assert names(tmp_path) == ["out"]
