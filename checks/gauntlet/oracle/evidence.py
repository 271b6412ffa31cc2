"""What the owner keeps: blocks and members (NSVDist, hardened) and rings (NHAA), recounted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from checks.gauntlet.oracle.asked import Asked, key
from checks.gauntlet.oracle.domains import Values
from checks.gauntlet.oracle.files import Folder
from checks.gauntlet.oracle.told import Secrets, limits_of, share_columns, told_secrets

_PARTS = 10_000


def judge_evidence(
    found: Folder,
    asked: Asked,
    rows: list[int],
    cells: list[list[Any]],
    values: list[Values],
    secrets: Secrets,
    problems: list[str],
) -> None:
    """Check the evidence that the release needs."""
    needs_rings = asked.method == "nhaa"
    needs_blocks = any(about["form"] == "shares" for about in told_secrets(found.manifest))
    there = set(found.private) & {"rings", "blocks", "members"}
    needed = {"rings"} if needs_rings else {"blocks", "members"} if needs_blocks else set()
    if there != needed:
        problems.append("the private folder has not the evidence that the method leaves")
        return
    if needs_rings:
        limits = {g["kind"]: g for g in found.manifest["guarantees"]}
        secret = next(iter(secrets.values()), None)
        _judge_rings(found.private["rings"], limits, cells, values, secret, problems)
    for name in secrets if needs_blocks else ():
        _judge_blocks(found, name, cells, values, secrets[name], problems)
    del rows


def _judge_rings(
    rings: dict[str, list[int]],
    limits: dict[str, Any],
    cells: list[list[Any]],
    values: list[Values],
    secret: list[Any] | None,
    problems: list[str],
) -> None:
    if list(rings) != ["ring", "cell", "original", "width"] or len(rings["ring"]) != len(cells[0]):
        problems.append("rings.parquet is not what the format says")
        return
    for ring in set(rings["ring"]):
        rows = [place for place, own in enumerate(rings["ring"]) if own == ring]
        cell_at = {rings["cell"][row]: row for row in rows}
        original_at = {rings["original"][row]: row for row in rows}
        widths = {rings["width"][row] for row in rows}
        n, width = len(rows), min(widths)
        if set(cell_at) != set(range(n)) or set(original_at) != set(range(n)) or len(widths) > 1 or width > n:
            problems.append("a ring is not one")
            return
        if width < limits["k"]["k"]:
            problems.append("a window is narrower than k")
        for place in range(n):
            covered = [original_at[(place + step) % n] for step in range(width)]
            cell = [column[cell_at[place]] for column in cells]
            if not all(v.fits(c, other) for other in covered for v, c in zip(values, cell, strict=True)):
                problems.append("a cell does not cover its window")
                return
            if cell_at[place] not in covered:
                problems.append("a row's own original is outside of its window")
                return
            if "l" in limits and secret is not None:
                around = [cell_at[(place - step) % n] for step in range(width)]
                top = max(Counter(key(secret[row]) for row in around).values())
                if Fraction(top, width) > 1 / Fraction(str(limits["l"]["l"])):
                    problems.append("the rows that somebody fits tell a value with more than 1/l")
                    return


def _judge_blocks(
    found: Folder,
    column: str,
    cells: list[list[Any]],
    values: list[Values],
    secret: list[Any],
    problems: list[str],
) -> None:
    """Recount the blocks and the shares of one sensitive column."""
    limits = limits_of(found.manifest["guarantees"], column)
    blocks, members = found.private["blocks"], found.private["members"]
    k, n = limits["k"]["k"], len(cells[0])
    if list(blocks) != ["block", "members"] or len(blocks["block"]) != n or len(members) != k:
        problems.append("blocks.parquet or members.parquet is not what the format says")
        return
    shares: dict[int, dict[Any, Fraction]] = {}
    for block in set(blocks["block"]):
        own = [key(secret[place]) for place, b in enumerate(blocks["block"]) if b == block]
        shares[block] = {value: Fraction(count, len(own)) for value, count in Counter(own).items()}
        if len(own) < k or ("l" in limits and max(shares[block].values()) > 1 / Fraction(str(limits["l"]["l"]))):
            problems.append("a block breaks k or l")
    table = found.tables["release"]
    names = share_columns(found.manifest, table)[column]
    order = sorted({key(value) for value in secret}, key=lambda item: (item[1] is not None, item[1]))
    if len(order) != len(names):
        problems.append("the listed sensitive values are not those of the released rows")
        return
    chosen = list(zip(*members.values(), strict=True))
    for place in range(n):
        own_members = chosen[blocks["members"][place]]
        cell = [column[place] for column in cells]
        if len(set(own_members)) < k or place not in own_members:
            problems.append(f"row {place + 1} has not k members, itself among them")
            return
        if not all(v.fits(c, other) for other in own_members for v, c in zip(values, cell, strict=True)):
            problems.append(f"a member of row {place + 1} does not fit its cell")
            return
        mean = [sum(shares[blocks["block"][m]].get(value, Fraction(0)) for m in own_members) / k for value in order]
        told = [table[name][place] for name in names]
        cap = int(_PARTS / Fraction(str(limits["l"]["l"]))) if "l" in limits else _PARTS
        if not all(_near(part, share, cap) for part, share in zip(told, mean, strict=True)):
            problems.append(f"row {place + 1} tells other shares than those of its members' blocks")
            return


def _near(parts: int, share: Fraction, cap: int) -> bool:
    """Whole parts next to the share: none for nothing, at least one for something, and no more than the cap."""
    if share == 0:
        return parts == 0
    return parts >= 1 and parts <= cap and abs(parts - share * _PARTS) < 3
