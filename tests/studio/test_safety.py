"""The studio is for the person who started it: each line of its promise is tried here."""

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from in_process import Visitor
from studio_server import PEOPLE, Studio

from incrowd.studio import pages_table

SECRET = "Zebulon-Quist"  # a cell that must not be seen outside its page


def sent(studio, client, content, name="people.csv"):
    return client.post("/upload", content=content, headers={"X-File-Name": quote(name)})


def project(studio, client):
    return sent(studio, client, PEOPLE.read_bytes()).json()["page"].removesuffix("/data")


def test_it_listens_on_this_computer_only(studio):
    port = int(studio.base.rpartition(":")[2])
    listening = subprocess.run(["cat", "/proc/net/tcp"], capture_output=True, text=True, check=True).stdout
    mine = [line.split()[1] for line in listening.splitlines()[1:] if line.split()[1].endswith(f":{port:04X}")]
    assert f"0100007F:{port:04X}" in mine
    assert f"00000000:{port:04X}" not in mine


def test_nobody_without_the_token_gets_in(studio):
    for path in ("/", "/upload", "/p/x/data", "/?token=", "/?token=wrong", "/?token=%ff"):
        answer = httpx.get(studio.base + path)
        assert answer.status_code == 401, path
        assert "set-cookie" not in answer.headers
    with httpx.Client() as thief:
        thief.cookies.set(f"incrowd_studio_{studio.base.rpartition(':')[2]}", "guess")
        assert thief.get(studio.base).status_code == 401


def test_the_token_becomes_a_strict_cookie_that_is_not_the_token(studio):
    answer = httpx.get(studio.address)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    token = studio.address.partition("token=")[2]
    assert len(token) >= 40
    assert token not in cookie
    assert token not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}"])
def test_a_foreign_name_for_this_computer_gets_nothing(studio, client, host):
    port = studio.base.rpartition(":")[2]
    for path in ("/", "/static/studio.js", studio.address.removeprefix(studio.base)):
        answer = client.get(path, headers={"Host": host.format(port=port)})
        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://{host}"])
def test_only_its_own_pages_change_anything(studio, client, origin):
    page = project(studio, client)
    request = client.build_request("POST", f"{page}/remove")
    del request.headers["origin"]
    if origin is not None:
        request.headers["origin"] = origin.format(host=studio.base.removeprefix("http://"))
    assert client.send(request).status_code == 403
    assert client.get(f"{page}/data").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_or_port_cannot_ask_for_pages(client, site):
    assert client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_answers_let_browsers_load_nothing_from_elsewhere(studio, client):
    page = project(studio, client)
    for path in ("/", f"{page}/data", f"{page}/roles", "/static/studio.css", "/nowhere", f"{page}/schema.toml"):
        answer = client.get(path, headers={"Origin": "http://evil.example"})
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "server" not in answer.headers
        if "text/html" in answer.headers["content-type"]:
            assert not re.search(r"<script(?! src=\"/static/)|\sstyle=|\son\w+=|https?://", answer.text)


def test_other_methods_are_refused(client):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2f..%2fversion.py", "/static//etc/passwd"]
)
def test_static_files_are_those_of_the_page(studio, path):
    host, port = studio.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := line.recv(65536):
            answer += part
    assert answer.split()[1] in (b"404", b"401")
    assert b"import" not in answer


@pytest.mark.parametrize(
    "name",
    ["../../../evil.csv", "..\\..\\evil.csv", "/etc/evil.csv", "a\0b.csv", "x" * 5000 + ".csv", "\n.csv"],
)
def test_names_of_files_never_reach_a_path(studio, client, name):
    before = {path for path in studio.place.rglob("*") if not path.is_relative_to(studio.folders[0])}
    answer = sent(studio, client, PEOPLE.read_bytes(), name)
    assert answer.status_code == 200, answer.text
    folder = studio.folders[0] / answer.json()["page"].split("/")[2]
    assert [path.name for path in folder.iterdir()] == ["table.csv"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path for path in studio.place.rglob("*") if not path.is_relative_to(studio.folders[0])} == before


