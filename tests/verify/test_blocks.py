"""Shares that are told by blocks: the owner's evidence is held against the originals, part by part."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.verify import blocks
from incrowd.verify.shares import block_shares, in_parts, mean_shares
from verify.build import ILLS, Made, answers, detail, publish, put

K, N = 4, 120
SHARES = [f"ill={ill}" for ill in ILLS]


@pytest.fixture(scope="module")
def honest() -> Made:
    return publish(ic.NSVDist(k=K, l=2), n=N)


def test_an_honest_release_is_found_right(honest):
    verdict = honest.judge()
    assert verdict.violations == []
    assert verdict.complete
    for name in ("blocks", "members", "k", "shares", "shuffled columns", "own value"):
        assert answers(verdict)[name] is True
    assert (verdict.levels["k"], verdict.levels["originals_per_release_min"]) == (K, K)
    assert verdict.levels["block_min"] >= K
    assert verdict.levels["t"] is not None
    only = honest.judge(only=True)
    assert only.violations == []
    assert "originals per row" not in answers(only)


def own(made: Made, row: int) -> str:
    return f"ill={made.original['ill'][made.rows[row]]}"


def part_for_everybody(made):
    """One part added to everybody's own share, taken from another."""
    counts = made.frame.select(SHARES).to_numpy().copy()
    for row in range(N):
        at = SHARES.index(own(made, row))
        taken = max((v for v in range(4) if v != at), key=lambda v: counts[row, v])
        counts[row, at] += 1
        counts[row, taken] -= 1
    made.frame = made.frame.with_columns(pl.Series(name, counts[:, v]) for v, name in enumerate(SHARES))


def part_for_one(made):
    made.put(SHARES[0], 3, made.frame[SHARES[0]][3] + 1)


