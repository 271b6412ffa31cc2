"""Rows dealt out on rings: Table 1(c) of the NSVDist paper is one ring of three people and one of two."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from incrowd.verify import rings
from incrowd.verify.rings import _astray, _Rings, _stand_alike
from verify.build import answers, put
from verify.test_papers import EXACT, TABLE_1A, TABLE_1C, promise, release

RINGS = pl.DataFrame({"ring": [4, 4, 4, 9, 9], "cell": [0, 1, 2, 0, 1], "original": [0, 1, 2, 0, 1], "width": [2] * 5})


def verdict_of(*, k=2, l=2, laid=RINGS, diseases=EXACT, cells=TABLE_1C, rows=None, original=TABLE_1A, only=False):
    made = release(cells, diseases, recoding="non-homogeneous", guarantees=promise(k, l), original=original)
    made.private["rings"] = laid
    if rows is not None:
        made.set_rows(rows)
    return made.judge(only=only)


@pytest.mark.parametrize("only", [True, False])
def test_the_papers_table_lies_on_rings(only):
    verdict = verdict_of(only=only)
    assert verdict.violations == []
    found = answers(verdict)
    assert found["rings"] is found["k"] is found["l (frequency)"] is True
    assert (verdict.levels["k"], verdict.levels["l_frequency"]) == (2, 2)
    assert verdict.levels["originals_per_release_min"] == 2
    assert verdict.levels["releases_per_original_min"] == 2
    assert [c.name for c in verdict.checks].count("k") == 1
    assert ("releases per original" in found) == (not only)


@pytest.mark.parametrize("only", [True, False])
def test_promises_are_held_against_the_rings(only):
    assert answers(verdict_of(k=3, only=only))["k"] is False
    assert answers(verdict_of(l=3, only=only))["l (frequency)"] is False
    assert answers(verdict_of(l=2.01, only=only))["l (frequency)"] is False


def shifted(column, by):
    """Everybody of the first ring moves on, the others stay."""
    return RINGS.with_columns(pl.Series(column, [(i + by) % 3 for i in range(3)] + [0, 1]))


def test_another_shift_is_another_assignment():
    """The cell at place 0 gets the person at place 1, and so on: a row is its person's in all but its cell."""
    rows = [1, 2, 0, 3, 4]
    moved = [EXACT[i] for i in rows]
    assert verdict_of(rows=rows, laid=shifted("original", 1), diseases=moved).violations == []
    assert answers(verdict_of(rows=rows, laid=RINGS, diseases=moved))["rings"] is False


@pytest.mark.parametrize(
    ("laid", "why"),
    [
        (put(RINGS, "width", 0, 1), "another window"),
        (RINGS.with_columns(width=pl.lit(3)), "longer than its ring"),
        (RINGS.with_columns(width=pl.Series([3, 3, 3, 2, 2])), "lack an original"),
        (RINGS.with_columns(width=pl.lit(0)), "longer than its ring, or empty"),
        (put(RINGS, "cell", 0, 1), "1 places have no cell"),
        (put(RINGS, "original", 4, 0), "1 places have no original"),
        (put(RINGS, "cell", 0, 3), "outside its ring"),
        (put(RINGS, "original", 0, -1), "outside its ring"),
        (put(RINGS, "ring", 0, -1), "without a number"),
        (put(RINGS, "ring", 0, 9), "outside its ring"),
        (shifted("cell", 1), "lack an original"),
    ],
)
def test_rings_that_are_none_are_refused(laid, why):
    verdict = verdict_of(laid=laid)
    assert answers(verdict)["rings"] is False
    assert why in next(c.detail for c in verdict.checks if c.name == "rings")


@pytest.mark.parametrize(
    "laid",
    [
        put(RINGS, "ring", 0, None),
        RINGS.head(4),
        RINGS.drop("width"),
        RINGS.select("cell", "ring", "original", "width"),
        RINGS.with_columns(pl.col("cell").cast(pl.Float64)),
        {"ring": [1]},
    ],
)
def test_rings_in_another_form_are_refused(laid):
    verdict = verdict_of(laid=laid)
    assert answers(verdict)["private folder"] is False
    assert answers(verdict)["rings"] is None
    assert "holds rings in another form" in str(verdict)


