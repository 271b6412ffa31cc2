"""Concealment: how many rows are left to everybody when pairs that no assignment of people to rows has are dropped."""

from __future__ import annotations

import numpy as np

from incrowd.errors import counted
from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.verdict import Findings


def check_concealment(findings: Findings, claims: Claims, search: Array, members: Array) -> None:
    """Judge the level by the members of rows, who were found to fit them.

    Row i stands for person i. Person p may have row i in some assignment of these pairs exactly if p and i are in one
    strongly connected component of the graph with an arc from each member of a row to the row's own person. That others
    fit a row as well can only add assignments: what is counted is a lower bound.
    """
    if not claims.concealed:
        return
    from scipy.sparse import csr_array  # noqa: PLC0415 - a tenth of a second that most releases need not pay
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    n_rows, width = len(search), members.shape[1]
    person = members[search].ravel()
    row = np.repeat(np.arange(n_rows), width)
    graph = csr_array((np.ones(len(row), np.int8), (person, row)), shape=(n_rows, n_rows))
    part = connected_components(graph, directed=True, connection="strong")[1]
    pairs = np.unique((person.astype(np.int64) * n_rows + row)[part[person] == part[row]])
    level = np.bincount(pairs // n_rows, minlength=n_rows)
    _judge(findings, claims, level)


def check_concealment_of_rings(findings: Findings, claims: Claims, width: Array) -> None:
    """Judge the level by rings that were found to be in order: an original fits the cells at `width` places of its own.

    Moving all originals of a ring on by one place is another perfect matching, and there are `width` of them, no two of
    which agree anywhere: none of these pairs is dropped.
    """
    if claims.concealed:
        _judge(findings, claims, width)


def _judge(findings: Findings, claims: Claims, level: Array) -> None:
    wanted = max(p.given["k"] for p in claims.promises if p.kind == "concealment")
    least = int(level.min(initial=claims.rows["released"]))
    findings.levels["concealment"] = least
    few = level < wanted
    problems = [f"{few.sum()} people are left with fewer than {wanted} rows, the fewest {least}"]
    fine = f"everybody is left with at least {counted(least, 'row')}"
    findings.judge("concealment", problems if few.any() else [], fine)
