"""The papers' roles: which columns of a table are quasi-identifiers, and how they may be generalized.

``nsvdist``: Last et al. 2014, Table 3 and section 5.2: a 5-ary tree over the alphabetically sorted values of the whole
table for each quasi-identifier, except in Adult. The paper does not say how values are shared out among nodes. Here
every five neighbours have a parent, every five parents have one, and so on. This shape was chosen among those that fit
its words because it comes closest to its accuracies: with nodes of equal size (`incrowd.balanced`) classifiers learn
almost nothing of Ecoli at k = 50, where the paper's did.
Alphabetical means that 10 comes before 9; ``order="numeric"`` sorts numbers as such. The paper names the sequence
names of Ecoli and Yeast among the quasi-identifiers, and so do we.
For the names in Adult it takes the taxonomies of Mohammed et al.; those of the same group's papers are read from
``hierarchies/adult_tds`` in the folder INCROWD_DATA, and without it the trees of `incrowd.datasets.adult_schema` stand
in for them. Adult's numbers get `incrowd.balanced` trees, in numeric order.

``dmpd``: Matatov, Rokach, Maimon 2010: any attribute may be a quasi-identifier, a name is shown or suppressed (in Adult
the taxonomies above serve), a number becomes a range. The paper takes the first 5, 7 or 9 attributes by a ranking;
give them as `quasi`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import polars as pl

from incrowd.datasets.adult import adult_schema
from incrowd.datasets.catalogue import DATASETS, Dataset, dataset
from incrowd.datasets.sources import folder, load
from incrowd.errors import ParameterError
from incrowd.hierarchy import Intervals, Spec, Taxonomy, balanced, by_class
from incrowd.schema import Schema

Paper = Literal["nsvdist", "dmpd"]
Order = Literal["alphabetical", "numeric", "free"]
_BRANCHES = 5
_NEARLY_UNIQUE = 0.2  # share of distinct values from which an order of them says nothing

NSVDIST: dict[str, tuple[str, ...]] = {
    "abalone": ("sex", "diameter", "height", "viscera_weight", "shell_weight"),
    "adult": DATASETS["adult"].columns[:-1],
    "breast_cancer": (
        "clump_thickness",
        "cell_size_uniformity",
        "cell_shape_uniformity",
        "bare_nuclei",
        "bland_chromatin",
        "normal_nucleoli",
    ),
    "cmc": ("wife_age", "wife_education", "num_children"),
    "ecoli": ("sequence_name", "mcg", "gvh", "lip", "alm1", "alm2"),
    "mammographic": ("bi_rads", "age", "shape", "margin", "density"),
    "page_blocks": ("height", "eccen", "p_black", "p_and", "mean_tr", "wb_trans"),
    "yeast": ("sequence_name", "alm", "erl", "pox"),
}
"""Last et al. 2014, Table 3: the quasi-identifiers of each of its eight tables."""


def schema(
    name: str, paper: Paper = "nsvdist", *, quasi: Sequence[str] | None = None, order: Order = "alphabetical"
) -> Schema:
    """Return a paper's schema of a table.

    Parameters
    ----------
    name
        One of `incrowd.datasets.DATASETS`; for ``nsvdist`` one of its eight tables.
    paper
        ``"nsvdist"`` or ``"dmpd"``.
    quasi
        Other quasi-identifiers than the paper's.
    order
        How ``nsvdist`` sorts the values below its trees. ``"free"`` does without trees, for either paper's columns:
        numbers become any range, names any range in the order of their classes (`incrowd.by_class`), and a name with
        nearly as many values as rows is suppressed.

    Returns
    -------
    Schema
        The class is the sensitive column, rows with a missing value are dropped, and so are the columns without a role.

    Examples
    --------
    >>> from incrowd import datasets
    >>> datasets.schema("cmc").quasi
    ['wife_age', 'wife_education', 'num_children']
    """
    table = dataset("adult" if name == "adult_test" else name)
    if paper not in get_args(Paper):
        fact = f"paper is {paper!r}"
        raise ParameterError(fact, f"use one of {', '.join(get_args(Paper))}")
    if order not in get_args(Order):
        fact = f"order is {order!r}"
        raise ParameterError(fact, f"use one of {', '.join(get_args(Order))}")
    if paper == "nsvdist" and table.name not in NSVDIST:
        fact = f"The NSVDist paper does not use the table {name!r}"
        raise ParameterError(fact, f"use one of {', '.join(NSVDIST)}")
    chosen = quasi or (NSVDIST[table.name] if paper == "nsvdist" else table.columns[:-1])
    if order == "free":
        hierarchies = _free(table, chosen)
    else:
        hierarchies = _trees(table, chosen, order) if paper == "nsvdist" else _ranges(table, chosen)
    if table.name == "adult" and order != "free":
        hierarchies |= {name: tree for name, tree in adult_trees().items() if name in hierarchies}
    return Schema(quasi=hierarchies, sensitive=table.target, missing="drop", missing_tokens=["?"], rest="drop")


def adult_trees() -> dict[str, Spec | None]:
    """Return the taxonomies of Adult's names: those of the data folder, or our own."""
    own = adult_schema().attributes
    trees: dict[str, Spec | None] = {name: own[name].hierarchy for name in own if name not in ("age", "income")}
    trees["relationship"] = None
    where = folder()
    for path in [] if where is None else sorted((where / "hierarchies" / "adult_tds").glob("*.csv")):
        trees[path.stem] = Taxonomy.read_csv(path)
    return trees


def _trees(table: Dataset, quasi: Sequence[str], order: Order) -> dict[str, Spec | None]:
    if table.name == "adult":
        return dict.fromkeys(quasi, balanced(_BRANCHES))
    frame = load(table.name)
    return {name: five_ary(frame[name], order) for name in quasi}


def _free(table: Dataset, quasi: Sequence[str]) -> dict[str, Spec | None]:
    """Return ranges for numbers, ranges in the order of the classes for names, nothing for names of single rows."""
    frame: pl.DataFrame = load(table.name)

    def spec(column: pl.Series) -> Spec | None:
        if column.dtype.is_numeric():
            return Intervals()
        return None if column.n_unique() > _NEARLY_UNIQUE * len(column) else by_class()

    return {name: spec(frame[name]) for name in quasi}


def five_ary(column: pl.Series, order: Order = "alphabetical") -> Taxonomy:
    """Return the tree in which every five neighbours have a parent, every five parents have one, up to the root.

    Examples
    --------
    >>> tree = five_ary(pl.Series("children", range(12)))
    >>> tree.leaves.to_list(), tree.label(0, 4)
    ([0, 1, 2, 10, 11, 3, 4, 5, 6, 7, 8, 9], '0 to 2')
    """
    values = column.drop_nulls().unique().sort().to_list()
    leaves = sorted(values, key=str) if order == "alphabetical" else values
    uppers, size = [], _BRANCHES
    while size < len(leaves):
        starts = [i - i % size for i in range(len(leaves))]
        uppers.append([_node(leaves[start : start + size]) for start in starts])
        size *= _BRANCHES
    return Taxonomy(pl.Series(column.name, leaves, column.dtype), uppers)


def _node(leaves: Sequence[object]) -> str:
    return str(leaves[0]) if len(leaves) == 1 else f"{leaves[0]} to {leaves[-1]}"


def _ranges(table: Dataset, quasi: Sequence[str]) -> dict[str, Spec | None]:
    """Return ranges for numbers, and for names the value or nothing."""
    frame: pl.DataFrame = load(table.name)
    return {name: Intervals() if frame[name].dtype.is_numeric() else None for name in quasi}
