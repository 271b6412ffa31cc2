"""docs/operations.md, the Dockerfile and compose.yaml hold what they say."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import incrowd
import pages
from incrowd.cli.exits import CODES, EXIT_CODES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
KEPT = Path(__file__).parent / "kept" / "format-2"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def command(tmp_path):
    """Run the real command, as a shell does, in an empty folder with people.csv and its schema."""
    shutil.copy(ROOT / "docs" / "people.csv", tmp_path)
    shutil.copy(KEPT / "people.toml", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    starter = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m incrowd "$@"\n'
    (programs / "incrowd").write_text(starter, encoding="utf-8")
    (programs / "incrowd").chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = f"{Path(incrowd.__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}"

    def run(line):
        return subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_every_command_prints_what_the_page_shows():
    assert pages.rendered(PAGE) == PAGE, "run: .venv/bin/python docs/render.py docs/operations.md"


def test_the_table_of_exit_codes_is_that_of_the_program():
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert {int(code): (name, meaning) for code, name, meaning in rows} == EXIT_CODES
    assert all(f"{code} {name}" in CODES for code, (name, _) in EXIT_CODES.items())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/operations.md)" in readme


@pytest.mark.slow
def test_the_settings_of_the_page_publish_and_verify(command, tmp_path):
    (text,) = blocks("toml")
    (tmp_path / "incrowd.toml").write_text(text, encoding="utf-8")
    cron = blocks("cron")[0].partition("cd /srv/incrowd && ")[2].replace("/opt/incrowd/bin/", "").strip()
    for _ in range(2):  # the second replaces the first, and is warned about
        done = command(cron)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "Warning: " in done.stderr
    found = [json.loads(line) for line in (tmp_path / "incrowd.log").read_text(encoding="utf-8").splitlines()]
    shown = [json.loads(line) for line in blocks("json")[0].splitlines()]
    for real, example in zip(found[:2], shown, strict=True):
        assert set(example) == set(real)
    assert set(shown[1]["counts"]) == set(found[1]["counts"])
    (tmp_path / "incrowd.toml").write_text(text.replace("k = 4", "k = 40"), encoding="utf-8")
    assert command(cron).stdout == "incrowd ended with exit code 3\n"


def test_the_schedule_is_one(tmp_path):
    service, timer = blocks("ini")
    minutes, hours, *days = blocks("cron")[0].split()[:5]
    assert (minutes, hours, days) == ("0", "3", ["*", "*", "1"])
    keys = set(tomllib.loads(blocks("toml")[0]))
    runs = re.findall(r"^ExecStart=/opt/incrowd/bin/incrowd (\w+) --quiet$", service, re.MULTILINE)
    assert set(runs) <= keys
    assert len(runs) == 2
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    text = service.replace("/opt/incrowd/bin/incrowd", sys.executable).replace("User=incrowd", "User=root")
    (tmp_path / "incrowd.service").write_text(text, encoding="utf-8")
    (tmp_path / "incrowd.timer").write_text(timer, encoding="utf-8")
    calendar = re.search(r"OnCalendar=(.*)", timer)[1]
    assert subprocess.run(["systemd-analyze", "calendar", calendar], check=False, capture_output=True).returncode == 0
    units = [str(tmp_path / name) for name in ("incrowd.service", "incrowd.timer")]
    done = subprocess.run(["systemd-analyze", "verify", *units], check=False, capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if "incrowd" in line]
    assert complaints == []


def test_the_gate_opens_and_closes(tmp_path):
    entry = shlex.split(re.search(r"entry: (.*)", blocks("yaml")[0])[1])
    shutil.copytree(KEPT / "projections", tmp_path / "releases" / "a")
    assert pages.run(entry, tmp_path, dict(os.environ)).returncode == 0
    shutil.copytree(KEPT / "projections.private", tmp_path / "releases" / "a.private")
    assert pages.run(entry, tmp_path, dict(os.environ)).returncode != 0
    shutil.rmtree(tmp_path / "releases" / "a.private")
    with (tmp_path / "releases" / "a" / "projection-1.csv").open("a", encoding="utf-8") as file:
        file.write("x\n")
    assert pages.run(entry, tmp_path, dict(os.environ)).returncode != 0


def instructions(name):
    text = re.sub(r"\\\n", " ", DOCKERFILE)
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)


def test_what_the_dockerfile_promises():
    final = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
    (user,) = re.findall(r"^USER (\S+)$", final, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)  # a number: no name has to be looked up, and not root
    assert "\nRUN" not in final  # nothing is fetched or changed in what runs
    assert final.index("USER") < final.index("ENTRYPOINT")
    assert not re.search(r"\b(curl|wget|apt-get|sudo|ADD|EXPOSE|--privileged|chmod 777)\b", DOCKERFILE)
    assert not re.search(r"(?i)password|token|secret", DOCKERFILE)
    copied = {source for line in instructions("COPY") if "--from" not in line for source in line.split()[:-1]}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored  # only what is named gets into the build
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
    assert all(line.partition(" AS ")[0] == "python:3.12-slim" for line in instructions("FROM"))


def test_what_compose_and_the_page_promise():
    for line in ("read_only: true", "network_mode: none", "cap_drop: [ALL]", '"no-new-privileges:true"', "/tmp:size="):
        assert line in COMPOSE
    docker = next(line for line in blocks("sh")[0].splitlines() if " run " in line)
    for flag in ("--read-only", "--network none", "--cap-drop ALL", "no-new-privileges", "--tmpfs /tmp", "--user"):
        assert flag in docker


def test_the_entry_of_the_image_brings_its_kernels(command, tmp_path):
    entry = json.loads(instructions("ENTRYPOINT")[0])
    assert entry[:2] == ["/bin/sh", "-c"]
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt" / "kernel.nbi").touch()
    script = entry[2].replace("/opt/kernels", "opt").replace("/tmp/kernels", "kernels")
    done = command(shlex.join([*entry[:2], script, entry[3], "--version"]))
    assert (done.returncode, done.stdout.strip()) == (0, incrowd.__version__), done.stderr
    assert (tmp_path / "kernels" / "kernel.nbi").exists()
    values = " ".join(instructions("ENV"))
    assert "NUMBA_CACHE_DIR=/tmp/kernels" in values
    assert "HOME=/tmp" in values


ISOLATED = """
mount --bind / / && mount -o remount,ro,bind / && mount -t tmpfs none "$1" && cp "$2"/people.* "$1" || exit 99
cd "$1" && chmod 777 . && mkdir -m 777 kernels && touch /proof 2>/dev/null && exit 98
env -i PYTHONPATH="$3" HOME="$1" NUMBA_CACHE_DIR="$1/kernels" PYTHONDONTWRITEBYTECODE=1 PATH=/usr/bin:/bin \
    setpriv --reuid 10001 --regid 10001 --clear-groups "$4" -m incrowd publish people.csv -s people.toml -k 4 -o out -q
