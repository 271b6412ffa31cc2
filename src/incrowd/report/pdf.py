"""A page as PDF, printed by a Chromium that is installed; nothing of the page needs the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from incrowd import io
from incrowd.errors import InputError, MissingDependencyError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SECONDS = 120


def find_chromium() -> str:
    """Return the program; if there is none, say so."""
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    fact = f"A PDF is printed by Chromium, and none is on the PATH (looked for {', '.join(_NAMES)})"
    raise MissingDependencyError(fact, "install Chromium, or open the HTML report in a browser and print it")


def save_pdf(html: str, path: str | Path, *, owner_only: bool = False) -> None:
    """Print a page to a file."""
    program = find_chromium()
    with (
        tempfile.TemporaryDirectory(prefix="incrowd-pdf-") as folder,
        io.atomic_file(path, owner_only=owner_only) as output,
    ):
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        command = [
            program, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-extensions",
            "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}", page.as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses root otherwise; the page has no script
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
            data = printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            fact = f"'{Path(program).name}' did not print the report: {type(error).__name__}"
            raise InputError(fact, "open the HTML report in a browser and print it") from error
        output.write_bytes(data)
