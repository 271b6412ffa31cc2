"""The server: on 127.0.0.1 only, silent, and gone without a trace."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from incrowd.errors import InputError
from incrowd.studio.app import make_app
from incrowd.studio.folders import private_folder
from incrowd.studio.guard import Guard
from incrowd.studio.projects import Projects

_HOST = "127.0.0.1"  # never another: the studio has no passwords, and its data is private
_SWITCH = 0.001  # seconds; a page asks for the interpreter ten times and more
_OPENER = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>incrowd studio</title>
<meta http-equiv="refresh" content="0;url={address}"></head><body></body></html>"""


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        await asyncio.to_thread(self.ready)


def run(
    data: str | Path | None, *, port: int, tell: Callable[[str], None], opened: Callable[[str], None] | None
) -> None:
    """Serve until the process is asked to end; see `incrowd.studio.serve`."""
    token = secrets.token_urlsafe(32)
    with _listening(port) as listener, private_folder() as folder, _silent(folder):
        number = listener.getsockname()[1]
        projects = Projects(folder)
        projects.later = _load_libraries if data is None else projects.open(_existing(data))
        server = _Server(
            uvicorn.Config(
                Guard(make_app(projects), port=number, token=token), log_config=None, log_level="critical",
                access_log=False, server_header=False, date_header=False, lifespan="off", ws="none", http="h11",
                timeout_graceful_shutdown=1, proxy_headers=False,
            )
        )  # fmt: skip
        address = f"http://{_HOST}:{number}/?token={token}"

        def ready() -> None:
            tell(address)
            if opened is not None:
                page = folder / "open.html"
                page.touch(mode=0o600)
                page.write_text(_OPENER.format(address=address), encoding="utf-8")
                opened(page.as_uri())

        server.ready = ready
        try:
            server.run(sockets=[listener])
        finally:
            projects.end()


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        fact = f"Port {port} of {_HOST} cannot be used: {os.strerror(error.errno or 0)}"
        raise InputError(fact, "choose another one with --port, or leave it out to take a free one") from error
    listener.set_inheritable(False)
    return listener


@contextmanager
def _silent(folder: Path) -> Iterator[None]:
    """Keep temporary files of all libraries in a folder that goes, and print no warnings, which may quote data.

    Work in the background gives way to pages more often than Python would let it.
    """
    earlier, interval = tempfile.tempdir, sys.getswitchinterval()
    tempfile.tempdir = str(folder)
    sys.setswitchinterval(_SWITCH)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        tempfile.tempdir = earlier
        sys.setswitchinterval(interval)


def _existing(data: str | Path) -> Path | str:
    """Return the whole path of a table; one that is not there ends the command before a page is shown.

    The address of a database is returned as it is.
    """
    if "://" in str(data):
        return str(data)
    path = Path(data)
    if not path.exists():
        if "@" in str(data):  # perhaps a mistyped address, with a password in it
            fact = "There is no such file, and the address of a database has :// behind its kind"
            raise InputError(fact, "write it like this: postgresql://user@host/name#table")
        fact = f"There is no file '{path}'"
        raise InputError(fact, "check the path, or start without a file and choose one on the page")
    return path.absolute()


def _load_libraries() -> None:
    """Load what a table will need, while a person looks at the first page."""
    import incrowd.studio.pages_hierarchies
    import incrowd.studio.pages_result
    import incrowd.studio.pages_table  # noqa: F401
