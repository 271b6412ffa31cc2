"""Pages of the documentation, with commands of incrowd run in this process: most take longer to start than to run."""

import os
import select
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import render

from incrowd.cli import main

_INCROWD = """#!/bin/sh
{ printf '%s\\0' "$$" "$PWD" "$#" "$@"; env -0; } > "$ASKED/question"
(echo > "$ASKED/ask")  # in a shell of its own: the output of this one is opened by others from now on
read -r code < "$ASKED/answer"
exit "$code"
"""


def rendered(page):
    """Return the page with the output of every command renewed, by one bash per line and this process."""

    def output_of(line, folder, environment):
        return run(["bash", "-c", line], folder, environment).stdout

    with mock.patch.object(render, "output_of", output_of):
        return render.rendered(page)


def run(command, folder, environment):
    """Run a command in which `incrowd` is a program that asks this process, and waits for its answer; on Linux only."""
    if not hasattr(os, "pidfd_open"):
        paths = {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
        merged = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.run(command, cwd=folder, env=environment | paths, check=False, **merged)
    with tempfile.TemporaryDirectory() as place:
        asked = Path(place)
        program = asked / "incrowd"
        program.write_text(_INCROWD, encoding="utf-8")
        program.chmod(0o755)
        for name in ("ask", "answer"):
            os.mkfifo(asked / name)
        asking = environment | {"ASKED": place, "PATH": f"{place}:{environment['PATH']}"}
        ask = os.open(asked / "ask", os.O_RDWR)
        with (asked / "output").open("a+", encoding="utf-8") as output:
            shell = subprocess.Popen(command, cwd=folder, env=asking, stdout=output, stderr=subprocess.STDOUT)
            ended = os.pidfd_open(shell.pid)
            try:
                while ask in select.select([ask, ended], [], [])[0]:
                    os.read(ask, 1)
                    code = _answer(*(asked / "question").read_bytes().split(b"\0"))
                    (asked / "answer").write_text(f"{code}\n", encoding="utf-8")
            finally:
                os.close(ask)
                os.close(ended)
            code = shell.wait()
            output.seek(0)
            return subprocess.CompletedProcess(command, code, output.read())


def _answer(asker, folder, n, *words):
    """Run one command with the folder, the environment and the output of the program that asks for it."""
    arguments, variables = words[: int(n)], words[int(n) :]
    environment = dict(os.fsdecode(each).partition("=")[::2] for each in variables if each)
    streams = Path("/proc") / os.fsdecode(asker) / "fd"
    with (
        (streams / "1").open("a", encoding="utf-8") as out,
        (streams / "2").open("a", encoding="utf-8") as err,
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", ["incrowd", *map(os.fsdecode, arguments)]),
        chdir(os.fsdecode(folder)),
    ):
        try:
            main()
        except SystemExit as end:
            return end.code or 0
    return 0
