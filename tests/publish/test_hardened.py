"""NSVDist's hardened mode: all that it tells about sensitive values is told by the counts in blocks."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_nsvdist
from incrowd.coding import Table
from incrowd.kernels.forest import add_shares, grow
from incrowd.kernels.information import n_log_n
from incrowd.privacy import exact
from incrowd.publish import blocks, nsvdist
from incrowd.publish.block_shares import in_parts
from incrowd.publish.blocks import Limited, blocks_of, chances_of
from incrowd.release.seal import secret_rng
from owner import exact_rows
from strategies import tables


def census(n=120, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["a", "b", "c"], n)
    sick = np.where(rng.random(n) < (age - 10) / 80, "yes", "no")
    return pl.DataFrame({"age": age, "town": town, "sick": sick})


SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="sick")


@given(tables(max_rows=24), st.integers(1, 5), st.sampled_from([1, 1.2, 1.5, 2]), st.integers(0, 99))
def test_blocks_part_the_table_and_keep_k_and_l(drawn, k, l, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    assume(table.n_rows >= k and table.sensitive_counts.max() * exact(l) <= table.n_rows)
    block_of = blocks_of(table, k, limited(table, l), np.random.default_rng(seed))
    assert sorted(set(block_of.tolist())) == list(range(block_of.max() + 1))
    for block in range(block_of.max() + 1):
        inside = table.sensitive[block_of == block]
        assert len(inside) >= k
        assert np.bincount(inside).max() * Fraction(str(l)) <= len(inside)


@given(tables(max_rows=18), st.integers(1, 5), st.sampled_from([1, 1.3, 2]), st.integers(0, 99))
def test_distributions_are_means_over_the_members_that_the_paper_would_take_without_values(drawn, k, l, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    assume(table.n_rows >= k and table.sensitive_counts.max() * exact(l) <= table.n_rows)
    release = ic.NSVDist(k=k, l=l, concealment=False).publish(drawn.frame, drawn.schema, seed=seed)
    rng = secret_rng(seed, drawn.frame)
    block_of = blocks_of(table, k, limited(table, l), rng.spawn(1)[0])
    lo, _ = exact_rows(release)
    rank = rng.permutation(table.n_rows)
    codes = [tuple(int(x) for x in row) for row in table.codes]
    price = naive_nsvdist.price_of(table.hierarchies, table.marginals, "lm")
    n_values = table.n_values
    for i, row in enumerate(release.private.rows):
        members = naive_nsvdist.members_of(int(row), codes, [0] * table.n_rows, table.hierarchies, k, k, rank, price)
        shares = np.zeros(n_values)
        for member in members:
            inside = table.sensitive[block_of == block_of[member]]
            shares += np.bincount(inside, minlength=n_values) / len(inside) / k
        assert np.abs(release.distributions[i] - shares).max() <= (n_values + 1) / 9000
        assert (release.distributions[i] > 0).tolist() == (shares > 0).tolist()
        assert [lo[i, m] for m in range(table.n_quasi)] == [
            h.closure(table.codes[members, m].min(keepdims=True), table.codes[members, m].max(keepdims=True))[0][0]
            for m, h in enumerate(table.hierarchies)
        ]


CHOICE = ("lo", "hi", "cell_of", "counts")


def chosen(frame, seed, **parameters):
    """What NSVDist chooses with the same random numbers, whatever the values are."""
    table = Table.encode(frame, SCHEMA)
    return ic.NSVDist(**parameters).choose(table, np.random.default_rng(seed), lambda *_: None)


def limited(table, l):
    return [Limited.of(table, secret, exact(l)) for secret in table.secrets]


def test_people_of_a_block_can_exchange_their_values_without_a_trace(monkeypatch):
    """The heart of the promise: with the blocks fixed, the release is a function of the counts in them."""
    frame = census()
    fixed = np.arange(frame.height) % 4
    monkeypatch.setattr(nsvdist, "blocks_of", lambda *_: fixed)
    rng = np.random.default_rng(5)
    first = chosen(frame, 1, k=10, l=1.1)
    for _ in range(5):
        order = np.arange(frame.height)
        for block in range(4):
            order[fixed == block] = rng.permutation(order[fixed == block])
        other = chosen(frame.with_columns(frame["sick"][order.tolist()].alias("sick")), 1, k=10, l=1.1)
        assert all(np.array_equal(getattr(other, part), getattr(first, part)) for part in CHOICE)


def test_cells_do_not_depend_on_values():
    frame = census(250)
    first = chosen(frame, 3, k=5, l=1.5, presplit=100)
    others = frame.with_columns(frame["sick"].shuffle(seed=1))
    same = chosen(others, 3, k=5, l=1.5, presplit=100)
    assert all(np.array_equal(getattr(same, part), getattr(first, part)) for part in ("lo", "hi", "cell_of"))
    assert not np.array_equal(same.counts, first.counts)


def test_a_cap_that_is_no_whole_share_of_the_parts_is_never_exceeded():
    """A third of 10 000 parts is 3333: three values at the cap leave one part over, and nobody may have it."""
    thirds = np.full((1, 3), 1 / 3)
    assert in_parts(thirds, 10_000, 3333).tolist() == [[3333, 3333, 3333]]
    more = np.array([[0.34, 0.33, 0.33]])
    assert in_parts(more, 10_000, 3333).max() == 3333


def test_shares_of_three_equal_values_keep_l_of_three():
    frame = pl.DataFrame({"q": range(90), "s": ["a", "b", "c"] * 30})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    release = ic.NSVDist(k=9, l=3).publish(frame, schema, seed=1)
    assert (3 * release.cell_counts.max(axis=1) <= release.cell_counts.sum(axis=1)).all()


def twins(n, rng):
    """Pairs of people with the same quasi-identifiers, and values by chance alone."""
    pair = np.repeat(rng.permutation(10**5)[: n // 2], 2)
    frame = pl.DataFrame({"q": pair, "r": pair * 7919 % 100_003, "s": rng.integers(0, 6, n).astype(str)})
    schema = ic.Schema(quasi={"q": ic.Intervals(), "r": ic.Intervals()}, sensitive="s")
    return Table.encode(frame, schema)


@pytest.mark.parametrize(("leaf", "least", "most"), [(1, 0.8, 1), (None, 0, 0.6)])
def test_blocks_do_not_tell_that_people_were_placed_by_those_who_are_like_them(leaf, least, most, monkeypatch):
    """Block mates of my equal were placed by values like mine."""
    if leaf:
        monkeypatch.setattr(blocks, "_LEAF", leaf)
        monkeypatch.setattr(blocks, "_LEAF_TIMES_K", leaf)
    rng = np.random.default_rng(3)
    n, table = 600, twins(600, rng)
    block_of = blocks_of(table, 2, limited(table, 2), rng)
    shares = nsvdist.BlockShares.of(block_of, limited(table, 1)).shares[0][block_of]
    twin = np.arange(n) ^ 1
    by_mates = np.zeros_like(shares)
    for i in range(n):
        mates = np.flatnonzero(block_of == block_of[twin[i]])
        by_mates[i] = shares[twin[mates[mates != twin[i]]]].mean(axis=0)
    believed = shares * (by_mates + 0.01)
    believed /= believed.sum(axis=1, keepdims=True)
    claimed = believed.max(axis=1) > 0.8
    right = (believed.argmax(axis=1) == table.sensitive)[claimed]
    assert block_of.max() > 100
    assert len(right) > 100 or not leaf
    assert least <= (right.mean() if len(right) else 0) <= most  # 1 / l is 0.5


@pytest.mark.end_to_end
@pytest.mark.parametrize(("leaf", "least", "most"), [pytest.param(5, 0.6, 1, marks=pytest.mark.slow), (None, 0, 0.55)])
def test_blocks_do_not_tell_who_placed_their_neighbours(leaf, least, most, monkeypatch):
    """Somebody who knows the blocks grows forests from their shares, and asks whose values would explain them."""
    if leaf:
        monkeypatch.setattr(blocks, "_LEAF", leaf)
        monkeypatch.setattr(blocks, "_LEAF_TIMES_K", leaf)
    rng = np.random.default_rng(3)
    n, n_values, least_rows = 1000, 6, leaf or blocks._LEAF_TIMES_K // 2
    table = twins(n, rng)
    values = table.sensitive.astype(np.int64)
    block_of = blocks_of(table, 2, limited(table, 2), rng)
    shares = nsvdist.BlockShares.of(block_of, limited(table, 1)).shares[0][block_of]
    bins, placed_by = np.minimum(blocks._positions(table) * 256, 255).astype(np.uint8), np.zeros((n, n))
    for _ in range(40):
        drawn = np.minimum((shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), n_values - 1)
        sample, draws = rng.choice(n, 4 * n // 5, replace=False), rng.random((2 * n // least_rows + 1, 2))
        nodes, _, _ = grow(bins, drawn, sample, 256, n_values, least_rows, draws, n_log_n(n))
        leaf_of = np.zeros((n, len(nodes)))
        add_shares(bins, nodes, np.eye(len(nodes)), leaf_of)
        seen = leaf_of[sample].sum(axis=0).clip(1)
        placed_by[:, sample] += leaf_of @ (leaf_of[sample] / seen).T
    np.fill_diagonal(placed_by, 0)
    placed_by /= placed_by.sum(axis=1, keepdims=True)
    chances = placed_by @ shares
    mates = (block_of[:, None] == block_of) / np.bincount(block_of)[block_of][:, None]
    pull = placed_by.T @ (mates @ chances - chances)
    pairs = [(a, b) for a in range(n) for b in range(a) if block_of[a] == block_of[b] and values[a] != values[b]]
    a, b = np.array(pairs).T
    gain = pull[a, values[a]] + pull[b, values[b]] - pull[a, values[b]] - pull[b, values[a]]
    assert least <= (gain > 0).mean() <= most


def test_a_persons_own_value_has_no_part_in_their_place():
    frame = census()
    table = Table.encode(frame, SCHEMA)
    values = table.sensitive.astype(np.int64)
    usual, _ = chances_of(table, values, 2, 10, np.random.default_rng(1))
    moved = 0
    for row in range(0, 120, 13):
        other = values.copy()
        other[row] = 1 - other[row]
        chances, _ = chances_of(table, other, 2, 10, np.random.default_rng(1))
        assert np.array_equal(chances[row], usual[row])
        moved += not np.array_equal(chances, usual)
    assert moved  # it has a part in those of others


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any),
    st.sampled_from([10, 100, 10_000]),
    st.sampled_from([1, 1.1, 1.5, 2, 3]),
)
def test_shares_in_parts(counts, n_parts, l):
    share = np.array([counts]) / sum(counts)
    assume(max(counts) * exact(l) <= sum(counts) and len(counts) < n_parts / 2)
    parts = in_parts(share, n_parts, int(n_parts / exact(l)))[0]
    assert parts.sum() <= n_parts
    assert parts.max() * exact(l) <= parts.sum()
    assert ((parts > 0) == (share[0] > 0)).all()
    assert np.abs(parts - share[0] * n_parts).max() <= len(counts) + 1


@pytest.mark.parametrize("l", [1, 1.2])
def test_hardened_keeps_its_promises(l, tmp_path):
    frame = census(300)
    release = ic.NSVDist(k=10, l=l, presplit=100).publish(frame, SCHEMA)
    release.save(tmp_path / "r")
    verdict = ic.verify(tmp_path / "r", frame)
    assert verdict.ok
    assert verdict.levels["block_min"] >= 10
    assert not verdict.unchecked
    (tmp_path / "r.private").rename(tmp_path / "away")
    assert ic.verify(tmp_path / "r", frame).unchecked == ["blocks"]
    assert ic.verify(tmp_path / "r").unchecked == ["blocks", "k"]


BAD_BLOCKS = {
    "small": lambda b: np.where(np.arange(len(b)) == 0, b.max() + 1, b),
    "one-sided": None,
}


def with_evidence(release, **evidence):
    """The same release with other evidence in its owner's hands."""
    private = replace(release.private, evidence=replace(release.private.evidence, **evidence))
    return replace(release, private=private)


