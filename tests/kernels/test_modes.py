"""The partitioning kernels without the compiler, and with every index checked."""

import os
import subprocess
import sys

import pytest

TABLE = """
import warnings
warnings.simplefilter("error")
import polars as pl
import incrowd as ic
n = 40
frame = pl.DataFrame({
    "a": [i * i % 23 for i in range(n)],
    "b": [None if i % 9 == 0 else f"v{i % 6}" for i in range(n)],
    "sparse": [i * 7919 % 104729 for i in range(n)],
    "s": ["xyz"[i % 3] for i in range(n)],
})
schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.balanced(2), "sparse": ic.Intervals()}, sensitive="s")
"""
CUT = """
for options in ({}, {"strict": False}, {"recoding": "single"}, {"l": 2, "l_kind": "recursive"}, {"t": 0.5},
                {"l": 1.2, "alpha": 0.7, "recoding": "single"}, {"cut": "loss"}, {"l": 1.2, "cut": "loss"}):
    release = ic.Mondrian(k=3, **options).publish(frame, schema, seed=1)
    if options.get("strict", True):
        release.transform(frame)
    print(sorted(release.frame.rows()))
"""
ASSIGNED = """
for options in ({}, {"l": 1.5, "loss": "entropy"}, {"presplit": 12}):
    print(sorted(ic.NSVDist(k=3, **options).publish(frame, schema, seed=1).frame.rows()))
"""
SCRIPT = TABLE + CUT + ASSIGNED
SPECIALIZE = (
    TABLE
    + """
flat = ic.Schema(quasi={"a": ic.Intervals(), "b": None, "sparse": ic.balanced(3)}, sensitive="s")
for method in (ic.TDS(k=3), ic.TDS(k=3, l=1.2), ic.TDR(k=3), ic.TDR(k=3, t=0.5), ic.PAIS(k=3), ic.PAIS(k=3, L=2, C=0.9),
               ic.PAIS(k=3, score="discernibility")):
    for used in (schema, flat):
        print(sorted(method.publish(frame, used, seed=1).frame.rows()))
"""
)
CLUSTERS = (
    TABLE
    + """
for options in ({}, {"start": "random", "l": 1.5, "loss": "entropy"}, {"start": "single_mondrian", "t": 0.3}):
    print(sorted(ic.SeqA(k=3, **options).publish(frame, schema, seed=1).frame.rows()))
for options in ({}, {"l": 1.5}, {"t": 0.3}):
    print(sorted(ic.TightGroups(k=3, **options).publish(frame, schema, seed=1).frame.rows()))
"""
)


def run(folder, script=SCRIPT, **environment):
    settings = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "n_lines"),
    [(SCRIPT, 11), (SPECIALIZE, 14), (CLUSTERS, 6)],
    ids=["partition", "specialize", "clusters"],
)
def test_compiled_checked_and_interpreted_agree(tmp_path, script, n_lines):
    compiled = run(tmp_path / "compiled", script, INCROWD_COMPILE="1")
    assert len(compiled.splitlines()) == n_lines
    assert run(tmp_path / "checked", script, INCROWD_COMPILE="1", NUMBA_BOUNDSCHECK="1") == compiled
    assert run(tmp_path / "plain", script, NUMBA_DISABLE_JIT="1") == compiled


WITHOUT = "\nimport sys\nassert 'numba' not in sys.modules"
QUICK = "\nimport sys\nassert not {'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"


def test_small_tables_are_published_without_the_compiler_and_heavy_libraries(tmp_path):
    script = TABLE + CUT + QUICK + ASSIGNED + WITHOUT
    assert len(run(tmp_path, script, INCROWD_COMPILE="").splitlines()) == 11


@pytest.mark.slow
def test_small_tables_are_published_as_by_the_compiler(tmp_path):
    assert run(tmp_path, SCRIPT + WITHOUT, INCROWD_COMPILE="") == run(tmp_path, INCROWD_COMPILE="1")
