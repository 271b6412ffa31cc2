"""The site: its Python runs, its reference is whole, links lead somewhere. `./dev docs` builds it and runs the rest."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import incrowd as ic

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
from site_pages import executed, measured, reference  # noqa: E402


@pytest.mark.parametrize("name", ["tutorials/data-scientist.md", "tutorials/researcher.md"])
def test_python_of_tutorials_runs(name):
    executed.run_python(DOCS, (DOCS / name).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*executed.PAGES, "operations.md", "hierarchies.md"])
def test_commands_print_what_pages_show(name):
    from render import rendered

    text = (DOCS / name).read_text(encoding="utf-8")
    assert rendered(text) == text, f"run: python docs/render.py docs/{name}"


def test_every_public_name_is_in_the_reference_once():
    names = [name for group in reference.groups().values() for name in group]
    assert sorted(names) == sorted(set(ic.__all__) - {"__version__"})


def test_every_page_is_in_the_menu_and_every_link_leads_somewhere():
    sections = ("index", "learn", "understand", "use", "reference")
    texts = [(DOCS / f"{name}.md").read_text("utf-8") for name in sections]
    trees = [re.findall(r"```{toctree}\n(.*?)```", text, re.DOTALL) for text in texts]
    menu = [name for found in trees for name in re.findall(r"^([a-z/-]+)$", "".join(found), re.MULTILINE)]
    made = {"api", "methods"}  # when the site is built
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in (*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"))}
    assert set(menu) == (pages - {"index"}) | made | {"results/index"}
    for page in pages - made:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            there = (DOCS / page).parent / link
            built = link.startswith("generated/") or link.removesuffix(".md") in made
            assert "://" in link or built or there.exists(), f"{page}: {link}"


def test_figures_of_the_privacy_page_come_from_the_benchmark():
    lines = measured.table(DOCS / "results" / "attacks.txt").splitlines()
    assert len(lines) == 8
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_what_a_release_of_the_project_has():
    version = ic.__version__
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", changes, re.MULTILINE)[0] == "[Unreleased]"
    kinds = set(re.findall(r"^### (.*)$", changes, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text(encoding="utf-8")):
            assert "://" in link or (ROOT / link).exists(), f"{name}: {link}"
    assert "docs" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
