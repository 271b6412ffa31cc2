"""All projects of a studio, and how a table becomes one."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import ParameterError
from incrowd.runs import Run
from incrowd.studio.jobs import Job
from incrowd.studio.names import as_argument, explain, shown_name
from incrowd.studio.project import Project

if TYPE_CHECKING:
    from incrowd import io

_HEAD_START = 0.3  # seconds for a browser to get the style sheet and the script of the first page


class Projects:
    """All projects of a studio.

    Parameters
    ----------
    folder
        The studio's private folder.

    Attributes
    ----------
    all
        The projects by id.
    opening
        How far the table of the command line is; its result is a project.
    later
        What begins after the first page: it loads libraries, which takes the processors.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.all: dict[str, Project] = {}
        self.turn = threading.Lock()
        self.opening: Job | None = None
        self.later: Callable[[], object] | None = None

    def open(self, data: Path | str) -> Callable[[], Job]:
        """Announce a table of this computer, or of a database by its address, and return what begins to read it."""
        if isinstance(data, str):
            asked = self.opening = Job("open", {"name": "the database"}, turn=self.turn, stage="starting")
            return lambda: asked.start(lambda _run: self.add_database(data, ""))
        path, name = data, shown_name(data.name)
        job = self.opening = Job("open", {"name": name}, turn=self.turn, stage="starting")
        return lambda: job.start(lambda run: self.add(name, path, self.room(), run=run))

    def prepare(self) -> None:
        """Begin what the first page does not wait for, once it is on its way."""
        begin, self.later = self.later, None
        if begin is not None:
            timer = threading.Timer(_HEAD_START, begin)
            timer.daemon = True
            timer.start()

    def add(
        self,
        name: str,
        source: Path,
        folder: Path,
        *,
        words: tuple[str, ...] = (),
        how: Mapping[str, str] | None = None,
        run: Run | None = None,
    ) -> Project:
        """Read a table and make a project of it; one that cannot be read leaves nothing behind.

        Parameters
        ----------
        words
            How a command names the table, if not by its name.
        how
            Encoding, delimiter, and sheet or table (`part`), as far as somebody said them.
        """
        from incrowd import workflow

        try:
            reading = _reading(source, how or {})
            found = workflow.look(source, reading=reading, run=run)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, Exception):
                raise explain(error, {str(source): name}) from None
            raise
        project = Project(
            folder.name,
            name,
            source,
            folder,
            found,
            self.turn,
            words=words or (as_argument(name),),
            reading=reading,
        )
        project.propose()
        self.all[project.id] = project
        return project

    def add_database(self, address: str, question: str) -> Project:
        """Read a table of a database, or the answer to a query, and keep it as it is now in a private file."""
        from incrowd import io

        if not io.is_url(address):
            fact = "This is not the address of a database"
            raise ParameterError(
                fact, "write for example postgresql://user@host/name#table, or sqlite:////data/people.db"
            )
        folder = self.room()
        path = folder / "table.parquet"
        try:
            io.write(io.read(address, query=question or None), path)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shown = io.public_url(address)
        words = (shown, "--query", question) if question else (shown,)
        return self.add(shown, path, folder, words=words)

    def room(self) -> Path:
        """Return a new private folder for a project."""
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def remove(self, project: Project) -> None:
        """Forget a project, and remove what was kept of it."""
        self.all.pop(project.id, None)
        _end(list(project.jobs.values()))
        shutil.rmtree(project.folder, ignore_errors=True)

    def end(self) -> None:
        """Stop all work."""
        opening = [self.opening] if self.opening is not None else []
        _end([*opening, *(job for project in self.all.values() for job in project.jobs.values())])


def _reading(source: Path, how: Mapping[str, str]) -> io.Reading:
    """Return how a table is to be read; a part is a sheet of a workbook, or a table of a database."""
    from incrowd import io

    given = {name: value.strip() for name, value in how.items() if value.strip()}
    part = given.pop("part", None)
    form = io.find_format(source)
    if part is not None:
        given["sheet" if form is not None and form.name.startswith("Excel") else "table"] = part
    return io.Reading(**given)  # type: ignore[arg-type]


def _end(jobs: list[Job]) -> None:
    active = [job for job in jobs if job.is_active]
    for job in active:
        job.cancel()
    for job in active:
        if job.thread is not None:
            job.thread.join(timeout=5)
