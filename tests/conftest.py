"""Settings of all tests."""

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, Phase, settings

from incrowd.kernels import jit
from postgres_server import postgres  # noqa: F401 - a fixture of all tests
from spark_session import spark  # noqa: F401 - a fixture of all tests

settings.register_profile(  # the same tables on every machine: new ones are looked for by ./dev slow and the gauntlet
    "fast", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("slow", settings.get_profile("fast"), max_examples=100, derandomize=False)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile(  # whether a test fails, not on what: the same tables every time, and none made smaller
    "mutants", settings.get_profile("fast"), max_examples=20, phases=(Phase.explicit, Phase.generate), database=None
)
settings.load_profile(os.environ.get("INCROWD_HYPOTHESIS", "fast"))

gc.disable()  # until everything is collected: what is loaded stays

jit.COMPILE_ALWAYS = True  # small tables must go through the compiled kernels; not in the commands that tests start

_WHOLE = (
    "cli", "studio", "experiments", "test_operations.py", "test_readme.py", "test_hierarchies_page.py", "gauntlet",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Mark whole commands, the README and experiments, which `./dev quick` leaves out, and cases of large families."""
    whole = tuple(str(Path(__file__).parent / name) for name in _WHOLE)
    n_cases = Counter()
    for item in items:
        if str(item.path).startswith(whole):
            item.add_marker(pytest.mark.end_to_end)
        family = item.get_closest_marker("one_in")
        if family is not None:
            test = item.nodeid.partition("[")[0]
            if n_cases[test] % family.args[0]:
                item.add_marker(pytest.mark.slow)
            n_cases[test] += 1


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no examples in the docstrings of tests; those of the package are found in `src`."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


def pytest_collection_finish():
    """What is loaded by now stays: it need not be searched for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    """End a worker at once: it has told everything, and to take apart what it loaded takes seconds."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(0)
    gc.unfreeze()  # extension modules complain of what is left
