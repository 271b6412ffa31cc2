"""A studio in a process of its own, started by its command."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx

PEOPLE = Path(__file__).parents[2] / "docs" / "people.csv"


class Studio:
    """One studio; what it keeps is in `place`."""

    def __init__(self, place, *words):
        self.place = place
        place.mkdir(exist_ok=True)
        environment = os.environ | {"TMPDIR": str(place), "HOME": str(place)}
        command = [sys.executable, "-m", "incrowd", "studio", "--no-browser", *map(str, words)]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said = self.process.stdout.readline() + self.process.stdout.readline()
        self.address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", self.said)[0]
        self.base = self.address.partition("/?")[0]

    @property
    def folders(self):
        return list(self.place.glob("incrowd-studio-*"))

    @contextmanager
    def client(self):
        """A client that has entered as a browser does."""
        with httpx.Client(base_url=self.base, headers={"Origin": self.base}, timeout=60) as client:
            assert client.get(self.address).status_code == 200
            yield client

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, self.said + out, err