@pytest.mark.parametrize("how", BAD_BLOCKS)
def test_wrong_blocks_are_found(how):
    frame = census(300)
    release = ic.NSVDist(k=10, l=1.2).publish(frame, SCHEMA, seed=1)
    own = release.private.evidence.block
    if how == "one-sided":  # everybody who is ill in one block
        wrong = (frame["sick"] == "yes").to_numpy()[release.private.rows].astype(np.int64)
    else:
        wrong = BAD_BLOCKS[how](own)
    found = [c.name for c in with_evidence(release, block=wrong).verify(frame).checks if c.ok is False]
    assert "blocks" in found


def with_counts(release, counts):
    return replace(release, secrets=(replace(release.secrets[0], cell_counts=counts),))


def of_another_row(release, rng):
    return with_counts(release, release.cell_counts[rng.permutation(len(release.cell_counts))])


def with_more_of_the_own_value(release, own):
    """One part of each row's distribution more for its own value."""
    counts = release.cell_counts[release.cell_of].copy()
    at = np.arange(release.n_rows)
    counts[at, own] += 1
    counts[at, 1 - own] -= 1
    return with_counts(replace(release, cell_lo=release.lo, cell_hi=release.hi, cell_of=at), counts)


def hardened(method):
    return replace(method, parameters={**method.parameters, "mode": "hardened"})


