"""The k-anonymous tree equals the plain algorithm, split for split, and behaves as scikit-learn's estimators do."""

import pickle
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

import incrowd as ic
import naive_mondrian
import naive_tree
from incrowd.coding import Table
from incrowd.domains import limits_of
from incrowd.kernels.tree import People, forbid_thresholds
from incrowd.learn.induction import NONE
from incrowd.learn.tree import KAnonymousTreeClassifier as Classifier
from incrowd.privacy import Privacy
from strategies import tables

CONSTRAINTS = [{}, {"l": 1.4}, {"max_confidence": 0.7}, {"l": 1.2, "max_confidence": 0.8}]


def structure(tree, node, codes, rows):
    """As the plain tree writes itself."""
    m, parts = int(tree.nodes[node, 0]), tree.parts(node)
    if not parts:
        return sorted(rows)
    children, start = [], 0
    for end, child in parts:
        inside = [i for i in rows if start <= codes[i][m] <= end]
        children.append(None if child == NONE else structure(tree, child, codes, inside))
        start = end + 1
    return m, [end for end, _ in parts], children


def plain(drawn, **parameters):
    table = Table.encode(drawn.frame, drawn.schema)
    codes = [tuple(row) for row in table.codes.tolist()]
    return naive_tree.Plain(codes, drawn.frame["class"].to_list(), table.hierarchies, **parameters), codes


def fitted(drawn, **parameters):
    hierarchies = {name: drawn.schema.attributes[name].hierarchy for name in drawn.schema.quasi}
    method = Classifier(hierarchies=hierarchies, **parameters)
    return method.fit(drawn.frame.select(drawn.schema.quasi), drawn.frame["class"])


