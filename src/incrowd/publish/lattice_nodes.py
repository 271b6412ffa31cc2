"""Every node of a lattice of levels: what it suppresses, what it loses, and which are minimal; to look at and draw.

A node is a level for each attribute, told by its *height*: 0 shows the values, the largest height is ``*``. It is
*allowed* if it suppresses no more rows than may be; it is *minimal* (Samarati 2001, LeFevre 2005) if it is allowed and
no node directly below it, which shows one attribute one level finer, is.

The losses of groups (discernibility, group size, classes, divergence) have no bounds by which nodes could be passed
over, so that `Lattice` looks at each node, as is done here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import plots
from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.errors import IncompatibleError, InfeasibleError
from incrowd.kernels.limits import Limits
from incrowd.losses import Cells, loss
from incrowd.privacy import Privacy
from incrowd.publish.iac import Generalized, Suppression, at_levels, n_levels
from incrowd.publish.level_search import SAME, Found, Patience
from incrowd.publish.publisher import Progress

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

MOST_NODES = 20_000
"""Nodes up to which each of them is looked at."""
_DRAWN_EDGES = 1500


@dataclass(frozen=True)
class Nodes:
    """The nodes of a lattice.

    Attributes
    ----------
    frame
        A row for each node: the height of each attribute, ``height`` (their sum), ``suppressed`` rows, ``loss``, and
        whether it is ``allowed``, ``minimal``, and the ``best``, which `Lattice` publishes.
    columns
        Names of the attributes.
    loss
        Name of the loss.
    """

    frame: pl.DataFrame
    columns: tuple[str, ...]
    loss: str

    @property
    def minimal(self) -> pl.DataFrame:
        """The minimal nodes, the one that loses least first."""
        return self.frame.filter("minimal").sort("loss", "height")

    @property
    def best(self) -> dict[str, int]:
        """The height of each attribute at the best node."""
        return dict(self.frame.filter("best").select(self.columns).row(0, named=True))

    def plot(self, *, theme: plots.Theme = "light") -> plots.Figure:
        """Draw the nodes by height, the finest at the bottom; lines join neighbours where there are not too many."""
        drawn = plots.figure(title=f"{self.frame.height} nodes of the lattice, by {self.loss}", theme=theme, width=7.2)
        axes, colours = drawn.axes[0], plots.PALETTE[theme]
        height = self.frame["height"].to_numpy()
        order = np.lexsort((self.frame["loss"].to_numpy(), height))
        place = np.empty(len(order))
        for level in np.unique(height):
            own = order[height[order] == level]
            place[own] = np.arange(len(own)) - (len(own) - 1) / 2
        pairs = _neighbours(self.frame.select(self.columns).to_numpy())
        if len(pairs) <= _DRAWN_EDGES:
            for low, high in pairs:
                axes.plot(place[[low, high]], height[[low, high]], color=colours[-1], linewidth=0.4, zorder=1)
        allowed, minimal, best = (self.frame[name].to_numpy() for name in ("allowed", "minimal", "best"))
        shown = (
            ("suppresses too many rows", ~allowed, colours[-1], "x", 14),
            ("allowed", allowed & ~minimal & ~best, colours[0], "o", 14),
            ("minimal", minimal & ~best, colours[1], "s", 30),
            ("best", best, colours[2], "*", 130),
        )
        for label, which, colour, marker, size in shown:
            if which.any():
                axes.scatter(place[which], height[which], c=colour, marker=marker, s=size, label=label, zorder=2)
        axes.set_xticks([])
        axes.set_ylabel("height: sum of levels above the values")
        axes.legend(frameon=False, fontsize="small")
        return drawn


def explore(
    table: Table,
    privacy: Privacy,
    k: int,
    suppress: float,
    name: str,
    progress: Progress,
    patience: Patience | None = None,
) -> tuple[Nodes, Found]:
    """Return all nodes that there was time for, and the best one of them."""
    most, rows, best = suppress * table.n_rows, [], None
    heights, bounds = _heights(table), limits(privacy, table)
    for at, height in enumerate(heights):
        progress("nodes", at, len(heights))
        if best is not None and patience is not None and patience.is_over(len(rows)):
            break
        found = _look(table, height, privacy, bounds, k, name)
        n_left = int(found.left.sum())
        rows.append((*height, sum(height), n_left, found.loss, n_left <= most))
        if n_left <= most and (best is None or found.loss < best.loss - SAME * abs(best.loss)):
            best = found
    if best is None:
        fact = f"No levels keep the privacy asked for when at most {most:.0f} rows may be suppressed"
        raise InfeasibleError(fact, "allow more rows to be suppressed, or ask for less")
    names = tuple(table.schema.quasi)
    told = {**dict.fromkeys(names, pl.Int64()), "height": pl.Int64(), "suppressed": pl.Int64(), "loss": pl.Float64()}
    frame = pl.DataFrame(rows, schema=told | {"allowed": pl.Boolean()}, orient="row")
    wanted = [n_levels(h) - level for h, level in zip(table.hierarchies, best.generalized.levels, strict=True)]
    is_best = (frame.select(names).to_numpy() == np.array(wanted)).all(axis=1)
    minimal = _are_minimal(frame.select(names).to_numpy(), frame["allowed"].to_numpy())
    frame = frame.with_columns(pl.Series("minimal", minimal), pl.Series("best", is_best))
    return Nodes(frame, names, name), Found(
        best.generalized, best.left, best.loss, len(rows), is_complete=len(rows) == len(heights)
    )


def _heights(table: Table) -> list[tuple[int, ...]]:
    """Return the nodes from the top down."""
    shape = [n_levels(hierarchy) for hierarchy in table.hierarchies]
    if float(np.prod(np.array(shape, np.float64))) > MOST_NODES:
        fact = f"The hierarchies have {'·'.join(map(str, shape))} combinations of levels: too many to look at each"
        raise IncompatibleError(fact, "use a loss with bounds (lm, entropy), or hierarchies of fewer levels")
    top = np.array(shape) - 1
    found = [tuple(int(x) for x in top - np.array(depth)) for depth in np.ndindex(*shape)]
    return sorted(found, key=lambda node: -sum(node))


def _look(table: Table, height: tuple[int, ...], privacy: Privacy, bounds: Limits, k: int, name: str) -> Found:
    levels = [n_levels(hierarchy) - own for hierarchy, own in zip(table.hierarchies, height, strict=True)]
    generalized = at_levels(table, levels)
    suppression = Suppression.of(generalized, privacy, bounds)
    gone = np.zeros(len(generalized.sizes), np.bool_)
    gone[suppression.order[: suppression.at(k)]] = True
    left = gone[generalized.group_of]
    return Found(generalized, left, _loss_of(table, generalized, left, k, name), 0)


def _loss_of(table: Table, generalized: Generalized, left: Bools, k: int, name: str) -> float:
    """Return the loss as it would be of the release: suppressed rows are one group of ``*``."""
    lo, hi = generalized.lo[generalized.group_of], generalized.hi[generalized.group_of]
    lo[left], hi[left] = 0, [hierarchy.n_leaves - 1 for hierarchy in table.hierarchies]
    target = table.schema.target
    cells = Cells(
        hierarchies=table.hierarchies,
        lo=np.asfortranarray(lo),
        hi=np.asfortranarray(hi),
        marginals=table.marginals,
        sensitive=table.sensitive if len(table.secrets) == 1 else None,
        n_values=table.n_values if len(table.secrets) == 1 else 0,
        k=k,
        originals=table.codes,
        classes=table.classes[0].astype(np.int32) if target is not None else None,
    )
    return loss(name, cells)


def _are_minimal(heights: Int64, allowed: Bools) -> Bools:
    known = {tuple(node): bool(fine) for node, fine in zip(heights.tolist(), allowed, strict=True)}
    return np.array([fine and not any(known.get(low, False) for low in _below(node)) for node, fine in known.items()])


def _below(node: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for m, own in enumerate(node):
        if own:
            yield (*node[:m], own - 1, *node[m + 1 :])


def _neighbours(heights: Int64) -> list[tuple[int, int]]:
    place = {tuple(node): at for at, node in enumerate(heights.tolist())}
    return [(place[low], at) for node, at in place.items() for low in _below(node) if low in place]
