"""The page about models: whom a model reveals, and what is left of it after a repair."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from incrowd import workflow
from incrowd.errors import ParameterError
from incrowd.studio.names import as_argument, as_number
from incrowd.studio.pages import Form, back_to, render
from incrowd.studio.project import Project
from incrowd.studio.sending import send

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.runs import Run

_WORD = "trust"  # the option of the command line that lets a pickle be loaded


@dataclass(frozen=True)
class Repaired:
    """A repaired model or table of rules, and what it is still right about."""

    path: Path
    is_safe: bool
    accuracy: dict[str, float]


def models(project: Project, _form: Form) -> Response:
    """Show the audit of a model, or what it needs."""
    job, repair = project.jobs.get("audit"), project.jobs.get("repair")
    found = job.result if job is not None and job.state == "done" else None
    schema = project.schema
    given: dict[str, Any] = {"k": 10, "public": ", ".join(schema.quasi) if schema else "", "people": project.look.rows}
    if job is not None:
        given |= {name: value for name, value in job.given.items() if value is not None}
        given["public"] = ", ".join(job.given.get("public") or [])
    return render(
        "models.html", project=project, model=project.model, job=job, repair=repair, found=found, given=given,
        word=_WORD,
        sizes=_sizes(found), error=_error(project, job), repair_error=_error(project, repair), here="models",
        can_repair=_can_repair(project, found), schema=schema, command=_command(project, job),
    )  # fmt: skip


def audit(project: Project, form: Form) -> Response:
    """Begin to audit the model."""
    model = project.needs_model()
    k = form.whole("k")
    if model.is_rules:
        public = [word.strip() for word in form.text("public").split(",") if word.strip()]
        counted = form.text("counted") == "yes"
        people = None if counted else form.whole("people")
        project.audit({"k": k, "public": public, "people": people, "rounding": form.number("rounding") or 0.0},
                      counted=counted)  # fmt: skip
        return back_to(project.id, "models")
    if model.is_pickle and form.text("trust") != _WORD:
        fact = f"'{model.name}' is a pickle: loading it runs whatever code is in it, with your rights"
        raise ParameterError(fact, f"if you trust whoever made it, type {_WORD}; else ask for a .skops file")
    settings = {"k": k, "l": form.number("l"), "max_confidence": form.number("max_confidence"),
                "class_public": form.text("class_public") == "yes", "trust": form.text("trust") == _WORD}  # fmt: skip
    project.audit(settings, counted=True)
    return back_to(project.id, "models")


def repair(project: Project, _form: Form) -> Response:
    """Begin to repair the model."""
    model, job = project.needs_model(), project.jobs.get("audit")
    if job is None or job.state != "done":
        fact = "There is no audit yet"
        raise ParameterError(fact, "audit the model first")
    found = job.result
    path = model.path.with_name(f"repaired{model.path.suffix}")

    def work(_run: Run) -> Repaired:
        path.unlink(missing_ok=True)
        changed = workflow.save_repair(found, path)
        accuracy = {} if model.is_rules else found.compare(changed)
        return Repaired(path, getattr(found, "repair_is_safe", True), accuracy)

    project.begin("repair", {}, work)
    return back_to(project.id, "models#repair")


def repaired_file(project: Project, _form: Form) -> Response:
    """Send the repaired model."""
    job = project.jobs.get("repair")
    if job is None or job.state != "done":
        fact = "There is no repaired model yet"
        raise ParameterError(fact, "repair it on the page Models")
    path: Path = job.result.path
    return send(path.read_bytes(), path.name, "application/octet-stream")


def _sizes(found: Any) -> list[tuple[str, int, int]]:  # noqa: ANN401
    """Count people by the size of their crowd: words, people, kinds of people."""
    if found is None or not hasattr(found, "span_of"):
        return []
    audit: Audit = found
    told = audit.people[audit.multiple & (audit.people > 0)]
    silent = audit.people[~audit.multiple & (audit.people > 0)]
    k = audit.k
    parts = [
        ("alone", told[told == 1]),
        (f"with 1 to {k - 2} others" if k > 3 else "with 1 other", told[(told > 1) & (told < k)]),
        (f"in a crowd of {k} or more", told[told >= k]),
        ("nothing private is told about them", silent),
    ]
    return [(words, int(people.sum()), len(people)) for words, people in parts if len(people)]


def _can_repair(project: Project, found: Any) -> bool:  # noqa: ANN401
    if found is None or found.ok or project.model is None:
        return False
    from incrowd.audit.files import PICKLES, SKOPS

    return project.model.is_rules or project.model.path.suffix in (*PICKLES, SKOPS)


def _command(project: Project, job: Any) -> str:  # noqa: ANN401
    """Return the command that repeats the audit."""
    if job is None or project.model is None:
        return ""
    given = job.given
    words = ["incrowd", "audit", as_argument(project.model.name)]
    if project.model.is_rules:
        words += ["--people", str(given["people"])] if given["people"] else list(project.words)
        words += ["--public", ",".join(given["public"]), "-k", str(given["k"])]
        return shlex.join([*words, *(["--rounding", as_number(given["rounding"])] if given["rounding"] else [])])
    words += [*project.words, "-s", "schema.toml", "-k", str(given["k"])]
    words += ["-l", as_number(given["l"])] if given["l"] is not None else []
    words += ["--max-confidence", as_number(given["max_confidence"])] if given["max_confidence"] is not None else []
    words += [f"--{name.replace('_', '-')}" for name in ("class_public", "trust") if given[name]]
    return shlex.join(words)


def _error(project: Project, job: Any) -> Exception | None:  # noqa: ANN401
    return None if job is None or job.error is None else project.explain(job.error)
