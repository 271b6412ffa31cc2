"""Publishing that ends in the middle: killed with SIGKILL or SIGTERM, or on a full disk.

A child publishes the same table again and again, each time into a new folder. It is killed at a random moment. What is
left must be nothing or complete releases that load and verify; and after the next save into the same place, nothing
that begins with a dot.
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
from pathlib import Path

import polars as pl

import incrowd as ic
from checks.gauntlet.trial import Outcome, what_and_where
from incrowd.errors import IncrowdError

_ROOT = Path(__file__).parents[2]
_READY = "ready"
_PATIENCE = 60  # seconds for a child to start


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
    """Save a release under a new name, again and again; what the child does."""
    frame, schema = people(n)
    release = ic.publish(frame, schema, method=method, k=3)
    print(_READY, flush=True)
    for number in range(100_000):
        release.save(place / f"out-{number}")


def kill_once(rng: random.Random) -> tuple[Outcome, str]:
    """Start a child, kill it at a random moment, and judge what is left."""
    place = Path(tempfile.mkdtemp(prefix="gauntlet-"))
    with_kill = rng.random() < 0.6
    method, n = rng.choice((("mondrian", 40), ("mondrian", 3000), ("nsvdist", 60), ("nhaa", 60)))
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "checks.gauntlet.crashes", str(place), method, str(n)],
            cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            started = child.stdout.readline().strip() if child.stdout else ""
            time.sleep(rng.random() * rng.choice((0.02, 0.2, 0.5)))
            child.send_signal(signal.SIGKILL if with_kill else signal.SIGTERM)
            child.wait(_PATIENCE)
        finally:
            child.kill()
            child.communicate()
        if started != _READY:
            return Outcome("escaped", f"the child of {method} did not start"), "kill"
        return _judge_leftovers(place, n), "SIGKILL" if with_kill else "SIGTERM"
    finally:
        shutil.rmtree(place, ignore_errors=True)


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
        except Exception as error:  # whatever it is, it is an escape
            return Outcome("escaped", f"a killed run left {name}, which does not load: {what_and_where(error)}")
        if not verdict.ok or not verdict.complete:
            return Outcome("escaped", f"a killed run left {name}, which does not verify")
    return Outcome("survived")


@contextlib.contextmanager
def small_disk(size: int):  # noqa: ANN201 - a context manager
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
    except Exception as error:  # whatever is not ours is an escape
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
    publish_forever(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
