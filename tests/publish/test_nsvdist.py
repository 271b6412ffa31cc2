"""The fast NSVDist takes the same members as the paper's algorithm, in the same order."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_nsvdist
from incrowd.coding import Table
from incrowd.datasets import adult, adult_schema
from incrowd.kernels.nsvdist import search
from incrowd.losses import cell_loss
from incrowd.publish import nsvdist
from incrowd.publish import prices as prices_file
from incrowd.publish.prices import make_prices, tables_first
from incrowd.release.seal import secret_rng
from owner import exact_rows
from strategies import tables

LOSSES = st.sampled_from(["lm", "entropy", "monotone_entropy"])


def fast_members(table, rank, k, cap, loss):
    """Members of every row by the kernel, as rows of the table."""
    columns = tables_first(table, loss)
    prices = make_prices(table, columns, loss)
    index, rows = nsvdist.make_index(table, columns, np.arange(table.n_rows), rank, cap, prices)
    jobs = np.arange(table.n_rows)
    lo, hi = np.empty((len(jobs), table.n_quasi), np.int32), np.empty((len(jobs), table.n_quasi), np.int32)
    counts = np.empty((len(jobs), table.n_values), np.int32)
    members = np.empty((len(jobs), k), np.int32)
    search(jobs, 0, len(jobs), k, cap, prices, index, lo, hi, counts, members)
    return {int(rows[job]): [int(rows[i]) for i in members[job]] for job in jobs}


def prepared(drawn, k, l, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    cap = int(Fraction(k) / Fraction(str(l)))
    assume(np.minimum(table.sensitive_counts, cap).sum() >= k)
    rank = np.random.default_rng(seed).permutation(table.n_rows)
    codes = [tuple(int(x) for x in row) for row in table.codes]
    return table, cap, rank, codes, [int(v) for v in table.sensitive]


@given(
    tables(max_rows=18), st.integers(1, 6), st.sampled_from([1, 1.2, 1.5, 2, 3]), LOSSES, st.integers(0, 99),
    st.sampled_from([1, 2, 32]), st.sampled_from([1, 1024]),
)  # fmt: skip
def test_members_equal_those_of_the_paper(drawn, k, l, loss, seed, leaf_size, ranges):
    table, cap, rank, codes, sensitive = prepared(drawn, k, l, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nsvdist, "_LEAF_SIZE", leaf_size)
        if loss == "lm":  # without tables of all ranges
            patch.setattr(prices_file, "_LARGEST_RANGES", ranges)
        found = fast_members(table, rank, k, cap, loss)
    price = naive_nsvdist.price_of(table.hierarchies, table.marginals, loss)
    for n in range(table.n_rows):
        wanted = naive_nsvdist.members_of(n, codes, sensitive, table.hierarchies, k, cap, rank, price)
        assert found[n] == wanted


@given(tables(max_rows=25), st.integers(1, 6), st.sampled_from([1, 1.5, 2]), LOSSES, st.integers(0, 99))
def test_shared_searches_give_every_row_its_own_members(drawn, k, l, loss, seed):
    """Closures and counts of the release are those of each row's members, whether or not rows share a search."""
    drawn = drawn.fit_for({"mode": "paper"})
    table, cap, _, _, _ = prepared(drawn, k, l, seed)
    release = ic.NSVDist(k=k, l=l, loss=loss, mode="paper").publish(drawn.frame, drawn.schema, seed=seed)
    rank = secret_rng(seed, drawn.frame).permutation(table.n_rows)
    release_lo, release_hi = exact_rows(release)
    members = fast_members(table, rank, k, cap, loss)
    for i, row in enumerate(release.private.rows):
        inside = members[int(row)]
        assert np.array_equal(
            release.cell_counts[release.cell_of[i]],
            np.bincount(table.sensitive[inside], minlength=3)[: table.n_values],
        )
        for m, hierarchy in enumerate(table.hierarchies):
            codes = table.codes[inside, m]
            lo, hi = hierarchy.closure(codes.min(keepdims=True), codes.max(keepdims=True))
            assert (release_lo[i, m], release_hi[i, m]) == (lo[0], hi[0])


@given(
    tables(min_rows=4, max_rows=8, missing=False), st.integers(2, 4), st.sampled_from([1, 1.5, 2]), st.integers(0, 9)
)
def test_approximation_guarantee_of_appendix_a(drawn, k, l, seed):
    """With LM, the loss of each row is at most k - 1 times the smallest possible."""
    table, cap, rank, codes, sensitive = prepared(drawn, k, l, seed)
    price = naive_nsvdist.price_of(table.hierarchies, table.marginals, "lm")
    found = fast_members(table, rank, k, cap, "lm")
    for n in range(table.n_rows):
        greedy = naive_nsvdist.loss_of(found[n], codes, table.hierarchies, price)
        best = naive_nsvdist.best_loss(n, codes, sensitive, table.hierarchies, k, cap, price)
        assert greedy <= (k - 1) * best + k * table.n_quasi  # prices are rounded