def test_what_a_file_says_is_text_on_every_page(studio, client):
    evil = "<script>alert(1)</script>"
    rows = "".join(f'"{evil}{i % 3}",{20 + i % 7},"{evil}","x{i % 2}"\n' for i in range(40))
    answer = sent(studio, client, f'"{evil}",age,"\'""><b>","=cmd()"\n{rows}'.encode(), "<script>alert.csv")
    assert answer.status_code == 200, answer.text
    page = answer.json()["page"].removesuffix("/data")
    columns = [f"hierarchies?column={number}" for number in (0, 1)]
    own = {"column": "1", "kind": "own", "form": "pairs", "text": f"{evil},<b>\n20,</textarea><script>"}
    shown = [client.post(f"{page}/preview", data=own | {"do": do}).text for do in ("", "move", "keep")]
    client.post(f"{page}/models/upload", content=b"a,b", headers={"X-File-Name": quote(f"{evil}.csv")})
    pages = ("data", "roles", "crowds", *columns, "tradeoff", "result", "models")
    for text in (client.get("/").text, *(client.get(f"{page}/{name}").text for name in pages), *shown):
        assert "&lt;script&gt;" in text
        assert "<script>" not in text
        assert '<b>"' not in text


@pytest.mark.parametrize(
    "request_",
    [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "POST /upload HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "\x16\x03\x01",
    ],
)
def test_odd_requests_get_nothing(studio, request_):
    host = studio.base.removeprefix("http://")
    with socket.create_connection((host.split(":")[0], int(host.split(":")[1])), timeout=10) as line:
        line.sendall(request_.format(host=host).encode("latin-1"))
        line.shutdown(socket.SHUT_WR)
        answer = line.recv(65536)
    assert not answer or answer.split()[1] in (b"400", b"401", b"421")
    assert b"set-cookie" not in answer.lower()


def test_a_password_is_never_repeated(tmp_path, capfd):
    visitor = Visitor(tmp_path)
    addresses = (
        "postgresql://ada:{}@127.0.0.1:1/x#t",
        "postgresql:/ada:{}@h/x",
        "postgres://ada:{}@@h/x",
        "x://a:{}@h",
    )
    for address in addresses:
        answer = visitor.post("/database", data={"address": address.format(SECRET), "query": "select 1"})
        assert answer.status_code == 400
        assert SECRET not in answer.text
    assert SECRET not in "".join(capfd.readouterr())
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_are_no_options_of_the_printed_command(tmp_path):
    visitor = Visitor(tmp_path)
    project = visitor.projects.add("--if-exists=replace; rm x.csv", PEOPLE, visitor.projects.room())
    assert project.command("mondrian", {"k": 3})[2] == "./--if-exists=replace; rm x.csv"


def test_what_libraries_put_aside_lies_in_the_private_folder(tmp_path):
    from incrowd.studio.server import _silent

    before = tempfile.gettempdir()
    with _silent(tmp_path), tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == tmp_path
        warnings.warn(SECRET, stacklevel=1)  # warnings are errors in tests; here they are silent
    assert tempfile.gettempdir() == before


async def in_parts(part, times):
    for _ in range(times):
        yield part


def test_uploads_end_at_the_limit(tmp_path):
    visitor = Visitor(tmp_path, upload_limit=1000)
    name = {"X-File-Name": "a.csv"}
    assert visitor.post("/upload", content=b"x", headers=name).status_code == 400
    declared = visitor.post("/upload", content=b"a\n" * 600, headers=name)
    model = visitor.post("/p/x/models/upload", content=b"a\n" * 600, headers=name)
    streamed = visitor.post("/upload", content=in_parts(b"a\n" * 300, 3), headers=name)
    form = visitor.post("/p/x/revise", content=b"a" * (9 * 1024**2))
    assert [answer.status_code for answer in (declared, model, streamed, form)] == [413] * 4
    assert "incrowd studio FILE" in declared.text
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_private_and_gone_at_the_end(tmp_path):
    for number, words in ((signal.SIGTERM, [PEOPLE]), (signal.SIGINT, [])):
        studio = Studio(tmp_path / str(number), *words)
        (folder,) = studio.folders
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with studio.client() as client:
            assert ("people.csv" in client.get("/").text) == bool(words)
        code, out, err = studio.end(number)
        assert code == 128 + number
        assert err == "Stopped. What the studio kept for itself was deleted.\n"
        assert studio.folders == []
        assert "Ada" not in out


