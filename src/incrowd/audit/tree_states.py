"""What scikit-learn's trees say about their nodes, and trees with other splits: nothing of what is left out stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_LEAF = -1
_ENTROPIES = ("entropy", "log_loss")


def pruned(tree: Any, kept: set[int]) -> Any:  # noqa: ANN401
    """Return a scikit-learn tree with only these splits; nothing of the others stays in it."""
    state = tree.__getstate__()
    order, depth_of = [0], {0: 0}
    for node in order:  # grows while it is walked
        if node in kept:
            for child in (int(tree.children_left[node]), int(tree.children_right[node])):
                order.append(child)
                depth_of[child] = depth_of[node] + 1
    place = {node: i for i, node in enumerate(order)}
    nodes = state["nodes"][order].copy()
    for i, node in enumerate(order):
        if node in kept:
            nodes["left_child"][i] = place[int(tree.children_left[node])]
            nodes["right_child"][i] = place[int(tree.children_right[node])]
        else:
            nodes["left_child"][i] = nodes["right_child"][i] = -1
            nodes["feature"][i], nodes["threshold"][i] = -2, -2.0
    state |= {"nodes": nodes, "values": state["values"][order].copy(), "node_count": len(order)}
    state["max_depth"] = max(depth_of.values())
    empty = type(tree)(*tree.__reduce__()[1])
    empty.__setstate__(state)
    return empty


@dataclass(frozen=True)
class Figures:
    """What a tree says about its nodes: people, their weight, what is predicted [nodes x values], and impurity."""

    people: Int64
    weighted: Float64
    values: Float64
    impurity: Float64

    def differ(self, tree: Any, *, close: float) -> bool:  # noqa: ANN401
        """Tell whether a tree says anything else about any of its nodes."""
        said = tree.value[:, 0, :] if tree.n_outputs == 1 else tree.value[:, :, 0]
        pairs = ((tree.weighted_n_node_samples, self.weighted), (said, self.values),
                 (tree.impurity, self.impurity))  # fmt: skip
        if (tree.n_node_samples != self.people).any():
            return True
        return any(
            stored.shape != found.shape
            or not np.allclose(stored, found, rtol=close, atol=close * float(np.abs(found).max(initial=0.0)))
            for stored, found in pairs
        )


def figures(tree: Any, leaf_of: Int64, weights: Float64, target: Float64, criterion: str, *, is_class: bool) -> Figures:  # noqa: ANN401
    """Return what the people of the table make of each node of a tree.

    Parameters
    ----------
    leaf_of
        The leaf of each person.
    weights
        Weight of each person; nobody stands for 0.
    target
        The classes as columns of zeros and ones, or the numbers that are predicted.
    criterion
        How the tree measures impurity.
    """
    number = target[:, 0]
    columns = [weights > 0, weights, *(weights * target.T), weights * (target**2).mean(axis=1)]
    columns += [weights * xlogy(number, number)] if criterion == "poisson" else []
    sums: Float64 = np.stack([np.bincount(leaf_of, column * 1.0, tree.node_count) for column in columns], axis=1)
    for node in range(tree.node_count - 1, -1, -1):  # children come behind their parents
        if tree.children_left[node] != _LEAF:
            sums[node] = sums[tree.children_left[node]] + sums[tree.children_right[node]]
    weighted: Float64 = sums[:, 1]
    values = sums[:, 2 : 2 + target.shape[1]] / np.maximum(weighted, 1e-300)[:, None]
    if is_class:
        impurity = -xlogy(values, values).sum(axis=1) / np.log(2) if criterion in _ENTROPIES else 1 - (values**2).sum(1)
    elif criterion == "poisson":
        impurity = sums[:, -1] / np.maximum(weighted, 1e-300) - xlogy(values[:, 0], values[:, 0])
    else:
        impurity = np.maximum(sums[:, -1] / np.maximum(weighted, 1e-300) - (values**2).mean(axis=1), 0.0)
    return Figures(sums[:, 0].astype(np.int64), weighted, values, impurity)


def with_figures(tree: Any, found: Figures) -> Any:  # noqa: ANN401
    """Return a scikit-learn tree that says this about its nodes."""
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = found.people, found.weighted
    nodes["impurity"] = found.impurity
    state |= {"nodes": nodes, "values": np.ascontiguousarray(found.values[:, None, :], state["values"].dtype)}
    empty = type(tree)(*tree.__reduce__()[1])
    empty.__setstate__(state)
    return empty
