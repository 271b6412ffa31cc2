"""Pages of the documentation, with commands of incrowd run in this process: starting one takes longer than most of them."""

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

_ASK = """
incrowd() {
    local asked=$ASKED code
    { printf '%s\\0' "$BASHPID" "$PWD" "$#" "$@"; ASKED= env -0; } > "$asked/question"
    (echo > "$asked/ask")  # in a shell of its own: the output of this one is being opened by then
    read -r code < "$asked/answer"
    return "$code"
}
"""


def rendered(page):
    """Return the page with the output of every command renewed, by one bash per line and this process."""
    if not Path("/proc/self/fd").exists():
        return render.rendered(page)
    with mock.patch.object(render, "output_of", _output_of):
        return render.rendered(page)


def _output_of(line, folder, environment):
    """Run the line by bash, in which `incrowd` is a function that asks this process and waits for its answer."""
    with tempfile.TemporaryDirectory() as asked, (Path(asked) / "output").open("a+") as output:
        asked = Path(asked)
        for name in ("ask", "answer"):
            os.mkfifo(asked / name)
        ask = os.open(asked / "ask", os.O_RDWR)
        bash = subprocess.Popen(
            ["bash", "-c", _ASK + line], cwd=folder, env=environment | {"ASKED": str(asked)},
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        ended = os.pidfd_open(bash.pid)
        try:
            while ended not in (ready := select.select([ask, ended], [], [])[0]) or ask in ready:
                os.read(ask, 1)
                code = _answer(*(asked / "question").read_bytes().split(b"\0"))
                (asked / "answer").write_text(f"{code}\n")
        finally:
            os.close(ask)
            os.close(ended)
        bash.wait()
        output.seek(0)
        return output.read()


def _answer(shell, folder, n, *words):
    """Run one command with the folder, the environment and the output of the shell that asks for it."""
    arguments, variables = words[: int(n)], words[int(n) :]
    environment = dict(os.fsdecode(each).partition("=")[::2] for each in variables if each)
    argv = ["incrowd", *map(os.fsdecode, arguments)]
    with (
        open(b"/proc/%b/fd/1" % shell, "a") as out,
        open(b"/proc/%b/fd/2" % shell, "a") as err,
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", argv),
        chdir(os.fsdecode(folder)),
    ):
        try:
            main()
        except SystemExit as end:
            return end.code or 0
    return 0
