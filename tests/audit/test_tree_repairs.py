"""Repairs of trees: what stays is safe, and no split could be put back; views of single nodes."""

import copy
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd.audit import tree_states, trees
from incrowd.audit.inputs import Inputs
from incrowd.audit.subject import Limits


def table(seed=0, n=60):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, (n, 3))
    labels = ((rows @ [3, 1, 2] + rng.integers(0, 6, n)) > 15).astype(int)
    labels[:2] = 0, 1
    return pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "y": labels})


def schema(*public):
    private = [name for name in "abc" if name not in public]
    return ic.Schema(quasi=dict.fromkeys(public, ic.Intervals()), sensitive="y", other=private)


def with_splits(model, kept):
    """The model with only some splits of each of its trees."""
    changed = copy.deepcopy(model)
    for member, splits in zip(getattr(changed, "estimators_", [changed]), kept, strict=True):
        member.tree_ = tree_states.pruned(member.tree_, splits)
    return changed


@given(st.integers(0, 1000), st.integers(2, 12), st.sampled_from(["a", "ab", "abc", "c"]), st.booleans(), st.booleans())
def test_no_split_could_be_put_back(seed, k, public, class_public, is_forest):
    frame = table(seed)
    model = RandomForestClassifier(2, random_state=0) if is_forest else DecisionTreeClassifier(random_state=0)
    model.fit(frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy())
    members = model.estimators_ if is_forest else [model]
    rows = frame.select("a", "b", "c").to_numpy().astype(float)
    known = np.array([name in public for name in "abc"])
    given_inputs = Inputs(rows, known, tuple("abc"), frame["y"].to_numpy(), class_public)
    views = [trees.SklearnTree(m.tree_, given_inputs, rows.astype(np.float32), np.arange(3)) for m in members]
    grown = trees.grow_back(views, given_inputs, Limits(k))
    kept, dropped = grown.kept, grown.dropped

    def is_safe(splits):
        found = ic.audit(with_splits(model, splits), frame, schema(*public), k, class_public=class_public)
        return len(found.breaches) == 0

    assert is_safe(kept)
    n_open = 0
    for t, member in enumerate(members):
        left, right = member.tree_.children_left, member.tree_.children_right
        below = {int(child) for node in kept[t] for child in (left[node], right[node])} | {0}
        for node in sorted(below - kept[t]):
            if left[node] >= 0:
                n_open += 1
                assert not is_safe([splits | {node} if i == t else splits for i, splits in enumerate(kept)])
    assert len(dropped) == n_open


def stairs():
    """Sixteen people on a line, eight of each class, cut into 8, 4, 2, 2."""
    frame = pl.DataFrame({"age": np.arange(16), "y": [0] * 8 + [1] * 4 + [0] * 2 + [1] * 2})
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("age").to_numpy(), frame["y"].to_numpy())
    return frame, model, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="y")


@pytest.mark.parametrize(
    ("k", "sizes", "said"),
    [
        (2, [8, 4, 2, 2], None),
        (3, [8, 4, 4], "collapse node 4 (age <= 13.5), reached by 4 people"),
        (4, [8, 4, 4], "collapse node 4 (age <= 13.5), reached by 4 people"),
        (5, [8, 8], "collapse node 2 (age <= 11.5), reached by 8 people"),
        (9, [16], "collapse node 0 (age <= 7.5), reached by 16 people"),
        (16, [16], "collapse node 0 (age <= 7.5), reached by 16 people"),
    ],
)
def test_a_staircase_loses_its_lowest_steps(k, sizes, said):
    frame, model, roles = stairs()
    report = ic.audit(model, frame, roles, k)
    assert sorted(report.people.tolist(), reverse=True) == [8, 4, 2, 2]
    assert report.repairs == (() if said is None else (said,))
    mended = report.repair()
    assert (mended is model) == report.ok
    leaves = mended.apply(frame.select("age").to_numpy())
    assert sorted(np.unique(leaves, return_counts=True)[1].tolist(), reverse=True) == sizes
    assert ic.audit(mended, frame, roles, k).level == min(sizes)
    depth = int(mended.decision_path(frame.select("age").to_numpy()).sum(axis=1).max()) - 1
    assert (mended.tree_.max_depth, mended.tree_.node_count) == (depth, 2 * len(sizes) - 1)
    is_leaf = mended.tree_.children_left < 0
    assert (mended.tree_.children_right[is_leaf] == -1).all()
    assert (mended.tree_.feature[is_leaf] == -2).all()
    assert (mended.tree_.threshold[is_leaf] == -2.0).all()
    shares = [frame["y"].to_numpy()[leaves == leaf].mean() for leaf in leaves]
    assert mended.predict_proba(frame.select("age").to_numpy())[:, 1].tolist() == shares


