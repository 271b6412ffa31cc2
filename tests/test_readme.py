"""The README and the tour show what really happens."""

import re
import shutil
from pathlib import Path

import pytest

import pages
from pages import render

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


def test_every_command_of_the_readme_prints_what_it_shows():
    assert render.rendered(README) == README, "run: .venv/bin/python docs/render.py README.md"


def test_every_command_of_the_tour_prints_what_it_shows():
    assert pages.rendered(TOUR) == TOUR, "run: .venv/bin/python docs/render.py docs/tour.md"


def test_python_examples_run(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    for folder in (tmp_path, tmp_path / "docs"):
        for path in (ROOT / "docs").glob("*.csv"):
            shutil.copy(path, folder)
    monkeypatch.chdir(tmp_path)
    for text in (README, TOUR):
        names = {}
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(code, names)
    assert names["release"].verify(names["frame"]).ok
    assert (tmp_path / "out" / "release.csv").exists()
    assert not names["report"].ok
    assert names["ic"].audit(names["safe"], names["frame"], names["schema"], 4).ok


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in link or (ROOT / link).exists(), link


def test_the_tour_names_every_method():
    from incrowd.publish import PUBLISHERS

    for publisher in PUBLISHERS.values():
        assert publisher.__name__ in TOUR
