"""Taxonomy: a tree over the domain whose leaves are ordered so that every node is contiguous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from operator import ne
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.codes import code_parents, codes_of
from incrowd.hierarchy.hierarchy import (
    MISSING,
    Codes,
    Hierarchy,
    Weights,
    as_leaves,
    count_missing,
    domain_of,
    leaves_from_data,
    leaves_to_data,
    require_values,
    text,
    type_of,
)
from incrowd.hierarchy.level_files import write_levels
from incrowd.hierarchy.level_maps import levels_of_maps
from incrowd.hierarchy.nested import Nested, levels_of_nested
from incrowd.hierarchy.parents import ROOT, levels_of_parents, pairs_of, parents_of
from incrowd.hierarchy.tree_files import read_tree, with_label


class Step(NamedTuple):
    """A level between two others, by their heights: named after the nodes of the one, which are parts of the other."""

    below: int
    above: int


class Taxonomy(Hierarchy):
    """A tree given by its level table: one column per level, leaves first, the root last.

    Parameters
    ----------
    leaves
        The domain, each value once.
    uppers
        The name of each leaf's ancestor, one list per level above the leaves. A root ``*`` is added
        when the last level has more than one node.
    file, read_as
        Where the tree was read from, and the kind and settings of the file; a schema then names the file instead of
        repeating the tree.
    named_by_leaves
        Whether nodes have names that a recipe made of their leaves.
    steps
        Levels whose nodes have names that a recipe made of the nodes of a level below; see `Step`.

    Examples
    --------
    >>> work = Taxonomy.from_nested({"Paid": ["Private", "State"], "Unpaid": ["Never"]})
    >>> work.label(0, 1), work.label(2, 2), work.label(0, 2)
    ('Paid', 'Never', '*')
    """

    def __init__(
        self,
        leaves: Sequence[Any] | pl.Series,
        uppers: Sequence[Sequence[str]] = (),
        *,
        file: str | None = None,
        read_as: Mapping[str, Any] | None = None,
        named_by_leaves: bool = False,
        steps: Mapping[int, Step] | None = None,
    ) -> None:
        domain = as_leaves(leaves if isinstance(leaves, pl.Series) else pl.Series(list(leaves), strict=False))
        if domain.is_empty():
            fact = "A taxonomy has no leaves"
            raise HierarchyError(fact, "give it one row per value of the column")
        twice = domain.filter(domain.is_duplicated()).unique(maintain_order=True)
        if len(twice):
            fact = f"A taxonomy lists {_quoted(text(twice))} more than once"
            raise HierarchyError(fact, "keep one row per leaf")
        columns = [list(level if set(map(type, level)) <= {str} else map(str, level)) for level in uppers]
        for height, column in enumerate(columns, start=1):
            if len(column) != len(domain):
                fact = f"Level {height} of a taxonomy has {len(column)} entries for {len(domain)} leaves"
                raise HierarchyError(fact, "every leaf needs one ancestor in every level")
        if not columns or len(set(columns[-1])) > 1:
            columns.append([ROOT] * len(domain))
        nodes = [_number_nodes(column) for column in columns]
        _check_nested(columns, nodes)
        order = _leaf_order(domain, nodes)
        self.file, self.read_as = file, dict(read_as or {})
        self.named_by_leaves, self.steps = named_by_leaves, dict(steps or {})
        self.leaves = domain[order]
        self.pos = np.arange(len(domain), dtype=np.float64)
        if (np.diff(order) < 0).any():
            columns = [[column[i] for i in order.tolist()] for column in columns]
        self._names: list[list[str]] = [text(self.leaves), *columns]
        self._lo, self._hi = _bounds([node[order] for node in nodes], len(domain))

    @classmethod
    def read(
        cls, path: str | Path, kind: str = "taxonomy", *, column: str | None = None, inner_values: bool = False
    ) -> Taxonomy:
        """Read a tree from a file of any kind.

        Parameters
        ----------
        path
            The file.
        kind
            ``taxonomy``: a level table (`read_csv`) or JSON (`from_nested`, `from_levels`); ``codes`` (`from_codes`);
            ``pairs`` (`from_pairs`); ``nested``: JSON whose groups could be taken for levels, because they are called
            0, 1, 2 and so on.
        column
            Of a JSON file about several columns, the one that is meant.
        inner_values
            For codes and pairs; see `from_codes`.
        """
        leaves, uppers = read_tree(Path(path), kind, column=column, inner_values=inner_values)
        settings: dict[str, Any] = {"kind": kind}
        settings |= {"column": column} if column is not None else {}
        settings |= {"inner_values": True} if inner_values else {}
        try:
            return cls(leaves, uppers, file=str(Path(path).absolute()), read_as=settings)
        except HierarchyError as error:
            fact = f"File {str(path)!r}: {error.fact}"
            raise HierarchyError(fact, error.hint) from None

    @classmethod
    def read_csv(cls, path: str | Path) -> Taxonomy:
        """Read a level table: one row per leaf, one column per level, ``,`` or ``;``, with or without a header."""
        return cls.read(path)

    @classmethod
    def from_nested(cls, nested: Nested) -> Taxonomy:
        """Make a taxonomy from nested mappings; lists hold leaves. Short branches are padded with their own name."""
        return cls(*levels_of_nested(nested))

    @classmethod
    def from_codes(cls, codes: object, *, inner_values: bool = False) -> Taxonomy:
        """Make a tree of codes, each below the longest other code that it begins with; ``A00-B99`` is a range.

        Codes without others below them are leaves. A node is called by its code and its label.

        Parameters
        ----------
        codes
            Codes, ``(code, label)`` pairs, a mapping from codes to labels, or a polars frame with these columns.
        inner_values
            Whether codes with others below them are values too, because some rows are coded less precisely. Each gets
            a leaf among the codes below it.

        Examples
        --------
        >>> tree = Taxonomy.from_codes({"2": "Professionals", "22": "Health", "2211": "", "2221": "", "2310": ""})
        >>> tree.label(0, 1), tree.label(0, 2)
        ('22 Health', '2 Professionals')
        """
        known = codes_of(codes)
        parents = code_parents([code for code, _ in known])
        return cls(*levels_of_parents(parents, inner_values=inner_values, named=with_label(dict(known))))

    @classmethod
    def from_pairs(cls, pairs: object, *, inner_values: bool = False) -> Taxonomy:
        """Make a tree of (child, parent) pairs; a child without a parent is a root, several roots are joined in ``*``.

        Parameters
        ----------
        pairs
            Pairs, a mapping from children to parents, or a polars frame with two columns, such as
            ``ic.read("sqlite:///jobs.db", query="select job, area from jobs")``.
        inner_values
            Whether names with others below them are values too; see `from_codes`.

        Examples
        --------
        >>> tree = Taxonomy.from_pairs([("Nurse", "Health"), ("Doctor", "Health"), ("Cook", "Food")])
        >>> tree.label(0, 1), tree.label(0, 2)
        ('Health', '*')
        """
        parents, children = parents_of(pairs_of(pairs))
        return cls(*levels_of_parents(parents, children, inner_values=inner_values))

    @classmethod
    def from_levels(cls, levels: Mapping[Any, Any]) -> Taxonomy:
        """Make a tree of a dictionary of levels: lists as anjana has them, or mappings from names to groups.

        Examples
        --------
        >>> lists = {0: ["Nurse", "Doctor", "Cook"], 1: ["Health", "Health", "Food"], 2: ["*", "*", "*"]}
        >>> mappings = {1: {"Nurse": "Health", "Doctor": "Health", "Cook": "Food"}, 2: {"Health": "*", "Food": "*"}}
        >>> Taxonomy.from_levels(lists) == Taxonomy.from_levels(mappings)
        True
        """
        return cls(*levels_of_maps(levels))

    @classmethod
    def flat(cls, leaves: Sequence[Any] | pl.Series) -> Taxonomy:
        """Make the suppress-only taxonomy: a value or ``*``."""
        return cls(leaves)

    def write_csv(self, path: str | Path, *, separator: str = ",", header: bool = True) -> None:
        """Write the level table, as ARX reads it with ``separator=";", header=False``."""
        write_levels(Path(path), [list(level) for level in self._names], separator=separator, header=header)

    def to_levels(self) -> dict[int, list[Any]]:
        """Return a dictionary of lists, the values first, as anjana has them; a missing value is left out."""
        first = int(self.has_missing)
        return {0: self.leaves.to_list()[first:], **{i: self._names[i][first:] for i in range(1, self.n_levels)}}

    @property
    def _origin(self) -> dict[str, Any]:
        about = ("file", "read_as", "named_by_leaves", "steps")
        return {name: getattr(self, name) for name in about}

    @property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The name of each leaf's node in each level, the leaves' own first."""
        return self._names

    @property
    def n_levels(self) -> int:
        """Number of levels, the leaves and the root counted."""
        return len(self._names)

    def build(self, column: pl.Series, target: pl.Series | None = None, weights: Weights | None = None) -> Taxonomy:
        """Return this taxonomy with leaves of the column's type, and a leaf for missing values if there are any."""
        del target, weights
        built = self
        both_numbers = column.dtype.is_numeric() and self.leaves.dtype.is_numeric()
        if type_of(column) != self.type and not both_numbers and column.dtype != pl.Null:
            built = self._retyped(column)
        return built.with_missing() if count_missing(column) else built

    def _retyped(self, column: pl.Series) -> Taxonomy:
        kind = type_of(column)
        try:
            leaves = as_leaves(self.leaves, kind)
        except HierarchyError:
            fact = (
                f"Column {column.name!r} holds {kind} values, and the leaves of its taxonomy are not all of that type"
            )
            raise HierarchyError(fact, "write the leaves as they stand in the column") from None
        return Taxonomy(leaves, self._names[1:], **self._origin)

    def closure(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Return the lowest node that holds both ends."""
        lo, hi = np.asarray(lo, np.int32), np.asarray(hi, np.int32)
        height = np.zeros(lo.shape, np.intp)
        for level in range(self.n_levels - 1):
            height += self._hi[level, lo] < hi
        return self._lo[height, lo], self._hi[height, lo]

    def levels(self) -> tuple[Codes, Codes]:
        """Return the first and the last leaf of each leaf's node, [levels x leaves]."""
        return self._lo, self._hi

    def label(self, lo: int, hi: int) -> str:
        """Return the name of the lowest node that is exactly ``[lo, hi]``."""
        for level in range(self.n_levels):
            if self._lo[level, lo] == lo and self._hi[level, lo] == hi:
                return self._names[level][lo]
        fact = f"[{lo}, {hi}] is not a node of this taxonomy"
        raise HierarchyError(fact, "take the closure of it first")

    def renamed(self, levels: Sequence[Sequence[str]]) -> Taxonomy:
        """Return this tree with other names of its nodes, of which equal ones are still one node."""
        found = copy(self)
        found._names = [self._names[0], *(list(level) for level in levels)]
        found.named_by_leaves = False
        return found

    def with_missing(self) -> Taxonomy:
        """Return this taxonomy with a leaf for missing values, a child of the root."""
        if self.has_missing:
            return self
        leaves = pl.concat([self.leaves.clear(1), self.leaves])
        taken = {name for level in self._names[1:-1] for name in level}
        name = MISSING
        while name in taken:  # a node of the tree may be called so
            name = f"({name})"
        uppers = [[name, *level] for level in self._names[1:-1]]
        root = self._names[-1][0]
        uppers = [*uppers, [root] * len(leaves)]
        return Taxonomy(leaves, uppers, **self._origin)

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"kind": "taxonomy", "type": ..., "leaves": [...], "levels": [[...], ...]}``."""
        levels = [list(level) for level in self._names[1:]]
        return {"kind": "taxonomy", "type": self.type, "leaves": leaves_to_data(self.leaves), "levels": levels}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Taxonomy:
        """Make a taxonomy from what `to_dict` returned."""
        return cls(leaves_from_data(list(data["leaves"]), data.get("type", "str")), data.get("levels", ()))


def suppress_only(column: pl.Series) -> Taxonomy:
    """Return the flat taxonomy over a column's values: what ``None`` in a schema stands for."""
    require_values(column)
    flat = Taxonomy.flat(domain_of(column))
    return flat.with_missing() if count_missing(column) else flat