def test_work_in_progress_ends_with_the_studio(tmp_path):
    lines = (f"{i % 83},{i % 997},{'abcdef'[i % 6]},{'xy'[i % 2]}\n" for i in range(1000))
    studio = Studio(tmp_path)
    with studio.client() as client:
        answer = sent(studio, client, ("age,zip,job,ill\n" + "".join(lines)).encode())
        page = answer.json()["page"].removesuffix("/data")
        client.post(f"{page}/publish", data={"method": "dmpd", "k": "5"})
        with client.stream("GET", f"{page}/jobs/publish/events") as events:
            assert next(line for line in events.iter_lines() if '"running"' in line)
            code, out, err = studio.end()
    assert code == 143
    assert err == "Stopped. What the studio kept for itself was deleted.\n"
    assert studio.folders == []
    assert out.count("\n") == 2


def test_the_next_start_removes_what_a_crash_left_and_nothing_else(tmp_path):
    first = Studio(tmp_path)
    other = tmp_path / "incrowd-studio-mine"
    other.mkdir()
    (tmp_path / "incrowd-studio-0123456789abcdef").symlink_to(other)
    (left,) = [
        path
        for path in first.folders
        if path.is_dir() and re.fullmatch(r".*-[0-9a-f]{16}", path.name) and not path.is_symlink()
    ]
    second = Studio(tmp_path)
    assert left.exists(), "it is still in use"
    first.end(signal.SIGKILL)
    assert left.exists()
    third = Studio(tmp_path)
    assert not left.exists()
    assert other.is_dir()
    for each in (second, third):
        each.end()
    assert sorted(path.name for path in tmp_path.glob("incrowd*")) == [
        "incrowd-studio-0123456789abcdef",
        "incrowd-studio-mine",
    ]


def test_nothing_private_is_printed(tmp_path):
    studio = Studio(tmp_path)
    rows = "".join(f"{SECRET}{i % 3},{20 + i % 7},x{i % 2}\n" for i in range(40))
    with studio.client() as client:
        page = sent(studio, client, f"job,age,ill\n{rows}".encode()).json()["page"].removesuffix("/data")
        assert SECRET in client.get(f"{page}/data").text
        sent(studio, client, f"a,b\n{SECRET}\n1,2,3".encode())
        client.post(f"{page}/publish", data={"k": SECRET})
        client.get(f"{page}/{SECRET}")
        client.get("/?token=" + SECRET)
    _, out, err = studio.end()
    assert SECRET not in out + err
    assert out.count("\n") == 2


def test_a_bug_shows_its_place_and_never_a_cell(tmp_path, monkeypatch, capfd):

    def broken(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(pages_table, "data", broken)
    visitor = Visitor(tmp_path)
    answer = visitor.get(f"/p/{visitor.add().id}/data")
    assert answer.status_code == 500
    assert "Unexpected RuntimeError in test_safety.py, line" in answer.text
    assert SECRET not in answer.text
    assert SECRET not in "".join(capfd.readouterr())


def test_a_port_that_is_taken_is_refused(studio):
    port = studio.base.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", "studio", "--no-browser", "--port", port],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: Port {port} of 127.0.0.1 cannot be used: {os.strerror(98)}\n\n"
        "Hint: choose another one with --port, or leave it out to take a free one\n"
    )


def test_the_token_is_not_on_the_command_line_of_the_browser(tmp_path, monkeypatch):
    import threading

    from incrowd import studio

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told, opened, read = [], [], []

    def open_page(address):
        opened.append(address)
        path = Path(address.removeprefix("file://"))
        read.append((path.read_text(encoding="utf-8"), stat.S_IMODE(path.stat().st_mode)))
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()

    with contextlib.suppress(KeyboardInterrupt):
        studio.serve(tell=told.append, opened=open_page)
    token = told[0].partition("token=")[2]
    assert token not in opened[0]
    assert token in read[0][0]
    assert read[0][1] == 0o600
    assert list(tmp_path.iterdir()) == []