@pytest.mark.parametrize("how", ["of another row", "own value", "other blocks", "other members"])
def test_shares_that_are_no_means_over_covered_people_are_found(how):
    frame, rng = census(300), np.random.default_rng(1)
    release = ic.NSVDist(k=10).publish(frame, SCHEMA, seed=1)
    own = (frame["sick"] == "yes").to_numpy()[release.private.rows].astype(np.int64)
    kept = release.private.evidence
    bad = {
        "of another row": lambda: of_another_row(release, rng),
        "own value": lambda: with_more_of_the_own_value(release, own),
        "other blocks": lambda: with_evidence(release, block=rng.permutation(kept.block)),
        "other members": lambda: with_evidence(release, members=rng.permutation(kept.members)),
    }[how]()
    assert not bad.verify(frame).ok


def test_counts_that_are_called_hardened_are_found():
    frame = census(300)
    with pytest.warns(ic.PrivacyWarning):
        release = ic.NSVDist(k=10, mode="paper").publish(frame, SCHEMA, seed=1)
    bad = replace(release, manifest=replace(release.manifest, method=hardened(release.manifest.method)))
    verdict = bad.verify(frame)
    assert not verdict.ok
    assert any("form is not shares" in violation for violation in verdict.violations)


def test_shares_that_no_block_has_are_found():
    frame = census(300)
    release = ic.NSVDist(k=10).publish(frame, SCHEMA, seed=1)
    counts = release.cell_counts.copy()
    one_block = np.zeros(300, np.int64)  # whose shares are those of the table
    pure = np.zeros_like(counts)
    pure[:, 0] = counts.sum(axis=1) - 1
    pure[:, 1] = 1
    bad = with_evidence(with_counts(release, pure), block=one_block)
    assert [c.name for c in bad.verify(frame).checks if c.ok is False] == ["shares"]


