"""How quickly the studio answers: the first page, who is unique when a role changes, and pages while it publishes.

    ./dev bench studio          100 000 rows with 30 columns for the roles, a million rows of Adult to publish
    ./dev bench studio quick    a tenth of the rows
    ./dev bench studio first    one of its parts: first, roles or publish

Each studio is a process of its own, started by its command. Wall-clock seconds are what somebody waits; the processor
seconds of the studio (its work in the background included) say more on a machine that does other things meanwhile.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import polars as pl

from benchmarks.measure import QUASI, resampled

FIRST, ROLE, ANSWER = 2.0, 1.0, 0.2  # seconds that are promised
TURNS = 5
PAGES = ("data", "roles", "hierarchies", "result", "models", "tradeoff")


class Server:
    """A studio, and somebody who has entered it."""

    def __init__(self, *words):
        self.started = time.perf_counter()
        command = [sys.executable, "-m", "incrowd", "studio", "--no-browser", *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.base = self.address.partition("/?")[0]
        self.client = httpx.Client(base_url=self.base, headers={"Origin": self.base}, timeout=600)

    def cpu(self):
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def enter(self):
        """Ask for all of the first page, as a browser does."""
        for path in (self.address, "/", "/static/studio.css", "/static/studio.js", "/static/icon.svg"):
            assert self.client.get(path).status_code == 200
        return time.perf_counter() - self.started, self.cpu()

    def project(self):
        """Wait until the table of the command is read; return where its pages are."""
        while True:
            answer = self.client.get("/")
            if answer.status_code == 303:
                return answer.headers["location"].rpartition("/")[0]
            time.sleep(0.2)

    def timed(self, method, path, **more):
        """Seconds by the clock and of the processor until an answer is there."""
        start, before = time.perf_counter(), self.cpu()
        answer = self.client.request(method, path, **more)
        assert answer.status_code in (200, 303), (path, answer.status_code, answer.text[:300])
        return time.perf_counter() - start, self.cpu() - before


@contextmanager
def running(*words):
    server = Server(*words)
    try:
        yield server
    finally:
        server.client.close()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)


def records(n, columns=30, seed=1):
    """Records with numbers and codes, of which nearly everybody is the only one."""
    rng = np.random.default_rng(seed)
    found = {f"item{i}": rng.integers(0, 3 + 5 * (i % 9), n) for i in range(columns - 2)}
    return pl.DataFrame(found | {"age": rng.integers(0, 95, n), "ill": rng.choice(["no", "yes"], n)})


def line(what, seconds, cpu, bar):
    """Print a figure beside its bar."""
    most = np.quantile(seconds, 0.95)
    spread = f"median {statistics.median(seconds):.2f} s, 95 % {most:.2f} s, slowest {max(seconds):.2f} s"
    print(f"{what:<62} {spread}   CPU {statistics.median(cpu):.2f} s   bar {bar} s", flush=True)


def first_page():
    found = []
    for _ in range(TURNS + 1):
        with running() as server:
            found.append(server.enter())
    line("first page after the command", *zip(*found[1:], strict=True), FIRST)  # the first turn warms up


def roles(folder, n):
    table = folder / "records.csv"
    records(n).write_csv(table)
    with running(table) as server:
        server.enter()
        home = server.project()
        server.client.get(f"{home}/crowds")
        found = []
        for turn in range(TURNS):
            fields = {"role-3": ("other", "quasi")[turn % 2], f"role-{turn + 5}": "identifier"}
            found.append(server.timed("POST", f"{home}/revise", data=fields, headers={"X-Studio": "live"}))
        line(f"who is unique, {n} rows, after a role changed", *zip(*found, strict=True), ROLE)


def publishing(folder, n):
    table = folder / "adult.parquet"
    resampled(n).select([*QUASI, "income"]).write_parquet(table)
    with running(table) as server:
        server.enter()
        home = server.project()
        server.client.get(f"{home}/crowds")
        server.timed("POST", f"{home}/publish", data={"k": "10"})
        found = {page: [] for page in (*PAGES, "a role changed", "and is counted")}
        while "data-job" in server.client.get(f"{home}/result").text:
            for page in PAGES:
                found[page].append(server.timed("GET", f"{home}/{page}"))
                time.sleep(0.02)
            turn = len(found["a role changed"]) % 2
            fields, live = {"role-5": ("other", "quasi")[turn]}, {"X-Studio": "live"}
            found["a role changed"].append(server.timed("POST", f"{home}/revise", data=fields, headers=live))
            found["and is counted"].append(server.timed("GET", f"{home}/crowds"))
        for page, times in found.items():
            if times:
                line(
                    f"{page}, while {n} rows are published ({len(times)} x)",
                    *zip(*times, strict=True),
                    ROLE if page == "and is counted" else ANSWER,
                )


def main(arguments):
    """Print the figures: all, or those that are named."""
    share, parts = 10 if "quick" in arguments else 1, [each for each in arguments if each != "quick"]
    with tempfile.TemporaryDirectory() as name:
        if "first" in parts or not parts:
            first_page()
        if "roles" in parts or not parts:
            roles(Path(name), 100_000 // share)
        if "publish" in parts or not parts:
            publishing(Path(name), 1_000_000 // share)
