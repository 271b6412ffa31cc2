"""The release against the rows that it was made from: every row stands for its person, and k of them fit each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.assignment import check_assignment
from incrowd.verify.blocks import check_blocks, check_shuffled
from incrowd.verify.compare import read_alike
from incrowd.verify.coverage import Boxes, count_meeting, points
from incrowd.verify.domain import Array
from incrowd.verify.extents import check_extents
from incrowd.verify.linking import check_linking
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Column, Originals, read_originals
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.private import Kept
from incrowd.verify.private_domains import check_domains
from incrowd.verify.promises import distributions_of, each_secret, judge_values
from incrowd.verify.published import Leaves, Quasi, Scale, numbers_of
from incrowd.verify.rare import check_counts_and_rare, leaf_table
from incrowd.verify.rings import check_rings
from incrowd.verify.series import check_people, without_filler
from incrowd.verify.sideways import check_identifiers, check_other
from incrowd.verify.verdict import Findings, first_row


@dataclass(frozen=True)
class Behind:
    """The originals behind the released rows, in codes of the payload.

    Attributes
    ----------
    rows
        Their numbers: in the order of the released rows if `mapped`, otherwise all that may have been released.
    codes
        Their codes, per quasi-identifier.
    secrets
        Of each sensitive column, the place of their value among the payload's, -1 where it has none.
    """

    rows: Array
    codes: list[Array]
    secrets: list[Array]
    mapped: bool

    @property
    def sensitive(self) -> Array | None:
        """The place of their sensitive value, where there is at most one such column; ``None`` if there is none."""
        if len(self.secrets) > 1:
            raise AssertionError  # a check that sees one column must not be given several
        return self.secrets[0] if self.secrets else None

    def about(self, column: int) -> Behind:
        """Return the originals as if one sensitive column were the only one."""
        return replace(self, secrets=self.secrets[column : column + 1])


def check_original(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    original: pl.DataFrame,
    kept: Kept | None,
    *,
    promises_only: bool = False,
) -> None:
    """Check all that the originals can show, with what the owner keeps when it is there."""
    if not check_columns(findings, claims, original.columns, original.height):
        return
    originals = read_originals(claims, original)
    if not check_values(findings, claims, originals, int(originals.dropped.sum())):
        return
    check_people(findings, claims, payload, kept, original, originals)
    found = without_filler(findings, claims, payload, kept)
    if found is None:
        return
    payload, kept = found
    behind = _find_behind(findings, claims, payload, originals, kept)
    if behind is None:
        return
    if behind.mapped and check_covers(findings, claims, payload, behind):
        check_extents(findings, claims, payload, originals, behind.rows, behind.codes)
    _check_who_is_behind(findings, claims, payload, original, behind)
    if behind.mapped:
        _check_others(findings, claims, payload, original, behind, kept)
    check_identifiers(findings, claims, payload.frame, original, behind.rows if behind.mapped else None)
    for at, part, own, told in each_secret(findings, claims, payload):
        _check_closeness(part, own, told, behind.about(at))
        if claims.in_shares:
            _check_blocks(part, own, told, behind.about(at), kept)
    if len(claims.secrets) > 1:  # what is left looks at no sensitive column, or at that of a release with one
        claims, payload, behind = claims.about(claims.secrets[0]), payload.about(0), behind.about(0)
    _check_crowds(findings, claims, payload, behind, kept, promises_only=promises_only)


def _check_who_is_behind(
    findings: Findings, claims: Claims, payload: Payload, original: pl.DataFrame, behind: Behind
) -> None:
    """Check the sensitive values of the rows' originals; whether there are such originals, where no map says so."""
    for at, part, own, told in each_secret(findings, claims, payload):
        if behind.mapped:
            check_own_value(part, told, behind.about(at))
        else:
            others = _read_others(claims, payload, original, behind)
            check_assignment(part, own, told, behind.codes, behind.about(at).sensitive, others)


def _check_crowds(
    findings: Findings, claims: Claims, payload: Payload, behind: Behind, kept: Kept | None, *, promises_only: bool
) -> None:
    """Check how many originals fit each row, and how many rows each original."""
    on_rings = _check_rings(findings, claims, payload, behind, kept, promises_only=promises_only)
    if not (promises_only and (on_rings or claims.in_shares)):
        _check_members(findings, claims, payload, behind, on_rings=on_rings)
    linked = payload.exact is not None and not claims.homogeneous and not on_rings
    if linked or not promises_only:
        check_linking(findings, claims, payload, behind.codes, values_judged=on_rings)