def test_a_table_of_fewer_than_k_cannot_be_mended():
    frame, model, roles = stairs()
    report = ic.audit(model, frame, roles, 17)
    assert report.repairs == ("The table has 16 people, fewer than k = 17: even a model without splits tells too much",)
    with pytest.raises(ic.InfeasibleError, match="use k = 16 or less") as refused:
        report.repair()
    assert refused.value.best == {"k": 16}


def test_a_class_that_everybody_has_is_nothing_private():
    frame, _, roles = stairs()
    alike = frame.with_columns(y=pl.lit(1))
    model = DecisionTreeClassifier().fit(frame.select("age").to_numpy(), alike["y"].to_numpy())
    assert ic.audit(model, alike, roles, 99).level is None
    told, _, _ = stairs()
    model = DecisionTreeClassifier(max_depth=1).fit(told.select("age").to_numpy(), told["y"].to_numpy())
    assert ic.audit(model, told, roles, 2, class_public=True).level is None
    assert ic.audit(model, told, roles, 2).level == 8


@pytest.mark.parametrize("n_trees", [1, 2])
def test_the_trees_of_a_forest_are_numbered(n_trees):
    frame, _, roles = stairs()
    model = BaggingClassifier(DecisionTreeClassifier(random_state=0), n_trees, bootstrap=False, random_state=0)
    model.fit(frame.select("age").to_numpy(), frame["y"].to_numpy())
    report = ic.audit(model, frame, roles, 5)
    where = ["tree 1, ", "tree 2, "] if n_trees == 2 else [""]
    assert report.repairs[0] == "take out _seeds: it tells about people by row"
    assert report.repairs[1:] == tuple(f"collapse {one}node 2 (age <= 11.5), reached by 8 people" for one in where)
    assert report.model == "BaggingClassifier" + (" of 2 trees" if n_trees == 2 else "")


def test_a_pipeline_stays_one():
    frame, _, roles = stairs()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    model.fit(frame.select("age").to_pandas(), frame["y"].to_numpy())
    report = ic.audit(model, frame.to_pandas(), roles, 5)
    mended = report.repair()
    assert [name for name, _ in mended.steps] == [name for name, _ in model.steps]
    assert mended[0] is model[0]
    assert (mended[-1].get_n_leaves(), model[-1].get_n_leaves()) == (2, 4)
    assert report.repairs[0].startswith("collapse node 2 (age <= 0.")


def test_a_private_split_stays_as_long_as_its_people_are_k():
    """Everybody can go either way at b: it tells about all twenty, or about the ten with a = 1."""
    rows = np.array([[a, b] for a in (0, 1) for b in (0, 1) for _ in range(5)])
    frame = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "y": rows[:, 0] * rows[:, 1]})
    model = DecisionTreeClassifier(random_state=0).fit(rows, frame["y"].to_numpy())
    roles = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="y", other=["b"])
    assert ic.audit(model, frame, roles, 10).level == 10
    assert ic.audit(model, frame, roles, 10).repair() is model
    for k, n_leaves in ((11, 2), (20, 2), (21, None)):
        report = ic.audit(model, frame, roles, k)
        assert not report.ok
        if n_leaves is not None:
            assert report.repair().get_n_leaves() == n_leaves
    known = ic.audit(model, frame, roles, 6, class_public=True)
    assert known.level == 5  # those with a = 1, b = 1; of the others, five could be either
    assert ic.audit(known.repair(), frame, roles, 6, class_public=True).ok


def view(**tree):
    inputs = Inputs(np.zeros((4, 3)), np.array([True, False, True]), tuple("abc"), None, class_public=False)
    rows = np.array([[9, 1.0, 0], [9, 2.0, 0], [9, 3.0, 0], [9, np.nan, 0]], np.float32)
    return trees.SklearnTree(SimpleNamespace(**tree), inputs, rows, np.array([2, 1]))


@pytest.mark.parametrize(("goes", "expected"), [(None, [0, 0, 1, 1]), (0, [0, 0, 1, 1]), (1, [0, 0, 1, 0])])
def test_a_value_at_the_threshold_goes_left_and_a_missing_one_where_it_is_told(goes, expected):
    more = {} if goes is None else {"missing_go_to_left": np.array([0, goes])}
    one = view(feature=np.array([0, 1]), threshold=np.array([5.0, 2.0]), **more)
    assert one.branch(1, np.arange(4)).tolist() == expected
    assert one.branch(1, np.array([2, 0])).tolist() == [expected[2], expected[0]]
    assert (one.is_public(0), one.is_public(1)) == (True, False)  # columns 2 and 1 of the model
    assert (one.name(0), one.name(1)) == ("c <= 5", "b <= 2")


