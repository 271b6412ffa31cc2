"""IACk and IACc equal the plain algorithms, row for row; and the traps that the paper leaves open."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_iac
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.manifest import Guarantee
from incrowd.publish import make
from incrowd.publish.iac import level_bounds, n_levels
from naive_mondrian import holds
from owner import exact_rows
from strategies import Drawn, tables


@st.composite
def people(draw):
    """Tables whose class often follows an attribute, so that levels differ; rows repeat, so that groups do."""
    drawn = draw(tables(max_rows=14))
    frame = pl.concat([drawn.frame] * draw(st.integers(1, 3))).with_columns(note=pl.lit(1))  # which must not tell rows
    if draw(st.booleans()):
        column = frame[drawn.schema.quasi[0]]
        rank = column.cast(pl.String).rank("dense").fill_null(0)
        frame = frame.with_columns(
            pl.when(rank <= rank.max() / 2).then(pl.lit("yes")).otherwise("class").alias("class")
        )
    return Drawn(frame, drawn.schema)


def plain(table):
    codes = [tuple(int(x) for x in row) for row in table.codes]
    classes, sensitive = [int(x) for x in table.classes[0]], [int(x) for x in table.sensitive]
    _, rows = naive_iac.generalize(codes, classes, table.hierarchies)
    return rows, classes, sensitive


def released(release, table):
    """The cells of each row of the table, in its order."""
    found = [None] * table.n_rows
    row_of = {int(row): i for i, row in enumerate(table.rows)}
    for lo, hi, row in zip(*exact_rows(release), release.private.rows, strict=True):
        found[row_of[int(row)]] = tuple(zip(map(int, lo), map(int, hi), strict=True))
    return found


@given(people(), st.integers(1, 7), st.sampled_from(CONSTRAINTS))
def test_iack_equals_the_plain_algorithm(drawn, k, constraints):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    rows, classes, sensitive = plain(table)
    method = ic.IACk(k=k, **constraints)
    if not holds(sensitive, sensitive, k=k, **constraints):
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    stars = naive_iac.suppress(rows, sensitive, {**constraints, "k": k})
    release = method.publish(drawn.frame, drawn.schema, seed=1)
    assert released(release, table) == naive_iac.cells(rows, table.hierarchies, stars)
    alpha, beta, gone = naive_iac.change(rows, classes, table.hierarchies, stars)
    assert release.levels["information_change"] == pytest.approx(alpha, abs=1e-9)
    assert release.levels["divergence"] == pytest.approx(beta, abs=1e-9)
    assert (release.levels["values_gone"], release.levels["star_rows"]) == (gone, len(stars))


@given(
    people(),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([None, 0, 0.02, 0.2]),
    st.sampled_from([None, 0, 0.3, 2]),
    st.booleans(),
)
def test_iacc_finds_the_largest_k(drawn, constraints, delta_c, delta_d, keep_values):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    rows, classes, sensitive = plain(table)
    if not holds(sensitive, sensitive, **constraints):
        return
    limits = {"delta_c": delta_c, "delta_d": delta_d, "keep_values": keep_values}
    k, stars = naive_iac.largest_k(rows, classes, sensitive, table.hierarchies, constraints, **limits)
    if k == 0:
        with pytest.raises(ic.InfeasibleError, match="nor any other"):
            ic.IACc(k=1, **limits, **constraints).publish(drawn.frame, drawn.schema)
        return
    release = ic.IACc(k=1, **limits, **constraints).publish(drawn.frame, drawn.schema)
    assert release.manifest.guarantees[0] == Guarantee("k", k=k)
    assert release.levels["k"] >= k
    assert released(release, table) == naive_iac.cells(rows, table.hierarchies, stars)
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.IACc(k=k + 1, **limits, **constraints).publish(drawn.frame, drawn.schema)
    assert refused.value.best == {"k": k}


@given(people(), st.integers(2, 6), st.sampled_from(CONSTRAINTS))
def test_the_thresholds_that_a_refusal_names_are_enough(drawn, k, constraints):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    sensitive = [int(x) for x in table.sensitive]
    if not holds(sensitive, sensitive, k=k, **constraints):
        return
    refused = None
    try:
        ic.IACc(k=k, delta_c=0, delta_d=0, **constraints).publish(drawn.frame, drawn.schema)
    except ic.InfeasibleError as error:
        refused = error
    if refused is not None:
        takes = refused.hint.partition("which takes ")[2]
        needed = {name: json.loads(value.lower()) for name, value in (x.split(" = ") for x in takes.split(", "))}
        if refused.best["k"] == k:
            assert refused.best == {"k": k, **needed}
        release = ic.IACc(k=k, **needed, **constraints).publish(drawn.frame, drawn.schema)
        assert release.manifest.guarantees[0].k >= k


@given(people(), st.integers(1, 4))
def test_the_order_of_rows_does_not_matter(drawn, k):
    if drawn.frame.height < k:
        return
    table = Table.encode(drawn.frame, drawn.schema)
    backwards = ic.IACk(k=k).publish(drawn.frame.reverse(), drawn.schema)
    turned = released(backwards, Table.encode(drawn.frame.reverse(), drawn.schema))
    assert turned[::-1] == released(ic.IACk(k=k).publish(drawn.frame, drawn.schema), table)


@given(people(), st.integers(1, 4))
def test_transform_recodes_to_the_levels_and_suppresses_nothing(drawn, k):
    if drawn.frame.height < k:
        return
    release = ic.IACk(k=k).publish(drawn.frame, drawn.schema, domains="exact")
    levels = ic.IACk(k=1).publish(drawn.frame, drawn.schema, domains="exact")
    assert levels.levels["star_rows"] == 0
    quasi = levels.transform(drawn.frame).select(levels.quasi)
    assert quasi.equals(release.transform(drawn.frame).select(release.quasi))
    assert quasi[levels.private.rows].equals(levels.frame.select(levels.quasi))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 73, 129])
def test_levels_of_intervals_are_those_of_a_balanced_binary_tree(n, missing):
    column = pl.Series([*range(n), *([None] * missing)], dtype=pl.Int64)
    ranges, tree = ic.Intervals().build(column), ic.balanced(2).build(column)
    assert n_levels(ranges) == tree.n_levels
    for level in range(1, tree.n_levels + 1):
        for got, wanted in zip(level_bounds(ranges, level), level_bounds(tree, level), strict=True):
            assert got.tolist() == wanted.tolist()


def test_levels_follow_a_declared_order():
    """Names of an ordinal domain are halved as they stand, not in the order of the alphabet."""
    frame = pl.DataFrame({"q": ["low", "mid", "high", "top"] * 3, "s": ["n", "n", "y", "y"] * 3})
    schema = ic.Schema(quasi={"q": ic.Intervals(["low", "mid", "high", "top"])}, sensitive="s")
    assert set(ic.IACk(k=3).publish(frame, schema, domains="exact").frame["q"]) == {"low|mid", "high|top"}


def table_of(groups, classes=None):
    """Rows of one suppress-only column: each value as often as said; the class says nothing unless given."""
    values = [name for name, size in groups.items() for _ in range(size)]
    classes = classes or {}
    labels = [classes.get(name, "ab"[i % 2]) for i, name in enumerate(values)]
    return pl.DataFrame({"q": values, "s": labels}), ic.Schema(quasi={"q": None}, sensitive="s")


def sizes(release):
    return dict(sorted(release.frame["q"].value_counts().iter_rows()))


def test_too_few_stars_take_the_next_smallest_group_along():
    frame, schema = table_of({"x": 1, "z": 4, "y": 5, "w": 4})
    assert sizes(ic.IACk(k=3).publish(frame, schema)) == {"*": 5, "y": 5, "z": 4}


def test_stars_that_are_enough_take_nothing_along():
    frame, schema = table_of({"x": 2, "y": 5, "v": 1})
    assert sizes(ic.IACk(k=3).publish(frame, schema)) == {"*": 3, "y": 5}


def test_stars_must_be_diverse_too():
    """Two groups of one class each are 2-diverse together; one such group alone needs a neighbour."""
    both = table_of({"x": 3, "y": 3, "z": 4}, {"x": "a", "y": "b"})
    assert sizes(ic.IACk(k=2, l=2).publish(*both)) == {"*": 6, "z": 4}
    alone = table_of({"x": 1, "v": 1, "z": 4, "w": 4}, {"x": "a", "v": "a"})
    assert sizes(ic.IACk(k=2, l=2, l_kind="distinct").publish(*alone)) == {"*": 6, "z": 4}


def test_nothing_is_left_when_everything_is_too_small():
    frame = pl.DataFrame({"q": range(9), "b": list("xyz") * 3, "s": ["u", "v", "w"] * 3})
    release = ic.IACk(k=4).publish(frame, ic.Schema(quasi={"q": ic.Intervals(), "b": None}, sensitive="s"))
    assert release.frame.select("q", "b").unique().rows() == [("0-8", "*")]
    assert (release.levels["star_rows"], release.levels["k"]) == (9, 9)
    assert release.manifest.rows.released == 9
    assert release.levels["values_gone"] == 12


def test_a_class_of_one_value_or_none_leaves_every_attribute_as_it_is():
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3], "s": ["u"] * 6})
    for schema in (
        ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s"),
        ic.Schema(quasi={"q": ic.Intervals()}, identifiers=["s"]),
    ):
        curves = ic.level_curves(frame, schema)
        assert curves["information"].to_list() == [0, 0, 0]
        assert curves.filter("chosen")["level"].to_list() == [3]
        release = ic.IACk(k=2).publish(frame, schema)
        assert sorted(set(release.frame["q"])) == ["1", "2", "3"]
        assert release.levels["information_change"] == 0


def test_the_target_decides_and_the_sensitive_column_is_protected():
    frame = pl.DataFrame({"q": [1, 2, 3, 4] * 4, "ill": ["u", "v"] * 8, "buys": ["n", "n", "y", "y"] * 4})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="ill", other=["buys"], target="buys")
    assert set(ic.IACk(k=4, l=2).publish(frame, schema).frame["q"]) == {"1-2", "3-4"}


def test_a_missing_value_stays_apart_below_the_root():
    frame = pl.DataFrame({"q": [1, 2, 3, 4] * 3 + [None] * 3 + [9], "s": ["n", "n", "y", "y"] * 3 + ["n"] * 4})
    release = ic.IACk(k=3).publish(frame, ic.Schema(quasi={"q": ic.Intervals([1, 2, 3, 4, 9])}, sensitive="s"))
    assert "(missing)" in set(release.frame["q"])
    assert release.verify(frame).ok


def test_one_row_and_one_value():
    frame = pl.DataFrame({"q": [5], "c": ["same"], "s": ["u"]})
    schema = ic.Schema(quasi={"q": ic.Intervals(), "c": None}, sensitive="s")
    assert ic.IACk(k=1).publish(frame, schema).frame["q"].to_list() == ["5"]
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.IACk(k=2).publish(frame, schema)
    assert refused.value.best == {"k": 1}


def test_a_constant_attribute_is_not_changed_by_suppression():
    frame = pl.DataFrame({"q": list("xxxxyz"), "c": ["same"] * 6, "s": list("ababab")})
    curves = ic.suppression_curves(frame, ic.Schema(quasi={"q": None, "c": None}, sensitive="s"), [2])
    assert curves.filter(attribute="c").select("divergence", "change", "gone").row(0) == (0, 0, 0)
    assert curves.filter(attribute="q")["gone"].item() == 2


def test_the_only_value_that_occurs_has_no_divergence():
    """Nor if its taxonomy has others: H(A') = 0, and the number of suppressed rows must not decide on beta."""
    frame = pl.DataFrame({"q": list("xxxxyz"), "c": ["same"] * 6, "s": list("ababab")})
    given = ic.Taxonomy.flat(["same", "else"])
    curves = ic.suppression_curves(frame, ic.Schema(quasi={"q": None, "c": given}, sensitive="s"), [2, 6])
    assert curves.filter(attribute="c")["divergence"].to_list() == [0, 0]
    assert curves.filter(attribute="q")["divergence"].max() > 0
    alone = [ic.IACk(k=2).publish(frame, ic.Schema(quasi=quasi, sensitive="s")).levels["divergence"]
             for quasi in ({"q": None, "c": None}, {"q": None, "c": given})]  # fmt: skip
    assert alone[0] == alone[1]


def test_iacc_without_limits_suppresses_everything():
    frame, schema = table_of({"x": 1, "y": 5})
    release = ic.IACc(delta_c=None, delta_d=None).publish(frame, schema)
    assert release.manifest.guarantees == (Guarantee("k", k=6),)
    assert sizes(release) == {"*": 6}


def test_iacc_with_zero_thresholds_publishes_groups_as_they_are():
    frame, schema = table_of({"x": 3, "y": 5})
    release = ic.IACc(delta_c=0, delta_d=0).publish(frame, schema)
    assert release.manifest.guarantees == (Guarantee("k", k=3),)
    assert (sizes(release), release.levels["star_rows"]) == ({"x": 3, "y": 5}, 0)


def test_iacc_promises_the_size_of_the_smallest_group_left():
    """The paper's line 16 gives 2, one more than the largest group suppressed; the release keeps 4."""
    release = ic.IACc(delta_c=None, delta_d=1, keep_values=False).publish(
        *table_of({"v": 1, "w": 1, "x": 1, "y": 1, "z": 9})
    )
    assert release.manifest.guarantees == (Guarantee("k", k=4),)
    assert release.manifest.method.parameters["k"] == 2


def test_iacc_says_how_far_it_comes():
    frame, schema = table_of({"x": 1, "y": 5, "z": 6})
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.IACc(k=3, delta_c=1, delta_d=1).publish(frame, schema)
    assert refused.value.best == {"k": 1}
    assert refused.value.hint.startswith("the largest k that they allow is 1; for k = 3, 6 of 12 rows become '*'")
    assert refused.value.hint.endswith("keep_values = False")


def test_iacc_says_what_no_threshold_makes_possible():
    frame, schema = table_of({"x": 4})
    with pytest.raises(ic.InfeasibleError, match=r"closest .*, before delta_c and delta_d$"):
        ic.IACc(k=2, l=9).publish(frame, schema)


def test_iacc_parameters():
    assert make("iacc").k == 2
    with pytest.raises(ic.ParameterError, match="needs k"):
        make("iack")
    with pytest.raises(ic.ParameterError, match="k is 0"):
        ic.IACc(k=0)
    for number in (np.float32(0.5), np.int64(1), 1, 0.5):
        assert ic.IACc(delta_c=number, delta_d=number).delta_c == number
    for wrong in (-1, math.inf, math.nan, "much", True, np.True_, 1j):
        with pytest.raises(ic.ParameterError, match="delta_d is"):
            ic.IACc(delta_d=wrong)
    with pytest.raises(ic.ParameterError, match="keep_values is"):
        ic.IACc(keep_values="yes")


def test_without_the_compiler(monkeypatch):
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"a": rng.integers(0, 9, 90), "b": rng.integers(0, 3, 90), "s": rng.integers(0, 3, 90)})
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": None}, sensitive="s")
    for method in (ic.IACk(k=4), ic.IACk(k=4, l=1.5, t=0.4), ic.IACc(k=1, delta_c=0.3, delta_d=None, alpha=0.8)):
        compiled = method.publish(frame, schema, seed=1)
        with monkeypatch.context() as plain:
            plain.setattr("incrowd.kernels.jit.COMPILE_ALWAYS", False)
            assert method.publish(frame, schema, seed=1).frame.equals(compiled.frame)


