"""The application: which page answers which address, and what happens when one fails."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from incrowd.errors import IncrowdError
from incrowd.studio.guard import TooLarge, too_large
from incrowd.studio.jobs import Job
from incrowd.studio.names import explain, model_suffix, shown_name, table_suffix
from incrowd.studio.pages import Form, render
from incrowd.studio.project import Model, Project
from incrowd.studio.projects import Projects

_LOOK_EVERY = 0.2  # seconds between looks at a job
_MOST_FIELDS = 20000
# As in `incrowd.io.FORMATS`, which the first page does not wait for.
_SUFFIXES = (
    ".csv,.tsv,.txt,.gz,.bz2,.xz,.zst,.zip,.parquet,.pq,.arrow,.feather,.ipc,.xlsx,.xls,.db,.sqlite,.sqlite3,.duckdb,.ddb,"
    ".sav,.zsav,.por,.dta,.sas7bdat,.xpt"
)
_PAGES = {
    "data": ("GET", "pages_table", "data"),
    "reread": ("POST", "pages_table", "reread"),
    "roles": ("GET", "pages_table", "roles"),
    "propose": ("POST", "pages_table", "propose"),
    "revise": ("POST", "pages_table", "revise"),
    "crowds": ("GET", "pages_table", "crowds"),
    "hierarchies": ("GET", "pages_hierarchies", "hierarchies"),
    "preview": ("POST", "pages_hierarchies", "preview"),
    "tree.csv": ("GET", "pages_hierarchies", "tree_file"),
    "tradeoff": ("GET", "pages_result", "tradeoff"),
    "compare": ("POST", "pages_result", "compare"),
    "result": ("GET", "pages_result", "result"),
    "publish": ("POST", "pages_result", "publish"),
    "attack": ("POST", "pages_result", "attack"),
    "report": ("POST", "pages_result", "report"),
    "save": ("POST", "pages_result", "save"),
    "models": ("GET", "pages_models", "models"),
    "audit": ("POST", "pages_models", "audit"),
    "repair": ("POST", "pages_models", "repair"),
    "repaired": ("GET", "pages_models", "repaired_file"),
    "project.zip": ("GET", "pages_result", "project_file"),
    "schema.toml": ("GET", "pages_table", "schema_file"),
    "release.zip": ("GET", "pages_result", "release_file"),
    "private.zip": ("GET", "pages_result", "private_file"),
    "report.pdf": ("GET", "pages_result", "report_pdf"),
    "report.html": ("GET", "pages_result", "report_file"),
}
"""Pages of a project: how they are asked for, and the function that answers; loaded when they are needed."""


def make_app(projects: Projects) -> Starlette:
    """Return the application; it must stand behind a `Guard`."""
    routes = [
        Route(f"/p/{{project}}/{name}", _page(projects, module, function), methods=[method])
        for name, (method, module, function) in _PAGES.items()
    ]
    return Starlette(
        routes=[
            Route("/", _plain(projects, _start)),
            Route("/upload", _plain(projects, _upload), methods=["POST"]),
            Route("/database", _plain(projects, _database), methods=["POST"]),
            Route("/opening/events", _plain(projects, _opening_events)),
            Route("/p/{project}/models/upload", _plain(projects, _upload_model), methods=["POST"]),
            Route("/p/{project}/remove", _plain(projects, _remove), methods=["POST"]),
            Route("/p/{project}/jobs/{job}/events", _plain(projects, _events)),
            Route("/p/{project}/jobs/{job}/cancel", _plain(projects, _cancel), methods=["POST"]),
            *routes,
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        exception_handlers={404: _missing, 405: _missing, TooLarge: too_large},
    )


def _page(projects: Projects, module: str, function: str) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for a page of a project; pages compute in a thread, so that others are not kept waiting."""

    def answer(project: Project, form: Form) -> Response:
        page: Callable[[Project, Form], Response] = getattr(import_module(f"incrowd.studio.{module}"), function)
        return page(project, form)

    async def endpoint(request: Request) -> Response:
        project = _project(projects, request)
        try:
            return await run_in_threadpool(answer, project, await _form(request))
        except (TooLarge, ClientDisconnect):
            raise
        except Exception as error:
            return _failed(error, project)

    return endpoint


