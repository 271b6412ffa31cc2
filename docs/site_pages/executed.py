"""Run what pages show: commands must print what stands below them, and Python must run from the top to the bottom."""

import os
import re
import shutil
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

from render import rendered

PAGES = (
    "start.md", "tutorials/steward.md", "tutorials/data-scientist.md", "tutorials/auditor.md",
    "tutorials/researcher.md", "tour.md",
)  # fmt: skip
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def check(docs):
    """Run every page that is executed; the first that is not true ends the build."""
    for name in PAGES:
        text = (docs / name).read_text(encoding="utf-8")
        run_python(docs, text)
        if "```console" in text and rendered(text) != text:
            raise SystemExit(f"docs/{name} shows what commands do not print; run: python docs/render.py docs/{name}")


def run_python(docs, text):
    """Run the Python of a page in an empty folder with the files of docs/; return its names."""
    names = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in Path(docs).glob("*.csv"):
            shutil.copy(path, folder)
        with chdir(folder), redirect_stdout(StringIO()):
            for code in _PYTHON.findall(text):
                exec(compile(code, "page", "exec"), names)
    return names


os.environ.setdefault("COLUMNS", "80")