def adults(n=200):
    rng = np.random.default_rng(2011)
    age = rng.integers(20, 60, n)
    job = rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05])
    frame = pl.DataFrame({"age": age, "job": job, "ill": np.where(age + rng.integers(-8, 8, n) > 40, "y", "n")})
    return frame, ic.Schema(quasi={"age": ic.Intervals(), "job": None}, sensitive="ill")


def test_level_curves_are_what_each_level_tells():
    frame, schema = adults()
    table = Table.encode(frame, schema)
    curves = ic.level_curves(frame, schema)
    for m, name in enumerate(schema.quasi):
        codes, classes = [int(x) for x in table.codes[:, m]], [int(x) for x in table.classes[0]]
        at = [[cells[x] for x in codes] for cells in naive_iac.levels(table.hierarchies[m])]
        own = curves.filter(attribute=name)
        assert own["level"].to_list() == list(range(1, len(at) + 1))
        assert own["values"].to_list() == [len(set(values)) for values in at]
        assert own["information"].to_list() == pytest.approx([naive_iac.information(x, classes) for x in at])
        assert own["chosen"].to_list() == [x == own["information"].max() for x in own["information"]]


def test_group_size_curve_counts_rows():
    frame, schema = adults()
    groups = ic.IACk(k=1).publish(frame, schema).frame.group_by("age", "job").len()["len"].to_list()
    curve = ic.group_size_curve(frame, schema)
    assert curve["size"].to_list() == sorted(set(groups))
    assert curve["groups"].to_list() == [groups.count(size) for size in sorted(set(groups))]
    assert curve["rows"].to_list() == [sum(x for x in groups if x <= size) for size in sorted(set(groups))]
    assert curve["share"].to_list()[-1] == 1


