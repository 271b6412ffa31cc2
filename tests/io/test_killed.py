"""Output of processes that are killed, interrupted, raced or out of space: all of it, or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incrowd.errors import InputError
from incrowd.io import atomic_file, atomic_folder, atomic_folders, staging

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

BEGIN = """
import os, signal, sys, time
from pathlib import Path
from incrowd.errors import InputError
from incrowd.io import atomic_file, atomic_folders, staging, written_paths
folder = Path(sys.argv[1])

def stop(*_):
    raise SystemExit(9)

def save(mark, pause=0):
    with atomic_folders(folder / "out", folder / "out.private") as (public, private):
        (public / "x").write_text(mark)
        (private / "y").write_text(mark)
        print("writing", flush=True)
        time.sleep(pause)

def after_rename(number, act):
    rename, seen = Path.rename, []
    def spy(self, target):
        result = rename(self, target)
        seen.append(target)
        if len(seen) == number:
            act()
        return result
    Path.rename = spy
"""


def run(folder: Path, code: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BEGIN + code, str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=20, **options)


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN + code, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def save(folder: Path, mark: str) -> None:
    with atomic_folders(folder / "out", folder / "out.private") as (public, private):
        (public / "x").write_text(mark)
        (private / "y").write_text(mark)


def assert_saved(folder: Path, mark: str) -> None:
    assert names(folder) == ["out", "out.private"]
    assert (folder / "out" / "x").read_text() == (folder / "out.private" / "y").read_text() == mark


def test_killed_between_the_renames(tmp_path: Path) -> None:
    done = run(tmp_path, "after_rename(1, lambda: os.kill(os.getpid(), signal.SIGKILL)); save('first')")
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "out.private").is_dir()  # never the public folder without its private one
    assert not (tmp_path / "out").exists()
    save(tmp_path, "second")
    assert_saved(tmp_path, "second")


def test_killed_after_the_commit_point(tmp_path: Path) -> None:
    run(tmp_path, "after_rename(2, lambda: os.kill(os.getpid(), signal.SIGKILL)); save('first')")
    with pytest.raises(InputError, match="exists"):
        save(tmp_path, "second")
    assert_saved(tmp_path, "first")


def test_killed_while_writing(tmp_path: Path) -> None:
    run(tmp_path, "time.sleep = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nsave('first')")
    assert len(names(tmp_path)) == 1
    with atomic_file(tmp_path / "other.txt") as other:
        other.write_text("x")
    assert names(tmp_path) == ["other.txt"]


def test_a_killed_file_is_cleaned_too(tmp_path: Path) -> None:
    run(tmp_path, "with atomic_file(folder / 'f') as f: os.kill(os.getpid(), signal.SIGKILL)")
    assert len(names(tmp_path)) == 1
    with atomic_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]


def test_who_still_writes_is_left_alone(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "a") as a:
        (a / "x").write_text("x")
        assert run(tmp_path, "save('other')").returncode == 0
        with atomic_file(tmp_path / "b"):
            pass
    assert names(tmp_path) == ["a", "b", "out", "out.private"]
    assert (tmp_path / "a" / "x").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_writing_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, "signal.signal(signal.SIGTERM, stop); save('first', 10)")
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode not in (0, -signal.SIGKILL)
    assert names(tmp_path) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("position", [1, 2])
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_between_the_renames_comes_after_both(tmp_path: Path, number: str, position: int) -> None:
    code = f"""
signal.signal(signal.SIGTERM, stop)
after_rename({position}, lambda: os.kill(os.getpid(), signal.{number}))
try:
    save('first')
except (KeyboardInterrupt, SystemExit):
    print("stopped", *(path.name for path in written_paths()))
"""
    assert run(tmp_path, code).stdout == "writing\nstopped out out.private\n"
    assert_saved(tmp_path, "first")


def test_of_several_that_save_at_once_one_wins(tmp_path: Path) -> None:
    code = """
while not (folder / "go").exists():
    time.sleep(0.001)
try:
    save(sys.argv[0] + str(os.getpid()), 0.05)
except InputError as error:
    print(error.fact)
