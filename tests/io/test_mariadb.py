"""MariaDB, where creating a table ends a transaction: the server of Debian's mariadb-server, if it is installed."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.errors import InputError
from incrowd.io import database_tables, read, write

pytestmark = pytest.mark.slow
PEOPLE = pl.DataFrame(
    {"größe": [1.5, 1.6, 1.7, 1.8] * 5, "ill": ["日本", "b", None, "c "] * 5, "ok": [True, False] * 10}
)
SCHEMA = {"quasi": {"größe": ic.Intervals()}, "sensitive": "ill", "other": ["ok"]}


@pytest.fixture(scope="module")
def server():
    programs = [shutil.which(name) for name in ("mariadbd", "mariadb-install-db", "mariadb")]
    if not all(programs):
        message = "there is no MariaDB: apt-get install mariadb-server"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with tempfile.TemporaryDirectory(prefix="incrowd-mariadb-") as name, socket.socket() as probe:
        folder = Path(name)
        who = pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:  # it refuses to run as root
            who = "mysql"
            os.chown(folder, pwd.getpwnam(who).pw_uid, -1)
        own, door = [f"--datadir={folder}/data", f"--tmpdir={folder}", f"--user={who}"], f"--socket={folder}/s"
        made = [programs[1], "--no-defaults", *own, "--auth-root-authentication-method=normal"]
        subprocess.run(made, check=True, capture_output=True)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        command = [programs[0], "--no-defaults", *own, door, f"--port={port}", "--bind-address=127.0.0.1"]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bob = "bob@'127.0.0.1'"
        setup = f"create database shop; create user {bob} identified by 'geheim'; grant all on shop.* to {bob}"
        try:
            deadline = time.monotonic() + 60
            while subprocess.run(
                [programs[2], door, "-u", "root", "-e", setup], capture_output=True, check=False
            ).returncode:
                assert running.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield f"mysql://bob:geheim@127.0.0.1:{port}/shop"
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(60)


@pytest.fixture(scope="module")
def release():
    return ic.Mondrian(k=5).publish(PEOPLE, ic.Schema(**SCHEMA))


def tables(server):
    asked = "select count(*) as n from information_schema.tables where table_schema = 'shop'"
    return read(server, query=asked)["n"].item()


def test_a_release_in_mariadb(server, release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for scheme in ("mysql", "mariadb"):
        where = f"{server.replace('mysql', scheme)}#{scheme}"
        release.save_to(where)
        assert ic.verify(where, PEOPLE).violations == []
        with pytest.raises(InputError, match="already has the table"):
            release.save_to(where, private=f"{scheme}-two")
        release.save_to(where, private=f"{scheme}-two", existing="replace")
        assert ic.verify(where, PEOPLE, private=f"{scheme}-two").violations == []
        release.save_to(where, private=f"{scheme}-three", existing="append")
        assert ic.verify(where).mixes_releases


def test_what_fails_midway_is_taken_back(server, release, tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database_tables, "_read_back", fail)
    before = tables(server)
    with pytest.raises(KeyboardInterrupt):
        release.save_to(f"{server}#half")
    assert tables(server) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "query", "fact"),
    [
        (("geheim", "falsch"), "select 1", "did not accept the user or the password of user 'bob'"),
        (("shop", "nowhere"), "select 1", "has no database 'nowhere', or it is closed to you"),
        (("127.0.0.1", "no-such-host.invalid"), "select 1", "There is no host named"),
        (("bob", "bob"), "select * from nobody", "has no table 'shop.nobody'"),
        (("bob", "bob"), "select nope from information_schema.tables", "has no column 'nope'"),
        (("bob", "bob"), "with x as (select 1) select * from x into outfile 'x'", "acts on more than"),
        (("bob", "bob"), "explain select * from nobody for update", "would change something"),
    ],
)
def test_errors_of_mariadb(server, change, query, fact):
    with pytest.raises(InputError, match=fact) as caught:
        read(server.replace(*change), query=query)
    assert "geheim" not in str(caught.value)


def test_what_a_right_or_a_name_lacks_is_in_the_hint(server):
    write(PEOPLE, server, table="people")
    with pytest.raises(InputError, match="has no table") as caught:
        read(f"{server}#poeple")
    assert caught.value.hint == "did you mean 'people'?"
    with pytest.raises(InputError, match="does not let you write the table") as caught:
        write(PEOPLE, server, table="mysql.people")
    assert "grant create, drop, select, insert, delete on mysql.* to bob" in caught.value.hint
