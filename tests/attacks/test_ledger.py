"""What the ledger remembers, whoever writes at the same time, and whatever goes wrong meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd import io
from incrowd.attacks import ledger as module
from incrowd.attacks.ledger import Entry, Ledger, warn
from incrowd.errors import InfeasibleError, InputError
from incrowd.manifest import ClassColumn, Guarantee, Method, Missing, ProjectionsManifest, RowCounts, Shown

MANIFEST = ProjectionsManifest(
    method=Method("dmpd", {}), guarantees=(Guarantee("k", k=4),), rows=RowCounts(40, 0, 0, 40),
    missing=Missing("drop", ()), dropped=(), incrowd="0", polars="0", target=ClassColumn("ill", "sensitive", "str"),
    quasi_sets=(("q0", "q1"),), parts=(("q0", "q1"),), left_out=(),
    columns=(Shown("q0", "quasi", "int", None, 0), Shown("q1", "quasi", "int", None, 0)),
)  # fmt: skip
KNOWN = ["q0", "q1", "ill"]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return small_releases.people(np.random.default_rng(0), 40, n_leaves=9).with_columns(secret=pl.lit("do-not-print"))


def record(path: Path, frame: pl.DataFrame, folder: Path, **options: bool) -> list[Entry]:
    with Ledger(path).recording(MANIFEST, frame, folder, **options) as earlier:
        return earlier


def states(path: Path) -> list[str]:
    return [entry.state for entry in Ledger(path).entries]


def test_a_table_is_known_again_and_no_cell_is_kept(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    assert record(path, frame, tmp_path / "one") == []
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1).drop("q0").with_columns(q0=pl.lit(1))
    again = Ledger(path).earlier(shuffled, ["q0", "q1"])  # one of the columns is enough
    assert [(e.method, e.k, e.promises, e.state, e.rows) for e in again] == [("dmpd", 4, "k = 4", "done", 40)]
    assert "published before, once" in str(warn(again))
    assert len(record(path, frame, tmp_path / "two")) == 1
    text = path.read_text()
    assert not any(word in text for word in ("v0", "q0", "do-not-print"))
    assert path.stat().st_mode & 0o077 == 0
    assert warn([]) is None


@pytest.mark.parametrize(("n_common", "known"), [(4000, True), (1500, True), (100, False), (0, False)])
def test_people_are_known_again_when_others_come_and_go(n_common: int, known: bool, tmp_path: Path) -> None:
    """A tenth of 5000 rows is enough, by 256 hashes that are the least."""
    table = pl.DataFrame({"q0": range(20_000), "q1": 1, "ill": "v0", "secret": "x"})
    record(tmp_path / "l", table[:5000], tmp_path / "one")
    ledger = Ledger(tmp_path / "l")
    assert len(ledger.entries[0].people) == 256
    assert bool(ledger.earlier(table[5000 - n_common : 12_000 - n_common], ["q0"])) is known


def test_another_table_is_not_taken_for_the_same(frame: pl.DataFrame, tmp_path: Path) -> None:
    record(tmp_path / "l", frame, tmp_path / "one")
    other = frame.with_columns(pl.col("q0", "q1") + 100)
    assert Ledger(tmp_path / "l").earlier(other, ["q0", "q1"]) == []
    assert Ledger(tmp_path / "l").earlier(other[:39], ["q0", "q1"]) == []


def test_a_release_is_planned_before_it_is_written(frame: pl.DataFrame, tmp_path: Path) -> None:
    with Ledger(tmp_path / "l").recording(MANIFEST, frame, tmp_path / "out"):
        assert states(tmp_path / "l") == ["planned"]
        assert "not finished" in str(warn(Ledger(tmp_path / "l").earlier(frame, KNOWN)))
    assert states(tmp_path / "l") == ["done"]


@pytest.mark.parametrize("failure", [ValueError(), KeyboardInterrupt(), SystemExit()])
def test_a_release_that_fails_is_not_remembered(failure: BaseException, frame: pl.DataFrame, tmp_path: Path) -> None:
    record(tmp_path / "l", frame, tmp_path / "one")
    with pytest.raises(type(failure)), Ledger(tmp_path / "l").recording(MANIFEST, frame, tmp_path / "two"):
        raise failure
    assert [(e.folder, e.state) for e in Ledger(tmp_path / "l").entries] == [(str(tmp_path / "one"), "done")]


def write_and_stop(folder: Path) -> None:
    with io.atomic_folder(folder):
        pass
    raise KeyboardInterrupt


def test_interrupted_after_the_folder_got_its_name(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyboardInterrupt), Ledger("l").recording(MANIFEST, frame, "out"):
        write_and_stop(tmp_path / "out")
    assert states(tmp_path / "l") == ["done"]


def test_a_further_release_can_be_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    assert record(tmp_path / "l", frame, tmp_path / "one", refuse=True) == []
    before = (tmp_path / "l").read_text()
    with (
        pytest.raises(InfeasibleError, match=r"refused.*published before"),
        Ledger(tmp_path / "l").recording(MANIFEST, frame[:30], tmp_path / "two", refuse=True),
    ):
        pytest.fail("must not start")
    assert (tmp_path / "l").read_text() == before
    other = pl.DataFrame({"q0": range(50, 90), "q1": range(40), "ill": [f"w{i}" for i in range(40)]})
    assert record(tmp_path / "l", other, tmp_path / "three", refuse=True) == []


def test_a_fresh_ledger_that_somebody_else_began_meanwhile(frame: pl.DataFrame, tmp_path: Path) -> None:
    """Both have thought of a key of their own; the one in the file counts."""
    mine, theirs = Ledger(tmp_path / "l"), Ledger(tmp_path / "l")
    with theirs.recording(MANIFEST, frame, tmp_path / "one"):
        pass
    with mine.recording(MANIFEST, frame, tmp_path / "two") as earlier:
        assert len(earlier) == 1
    first, second = Ledger(tmp_path / "l").entries
    assert first.people == second.people
    assert first.columns == second.columns


# The file alone: the package around it takes seconds to load.
CODE = """
import importlib.util, os, signal, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
import polars
spec = importlib.util.spec_from_file_location("ledger", sys.argv[1])
module = sys.modules["ledger"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
path, folder = Path(sys.argv[2]), sys.argv[3]
manifest = SimpleNamespace(method=SimpleNamespace(name="m"), k=4, promises="k = 4", recognized_by=["q0", "ill"])
frame = polars.DataFrame({"q0": range(40), "ill": "a"})
ledgers = [module.Ledger(path) for _ in range(3)]
Path(folder + ".ready").touch()
while not path.with_name("go").exists():
    time.sleep(0.002)
"""


def start(folder: Path, name: str, code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CODE + code, str(module.__file__), str(folder / "l"), str(folder / name)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_six_at_once_leave_six_entries(tmp_path: Path) -> None:
    code = """
def record(i):
    with ledgers[i].recording(manifest, frame, folder + str(i)):
        time.sleep(0.02)
list(ThreadPoolExecutor(3).map(record, range(3)))
"""
    running = [start(tmp_path, name, code) for name in "ab"]
    while len(list(tmp_path.glob("*.ready"))) < 2 and all(process.poll() is None for process in running):
        time.sleep(0.01)
    (tmp_path / "go").touch()
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    ledger = Ledger(tmp_path / "l")
    assert sorted(Path(entry.folder).name for entry in ledger.entries) == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert {entry.state for entry in ledger.entries} == {"done"}
    assert len({tuple(entry.people) for entry in ledger.entries}) == 1


def test_threads_wait_for_each_other(tmp_path: Path, frame: pl.DataFrame) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda i: record(tmp_path / "l", frame, tmp_path / str(i)), range(12)))
    assert sorted(int(Path(entry.folder).name) for entry in Ledger(tmp_path / "l").entries) == list(range(12))


def test_killed_while_writing_still_counts(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    code = "with ledgers[0].recording(manifest, frame, folder): os.kill(os.getpid(), signal.SIGKILL)"
    process = start(tmp_path, "out", code)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    table = pl.DataFrame({"q0": range(40), "q1": 1, "ill": "a"})
    assert [entry.state for entry in Ledger(tmp_path / "l").earlier(table, ["q0"])] == ["planned"]
    assert len(record(tmp_path / "l", table, tmp_path / "next")) == 1  # and nobody waits for the dead


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda line: line[:50], "line 3: not an entry"),
        (lambda _: "[]", "line 3: not an entry"),
        (lambda _: "", "line 3: not an entry"),
        (lambda line: line.replace('"rows": 40', '"rows": "40"'), r"line 3: .*rows"),
        (lambda line: line.replace('"rows": 40', '"rows": true'), r"line 3: .*rows"),
        (lambda line: line.replace('"state": "done"', '"state": "lost"'), r"line 3: .*state"),
        (lambda line: line.replace('"k": 4, ', ""), r"line 3: .*k"),
        (lambda line: line.replace('"people": [', '"people": [7, '), r"line 3: .*people"),
        (lambda line: line.replace('"k": 4, ', '"k": 4, "more": 1, '), r"line 3: .*more"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_before_anything_is_written(spoil, said, frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "l"
    for name in ("one", "two", "three"):
        record(path, frame, tmp_path / name)
    good = Ledger(path)
    lines = path.read_text().split("\n")
    assert spoil(lines[2]) != lines[2]
    lines[2] = spoil(lines[2])
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=said) as caught:
        Ledger(path)
    assert caught.value.hint
    with pytest.raises(InputError, match=said), good.recording(MANIFEST, frame, tmp_path / "four"):
        pytest.fail("must not start")
    assert path.read_text() == "\n".join(lines)


@pytest.mark.parametrize("text", ["", "{}", "no", "[1]", '{"format": 3, "key": "00"}', '{"format": 2, "key": "xy"}\n'])
def test_what_is_no_ledger(text: str, tmp_path: Path) -> None:
    (tmp_path / "l").write_text(text)
    with pytest.raises(InputError, match="cannot be read as a ledger"):
        Ledger(tmp_path / "l")
    (tmp_path / "l").write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read as a ledger"):
        Ledger(tmp_path / "l")
    with pytest.raises(InputError, match="cannot be written"):
        Ledger(tmp_path / "no" / "l")


def test_a_ledger_of_the_first_format_is_read_on(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "l"
    record(path, frame, tmp_path / "one")
    head, line = (json.loads(line) for line in path.read_text().splitlines())
    old = {name: line[name] for name in ("folder", "date", "method", "rows", "columns", "people")}
    old["guarantees"] = [{"kind": "k", "k": 4}, {"kind": "l", "l": 2.0, "l_kind": "frequency"}]
    path.write_text(json.dumps({"format": 1, "key": head["key"], "releases": [old]}, indent=1))
    (found,) = Ledger(path).earlier(frame, KNOWN)
    assert (found.k, found.promises, found.state) == (4, "k = 4, l = 2", "done")
    assert len(record(path, frame, tmp_path / "two")) == 1
    assert len(Ledger(path).entries) == 2
    path.write_text(json.dumps({"format": 1, "key": head["key"], "releases": [old, {"folder": 1}]}))
    with pytest.raises(InputError, match="Release 2"):
        Ledger(path)


def test_any_name_of_a_folder(frame: pl.DataFrame, tmp_path: Path) -> None:
    names = ["a\u2028b", "a\x85b", "a\nb", os.fsdecode(b"\xe9")]
    for name in names:
        record(tmp_path / "l", frame, tmp_path / name)
    assert [Path(entry.folder).name for entry in Ledger(tmp_path / "l").entries] == names


def test_numbers_are_known_in_every_version_of_the_libraries(tmp_path: Path) -> None:
    """The texts that are hashed are ours: 1e-07 is written in two ways by versions of polars."""
    table = pl.DataFrame({"q0": [1e-07 * i for i in range(40)]})
    digests = Ledger(tmp_path / "l")
    with digests.recording(MANIFEST, table.with_columns(q1=1, ill=pl.lit("a")), tmp_path / "out"):
        pass
    texts = pl.Series("q0", [repr(value) for value in table["q0"].to_list()])
    assert Ledger(tmp_path / "l").earlier(pl.DataFrame([texts]), ["q0"])


def test_releases_of_a_series_are_expected_and_others_beside_it_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    people = pl.DataFrame({"name": list("abcdefgh"), "q": range(8), "ill": ["x", "y"] * 4})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="ill", identifiers=["name"])
    first = ic.MInvariance(k=2).publish(people, schema)
    second = ic.republish(first, people[1:], schema)
    book = Ledger(path)
    for number, release in enumerate((first, second)):
        with book.recording(release.manifest, people, tmp_path / str(number), refuse=True) as earlier:
            assert earlier == []
    fork = ic.republish(first, people[2:], schema)  # knows nothing of who came with the second
    with pytest.raises(InfeasibleError, match="release number 2 already"), book.recording(fork.manifest, people, "x"):
        pass
    assert len(Ledger(path).entries) == 2
    alone = ic.Mondrian(k=2).publish(people, schema)
    with (
        pytest.raises(InfeasibleError, match="same people are in a series"),
        book.recording(alone.manifest, people, "x"),
    ):
        pass
    with book.recording(alone.manifest, people, "x", insist=True) as earlier:
        assert len(earlier) == 2
    assert {entry.series for entry in Ledger(path).entries} == {first.manifest.series.id, ""}
    older = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(
        "".join(json.dumps({n: v for n, v in line.items() if n not in ("series", "number")}) + "\n" for line in older)
    )
    assert {entry.series for entry in Ledger(path).entries} == {""}