def alike(*, k, shift):
    """Six people whom nothing tells apart, on one ring of windows of two."""
    original = pl.DataFrame({"age": [21] * 6, "zip": ["10055"] * 6, "disease": ["Flu", "Angina"] * 3})
    made = release(
        [("21", "10055")] * 6, list("FA" * 3), recoding="non-homogeneous", guarantees=promise(k, 2), original=original
    )
    laid = pl.DataFrame({"ring": [0] * 6, "cell": [(i - shift) % 6 for i in range(6)], "original": range(6)})
    made.private["rings"] = laid.with_columns(width=pl.lit(2, pl.Int64))
    return made


@pytest.mark.parametrize("only", [True, False])
def test_a_person_outside_the_window_of_the_own_cell_is_found(only):
    for shift, fine in [(0, True), (1, True), (2, False), (5, False)]:
        verdict = alike(k=2, shift=shift).judge(only=only)
        assert answers(verdict)["rings"] is fine
        assert verdict.ok is fine


@pytest.mark.parametrize("only", [True, False])
def test_the_width_of_the_rings_decides_on_k(only):
    """Each of the six fits all six cells, and yet is behind one of two of them."""
    verdict = alike(k=5, shift=1).judge(only=only)
    assert answers(verdict)["k"] is False
    assert verdict.levels["k"] == 2


@pytest.mark.parametrize(("row", "cell"), [(0, ("21", "10055")), (1, ("47-55", "100**"))])
def test_a_cell_that_lacks_a_person_of_its_window_is_found(row, cell):
    cells = [cell if i == row else own for i, own in enumerate(TABLE_1C)]
    verdict = verdict_of(cells=cells)
    assert "1 cells of 'age' lack" in next(c.detail for c in verdict.checks if c.name == "rings")


@pytest.mark.parametrize("only", [True, False])
def test_values_of_neighbours_that_are_too_alike_are_found(only):
    """Bob has what Alice has: whoever knows the ring knows it of her with certainty."""
    sick = TABLE_1A.with_columns(disease=pl.Series(["Flu", "Flu", "Angina", "Measles", "Diabetes"]))
    verdict = verdict_of(diseases=list("FFAMD"), original=sick, only=only)
    assert answers(verdict)["rings"] is True
    assert answers(verdict)["l (frequency)"] is False
    assert verdict.levels["l_frequency"] == 1


def test_rings_belong_to_a_non_homogeneous_release():
    made = release(TABLE_1C, EXACT, recoding="homogeneous", guarantees=promise(2, 2))
    made.private["rings"] = RINGS
    verdict = made.judge()
    assert "rings" not in answers(verdict)
    assert answers(verdict)["private folder"] is False
    assert answers(verdict)["k"] is False


def test_without_rings_k_is_what_fits_and_the_rings_stay_open():
    made = release(TABLE_1C, EXACT, recoding="non-homogeneous", guarantees=promise(2, 2))
    made.private = None
    verdict = made.judge()
    assert answers(verdict)["rings"] is None
    assert not verdict.complete


