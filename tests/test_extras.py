"""Every optional library that is missing is a clear message with the extra that brings it."""

import re
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd import plots, studio
from incrowd.evaluate.classifiers import classifier

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
FRAME = pl.DataFrame({"a": [1, 2]})


def zstandard(folder):
    path = folder / "a.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    ic.read(path)


def empty(folder, name):
    (folder / name).write_bytes(bytes(4096))
    return folder / name


def models(folder):
    from incrowd.audit.files import load_model

    load_model(empty(folder, "a.skops"))


CASES = {
    "report": ("matplotlib.figure", lambda _folder: plots.figure()),
    "excel": ("xlsxwriter", lambda folder: ic.write(FRAME, folder / "a.xlsx")),
    "stats": ("pyreadstat", lambda folder: ic.write(FRAME, folder / "a.sav")),
    "sql": ("sqlalchemy", lambda folder: ic.read(f"sqlite:///{folder}/a.db#t")),
    "duckdb": ("duckdb", lambda folder: ic.read(empty(folder, "a.duckdb"))),
    "zstd": ("zstandard", zstandard),
    "models": ("skops", models),
    "studio": ("starlette", lambda _folder: studio.serve(tell=print)),
    "weka": ("weka", lambda _folder: classifier("j48").require()),
}
BUNDLES = {"postgresql", "mysql"}  # a driver beside sql: tests/io/test_connecting.py
FOR_DEVELOPERS = {"test", "docs"}


def test_every_extra_is_tried():
    assert set(CASES) | BUNDLES | FOR_DEVELOPERS == set(EXTRAS)


@pytest.mark.parametrize("extra", CASES)
def test_a_missing_extra_is_a_clear_message(extra, monkeypatch, tmp_path):
    module, use = CASES[extra]
    if extra == "zstd" and sys.version_info >= (3, 14):
        pytest.skip("Python has Zstandard itself from 3.14 on")
    for name in [known for known in sys.modules if known == module or known.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ic.MissingDependencyError) as missing:
        use(tmp_path)
    assert missing.value.hint == f"pip install 'incrowd[{extra}]'"
    assert re.search(rf"{module.partition('.')[0]}|Weka|SQLAlchemy", missing.value.fact, re.IGNORECASE)