def check_columns(findings: Findings, claims: Claims, columns: Sequence[str], n_rows: int) -> bool:
    """Judge whether the original has the columns and the number of rows that the manifest tells."""
    wanted = [q.name for q in claims.quasi] + list(claims.other)
    wanted += [secret.name for secret in claims.secrets]
    lost = [name for name in wanted if name not in columns]
    problems = [f"it lacks the columns {', '.join(map(repr, lost))}"] if lost else []
    if n_rows != claims.rows["input"]:
        problems.append(f"it has {n_rows} rows, and the manifest says {claims.rows['input']}")
    fine = findings.judge("original", problems, f"{counted(n_rows, 'row')} with all {counted(len(wanted), 'column')}")
    unannounced = [name for name in columns if name not in set(wanted)]
    differs = list(claims.dropped) != unannounced
    findings.judge(
        "dropped columns",
        ["the manifest lists other columns than those that the original has and the release has not"]
        if differs
        else [],
        f"{counted(len(unannounced), 'column')}, all in the original",
    )
    return fine


def check_values(findings: Findings, claims: Claims, originals: Originals, n_dropped: int) -> bool:
    """Judge types and the number of rows that are dropped for a missing value."""
    named = list(zip([q.name for q in claims.quasi], originals.quasi, strict=True))
    named += [(secret.name, own) for secret, own in zip(claims.secrets, originals.secrets, strict=True)]
    odd = [f"column {name!r} has {c.n_odd} values that are not of its type" for name, c in named if c.n_odd]
    fine = findings.judge("original values", odd, "all of the types that the manifest states")
    problems = []
    if n_dropped != claims.rows["missing"]:
        problems.append(f"{n_dropped} originals have a missing value, and the manifest says {claims.rows['missing']}")
    findings.judge("missing rows", problems, f"rows that a missing value drops: {n_dropped}")
    return fine


def _find_behind(
    findings: Findings, claims: Claims, payload: Payload, originals: Originals, kept: Kept | None
) -> Behind | None:
    """Return the originals behind the released rows in codes, after judging what is told about their values."""
    mapped = kept is not None and kept.rows is not None
    if kept is not None and mapped:
        if not check_row_map(findings, claims, kept.rows, payload.frame.height):
            return None
        rows = np.asarray(kept.rows)
        problems = wrong_rows(originals.dropped[rows], "come from originals with a missing value")
        if not findings.judge("rows kept", problems, "no released row comes from an original that is dropped"):
            return None
    else:
        findings.skip("row map", "needs the owner's private folder: whose row is whose was not checked")
        rows = np.flatnonzero(~originals.dropped)
    certain = mapped or claims.rows["suppressed"] == 0
    is_kept = np.zeros(len(originals.dropped), np.bool_)  # to count rows in their order is faster than in any other
    is_kept[rows] = True
    in_order = np.flatnonzero(is_kept)
    counts = [column.count(in_order) for column in originals.quasi]
    leaves = published_leaves(findings, claims, payload, originals, kept if mapped else None, counts)
    if leaves is None:
        return None
    if certain:
        check_counts_and_rare(findings, claims, originals, leaves, counts, in_order)
    else:
        findings.skip("original counts", "needs the owner's private folder: suppressed originals are not known")
    codes = [
        codes_of(q, column, scale, table)[rows]
        for q, column, scale, table in zip(claims.quasi, originals.quasi, payload.scales, leaves, strict=True)
    ]
    nowhere = np.zeros(len(rows), np.bool_)
    for code in codes:
        nowhere |= code < 0
    if not findings.judge(
        "published leaves", wrong_rows(nowhere, "have an original whose value is in no leaf"), "every value has one"
    ):
        return None
    secrets = [
        column.ranks_in(told.values)[column.index[rows]]
        for column, told in zip(originals.secrets, payload.told, strict=True)
    ]
    return Behind(rows, codes, secrets, mapped)


def check_row_map(findings: Findings, claims: Claims, rows: Array | None, n_released: int) -> bool:
    """Judge whether every released row has an original of its own."""
    if rows is None:
        return False
    problems = row_map_problems(rows, n_released, claims.rows["input"])
    return findings.judge("row map", problems, f"{counted(len(rows), 'released row')}, each from its own original")