def test_windows_and_values_are_counted_as_the_definition_says(monkeypatch):
    monkeypatch.setattr(rings, "_BLOCK", 7)
    rng = np.random.default_rng(5)
    sizes = [1, 2, 3, 7, 12, 30]
    for _ in range(10):
        widths = [int(rng.integers(1, size + 1)) for size in sizes]
        laid = pl.DataFrame(
            {
                "ring": np.repeat(np.arange(len(sizes)), sizes),
                "cell": np.concatenate([rng.permutation(size) for size in sizes]),
                "original": np.concatenate([rng.permutation(size) for size in sizes]),
                "width": np.repeat(widths, sizes),
            }
        )[rng.permutation(sum(sizes))]
        problems, read = rings._read(laid, laid.height)
        assert problems == []
        codes, values = rng.integers(0, 50, laid.height), rng.integers(0, 4, laid.height)
        least, most = rings._windows(read, codes[read.original_row])
        person = {(r, o): at for at, (r, _, o, _) in enumerate(laid.rows())}
        box = {(r, c): at for at, (r, c, _, _) in enumerate(laid.rows())}
        wanted = []
        for at, (ring, size, width) in enumerate(
            (r, s, w) for r, (s, w) in enumerate(zip(sizes, widths, strict=True)) for _ in range(s)
        ):
            place = at - sum(sizes[:ring])
            inside = [codes[person[ring, (place + d) % size]] for d in range(width)]
            assert (least[at], most[at]) == (min(inside), max(inside))
            if width < size or place == 0:
                wanted.append(Counter(int(values[box[ring, (place - d) % size]]) for d in range(width)))
        found = rings._distributions(read, values, 4)
        assert found.n_owners == len(wanted)
        table = np.zeros((len(wanted), 4), np.int64)
        table[found.owner, found.value] = found.count
        assert table.tolist() == [[count[v] for v in range(4)] for count in wanted]


def laid_out(sizes, widths, rng, distances=None):
    """Rings end to end; the original of each place stands so many places further, by chance if that is not said."""
    size = np.repeat(sizes, sizes)
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    steps = [rng.integers(0, width) for width in widths] if distances is None else distances
    places = np.arange(len(size))
    cell_row = rng.permutation(len(size))
    original_row = np.empty(len(size), np.int64)
    original_row[start + (places - start + np.repeat(steps, sizes)) % size] = cell_row
    return _Rings(start, size, np.repeat(widths, sizes), cell_row, original_row)


@pytest.mark.parametrize(("n_rings", "width", "most"), [(100, 4, 63), (400, 2, 284), (400, 5, 148)])
def test_how_many_rings_may_stand_alike(n_rings, width, most):
    rng = np.random.default_rng(1)
    sizes, widths = np.full(n_rings, 9), np.full(n_rings, width)
    far = n_rings / width + 8 * np.sqrt(n_rings / width * (1 - 1 / width)) + 4
    assert most == int(far)
    for n_same, told in ((most, False), (most + 1, True)):
        others = np.array([step for step in range(width) if step != 1])[np.arange(n_rings) % (width - 1)]
        distances = np.where(np.arange(n_rings) < n_same, 1, others)
        assert _stand_alike(laid_out(sizes, widths, rng, distances)) is told
    whole = np.full(n_rings, 9)  # where the window is the whole ring, the distance says nothing
    assert not _stand_alike(laid_out(sizes, whole, rng, np.ones(n_rings, int)))


def test_an_original_beyond_its_window_is_astray():
    rng = np.random.default_rng(3)
    for distance in range(6):
        laid = laid_out(np.array([6, 2]), np.array([3, 1]), rng, [distance, 0])
        assert _astray(laid).sum() == (6 if distance >= 3 else 0)


def test_rings_that_are_wrong_are_not_relied_on():
    """Then k is what fits, and values are what can be linked."""
    found = answers(verdict_of(laid=shifted("original", 2)))
    assert found["rings"] is False
    assert found["k"] is True
    assert "l (frequency)" in found


@pytest.mark.parametrize(("most", "known"), [(10, True), (9, False)])
def test_levels_that_nobody_asked_for_are_told_where_that_is_little_work(monkeypatch, most, known):
    monkeypatch.setattr(rings, "_FEW_LINKS", most)
    made = release(TABLE_1C, EXACT, recoding="non-homogeneous", guarantees=[{"kind": "k", "k": 2}], original=TABLE_1A)
    made.private["rings"] = RINGS
    assert ("l_frequency" in made.judge(only=True).levels) is known
    assert "l_frequency" in made.judge().levels
    assert "l_frequency" in verdict_of(l=2, only=True).levels


def test_without_rows_there_are_no_rings():
    assert rings._read(RINGS.clear(), 0) == (["they have no rows, or a ring without a number"], None)
