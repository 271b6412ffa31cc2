"""docs/hierarchies.md shows what really happens."""

import re
import shutil
from pathlib import Path

import pages

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "hierarchies.md").read_text(encoding="utf-8")


def test_every_command_prints_what_the_page_shows():
    assert pages.rendered(PAGE) == PAGE, "run: .venv/bin/python docs/render.py docs/hierarchies.md"


def test_every_form_makes_the_same_tree(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)

    def shape(tree):
        """Return the groups of each value: forms list values in different orders."""
        return {leaf: [level[at] for level in tree.level_names[1:]] for at, leaf in enumerate(tree.leaves)}

    for form in ("read", "paired", "levels", "lists", "mapped", "from_json"):
        assert shape(names[form]) == shape(names["nested"]), form
    assert names["icd"].leaves.to_list() == ["E10-E14", "E11", "E11.9", "E11.0"]


def test_links_and_settings_are_there():
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
    import incrowd as ic

    for recipe in re.findall(r"`(\w+)\((?:branching=3)?\)`:", PAGE):
        assert callable(getattr(ic, recipe))
