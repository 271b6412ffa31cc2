"""Shell completion is there."""

import os
import subprocess
import sys

import pytest


def complete(words, **more):
    environment = os.environ | {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))} | more
    done = subprocess.run(
        [sys.executable, "-m", "incrowd"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [("incrowd ver", ["verify"]), ("incrowd publish --if-exists ", ["fail", "skip", "replace"])],
)
def test_words_are_completed(words, found):
    assert complete(words, _INCROWD_COMPLETE="complete_bash") == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell):
    printed = complete("", _INCROWD_COMPLETE=f"source_{shell}")
    assert any("_INCROWD_COMPLETE" in word for word in printed)


def test_it_is_in_the_help():
    done = subprocess.run([sys.executable, "-m", "incrowd", "--help"], capture_output=True, text=True, check=True)
    assert "--install-completion" in done.stdout
    assert "--show-completion" in done.stdout