def test_suppression_curves_are_what_iack_does():
    frame, schema = adults()
    curves = ic.suppression_curves(frame, schema)
    assert curves["k"].unique().sort().to_list() == [1, 2, 3, 5, 10, 20, 50, 100, 200]
    for (k,), own in curves.group_by("k"):
        levels = ic.IACk(k=k).publish(frame, schema).levels
        assert own["change"].max() == levels["information_change"]
        assert own["divergence"].max() == levels["divergence"]
        assert own["gone"].sum() == levels["values_gone"]
        assert set(own["star_rows"]) == {levels["star_rows"]}
    assert ic.suppression_curves(frame, schema, [3]).equals(curves.filter(k=3))
    with pytest.raises(ic.ParameterError, match="ks has 201"):
        ic.suppression_curves(frame, schema, [201])
    with pytest.raises(ic.ParameterError, match="k is 0"):
        ic.suppression_curves(frame, schema, [0, 3])


def test_figures_show_the_curves():
    frame, schema = adults()
    left, right = ic.plot_levels(frame, schema, theme="dark").axes
    curves = ic.level_curves(frame, schema)
    assert left.lines[0].get_ydata().tolist() == curves.filter(attribute="age")["information"].to_list()
    assert [text.get_text() for text in left.get_legend().get_texts()] == schema.quasi
    assert right.lines[0].get_ydata()[-1] == 1
    left, right = ic.plot_suppression(frame, schema, [1, 5, 9]).axes
    curves = ic.suppression_curves(frame, schema, [1, 5, 9]).filter(attribute="job")
    assert left.lines[1].get_ydata().tolist() == curves["divergence"].to_list()
    assert right.lines[1].get_ydata().tolist() == curves["information"].to_list()
