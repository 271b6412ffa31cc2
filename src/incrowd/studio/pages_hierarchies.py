"""The page about hierarchies: a picture of each, and a builder that shows what every change would make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from incrowd import workflow
from incrowd.errors import IncrowdError, ParameterError
from incrowd.studio.names import explain
from incrowd.studio.pages import AT_ONCE, Form, back_to, render, whole
from incrowd.studio.project import Project
from incrowd.studio.sending import send
from incrowd.workflow import trees
from incrowd.workflow.revising import BINS, Recipe, kind_of

if TYPE_CHECKING:
    from incrowd.workflow import HierarchyReport

OWN = "own"
_MOST_MOVABLE = 400  # names that can be dragged; more are changed as a file
_SHOWN_LACKING = 60
_WORDS = {
    "at_least": ("Rare below so many people", "20"),
    "branching": ("Parts of a group", "5"),
    "step": ("Characters per step", "1"),
    "at": ("Where the shared words are", "start or end"),
    "width": ("Width of the finest ranges", "10"),
    "start": ("Where a range begins", "0"),
    "edges": ("Or: where ranges begin, with commas", "18, 30, 65"),
    "levels": ("Number of levels", "3"),
}


@dataclass(frozen=True)
class Tree:
    """A tree as text, in one of the forms of `trees.FORMS`."""

    text: str
    form: str = "pairs"


@dataclass(frozen=True)
class Preview:
    """What a hierarchy would be, or why it cannot be."""

    report: HierarchyReport | None
    strips: tuple[trees.Strip, ...] = ()
    parents: dict[str, str] | None = None
    problem: IncrowdError | None = None

    @property
    def below(self) -> dict[str, list[str]]:
        """The names below each group; the top is an empty text."""
        found: dict[str, list[str]] = {"": []}
        for child, parent in (self.parents or {}).items():
            found.setdefault(parent, []).append(child)
        return found

    @property
    def first(self) -> int:
        """Where an example of a range begins."""
        assert self.report is not None
        return int(self.report.hierarchy.has_missing)

    @property
    def last(self) -> int:
        """Where it ends."""
        assert self.report is not None
        return min(self.first + 2, self.report.hierarchy.n_leaves - 1)


def hierarchies(project: Project, form: Form) -> Response:
    """Show the hierarchy of one column, and what else it could be."""
    schema = project.needs_schema()
    number, name = _column(project, form)
    spec = schema.attributes[name].hierarchy
    # Of a large table, the page comes first, and asks for the picture when it has the rest.
    is_late = project.look.rows > AT_ONCE and not form.text("drawn") and not _is_drawn(project, name)
    preview = None if is_late else _current(project, name)
    settings = {} if spec is None else {n: _written(v) for n, v in spec.to_dict().items() if n != "kind"}
    quasi = [(n, each, kind_of(schema.attributes[each].hierarchy)) for n, each in _numbered(project)]
    kind = kind_of(spec)
    is_tree = kind == "taxonomy"
    return render(
        "hierarchies.html", project=project, quasi=quasi, number=number, name=name, preview=preview, kind=kind,
        kinds=[*workflow.recipes(schema.attributes[name].type), *_bins(schema.attributes[name].type)], words=_WORDS,
        settings=settings, own=is_tree, forms=trees.FORMS,
        tree=Tree(trees.pairs_text(preview.parents) if preview and preview.parents else ""), here="hierarchies",
        kind_words={each.kind: each.words for each in (*workflow.recipes(None), BINS)} | {"taxonomy": "your tree"},
        lacking=_SHOWN_LACKING,
    )  # fmt: skip


def preview(project: Project, form: Form) -> Response:
    """Show what a change would make, or keep it if the button for that was pressed."""
    number, name = _column(project, form)
    tree, moves = Tree(form.fields.get("text", ""), form.text("form") or "pairs"), form.text("do") == "move"
    is_own = moves or form.text("kind") == OWN
    if is_own and not tree.text.strip():
        tree = _flat(project, name)
    if moves:
        tree = _moved(project, name, tree, form)
    shown = _previewed(project, lambda: _of_tree(project, name, tree) if is_own else _of_recipe(project, name, form))
    if form.text("do") == "keep":
        return _keep(project, number, name, shown)
    if not is_own and shown.parents is not None:
        tree = Tree(trees.pairs_text(shown.parents))
    return render(
        "preview.html", project=project, number=number, name=name, preview=shown, tree=tree, own=is_own,
        forms=trees.FORMS, lacking=_SHOWN_LACKING,
    )  # fmt: skip


def _keep(project: Project, number: int, name: str, shown: Preview) -> Response:
    """Give the column the hierarchy that is shown."""
    if shown.report is None:
        assert shown.problem is not None
        raise shown.problem
    if not shown.report.ok:
        fact = f"The tree lacks {len(shown.report.outside)} values of column {name!r}"
        raise ParameterError(fact, "give each of them a place; the page lists them")
    project.set_hierarchy(name, shown.report.spec)
    return back_to(project.id, f"hierarchies?column={number}")


def tree_file(project: Project, form: Form) -> Response:
    """Send the tree of a column as a level table, in ARX's form or ours."""
    number, name = _column(project, form)
    from incrowd.hierarchy import Taxonomy

    shown = _current(project, name)
    if shown.problem is not None:
        raise shown.problem
    found = None if shown.report is None else shown.report.hierarchy
    if not isinstance(found, Taxonomy):
        fact = f"Column {name!r} becomes ranges, which have no groups to write"
        raise ParameterError(fact, "choose a tree first")
    is_arx = form.text("form") != "header"
    with project.room() as folder:
        written = trees.level_text(found, folder, arx=is_arx)
    return send(written.encode(), f"tree-{number}.csv", "text/csv")


