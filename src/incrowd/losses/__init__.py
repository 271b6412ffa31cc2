"""What a release costs its readers: one number per loss, less is better."""

from incrowd.losses.cells import Cells
from incrowd.losses.classes import information_of_sums, normalized_divergence, normalized_mutual_information
from incrowd.losses.entropy import prefix_sums
from incrowd.losses.registry import CELL_LOSSES, LOSSES, CellLoss, LossInfo, cell_loss, loss

__all__ = [
    "CELL_LOSSES",
    "LOSSES",
    "CellLoss",
    "Cells",
    "LossInfo",
    "cell_loss",
    "information_of_sums",
    "loss",
    "normalized_divergence",
    "normalized_mutual_information",
    "prefix_sums",
]
