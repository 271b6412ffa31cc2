"""Publishing that ends in the middle: killed with SIGKILL or SIGTERM, or on a full disk.

A child publishes the same table again and again, each time into a new folder. It is killed at a random moment. What is
left must be nothing or complete releases that load and verify; and after the next save into the same place, nothing
that begins with a dot. Children are forked from a process that has loaded everything and started no thread, so that a
kill takes a moment and not the seconds of a new interpreter.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import polars as pl

import incrowd as ic
from checks.gauntlet.trial import FOREIGN, Outcome, what_and_where
from incrowd.cli import main
from incrowd.errors import IncrowdError

_ROOT = Path(__file__).parents[2]
_READY = "ready"
_COMMAND = "command"  # a child that is the command line
_PATIENCE = 60  # seconds for a child to die
_CHILDREN = (("mondrian", 40), ("mondrian", 1500), ("nsvdist", 60), ("nhaa", 60), (_COMMAND, 300))


def people(n: int) -> tuple[pl.DataFrame, ic.Schema]:
    """Return a table to publish."""
    rng = random.Random(n)
    ages = [rng.randrange(18, 80) for _ in range(n)]
    frame = pl.DataFrame({
        "age": ages,
        "town": [rng.choice("abcd") for _ in range(n)],
        "ill": [rng.choice(("flu", "cold", "cough")) for _ in range(n)],
    })  # fmt: skip
    return frame, ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="ill")


def publish_forever(place: Path, method: str, n: int) -> None:
    """Save a release under a new name, again and again; what a child does."""
    frame, schema = people(n)
    release = ic.publish(frame, schema, method=method, k=3)
    _say(_READY)
    end, number = time.monotonic() + _PATIENCE / 2, 0
    while time.monotonic() < end:  # in case that nobody comes to kill it
        release.save(place / f"out-{number}")
        number += 1


def publish_by_command(place: Path, n: int) -> None:
    """Do the same with the command line, which hears signals and leaves nothing behind."""
    frame, schema = people(n)
    own = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=place.parent))
    frame.write_csv(own / "people.csv")
    schema.to_toml(own / "people.toml")
    _say(_READY)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    end, number = time.monotonic() + _PATIENCE / 2, 0
    try:
        while time.monotonic() < end:
            told = ["publish", own / "people.csv", "-s", own / "people.toml", "-m", "mondrian", "-k", 3, "-q"]
            sys.argv = ["incrowd", *map(str, told), "-o", str(place / f"out-{number}")]
            try:
                main()
            except SystemExit as done:
                if done.code:
                    raise
            number += 1
    finally:
        shutil.rmtree(own, ignore_errors=True)


def bear_children() -> None:
    """Fork a child for each line that comes in, and say its number; what the parent of the children does."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    for module in ("publish", "release.folder", "verify.core", "cli.exits", "workflow"):
        import_module(f"incrowd.{module}")
    _say(_READY)
    for line in sys.stdin:
        method, n, place = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with contextlib.suppress(BaseException):
                if method == _COMMAND:
                    publish_by_command(Path(place), int(n))
                publish_forever(Path(place), method, int(n))
            os._exit(1)
        _say(str(child))


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


