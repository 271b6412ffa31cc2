"""Pages about the table: what is in it, and what each column is."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from incrowd import io, workflow
from incrowd.errors import IncrowdError
from incrowd.schema import Role
from incrowd.schema.schema import TYPES
from incrowd.studio.pages import AT_ONCE, Form, back_to, in_pages, render
from incrowd.studio.project import Project
from incrowd.studio.sending import send
from incrowd.workflow.revising import kind_of

ROLES = {
    Role.QUASI: "Recognizes people",
    Role.SENSITIVE: "Sensitive",
    Role.IDENTIFIER: "Identifier",
    Role.OTHER: "Other",
}
_MEANINGS = {
    Role.QUASI: "somebody may know it about a person: it is made coarser",
    Role.SENSITIVE: "what nobody should learn about a person",
    Role.IDENTIFIER: "never published",
    Role.OTHER: "published as it is",
}
_FILE = ("encoding", "delimiter", "decimal", "thousands", "date_format", "sheet")
_CHOICES = {
    "encoding": ("utf-8", "cp1252", "latin-1", "cp1250", "cp1251", "utf-16", "shift_jis", "gb18030", "big5", "euc_kr"),
    "delimiter": (",", ";", "tab", "|"),
    "decimal": (".", ","),
    "thousands": (",", ".", "'", " "),
}
_TEXT_FORMATS = ("CSV", "TSV", "text", "packed CSV", "packed TSV", "packed text")


def data(project: Project, _form: Form) -> Response:
    """Show what is in the table, and how it was read, to be corrected."""
    found = io.find_format(project.source)
    is_text = found is not None and found.name in _TEXT_FORMATS
    settings = {
        name: (getattr(project.reading, name) or "", project.look.found.get(name, ""))
        for name in _FILE
        if (name == "sheet") == (found is not None and found.name.startswith("Excel")) and (is_text or name == "sheet")
    }
    notes = [project.named(note) for note in project.look.notes]
    return render(
        "data.html", project=project, look=project.look, notes=notes, settings=settings, choices=_CHOICES, types=TYPES,
        here="data",
    )  # fmt: skip


def reread(project: Project, form: Form) -> Response:
    """Read the table again, as somebody corrected it."""
    before, types, codes = project.reading, {}, {}
    for number, column in enumerate(project.look.columns):
        name = str(column["column"])
        kind = form.text(f"type-{number}")
        if kind in TYPES and (kind != column["type"] or name in before.types):
            types[name] = kind
        given = [*form.several.get(f"suspect-{number}", []), *_words(form.text(f"codes-{number}"))]
        if given:
            codes[name] = tuple(dict.fromkeys(given))
    file = {name: form.text(name) or None for name in _FILE if name in form.fields}
    wanted = replace(
        before,
        types=types,
        missing_codes=codes,
        missing_tokens=tuple(_words(form.text("tokens"))),
        **file,  # type: ignore[arg-type]
    )
    if wanted != before:
        project.read_again(wanted)
    return back_to(project.id, "roles" if form.text("go") == "roles" else "data")


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
            "why": in_pages(attribute.why),
            "recipes": _recipes(attribute.type, kind_of(attribute.hierarchy)),
            **known[name],
        }
        for number, (name, attribute) in enumerate(project.schema.attributes.items())
    ]
    return render(
        "roles.html", project=project, rows=rows, roles=ROLES, meanings=_MEANINGS, here="roles", **_live(project)
    )


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
            {str(number): name for number, name in names}.get(form.text("target")) if "target" in form.fields else None,
        )
    except IncrowdError as error:
        if not form.is_live:
            raise
        problem = error
    if form.is_live:
        if project.look.rows <= AT_ONCE:  # of a larger table, the page asks for the numbers when it has the rest
            project.crowds()
        return render("crowds.html", project=project, **_live(project, problem))
    return back_to(project.id, "hierarchies")


def crowds(project: Project, _form: Form) -> Response:
    """Count who stands out, for a page that is shown already."""
    project.crowds()
    return render("crowds.html", project=project, **_live(project))


def schema_file(project: Project, _form: Form) -> Response:
    """Send the schema as a file."""
    return send(project.kept()["schema.toml"], "schema.toml", "application/toml")


def _live(project: Project, problem: IncrowdError | None = None) -> dict[str, object]:
    """Return what changes with every click: who is unique, and which columns can be the class."""
    schema = project.needs_schema()
    numbers = {name: number for number, name in enumerate(schema.attributes)}
    targets = [(numbers[name], name) for name in (*schema.secrets, *schema.other)]
    return {"schema": schema, "crowds": project.counted, "problem": problem, "targets": targets}


def _recipes(kind: str | None, current: str) -> list[tuple[str, str]]:
    found = [(recipe.kind, recipe.words) for recipe in workflow.recipes(kind)]
    named = {"taxonomy": "your own tree", "bins": "ranges of your choice"}
    return found if current in dict(found) else [(current, named.get(current, current)), *found]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
