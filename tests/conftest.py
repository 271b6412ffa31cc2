"""Settings of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from postgres_server import postgres  # noqa: F401 - a fixture of all tests

settings.register_profile(  # the same tables on every machine: new ones are looked for by ./dev slow and the gauntlet
    "fast", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("slow", settings.get_profile("fast"), max_examples=100, derandomize=False)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile(  # whether a test fails, not on what: the same tables every time, and none made smaller
    "mutants", settings.get_profile("fast"), phases=(Phase.explicit, Phase.generate), database=None
)
settings.load_profile(os.environ.get("INCROWD_HYPOTHESIS", "fast"))

os.environ.setdefault("INCROWD_COMPILE", "1")  # small tables must go through the compiled kernels; test_modes does both

_WHOLE = (
    "cli", "studio", "experiments", "test_operations.py", "test_readme.py", "test_hierarchies_page.py", "gauntlet",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Mark whole commands, the README and experiments: `./dev quick` leaves them out."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in _WHOLE:
            item.add_marker(pytest.mark.end_to_end)