def _number_nodes(column: list[str]) -> Codes:
    """Give the nodes of a level numbers, in the order in which their names appear."""
    starts = np.append(0, np.flatnonzero(list(map(ne, column[1:], column))) + 1)
    numbers: dict[str, int] = {}
    own = [numbers.setdefault(column[at], len(numbers)) for at in starts.tolist()]
    return np.array(own, np.int32).repeat(np.diff(starts, append=len(column)))


def _check_nested(columns: list[list[str]], nodes: list[Codes]) -> None:
    """Every node of a level lies in one node of the next."""
    for height in range(1, len(columns)):
        node, above = nodes[height - 1], nodes[height]
        parent = np.empty(node.max() + 1, np.int32)
        parent[node] = above
        torn = np.flatnonzero(parent[node] != above)
        if len(torn):
            names = _quoted(list(dict.fromkeys(columns[height - 1][i] for i in torn)))
            fact = f"A taxonomy is not nested: {names} of level {height} has more than one parent in level {height + 1}"
            raise HierarchyError(fact, "give each node one parent, or use different names for different nodes")


def _leaf_order(domain: pl.Series, nodes: list[Codes]) -> npt.NDArray[np.intp]:
    """Order leaves so that nodes are contiguous: siblings by their smallest number, or as they were listed."""
    numbers = domain.cast(pl.Float64(), strict=False) if domain.dtype == pl.String else domain.to_physical()
    by_number = numbers.null_count() == domain.null_count()
    rank = np.arange(len(domain))
    if by_number:  # ranks, because two leaves may be the same number ("1", "01")
        present = np.flatnonzero(domain.is_not_null().to_numpy())
        rank[present[np.argsort(numbers.drop_nulls().to_numpy(), kind="stable")]] = np.arange(len(present))
    rank[domain.is_null().to_numpy()] = -1
    keys = [rank]
    for node in nodes:
        first = np.full(node.max() + 1, len(domain))
        np.minimum.at(first, node, rank)
        keys.append(first[node])
    return np.lexsort(keys)


def _bounds(nodes: list[Codes], n_leaves: int) -> tuple[Codes, Codes]:
    lo = np.empty((len(nodes) + 1, n_leaves), np.int32)
    hi = np.empty((len(nodes) + 1, n_leaves), np.int32)
    lo[0] = hi[0] = np.arange(n_leaves)
    for level, node in enumerate(nodes, start=1):
        new = np.append([True], node[1:] != node[:-1])
        start = np.flatnonzero(new)
        at = np.cumsum(new) - 1
        lo[level] = start[at]
        hi[level] = np.append(start[1:], n_leaves)[at] - 1
    return lo, hi


def _quoted(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