def halve_shares(made):
    made.frame = made.frame.with_columns(pl.col(SHARES) // 2)


def evidence(name, column, row, value):
    def mutate(made):
        table = made.private[name]
        new = value(made, table) if callable(value) else value
        made.private[name] = put(table, column, row, new)

    return mutate


def swap_blocks(made):
    """Two rows with different values trade their blocks."""
    table = made.private["blocks"]
    ill = made.original["ill"][made.rows]
    a, b = next(
        (i, j) for i in range(N) for j in range(i) if table["block"][i] != table["block"][j] and ill[i] != ill[j]
    )
    made.private["blocks"] = put(put(table, "block", a, table["block"][b]), "block", b, table["block"][a])


def one_small_block(made):
    made.private["blocks"] = put(made.private["blocks"], "block", 0, 10**6)


def one_kind_of_block(made):
    """Everybody with the first value is in one block."""
    block = np.where((made.original["ill"] == ILLS[0]).to_numpy()[made.rows], 0, 1)
    made.private["blocks"] = made.private["blocks"].with_columns(pl.Series("block", block))


def far_member(made, table):
    """Somebody who does not fit the cell of the first row's search."""
    low, high = made.frame["age.lo"][0], made.frame["age.hi"][0]
    ages = made.original["age"][made.rows].to_list()
    return next(i for i, age in enumerate(ages) if not low <= age <= high)


def first_search(made):
    return made.private["blocks"]["members"][0]


def spoil_members(made):
    made.private["members"] = put(
        made.private["members"], "1", first_search(made), far_member(made, made.private["members"])
    )


def repeat_member(made):
    members, at = made.private["members"], first_search(made)
    made.private["members"] = put(members, "2", at, members["1"][at])


def swap_hours(made, *, inside: bool):
    block, hours = made.private["blocks"]["block"], made.frame["hours"]
    a, b = next((i, j) for i in range(N) for j in range(i) if (block[i] == block[j]) is inside and hours[i] != hours[j])
    made.frame = put(put(made.frame, "hours", a, hours[b]), "hours", b, hours[a])


PLANTED = [
    ("shares", part_for_everybody, f"{N} rows have other shares than the blocks of their members give"),
    ("shares", part_for_one, "1 rows have other shares than the blocks of their members give, first at release row 4"),
    ("shares", halve_shares, f"{N} rows have other shares"),
    ("shares", swap_blocks, "have other shares"),
    ("blocks", one_small_block, "blocks have fewer than k = 4 rows"),
    ("blocks", one_kind_of_block, "1 of 2 blocks break l = 2"),
    ("members", spoil_members, "have a member whose original does not fit their cell"),
    ("k", spoil_members, "have a member whose original does not fit their cell"),
    ("members", repeat_member, "have a member that is counted twice"),
    ("members", evidence("members", "1", 0, N), "they point outside the released rows"),
    ("members", evidence("members", "1", 0, -1), "they point outside the released rows"),
    ("members", evidence("blocks", "members", 0, 10**6), "they point outside the released rows"),
    ("members", evidence("blocks", "members", 0, -1), "they point outside the released rows"),
    (
        "shuffled columns",
        lambda made: swap_hours(made, inside=False),
        "2 blocks do not have the other columns of their originals",
    ),
    (
        "shuffled columns",
        lambda made: made.put("note", 0, "z"),
        "1 blocks do not have the other columns of their originals",
    ),
    ("private folder", lambda made: made.private.pop("blocks"), "lacks blocks"),
    ("private folder", lambda made: made.private.pop("members"), "lacks members"),
    ("private folder", lambda made: made.private.update(members=made.private["members"].drop("4")), "holds members in"),
    (
        "private folder",
        lambda made: made.private.update(blocks=made.private["blocks"][1:]),
        "holds blocks in another form",
    ),
    (
        "private folder",
        lambda made: made.private.update(blocks=made.private["blocks"].cast(pl.Float64)),
        "holds blocks",
    ),
]


@pytest.mark.parametrize(("name", "mutate", "words"), PLANTED)
@pytest.mark.parametrize("only", [True, False])
def test_a_planted_violation_is_found(honest, name, mutate, words, only):
    made = honest.copy()
    mutate(made)
    verdict = made.judge(only=only)
    assert answers(verdict)[name] is False, str(verdict)
    assert words in detail(verdict, name)


def test_the_other_columns_of_a_block_may_stand_in_any_order(honest):
    made = honest.copy()
    swapped = made.private["blocks"]["block"].to_list()
    a, b = next((i, j) for i in range(N) for j in range(i) if swapped[i] == swapped[j])
    for column in ("hours", "note"):
        x, y = made.frame[column][a], made.frame[column][b]
        made.frame = put(put(made.frame, column, a, y), column, b, x)
    assert answers(made.judge())["shuffled columns"] is True


def test_rows_are_dealt_out_as_whole_tuples(honest):
    """Each column by itself is right, and the pairs are not."""
    made = honest.copy()
    swap_hours(made, inside=True)
    block, shown = made.private["blocks"]["block"], made.frame.select("hours", "note")
    own_rows = made.original.select("hours", "note")[made.rows]
    keyed = [sorted(zip(block, *(f[c].to_list() for c in f.columns), strict=True), key=str) for f in (shown, own_rows)]
    assert answers(made.judge())["shuffled columns"] is (keyed[0] == keyed[1])


def test_without_the_evidence_shares_stay_open(honest):
    made = honest.copy()
    made.private = None
    verdict = made.judge()
    assert verdict.violations == []
    assert (answers(verdict)["blocks"], answers(verdict)["shares"]) == (None, None)
    assert answers(verdict)["k"] is True  # k originals fit every row, whoever the members are
    assert not verdict.complete


def naive_parts(share: list[Fraction], most: int) -> list[int]:
    """Parts as the format says, one by one."""
    exact = [s * 10_000 for s in share]
    parts = [min(max(int(e), 1 if e > 0 else 0), most) for e in exact]
    left = 10_000 - sum(parts)
    lacking = sorted((v for v in range(len(parts)) if parts[v] < most and exact[v] > parts[v]),
                     key=lambda v: (parts[v] - exact[v], v))  # fmt: skip
    for v in lacking[: max(left, 0)]:
        parts[v] += 1
    while sum(parts) > 10_000:
        worst = max(range(len(parts)), key=lambda v: (parts[v] - exact[v] - (2 if parts[v] <= 1 else 0), -v))
        parts[worst] -= 1
    while sum(parts) < 10_000:
        free = [v for v in range(len(parts)) if exact[v] > 0 and parts[v] < most]
        if not free:
            break
        parts[max(free, key=lambda v: (exact[v] - parts[v], -v))] += 1
    return parts


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any),
    st.sampled_from([Fraction(1), Fraction(11, 10), Fraction(3, 2)]),
)
def test_parts_are_rounded_as_the_format_says(counts, l):
    share = [Fraction(count, sum(counts)) for count in counts]
    found = in_parts(np.array([[float(s) for s in share]]), l)[0].tolist()
    exact = naive_parts(share, int(10_000 / l))
    # equal remainders may differ by a float's last digit; everything else is decided
    assert sum(found) == sum(exact)
    assert max(abs(a - b) for a, b in zip(found, exact, strict=True)) <= 1
    assert all(part <= 10_000 / l for part in found)
    assert all((part > 0) is (count > 0) for part, count in zip(found, counts, strict=True))


