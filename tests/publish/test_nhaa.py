"""NHAA equals the plain form, its rings exist whenever they can, and its draws are exactly uniform."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
import naive_nhaa
from incrowd.coding import Table
from incrowd.kernels.nhaa import NONE, RING, Values, Walk, arrange, chop, draw_matchings
from incrowd.publish import nhaa
from incrowd.publish.nhaa import NHAA
from incrowd.release.seal import secret_rng
from owner import exact_rows
from strategies import tables

STEPS = st.sampled_from([0, 1 << 24])  # by columns, or by the given order where it can be followed


def is_ring(values, l):
    n = len(values)
    return all(values[i] != values[(i + d) % n] for i in range(n) for d in range(1, l))


def fast_arrange(values, l, most=1 << 24):
    n = len(values)
    per_value = [np.empty(n + 1, np.int64) for _ in range(8)]
    work = Values(np.full(max(values) + 1, NONE), np.empty(n, np.int64), np.empty(n, np.int64), *per_value)
    ring = np.full(n, NONE)
    arrange(np.array(values, np.int32), np.array([0, n]), 0, 1, l, most, work, ring)
    return ring.tolist()


def partitions(n, largest):
    """Counts of values that sum to n, none above the largest."""
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


@given(
    tables(), st.integers(1, 6), st.integers(1, 3), st.one_of(st.none(), st.integers(6, 12)), STEPS, st.integers(0, 9)
)
def test_equals_the_plain_algorithm(drawn, k, l, cluster, most, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    n, sensitive = table.n_rows, [int(v) for v in table.sensitive]
    method = NHAA(k=k, l=l, cluster=cluster)
    if n < k or max(Counter(sensitive).values()) * l > n:
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    codes = [tuple(int(x) for x in row) for row in table.codes]
    rank = secret_rng(seed, drawn.frame).permutation(n)
    wanted = naive_nhaa.rings(codes, sensitive, table.hierarchies, k, l, cluster, rank, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nhaa, "_MOST_STEPS", most)
        release = method.publish(drawn.frame, drawn.schema, seed=seed)
    found = release.private.evidence.places
    lo, hi = exact_rows(release)
    width = naive_nhaa.width_of(k, l)
    for at, row in enumerate(release.private.rows):  # no row is dropped, so rows are the table's
        place = found.row(at, named=True)
        ring = wanted[place["ring"]]
        assert ring[place["original"]] == row
        assert place["width"] == min(width, len(ring))
        assert (place["original"] - place["cell"]) % len(ring) < place["width"]
        cells = naive_nhaa.cell(ring, place["cell"], codes, table.hierarchies, width)
        assert cells == [(lo[at, m], hi[at, m]) for m in range(table.n_quasi)]
    assert sorted(found.select("ring", "cell").rows()) == sorted(found.select("ring", "original").rows())


@given(tables(), st.integers(1, 5), st.integers(1, 3), st.integers(0, 9))
def test_a_row_is_its_originals_row_in_all_but_its_cells(drawn, k, l, seed):
    try:
        release = NHAA(k=k, l=l).publish(drawn.frame, drawn.schema, seed=seed)
    except ic.InfeasibleError:
        reject()  # too many of these fail the test
    own = drawn.frame[release.private.rows]
    assert release.frame.select("note", "class").equals(own.select("note", "class"))
    verdict = release.verify(drawn.frame)
    assert verdict.ok
    assert {c.name: c.ok for c in verdict.checks if c.name in ("k", "l (frequency)", "rings")} == (
        {"k": True, "rings": True} | ({"l (frequency)": True} if l > 1 else {})
    )
    assert verdict.levels["l_frequency"] >= l
    assert verdict.levels["releases_per_original_min"] >= k


# rings exist if and only if no value has more than 1/l of the rows


@pytest.mark.parametrize("l", [2, 3, 4])
def test_a_ring_exists_exactly_when_no_value_is_too_frequent(l):
    for n in range(l, 8):
        for counts in partitions(n, n):
            values = [v for v, count in enumerate(counts) for _ in range(count)]
            exists = any(is_ring(order, l) for order in set(permutations(values)))
            assert exists == (counts[0] <= n // l)


@pytest.mark.parametrize("most", [0, 1 << 24])
@pytest.mark.parametrize("l", [2, 3, 4, 5])
def test_every_ring_that_exists_is_found(l, most):
    rng = np.random.default_rng(l)
    for n in range(l, 15):
        for counts in partitions(n, n // l):
            values = rng.permutation([v for v, count in enumerate(counts) for _ in range(count)]).tolist()
            ring = fast_arrange(values, l, most)
            assert sorted(ring) == list(range(n))
            assert is_ring([values[i] for i in ring], l)
            assert ring == naive_nhaa.arrange(values, l, most)


def test_the_given_order_is_kept_when_it_is_a_ring():
    values = [0, 1, 2, 0, 3, 1, 0, 2, 3]
    assert is_ring(values, 3)
    assert fast_arrange(values, 3) == list(range(9))
    assert fast_arrange(values, 2) == list(range(9))


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.integers(2, 4), st.integers(1, 4))
def test_pieces_of_a_ring_are_short_and_diverse(values, l, factor):
    n = len(values)
    if max(Counter(values).values()) * l > n:
        return
    values = [values[i] for i in fast_arrange(values, l)]
    piece = np.full(n, NONE)
    n_pieces = chop(np.array(values, np.int32), np.array([0, n]), 0, 1, l, factor * l, 5, piece) - 5
    found = [[i for i in range(n) if piece[i] == 5 + p] for p in range(n_pieces)]
    assert found == naive_nhaa.chop(values, l, factor * l)
    assert sum(map(len, found)) == n
    for rows in found:
        assert max(Counter(values[i] for i in rows).values()) * l <= len(rows)
        assert min(n, factor * l) <= len(rows) < 2 * factor * l + l


# what is drawn


def walk_of(n, n_edges):
    per_box = [np.empty(n, np.int64) for _ in range(3)]
    return Walk(np.empty((n, n_edges), np.int32), np.array([0, NONE, 0, 0]), *per_box)


def matching(n, offsets, turn, numbers, step=None):
    """The cell of each original of one ring."""
    walk, box = walk_of(n, len(offsets)), np.full(n, NONE)
    numbers = np.array(numbers)
    for begin in range(0, len(numbers), step or len(numbers)):
        part = numbers[begin : begin + (step or len(numbers))]
        draw_matchings(np.array([0, n]), np.array([offsets], np.int32), np.array([turn]), part, walk, box)
        if walk.state[RING] == 1:
            return box.tolist()
    raise AssertionError("not enough numbers")


@pytest.mark.parametrize(("n", "width"), [(3, 2), (5, 3), (7, 4), (9, 5), (12, 6), (23, 17)])
def test_matchings_of_all_turns_take_the_ring_apart(n, width):
    """Whatever the walks do, each pair of a person and a cell that fits is in the matching of exactly one turn."""
    for seed in range(20):
        numbers = np.random.default_rng(seed).random(20_000)
        drawn = [matching(n, range(width), turn, numbers) for turn in range(width)]
        for boxes in drawn:
            assert sorted(boxes) == list(range(n))
        pairs = Counter((i, boxes[i]) for boxes in drawn for i in range(n))
        assert pairs == {(i, (i - d) % n): 1 for i in range(n) for d in range(width)}


def test_probability_of_each_cell_is_exactly_one_in_w_when_only_some_distances_are_looked_at():
    """Enumerate everything that is drawn beside the walks: which distances, and which of their matchings."""
    n, width, n_edges = 9, 5, 3
    numbers = np.random.default_rng(3).random(20_000)
    cases = list(product(combinations(range(width), n_edges), range(n_edges)))
    pairs = Counter()
    for offsets, turn in cases:
        pairs.update(enumerate(matching(n, offsets, turn, numbers)))
    assert pairs == {(i, (i - d) % n): len(cases) // width for i in range(n) for d in range(width)}
    assert len(cases) % width == 0


def test_walks_may_be_interrupted_anywhere():
    numbers = np.random.default_rng(8).random(20_000)
    for turn in range(4):
        assert matching(11, range(4), turn, numbers, step=1) == matching(11, range(4), turn, numbers)


class Enumerated:
    """Stands for a generator: draws what it is told to, and keeps the bounds."""

    def __init__(self, drawn):
        self.drawn = drawn

    def integers(self, low, high, size=None):
        assert low == 0
        self.high = high
        return np.minimum(self.drawn, high - 1) if size is None else np.full(size, min(self.drawn, high - 1))

    def random(self, size):
        return np.random.default_rng(7).random(size)


@pytest.mark.parametrize(("k", "l"), [(2, 2), (3, 3), (4, 2), (5, 2), (6, 3)])
def test_shifts_show_each_person_in_w_cells_and_l_diverse_values(k, l):
    n, method = 11, NHAA(k=k, l=l)
    width, start = method.width, np.array([0, n])
    assert width == naive_nhaa.width_of(k, l)
    values = [0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3]
    values = [values[i] for i in fast_arrange(values, l)]
    pairs = Counter()
    for shift in range(width):
        rng = Enumerated(shift)
        boxes = method._shift(start, rng).tolist()
        assert rng.high.tolist() == [width]  # each of the shifts, none more often than another
        pairs.update(enumerate(boxes))
        shown = {box: values[i] for i, box in enumerate(boxes)}
        for i in range(n):
            seen = Counter(shown[(i - d) % n] for d in range(width))
            assert max(seen.values()) * l <= width
    assert pairs == {(i, (i - d) % n): 1 for i in range(n) for d in range(width)}


def test_every_matching_of_a_ring_can_be_drawn_and_none_more_often():
    n, method = 11, NHAA(k=4)
    pairs = Counter()
    for turn in range(4):
        rng = Enumerated(turn)
        pairs.update(enumerate(method._match(np.array([0, n]), rng, lambda *_: None).tolist()))
        assert rng.high == 4
    assert pairs == {(i, (i - d) % n): 1 for i in range(n) for d in range(4)}


def people(n=60, n_values=6):
    ages = [17 + i * 37 % 61 for i in range(n)]
    frame = pl.DataFrame({"age": ages, "ill": [f"v{i * 7 % n_values}" for i in range(n)]})
    return frame, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")


def offsets_by_ring(release):
    rings = release.private.evidence.places
    size = rings["ring"].map_elements(Counter(rings["ring"].to_list()).get, pl.Int64)
    offset = (rings["original"] - rings["cell"]) % size
    return [set(group["offset"]) for _, group in rings.with_columns(offset=offset).group_by("ring")]


def test_with_l_a_ring_is_shifted_and_without_it_its_people_are_drawn_apart():
    frame, schema = people()
    shifted = [NHAA(k=3, l=3, cluster=20).publish(frame, schema, seed=seed) for seed in range(9)]
    found = [offsets for release in shifted for offsets in offsets_by_ring(release)]
    assert all(len(offsets) == 1 for offsets in found)
    assert set().union(*found) == {0, 1, 2}
    apart = [
        offsets
        for seed in range(9)
        for offsets in offsets_by_ring(NHAA(k=3, cluster=20).publish(frame, schema, seed=seed))
    ]
    assert max(map(len, apart)) == 3


@pytest.mark.parametrize("edges", [2, 3])
def test_only_some_distances_are_looked_at_in_wide_rings(monkeypatch, edges):
    frame, schema = people()
    monkeypatch.setattr(nhaa, "_MOST_EDGES", edges)
    found = [NHAA(k=9, cluster=40).publish(frame, schema, seed=seed) for seed in range(12)]
    assert all(release.verify(frame).ok for release in found)
    offsets = [offsets_by_ring(release)[0] for release in found]
    assert max(map(len, offsets)) == edges
    assert set().union(*offsets) == set(range(9))


def test_without_a_seed_the_draw_is_the_operating_systems():
    frame, schema = people()
    for l in (1, 3):
        runs = {
            tuple(r["cell"][np.argsort(p.rows)].to_list())
            for p in (NHAA(k=3, l=l, cluster=20).publish(frame, schema).private for _ in range(9))
            for r in [p.evidence.places]
        }
        assert len(runs) > 1


# the paper's table, and the edges


def test_table_1_of_the_nsvdist_paper():
    frame = pl.DataFrame(
        {
            "age": [30, 21, 21, 55, 47],
            "zip": ["10055", "10055", "10023", "10165", "10224"],
            "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
        }
    )
    schema = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="disease")
    release = NHAA(k=2, l=2).publish(frame, schema, seed=0)
    verdict = release.verify(frame)
    assert verdict.ok
    assert (verdict.levels["k"], verdict.levels["l_frequency"]) == (2, 2)
    # the cells of Table 1(c), whoever was dealt out to them
    cells = sorted(release.frame.select("age", "zip").rows())
    assert cells == [("21", "100**"), ("21-30", "100**"), ("21-30", "10055"), ("47-55", "10***"), ("47-55", "10***")]


def test_cells_are_no_larger_than_those_of_the_clusters():
    frame, schema = people(300)
    ring = NHAA(k=10).publish(frame, schema, seed=1)
    assert ring.loss("lm") < ic.Mondrian(k=10).publish(frame, schema).loss("lm")


@pytest.mark.parametrize(
    ("k", "l", "best"),
    [(2, 3, {"k": 2, "l": 2}), (9, 2, {"k": 8, "l": 2}), (9, 5, {"k": 8, "l": 2}), (8, 4, {"k": 8, "l": 2})],
)
def test_an_impossible_l_says_what_happened(k, l, best):
    frame = pl.DataFrame({"a": range(8), "s": ["u", "u", "u", "v", "v", "v", "w", "w"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    with pytest.raises(ic.InfeasibleError, match=f"k = {k} and l = {l}") as refused:
        NHAA(k=k, l=l).publish(frame, schema)
    assert refused.value.best == best
    assert ("one sensitive value has 3 of them" in str(refused.value)) == (l > 2)
    assert NHAA(**best).publish(frame, schema).verify(frame).ok


def test_two_unequal_values_allow_no_diversity_at_all():
    frame = pl.DataFrame({"a": range(8), "s": ["u"] * 6 + ["v"] * 2})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    with pytest.raises(ic.InfeasibleError, match=r"l = 1 \(no diversity\)") as refused:
        NHAA(k=2, l=2).publish(frame, schema)
    release = NHAA(**refused.value.best).publish(frame, schema)
    assert release.verify(frame).levels["k"] >= 2


def test_wrong_parameters_are_refused():
    with pytest.raises(ic.ParameterError, match=r"l is 1\.5[\s\S]*1 or 2"):
        NHAA(k=2, l=1.5)
    with pytest.raises(ic.ParameterError, match="k is 0"):
        NHAA(k=0)
    for cluster in (4, 7.5, True):
        with pytest.raises(ic.ParameterError, match="cluster is"):
            NHAA(k=5, cluster=cluster)
    assert NHAA(k=5, l=2.0).width == 6


def test_a_table_without_sensitive_values_goes_on_rings_too():
    frame = pl.DataFrame({"a": list(range(20))})
    schema = ic.Schema(quasi={"a": ic.Intervals()})
    release = NHAA(k=3).publish(frame, schema)
    verdict = release.verify(frame)
    assert verdict.ok
    assert verdict.levels["k"] >= 3
    assert release.frame["a"].n_unique() > 20 // 3


@pytest.mark.parametrize("options", [{}, {"l": 3}, {"cluster": 25}, {"l": 2, "cluster": 25}])
def test_compiled_and_interpreted_agree(monkeypatch, options):
    frame, schema = people()
    compiled = NHAA(k=4, **options).publish(frame, schema, seed=2)
    monkeypatch.setattr("incrowd.kernels.jit.COMPILE_ALWAYS", False)
    plain = NHAA(k=4, **options).publish(frame, schema, seed=2)
    assert plain.frame.equals(compiled.frame)
    assert plain.private.evidence.places.equals(compiled.private.evidence.places)


def test_rings_stay_with_the_owner(tmp_path):
    frame, schema = people()
    release = NHAA(k=3, l=3, cluster=20).publish(frame, schema)
    release.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        "release.csv",
        "release.parquet",
    ]
    assert "ring" not in (tmp_path / "out" / "manifest.json").read_text()
    loaded = ic.Release.load(tmp_path / "out")
    assert loaded.private.evidence.places.equals(release.private.evidence.places)
    for verdict in (loaded.verify(frame), ic.verify(tmp_path / "out", frame)):
        assert verdict.ok
        assert verdict.levels["l_frequency"] == 3
        assert {c.name: c.ok for c in verdict.checks}["rings"]
    (tmp_path / "out.private").rename(tmp_path / "away")
    stranger = ic.verify(tmp_path / "out", frame, rows=release.private.rows)
    assert stranger.ok
    assert {c.name: c.ok for c in stranger.checks}["rings"] is None
