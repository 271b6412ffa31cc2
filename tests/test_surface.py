"""What ``import incrowd as ic`` gives: plain functions, whatever else is imported."""

import importlib
import inspect
import subprocess
import sys

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