def test_table_1_of_the_paper():
    """k = l = 2 on Table 1(a): each row generalizes two originals, no share is above 1/2."""
    people = pl.DataFrame(
        {
            "age": [30, 21, 21, 55, 47],
            "zip": ["10055", "10055", "10023", "10165", "10224"],
            "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
        }
    )
    schema = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="disease")
    release = ic.NSVDist(k=2, l=2, mode="paper").publish(people, schema, seed=0)
    verdict = release.verify(people)
    assert verdict.ok
    assert (verdict.levels["k"], verdict.levels["l_frequency"]) == (2, 2)
    back = np.argsort(release.private.rows)
    assert release.frame["age"][back].to_list() == ["21-30", "21-30", "21", "47-55", "47-55"]
    assert release.frame["zip"][back].to_list() == ["10055", "10055", "100**", "10***", "10***"]


@given(tables(min_rows=6, max_rows=40), st.integers(1, 4), st.sampled_from([1, 1.3]), st.integers(0, 9))
def test_parts_keep_the_promise(drawn, k, l, seed):
    drawn = drawn.fit_for({"mode": "paper"})
    prepared(drawn, k, l, seed)
    release = ic.NSVDist(k=k, l=l, presplit=2 * k, mode="paper").publish(drawn.frame, drawn.schema, seed=seed)
    assert release.verify(drawn.frame).ok


def test_threads_do_not_matter(monkeypatch):
    frame = pl.DataFrame({"a": [i * 37 % 101 for i in range(300)], "s": ["x", "y", "z"] * 100})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    first = ic.NSVDist(k=5, l=2, mode="paper").publish(frame, schema, seed=3).frame
    monkeypatch.setattr(nsvdist, "_JOBS_PER_SLICE", 7)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert ic.NSVDist(k=5, l=2, mode="paper").publish(frame, schema, seed=3).frame.equals(first)


