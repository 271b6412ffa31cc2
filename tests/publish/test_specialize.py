"""TDS, TDR and PAIS equal the plain search, cell for cell."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
import naive_specialize
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.domains import limits, limits_of
from incrowd.manifest import Guarantee
from incrowd.privacy import Privacy
from incrowd.publish import specialize as specialize_module
from incrowd.publish.specialize import Cut, Rule, gain_per_loss, specialize
from owner import exact_rows
from strategies import NAMES, SPECS, Drawn, tables


@st.composite
def drawn_tables(draw, **options):
    """Some with columns of many values that have no taxonomy, some with another class than the sensitive column."""
    drawn = draw(tables(**options))
    attributes = list(drawn.schema.attributes.values())
    if draw(st.booleans()):
        attributes = [replace(a, hierarchy=None) if a.name.endswith(("name", "zip")) else a for a in attributes]
    frame, target = drawn.frame, None
    if draw(st.booleans()):
        labels = draw(st.lists(st.integers(0, 2), min_size=frame.height, max_size=frame.height))
        frame, target = frame.with_columns(note=pl.Series(labels)), "note"
    return Drawn(frame, ic.Schema.of(attributes, target=target))


@st.composite
def correlated_tables(draw):
    """Rows near a few kinds of people, so that a search makes many steps and partitions lie inside values."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, n_kinds = int(rng.integers(10, 40)), int(rng.integers(2, 8))
    kind = rng.integers(0, n_kinds, n)
    domains = {"q int": range(9), "q tree": NAMES, "q float": [0.5, 1.0, 7.0, 9.5], "q name": NAMES[:5]}
    columns, quasi = {}, {}
    for name, domain in list(domains.items())[: int(rng.integers(1, 5))]:
        usual = rng.integers(0, len(domain), n_kinds)[kind]
        codes = np.where(rng.random(n) < 0.3, rng.integers(0, len(domain), n), usual)
        columns[name] = [None if rng.random() < 0.02 else domain[code] for code in codes]
        quasi[name] = None if name == "q name" else SPECS[name[2:]]
    columns["class"] = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), kind % 2)
    return Drawn(pl.DataFrame(columns), ic.Schema(quasi=quasi, sensitive="class"))


def plain(table, score, keeps, n_together, disclose=False, one_class=False):
    codes = [tuple(int(x) for x in row) for row in table.codes]
    classes = [0] * len(codes) if one_class else [int(x) for x in table.classes[0]]
    search = naive_specialize.Search(codes, classes, table.hierarchies, disclose)
    return search.cells(search.run(score, keeps, n_together))


def released(release):
    cells = [None] * release.n_rows
    for row, lo, hi in zip(release.private.rows, *exact_rows(release), strict=True):
        cells[int(row)] = tuple(zip(lo.tolist(), hi.tolist(), strict=True))
    return cells


@given(
    st.one_of(drawn_tables(), correlated_tables()),
    st.integers(1, 5),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([ic.TDS, ic.TDR]),
)
def test_tds_and_tdr_equal_the_plain_search(drawn, k, constraints, method):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    sensitive = [int(x) for x in table.sensitive]

    def keeps(group):
        return naive_mondrian.holds([sensitive[i] for i in group], sensitive, k=k, **constraints)

    if not keeps(range(table.n_rows)):
        with pytest.raises(ic.InfeasibleError):
            method(k=k, **constraints).publish(drawn.frame, drawn.schema)
        return
    release = method(k=k, **constraints).publish(drawn.frame, drawn.schema, domains="exact")
    wanted = plain(table, naive_specialize.gain_per_loss, keeps, table.n_quasi, disclose=method is ic.TDR)
    assert released(release) == wanted
    assert_transforms(release, drawn.frame)


