"""Two names that change places in one step, where the system can do it: nobody ever sees neither or both."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HERE = -100 if sys.platform != "darwin" else -2  # AT_FDCWD: names are relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def exchange(first: Path, second: Path) -> bool:
    """Let two files or folders of one file system change names; return whether that was possible here.

    Nothing has happened if it was not: the system or the file system knows no such step, or a name does not exist.
    """
    if sys.platform not in ("linux", "darwin"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2" if sys.platform == "linux" else "renameatx_np", None)
    if call is None:
        return False
    one, other = (ctypes.c_char_p(os.fsencode(path)) for path in (first, second))
    return int(call(_HERE, one, _HERE, other, ctypes.c_uint(_EXCHANGE))) == 0
