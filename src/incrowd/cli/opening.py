"""Open a page in the browser of the person at this computer, if there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress


def open_page(address: str) -> None:
    """Open a page; where there is no screen, nothing happens, and no browser for terminals takes over this one."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_screen:
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(address)
