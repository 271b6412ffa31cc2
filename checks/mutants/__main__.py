"""Plant small mistakes in the code, one at a time, and run the tests that should notice.

``./dev mutants [N] [ROOM ...]`` does it for a sample. Every mistake is planted in a copy of the tree, never in the tree
itself. A mutant is killed when a test fails or runs far too long. Those that no test can notice are listed in
``checks/survivors.toml`` with the reason, and left out. So is what only runs on Spark: ``./dev slow`` tests it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.mutants.changes import Change, changes, is_program

ROOT = Path(__file__).parents[2]
JUDGED = ROOT / "checks" / "survivors.toml"
_PACKAGE = Path("src", "incrowd")
_COPIED = ("src", "tests", "checks", "pyproject.toml", "README.md")
_ABOUT = {
    "verify": (
        "tests/baskets", "tests/privacy", "tests/publish/test_several_secrets.py",
        "tests/publish/test_concealment.py", "tests/engines/test_streamed.py", "tests/schema/test_missing_codes.py",
        "tests/release/test_elsewhere.py", "tests/engines/test_stored.py", "tests/publish/test_population.py",
        "tests/publish/test_ranges.py", "tests/test_kept.py",
    ),
}  # fmt: skip
"""Tests of other rooms that are about a room, too."""
_ON_SPARK = ("verify/spark.py", "verify/spark_parts.py", "verify/spark_originals.py")
"""What runs where no fork reaches: the slow tests of Spark judge it, and it is tried only when asked for by name."""
_PATIENCE = 6  # a mutant that takes this many times as long as the code without mistakes hangs
_TOLD_EVERY = 50
_START = 40.0  # seconds for imports and compiled kernels


@dataclass(frozen=True)
class Touched:
    """Which tests pass and how long they take, and which of them run through each line; no name for imports."""

    passed: dict[str, float]
    lines: dict[str, dict[str, list[str]]]

    def tests_of(self, change: Change) -> list[str]:
        """Return the tests that should notice, fast ones first; all tests for code that runs at import."""
        first, last = change.lines
        by_line = self.lines.get(change.path, {})
        seen = {test for line in range(first, last + 1) for test in by_line.get(str(line), ())}
        return sorted(self.passed if "" in seen else seen & self.passed.keys(), key=lambda test: self.passed[test])

    def limit(self, tests: list[str]) -> float:
        """Return after how many seconds a run of these tests hangs."""
        return _START + _PATIENCE * sum(self.passed[test] for test in tests)


class Copy:
    """A copy of the tree in which one mutant at a time lives."""

    def __init__(self, folder: Path, *, compiled: bool) -> None:
        self.folder = folder
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
            else:
                shutil.copy2(ROOT / name, folder / name)
        self._env = os.environ | {
            "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}",
            "OPENBLAS_NUM_THREADS": "1",  # threads do not live on in forks
            "INCROWD_HYPOTHESIS": "mutants",
        }
        if not compiled:
            self._env |= {"NUMBA_DISABLE_JIT": "1"}
        self._forks: subprocess.Popen[str] | None = None

    def touched(self, tests: list[str]) -> Touched:
        """Run all tests once and note what they run through."""
        out = self.folder / "touched.json"
        command = ("-m", "checks.mutants.touched", str(out), str(self.folder / _PACKAGE), *tests)
        done = subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=self._env, capture_output=True, text=True, check=False
        )
        found: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"broken": True}
        if found["broken"] or not found["passed"]:
            sys.exit(f"{done.stdout}{done.stderr}\nThe tests cannot be run without a mistake planted")
        if found["failed"]:
            print(f"{len(found['failed'])} tests fail as it is, and are left out:", *found["failed"], sep="\n  ")
        return Touched(found["passed"], found["lines"])

    def fails(self, tests: list[str], limit: float) -> bool:
        """Tell whether a test fails or hangs."""
        if self._forks is None:
            # A stale .pyc would hide a mistake: those that are there fit the files as they were, and none is added.
            self._forks = subprocess.Popen(
                [sys.executable, "-m", "checks.mutants.forks"],
                cwd=self.folder,
                env=self._env | {"PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        print(json.dumps({"tests": tests, "limit": limit}), file=self._forks.stdin, flush=True)
        return bool(json.loads(self._forks.stdout.readline()) != 0)

    def notices(self, change: Change, tests: list[str], limit: float) -> bool:
        """Tell whether a test fails or hangs with a mistake in the code."""
        path = self.folder / _PACKAGE / change.path
        source, before = path.read_bytes(), path.stat()
        path.write_bytes(change.apply(source))
        try:
            return bool(tests) and self.fails(tests, limit)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def close(self) -> None:
        """End the process that waits for tests to run."""
        if self._forks is not None:
            self._forks.communicate()


def find(rooms: list[str]) -> list[Change]:
    """Return all mistakes that can be planted in rooms or files of the package."""
    package, found = ROOT / _PACKAGE, []
    for room in rooms:
        place = package / room
        files = sorted(set(place.rglob("*.py")) - {package / name for name in _ON_SPARK}) if place.is_dir() else [place]
        found += [change for file in files for change in changes(package, str(file.relative_to(package)))]
    return found


def unjudged(everything: list[Change], rooms: list[str]) -> list[Change]:
    """Return the mistakes that a test could notice: those that ``checks/survivors.toml`` does not list.

    An entry without the line with the mistake stands for every mistake in the line. It must name one place: a line that
    occurs twice is told apart by nothing.
    """
    listed = tomllib.loads(JUDGED.read_text())["judged"] if JUDGED.exists() else []
    left = everything
    for one in listed:
        asked = any(Path(one["path"]).is_relative_to(room) for room in rooms)
        if not asked or (one["path"] in _ON_SPARK and one["path"] not in rooms):
            continue
        meant = [c for c in everything if c.key[:2] == (one["path"], one["was"]) and one.get("now", c.now) == c.now]
        places = {change.lines for change in meant} if "now" not in one else meant
        if len(places) == 1:
            left = [change for change in left if change not in meant]
        else:
            print(f"checks/survivors.toml names {len(places)} places of {one['path']}, not one:\n  - {one['was']}")
    return left


def tests_for(rooms: list[str]) -> list[str]:
    """Return the nearest tests: those of the same room, others about it, and the examples in its docstrings."""
    names = dict.fromkeys(Path(room).parts[0] for room in rooms)
    places = [(Path("tests", name), *map(Path, _ABOUT.get(name, ())), _PACKAGE / name) for name in names]
    return [str(place) for own in places for place in own if (ROOT / place).exists()]


def sample(rooms: list[str], n: int, seed: int, jobs: int) -> tuple[int, list[Change]]:
    """Plant mistakes one at a time; return how many, and those that no test noticed."""
    everything = find(rooms)
    left = unjudged(everything, rooms)
    random.Random(seed).shuffle(left)
    programs = (one for one in left if is_program(one.apply((ROOT / _PACKAGE / one.path).read_bytes())))
    chosen = list(itertools.islice(programs, n))
    print(f"{len(everything)} mistakes can be planted in {', '.join(rooms)}; {len(everything) - len(left)} of them are")
    print(
        f"judged unnoticeable (checks/survivors.toml); {len(chosen)} of the others are tried, seed {seed}", flush=True
    )
    survivors = []
    with tempfile.TemporaryDirectory(prefix="incrowd-mutants-") as folder:
        compiled = not any(Path(room).parts[0] == "kernels" for room in rooms)
        copies = [Copy(Path(folder, str(i)), compiled=compiled) for i in range(jobs)]
        touched = copies[0].touched(tests_for(rooms))
        every = list(touched.passed)
        with ThreadPoolExecutor(jobs) as pool:
            if any(pool.map(lambda copy: copy.fails(every, touched.limit(every)), copies)):
                sys.exit("Tests that passed fail when they are run again, without a mistake")
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)

        def survives(change: Change) -> bool:
            copy, tests = free.get(), touched.tests_of(change)
            try:
                return not copy.notices(change, tests, touched.limit(tests))
            finally:
                free.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(survives, change): change for change in chosen}
            for i, done in enumerate(as_completed(running), 1):
                if done.result():
                    survivors.append(running[done])
                    show(running[done], len(touched.tests_of(running[done])))
                if i % _TOLD_EVERY == 0:
                    print(f"... {i} of {len(chosen)} tried, {len(survivors)} survived", flush=True)
        for copy in copies:
            copy.close()
    return len(chosen), sorted(survivors, key=lambda change: (change.path, change.start))


def show(change: Change, n_tests: int) -> None:
    """Print a mutant that no test noticed."""
    print(f"SURVIVED {_PACKAGE / change.path}:{change.lines[0]} ({n_tests} tests run through it)")
    print(f"  - {change.was}\n  + {change.now}", flush=True)


def main() -> int:
    """Read the command line; return 1 when too few mutants are killed."""
    parser = argparse.ArgumentParser(
        prog="./dev mutants", description="Plant small mistakes and run the tests that should notice."
    )
    parser.add_argument("n", nargs="?", type=int, default=100, help="how many mistakes (100)")
    parser.add_argument("rooms", nargs="*", default=["verify", "audit"], help="rooms or files of src/incrowd")
    parser.add_argument("--least", type=float, default=0.95, help="share that must be killed (0.95)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    missing = [room for room in given.rooms if not (ROOT / _PACKAGE / room).exists()]
    if missing:
        parser.error(f"there is no {', '.join(missing)} in {_PACKAGE}")
    start = time.monotonic()
    n, survivors = sample(given.rooms, given.n, given.seed, given.jobs)
    killed = n - len(survivors)
    for room in sorted({Path(change.path).parts[0] for change in survivors}):
        print(f"  {room}: {sum(Path(change.path).parts[0] == room for change in survivors)} survived")
    print(f"{killed} of {n} killed: {killed / max(1, n):.1%}, in {(time.monotonic() - start) / 60:.1f} minutes")
    return int(killed < given.least * n)


if __name__ == "__main__":
    sys.exit(main())
