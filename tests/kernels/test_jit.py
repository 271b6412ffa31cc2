"""The compile cache: what is forgotten when a kernel file changes, and processes that fill it at once."""

import subprocess
import sys

import pytest

from incrowd.kernels import jit

KERNELS = """
import sys, time
import numpy as np
from numba.core.caching import IndexDataCacheFile as File
from incrowd.kernels.jit import kernel

def after(seconds, function):
    def slowed(*args):
        time.sleep(seconds)
        return function(*args)
    return slowed

@kernel
def inner(x):
    return x + 1

@kernel
def total(values):
    found = 0
    for value in values:
        found += inner(value)
    return found

whole, pause = sys.argv[1] == "whole", float(sys.argv[2])
File._save_index = after(pause, File._save_index)
File._save_data = after(pause / 5 if whole else pause / 2, File._save_data)
print(total(np.arange(5) if whole else np.arange(5) * 1.5))
"""


def test_only_what_uses_a_changed_file_is_forgotten(tmp_path):
    forget = jit._forget_stale_cache.__wrapped__
    (tmp_path / "low.py").write_text("x = 1\n")
    (tmp_path / "high.py").write_text("from incrowd.kernels.low import x\n")
    (tmp_path / "top.py").write_text("from incrowd.kernels.high import x\n")
    (tmp_path / "apart.py").write_text("y = 1\n")
    kept = tmp_path / "__pycache__"
    kept.mkdir()

    def compiled():
        for name in ("low", "high", "top", "apart"):
            (kept / f"{name}.f-1.py311.1.nbc").touch()

    def left():
        return {path.name.partition(".")[0] for path in kept.glob("*.nbc")}

    forget(tmp_path)
    compiled()
    forget(tmp_path)
    assert left() == {"low", "high", "top", "apart"}
    (tmp_path / "low.py").write_text("x = 22\n")
    forget(tmp_path)
    assert left() == {"apart"}
    compiled()
    (tmp_path / "top.py").write_text("from incrowd.kernels.high import x  # new\n")
    forget(tmp_path)
    assert left() == {"low", "high", "apart"}


@pytest.mark.slow
def test_processes_that_compile_at_once_do_not_get_each_others_code(tmp_path):
    """Numba alone fails it: the second run for whole numbers would be given code for fractions."""
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)

    def start(kind, pause):
        command = [sys.executable, str(script), kind, str(pause)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    for pause in (1.0, 0.0):
        running = [start("whole", pause), start("fractions", pause)]
        assert [process.communicate()[0].strip() for process in running] == ["15", "20.0"]