def row_map_problems(rows: Array, n_released: int, n_input: int) -> list[str]:
    """Say what keeps a row map from pointing every released row to an original of its own."""
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return ["it is not a list of row numbers"]
    if len(rows) != n_released:
        return [f"it has {len(rows)} entries for {n_released} released rows"]
    if len(rows) and (rows.min() < 0 or rows.max() >= n_input):
        return [f"it points outside the {n_input} originals"]
    seen = np.zeros(n_input, np.bool_)
    seen[rows] = True
    twice = len(rows) - int(np.count_nonzero(seen))
    return [f"it points {twice} times to an original that another row has"] if twice else []


def published_leaves(
    findings: Findings, claims: Claims, payload: Payload, originals: Originals, kept: Kept | None, counts: list[Array]
) -> list[Array] | None:
    """Return, per column, the published leaf of each distinct value and of the missing one."""
    owned: list[Array | None] = [None] * len(claims.quasi)
    if kept is not None and kept.domains is not None:
        owned = check_domains(findings, claims, payload, originals, kept.domains, counts)
    else:
        findings.skip("domains", "needs the owner's private folder: joined values were not checked")
    found = []
    for q, column, table in zip(claims.quasi, originals.quasi, owned, strict=True):
        own = table if table is not None else leaf_table(q, _plain(q, column))
        if own is None:
            findings.skip("covers", f"needs the owner's private folder, which knows where values of {q.name!r} are")
            return None
        found.append(own)
    return found


def _plain(q: Quasi, column: Column) -> list[object]:
    """Return the distinct values as the manifest writes them."""
    if q.type == "date":
        return column.values.cast(pl.String()).to_list()
    listed = column.values.to_list()
    return [str(value).lower() for value in listed] if q.type == "bool" and isinstance(q, Leaves) and q.rest else listed


def codes_of(q: Quasi, column: Column, scale: Scale, leaves: Array) -> Array:
    """Return the code of every original in a column."""
    table = leaves if isinstance(q, Leaves) else np.append(scale.code(numbers_of(column.values)), np.int32(0))
    return table[column.index]


def check_covers(findings: Findings, claims: Claims, payload: Payload, behind: Behind) -> bool:
    """Judge whether every cell covers its original."""
    problems = []
    for m, (q, own) in enumerate(zip(claims.quasi, behind.codes, strict=True)):
        cell = payload.cells.cell[m]
        wrong = (own < payload.cells.lo[m][cell]) | (own > payload.cells.hi[m][cell])
        problems += wrong_rows(wrong, f"have a cell of {q.name!r} without their original")
    return findings.judge("covers", problems, "every cell covers its original")


def check_own_value(findings: Findings, payload: Payload, behind: Behind) -> None:
    """Check Definition 3.1(d) of the NSVDist paper: a row leaves its person's sensitive value possible."""
    own = behind.sensitive
    if own is None:
        return
    if payload.exact is not None:
        wrong, fine = np.asarray(payload.exact != own), "every sensitive value is its original's"
    else:
        assert payload.counts is not None
        wrong = (own < 0) | (payload.counts[np.arange(len(own)), np.maximum(own, 0)] <= 0)
        fine = "every distribution has its original's value"
    findings.judge("own value", wrong_rows(wrong, "lack their original's value"), fine)


def _check_others(
    findings: Findings, claims: Claims, payload: Payload, original: pl.DataFrame, behind: Behind, kept: Kept | None
) -> None:
    """Columns that are kept as they are: those of the row's original, or of anybody in its block."""
    check_other(findings, claims, payload, original, behind.rows)
    if not claims.in_shares or not claims.other:
        return
    if kept is None or kept.blocks is None:
        findings.skip("shuffled columns", "needs the owner's private folder, which knows the blocks")
        return
    own = _read_others(claims, payload, original, behind)
    check_shuffled(findings, payload.frame.select(claims.other), own, kept.blocks["block"].to_numpy())


def _read_others(claims: Claims, payload: Payload, original: pl.DataFrame, behind: Behind) -> pl.DataFrame:
    """Return the originals' columns that are kept as they are, each in the reading that was published."""
    own = {name: original[name][behind.rows] for name in claims.other}
    return pl.DataFrame([read_alike(payload.frame[name], values, claims.tokens) for name, values in own.items()])


