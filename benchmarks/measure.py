"""Clock, memory and data that benchmarks share."""

import statistics
import subprocess
import sys
import time

import polars as pl

from incrowd.datasets import adult, adult_schema

QUASI = adult_schema().quasi


def complete_adult():
    """The 30 162 training rows without a missing value."""
    frame = adult("train")
    return frame.filter(pl.all_horizontal(pl.all().cast(pl.String) != "?"))


def resampled(n, seed=1):
    """Adult resampled to n rows."""
    return complete_adult().sample(n, with_replacement=True, seed=seed)


def side_by_side(functions, repeats=7, clock=time.perf_counter):
    """Median seconds of each function, called in turns so that noise hits all alike; the first turn warms up."""
    taken = {name: [] for name in functions}
    for turn in range(repeats + 1):
        for name, function in functions.items():
            start = clock()
            function()
            if turn:
                taken[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def peak_memory(setup, statement, printed=None):
    """Bytes by which the resident peak grows while a statement runs, in a process of its own; also what it prints."""
    code = f"""
import resource, pathlib
{setup}
pathlib.Path("/proc/self/clear_refs").write_text("5")
def status(key):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(key))
before = status("VmRSS")
{statement}
print(status("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if printed is not None:
        printed.extend(lines[:-1])
    return int(lines[-1])


def complete_adult_test():
    """The 15 060 test rows without a missing value."""
    frame = adult("test")
    return frame.filter(pl.all_horizontal(pl.all().cast(pl.String) != "?"))
