"""Names in the order of their classes."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.coding import Table


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=8), st.integers(1, 30))
def test_two_classes_are_ordered_by_their_share(counts, at_least):
    """Share of the second class among the rows of a name; rare names keep the alphabet, together where the mean is."""
    names = [f"n{i}" for i in range(len(counts))]
    column = [name for name, (yes, no) in zip(names, counts, strict=True) for _ in range(yes + no)]
    classes = [c for yes, no in counts for c in ["y"] * yes + ["n"] * no]
    leaves = ic.by_class(at_least).build(pl.Series("q", column), target=pl.Series(classes)).leaves.to_list()
    overall = sum(yes for yes, _ in counts) / sum(yes + no for yes, no in counts)
    share = {name: yes / (yes + no) for name, (yes, no) in zip(names, counts, strict=True)}
    sizes = dict(zip(names, map(sum, counts), strict=True))
    key = {name: round(share[name] - overall, 8) if sizes[name] >= at_least else 0.0 for name in names}
    found = [key[name] for name in leaves]
    assert found in (sorted(found), sorted(found, reverse=True))
    for one, other in pairwise(leaves):
        assert key[one] != key[other] or one < other


def test_weights_stand_for_rows():
    column, target = pl.Series("q", ["a", "b", "c", "a", "b", "c"]), pl.Series(list("yyynnn"))
    weights = np.array([30, 10, 20, 10, 30, 20])
    written_out = [pl.concat([s[i : i + 1] for i in range(6) for _ in range(weights[i])]) for s in (column, target)]
    ours = ic.by_class().build(column, target=target, weights=weights)
    theirs = ic.by_class().build(written_out[0], target=written_out[1])
    assert ours.leaves.to_list() == theirs.leaves.to_list()
    assert ours.leaves.to_list() in (["a", "c", "b"], ["b", "c", "a"])


def test_more_classes_are_told_apart_along_their_widest_axis():
    column = pl.Series("q", ["low"] * 40 + ["mid"] * 40 + ["high"] * 40)
    target = pl.Series(["a"] * 40 + ["a", "b"] * 20 + ["b"] * 39 + ["c"])
    leaves = ic.by_class().build(column, target=target).leaves.to_list()
    assert leaves in (["low", "mid", "high"], ["high", "mid", "low"])


def test_missing_names_come_first_and_a_schema_keeps_the_recipe(tmp_path):
    frame = pl.DataFrame({"job": ["a", "b", None, "c"] * 30, "ill": ["y", "n", "y", "n"] * 30})
    schema = ic.Schema(quasi={"job": ic.by_class()}, sensitive="ill")
    schema.to_toml(tmp_path / "s.toml")
    again = ic.Schema.from_toml(tmp_path / "s.toml")
    assert repr(again.attributes["job"].hierarchy) == "by_class(20)"
    (hierarchy,) = Table.encode(frame, again).hierarchies
    assert hierarchy.leaves.to_list()[0] is None
    release = ic.BestCuts(k=10).publish(frame, again, seed=1)
    assert release.verify(frame).ok


def test_names_of_fewer_than_k_rows_stand_together():
    """So that what is published of them is one leaf, and frequent names keep theirs."""
    sizes = {"a": 300, "b": 30, "c": 300, "d": 30, "e": 300, "f": 300}
    yes = {"a": 0.1, "b": 0.0, "c": 0.3, "d": 1.0, "e": 0.6, "f": 0.9}
    rows = [(name, "y" if i < yes[name] * n else "n") for name, n in sizes.items() for i in range(n)]
    frame = pl.DataFrame(rows, schema=["job", "ill"], orient="row")
    schema = ic.Schema(quasi={"job": ic.by_class()}, sensitive="ill")
    release = ic.BestCuts(k=50).publish(frame, schema, seed=1)
    assert set("acef") <= set(release.sample(seed=1)["job"]) <= {*"acef", "others 1"}
    assert Table.encode(frame, schema, least=50).hierarchies[0].leaves.to_list() in (list("acbdef"), list("febdca"))
    assert Table.encode(frame, schema).hierarchies[0].leaves.to_list() in (list("bacefd"), list("dfecab"))


def test_the_class_orders_nothing_where_it_is_protected():
    names = [f"n{i}" for i in (3, 1, 2, 0)]
    frame = pl.DataFrame({"job": [n for n in names for _ in range(100)], "buys": ["a", "b"] * 200,
                          "ill": ["y" if i < 80 - 20 * j else "n" for j in range(4) for i in range(100)]})  # fmt: skip
    quasi = {"job": ic.by_class()}

    def order(method, **roles):
        release = method.publish(frame, ic.Schema(quasi=quasi, rest="drop", **roles))
        return release.private.domains[0].hierarchy.leaves.to_list()

    by_share = (names, names[::-1])
    assert order(ic.BestCuts(k=20), sensitive="ill") in by_share
    apart = {"sensitive": "buys", "other": ["ill"], "target": "ill"}
    assert order(ic.BestCuts(k=20, l=1.5), **apart) in by_share
    for limit in ({"l": 1.2}, {"t": 0.9}, {"alpha": 0.95}):
        assert order(ic.BestCuts(k=20, **limit), sensitive="ill") == sorted(names)
    assert order(ic.NSVDist(k=20, l=1.2), sensitive="ill") == sorted(names)


def test_k_is_the_least_number_of_rows_whatever_was_asked_for():
    column = pl.Series("job", ["a"] * 60 + ["b"] * 40 + ["c"] * 60)
    target = pl.Series(["y"] * 60 + ["n"] * 40 + ["y", "n"] * 30)
    orders = [ic.by_class(n).build(column, target, None, k).leaves.to_list() for n, k in ((1, 50), (50, 1), (1, 1))]
    assert orders[0] == orders[1] != orders[2]


def test_one_name_joined_with_rare_ones_is_drawn_by_its_name():
    frame = pl.DataFrame({"job": ["a"] * 300 + ["b"] * 3 + ["c"] * 300, "ill": ["y"] * 302 + ["n"] * 301})
    release = ic.BestCuts(k=50).publish(frame, ic.Schema(quasi={"job": ic.by_class()}, sensitive="ill"), seed=1)
    assert any(label.endswith("|others") for label in release.frame["job"].unique())
    assert set(release.sample(seed=1)["job"]) == set(release.training(seed=1)["job"]) == {"a", "c"}
    judged = ic.evaluate(release, holdout=frame, original=frame, classifiers="tree", training="recommended")
    assert judged.frame["accuracy"].item() > 0.98


def test_what_has_no_class_or_an_order_of_its_own_is_refused():
    with pytest.raises(ic.HierarchyError, match="no target"):
        ic.by_class().build(pl.Series("q", ["a", "b"]))
    with pytest.raises(ic.HierarchyError, match="an order of their own"):
        ic.by_class().build(pl.Series("q", [1, 2]), target=pl.Series(["a", "b"]))
    with pytest.raises(ic.HierarchyError, match="at_least=0"):
        ic.by_class(0)
    many = pl.Series([f"c{i}" for i in range(10_000)])
    with pytest.raises(ic.HierarchyError, match="too many"):
        ic.by_class().build(many.alias("q"), target=many)