def _check_closeness(findings: Findings, claims: Claims, payload: Payload, behind: Behind) -> None:
    """Judge how close distributions are to the originals', where the manifest tells only rounded counts."""
    found, where, what = distributions_of(claims, payload)
    known = behind.sensitive is not None and (behind.mapped or claims.rows["suppressed"] == 0)
    if found is not None and payload.counts is not None and claims.joined and known:
        own = np.asarray(behind.sensitive)
        judge_values(findings, claims, found, np.bincount(own[own >= 0], minlength=payload.n_values), where, what)


def _check_blocks(findings: Findings, claims: Claims, payload: Payload, behind: Behind, kept: Kept | None) -> None:
    if kept is None or kept.blocks is None or kept.members is None or not behind.mapped or behind.sensitive is None:
        findings.skip("blocks", "needs the owner's private folder, which knows blocks and members")
        findings.skip("shares", "needs the owner's private folder, which knows blocks and members")
        return
    if (behind.sensitive < 0).any():
        return  # noted already: a row lacks its original's value
    check_blocks(findings, claims, payload, behind.codes, behind.sensitive, kept.blocks, kept.members)


def _check_rings(
    findings: Findings, claims: Claims, payload: Payload, behind: Behind, kept: Kept | None, *, promises_only: bool
) -> bool:
    """Judge rows that were shuffled on rings; tell whether the rings were fit to judge by."""
    if claims.homogeneous or payload.counts is not None:
        return False
    if kept is None or kept.rings is None or not behind.mapped:
        findings.skip("rings", "needs the owner's private folder, which says how rows were shuffled")
        return False
    return check_rings(findings, claims, payload, behind.codes, kept.rings, promises_only=promises_only)


def _check_members(findings: Findings, claims: Claims, payload: Payload, behind: Behind, *, on_rings: bool) -> None:
    """Every released row generalizes k originals, and every member that it counts exists among them."""
    cells, counts = payload.cells, payload.counts
    covers_own = behind.mapped and all(check.ok for check in findings.checks if check.name == "covers")
    needs = np.ones(cells.n_groups, np.bool_)
    if covers_own and claims.homogeneous and counts is None:
        # each of these copies covers an original of its own: they are at least k
        needs = cells.size < (claims.k or 1)
    at, n_originals = np.flatnonzero(needs), len(behind.rows)
    asked = Boxes(cells.lo, cells.hi, [cells.of_groups(m)[at] for m in range(len(behind.codes))], len(at))
    items = points(behind.codes, payload.n_codes, n_originals)
    n_values, segment = 1, np.zeros(n_originals, np.int64)
    if counts is not None and behind.sensitive is not None and not claims.in_shares:
        n_values, segment = counts.shape[1], np.maximum(behind.sensitive, 0)
    meeting = count_meeting(asked, items, np.ones(n_originals, np.int64), segment, n_values)
    found = cells.size.copy()
    found[at] = meeting.sum(axis=1)
    judged = claims.homogeneous or on_rings or any(c.name == "k" and c.ok is not None for c in findings.checks)
    judge_members(findings, claims, payload, found, exact=len(at) == cells.n_groups, k_judged=judged)
    if counts is not None and not claims.in_shares:
        wrong = np.asarray((counts > meeting[cells.group]).any(axis=1))
        problems = wrong_rows(wrong, "count members that no covered original can be")
        findings.judge("members", problems, "every counted member is a covered original")


def judge_members(
    findings: Findings, claims: Claims, payload: Payload, found: Array, *, exact: bool, k_judged: bool
) -> None:
    """Judge how many originals fit each row: that is k, unless k was judged by groups, rings or members."""
    smallest = int(found.min()) if len(found) else None
    findings.levels["originals_per_release_min"] = smallest
    if not k_judged:
        findings.levels["k"] = smallest
    if claims.k is None:
        return
    problems = []
    few = found < claims.k
    if few.any():
        row = first_row(int(payload.cells.first[few].min()))
        n_rows = int(payload.cells.size[few].sum())
        problems.append(f"rows that fit fewer than k = {claims.k} people: {n_rows}, {row}")
    bound = "" if exact else " (a lower bound: identical rows that cover their own originals were not counted on)"
    name = "originals per row" if k_judged else "k"
    findings.judge(name, problems, f"every row fits at least {counted(smallest or 0, 'person', 'people')}{bound}")
