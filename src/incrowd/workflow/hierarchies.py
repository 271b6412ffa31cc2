"""The hierarchy of one column: proposed, or from a schema or a file, and compared with the data."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import HierarchyError, ParameterError, counted
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_schema, read_source, working
from incrowd.workflow.trees import read_tree

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from incrowd.hierarchy import Hierarchy, Spec, Taxonomy
    from incrowd.schema import Schema

UNASSIGNED = "unassigned"
"""The group of values that a file lacks, in the file that is written."""

_MANY_CHILDREN = 20


@dataclass(frozen=True)
class Node:
    """A node of a tree.

    Attributes
    ----------
    name
        Its name; ``None`` for one that is named after values of fewer than k rows.
    leaves
        Number of values below it.
    rows
        Rows below it; ``None`` if they are fewer than k, and not none.
    children
        The nodes below it.
    """

    name: str | None
    leaves: int
    rows: int | None
    children: tuple[Node, ...] = ()

    def below(self) -> Iterator[Node]:
        """Yield all nodes below this one that have others below them."""
        for child in self.children:
            if child.children:
                yield child
                yield from child.below()


@dataclass(frozen=True)
class Level:
    """A level of a tree: its nodes, how many of them have k rows, and the rows of the others (``None``: below k)."""

    nodes: int
    with_k: int
    rows_of_others: int | None


@dataclass(frozen=True)
class Lacking:
    """What the data has and the tree lacks.

    Attributes
    ----------
    values, rows
        How many values, in how many rows.
    inner
        How many of them are inner nodes of the tree, which `inner_values` would make values.
    alike
        How many of them differ from a value of the tree only in case or in spaces around them.
    """

    values: int = 0
    rows: int = 0
    inner: int = 0
    alike: int = 0


@dataclass(frozen=True)
class HierarchyReport:
    """A hierarchy and the column that it is for.

    Attributes
    ----------
    column, rows, values, missing
        The column, its rows, its distinct values, and its rows without a value.
    kind, why, origin
        The kind of hierarchy, the reason for it, and where it is from: ``proposed``, ``schema``, ``kind`` or ``file``.
    setting
        The hierarchy as a schema file has it; empty where it would be as long as the tree.
    k
        Number of rows from which rows are told.
    hierarchy
        The hierarchy itself.
    spec
        What it was made of: a recipe, or a tree without the column's missing values.
    root
        Its nodes; ``None`` for ranges.
    levels
        Its levels, the leaves first.
    lacking
        What the data has and the tree lacks.
    unused, unused_values
        Names of the groups of a file that no row is in, and how many of its values no row has.
    notes
        What to be careful about.
    """

    column: str
    rows: int
    values: int
    missing: int
    kind: str
    why: str
    origin: str
    setting: str
    k: int
    hierarchy: Hierarchy = field(repr=False)
    spec: Spec | None = field(default=None, repr=False)
    root: Node | None = None
    levels: tuple[Level, ...] = ()
    lacking: Lacking = Lacking()
    unused: tuple[str, ...] = ()
    unused_values: int = 0
    notes: tuple[str, ...] = ()
    _outside: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def outside(self) -> tuple[str, ...]:
        """The values that the tree lacks, for the owner's eyes."""
        import polars as pl

        from incrowd.hierarchy.hierarchy import text

        return tuple(text(pl.Series(self._outside))) if self._outside else ()

    @property
    def ok(self) -> bool:
        """Whether every value of the column is in the hierarchy."""
        return self.lacking.values == 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; groups with fewer than k rows are counted, not listed."""
        groups = [] if self.root is None else [node for node in self.root.below() if node.rows and node.name]
        return {
            "column": self.column,
            "rows": self.rows,
            "values": self.values,
            "missing": self.missing,
            "kind": self.kind,
            "why": self.why,
            "origin": self.origin,
            "setting": self.setting,
            "k": self.k,
            "leaves": self.hierarchy.n_leaves,
            "levels": [dict(vars(level)) for level in self.levels],
            "groups": [{"name": node.name, "leaves": node.leaves, "rows": node.rows} for node in groups],
            "lacking": dict(vars(self.lacking)),
            "unused": list(self.unused),
            "unused_values": self.unused_values,
            "notes": list(self.notes),
        }

    def to_csv(self) -> str:
        """Return what `write_csv` writes."""
        with tempfile.TemporaryDirectory(prefix="incrowd-") as folder:
            self.write_csv(file := Path(folder, "tree.csv"))
            return file.read_text(encoding="utf-8")

    def write_csv(self, path: str | Path) -> None:
        """Write the tree as a level table, all of it or nothing; values that it lacks are in a group *unassigned*."""
        from incrowd.hierarchy import Taxonomy

        tree = self.hierarchy
        if not isinstance(tree, Taxonomy):
            fact = f"Column {self.column!r} becomes ranges, which have no groups to write"
            raise HierarchyError(
                fact, "choose a tree, such as kind='balanced' or kind='common', or kind='frequency' for numbers"
            )
        first = int(tree.has_missing)
        levels = [list(level[first:]) for level in tree.level_names]
        if self._outside:
            levels[0] += self.outside
            taken = {name for level in levels for name in level}
            group = UNASSIGNED
            while group in taken:
                group = f"({group})"
            for level in levels[1:-1]:
                level.extend([group] * len(self._outside))
            levels[-1] += levels[-1][:1] * len(self._outside)
        with io.atomic_file(path) as draft:
            Taxonomy(levels[0], levels[1:]).write_csv(draft)


def hierarchy(
    source: Source,
    column: str,
    *,
    schema: Schema | str | Path | None = None,
    file: str | Path | None = None,
    kind: str | None = None,
    settings: Mapping[str, Any] | None = None,
    target: str | None = None,
    k: int = 5,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> HierarchyReport:
    """Propose a hierarchy for a column, or compare one with the data.

    Parameters
    ----------
    source, column
        The table, and the column.
    schema
        Says how to read the table, which column is the class, and the hierarchy, unless `file` or `kind` does.
    file
        The tree in a file (see `incrowd.Taxonomy.read`), or a table of a database, such as ``sqlite:///a.db#jobs``.
    kind
        What the file is, or a recipe: balanced, words, prefixes and so on.
    settings
        More settings of the file or recipe, as in a schema.
    target
        The class, for recipes that look at it; that of the schema if not given.
    k
        Rows of fewer people are not told.
    reading
        How the table is to be read, where the schema does not say it.
    """
    from incrowd.schema.schema import require_columns

    if k < 1:
        fact = f"k is {k}"
        raise ParameterError(fact, "use a whole number, at least 1")
    with working(run) as work:
        roles = None if schema is None else read_schema(schema)
        how = (io.Reading() if roles is None else roles.reading).with_settings(reading)
        if file is not None and column not in how.types:
            how = replace(how, types={**how.types, column: "str"})  # codes such as 0110 stay as they are
        frame = read_source(source, how, run=work)
        target = target or (None if roles is None else roles.target)
        require_columns([column, *([target] if target else [])], frame.columns)
        classes = None if target is None or target == column else _as_published(frame[target], roles, from_file=True)
        values = _as_published(frame[column], roles, from_file=file is not None)
        spec, why, origin = _chosen(values, roles, file, kind, dict(settings or {}), has_class=classes is not None)
        return _compared(values, classes, spec, why, origin, k)


def _as_published(column: pl.Series, roles: Schema | None, *, from_file: bool) -> pl.Series:
    """Return a column as `publish` would code it: its missing values are those of the schema."""
    from incrowd.coding.cleaning import clean

    attribute = None if roles is None else roles.attributes.get(column.name)
    if roles is None or attribute is None:
        return column
    kind, spec = (None, None) if from_file else (attribute.type, attribute.hierarchy)
    return clean(column, kind, spec, roles.missing_tokens, attribute.missing).alias(column.name)


def _chosen(
    column: pl.Series,
    roles: Schema | None,
    file: str | Path | None,
    kind: str | None,
    settings: dict[str, Any],
    *,
    has_class: bool,
) -> tuple[Spec | None, str, str]:
    """Return the hierarchy that was asked for, the reason for it, and where it is from."""
    from incrowd.hierarchy import from_dict
    from incrowd.hierarchy.tree_files import columns_of
    from incrowd.schema.proposal import propose_hierarchy

    if isinstance(file, str) and io.is_url(file):
        return read_tree(file, kind, settings), f"read from '{io.public_url(file)}'", "file"
    if file is not None:
        if kind in (None, "taxonomy") and column.name in columns_of(Path(file)):
            settings = {"column": column.name, **settings}
        return from_dict({"kind": kind or "taxonomy", "file": str(file), **settings}), f"read from '{file}'", "file"
    if kind is not None:
        return from_dict({"kind": kind, **settings}), "you chose it", "kind"
    if settings:
        fact = f"Settings {', '.join(map(repr, settings))} belong to a kind or a file, and none is given"
        raise ParameterError(fact, "name the kind too, such as kind='words'")
    if roles is not None and column.name in roles.quasi:
        return roles.attributes[column.name].hierarchy, "the schema says so", "schema"
    return *propose_hierarchy(column, has_class=has_class), "proposed"


def _compared(
    column: pl.Series, classes: pl.Series | None, spec: Spec | None, why: str, origin: str, k: int
) -> HierarchyReport:
    import numpy as np

    from incrowd.hierarchy import Taxonomy
    from incrowd.hierarchy.hierarchy import OUTSIDE, count_missing
    from incrowd.release.node_names import without_rare_names
    from incrowd.schema import Attribute, Role

    built = Attribute(column.name, Role.QUASI, spec).build(column, classes)
    codes = built.encode(column)
    outside = column.filter(codes == OUTSIDE)
    counts = np.bincount(codes[codes != OUTSIDE], minlength=built.n_leaves)
    n_missing = count_missing(column)
    report = HierarchyReport(
        column=column.name,
        rows=len(column),
        values=column.n_unique() - bool(n_missing),
        missing=n_missing,
        kind="suppress" if spec is None else str(getattr(spec, "read_as", {}).get("kind") or spec.to_dict()["kind"]),
        why=why,
        origin=origin,
        setting=_setting(spec),
        k=k,
        hierarchy=built,
        spec=spec,
        lacking=_lacking(outside, built, spec),
        _outside=tuple(outside.unique().sort().to_list()),
    )
    if not isinstance(built, Taxonomy):
        return report
    told = isinstance(spec, Taxonomy)  # its names are the owner's own words, and no values of single people
    named = built if told else without_rare_names(built, counts, k)
    root = _nodes(named, counts, k, told=told)
    return replace(
        report,
        root=root,
        levels=_levels(built, counts, k),
        unused=tuple(node.name for node in root.below() if node.rows == 0 and node.name) if told else (),
        unused_values=int((counts == 0).sum()),
        notes=_notes(root),
    )


def _setting(spec: Spec | None) -> str:
    """Write a hierarchy as a schema file has it, if that is short."""
    from incrowd.hierarchy import Builder, Taxonomy
    from incrowd.schema.toml import hierarchy_text

    brief = spec is None or isinstance(spec, Builder) or not getattr(spec, "declared", True)
    return hierarchy_text(spec, Path.cwd()) if brief or (isinstance(spec, Taxonomy) and spec.file) else ""


def _lacking(outside: pl.Series, built: Hierarchy, spec: Spec | None) -> Lacking:
    """Count what is outside of a tree, and what might be done about it."""
    from incrowd.hierarchy import Taxonomy
    from incrowd.hierarchy.hierarchy import OUTSIDE, text

    if outside.is_empty():
        return Lacking()
    values = outside.unique()
    inner = 0
    if isinstance(spec, Taxonomy) and spec.file and spec.read_as.get("kind") in ("codes", "pairs"):
        wider = Taxonomy.read(spec.file, **{**spec.read_as, "inner_values": True})
        inner = int((wider.encode(values) != OUTSIDE).sum())
    known = {name.strip().casefold() for name in text(built.leaves)}
    alike = sum(name.strip().casefold() in known for name in text(values))
    return Lacking(len(values), len(outside), inner, alike)


def _levels(tree: Taxonomy, counts: npt.NDArray[np.int64], k: int) -> tuple[Level, ...]:
    import numpy as np

    found = []
    for first_of in tree.levels()[0]:
        rows = np.add.reduceat(counts, np.unique(first_of))
        few = rows[rows < k]
        found.append(Level(len(rows), len(rows) - len(few), _told(int(few.sum()), k)))
    return tuple(found)


def _told(rows: int, k: int) -> int | None:
    return rows if rows >= k or rows == 0 else None


def _nodes(tree: Taxonomy, counts: npt.NDArray[np.int64], k: int, *, told: bool) -> Node:
    """Return the nodes of a tree; levels in which a node stays the same are left out."""
    import numpy as np

    last_of = tree.levels()[1]
    up_to = np.concatenate([[0], np.cumsum(counts)])

    def node(level: int, a: int, b: int) -> Node:
        while level > 0 and last_of[level - 1, a] == b:
            level -= 1
        rows = int(up_to[b + 1] - up_to[a])
        children: list[Node] = []
        at = a
        while a < b and at <= b:
            end = int(last_of[level - 1, at])
            children.append(node(level - 1, at, end))
            at = end + 1
        may = told or (rows >= k and a < b) or (tree.has_missing and b == 0)
        name = tree.level_names[level][a] if may else None
        return Node(name, b - a + 1, _told(rows, k), tuple(children))

    return node(tree.n_levels - 1, 0, tree.n_leaves - 1)


def _notes(root: Node) -> tuple[str, ...]:
    """Say which groups have so many children that methods will hardly cut them."""
    wide = [node for node in (root, *root.below()) if len(node.children) > _MANY_CHILDREN]
    if not wide:
        return ()
    most = max(len(node.children) for node in wide)
    several = counted(len(wide), "group has", "groups have")
    text = (
        f"{several} more than {_MANY_CHILDREN} children, up to {most}: methods that cut groups cut all children "
        "apart, and each needs k rows; groups in between keep more detail."
    )
    return (text,)