def _plain(
    projects: Projects, handler: Callable[[Projects, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await handler(projects, request)
        except (HTTPException, TooLarge, ClientDisconnect):
            raise
        except Exception as error:
            return _failed(error, None)

    return endpoint


def _failed(error: Exception, project: Project | None) -> Response:
    known = isinstance(error, IncrowdError)
    told = explain(error, {}) if project is None else project.explain(error)
    return render("problem.html", 400 if known else 500, project=project, error=told, here="")


async def _missing(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    told = IncrowdError("There is no such page", "go back to the start; a table that was removed has no pages")
    return render("problem.html", status, project=None, error=told, here="")


async def _form(request: Request) -> Form:
    """Return the fields of a form, or of the address."""
    if request.method != "POST":
        return Form(dict(request.query_params))
    body = await request.body()
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    several: dict[str, list[str]] = {}
    for name, value in pairs:
        several.setdefault(name, []).append(value)
    live = request.headers.get("x-studio") == "live"
    return Form({name: values[-1] for name, values in several.items()}, several, is_live=live)


def _project(projects: Projects, request: Request) -> Project:
    found = projects.all.get(request.path_params["project"])
    if found is None:
        raise HTTPException(404)
    return found


async def _start(projects: Projects, _request: Request) -> Response:
    """Show the first page; a table of the command line is led to once it is read."""
    projects.prepare()
    opening, problem = projects.opening, None
    if opening is not None and not opening.is_active:
        projects.opening = None
        if opening.state == "done":
            return RedirectResponse(f"/p/{opening.result.id}/data", 303)
        problem = None if opening.error is None else explain(opening.error, {})
    return render(
        "start.html", projects=list(projects.all.values()), project=None, here="start", opening=projects.opening,
        error=problem, suffixes=_SUFFIXES,
    )  # fmt: skip


async def _database(projects: Projects, request: Request) -> Response:
    """Read a table of a database."""
    form = await _form(request)
    try:
        project = await run_in_threadpool(projects.add_database, form.text("address"), form.text("query"))
    except IncrowdError as error:
        return render("problem.html", 400, project=None, error=error, here="")
    return RedirectResponse(f"/p/{project.id}/data", 303)


async def _upload(projects: Projects, request: Request) -> Response:
    """Take a table as it comes, into a private folder under a name of ours."""
    name = shown_name(unquote(request.headers.get("x-file-name", "")))
    try:
        stored = f"table{table_suffix(name)}"
        folder = projects.room()
        await _take(request, folder, stored)
        how = {key: value for key, value in request.query_params.items() if key in ("part", "encoding", "delimiter")}
        project = await run_in_threadpool(projects.add, name, folder / stored, folder, how=how)
    except IncrowdError as error:
        return JSONResponse({"fact": error.fact, "hint": error.hint}, 400)
    return JSONResponse({"page": f"/p/{project.id}/data"})


async def _upload_model(projects: Projects, request: Request) -> Response:
    """Take a model, or a table of rules; it is not loaded yet."""
    from incrowd import io
    from incrowd.audit.files import DUMPS, PICKLES

    project = _project(projects, request)
    name = shown_name(unquote(request.headers.get("x-file-name", "")))
    try:
        suffix = model_suffix(name)
        folder = project.folder / f"model-{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        await _take(request, folder, f"model{suffix}")
    except IncrowdError as error:
        return JSONResponse({"fact": error.fact, "hint": error.hint}, 400)
    is_rules = suffix not in DUMPS and io.find_format(f"model{suffix}") is not None
    earlier = project.model
    project.model = Model(name, folder / f"model{suffix}", is_rules, suffix in PICKLES)
    for about_it in ("audit", "repair"):
        project.jobs.pop(about_it, None)
    if earlier is not None:
        shutil.rmtree(earlier.path.parent, ignore_errors=True)
    return JSONResponse({"page": f"/p/{project.id}/models"})


async def _take(request: Request, folder: Path, name: str) -> None:
    """Write the body of a request to a file; one that breaks off leaves nothing."""
    try:
        with (folder / name).open("xb") as out:
            async for chunk in request.stream():
                await run_in_threadpool(out.write, chunk)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def _remove(projects: Projects, request: Request) -> Response:
    await run_in_threadpool(projects.remove, _project(projects, request))
    return RedirectResponse("/", 303)


async def _cancel(projects: Projects, request: Request) -> Response:
    project = _project(projects, request)
    job = project.jobs.get(request.path_params["job"])
    if job is None:
        raise HTTPException(404)
    job.cancel()
    if job.thread is not None:
        await run_in_threadpool(job.thread.join, 2)
    pages = {"tradeoff": "tradeoff", "audit": "models", "repair": "models"}
    return RedirectResponse(f"/p/{project.id}/{pages.get(job.name, 'result')}", 303)


async def _events(projects: Projects, request: Request) -> Response:
    """Tell how far a job is."""
    return _told(_project(projects, request).jobs.get(request.path_params["job"]))


async def _opening_events(projects: Projects, _request: Request) -> Response:
    """Tell how far the table of the command line is read."""
    return _told(projects.opening)


def _told(job: Job | None) -> Response:
    """Tell how far a job is, whenever that has changed, until it ends."""
    if job is None:
        raise HTTPException(404)

    async def stream() -> AsyncIterator[str]:
        last = None
        while True:
            seen = job.seen()
            if seen != last:
                yield f"data: {json.dumps(seen)}\n\n"
                last = seen
            if seen["state"] not in ("waiting", "running"):
                return
            await asyncio.sleep(_LOOK_EVERY)

    return StreamingResponse(stream(), media_type="text/event-stream")
