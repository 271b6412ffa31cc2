"""Projects: one table on its way to a release. Pages show a project; what it knows lives here, in memory."""

from __future__ import annotations

import secrets
import shlex
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import IncrowdError, InputError, ParameterError
from incrowd.runs import Run
from incrowd.studio.jobs import Job

if TYPE_CHECKING:  # the first page does not wait for what only tables need
    from incrowd import workflow
    from incrowd.schema import Schema
    from incrowd.verify import Verdict

_LONGEST_NAME = 80


@dataclass(frozen=True)
class Outcome:
    """A release and its independent check against the original."""

    publication: workflow.Publication
    verdict: Verdict
    sample: tuple[tuple[str | None, ...], ...]
    columns: tuple[str, ...]
    command: str


@dataclass
class Project:
    """One table on its way to a release.

    Attributes
    ----------
    id
        Its name in addresses; random.
    name
        The name of the file for people; never part of a path of ours.
    source
        Where the file is.
    folder
        The project's own private folder.
    look
        What is in the table.
    schema
        The roles so far; ``None`` if they could not be guessed.
    problem
        Why they could not.
    jobs
        The latest work of each name.
    published
        How many releases were made of this table.
    latest
        The latest of them; a run that fails or is cancelled leaves it as it is.
    saved
        Where the owner has saved it.
    """

    id: str
    name: str
    source: Path
    folder: Path
    look: workflow.Look
    turn: threading.Lock
    schema: Schema | None = None
    problem: IncrowdError | None = None
    jobs: dict[str, Job] = field(default_factory=dict)
    published: int = 0
    latest: Outcome | None = None
    saved: Path | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def propose(self, sensitive: str | None = None) -> None:
        """Guess the roles; what stands in the way is kept for the page."""
        from incrowd import workflow

        try:
            self.schema, self.problem = workflow.propose(self.source, sensitive=sensitive).schema, None
        except IncrowdError as error:
            self.problem = error

    def revise(self, roles: Mapping[str, str], kinds: Mapping[str, str], target: str) -> None:
        """Change roles, hierarchies and the class."""
        from incrowd import workflow

        schema = self.needs_schema()
        free = {n for n, r in roles.items() if r in ("sensitive", "other")}
        self.schema = workflow.revise(schema, roles=roles, kinds=kinds, target=target if target in free else "")

    def needs_schema(self) -> Schema:
        """Return the roles, or refuse to go on without them."""
        if self.schema is None:
            fact = "The columns have no roles yet"
            raise ParameterError(fact, "choose the sensitive column on the page Roles")
        return self.schema

    def crowds(self) -> workflow.Crowds:
        """Count the people whom the quasi-identifiers single out."""
        from incrowd import workflow

        return workflow.crowds(self.look.frame, self.needs_schema().quasi)

    def begin(self, name: str, given: dict[str, Any], work: Callable[[Run], Any]) -> Job:
        """Begin some work, unless the same is still going on: then that one is returned."""
        with self.lock:
            active = self.jobs.get(name)
            if active is not None and active.is_active:
                return active
            job = Job(name, given, turn=self.turn)
            self.jobs[name] = job
            return job.start(work)

    def compare(self, methods: list[str], ks: list[int], classifier: str) -> Job:
        """Begin to measure what methods and k cost."""
        from incrowd import workflow

        schema = self.needs_schema()
        return self.begin(
            "tradeoff",
            {"methods": methods, "k": ks, "classifier": classifier},
            lambda run: workflow.trade_off(self.source, schema, methods=methods, k=ks, classifier=classifier, run=run),
        )

    def publish(self, method: str | None, parameters: dict[str, Any]) -> Job:
        """Begin to publish."""
        schema = self.needs_schema()
        given = {"method": method, **parameters}
        return self.begin("publish", given, lambda run: self._publish(schema, method, parameters, run))

    def attack(self) -> Job:
        """Begin to attack the release."""
        from incrowd import workflow

        outcome = self.outcome()
        release = outcome.publication.release
        return self.begin("attack", {}, lambda run: workflow.attack(release, self.source, run=run))

    def outcome(self) -> Outcome:
        """Return the release, or refuse to go on without one."""
        if self.latest is None:
            fact = "There is no release yet"
            raise ParameterError(fact, "publish one on the page Result")
        return self.latest

    def _publish(self, schema: Schema, method: str | None, parameters: dict[str, Any], run: Run) -> Outcome:
        from incrowd import workflow

        place = self.folder / f"release-{secrets.token_hex(4)}"
        place.mkdir(mode=0o700)
        try:
            done = workflow.publish(
                self.source, schema, place / "release", method=method, parameters=parameters, run=run
            )
            verdict = workflow.verify(done.folder, self.source, run=run)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        shown = workflow.look(done.release.written_tables()[0])
        columns = tuple(str(column["column"]) for column in shown.columns)
        self._take(Outcome(done, verdict, shown.head, columns, self.command(method, parameters)), place)
        return self.outcome()

    def _take(self, outcome: Outcome, place: Path) -> None:
        """Make a release the latest one, and remove what was about the one before."""
        self.latest, self.saved = outcome, None
        self.published += 1
        for about_it in ("attack", "report"):
            self.jobs.pop(about_it, None)
        for earlier in self.folder.glob("release-*"):
            if earlier != place:
                shutil.rmtree(earlier, ignore_errors=True)

    def command(self, method: str | None, parameters: Mapping[str, Any]) -> str:
        """Return the command that repeats what was clicked."""
        words = ["incrowd", "publish", self.name, "-s", "schema.toml"]
        words += ["-m", method] if method else []
        for name, value in parameters.items():
            words += [f"-{name}", f"{value:g}"] if name in ("k", "l", "t") else [f"--{name}", f"{value:g}"]
        return shlex.join([*words, "-o", "release"])

    def explain(self, error: BaseException) -> IncrowdError:
        """Return an error for people: with the file's own name in place of ours, and nothing of a bug but its place."""
        return explain(error, {str(self.source): self.name})


