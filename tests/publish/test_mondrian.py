"""The fast Mondrian equals the plain one, group for group."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_loss_cuts
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.publish import PUBLISHERS, make
from owner import exact_cells
from strategies import tables


def groups_of(release, table):
    """The released groups as sets of table rows, found through the row map and the cells' numbers."""
    row_of = {int(row): i for i, row in enumerate(table.rows)}
    found = {}
    for cell, row in zip(release.cell_of, release.private.rows, strict=True):
        found.setdefault(int(cell), set()).add(row_of[int(row)])
    return sorted(sorted(group) for group in found.values())


def published(groups, table):
    """Groups as a release shows them: those with the same cells are one."""
    found = {}
    for group in groups:
        columns = table.codes[group].T.tolist()
        cells = tuple(naive_mondrian.closure(h, codes) for h, codes in zip(table.hierarchies, columns, strict=True))
        found.setdefault(cells, []).extend(group)
    return sorted(map(sorted, found.values()))


def expected(table, form, strict, constraints):
    codes = [tuple(int(x) for x in row) for row in table.codes]
    sensitive = [int(x) for x in table.sensitive]

    def keeps(values):
        return naive_mondrian.holds(values, sensitive, **constraints)

    if not keeps(sensitive):
        return None
    if form == "single":
        found = naive_mondrian.single(codes, sensitive, table.hierarchies, keeps)
    else:
        found = naive_mondrian.multi(codes, sensitive, table.hierarchies, keeps, strict)
    return sorted(sorted(group) for group in found)


@given(tables(), st.integers(1, 6), st.sampled_from(CONSTRAINTS), st.sampled_from(["strict", "relaxed", "single"]))
def test_equals_the_plain_algorithm(drawn, k, constraints, form):
    drawn = drawn.fit_for(constraints)
    options = {"recoding": "single" if form == "single" else "multi", "strict": form != "relaxed"}
    table = Table.encode(drawn.frame, drawn.schema)
    wanted = expected(table, form, form != "relaxed", {"k": k, **constraints})
    method = ic.Mondrian(k=k, **constraints, **options)
    if wanted is None:
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    assert groups_of(method.publish(drawn.frame, drawn.schema, seed=1), table) == wanted


@given(tables(), st.integers(1, 5), st.sampled_from(["multi", "single"]))
def test_cells_are_tight_closures(drawn, k, recoding):
    table = Table.encode(drawn.frame, drawn.schema)
    if table.n_rows < k:
        return
    release = ic.Mondrian(k=k, recoding=recoding).publish(drawn.frame, drawn.schema)
    originals = table.codes[release.private.rows]
    cell_lo, cell_hi = exact_cells(release)
    lo, hi = cell_lo[release.cell_of], cell_hi[release.cell_of]
    for m, hierarchy in enumerate(table.hierarchies):
        for cell in range(len(cell_lo)):
            inside = originals[release.cell_of == cell, m]
            if recoding == "single":  # tightened over all rows that share the range
                same = (lo[:, m] == cell_lo[cell, m]) & (hi[:, m] == cell_hi[cell, m])
                inside = originals[same, m]
            closed = naive_mondrian.closure(hierarchy, [int(x) for x in inside])
            assert closed == (cell_lo[cell, m], cell_hi[cell, m])


