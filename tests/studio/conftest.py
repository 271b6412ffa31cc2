"""A studio in a process of its own, and a browser without a screen."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from studio_server import Studio

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
_GET = "apt-get install chromium chromium-driver"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    running = Studio(tmp_path_factory.mktemp("studio"))
    yield running
    running.end()


@pytest.fixture
def client(studio):
    with studio.client() as client:
        yield client


@pytest.fixture(scope="session")
def browser():
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        if os.environ.get("CI"):
            pytest.fail(f"Chromium and its driver are needed: {_GET}")
        pytest.skip(f"needs Chromium and its driver: {_GET}")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory() as folder:
        downloads = Path(folder) / "downloads"
        downloads.mkdir()
        for flag in (*_FLAGS, f"--user-data-dir={folder}/profile", "--window-size=1280,900"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        window.downloads = downloads
        yield window
        window.quit()
