"""Out of core beside polars, and Spark beside a job that only shuffles and writes.

Adult's eight columns resampled, values drawn anew with a small chance, have few distinct rows; Covertype's ten numbers
repeated with noise hardly two equal ones. Each run is a session of processes of its own, from disk to disk, verified.
What is compared is CPU time, because other work on the machine makes clocks unequal; memory is the largest sum of the
resident sizes of all processes.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import QUASI, complete_adult
from incrowd.datasets import load

_PART = 5_000_000  # rows that are made at once
_NOISE = 0.05  # chance that a value is drawn anew
_SHIFT = 3  # the most by which a number of Covertype is moved
_SCHEMAS = {
    "adult": "adult_schema()",
    "covertype": "ic.Schema(quasi=dict.fromkeys(COLUMNS, ic.Intervals()), sensitive='Cover_Type')",
}

_COPY = """
import polars as pl
pl.scan_parquet("{source}/*.parquet").sink_parquet("{target}")
"""
_PUBLISH = """
import json, time
import incrowd as ic
from incrowd.datasets import adult_schema
start, stages = time.perf_counter(), {{}}
def told(stage, done, total):
    stages.setdefault(stage, time.perf_counter() - start)
release = ic.publish(
    "{source}", SCHEMA, method="METHOD", k=100, engine="ENGINE", output="{target}", memory="4GB",
    progress=told, master=MASTER,
)
times = [*stages.values(), time.perf_counter() - start]
lasted = {{stage: later - first for stage, first, later in zip(stages, times, times[1:])}}
print(json.dumps({{"rows": release.n_rows, "k": release.levels["k"], "stages": lasted}}))
"""
_SPARK = _PUBLISH.replace("METHOD", "mondrian").replace("ENGINE", "spark").replace("MASTER", "'local[2]'")
_PUBLISH = _PUBLISH.replace("ENGINE", "streamed").replace("MASTER", "None")
_LOCAL = """
import json, resource, time
import incrowd as ic
from incrowd.datasets import adult_schema
stages = {{}}
def told(stage, done, total):
    stages.setdefault(stage, (time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))
told("reading", 0, 0)
frame = ic.read("{source}")
release = ic.publish(frame, SCHEMA, k=100, progress=told)
told("saving", 0, 0)
release.save_to("{target}", dataset=True)
times = [*(time for time, _ in stages.values()), time.process_time()]
named = [f"{{stage}} ({{peak}} MB until then)" for stage, (_, peak) in stages.items()]
lasted = {{stage: later - first for stage, first, later in zip(named, times, times[1:])}}
print(json.dumps({{"rows": release.n_rows, "k": release.levels["k"], "stages": lasted}}))
"""
_SHUFFLE = """
from incrowd.engines.spark_session import open_session
from pyspark.sql import functions as F
with open_session("local[2]") as spark:
    spark.read.parquet("{source}").repartition(8, F.rand(0)).write.parquet("{target}")
"""


def main(arguments):
    """Print times, ratios and memory; arguments: methods, spark, local (in memory), covertype, numbers of rows."""
    sizes = [int(each) for each in arguments if each.isdigit()] or [1_000_000, 10_000_000]
    data = "covertype" if "covertype" in arguments else "adult"
    words = [each for each in arguments if not each.isdigit() and each not in _SCHEMAS]
    words = words or ["mondrian", "best_cuts", "spark"]
    methods, taken = [each for each in words if each not in ("spark", "local")], {}
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'rows':>11} {'what':<38} {'CPU s':>8} {'clock s':>8} {'MB':>6}  CPU beside")
        for n in sizes:
            table = make_table(n, Path(folder) / "table", data)
            if methods:
                beside = measure(n, "polars reads and writes", _COPY, Path(folder), None, "polars")
            for method in methods:
                code = _about(_PUBLISH, data).replace("METHOD", method)
                taken[method, n] = measure(n, f"{method}, published, verified", code, Path(folder), beside, "polars")
            if "local" in words:
                taken["local", n] = measure(
                    n, "default method in memory, CPU by stage", _about(_LOCAL, data), Path(folder), None, ""
                )
            if "spark" in words:
                beside = measure(n, "Spark shuffles and writes", _SHUFFLE, Path(folder), None, "Spark")
                what = "mondrian on Spark, published, verified"
                taken["spark", n] = measure(n, what, _about(_SPARK, data), Path(folder), beside, "Spark")
            shutil.rmtree(table)
    for word in words if len(sizes) > 1 else ():
        first, last = taken[word, sizes[0]], taken[word, sizes[-1]]
        growth = math.log(last["cpu"] / first["cpu"]) / math.log(sizes[-1] / sizes[0])
        print(f"{word}: CPU time grows as rows to the power of {growth:.2f}")


def _about(code, data):
    return code.replace("SCHEMA", _SCHEMAS[data]).replace("COLUMNS", repr(_numbers() if data == "covertype" else []))


def _numbers():
    return load("covertype").columns[:10]


def make_table(n, folder, data):
    """Write a table of n rows."""
    folder.mkdir()
    known = complete_adult().select(*QUASI, "income") if data == "adult" else load("covertype")
    known = known if data == "adult" else known.select(*_numbers(), "Cover_Type")
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, n, _PART)):
        size = min(_PART, n - start)
        rows = known[rng.integers(0, known.height, size)]
        columns = []
        for name in known.columns:
            if data == "adult":
                anew = known[name][rng.integers(0, known.height, size)]
                columns.append(rows[name].zip_with(pl.Series(rng.random(size) >= _NOISE), anew))
            else:
                shift = 0 if name == "Cover_Type" else rng.integers(-_SHIFT, _SHIFT, size, endpoint=True)
                columns.append(rows[name] + shift)
        pl.DataFrame(columns).write_parquet(folder / f"{number}.parquet")
    return folder


def measure(n, what, code, folder, beside, against):
    """Run code in a process of its own, and print its seconds, its memory, and its CPU time beside another one's."""
    target = folder / "out"
    found = run(code.format(source=folder / "table", target=target))
    for path in (target, Path(f"{target}.private")):
        if path.exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    ratio = "" if beside is None else f"{found['cpu'] / beside['cpu']:.1f} x {against}"
    print(f"{n:>11} {what:<38} {found['cpu']:8.1f} {found['clock']:8.1f} {found['memory']:6.0f}  {ratio}", flush=True)
    for stage, seconds in found.get("stages", {}).items():
        print(f"{'':>11}   {stage:<36} {'':>8} {seconds:8.1f}")
    return found


def run(code):
    """Run code in a session of its own; return the CPU time and the peak memory of all its processes."""
    start, used, peak = time.perf_counter(), {}, 0
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen([sys.executable, "-c", code], stdout=printed, start_new_session=True)
        while child.poll() is None:
            memory = 0
            for pid, cpu, resident in processes(child.pid):
                used[pid], memory = cpu, memory + resident
            peak = max(peak, memory)
            time.sleep(0.1)
        printed.seek(0)
        lines = printed.read().splitlines()
    if child.returncode:
        sys.exit(child.returncode)
    said = json.loads(lines[-1]) if lines else {}
    return {"cpu": sum(used.values()), "clock": time.perf_counter() - start, "memory": peak / 2**20, **said}


def processes(session):
    """Yield pid, CPU seconds and resident bytes of the processes of a session (Linux)."""
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[3]) == session:
                yield int(path.name), (int(fields[11]) + int(fields[12])) / tick, int(fields[21]) * page
