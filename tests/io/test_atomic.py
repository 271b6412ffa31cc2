from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from incrowd.errors import InputError
from incrowd.io import atomic_file, atomic_folder, atomic_folders, written_paths

FAILURES = [ValueError("no"), KeyboardInterrupt(), SystemExit(1)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def spoil(path: Path, failure: BaseException | None) -> None:
    path.write_text("half")
    if failure is not None:
        raise failure


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def ordinary_mode(folder: Path) -> int:
    probe = folder / "probe"
    probe.mkdir()
    found = mode(probe)
    probe.rmdir()
    return found


def assert_hidden_and_closed(temporary: Path, folder: Path) -> None:
    assert temporary.parent.parent == folder
    assert temporary.parent.name.startswith(".")
    assert mode(temporary.parent) == 0o700


def test_file_appears_at_the_end_only(tmp_path):
    target = tmp_path / "a.txt"
    with atomic_file(target) as temporary:
        assert temporary.suffix == ".txt"
        assert_hidden_and_closed(temporary, tmp_path)
        temporary.write_text("ä")
        assert not target.exists()
    assert target.read_text() == "ä"
    assert names(tmp_path) == ["a.txt"]
    assert mode(target) == ordinary_mode(tmp_path) & 0o666


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_file_keeps_the_old_one(tmp_path, failure):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(type(failure)), atomic_file(target) as temporary:
        spoil(temporary, failure)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_file_keeps_mode_and_link(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with atomic_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert mode(real) == 0o640


def test_file_onto_folder(tmp_path):
    with pytest.raises(InputError, match="it is a folder"), atomic_file(tmp_path):
        pass


def test_folder_is_closed_while_written_and_open_afterwards(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(str(target) + "/") as temporary:
        assert_hidden_and_closed(temporary, tmp_path)
        (temporary / "deep").mkdir()
        (temporary / "deep" / "x").write_text("x")
        assert not target.exists()
    assert (target / "deep" / "x").read_text() == "x"
    assert names(tmp_path) == ["out"]
    assert mode(target) == ordinary_mode(tmp_path)


def test_owner_only(tmp_path):
    public, private = tmp_path / "out", tmp_path / "out.private"
    with atomic_folders(public, private, owner_only=[private]):
        pass
    assert mode(private) == 0o700
    assert mode(public) == ordinary_mode(tmp_path)
    with atomic_folder(tmp_path / "alone", owner_only=True):
        pass
    assert mode(tmp_path / "alone") == 0o700


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_folders_leave_nothing(tmp_path, failure):
    with pytest.raises(type(failure)), atomic_folders(tmp_path / "a", tmp_path / "b") as (a, b):
        spoil(a / "x", None) or spoil(b / "y", failure)
    assert names(tmp_path) == []


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("is_file", [True, False])
def test_existing_folder_is_refused(tmp_path, position, is_file):
    paths = [tmp_path / "a", tmp_path / "b"]
    if is_file:
        paths[position].write_text("mine")
    else:
        paths[position].mkdir()
    with pytest.raises(InputError, match="already exists") as caught, atomic_folders(*paths):
        pytest.fail("must not start")
    assert "remove it first" in caught.value.hint
    assert names(tmp_path) == [paths[position].name]


def test_folder_that_appears_meanwhile_is_refused_and_untouched(tmp_path):
    with pytest.raises(InputError, match="exists"), atomic_folders(tmp_path / "a", tmp_path / "b") as (a, _):
        spoil(a / "x", None) or (tmp_path / "b").mkdir()
    assert names(tmp_path) == ["b"]


def test_dangling_link_counts_as_existing(tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists"), atomic_folder(tmp_path / "out"):
        pass


@pytest.mark.parametrize("failing", ["a", "b"])
def test_second_rename_fails_first_is_undone(tmp_path, monkeypatch, failing):
    rename = Path.rename

    def refuse(self, target):
        if Path(target).name == failing:
            raise PermissionError(errno.EACCES, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(InputError, match="No permission"), atomic_folders(tmp_path / "a", tmp_path / "b") as (a, b):
        spoil(a / "x", None) or spoil(b / "y", None)
    assert names(tmp_path) == []


@pytest.mark.parametrize("text_only", [True, False])
def test_disk_full(tmp_path, text_only):
    error = OSError("No space left on device (os error 28)") if text_only else OSError(errno.ENOSPC, "full")
    with pytest.raises(InputError, match="No space left while writing") as caught, atomic_folder(tmp_path / "a") as a:
        spoil(a / "x", error)
    assert "nothing was left behind" in caught.value.hint
    with pytest.raises(InputError, match="No space left"), atomic_file(tmp_path / "f") as f:
        spoil(f, error)
    assert names(tmp_path) == []


def test_disk_full_while_syncing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"), atomic_folder(tmp_path / "a") as a:
        (a / "x").write_text("x")
    with pytest.raises(InputError, match="No space left"), atomic_file(tmp_path / "f") as f:
        f.write_text("x")
    assert names(tmp_path) == []


def test_folders_in_different_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="in one folder"), atomic_folders(tmp_path / "a", tmp_path / "c" / "b"):
        pytest.fail("must not start")
    assert names(tmp_path) == []


def test_folder_that_cannot_be_created(tmp_path):
    with pytest.raises(InputError, match="there is no folder") as caught, atomic_folder(tmp_path / "no" / "b"):
        pytest.fail("must not start")
    assert caught.value.hint == "create that folder first"
    assert names(tmp_path) == []


def test_file_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="there is no folder"), atomic_file(tmp_path / "file" / "b.csv"):
        pass
    assert names(tmp_path) == ["file"]


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match="No permission to write"), atomic_folder(tmp_path / "a"):
        pass


def test_other_system_error(tmp_path):
    with pytest.raises(InputError, match=r"Could not write .*: Input/output error"), atomic_file(tmp_path / "a"):
        raise OSError(errno.EIO, "secret")


def test_input_errors_pass_through(tmp_path):
    with pytest.raises(InputError, match="mine"), atomic_folder(tmp_path / "a"):
        raise InputError("mine")
    assert names(tmp_path) == []


def test_file_for_the_owner_only(tmp_path):
    (tmp_path / "f").write_text("old")
    with atomic_file(tmp_path / "f", owner_only=True) as f:
        f.write_text("new")
    assert mode(tmp_path / "f") == 0o600


def test_what_was_written_is_known(tmp_path):
    with atomic_folders(tmp_path / "a", tmp_path / "b"):
        assert tmp_path / "a" not in written_paths()
    with pytest.raises(ValueError, match="no"), atomic_file(tmp_path / "c") as c:
        spoil(c, FAILURES[0])
    assert {tmp_path / "a", tmp_path / "b"} <= set(written_paths())
    assert tmp_path / "c" not in written_paths()
