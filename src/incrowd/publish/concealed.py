"""Concealed members: everybody is a member of k cells, so that no matching of people and rows leaves fewer.

Rows are put into groups of near ones (`TightGroups`, by quasi-identifiers alone), the rows of a group on a ring, near
ones together; the members of a row are the k rows from its own place on. So every row has k members and everybody is a
member of k rows: as a graph of people and rows, it is regular. A regular bipartite graph is a union of k disjoint
perfect matchings (Koenig), so each of its pairs is in a perfect matching, and who drops all pairs that are in none
still leaves everybody k rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten
from incrowd.kernels.nhaa import close_windows
from incrowd.publish.block_shares import BlockShares
from incrowd.publish.publisher import Choice, Progress
from incrowd.publish.tight_groups import TightGroups, order_rows
from incrowd.release import Blocks

Int64 = npt.NDArray[np.int64]


def choose_concealed(
    table: Table, k: int, shares: BlockShares, rng: np.random.Generator, progress: Progress
) -> Choice:  # fmt: skip
    """Choose cells of k members, of which everybody is k times one."""
    bare = replace(table, sensitive=None, secrets=())  # cells must be a function of quasi-identifiers and chance
    group = TightGroups(k=k).choose(bare, rng, progress).cell_of
    place = np.empty(table.n_rows, np.int64)
    place[order_rows(bare, 1)] = np.arange(table.n_rows)
    ring = np.lexsort((rng.permutation(table.n_rows), place, group))
    size = np.bincount(group)
    start = np.concatenate([[0], np.cumsum(size)])
    codes, domains = np.asfortranarray(table.codes[ring]), flatten(table.hierarchies)
    lo, hi = np.empty_like(codes), np.empty_like(codes)
    close_windows(codes, start, 0, len(size), k, domains, lo, hi)
    first, own = np.repeat(start[:-1], size), np.repeat(size, size)
    at = np.arange(table.n_rows) - first
    members = ring[first[:, None] + (at[:, None] + np.arange(k)) % own[:, None]]
    cell_of = np.empty(table.n_rows, np.int64)
    cell_of[ring] = np.arange(table.n_rows)
    evidence = Blocks(shares.block_of, cell_of, members.astype(np.int32))
    return Choice(lo, hi, cell_of, shares.mean_parts(members), evidence=evidence)
