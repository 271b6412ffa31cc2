"""The page as PDF, printed by Chromium."""

import os
import shutil
import stat

import pytest
from report_cases import report

from incrowd.errors import InputError, MissingDependencyError
from incrowd.report.pdf import find_chromium

FAKE = """#!/bin/sh
for word in "$@"; do
  case $word in --print-to-pdf=*) printf '%s' "%PDF-fake $*" > "${word#--print-to-pdf=}";; esac
done
"""


def _install(folder, text, monkeypatch):
    program = folder / "chromium"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_without_chromium_the_message_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError) as caught:
        report("rows").save_pdf(tmp_path / "r.pdf")
    assert str(caught.value) == (
        "A PDF is printed by Chromium, and none is on the PATH (looked for chromium, chromium-browser, google-chrome, "
        "google-chrome-stable, chrome, microsoft-edge)\n\n"
        "Hint: install Chromium, or open the HTML report in a browser and print it"
    )
    assert not (tmp_path / "r.pdf").exists()


def test_chromium_prints_the_page_without_its_own_header(monkeypatch, tmp_path):
    _install(tmp_path, FAKE, monkeypatch)
    report("rows").save_pdf(tmp_path / "r.pdf")
    told = (tmp_path / "r.pdf").read_text()
    assert told.startswith("%PDF-fake")
    for word in ("--headless", "--no-pdf-header-footer", "--disable-background-networking", "file:///"):
        assert word in told


def test_a_chromium_that_fails_is_an_error_and_leaves_nothing(monkeypatch, tmp_path):
    _install(tmp_path, "#!/bin/sh\nexit 7\n", monkeypatch)
    with pytest.raises(InputError, match="'chromium' did not print the report: CalledProcessError"):
        report("rows").save_pdf(tmp_path / "r.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chromium"]


@pytest.mark.slow
@pytest.mark.skipif(
    not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")),
    reason="Chromium is no Python package: ./dev cannot install it; the other tests print with a stand-in",
)
def test_a_real_chromium_prints_a_real_pdf(tmp_path):
    assert find_chromium()
    report("rows").save_pdf(tmp_path / "r.pdf")
    data = (tmp_path / "r.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert len(data) > 20_000
