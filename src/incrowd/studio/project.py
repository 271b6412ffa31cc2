"""A project: one table on its way to a release. Pages show it; what it knows lives here, in memory."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import IncrowdError, ParameterError
from incrowd.runs import Run
from incrowd.studio.jobs import Job
from incrowd.studio.names import as_number, explain

if TYPE_CHECKING:  # the first page does not wait for what only tables need
    from incrowd import io, workflow
    from incrowd.hierarchy import Spec
    from incrowd.schema import Schema
    from incrowd.verify import Verdict
    from incrowd.workflow.comparing import SideBySide


@dataclass(frozen=True)
class Outcome:
    """A release and its independent check against the original."""

    publication: workflow.Publication
    verdict: Verdict
    beside: SideBySide
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return shlex.join(self.words)


@dataclass(frozen=True)
class Model:
    """A model, or a table of rules, that somebody gave to be audited."""

    name: str
    path: Path
    is_rules: bool
    is_pickle: bool


@dataclass
class Project:
    """One table on its way to a release.

    Attributes
    ----------
    id
        Its name in addresses; random.
    name
        The name of the file for people, or the address of the database; never part of a path of ours.
    source
        Where the file is.
    folder
        The project's own private folder.
    look
        What is in the table.
    turn
        Held by the job that works.
    words
        How a command names the table.
    reading
        How the table is to be read, as far as somebody said it.
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
    model
        What is audited.
    pictures
        What pages have drawn of columns, and the hierarchies that they show.
    """

    id: str
    name: str
    source: Path
    folder: Path
    look: workflow.Look
    turn: threading.Lock
    words: tuple[str, ...]
    reading: io.Reading
    schema: Schema | None = None
    problem: IncrowdError | None = None
    jobs: dict[str, Job] = field(default_factory=dict)
    published: int = 0
    latest: Outcome | None = None
    saved: tuple[str, str] | None = None
    model: Model | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    pictures: dict[str, tuple[object, Any]] = field(default_factory=dict)
    _crowds: tuple[tuple[str, ...], workflow.Crowds] | None = None

    def propose(self, sensitive: str | None = None) -> None:
        """Guess the roles; what stands in the way is kept for the page."""
        from incrowd import workflow
        from incrowd.schema import Role

        earlier = self.schema
        wanted = [sensitive] if sensitive else [] if earlier is None else earlier.with_role(Role.SENSITIVE)
        tokens = self.reading.missing_tokens
        try:
            found = workflow.propose(
                self.source, sensitive=wanted or None, missing_tokens=tokens, reading=self.reading
            ).schema
            codes = {name: c for name, c in self.reading.missing_codes.items() if name in found.attributes}
            found = workflow.revise(found if earlier is None else workflow.carry_over(earlier, found), missing=codes)
            self.schema, self.problem = found, None
        except IncrowdError as error:
            self.schema, self.problem = None, error

    def read_again(self, reading: io.Reading) -> None:
        """Read the table in another way; roles stay where columns do. What cannot be read so changes nothing."""
        from incrowd import workflow

        self.look = workflow.look(self.source, reading=reading)
        self.reading, self._crowds = reading, None
        self.pictures.clear()
        self.propose()

    def revise(self, roles: Mapping[str, str], kinds: Mapping[str, str], target: str | None) -> None:
        """Change roles, hierarchies and the class; what is not named (``None``) stays as another tab left it."""
        with self.lock:
            self._revise(roles, kinds, target)

    def _revise(self, roles: Mapping[str, str], kinds: Mapping[str, str], target: str | None) -> None:
        from incrowd import workflow

        schema = self.needs_schema()
        target = (schema.target or "") if target is None else target
        wanted = {name: roles.get(name, attribute.role.value) for name, attribute in schema.attributes.items()}
        secret = [name for name, role in wanted.items() if role == "sensitive"]
        if target not in secret and wanted.get(target) != "other":
            target = secret[0] if len(secret) > 1 else ""  # of several, the page shows the first
        self.schema = workflow.revise(schema, roles=roles, kinds=kinds, target=target)

    def set_hierarchy(self, column: str, spec: Spec | None) -> None:
        """Give a quasi-identifier a hierarchy."""
        from incrowd import workflow

        with self.lock:
            self.schema = workflow.revise(self.needs_schema(), hierarchies={column: spec})

    def set_limits(self, limits: Mapping[str, Mapping[str, Any]], ranges: Mapping[str, Sequence[float]]) -> None:
        """Give sensitive columns limits of their own, and ranges."""
        from incrowd import workflow

        with self.lock:
            self.schema = workflow.revise(self.needs_schema(), limits=limits, ranges=ranges)

    def needs_schema(self) -> Schema:
        """Return the roles, or refuse to go on without them."""
        if self.schema is None:
            fact = "The columns have no roles yet"
            raise ParameterError(fact, "choose the sensitive column on the page Roles")
        return self.schema

    def crowds(self) -> workflow.Crowds:
        """Count the people whom the quasi-identifiers single out."""
        from incrowd import workflow

        quasi = tuple(self.needs_schema().quasi)
        if self._crowds is None or self._crowds[0] != quasi:
            self._crowds = quasi, workflow.crowds(self.look, quasi)
        return self._crowds[1]

    @property
    def counted(self) -> workflow.Crowds | None:
        """What `crowds` returns, if it is known already."""
        return self._crowds[1] if self._crowds and self._crowds[0] == tuple(self.needs_schema().quasi) else None

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

        release = self.outcome().publication.release
        reading = self.needs_schema().reading
        return self.begin("attack", {}, lambda run: workflow.attack(release, self.source, reading=reading, run=run))

    def audit(self, settings: dict[str, Any], *, counted: bool) -> Job:
        """Begin to audit the model; rules without counting are judged by their own numbers."""
        from incrowd import workflow

        model, schema = self.needs_model(), None
        if not model.is_rules:
            schema = self.needs_schema()
        data = self.source if counted or schema is not None else None
        self.jobs.pop("repair", None)
        return self.begin(
            "audit",
            settings,
            lambda run: workflow.audit(
                model.path, data, schema, reading=None if schema else self.reading, run=run, **settings
            ),
        )

    def needs_model(self) -> Model:
        """Return the model, or refuse to go on without one."""
        if self.model is None:
            fact = "There is no model yet"
            raise ParameterError(fact, "choose its file on the page Models")
        return self.model

    def outcome(self) -> Outcome:
        """Return the release, or refuse to go on without one."""
        if self.latest is None:
            fact = "There is no release yet"
            raise ParameterError(fact, "publish one on the page Result")
        return self.latest

    def _publish(self, schema: Schema, method: str | None, parameters: dict[str, Any], run: Run) -> Outcome:
        from incrowd import workflow
        from incrowd.workflow.comparing import side_by_side

        place = self.folder / f"release-{secrets.token_hex(4)}"
        place.mkdir(mode=0o700)
        try:
            done = workflow.publish(
                self.source, schema, place / "release", method=method, parameters=parameters, run=run
            )
            verdict = workflow.verify(done.folder, self.source, reading=schema.reading, run=run)
            beside = side_by_side(done.release, self.look.frame)  # type: ignore[arg-type]
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        self._take(Outcome(done, verdict, beside, self.command(method, parameters)), place)
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

    def command(self, method: str | None, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the words of the command that repeats what was clicked."""
        words = ["incrowd", "publish", *self.words, "-s", "schema.toml"]
        words += ["-m", method] if method else []
        for name, value in parameters.items():
            words += [f"-{name}" if name in ("k", "l", "t") else f"--{name}", as_number(value)]
        return (*words, "-o", "release")

    @property
    def tried(self) -> str:
        """The command that repeats what was tried; empty before, and where there is no class to compare by."""
        job = self.jobs.get("tradeoff")
        if job is None or job.state != "done" or not job.result.cv:
            return ""
        given = {"-m": job.given["methods"], "-k": map(str, job.given["k"]), "--classifiers": [job.result.classifier]}
        words = ["incrowd", "compare", *self.words, "-s", "schema.toml"]
        words += [word for option, values in given.items() for word in (option, ",".join(values))]
        return shlex.join([*words, "--cv", str(job.result.cv), "--samples", "1"])

    @property
    def checks(self) -> tuple[str, ...]:
        """The commands that repeat the check, the attacks and the report of a release."""
        from incrowd.io.reading import FILE_SETTINGS

        reading = self.needs_schema().reading
        given = {name: value for name in FILE_SETTINGS if (value := getattr(reading, name))}
        how = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return tuple(
            shlex.join(["incrowd", *verb, "--original", *self.words, *how])
            for verb in (("verify", "release"), ("attack", "release"), ("report", "release", "-o", "report.html"))
        )

    @contextmanager
    def room(self) -> Iterator[Path]:
        """Yield a folder for what one request puts aside."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            yield Path(name)

    def kept(self) -> dict[str, bytes]:
        """Return the project without its data, as files that the command line understands."""
        schema = self.needs_schema()
        with self.room() as folder:
            schema.to_toml(folder / "schema.toml")
            files = {"schema.toml": (folder / "schema.toml").read_bytes()}
        results = {name: job.result.to_dict() for name, job in self.jobs.items() if name in ("tradeoff", "attack")
                   and job.state == "done"}  # fmt: skip
        if self.latest is not None:
            commands = "\n".join([self.latest.command, *self.checks])
            files["publish.sh"] = f"# run it beside the table\n{commands}\n".encode()
            results["verdict"] = self.latest.verdict.to_dict()
            results["release"] = self.latest.publication.release.manifest.to_dict()
        for name, found in results.items():
            files[f"results/{name}.json"] = (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()
        return files

    def named(self, text: str) -> str:
        """Return a sentence with the table's name for people in place of our path."""
        return text.replace(str(self.source), self.name)

    def explain(self, error: BaseException) -> IncrowdError:
        """Return an error for people: with the file's own name in place of ours, and nothing of a bug but its place."""
        names = {str(self.source): self.name}
        if self.model is not None:
            names |= {str(self.model.path): self.model.name, self.model.path.name: self.model.name}
        return explain(error, names)
