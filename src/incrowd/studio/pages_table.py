"""Pages about the table: what is in it, and what each column is."""

from __future__ import annotations

from starlette.responses import Response

from incrowd import workflow
from incrowd.errors import IncrowdError
from incrowd.schema import Role
from incrowd.studio.pages import Form, back_to, render
from incrowd.studio.projects import Project
from incrowd.studio.sending import send
from incrowd.workflow.revising import kind_of

ROLES = {
    Role.QUASI: "Recognizes people",
    Role.SENSITIVE: "Sensitive",
    Role.IDENTIFIER: "Identifier",
    Role.OTHER: "Other",
}


def data(project: Project, _form: Form) -> Response:
    """Show what is in the table."""
    return render("data.html", project=project, look=project.look, here="data")


def roles(project: Project, _form: Form) -> Response:
    """Show what each column is, to be corrected."""
    if project.schema is None:
        return render("no_roles.html", project=project, look=project.look, error=project.problem, here="roles")
    known = {str(column["column"]): column for column in project.look.columns}
    rows = [
        {
            "number": number,
            "name": name,
            "role": attribute.role.value,
            "kind": kind_of(attribute.hierarchy),
            "why": attribute.why,
            "recipes": _recipes(attribute.type, kind_of(attribute.hierarchy)),
            **known[name],
        }
        for number, (name, attribute) in enumerate(project.schema.attributes.items())
    ]
    return render("roles.html", project=project, rows=rows, roles=ROLES, here="roles", **_live(project, None))


def propose(project: Project, form: Form) -> Response:
    """Guess the roles again, with another sensitive column."""
    project.propose(form.text("sensitive") or None)
    return back_to(project.id, "roles")


def revise(project: Project, form: Form) -> Response:
    """Take corrections of the roles; a script gets the numbers that follow from them."""
    schema = project.needs_schema()
    names = list(enumerate(schema.attributes))
    problem = None
    try:
        project.revise(
            {name: form.text(f"role-{number}") for number, name in names if f"role-{number}" in form.fields},
            {name: form.text(f"kind-{number}") for number, name in names if form.text(f"kind-{number}")},
            {str(number): name for number, name in names}.get(form.text("target"), ""),
        )
    except IncrowdError as error:
        if not form.is_live:
            raise
        problem = error
    if form.is_live:
        return render("crowds.html", project=project, **_live(project, problem))
    return back_to(project.id, "tradeoff")


def schema_file(project: Project, _form: Form) -> Response:
    """Send the schema as a file."""
    schema = project.needs_schema()
    path = project.folder / "schema.toml"
    path.unlink(missing_ok=True)
    schema.to_toml(path)
    return send(path.read_bytes(), "schema.toml", "application/toml")


def _live(project: Project, problem: IncrowdError | None) -> dict[str, object]:
    """Return what changes with every click: who is unique, and which columns can be the class."""
    schema = project.needs_schema()
    numbers = {name: number for number, name in enumerate(schema.attributes)}
    targets = [(numbers[name], name) for name in (*schema.secrets, *schema.other)]
    crowds = None if problem is not None else project.crowds()
    return {"schema": schema, "crowds": crowds, "problem": problem, "targets": targets}


def _recipes(kind: str | None, current: str) -> list[tuple[str, str]]:
    found = [(recipe.kind, recipe.words) for recipe in workflow.recipes(kind)]
    return found if current in dict(found) else [(current, current), *found]
