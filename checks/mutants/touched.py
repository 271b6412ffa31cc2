"""Run tests once and note which of them run through which line: ``python -m checks.mutants.touched OUT TESTS...``."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest


class _Recorder:
    """Tells coverage which test runs, and keeps how long each took."""

    def __init__(self, covered: coverage.Coverage) -> None:
        self._covered = covered
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._covered.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._covered.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration
        elif report.failed:
            self.failed.add(report.nodeid)


def main(out: Path, package: Path, tests: list[str]) -> None:
    """Write a JSON file with the tests that pass, those that fail, and the tests of each line of the package."""
    covered = coverage.Coverage(data_file=None, source=[str(package)])
    recorder = _Recorder(covered)
    covered.start()
    status = pytest.main(["-p", "no:cacheprovider", "--no-header", *tests], plugins=[recorder])
    covered.stop()
    data = covered.get_data()
    lines = {
        str(Path(name).relative_to(package)): {
            line: sorted({context for context in contexts if context in recorder.seconds or not context})
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for name in data.measured_files()
    }
    passed = {test: seconds for test, seconds in recorder.seconds.items() if test not in recorder.failed}
    broken = status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    out.write_text(json.dumps({"passed": passed, "failed": sorted(recorder.failed), "lines": lines, "broken": broken}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