@st.composite
def cases(draw, rows):
    drawn = draw(tables(min_rows=rows // 2, max_rows=rows))
    private = draw(st.sets(st.integers(0, len(drawn.schema.quasi) - 1), max_size=2))
    return drawn, [m not in private for m in range(len(drawn.schema.quasi))]


@given(
    cases(11), st.integers(1, 4), st.sampled_from(CONSTRAINTS), st.booleans(), st.sampled_from(["information", "gini"])
)
def test_equals_the_plain_algorithm(case, k, constraints, class_public, gain):
    drawn, public = case
    constraints = {} if class_public else constraints
    named = {"l": constraints.get("l", 1), "l_kind": "entropy", "alpha": constraints.get("max_confidence")}
    classes = drawn.frame["class"].to_list()
    known = [name for name, told in zip(drawn.schema.quasi, public, strict=True) if told]
    settings = {"k": k, "public": known, "class_public": class_public, "gain": gain, **constraints}
    if not class_public and not naive_mondrian.holds(classes, classes, k=k, **named):
        with pytest.raises(ic.InfeasibleError):
            fitted(drawn, **settings)
        return
    reference, codes = plain(drawn, public=public, class_public=class_public, gain=gain, k=k, **named)
    wanted = reference.run()
    tree = fitted(drawn, **settings)
    assert structure(tree.tree_, 0, codes, range(len(codes))) == wanted.root.structure()
    spans, by_definition = tree.spans_, wanted.spans()
    assert [spans.classes[s] for s in spans.span_of] == [by_definition.classes[s] for s in by_definition.span_of]
    assert len(spans.classes) == len(by_definition.classes)
    if len(set(classes)) > 1 or class_public:
        assert len(spans.breaches(k)) == 0


JOBS = {
    "paid": {"own": ["self", "farm"], "employed": ["private", "state"]},
    "unpaid": {"no": ["none"], "study": ["school"]},
}


def crossed(seed, n=36):
    """A private attribute that is split first, and public ones that are split below it, on both sides differently."""
    rng = np.random.default_rng(seed)
    secret, job = rng.integers(0, 2, n), rng.integers(0, 6, n)
    number, other = rng.choice([0, 1, 5, 6, 12, 20, 21, 30], n), rng.integers(0, 2, n)
    likely = np.where(secret == 1, 0.75 - 0.5 * (job < 2) + 0.2 * (number > 6), 0.1 + 0.2 * (job == 4) + 0.25 * other)
    label = np.where(rng.random(n) < likely, "a", "b")
    jobs = np.array(["self", "farm", "private", "state", "none", "school"])[job]
    columns = {"secret": secret.astype(str), "job": jobs, "number": number, "other": other.astype(str)}
    return pl.DataFrame(columns), label


@pytest.mark.parametrize("seed", range(6))
def test_deep_trees_below_a_private_split_equal_the_plain_ones(seed):
    frame, label = crossed(seed)
    k, public = 2 + seed % 3, ["job", "number", "other"]
    tree = Classifier(k=k, public=public, hierarchies={"job": ic.Taxonomy.from_nested(JOBS)}).fit(frame, label)
    coded = [h.encode(frame[name]).tolist() for name, h in zip(frame.columns, tree.hierarchies_, strict=True)]
    codes = list(zip(*coded, strict=True))
    known = [name in public for name in frame.columns]
    plain_tree = naive_tree.Plain(
        codes, label.tolist(), tree.hierarchies_, known, class_public=False, gain="information", k=k
    ).run()
    assert structure(tree.tree_, 0, codes, range(len(codes))) == plain_tree.root.structure()
    assert len(plain_tree.spans().breaches(k)) == 0
    assert sorted(tree.spans_.people.tolist()) == sorted(plain_tree.spans().people.tolist())


def test_thresholds_are_forbidden_wherever_a_span_would_break():
    """One span lies at codes 0 and 10, another at 5: with k = 2 every threshold from 0 to 9 parts the first."""
    codes = np.array([[0], [10], [5], [5]], np.int32, order="F")
    labels = np.zeros((4, 2), np.int32, order="F")
    people = People(codes, labels, np.array([1, 0]), np.zeros(0), np.ones(4, np.int64))
    limits = limits_of(Privacy.of(2), 4, {})
    spans = np.array([0, 0, 1, 1])
    for multiple, wanted in ((True, [True] * 10 + [False] * 2), (False, [False] * 12)):
        forbidden = np.zeros(12, np.bool_)
        forbid_thresholds(people, np.arange(4), 0, limits, spans, np.array([multiple, multiple]), forbidden)
        assert forbidden.tolist() == wanted
    forbidden = np.zeros(12, np.bool_)
    twice = people._replace(weights=np.array([2, 2, 1, 1]))
    forbid_thresholds(twice, np.arange(4), 0, limits, spans, np.array([True, True]), forbidden)
    assert not forbidden.any()


def numbers(n, seed=5):
    """A public number whose best threshold would leave too few people in the other half of a private split."""
    rng = np.random.default_rng(seed)
    secret = rng.integers(0, 2, n)
    number = rng.integers(0, 12, n)
    label = np.where((number < 2) & (secret == 1), "a", "b")
    label[rng.random(n) < 0.1] = "a"
    return pl.DataFrame({"secret": [f"s{s}" for s in secret], "number": number}), label


def test_after_a_refusal_the_best_allowed_threshold_is_taken():
    frame, label = numbers(60)
    free = Classifier(k=1, public=["number"]).fit(frame, label)
    bound = Classifier(k=15, public=["number"]).fit(frame, label)
    assert "number <= 1.5" in free.export_text()
    assert "number <= 1.5" not in bound.export_text()
    assert "number" in bound.export_text()
    assert bound.spans_.level >= 15


def test_a_public_split_also_divides_people_who_are_not_in_the_leaf():
    """Nobody in the leaf has `x`, but two people with another private value reach it and would be a span of two."""
    frame = pl.DataFrame({"p": ["x"] * 2 + ["y"] * 4 + ["z"] * 4, "s": ["n"] * 2 + list("yynn") * 2})
    label = ["b"] * 2 + list("aabb") + list("bbbb")
    tree = Classifier(k=3, public=["p"]).fit(frame, label)
    assert tree.export_text().splitlines()[0].startswith("s = n")
    assert "p =" not in tree.export_text()
    allowed = Classifier(k=2, public=["p"]).fit(frame, label)
    assert "p = y" in allowed.export_text()
    assert sorted(allowed.spans_.people.tolist()) == [2, 4, 4]


def test_a_public_class_forbids_private_splits_of_rare_classes():
    frame = pl.DataFrame({"s": ["u"] * 4 + ["v"] * 4})
    label = ["rare"] * 2 + ["common"] * 6
    kept = Classifier(k=3, public=[], class_public=True).fit(frame, label)
    assert kept.n_leaves_ == 1
    assert kept.spans_.multiple.tolist() == [False, False]
    split = Classifier(k=2, public=[], class_public=True).fit(frame, label)
    assert split.n_leaves_ == 2
    assert split.spans_.multiple.tolist() == [True, True]


def test_a_public_class_leaves_public_splits_free():
    frame = pl.DataFrame({"p": ["u"] * 4 + ["v"] * 4})
    tree = Classifier(k=100, class_public=True).fit(frame, ["rare"] * 2 + ["common"] * 6)
    assert tree.n_leaves_ == 2
    assert tree.spans_.level is None


WORK = ic.Taxonomy.from_nested(
    {"paid": {"own": ["self"], "employed": ["private", "state"]}, "unpaid": ["none", "school"]}
)


def test_a_refused_split_is_tried_one_level_up():
    work = ["private"] * 4 + ["state"] * 1 + ["self"] * 2 + ["none"] * 2 + ["school"] * 3
    label = ["rich"] * 6 + ["poor"] * 6
    frame = pl.DataFrame({"work": work})
    texts = [
        Classifier(k=k, hierarchies={"work": WORK}).fit(frame, label).export_text().splitlines() for k in (1, 2, 5, 6)
    ]
    assert [len(text) for text in texts] == [5, 4, 2, 1]
    assert texts[1][0].startswith("work = self")
    assert texts[2] == ["work = paid  ->  rich: 6, poor: 1", "work = unpaid  ->  poor: 5"]


def test_values_that_were_never_seen_end_at_their_node():
    frame = pl.DataFrame({"work": ["private"] * 6 + ["none"] * 4, "age": [20, 20, 20, 40, 40, 40, 20, 20, 40, 40]})
    label = ["poor"] * 3 + ["rich"] * 3 + ["poor"] * 4
    tree = Classifier(k=2).fit(frame, label)
    new = pl.DataFrame({"work": ["private", "private", "private", "elsewhere", None], "age": [31, 30, None, 20, 20]})
    shares = tree.predict_proba(new)[:, list(tree.classes_).index("rich")]
    assert shares.tolist() == [1.0, 0.0, 0.3, 0.0, 0.0]
    assert tree.export_text().splitlines()[0] == "age <= 30  ->  poor: 5"


def test_a_missing_value_is_a_value_of_its_own():
    frame = pl.DataFrame({"a": [None, None, "x", "x"], "b": [float("nan"), None, 1.0, 2.0]})
    label = ["u", "u", "v", "v"]
    for column, text in (("a", "a = (missing)"), ("b", "b is missing")):
        tree = Classifier(k=2).fit(frame.select(column), label)
        assert tree.export_text().splitlines()[0] == f"{text}  ->  u: 2"
        assert tree.predict(frame.select(column)).tolist() == label
    array = np.array([[np.nan], [np.nan], [1.0], [2.0]])
    assert Classifier(k=2).fit(array, label).predict(array).tolist() == label


def test_every_kind_of_table_gives_the_same_tree():
    frame, label = numbers(80)
    kinds = [frame, frame.to_pandas(), frame.to_arrow(), frame.to_numpy()]
    shares = [Classifier(k=4, public=[1]).fit(kind, label).predict_proba(kind) for kind in kinds]
    assert all(np.array_equal(shares[0], other) for other in shares[1:])
    swapped = frame.select("number", "secret").to_pandas()
    with pytest.raises(ValueError, match="feature names"):
        Classifier(k=4).fit(kinds[1], label).predict(swapped)


def test_dates_are_split_at_thresholds():
    days = pl.Series("day", ["2020-01-01", "2020-01-02", "2021-05-01", "2021-06-01"]).str.to_date()
    tree = Classifier(k=2).fit(pl.DataFrame([days]), [0, 0, 1, 1])
    assert tree.export_text().splitlines() == ["day up to 2020-01-02  ->  0: 2", "day from 2021-05-01  ->  1: 2"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_nothing_wrong():
    results = check_estimator(Classifier(), on_skip=None)
    passed = [result["check_name"] for result in results if result["status"] == "passed"]
    assert len(passed) >= 50
    assert {"check_classifiers_train", "check_estimators_pickle", "check_supervised_y_no_nan"} <= set(passed)


@pytest.mark.slow
def test_scikit_learn_is_loaded_when_it_is_needed():
    script = "import incrowd, sys; assert 'sklearn' not in sys.modules; incrowd.KAnonymousTreeClassifier; assert 'sklearn' in sys.modules"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_pickled_tree_holds_nobody_s_private_values():
    frame, label = numbers(60)
    tree = Classifier(k=4, public=["number"]).fit(frame, label)
    again = pickle.loads(pickle.dumps(tree))
    assert (again.predict(frame) == tree.predict(frame)).all()
    assert (again._span_codes[:, 0] == 0).all()
    assert (again._span_class == 0).all()
    assert not any(len(value) == 60 for value in vars(again).values() if isinstance(value, np.ndarray))
    with pytest.raises(AttributeError, match="read from a file"):
        again.spans_  # noqa: B018


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 5}, "k is 5.* n_samples = 4"),
        ({"l": 3.0}, "No release of a table with 4 rows"),
        ({"max_confidence": 0.3}, "No release of a table with 4 rows"),
        ({"gain": "luck"}, "gain is 'luck'"),
        ({"public": "q"}, "public is 'q'"),
        ({"public": ["nope"]}, "public names the column 'nope'"),
        ({"public": [7]}, "public names the column 7"),
        ({"hierarchies": {"nope": None}}, "hierarchies names the column 'nope'"),
        ({"class_public": True, "l": 2}, "class_public is true"),
    ],
)
def test_what_cannot_be_kept_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        Classifier(**({"k": 2} | parameters)).fit(pl.DataFrame({"q": [1, 2, 3, 4]}), list("abab"))


