"""Losses by name: what a release, a report and the command line offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incrowd.errors import ParameterError
from incrowd.hierarchy import Hierarchy
from incrowd.losses.cells import Cells, Codes, Counts, Floats
from incrowd.losses.classes import cm, nmi
from incrowd.losses.entropy import entropy, entropy_cells, monotone_entropy, monotone_entropy_cells
from incrowd.losses.kl import kl
from incrowd.losses.lm import lm, lm_cells
from incrowd.losses.sizes import aecs, dm

CellLoss = Callable[[Hierarchy, Counts, Codes, Codes], Floats]


@dataclass(frozen=True)
class LossInfo:
    """A loss and what to say about it.

    Attributes
    ----------
    function
        From cells to one number; less is better.
    summary
        One sentence for people.
    reference
        Where it comes from.
    needs_original
        Whether the original rows must be at hand.
    """

    function: Callable[[Cells], float]
    summary: str
    reference: str
    needs_original: bool = False


LOSSES: dict[str, LossInfo] = {
    "lm": LossInfo(
        lm,
        "Mean extent of a cell as a share of its domain: 0 is the original, 1 is all suppressed.",
        "Iyengar 2002",
    ),
    "entropy": LossInfo(
        entropy,
        "Mean bits that a cell leaves open about the original value.",
        "Gionis and Tassa 2009",
    ),
    "monotone_entropy": LossInfo(
        monotone_entropy,
        "Mean bits that a cell leaves open, weighted by how common the cell's values are.",
        "Gionis and Tassa 2009",
    ),
    "dm": LossInfo(
        dm,
        "Discernibility: for each row the number of rows that look like it, summed.",
        "Bayardo and Agrawal 2005",
    ),
    "aecs": LossInfo(
        aecs,
        "Average group size divided by k: 1 is the smallest that the promise allows.",
        "LeFevre, DeWitt and Ramakrishnan 2006",
    ),
    "cm": LossInfo(
        cm,
        "Share of rows outside the majority class of their group.",
        "Iyengar 2002",
    ),
    "kl": LossInfo(
        kl,
        "Divergence (nats) of the table that the release describes from the original one.",
        "Kifer and Gehrke 2006",
        needs_original=True,
    ),
    "nmi": LossInfo(
        nmi,
        "One minus the mean normalized mutual information between a generalized attribute and the class.",
        "Li, Liu, Baig and Wong 2011",
    ),
}

CELL_LOSSES: dict[str, CellLoss] = {
    "lm": lm_cells,
    "entropy": entropy_cells,
    "monotone_entropy": monotone_entropy_cells,
}
"""Losses that are a mean over cells: what a publisher can minimize cell by cell."""


def loss(name: str, cells: Cells) -> float:
    """Return one loss of a release.

    Parameters
    ----------
    name
        A key of `LOSSES`.
    cells
        The generalized rows.
    """
    if name not in LOSSES:
        fact = f"There is no loss {name!r}"
        raise ParameterError(fact, f"use one of {', '.join(LOSSES)}")
    return LOSSES[name].function(cells)


def cell_loss(name: str, hierarchy: Hierarchy, marginal: Counts, lo: Codes, hi: Codes) -> Floats:
    """Return the loss of each cell of one attribute: the same numbers that `loss` averages.

    Parameters
    ----------
    name
        A key of `CELL_LOSSES`.
    hierarchy, marginal
        The attribute, and how often each of its leaves occurs among the originals.
    lo, hi
        First and last leaf rank of each cell, any shape.
    """
    if name not in CELL_LOSSES:
        fact = f"The loss {name!r} is not a mean over cells"
        raise ParameterError(fact, f"use one of {', '.join(CELL_LOSSES)}")
    return CELL_LOSSES[name](hierarchy, marginal, lo, hi)
