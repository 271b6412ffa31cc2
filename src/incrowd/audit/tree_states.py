"""Trees of scikit-learn with other splits, values or counts; nothing of what is left out stays in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
_LEAF = -1


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


def with_values(tree: Any, values: npt.NDArray[np.float64]) -> Any:  # noqa: ANN401
    """Return a scikit-learn tree with these values at its nodes, [nodes x values]."""
    state = tree.__getstate__()
    state["values"] = np.ascontiguousarray(values[:, None, :], state["values"].dtype)
    empty = type(tree)(*tree.__reduce__()[1])
    empty.__setstate__(state)
    return empty


def recounted(
    tree: Any,  # noqa: ANN401
    leaf_of: Int64,
    target: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    *,
    is_class: bool,
) -> Any:  # noqa: ANN401
    """Return a tree whose nodes have the counts and classes, or means, of all people.

    Parameters
    ----------
    leaf_of
        The leaf of each person.
    target
        The classes as columns of zeros and ones, or the number that is predicted.
    weights
        Weight of a person of each class.
    """
    n_nodes = tree.node_count
    columns = [np.ones(len(leaf_of)), *target.T, target[:, 0] ** 2]
    sums = np.stack([np.bincount(leaf_of, column, n_nodes) for column in columns], axis=1)
    for node in range(n_nodes - 1, -1, -1):  # children come behind their parents
        if tree.children_left[node] != _LEAF:
            sums[node] = sums[tree.children_left[node]] + sums[tree.children_right[node]]
    n_people = sums[:, 0]
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    nodes["n_node_samples"] = n_people.astype(np.int64)
    there = np.maximum(n_people, 1)
    if is_class:
        weighted = sums[:, 1:-1] * weights
        nodes["weighted_n_node_samples"] = weighted.sum(axis=1)
        shares = weighted / np.maximum(weighted.sum(axis=1, keepdims=True), 1e-300)
        nodes["impurity"] = 1 - (shares**2).sum(axis=1)
        values = shares
    else:
        nodes["weighted_n_node_samples"] = n_people
        values = sums[:, 1:2] / there[:, None]
        nodes["impurity"] = np.maximum(sums[:, -1] / there - values[:, 0] ** 2, 0.0)
    state |= {"nodes": nodes, "values": np.ascontiguousarray(values[:, None, :], state["values"].dtype)}
    empty = type(tree)(*tree.__reduce__()[1])
    empty.__setstate__(state)
    return empty
