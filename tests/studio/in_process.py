"""A studio in this process: its application behind its guard, without a port."""

import asyncio

import httpx
from studio_server import PEOPLE

from incrowd.studio.app import make_app
from incrowd.studio.guard import Guard
from incrowd.studio.projects import Projects

BASE = "http://127.0.0.1:80"


class Visitor:
    """Somebody who has entered, with the projects behind the pages."""

    def __init__(self, folder, **settings):
        self.projects = Projects(folder)
        self.guard = Guard(make_app(self.projects), port=80, token="t", **settings)
        self.session = {"Cookie": f"{self.guard.cookie}={self.guard.session}"}

    def add(self, source=PEOPLE):
        return self.projects.add(source.name, source, self.projects.room())

    def get(self, path, **more):
        return self._ask("GET", path, **more)

    def post(self, path, **more):
        return self._ask("POST", path, **more)

    def _ask(self, method, path, *, headers=None, **more):
        own = {"Origin": BASE, "Host": "127.0.0.1:80", **self.session, **(headers or {})}

        async def ask():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.guard), base_url=BASE) as client:
                return await client.request(method, path, headers=own, **more)

        return asyncio.run(ask())


def wait(job):
    job.thread.join(300)
    assert not job.is_active
    return job