class Projects:
    """All projects of a studio.

    Parameters
    ----------
    folder
        The studio's private folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.all: dict[str, Project] = {}
        self.turn = threading.Lock()

    def add(self, name: str, source: Path, folder: Path) -> Project:
        """Read a table and make a project of it; one that cannot be read leaves nothing behind."""
        from incrowd import workflow

        try:
            found = workflow.look(source)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, Exception):
                raise explain(error, {str(source): name}) from None
            raise
        project = Project(folder.name, name, source, folder, found, self.turn)
        project.propose()
        self.all[project.id] = project
        return project

    def room(self) -> Path:
        """Return a new private folder for a project."""
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def remove(self, project: Project) -> None:
        """Forget a project, and remove what was kept of it."""
        self.all.pop(project.id, None)
        _end([project])
        shutil.rmtree(project.folder, ignore_errors=True)

    def end(self) -> None:
        """Stop all work."""
        _end(list(self.all.values()))


def shown_name(name: str) -> str:
    """Return the name of a file as it is shown: the last part of a path, without characters that cannot be seen."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "_" for letter in last)[-_LONGEST_NAME:] or "table"


def stored_suffix(name: str) -> str:
    """Return the suffix under which a file is kept: one of those that we know, in our own spelling."""
    from incrowd import io

    found = io.find_format(name)
    if found is None:
        known = ", ".join(suffix for entry in io.FORMATS for suffix in entry.suffixes)
        fact = f"'{name}' is not in a format that the studio can read"
        raise InputError(fact, f"use a file with one of the suffixes {known}")
    return next(suffix for suffix in sorted(found.suffixes, key=len, reverse=True) if name.lower().endswith(suffix))


def explain(error: BaseException, names: Mapping[str, str]) -> IncrowdError:
    """Return an error with names for people in place of paths; of a bug only its place, never its words."""
    if not isinstance(error, IncrowdError):
        trace, place = error.__traceback__, ""
        while trace is not None:
            place = f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
            trace = trace.tb_next
        fact = f"Unexpected {type(error).__name__}{place}"
        return IncrowdError(fact, "report this bug in incrowd")
    for path, name in names.items():
        error.fact = error.fact.replace(path, name)
        error.hint = None if error.hint is None else error.hint.replace(path, name)
    return error


def _end(projects: list[Project]) -> None:
    jobs = [job for project in projects for job in project.jobs.values() if job.is_active]
    for job in jobs:
        job.cancel()
    for job in jobs:
        if job.thread is not None:
            job.thread.join(timeout=5)
