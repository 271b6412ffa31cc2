"""Run the console blocks of a page and write their real output back: ``python docs/render.py README.md``.

Commands begin with ``$``; they run in an empty folder that holds the files of docs/, in a terminal of 80 columns. The
test that keeps the README true calls the same function.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def rendered(page: str) -> str:
    """Return the page with the output of every command renewed."""
    with tempfile.TemporaryDirectory() as folder:
        for path in DOCS.glob("*.csv"):
            shutil.copy(path, folder)
        return BLOCK.sub(lambda block: f"```console\n{_run(block[1], folder)}```", page)


def _run(block: str, folder: str) -> str:
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {"COLUMNS": "80", "PATH": f"{scripts}:{os.environ['PATH']}", "TERM": "dumb"}
    lines = []
    for line in block.splitlines():
        if line.startswith("$ "):
            output = output_of(line[2:], folder, environment)
            lines.append(f"{line}\n" + "".join(f"{text.rstrip()}\n" for text in output.splitlines()))
    return "".join(lines)


def output_of(line: str, folder: str, environment: dict[str, str]) -> str:
    """Return what a line of bash prints."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