@pytest.mark.parametrize(
    ("n", "k", "l", "n_quasi", "most"),
    [(8, 3, 1, 2, 1e-9), (10, 3, 1.3, 1, 0.05), (12, 4, 1.5, 1, 1e-9), (12, 3, 1.5, 2, 0.05), (12, 3, 1.9, 3, 0.05)],
)
def test_somebody_who_knows_how_blocks_are_cut_believes_little_more(n, k, l, n_quasi, most):
    """All worlds of a tiny table: how much the partition itself adds to the share in a block, by Bayes' rule."""
    rng = np.random.default_rng(1)
    quasi = {f"q{m}": rng.integers(0, 5, n) for m in range(n_quasi)}
    frame = pl.DataFrame({**quasi, "s": ["a", "b"] * (n // 2)})
    table = Table.encode(frame, ic.Schema(quasi=dict.fromkeys(quasi, ic.Intervals()), sensitive="s"))
    seen = {}
    for chosen in combinations(range(n), n // 2):
        values = np.zeros(n, np.int32)
        values[list(chosen)] = 1
        world = replace(table, sensitive=values)
        block_of = blocks_of(world, k, limited(world, l), np.random.default_rng(7))
        told = frozenset(
            (tuple(np.flatnonzero(block_of == b)), int(values[block_of == b].sum())) for b in range(block_of.max() + 1)
        )
        seen.setdefault(told, []).append(values)
    excess, weight = [], []
    for told, worlds in seen.items():
        belief = np.mean(worlds, axis=0)
        for rows, ones in told:
            share = max(ones, len(rows) - ones) / len(rows)
            excess += [max(belief[row], 1 - belief[row]) - share for row in rows]
            weight += [len(worlds)] * len(rows)
    added = np.average(excess, weights=weight)
    assert added < most


def test_the_mode_of_the_paper_warns():
    with pytest.warns(ic.PrivacyWarning, match="hardened"):
        ic.NSVDist(k=5, mode="paper").publish(census(), SCHEMA)


def test_cuts_do_not_follow_rounding_errors(monkeypatch):
    """Of two values the second direction of chances is nothing but rounding errors: a cut along it is a lottery."""
    table = Table.encode(census(400), SCHEMA)
    noise = np.random.default_rng(0).normal(0, 1e-17, (400, 2))
    monkeypatch.setattr(blocks, "_axes", lambda *_: blocks._Axes(noise, table.codes[:, :1].astype(float)))
    block_of = blocks_of(table, 50, limited(table, 1), np.random.default_rng(1))
    ends = sorted((table.codes[block_of == b, 0].min(), table.codes[block_of == b, 0].max()) for b in range(8))
    assert all(left[1] <= right[0] for left, right in pairwise(ends))


@pytest.mark.parametrize("n", [150, 600])
def test_classes_that_are_nearly_apart_are_blurred_and_not_given_up(n):
    age = np.arange(n) * 60 // n
    frame = pl.DataFrame({"age": age, "sick": np.where(age >= 36, "yes", "no")})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="sick")
    release = ic.NSVDist(k=10, l=1.2).publish(frame, schema, seed=1)
    believed = release.distributions[:, list(release.sensitive_values).index("yes")]
    of_row = age[release.private.rows]
    assert believed[of_row < 30].mean() < 0.4
    assert believed[of_row >= 40].mean() > 0.5
    assert 1 / 6 - 1e-9 <= believed.min() < believed.max() <= 5 / 6 + 1e-9


def test_few_are_never_exchanged_alone_and_halves_are_equal():
    values, order = np.repeat([0, 1], [60, 60]), np.arange(120)
    secrets = [Limited(values, 2, Fraction("1.1"))]
    sides = blocks._mixed(order, secrets, np.random.default_rng(0))
    assert [len(side) for side in sides] == [60, 60]
    assert sorted(np.concatenate(sides)) == list(order)
    assert (sides[0] >= 60).sum() == blocks._EXCHANGED  # 50 of 60 are at most 1/1.1
    assert list(sides[0]) != sorted(sides[0])
    assert blocks._mixed(order[42:78], secrets, np.random.default_rng(0)) is None  # 9 are not ten