@given(tables(min_rows=4), st.integers(1, 4), st.sampled_from(["multi", "single"]))
def test_transform_gives_published_rows_their_own_cells(drawn, k, recoding):
    release = ic.Mondrian(k=k, recoding=recoding).publish(drawn.frame, drawn.schema, domains="exact")
    again = release.transform(drawn.frame)
    own = again[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


def one_column(values, hierarchy, k=2, **options):
    frame = pl.DataFrame({"q": values, "s": ["a", "b"] * (len(values) // 2)})
    schema = ic.Schema(quasi={"q": hierarchy}, sensitive="s")
    return ic.Mondrian(k=k, **options).publish(frame, schema, domains="exact")


@pytest.mark.parametrize("recoding", ["multi", "single"])
def test_transform_covers_new_rows_without_showing_them(recoding):
    release = one_column([10, 11, 20, 21, 30, 31, 40, 41], ic.Intervals(), recoding=recoding)
    assert sorted(release.frame["q"].unique()) == ["10-11", "20-21", "30-31", "40-41"]
    new = pl.DataFrame({"q": [10, 15, 16, 40]})
    assert release.transform(new)["q"].to_list() == ["10-11", "10-11", "20-21", "40-41"]


@pytest.mark.parametrize("recoding", ["multi", "single"])
def test_transform_widens_a_cell_to_its_region(recoding):
    tree = ic.Taxonomy.from_nested({"low": ["a", "b", "c"], "high": ["x", "y"]})
    release = one_column(["a", "b", "a", "b", "x", "y", "x", "y"], tree, k=3, recoding=recoding)
    assert sorted(release.frame["q"].unique()) == ["high", "low"]
    assert release.transform(pl.DataFrame({"q": ["c", "y"]}))["q"].to_list() == ["low", "high"]


def test_transform_places_numbers_in_a_numeric_tree():
    release = one_column([10, 11, 20, 21, 30, 31, 40, 41], ic.bins(10))
    assert release.transform(pl.DataFrame({"q": [14, 26]}))["q"].to_list() == ["10-11", "30-31"]


def test_transform_knows_the_missing_tokens():
    frame = pl.DataFrame({"q": ["a", "?", "a", "?"], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"q": None}, sensitive="s", missing_tokens=["?"])
    release = ic.Mondrian(k=2).publish(frame, schema)
    assert release.transform(frame)["q"].to_list() == ["a", "(missing)", "a", "(missing)"]
    assert release.loss("kl", original=frame) == pytest.approx(0)


def test_relaxed_releases_have_no_recoding():
    release = one_column([5, 5, 5, 5, 5, 9], ic.Intervals(), k=3, strict=False)
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        release.transform(pl.DataFrame({"q": [5]}))


def test_transform_says_what_it_does_outside_the_domain():
    release = one_column([10, 11, 20, 21], ic.Intervals())
    outside = pl.DataFrame({"q": [5, 99, None]})
    with pytest.raises(ic.SchemaError, match="'q' has 3 rows"):
        release.transform(outside)
    assert release.transform(outside, unseen="suppress")["q"].to_list() == ["10-21"] * 3
    with pytest.raises(ic.SchemaError, match="'q' has 1 rows"):
        release.transform(outside, unseen="nearest")
    assert release.transform(outside.head(2), unseen="nearest")["q"].to_list() == ["10-11", "20-21"]
    with pytest.raises(ic.ParameterError, match="unseen is 'guess'"):
        release.transform(outside, unseen="guess")


def test_relaxed_cuts_share_ties_out():
    strict = one_column([5, 5, 5, 5, 5, 9], ic.Intervals(), k=3)
    relaxed = one_column([5, 5, 5, 5, 5, 9], ic.Intervals(), k=3, strict=False)
    assert len(strict.cell_lo) == 1
    assert sorted(np.bincount(relaxed.cell_of)) == [3, 3]


@pytest.mark.parametrize("publisher", PUBLISHERS.values(), ids=PUBLISHERS)
def test_methods_are_known_by_their_names_and_their_classes_in_any_case(publisher):
    for name in (publisher.name, publisher.name.upper(), publisher.__name__, publisher.__name__.lower()):
        assert type(make(name, k=2)) is publisher


def test_wrong_parameters_are_refused():
    with pytest.raises(ic.ParameterError, match="k is 0"):
        ic.Mondrian(k=0)
    with pytest.raises(ic.ParameterError, match="recoding is 'global'"):
        ic.Mondrian(k=2, recoding="global")
    with pytest.raises(ic.ParameterError, match="strict is False"):
        ic.Mondrian(k=2, recoding="single", strict=False)
    for odd in ({"cut": "half"}, {"cut": "loss", "strict": False}, {"cut": "loss", "recoding": "single"}):
        with pytest.raises(ic.ParameterError, match="cut"):
            ic.Mondrian(k=2, **odd)
    with pytest.raises(ic.ParameterError, match="no parameter 'q'"):
        ic.publish(pl.DataFrame({"a": [1]}), None, method="mondrian", k=2, q=1)
    with pytest.raises(ic.ParameterError, match="no method 'magic'"):
        ic.publish(pl.DataFrame({"a": [1]}), None, method="magic", k=2)
    with pytest.raises(ic.ParameterError, match="did you mean infogain_mondrian"):
        make("InfoGainMondrain", k=2)
    with pytest.raises(ic.ParameterError, match="needs k"):
        ic.publish(pl.DataFrame({"a": [1]}), None, method="mondrian")


@given(tables(max_rows=20), st.integers(1, 6), st.sampled_from(CONSTRAINTS))
def test_cuts_by_loss_equal_the_plain_algorithm(drawn, k, constraints):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    sensitive = table.sensitive.tolist()

    def keeps(rows):
        return naive_mondrian.holds([sensitive[i] for i in rows], sensitive, k=k, **constraints)

    method = ic.Mondrian(k=k, cut="loss", **constraints)
    if not keeps(range(table.n_rows)):
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    wanted = naive_loss_cuts.loss_cuts(naive_loss_cuts.Losses(table), lambda rows: rows and keeps(rows))
    release = method.publish(drawn.frame, drawn.schema, seed=1, domains="exact")
    assert groups_of(release, table) == published(wanted, table)
    own = release.transform(drawn.frame)[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


def test_a_value_in_the_middle_is_cut_out_where_that_loses_least():
    tree = ic.Taxonomy.from_nested({"all": {"left": ["a", "b"], "right": ["c", "d"]}})
    values = ["a", "a", "c", "d"] + ["b"] * 4
    assert sorted(one_column(values, tree, k=4, cut="loss").frame["q"].value_counts().rows()) == [("all", 4), ("b", 4)]