"""


@pytest.mark.slow
def test_a_read_only_system_without_network_and_root_is_enough(tmp_path):
    """The same as the container, by the system's own means."""
    for name in (ROOT / "docs" / "people.csv", KEPT / "people.toml"):
        shutil.copy(name, tmp_path)
    (tmp_path / "run").mkdir()
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(0o755)
        if folder.name.startswith("pytest-of-"):
            break
    source = str(Path(incrowd.__file__).parents[1])
    arguments = [str(tmp_path / "run"), str(tmp_path), source, sys.executable]
    try:
        done = subprocess.run(
            ["unshare", "-m", "-n", "sh", "-c", ISOLATED, "sh", *arguments], check=False, capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode in (1, 99) and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip("this account may not make a read-only file system")
    if done.returncode == 126 or "Permission denied" in done.stderr:
        pytest.skip("other accounts may not run this Python")
    assert done.returncode == 0, done.stderr


def docker_works():
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], check=False, capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not docker_works(), reason="Docker is not installed, or its daemon does not run; also in CI")
def test_the_image_publishes(tmp_path):
    subprocess.run(["docker", "build", "-q", "-t", "incrowd-test", str(ROOT)], check=True, capture_output=True)
    shutil.copy(ROOT / "docs" / "people.csv", tmp_path)
    shutil.copy(KEPT / "people.toml", tmp_path)
    line = next(line for line in blocks("sh")[0].splitlines() if " run " in line)
    line = line.replace(" incrowd publish", " incrowd-test publish")
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "release.csv").is_file()