@pytest.mark.parametrize(
    ("share", "l", "parts"),
    [
        ([0.34561, 0.65437, 0.00002], 1.1, [3456, 6543, 1]),
        ([1 / 3, 1 / 3, 1 / 3], 1.1, [3334, 3333, 3333]),
        ([1 / 3, 1 / 3, 1 / 3], 3, [3333, 3333, 3333]),
        ([0.5, 0.5], 2, [5000, 5000]),
        ([0.9999, 0.00005, 0.00005], 1, [9998, 1, 1]),
        ([0.25, 0.75, 0.0], 1, [2500, 7500, 0]),
        ([0.9, 0.1], 2, [5000, 5000]),
        ([0.9, 0.1, 0.0], 2, [5000, 5000, 0]),
        ([1.0, 0.0], 1, [10000, 0]),
        ([0.99995, 0.00005], 1, [9999, 1]),
        ([0.9001, 0.0999], 2, [5000, 5000]),
        (
            [0.988146448, 2.88871719e-08, 2.5e-17, 7.537e-05, 3.5e-09, 6.16e-14, 0.0117770708, 1.078e-06],
            1,
            [9880, 1, 0, 1, 1, 0, 116, 1],
        ),
    ],
)
def test_parts_of_some_shares(share, l, parts):
    assert in_parts(np.array([share]), Fraction(str(l))).tolist() == [parts]


def test_means_are_added_from_left_to_right():
    block = np.array([0, 0, 0, 1, 1, 1, 1])
    shares = block_shares(block, np.array([0, 1, 1, 2, 2, 2, 0]), 2, 3)
    assert shares.tolist() == [[1 / 3, 2 / 3, 0], [0.25, 0, 0.75]]
    means = mean_shares(shares, np.array([[0, 1, 1], [0, 0, 0]]))
    assert means[0].tolist() == [1 / 3 / 3 + 0.25 / 3 + 0.25 / 3, 2 / 3 / 3 + 0.0 + 0.0, 0.0 + 0.75 / 3 + 0.75 / 3]


def test_shares_are_recomputed_in_pieces(honest, monkeypatch):
    monkeypatch.setattr(blocks, "_AT_ONCE", 9)
    assert answers(honest.judge())["shares"] is True
    made = honest.copy()
    part_for_one(made)
    assert answers(made.judge())["shares"] is False


@pytest.mark.parametrize(("n_blocks", "most"), [(1, 13), (4, 24), (9, 37)])
def test_how_many_rows_may_keep_their_own(n_blocks, most):
    """In blocks of distinct values one row of each is its own, give or take one: 8 deviations and 4 are too far."""
    own = np.arange(50 * n_blocks)
    for n_same, told in ((most, False), (most + 1, True)):
        shown = np.where(own < n_same, own, -1)
        assert blocks._stay_with_their_people(shown, own, own // 50) is told


@pytest.mark.parametrize(
    ("values", "n_blocks", "most"), [("aabb", 30, 114), ("aaab", 60, 207), ("abcc", 60, 158), ("ab", 100, 184)]
)
def test_how_many_rows_may_keep_their_own_where_values_repeat(values, n_blocks, most):
    """Mean and variance of the rows that a random order leaves alike, by trying all orders of a block."""
    own = np.array([ord(value) for value in values])
    alike = [(np.array(order) == own).sum() for order in permutations(own)]
    far = n_blocks * np.mean(alike) + 8 * np.sqrt(n_blocks * np.var(alike)) + 4
    assert most == int(far)
    rows, block = np.tile(own, n_blocks), np.repeat(np.arange(n_blocks), len(own))
    for n_same, told in ((most, False), (most + 1, True)):
        shown = np.where(np.arange(len(rows)) < n_same, rows, -1)
        assert blocks._stay_with_their_people(shown, rows, block) is told


def test_rows_that_can_only_keep_their_own_are_no_sign():
    same, block = np.zeros(100, int), np.repeat(np.arange(100), 1)
    assert not blocks._stay_with_their_people(same, same, block)
    assert not blocks._stay_with_their_people(same, same, block // 50)
