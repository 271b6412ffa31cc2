"""The fingerprint of code: what changes it, and what does not."""

import subprocess
from pathlib import Path

import pytest

from incrowd.evaluate import provenance
from incrowd.evaluate.provenance import commit, files_of

FILES = {
    "__init__.py": "from incrowd.maths import double\n",
    "maths.py": '"""Sums."""\nfrom incrowd.deep import one\ndef double(x):\n    return 2 * x * one()\n',
    "deep.py": "def one():\n    return 1\n",
    "other.py": "def unused():\n    return 3\n",
    "room/__init__.py": "from incrowd.room.here import found\nfrom incrowd.room.there import lost\n",
    "room/here.py": "def found():\n    return 1\n",
    "room/there.py": "def lost():\n    return 1\n",
    "verify.py": "def verify():\n    return 1\n",
    "job.py": (
        "from typing import TYPE_CHECKING\nfrom incrowd.room import found\nfrom incrowd.verify import verify\n"
        "if TYPE_CHECKING:\n    from incrowd.other import unused\n"
        "def run(task):\n    from incrowd import double\n    return double(found())\n"
    ),
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    root = tmp_path / "incrowd"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(provenance, "_ROOT", root)
    return root


def fingerprint(root):
    for cached in (provenance._tree, provenance._meaning, provenance._imported, provenance._fingerprint):
        cached.cache_clear()
    return provenance._fingerprint(root / "job.py")


@pytest.fixture(autouse=True)
def forgets():
    yield
    for cached in (provenance._tree, provenance._meaning, provenance._imported, provenance._fingerprint):
        cached.cache_clear()


def test_imports_are_followed_to_the_file_that_defines_a_name(package):
    fingerprint(package)
    found = [path.relative_to(package).as_posix() for path in provenance._closure(package / "job.py")]
    assert found == ["deep.py", "job.py", "maths.py", "room/here.py"]


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("maths.py", "2 * x", "3 * x", True),
        ("deep.py", "return 1", "return 2", True),
        ("maths.py", '"""Sums."""', '"""Sums of numbers."""  # as they are', False),
        ("other.py", "return 3", "return 4", False),
        ("room/there.py", "return 1", "return 2", False),
        ("verify.py", "return 1", "return 2", False),
    ],
)
def test_what_changes_a_fingerprint(package, file, old, new, changes):
    before = fingerprint(package)
    path = package / file
    path.write_text(path.read_text().replace(old, new))
    assert (fingerprint(package) != before) == changes


def test_of_an_experiment():
    from incrowd.experiments import experiment

    names = {Path(path).name for path in files_of(experiment("friedman-table6").run)}
    assert {"friedman.py", "tree.py", "tds.py", "catalogue.py"} <= names
    assert not names & {"nsvdist.py", "dmpd.py", "app.py", "verdict.py", "runner.py"}


def test_the_commit_is_that_of_the_checkout(monkeypatch):
    commit.cache_clear()
    monkeypatch.setattr(provenance, "_git", lambda *words: "abc" if "rev-parse" in words else " M file.py")
    assert commit() == "abc+"
    commit.cache_clear()

    def fails(*_words, **_settings):
        raise FileNotFoundError

    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "run", fails)
    assert commit() is None
    commit.cache_clear()
