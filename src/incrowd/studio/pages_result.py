"""Pages about the release: what privacy costs, and what comes out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.responses import Response

from incrowd import io, workflow
from incrowd.errors import InfeasibleError, MissingDependencyError, ParameterError
from incrowd.manifest import GROUPS
from incrowd.publish import default_method, find_publisher, methods, publisher_names
from incrowd.report.adversaries import adversaries_of
from incrowd.report.checks import title_of
from incrowd.report.pdf import find_chromium, save_pdf
from incrowd.report.promise import promise_of
from incrowd.report.rates import Rating
from incrowd.studio.charts import charts_of
from incrowd.studio.jobs import Job
from incrowd.studio.limits import MORE, PARAMETERS, column_limits, columns_with_limits, given_limits
from incrowd.studio.pages import Form, back_to, render, whole
from incrowd.studio.project import Project
from incrowd.studio.sending import files_of, packed, send

_QUICK = ("best_cuts", "mondrian", "infogain_mondrian", "tight_groups", "tds", "kactus")
_CLASSIFIERS = {"tree": "decision tree", "naive_bayes": "naive Bayes", "logistic": "logistic regression"}
_KS = (2, 3, 5, 10, 25, 50, 100)
_WORDS = {
    "best_cuts": "keeps what predicts the class",
    "mondrian": "cuts the table at medians; keeps much detail",
    "infogain_mondrian": "cuts where the classes come apart",
    "tight_groups": "keeps the most detail; slow on large tables",
    "tds": "one set of groups per column, from coarse to fine",
    "kactus": "hides values that a decision tree does not need",
}


def tradeoff(project: Project, form: Form) -> Response:
    """Show what methods and sizes of crowds cost."""
    schema = project.needs_schema()
    job = project.jobs.get("tradeoff")
    given = job.given if job is not None else _defaults(project)
    found = job.result if job is not None and job.state == "done" else None
    return render(
        "tradeoff.html", project=project, job=job, given=given, quick=[(n, _WORDS[n]) for n in _QUICK],
        words=_WORDS,
        classifiers=_CLASSIFIERS, schema=schema, found=found, charts=[] if found is None else charts_of(found),
        error=_error(project, job), here="tradeoff", form=form,
    )  # fmt: skip


def compare(project: Project, form: Form) -> Response:
    """Begin to try methods."""
    ks = [whole(part.strip(), "k") for part in form.text("k").replace(";", ",").split(",") if part.strip()]
    chosen = [name for name in form.several.get("method", []) if find_publisher(name)]
    if not chosen or not ks:
        fact = f"No {'k' if chosen else 'method'} was chosen"
        raise ParameterError(fact, "choose one or more")
    classifier = form.text("classifier") or "tree"
    if classifier not in _CLASSIFIERS:
        fact = f"There is no classifier {classifier!r} here"
        raise ParameterError(fact, f"use one of {', '.join(_CLASSIFIERS)}")
    project.compare(chosen, ks, classifier)
    return back_to(project.id, "tradeoff")


def result(project: Project, form: Form) -> Response:
    """Show the release, or the form that makes one."""
    schema = project.needs_schema()
    job, attacking, reporting = (project.jobs.get(name) for name in ("publish", "attack", "report"))
    usual = default_method(schema)
    given: dict[str, Any] = {"method": usual, "k": _usual_k(project)}
    given |= job.given if job is not None else {}
    if form.text("k"):
        given = {"method": form.text("method") or usual, "k": form.whole("k"), **given_limits(form)}
    return render(
        "result.html", project=project, schema=schema, job=job, given=given, methods=_described(), usual=usual,
        outcome=project.latest, attacking=attacking, reporting=reporting,
        error=_error(project, job), attack_error=_error(project, attacking), report_error=_error(project, reporting),
        closest=_closest(job), expected=workflow.expect(schema, {"l": given.get("l")}) if given.get("l") else (),
        more=MORE, columns=columns_with_limits(schema),
        chosen=bool(form.text("k")), can_print=_can_print(), here="result", title_of=title_of,
        **_about(project, attacking),
    )  # fmt: skip


def _about(project: Project, attacking: Job | None) -> dict[str, Any]:
    """Return what the report says of a release: its promise in a sentence, and what adversaries got."""
    if project.latest is None:
        return {"sentence": "", "hidden": False, "attacked": ()}
    manifest = project.latest.publication.release.manifest
    hidden = manifest.crowds == GROUPS and manifest.k > 1
    hidden = hidden and not any(guarantee.kind == "lkc" for guarantee in manifest.guarantees)
    done = attacking if attacking is not None and attacking.state == "done" else None
    lines = adversaries_of(done.result, manifest, Rating(manifest.k, exact=True), ()).lines if done else ()
    return {"sentence": promise_of(manifest).sentence, "hidden": hidden, "attacked": lines}


def publish(project: Project, form: Form) -> Response:
    """Begin to publish."""
    parameters = {"k": form.whole("k"), **given_limits(form)}
    project.set_limits(*column_limits(form, project.needs_schema()))
    project.publish(form.text("method") or None, parameters)
    return back_to(project.id, "result")


def attack(project: Project, _form: Form) -> Response:
    """Begin to attack the release."""
    project.attack()
    return back_to(project.id, "result#attacks")


def report(project: Project, _form: Form) -> Response:
    """Begin to write the report."""
    folder = Path(project.outcome().publication.folder)
    path = folder.with_name("report.html")
    reading = project.needs_schema().reading

    def work(run: workflow.Run) -> Path:
        for earlier in (path, path.with_suffix(".pdf")):
            earlier.unlink(missing_ok=True)
        workflow.report(folder, project.source, output=path, reading=reading, run=run)
        return path

    project.begin("report", {}, work)
    return back_to(project.id, "result#report")


def report_file(project: Project, _form: Form) -> Response:
    """Send the report."""
    return send(_report(project).read_bytes(), "report.html", "text/html")


def report_pdf(project: Project, _form: Form) -> Response:
    """Send the report as PDF; it is printed when somebody asks for it."""
    page = _report(project)
    printed = page.with_suffix(".pdf")
    if not printed.exists():
        save_pdf(page.read_text(encoding="utf-8"), printed)
    return send(printed.read_bytes(), "report.pdf", "application/pdf")


def _report(project: Project) -> Path:
    job = project.jobs.get("report")
    if job is None or job.state != "done":
        fact = "There is no report yet"
        raise ParameterError(fact, "make one on the page Result")
    return Path(job.result)


def _can_print() -> bool:
    with suppress(MissingDependencyError):
        return bool(find_chromium())
    return False


def save(project: Project, form: Form) -> Response:
    """Save the release and its private part where the owner says: in a new folder, a file, or a table of a database."""
    text = form.text("place")
    if not text:
        fact = "No place was named"
        raise ParameterError(
            fact, "name a new folder, for example ~/release, or a table: sqlite:////data/out.db#release"
        )
    output: str | Path = text if io.is_url(text) else _absolute(text)
    place = io.place_of(output)
    kept = _absolute(form.text("private")) if form.text("private") else None
    if kept is None:
        kept = Path.home() / f"{place.path.name}.private" if place.kind == "database" else place.private
    project.outcome().publication.release.save_to(output, private=kept)
    project.saved = str(place), str(kept)
    return back_to(project.id, "result#keep")


def _absolute(text: str) -> Path:
    path = Path(text).expanduser()
    return path if path.is_absolute() else Path.home() / path


def release_file(project: Project, _form: Form) -> Response:
    """Send the public part of the release."""
    files = files_of(Path(project.outcome().publication.folder))
    return send(packed(files, "release"), "release.zip", "application/zip")


def private_file(project: Project, _form: Form) -> Response:
    """Send the private part of the release, to its owner."""
    content = packed(files_of(project.outcome().publication.private), "release.private")
    return send(content, "release-PRIVATE-do-not-share.zip", "application/zip")


def project_file(project: Project, _form: Form) -> Response:
    """Send roles, hierarchies and results, without any data."""
    return send(packed(project.kept(), "project"), "project.zip", "application/zip")


def _defaults(project: Project) -> dict[str, Any]:
    possible = [k for k in _KS if 4 * k <= project.look.rows] or [2]
    usual = default_method(project.needs_schema())
    return {"methods": list(dict.fromkeys([usual, "mondrian"])), "k": possible[-4:], "classifier": "tree"}


def _usual_k(project: Project) -> int:
    return 10 if project.look.rows >= 100 else 3


def _described() -> list[tuple[str, str]]:
    promises = {row["name"]: row["promises"] for row in methods()}
    return [(name, _WORDS.get(name) or f"promises {promises[name]}") for name in publisher_names()]


def _error(project: Project, job: Job | None) -> Exception | None:
    return None if job is None or job.error is None else project.explain(job.error)


def _closest(job: Job | None) -> dict[str, Any]:
    """Return settings that can be reached, after some that cannot; empty where the page has no field for them."""
    if job is None or not isinstance(job.error, InfeasibleError) or not set(job.error.best) <= set(PARAMETERS):
        return {}
    best = {name: int(value) if name == "k" else value for name, value in job.error.best.items()}
    return {name: value for name, value in {**job.given, **best}.items() if value is not None} if best else {}
