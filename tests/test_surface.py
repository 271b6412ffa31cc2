"""What ``import incrowd as ic`` gives: plain functions, whatever else is imported."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd as ic

VERBS = {"publish": "frame", "verify": "release", "audit": "model", "evaluate": "what"}


@pytest.mark.parametrize("name", VERBS)
def test_verbs_are_functions_with_their_parameters(name):
    package = importlib.import_module(f"incrowd.{name}")
    assert inspect.isfunction(getattr(ic, name))
    assert getattr(ic, name) is getattr(package, name)
    assert next(iter(inspect.signature(getattr(ic, name)).parameters)) == VERBS[name]


def test_the_signature_of_publish_is_the_real_one():
    parameters = inspect.signature(ic.publish).parameters
    assert list(parameters)[:3] == ["frame", "schema", "method"]
    assert parameters["domains"].default == "joined"


def test_importing_a_package_does_not_replace_the_function_of_its_name():
    code = (
        "import incrowd.verify, incrowd.publish.mondrian, incrowd as ic;"
        "from incrowd.verify import verify_table;"
        "import inspect; assert inspect.isfunction(ic.verify) and inspect.isfunction(ic.publish);"
        "assert ic.verify is incrowd.verify; assert callable(verify_table)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_is_there():
    for name in ic.__all__:
        assert getattr(ic, name) is not None
    assert sorted(dir(ic)) == sorted(ic.__all__)
    with pytest.raises(AttributeError, match="no attribute 'publsh'"):
        _ = ic.publsh


def sources(*rooms_left_out):
    """Files of the package that are in none of these rooms."""
    root = Path(ic.__file__).parent
    paths = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in rooms_left_out]
    assert len(paths) > 300
    return paths


def test_kinds_of_release_are_told_apart_in_their_room_only():
    """Others ask a release what it has (`has_cells`); the verifier reads files of its own accord."""
    switch = re.compile(r"isinstance\([^()]*(RowRelease|ProjectionRelease)|payload ==")
    found = [path.name for path in sources("release", "verify") if switch.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_keys_of_the_manifest_are_known_in_one_place():
    """Whoever reads manifest.json takes the typed manifest, but for the verifier, who has a reader of its own."""
    key = re.compile(r"manifest(\.to_dict\(\))?(\[\"|\.get\()|json\.loads?\([^()]*(manifest|MANIFEST)")
    found = []
    for path in sources("verify", "manifest.py"):
        text = path.read_text(encoding="utf-8")
        found += [f"{path.name}: {hit[0]}" for hit in key.finditer(text) if hit]
    assert found == []