def _numbered(project: Project) -> list[tuple[int, str]]:
    schema = project.needs_schema()
    return [(n, name) for n, name in enumerate(schema.attributes) if name in schema.quasi]


def _column(project: Project, form: Form) -> tuple[int, str]:
    known = dict(_numbered(project))
    given = form.text("column")
    number = whole(given, "column") if given else next(iter(known))
    if number not in known:
        fact = "This column is not made coarser"
        raise ParameterError(fact, "give it the role Recognizes people first")
    return number, known[number]


def _of_recipe(project: Project, name: str, form: Form) -> HierarchyReport:
    kind, target = form.text("kind"), project.needs_schema().target
    return workflow.hierarchy(
        project.look.frame,
        name,
        kind=kind,
        settings=_settings(form, kind),
        target=None if target == name else target,
        k=1,
    )


def _of_tree(project: Project, name: str, tree: Tree) -> HierarchyReport:
    from incrowd.hierarchy import Taxonomy
    from incrowd.hierarchy.tree_files import columns_of

    with project.room() as folder:  # of its own: the page asks again while somebody types, and so may another tab
        path = trees.read_text(tree.text, tree.form, folder)
        try:
            found = Taxonomy.read(path, tree.form, column=name if name in columns_of(path) else None)
        except IncrowdError as error:
            raise explain(error, {str(path): "your tree"}) from None
    own = Taxonomy(found.leaves, found.level_names[1:])  # the schema holds the tree itself, not the name of our file
    changed = workflow.revise(project.needs_schema(), hierarchies={name: own})
    return workflow.hierarchy(project.look.frame, name, schema=changed, k=1)


def _flat(project: Project, name: str) -> Tree:
    """Return a tree without groups, to begin with."""
    from incrowd.hierarchy.hierarchy import text

    return Tree(trees.pairs_text(dict.fromkeys(text(project.look.frame[name].drop_nulls().unique().sort()), "")))


def _moved(project: Project, name: str, tree: Tree, form: Form) -> Tree:
    """Return the tree after some names were moved to a group."""
    parents = _previewed(project, lambda: _of_tree(project, name, tree)).parents
    if parents is None:
        fact = "The tree has to be right before anything in it can be moved"
        raise ParameterError(fact, "correct it as text first")
    group = form.text("new") or form.fields.get("to", "")
    return Tree(trees.pairs_text(trees.moved(parents, form.several.get("name", []), group)))


def _is_drawn(project: Project, name: str) -> bool:
    """Return whether the picture of a column's hierarchy is known already."""
    schema = project.needs_schema()
    known = project.pictures.get(name)
    return known is not None and known[0] == (schema.attributes[name].hierarchy, schema.target)


def _current(project: Project, name: str) -> Preview:
    """Return the picture of the hierarchy that a column has; it is drawn once."""
    schema = project.needs_schema()
    about = (schema.attributes[name].hierarchy, schema.target)
    known = project.pictures.get(name)
    if known is None or not _is_drawn(project, name):
        drawn = _previewed(project, lambda: workflow.hierarchy(project.look.frame, name, schema=schema, k=1))
        known = project.pictures[name] = about, drawn
    found: Preview = known[1]
    return found


def _previewed(project: Project, make: Any) -> Preview:  # noqa: ANN401 - a function that makes a report
    from incrowd.hierarchy import Taxonomy

    try:
        report: HierarchyReport = make()
    except IncrowdError as error:
        return Preview(None, problem=project.explain(error))
    found, parents = report.hierarchy, None
    if isinstance(found, Taxonomy) and found.n_leaves <= _MOST_MOVABLE:
        try:
            parents = trees.parents_of(found)
        except IncrowdError:  # it can still be changed as a file
            parents = None
    strips = () if isinstance(found, Taxonomy) else trees.strips(project.look.frame[report.column], found)
    return Preview(report, strips, parents)


def _bins(kind: str | None) -> tuple[Recipe, ...]:
    return (BINS,) if kind in BINS.types else ()


def _settings(form: Form, kind: str) -> dict[str, Any]:
    """Return the settings of a recipe that were filled in."""
    recipe = next((each for each in (*workflow.recipes(None), BINS) if each.kind == kind), None)
    if recipe is None:
        fact = f"There is no way {kind!r} to make a column coarser"
        raise ParameterError(fact, "choose one of the list")
    found: dict[str, Any] = {}
    for name in recipe.settings:
        text = form.text(f"set-{kind}-{name}")
        if name == "edges" and text:
            found[name] = [_number(part, name) for part in text.replace(";", ",").split(",") if part.strip()]
        elif name == "at" and text:
            found[name] = text
        elif text:
            found[name] = _number(text, name)
    return found


def _number(text: str, name: str) -> float | int:
    text = text.strip()
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        fact = f"{name} is {text!r}, which is not a number"
        raise ParameterError(fact, "write for example 10") from None


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
