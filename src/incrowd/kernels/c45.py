"""C4.5's tree beyond its growth: where rows end, and how the classes of a node are shared out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.kactus import ATTRIBUTE, CLASS, FIRST, LAST_CODE, N_BRANCHES, NONE, PARENT, START, STOP
from incrowd.kernels.partition import WEIGHT

Bools = npt.NDArray[np.bool_]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@kernel
def node_of(codes: Int32, nodes: Int32, is_number: Bools) -> Int64:
    """Return where each row ends: in a leaf, or where its value has no branch."""
    found = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while nodes[node, ATTRIBUTE] != NONE:
            m, branch = nodes[node, ATTRIBUTE], nodes[node, FIRST]
            last, code = branch + nodes[node, N_BRANCHES] - 1, codes[i, m]
            while branch < last and code > nodes[branch, LAST_CODE]:
                branch += 1
            if not is_number[m] and code != nodes[branch, LAST_CODE]:
                break
            node = branch
        found[i] = node
    return found


@kernel
def class_counts(rows: Int32, nodes: Int32, n_classes: int) -> Int64:
    """Return how many rows of each class a node has, [nodes x classes]; those below a pruned node have none."""
    counts = np.zeros((len(nodes), n_classes), np.int64)
    alive = np.zeros(len(nodes), np.bool_)
    for node in range(len(nodes)):
        parent = nodes[node, PARENT]
        alive[node] = parent == NONE or (alive[parent] and nodes[parent, ATTRIBUTE] != NONE)
        if alive[node] and nodes[node, ATTRIBUTE] == NONE:
            for i in range(nodes[node, START], nodes[node, STOP]):
                counts[node, rows[i, CLASS]] += rows[i, WEIGHT]
    for node in range(len(nodes) - 1, 0, -1):
        for c in range(n_classes):
            counts[nodes[node, PARENT], c] += counts[node, c]
    return counts