@pytest.mark.parametrize(
    ("k", "l", "feasible"),
    [
        (9, 1.6, True),  # floor(9 / 1.6) = 5, and 5 + 3 + 1 = 9
        (9, 2, False),  # floor(9 / 2) = 4, and 4 + 3 + 1 = 8
        (2, 2, True),  # more diverse than the table, whose largest share is 6 / 10
        (10, 1.7, False),
        (11, 1, False),
        (4, 4, False),
    ],
)
def test_feasible_or_the_closest_setting_is(k, l, feasible):
    frame = pl.DataFrame({"a": list(range(10)), "s": ["x"] * 6 + ["y"] * 3 + ["z"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    if feasible:
        assert ic.NSVDist(k=k, l=l, mode="paper").publish(frame, schema).verify(frame).ok
        return
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.NSVDist(k=k, l=l, mode="paper").publish(frame, schema)
    assert ic.NSVDist(**{"k": k, "mode": "paper", **refused.value.best}).publish(frame, schema).verify(frame).ok


def test_progress_and_stopping():
    frame = pl.DataFrame({"a": list(range(2000)), "s": ["x", "y"] * 1000})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    seen = []

    def stop(stage, done, total):
        seen.append((stage, done, total))
        if stage == "searching" and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ic.NSVDist(k=3).publish(frame, schema, progress=stop)
    assert seen[-1][0] == "searching"
    assert 0 < seen[-1][1] <= 2000


@pytest.mark.parametrize(
    ("parameters", "fact"),
    [
        ({"k": 2, "loss": "price"}, "loss is 'price'"),
        ({"k": 5, "presplit": 9}, "presplit is 9"),
        ({"k": 2, "l": 0.5}, "l is 0.5"),
    ],
)
def test_wrong_parameters(parameters, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        ic.NSVDist(**parameters)


def test_what_it_cannot_do():
    frame = pl.DataFrame({"a": [float(i) for i in range(1100)], "s": ["x", "y"] * 550})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    with pytest.raises(ic.IncompatibleError, match="1100 values"):
        ic.NSVDist(k=2, loss="entropy").publish(frame, schema)
    with pytest.raises(ic.SchemaError, match="no sensitive column"):
        ic.NSVDist(k=2).publish(frame.select("a"), ic.Schema(quasi={"a": ic.Intervals()}))


def whole_table_members(seed, table, k, cap, rank, loss):
    """Algorithm 1 with every row of a real table tried at every step, in plain NumPy."""
    most = sum(1.0 if loss == "lm" else np.log2(max(2, h.n_leaves)) for h in table.hierarchies)
    scale = (2**31 - 1 - 2 * sum(h.n_leaves for h in table.hierarchies)) / most

    def price(m, lo, hi):
        h = table.hierarchies[m]
        if loss == "lm" and isinstance(h, ic.Intervals):
            places = np.rint((h.pos - h.pos[0]) / (h.pos[-1] - h.pos[0]) * scale)
            line = np.concatenate([[0], np.cumsum(np.maximum(1, np.diff(places)))])
            return line[hi] - line[lo]
        lost = cell_loss(loss, h, table.marginals[m], lo, hi)
        return np.where(lost > 0, np.maximum(1, np.rint(lost * scale)), 0)

    members, lo, hi = [seed], table.codes[seed].copy(), table.codes[seed].copy()
    counts = np.zeros(table.n_values, int)
    counts[table.sensitive[seed]] = 1
    open_rows = np.ones(table.n_rows, bool)
    open_rows[seed] = False
    while len(members) < k:
        cost = np.zeros(table.n_rows)
        for m, hierarchy in enumerate(table.hierarchies):
            codes = table.codes[:, m]
            cost += price(m, *hierarchy.closure(np.minimum(codes, lo[m]), np.maximum(codes, hi[m])))
        allowed = np.flatnonzero(open_rows & (counts[table.sensitive] < cap))
        best = int(allowed[np.lexsort((rank[allowed], cost[allowed]))[0]])
        members.append(best)
        open_rows[best] = False
        counts[table.sensitive[best]] += 1
        for m, hierarchy in enumerate(table.hierarchies):
            code = table.codes[best, m]
            ends = hierarchy.closure(np.array([min(lo[m], code)], np.int32), np.array([max(hi[m], code)], np.int32))
            lo[m], hi[m] = ends[0][0], ends[1][0]
    return members


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "l"), [("lm", 1), ("lm", 1.25), ("entropy", 1.1), ("monotone_entropy", 1)])
def test_members_on_adult(loss, l):
    k = 20
    table = Table.encode(adult("train"), adult_schema())
    cap = int(Fraction(k) / Fraction(str(l)))
    rank = np.random.default_rng(5).permutation(table.n_rows)
    columns = tables_first(table, loss)
    prices = make_prices(table, columns, loss)
    index, rows = nsvdist.make_index(table, columns, np.arange(table.n_rows), rank, cap, prices)
    jobs = np.array([0, 4321, 12345, 30161])
    lo, hi = np.empty((4, table.n_quasi), np.int32), np.empty((4, table.n_quasi), np.int32)
    counts, members = np.empty((4, 2), np.int32), np.empty((4, k), np.int32)
    search(jobs, 0, 4, k, cap, prices, index, lo, hi, counts, members)
    for job, found in zip(jobs, members, strict=True):
        wanted = whole_table_members(int(rows[job]), table, k, cap, rank, loss)
        assert [int(rows[i]) for i in found] == wanted


def test_many_equal_rows_are_quick():
    """Of equal rows with equal values only those under the cap are ever looked at."""
    n = 20_000
    frame = pl.DataFrame({"a": [0, 1] * (n // 2), "s": ["x", "y"] * (n // 2)})
    table = Table.encode(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s"))
    columns = tables_first(table, "lm")
    prices = make_prices(table, columns, "lm")
    index, _ = nsvdist.make_index(table, columns, np.arange(n), np.arange(n), 5, prices)
    assert (index.last - index.first[:-1]).tolist() == [6, 6]
    assert ic.NSVDist(k=10, l=2).publish(frame, table.schema).verify(frame).ok


def test_too_many_sensitive_values_are_refused(monkeypatch):
    monkeypatch.setattr(nsvdist, "_MOST_SHARES", 100)
    frame = pl.DataFrame({"a": list(range(20)), "s": list(range(20))})
    with pytest.raises(ic.IncompatibleError, match="20 sensitive values"):
        ic.NSVDist(k=2).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s"))


def test_large_tables_are_cut_into_parts_unless_one_says_otherwise(monkeypatch):
    monkeypatch.setattr(nsvdist, "_MOST_AS_A_WHOLE", 100)
    monkeypatch.setattr(nsvdist, "_PART", 60)
    small, large = ic.NSVDist(k=5), ic.NSVDist(k=5, presplit=60)
    assert [small.part_rows(n) for n in (100, 101)] == [None, 60]
    frame = pl.DataFrame({"q": np.random.default_rng(0).permutation(300), "s": ["a", "b", "c"] * 100})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    releases = [method.publish(frame, schema, seed=1) for method in (small, large, ic.NSVDist(k=5, presplit=None))]
    frames = [release.frame for release in releases]
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])
