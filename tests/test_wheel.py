"""The wheel by itself: built, installed into an environment of its own, away from the repository, and used."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd as ic

ROOT = Path(__file__).parents[1]


def run(*words, cwd, **more):
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(tmp_path):
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("incrowd-*.whl")
    assert wheel.name.startswith(f"incrowd-{ic.__version__}-")
    run(sys.executable, "-m", "venv", tmp_path / "clean", cwd=tmp_path)
    scripts = tmp_path / "clean" / ("Scripts" if sys.platform == "win32" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(ROOT / "docs" / "people.csv", home)
    environment = {"PATH": str(scripts), "HOME": str(home), "COLUMNS": "80"}
    if sys.platform == "win32":
        environment |= {"SYSTEMROOT": r"C:\Windows", "USERPROFILE": str(home), "TEMP": str(home)}

    def incrowd(*words):
        return run(scripts / "incrowd", *words, cwd=home, env=environment)

    where = run(scripts / "python", "-c", "import incrowd; print(incrowd.__file__)", cwd=home, env=environment)
    assert str(tmp_path / "clean") in where
    assert incrowd("--version").strip() == ic.__version__
    incrowd("init", "people.csv", "-o", "people.toml", "--sensitive", "disease")
    incrowd("publish", "people.csv", "-s", "people.toml", "-k", "4", "-o", "out", "--json")
    assert '"ok": true' in incrowd("verify", "out", "--original", "people.csv", "--json")
    assert "best_cuts" in incrowd("methods")
    assert "nsvdist-table4" in incrowd("bench")  # the papers' figures are inside