def test_a_tree_of_ranks_has_a_place_for_values_of_no_part():
    """The root sends 0 and 1 to node 1, a leaf, and 2 and 3 to node 2, which has a part for each."""
    inputs = Inputs(np.array([[0.0], [1], [2], [3], [-1]]), np.array([True]), ("a",), None, class_public=False)
    tree = SimpleNamespace(
        nodes=np.array([[0, 0, 2], [-1, 0, 0], [0, 2, 4]]),
        children=np.array([1, 2, 1, -1]),
        ends=np.array([1, 3, 2, 3]),
    )
    one = trees.RankTree(tree, inputs)
    assert [one.children(node).tolist() for node in (0, 1, 2, -1)] == [[1, 2, -1], [], [1, -1, -1], []]
    assert one.is_public(0)
    assert one.branch(0, np.arange(5)).tolist() == [0, 0, 1, 1, 2]
    assert one.branch(2, np.arange(2, 5)).tolist() == [0, 1, 2]
    span_of, multiple = trees.find_spans([one], inputs)
    assert len(set(span_of.tolist())) == len(multiple) == 4
    assert span_of[0] == span_of[1]
    assert multiple.all()


@pytest.mark.parametrize("first", [0, 1])
def test_a_leaf_tests_nothing(first):
    """Those who are 0 in the public column end in a leaf: with the class known, nothing is told about them."""
    rows = np.array([[a, b] for a in (0, 1) for b in (0, 1) for _ in range(3)])
    labels = rows[:, 0] * rows[:, 1]
    order = [first, 1 - first]
    tree = DecisionTreeClassifier(random_state=0).fit(rows, labels).tree_
    at_root = int(tree.feature[0])
    known = np.array([order[m] == at_root for m in (0, 1)])
    given_inputs = Inputs(rows[:, order].astype(float), known, ("x", "y"), labels, class_public=True)
    view = trees.SklearnTree(tree, given_inputs, rows[:, order].astype(np.float32), np.array(order))
    span_of, multiple = trees.find_spans([view], given_inputs)
    assert multiple[span_of].tolist() == (rows[:, at_root] == 1).tolist()


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_trees_the_split_that_helps_most_is_put_back_first(turned):
    """a and b cut eight people into fours, both together into twos: for k = 3 one has to go, and b is the class."""
    rows = np.array([[a, b] for a in (0, 1) for b in (0, 1) for _ in range(2)])
    labels = rows[:, 1].copy()
    labels[0] = 1
    given_inputs = Inputs(rows.astype(float), np.array([True, True]), ("a", "b"), labels, class_public=False)
    fitted = [DecisionTreeClassifier(max_depth=1).fit(rows[:, [m]], labels).tree_ for m in (0, 1)]
    views = [
        trees.SklearnTree(tree, given_inputs, rows.astype(np.float32), np.array([m])) for m, tree in enumerate(fitted)
    ]
    grown = trees.grow_back(views[::-1] if turned else views, given_inputs, Limits(3))
    kept, dropped = grown.kept, grown.dropped
    assert (kept[::-1] if turned else kept) == [set(), {0}]
    assert dropped == [f"collapse tree {2 if turned else 1}, node 0 (a <= 0.5), reached by 8 people"]
    assert views[1].worth(0) > views[0].worth(0) > 0
    assert [set(one) for one in trees.grow_back(views, given_inputs, Limits(2)).kept] == [{0}, {0}]


def test_a_forest_keeps_its_best_tree_if_that_predicts_more_than_all():
    """Each tree cuts elsewhere, so that together hardly a test can stay."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.normal(size=1000) for name in "abc"})
    frame = frame.with_columns(y=(pl.col("a") * pl.col("b") + pl.col("c") / 2 > 0).cast(pl.Int64()))
    model = RandomForestClassifier(20, random_state=0).fit(frame.select("a", "b", "c").to_numpy(), frame["y"])
    report = ic.audit(model, frame, schema("a", "b", "c"), 20)
    assert report.repairs[1].startswith("keep tree ")
    assert report.repairs[-1].startswith("or fit again: refit (--refit) makes a KAnonymousForestClassifier")
    mended = report.repair()
    assert len(mended.estimators_) == mended.n_estimators == 1
    assert ic.audit(mended, frame, schema("a", "b", "c"), 20).ok
    kept = report.compare(mended)
    assert kept["before"] > kept["after"] > 0.7 > kept["majority"]