@cache
def _parent() -> subprocess.Popen[str]:
    """Start the parent of the children, once for each worker; it ends when its input does."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "checks.gauntlet.crashes"],
        cwd=_ROOT, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    _hear(parent, 1)
    return parent


def _hear(parent: subprocess.Popen[str], n_lines: int) -> list[str]:
    assert parent.stdout is not None
    return [parent.stdout.readline().strip() for _ in range(n_lines)]


def kill_once(rng: random.Random) -> tuple[Outcome, str]:
    """Let a child be born, kill it at a random moment, and judge what is left."""
    place = Path(tempfile.mkdtemp(prefix="gauntlet-"))
    method, n = rng.choice(_CHILDREN)
    how = signal.SIGKILL if method != _COMMAND and rng.random() < 0.7 else signal.SIGTERM
    parent = _parent()
    assert parent.stdin is not None
    try:
        parent.stdin.write(f"{method} {n} {place}\n")
        parent.stdin.flush()
        said = _hear(parent, 2)
        child = next((int(word) for word in said if word.isdigit()), 0)
        if not child or _READY not in said:
            _parent.cache_clear()
            return Outcome("escaped", f"the child of {method} did not start"), how.name
        time.sleep(rng.random() * rng.choice((0.02, 0.2, 0.5)))
        os.kill(child, how)
        if not _is_gone(child):
            os.kill(child, signal.SIGKILL)
            return Outcome("escaped", f"{how.name} did not end the child of {method}"), how.name
        hidden = [path.name for path in place.iterdir() if path.name.startswith(".")]
        if method == _COMMAND and hidden:
            return Outcome("escaped", f"{how.name} to the command line left {', '.join(hidden)}"), how.name
        return _judge_leftovers(place, n), f"{how.name} to {'the command line' if method == _COMMAND else method}"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _is_gone(child: int) -> bool:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.005)
    return False


def _judge_leftovers(place: Path, n: int) -> Outcome:
    frame, schema = people(n)
    ic.publish(frame, schema, method="mondrian", k=3).save(place / "after")
    left = sorted(path.name for path in place.iterdir())
    hidden = [name for name in left if name.startswith(".")]
    if hidden:
        return Outcome("escaped", f"left behind after the next save: {', '.join(hidden)}")
    public = [name for name in left if not name.endswith(".private")]
    alone = [name for name in left if name.endswith(".private") and name.removesuffix(".private") not in public]
    if alone:
        return Outcome("escaped", f"a private folder without its release: {', '.join(alone)}")
    for name in {public[-1], *public[-3:]}:
        try:
            if f"{name}.private" not in left:
                return Outcome("escaped", f"a release without its private folder: {name}")
            ic.Release.load(place / name)
            verdict = ic.verify(place / name, frame)
        except FOREIGN as error:  # whatever it is, it is an escape
            return Outcome("escaped", f"a killed run left {name}, which does not load: {what_and_where(error)}")
        if not verdict.ok or not verdict.complete:
            return Outcome("escaped", f"a killed run left {name}, which does not verify")
    return Outcome("survived")


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[Path | None]:
    """Give a folder on a disk of so many bytes, or nothing where mounting is not allowed."""
    place = Path(tempfile.mkdtemp(prefix="gauntlet-disk-"))
    mounted = (
        hasattr(os, "geteuid")
        and os.geteuid() == 0
        and shutil.which("mount") is not None
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode == 0
    )  # fmt: skip
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], capture_output=True, check=False)
        shutil.rmtree(place, ignore_errors=True)


def fill_disk(rng: random.Random) -> tuple[Outcome, str]:
    """Publish onto a disk that is too small, or under a limit for files; nothing may be left."""
    size = rng.randrange(4, 80) * 1024
    frame, schema = people(2000)
    release = ic.publish(frame, schema, method="mondrian", k=3)
    with small_disk(size) as place:
        if place is not None:
            return _judge_full(release, place), "full disk"
    return _limited(rng.randrange(200, 6000)), "limit of a file's size"


def _judge_full(release: ic.Release, place: Path) -> Outcome:
    try:
        release.save(place / "out")
    except IncrowdError:
        left = [path.name for path in place.iterdir()]
        return Outcome("escaped", f"a full disk left {', '.join(left)}") if left else Outcome("refused")
    except FOREIGN as error:  # whatever is not ours is an escape
        return Outcome("escaped", what_and_where(error))
    there = sorted(path.name for path in place.iterdir())
    return Outcome("survived") if there == ["out", "out.private"] else Outcome("escaped", f"left {', '.join(there)}")


def _limited(limit: int) -> Outcome:
    place = Path(tempfile.mkdtemp(prefix="gauntlet-limit-"))
    code = (
        "import resource, signal, sys; from pathlib import Path; import incrowd as ic\n"
        "from checks.gauntlet.crashes import people, _judge_full\n"
        "frame, schema = people(2000); release = ic.publish(frame, schema, method='mondrian', k=3)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        f"outcome = _judge_full(release, Path({str(place)!r})); print(outcome.how, outcome.why)\n"
    )
    try:
        done = subprocess.run([sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False)
        how, _, why = (done.stdout.strip() or f"escaped {done.stderr[-200:]}").partition(" ")
        return Outcome(how, why)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    bear_children()