@given(
    st.one_of(drawn_tables(), correlated_tables()),
    st.integers(1, 5),
    st.sampled_from([None, 1, 2, 3, 9]),
    st.sampled_from([{}, {"l": 1.3}, {"C": 0.75}]),
    st.sampled_from(["infogain", "discernibility"]),
)
def test_pais_equals_the_plain_search(drawn, k, L, confidence, score):
    table = Table.encode(drawn.frame, drawn.schema)
    limit = 1 / Fraction(str(confidence["l"])) if "l" in confidence else Fraction(str(confidence.get("C", 1)))
    keeps = naive_specialize.lkc(table.sensitive.tolist(), k, limit)
    method = ic.PAIS(k=k, L=L, score=score, **confidence)
    if not keeps(range(table.n_rows)):
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    n_together = min(L or table.n_quasi, table.n_quasi)
    rated = naive_specialize.info_gain if score == "infogain" else naive_specialize.discernibility
    wanted = plain(table, rated, keeps, n_together, one_class=score == "discernibility")
    release = method.publish(drawn.frame, drawn.schema, domains="exact")
    assert released(release) == wanted
    assert_transforms(release, drawn.frame)


def assert_transforms(release, frame):
    """Published rows get their own cells again."""
    own = release.transform(frame)[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


def one_column(values, hierarchy, labels, method=ic.TDS, k=2, **options):
    frame = pl.DataFrame({"q": values, "s": list(labels)})
    return method(k=k, **options).publish(frame, ic.Schema(quasi={"q": hierarchy}, sensitive="s"))


def test_the_best_cut_is_taken_whether_it_is_valid_or_not():
    """The only cut with the best gain would leave one row alone; the next best would be valid."""
    assert one_column([1, 2, 3, 4, 5], ic.Intervals(), "yxxxx").frame["q"].unique().to_list() == ["1-5"]
    assert one_column([1, 2, 3, 4, 5], ic.Intervals(), "yyxxx").frame["q"].unique().sort().to_list() == ["1-2", "3-5"]


def test_nothing_is_specialized_that_tells_nothing_about_the_class():
    assert one_column([1, 1, 2, 2], ic.Intervals(), "xyxy").frame["q"].unique().to_list() == ["1-2"]
    assert one_column([1, 1, 2, 2], ic.Intervals(), "xxxx").frame["q"].unique().to_list() == ["1-2"]
    shown = one_column([1, 1, 2, 2], ic.Intervals(), "xyxy", ic.PAIS, score="discernibility").frame["q"]
    assert shown.unique().sort().to_list() == ["1", "2"]


def test_the_loss_of_anonymity_counts():
    """One column tells more about the class, the other tells it at a lower price; k does not allow both."""
    kinds = [("a", "x", "u", 3), ("a", "y", "v", 1), ("b", "x", "u", 3), ("b", "x", "v", 11), ("b", "y", "v", 6)]
    rows = [kind[:3] for kind in kinds for _ in range(kind[3])]
    frame = pl.DataFrame(rows, schema=["dear", "cheap", "s"], orient="row")
    schema = ic.Schema(quasi={"dear": None, "cheap": None}, sensitive="s")
    shown = [
        [release.frame["dear"].n_unique(), release.frame["cheap"].n_unique()]
        for release in (ic.PAIS(k=2).publish(frame, schema), ic.TDS(k=2).publish(frame, schema))
    ]
    assert shown == [[2, 1], [1, 2]]


@given(st.one_of(drawn_tables(), correlated_tables()), st.integers(1, 3), st.booleans())
def test_what_is_kept_from_step_to_step_is_what_a_new_count_gives(drawn, k, disclose):
    table = Table.encode(drawn.frame, drawn.schema)
    if table.n_rows < k:
        return

    def checked(cut, candidates):
        group = cut.choice().cell_of
        sizes = np.bincount(group)
        assert cut.anonymity == sizes.min()
        smallest = np.minimum(cut.smallest, sizes.min())
        for candidate in candidates.tolist():
            step = cut.step(candidate)
            holding = [g for g in range(cut.n_groups) if cut._leaves.value[step.m, g] == step.value]
            assert cut.squares[step.value] == (sizes[holding] ** 2).sum()
            inside = np.isin(group, holding)
            parts = Counter(zip(group[inside], step.part_of[table.codes[inside, step.m]], strict=True))
            assert smallest[candidate] == min(sizes.min(), *parts.values())
        return gain_per_loss(cut, candidates)

    rule = Rule(limits(Privacy.of(k), table), 0, table.n_quasi)
    specialize(table, rule, checked, lambda *_: None, disclose=disclose)


def test_score_is_gain_per_loss():
    cut = SimpleNamespace(gain=np.array([6.0, 6.0, 8.0, 8.0]), smallest=np.array([20, 9, 6, 1]), anonymity=10)
    cut.rule = Rule(limits_of(Privacy.of(2), 4, {}), 0, 1)
    assert gain_per_loss(cut, np.array([0, 1, 2, 3])).tolist() == [6, 3, 1.6, 0]


def test_of_equal_scores_the_first_leaf_goes_first(monkeypatch):
    """Values are not numbered in the order of their leaves."""
    taken, honest = [], Cut.specialize

    def recorded(cut, step):
        taken.append(cut._ranges[step.m][step.value])
        honest(cut, step)

    monkeypatch.setattr(Cut, "specialize", recorded)
    one_column(list(range(8)), ic.Intervals(), "xyxyxyxy", ic.PAIS, k=1, score="discernibility")
    assert taken == [(0, 7), (0, 3), (4, 7), (0, 1), (2, 3), (4, 5), (6, 7)]


def test_tdr_shows_frequent_values_and_tds_all_or_none():
    values, labels = ["a"] * 3 + ["b"] * 3 + ["c", "d", "e"], "xxxyyyxyx"
    assert one_column(values, None, labels, ic.TDR, k=3).frame["q"].value_counts().sort("q").rows() == [
        ("*", 3), ("a", 3), ("b", 3),
    ]  # fmt: skip
    assert one_column(values, None, labels, ic.TDS, k=3).frame["q"].unique().to_list() == ["*"]


def test_tdr_specializes_deeper_taxonomies_node_by_node():
    tree = ic.Taxonomy.from_nested({"low": ["a", "b"], "high": ["c", "d"]})
    shown = one_column(list("aabbccdd"), tree, "xxxxyyyy", ic.TDR, k=3).frame["q"]
    assert shown.unique().sort().to_list() == ["high", "low"]


def test_steps_without_a_split_are_skipped():
    """All rows lie below one child of the root: the value is that child's child, not the root."""
    tree = ic.Taxonomy.from_nested({"top": {"low": ["a", "b"], "high": ["c", "d"]}, "other": ["e", "f"]})
    release = one_column(list("aabbccdd"), tree, "xxxxyyyy", k=4)
    assert release.frame["q"].unique().sort().to_list() == ["high", "low"]
    assert release.transform(pl.DataFrame({"q": ["e"]}))["q"].to_list() == ["*"]


def test_missing_numbers_are_cut_off_like_the_lowest():
    release = one_column([None, None, 1, 2, 3, 4], ic.Intervals(), "zzxxyy")
    assert release.frame["q"].unique().sort().to_list() == ["(missing)", "1-2", "3-4"]
    release = one_column([None, 1, 2, 3, 4, 4], ic.Intervals(), "xxxyyy")
    assert release.frame["q"].unique().sort().to_list() == ["*", "3-4"]


def four_columns(n=64):
    """Every combination of two columns has n / 4 rows; the class is a function of all of them."""
    bits = (np.arange(n)[:, None] >> np.arange(4)) & 1
    labels = np.where(bits.sum(axis=1) > 1, "x", "y")
    frame = pl.DataFrame({**{f"q{m}": bits[:, m] for m in range(4)}, "s": labels})
    return frame, ic.Schema(quasi=[f"q{m}" for m in range(4)], sensitive="s")


def test_every_combination_counts():
    """When c comes to be specialized, only b and c together would leave somebody with too few alike."""
    rows = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (2, 1, 1), (2, 1, 1), (3, 1, 1), (3, 1, 1)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").with_columns(s=pl.lit("x"))
    schema = ic.Schema(quasi=["a", "b", "c"], sensitive="s")
    shown = [ic.PAIS(k=2, L=L, score="discernibility").publish(frame, schema).frame for L in (1, 2)]
    assert [[found[name].n_unique() for name in "abc"] for found in shown] == [[3, 2, 2], [3, 2, 1]]


def test_a_smaller_L_shows_more():
    frame, schema = four_columns()
    shown = [ic.PAIS(k=10, L=L).publish(frame, schema).frame.drop("s").n_unique() for L in (1, 2, 3, 4)]
    assert shown == [16, 16, 4, 4]


@pytest.mark.parametrize(("L", "promised"), [(None, 4), (4, 4), (9, 4), (2, 2)])
def test_the_guarantee_carries_the_number_of_attributes(L, promised):
    frame, schema = four_columns()
    release = ic.PAIS(k=4, L=L, C=0.95).publish(frame, schema)
    lkc = Guarantee("lkc", L=promised, K=4, C=0.95)
    plainly = (Guarantee("k", k=4), Guarantee("alpha", alpha=0.95)) if promised == 4 else ()
    assert release.manifest.guarantees == (*plainly, lkc)
    assert release.levels["lkc_k"] >= 4
    assert release.levels["lkc_c"] <= 0.95


def test_l_is_meant_exactly():
    """A share of exactly 1/l is allowed, though 2/3 is no decimal number."""
    frame = pl.DataFrame({"q": [1, 1, 1, 2, 2, 2], "s": list("xxyxyy")})
    release = ic.PAIS(k=3, l=1.5).publish(frame, ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s"))
    assert release.frame["q"].n_unique() == 2
    k, l, lkc = release.manifest.guarantees
    assert (k.k, l.l) == (3, 1.5)
    assert Fraction(2, 3) <= Fraction(str(lkc.C)) < Fraction(2, 3) + Fraction(1, 10**15)


def test_too_many_combinations_are_refused_before_any_search(monkeypatch):
    names = [f"q{m}" for m in range(20)]
    frame = pl.DataFrame({**{name: [0, 1] for name in names}, "s": ["x", "y"]})
    schema = ic.Schema(quasi=names, sensitive="s")
    monkeypatch.setattr(ic.PAIS, "choose", lambda *_: pytest.fail("it began to search"))
    with pytest.raises(ic.IncompatibleError, match="L = 8 of 20 quasi-identifiers are 125970 combinations"):
        ic.PAIS(k=1, L=8).publish(frame, schema)
    monkeypatch.undo()
    assert ic.PAIS(k=1, L=20).publish(frame, schema).verify(frame).ok


def test_combinations_need_a_sensitive_column():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    schema = ic.Schema(quasi=["a", "b"])
    with pytest.raises(ic.SchemaError, match=r"no sensitive column(.|\n)*leave L out"):
        ic.PAIS(k=1, L=1).publish(frame, schema)
    with pytest.raises(ic.SchemaError, match="no sensitive column"):
        ic.PAIS(k=1, L=1, C=0.5).publish(frame, schema)
    release = ic.PAIS(k=2, score="discernibility").publish(frame, schema)
    assert release.manifest.guarantees == (Guarantee("k", k=2),)
    assert len(release.cell_lo) == 2


def test_too_many_classes_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr(specialize_module, "_MOST_COUNTS", 7)
    with pytest.raises(ic.IncompatibleError, match="2 classes times the values of all quasi-identifiers are 8 counts"):
        one_column([1, 2, 3, 4], ic.Intervals(), "xyxy")


def test_wrong_parameters_are_refused():
    for options, message in [
        ({"k": 0}, "k is 0"),
        ({"k": 2, "L": 0}, "L is 0"),
        ({"k": 2, "L": 1.5}, "L is 1.5"),
        ({"k": 2, "C": 0}, "C is 0"),
        ({"k": 2, "C": 1.1}, "C is 1.1"),
        ({"k": 2, "l": 0.5}, "l is 0.5"),
        ({"k": 2, "l": 2, "C": 0.5}, "C is 0.5 and l is 2"),
        ({"k": 2, "score": "best"}, "score is 'best'"),
    ]:
        with pytest.raises(ic.ParameterError, match=message):
            ic.PAIS(**options)
    with pytest.raises(ic.ParameterError, match="k is 0"):
        ic.TDR(k=0)


def test_the_closest_setting_is_named_as_it_was_asked_for():
    frame = pl.DataFrame({"q": [1, 2, 3], "s": list("xxy")})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.PAIS(k=4, l=1.6, L=1).publish(frame, schema)
    assert refused.value.best == {"k": 3, "l": 1.5}
    with pytest.raises(ic.InfeasibleError) as refused:
        ic.PAIS(k=2, C=0.5).publish(frame, schema)
    assert refused.value.best == {"C": 0.6667}