"""
    racers = [start(tmp_path, code) for _ in range(3)]
    time.sleep(0.5)
    (tmp_path / "go").touch()
    outputs = [racer.communicate(timeout=20) for racer in racers]
    assert all(racer.returncode == 0 for racer in racers), outputs
    assert sum("exists" in out for out, _ in outputs) == 2
    (tmp_path / "go").unlink()
    assert_saved(tmp_path, (tmp_path / "out" / "x").read_text())


def test_who_cleans_in_the_moment_before_the_lock_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, seen = staging.opened, []

    def cleaned_before(folder: Path) -> int | None:
        seen.append(folder)
        if len(seen) == 1:
            folder.rmdir()
        return opened(folder)

    monkeypatch.setattr(staging, "opened", cleaned_before)
    save(tmp_path, "first")
    assert len(seen) == 2
    assert_saved(tmp_path, "first")


def test_a_private_folder_of_somebody_else_is_never_removed(tmp_path: Path) -> None:
    save(tmp_path, "mine")
    (tmp_path / "out").rename(tmp_path / "shared")
    with pytest.raises(InputError, match=r"out\.private.*exists"):
        save(tmp_path, "second")
    assert (tmp_path / "out.private" / "y").read_text() == "mine"


def test_a_journal_of_other_users_or_about_other_folders_is_not_obeyed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    status = victim.stat()
    journal = '{"commit": "out", "made": {"victim": [%d, %d], "../victim": [%d, %d]}}'
    fake = tmp_path / f".out.{'0' * 16}.incrowd"
    fake.mkdir()
    (fake / "out").mkdir()
    (fake / staging._JOURNAL).write_text(journal % (status.st_dev, status.st_ino + 1, status.st_dev, status.st_ino))
    with atomic_folder(tmp_path / "a"):
        pass
    assert names(tmp_path) == ["a", "victim"]
    fake.mkdir()
    (fake / "out").mkdir()
    (fake / staging._JOURNAL).write_text(journal % (status.st_dev, status.st_ino, 0, 0))
    fake.chmod(0o777)  # anybody could have written this
    with atomic_folder(tmp_path / "b"):
        pass
    assert names(tmp_path) == [fake.name, "a", "b", "victim"]


def test_similar_names_are_not_ours(tmp_path: Path) -> None:
    for name in (".out.incrowd", f"out.{'0' * 16}.incrowd", f".out.{'0' * 15}.incrowd"):
        (tmp_path / name).mkdir()
    (tmp_path / f".out.{'0' * 16}.incrowd").symlink_to(tmp_path)
    before = names(tmp_path)
    with atomic_folder(tmp_path / "a"):
        pass
    assert names(tmp_path) == sorted([*before, "a"])


LIMIT = """
import resource, polars, numpy
from incrowd import io
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
frame = polars.DataFrame({"a": numpy.random.default_rng(0).random(50_000)})
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "code",
    [
        "with io.atomic_folder(folder / 'out') as out: io.write_canonical_parquet(frame, out / 'a')",
        "with io.atomic_folder(folder / 'out') as out: io.write_canonical_csv(frame, out / 'a')",
        "io.write(frame, folder / 'a.parquet')",
        "io.write(frame, folder / 'a.feather')",
        "io.write(frame, folder / 'a.csv')",
        "io.write(frame, folder / 'a.tsv.gz')",
        "io.write(frame, folder / 'a.xlsx')",
        "io.write(frame, f'sqlite:///{folder}/a.db', table='t')",
    ],
)
def test_no_space_left(tmp_path: Path, code: str) -> None:
    done = run(tmp_path, LIMIT + f"try:\n    {code}\nexcept InputError as error:\n    print(error)")
    fact, hint = "o space left", "free some space"
    assert fact in done.stdout
    assert hint in done.stdout
    assert done.returncode == 0
    assert names(tmp_path) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("utf8", ["0", "1"])
def test_names_that_are_not_ascii(tmp_path: Path, utf8: str) -> None:
    # Without UTF-8 mode a name from outside has surrogates for its bytes, which polars does not take.
    code = r"""
from incrowd import io
import polars
os.chdir(folder)
names = [os.fsdecode(text.encode()) for text in ("\u0436", "\u0449.csv", "out" + 100 * "\xe9")]
frame = polars.DataFrame({"a": ["\xf6", "\xfc"]})
for suffix in ("csv", "tsv.gz", "parquet", "feather", "xlsx"):
    io.write(frame, f"{names[0]}.{suffix}")
    assert io.read(f"{names[0]}.{suffix}").equals(frame)
io.write(frame, f"sqlite:///{names[0]}.db", table="t")
assert io.read(f"sqlite:///{names[0]}.db", query="select * from t").equals(frame)
with io.atomic_folders(names[2], "out.private") as (public, private):
    io.write_canonical_csv(frame, public / f"{names[0]}.csv")
    io.write_canonical_parquet(frame, private / f"{names[0]}.parquet")
for name in names[1:]:
    try:
        io.read(folder / name)
    except InputError as error:
        print(ascii(str(error)))
"""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": utf8}
    folder = tmp_path / "ñ"
    folder.mkdir()
    done = run(folder, code, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Hint") == 1  # the folder holds a table
    assert (folder / ("out" + 100 * "é") / "ж.csv").read_text(encoding="utf-8") == "a\nö\nü\n"
    assert len(names(folder)) == 8
