"""Runs the gauntlet for some minutes and prints what was tried and what escaped; exit code 1 on escapes."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import date

# Tables are small: threads would only get in each other's way. Polars reads this when it is loaded.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from checks.gauntlet.jobs import Report, do_job, plant_all, try_table

SHARES = {"tables": 0.72, "plants": 0.14, "kills": 0.12, "disks": 0.02}
"""How the time is shared out."""


def main() -> int:
    """Read the command line, run, and print."""
    given = _arguments()
    report = Report()
    if given.case is not None:
        try_table(given.seed, given.case, report, several=given.several is not None)
    elif given.forge is not None:
        plant_all(given.seed, given.forge, report, only=given.plant)
    elif given.kill is not None or given.disk is not None:
        kind = "kills" if given.kill is not None else "disks"
        report = do_job(kind, given.seed, given.kill if given.kill is not None else given.disk)
    else:
        _run(given.minutes * 60, given.seed, given.workers, report, several=given.several)
    _print(report, given.seed)
    return 1 if report.escapes else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev gauntlet", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=20.0, help="how long to run")
    parser.add_argument("--seed", default=str(date.today()), help="tables of another run; by default of another day")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--several", type=int, help="only tables with two or three sensitive columns, until so many are published"
    )
    parser.add_argument("--case", type=int, help="try one table again")
    parser.add_argument("--forge", type=int, help="plant violations in one release again")
    parser.add_argument("--plant", help="only this one")
    parser.add_argument("--kill", type=int, help="kill one child again")
    parser.add_argument("--disk", type=int, help="fill one disk again")
    return parser.parse_args()


def _run(seconds: float, seed: str, workers: int, report: Report, *, several: int | None = None) -> None:
    end = time.monotonic() + seconds
    numbers = dict.fromkeys([*SHARES, "several"], 0)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        pending: dict[Future[Report], tuple[str, int]] = {}
        while pending or time.monotonic() < end:
            if several is not None and report.total("tables", "published") >= several:
                end = 0
            while time.monotonic() < end and len(pending) < workers + 1:
                running = [kind for kind, _ in pending.values()]
                kind = "several" if several is not None else _next_kind(report, running)
                pending[pool.submit(do_job, kind, seed, numbers[kind])] = kind, numbers[kind]
                numbers[kind] += 1
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                job = pending.pop(future)
                try:
                    report.add(future.result())
                except BrokenProcessPool:
                    report.escapes.append(
                        f"a worker died with job {job} or one of {list(pending.values())} (seed {seed})"
                    )
                    return
                _show(report, end)


def _next_kind(report: Report, running: list[str]) -> str:
    """Return the kind of job that has had least of its share."""
    return min(SHARES, key=lambda kind: (report.seconds[kind] + 2 * running.count(kind)) / SHARES[kind])


def _show(report: Report, end: float) -> None:
    if sys.stderr.isatty():
        counts = ", ".join(f"{report.total(kind)} {kind}" for kind in SHARES)
        left = max(0, int(end - time.monotonic()))
        print(f"\r{counts}, {len(report.escapes)} escapes, {left} s left   ", end="", file=sys.stderr, flush=True)


def _print(report: Report, seed: str) -> None:
    for kind, title in (
        ("tables", "Tables published, by method"),
        ("plants", "Planted violations"),
        ("kills", "Kills"),
        ("disks", "Full disks"),
    ):
        tried = sorted({what for own, what, _ in report.counts if own == kind})
        if tried:
            print(f"\n{title}")
        for what in tried:
            ends = {end: n for (own, name, end), n in sorted(report.counts.items()) if (own, name) == (kind, what)}
            print(f"  {what:<36} " + ", ".join(f"{n} {end}" for end, n in ends.items()))
    planted = report.total("plants", "refused", "unchecked", "escaped")
    print(f"\nSeed {seed}: {report.total('tables')} tables ({report.total('tables', 'published')} published), ", end="")
    print(f"{planted} planted violations, {report.total('kills')} kills, {report.total('disks')} full disks")
    print(f"Escaped: {len(report.escapes)}")
    for escape in report.escapes:
        print(f"- {escape}")


if __name__ == "__main__":
    sys.exit(main())