def test_the_equivalent_table_is_verified_and_only_of_these_rows():
    frame, label = numbers(60)
    tree = Classifier(k=10, public=["number"]).fit(frame, label)
    whole = frame.with_columns(label=pl.Series(label), id=pl.Series(range(60)))
    schema = ic.Schema(quasi=["number"], sensitive="label", other=["secret"], identifiers=["id"])
    release = tree.to_release(whole, schema, seed=3)
    assert release.verify(whole).ok
    assert release.levels["k"] >= 10
    assert len(release.cell_lo) == len(tree.spans_.classes)
    with pytest.raises(ic.SchemaError, match="not the 60"):
        tree.to_release(whole.reverse(), schema)
    with pytest.raises(ic.SchemaError, match="not the 60"):
        tree.to_release(whole.head(30), schema)
    with pytest.raises(ic.IncompatibleError, match="'secret' is not a public"):
        tree.to_release(whole, ic.Schema(quasi=["number", "secret"], sensitive="label", identifiers=["id"]))
    everything = Classifier(k=10).fit(frame, label)
    as_it_is = ic.Schema(quasi=["secret"], sensitive="label", other=["number"], identifiers=["id"])
    with pytest.raises(ic.IncompatibleError, match="releases 'number' as it is"):
        everything.to_release(whole, as_it_is)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_show_every_leaf(theme):
    frame, label = numbers(60)
    tree = Classifier(k=8, public=["number"]).fit(frame, label)
    written = [text.get_text() for text in tree.plot(theme=theme).axes[0].texts]
    assert sum(": " in text for text in written) == tree.n_leaves_
    assert any(text.startswith("number <=") for text in written)
    assert tree.get_depth() >= 2
