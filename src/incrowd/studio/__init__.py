"""Studio: the workflow in a browser, for people who publish a table and do not type commands.

A web server of this machine for this machine: it listens on 127.0.0.1, lets in whoever has the token that it
printed, and keeps what it is given in a private folder that it removes when it ends. Pages are made here; nothing is
loaded from elsewhere. It has no logic of its own: `incrowd.workflow` does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from incrowd.errors import MissingDependencyError

__all__ = ["serve"]


def serve(
    data: str | Path | None = None,
    *,
    port: int = 0,
    tell: Callable[[str], None],
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the studio until the process is asked to end; then remove what it kept.

    Parameters
    ----------
    data
        A table to begin with.
    port
        Where to listen on 127.0.0.1; 0 takes a free one.
    tell
        Called once with the address, token included, when pages can be read.
    opened
        Called then with the address of a private file that leads there, for a browser of this machine: the command
        line of a browser can be read by all users, and must not have the token.
    """
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        fact = f"The studio needs the package '{error.name}'"
        raise MissingDependencyError(fact, extra="studio") from error
    from incrowd.studio.server import run

    run(data, port=port, tell=tell, opened=opened)
