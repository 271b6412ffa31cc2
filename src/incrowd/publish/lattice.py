"""Lattice: the best level of each attribute for the whole table, found with certainty; small groups are suppressed.

Full-domain recoding: all values of an attribute are shown at one level of its hierarchy. The levels form a lattice,
from the values themselves up to ``*`` everywhere. For each node of it, groups that do not keep the constraints lose
all their quasi-identifiers; what is lost is then known, and the node that loses least is published. Nodes are visited
from the top down. What a node loses at least is known before its rows are looked at: each attribute's loss at its
level, and everything for the rows that are in small groups at a node above it (rows that are too few together stay too
few when they are told apart). A node that loses at least as much as the best one so far is passed over; a node below
one that suppresses too many rows is as well. Groups that break l, t or another limit are found at each node, because
parts of such a group may keep it.

With ``local=True``, what would be suppressed is recoded again by a node of its own, and so on, so that dense parts of
the table keep more detail than sparse ones (`local_levels`); that is no longer the best of anything, but loses much
less.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, the group of ``*`` rows too.
Cost: nodes that are looked at, times n M; at most 100 000, unless `seconds` says otherwise. A lattice of more than two
million nodes is refused.
Use it where every value of a column must be recoded alike, as ARX does it, or to know how much that costs. For the
smallest loss use `TightGroups`, for classifiers `BestCuts`.

Where we are on our own: after Incognito (LeFevre 2005), OLA (El Emam 2009) and Flash (Kohlmayer 2012), whose tagging
of nodes the second bound refines. `Intervals` have no levels, and get those of a balanced binary tree over their
values. Fewer than k rows of ``*`` are a group smaller than k themselves: the next smallest groups join them. Of nodes
with equal loss the first from the top is taken.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 31, 32], "sex": list("ffmm")})
>>> schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None})
>>> sorted(ic.Lattice(k=2).publish(people, schema, seed=1).frame.unique().rows())
[('21-22', 'f'), ('31-32', 'm')]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from incrowd import io, plots
from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.losses import CELL_LOSSES, LOSSES
from incrowd.publish.iac import n_levels
from incrowd.publish.lattice_nodes import Nodes, explore
from incrowd.publish.level_search import Found, Patience, Search, level_costs
from incrowd.publish.local_levels import recode_locally
from incrowd.publish.prices import Loss
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Lattice(GroupPublisher):
    """The best level of each attribute for the whole table, with suppression.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    suppress
        Largest share of the rows that may be suppressed: 1 leaves it to the loss, 0 suppresses nothing.
    loss
        What is made as small as possible: ``"lm"``, ``"entropy"`` or ``"monotone_entropy"``, losses of cells, which
        nodes can be passed over by; or ``"dm"``, ``"aecs"``, ``"cm"``, ``"nmi"`` or ``"kl"``, for which each node is
        looked at.
    local
        Recode what would be suppressed again, by levels of its own.
    seconds
        Stop looking after so long, and take the best node so far; the best of all may then be another. Without it, the
        search stops at 100 000 nodes that it had to look at. A search that stopped early says so in a note, and by
        ``levels["ended_early"]``.
    """

    suppress: float = 1.0
    loss: Loss | Literal["dm", "aecs", "cm", "nmi", "kl"] = "lm"
    local: bool = False
    seconds: float | None = None

    name: ClassVar[str] = "lattice"
    paper: ClassVar[str] = "LeFevre et al. 2005, Kohlmayer et al. 2012"
    kind: ClassVar[str] = "one level per attribute, with suppression"
    cost: ClassVar[str] = "nodes n M"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.suppress, bool) or not 0 <= self.suppress <= 1:
            fact = f"suppress is {self.suppress!r}"
            raise ParameterError(fact, "use a share of the rows, from 0 to 1")
        if self.loss not in LOSSES:
            fact = f"loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(LOSSES)}")
        if self.seconds is not None and not self.seconds > 0:
            fact = f"seconds is {self.seconds!r}"
            raise ParameterError(fact, "use a number above 0, or None to look until the best is found")
        if self.local and self.loss not in CELL_LOSSES:
            fact = f"local is True, and loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(CELL_LOSSES)}, which say what a row left over costs")
        if self.local and self.suppress < 1:
            fact = f"local is True, and suppress is {self.suppress!r}"
            raise ParameterError(fact, "leave suppress at 1: what is left over is recoded again, and not suppressed")
        super().__post_init__()

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return super().n_steps(table) * float(np.prod([n_levels(h) for h in table.hierarchies]))

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        patience = Patience.of(self.seconds)
        if self.loss not in CELL_LOSSES:
            _, found = explore(table, self.privacy(), self.k, self.suppress, self.loss, progress, patience)
            return _assemble(table, [(np.arange(table.n_rows), found)], found)
        costs = level_costs(table, cast("Loss", self.loss))
        if self.local:
            return _assemble(table, recode_locally(table, costs, self.privacy(), self.k, progress, patience), None)
        found = Search.of(table, table, costs, self.privacy(), self.k, self.suppress).best(progress, patience)
        return _assemble(table, [(np.arange(table.n_rows), found)], found)

    def explore(self, frame: Any, schema: Schema, *, progress: Progress | None = None) -> Nodes:  # noqa: ANN401
        """Return every node of the lattice with its loss, the minimal ones among them, without publishing anything.

        They are counted from the original: what is returned belongs to its owner. ``local`` and ``seconds`` are for
        publishing only.
        """
        method = self.settled(schema)
        table = Table.encode(io.to_polars(frame), schema, least=method.rare(schema))
        method.require_feasible(table)
        report = progress or (lambda _stage, _done, _total: None)
        return explore(table, method.privacy(), method.k, method.suppress, method.loss, report)[0]

    def plot(self, frame: Any, schema: Schema, *, theme: plots.Theme = "light") -> plots.Figure:  # noqa: ANN401
        """Draw what `explore` finds."""
        return self.explore(frame, schema).plot(theme=theme)


def _assemble(table: Table, rounds: list[tuple[Int64, Found]], once: Found | None) -> Choice:
    """Return the cells of all rounds; what the last one leaves over is one group of ``*``."""
    los, his, cell_of, n_cells = [], [], np.empty(table.n_rows, np.int64), 0
    for rows, found in rounds:
        kept = np.unique(found.generalized.group_of[~found.left])
        number = np.empty(len(found.generalized.sizes), np.int64)
        number[kept] = np.arange(len(kept)) + n_cells
        cell_of[rows[~found.left]] = number[found.generalized.group_of[~found.left]]
        los.append(found.generalized.lo[kept])
        his.append(found.generalized.hi[kept])
        n_cells += len(kept)
    rows, found = rounds[-1]
    if found.left.any():
        cell_of[rows[found.left]] = n_cells
        los.append(np.zeros((1, table.n_quasi), np.int32))
        his.append(np.array([[hierarchy.n_leaves - 1 for hierarchy in table.hierarchies]], np.int32))
    numbers = {"star_rows": int(found.left.sum()), "nodes_looked_at": found.looked_at}
    if not found.is_complete:
        numbers["ended_early"] = 1
    recoding = once.generalized.recoding if once else None
    return Choice(np.concatenate(los), np.concatenate(his), cell_of, recoding=recoding, numbers=numbers)
