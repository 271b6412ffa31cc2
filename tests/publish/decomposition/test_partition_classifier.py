"""Classifiers of parts, combined; and a fitness that remembers equals one that does not."""

import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import incrowd as ic
from incrowd.publish.decomposition.discretize import discretized, in_intervals, mdl_cuts, quasi_cuts
from incrowd.publish.decomposition.feature_search import FeatureSearch
from incrowd.publish.decomposition.levels import Levels
from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness, assign_folds


def people(n=120, seed=3):
    rng = np.random.default_rng(seed)
    job, town, age = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(18, 70, n)
    score = (job == 2) + (town == 1) * (age > 40) + rng.normal(0, 0.4, n)
    frame = pl.DataFrame(
        {
            "job": np.array(["clerk", "farmer", "smith", "baker"])[job],
            "town": [None if i % 17 == 0 else f"t{t}" for i, t in enumerate(town)],
            "age": [None if i % 13 == 0 else int(a) for i, a in enumerate(age)],
            "noise": rng.normal(size=n).round(1),
        }
    )
    return frame, np.where(score > 1.2, "high", np.where(score > 0.5, "mid", "low"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_nothing_wrong():
    results = check_estimator(ic.PartitionClassifier(), on_skip=None)
    passed = [result["check_name"] for result in results if result["status"] == "passed"]
    assert len(passed) >= 40
    assert all(result["status"] in ("passed", "skipped") for result in results)
    assert {"check_classifiers_train", "check_estimators_pickle", "check_supervised_y_no_nan"} <= set(passed)


def by_equation_1(frame, y, parts, rows, inducer):
    """Eq. (1) as it is written, from estimators of one part each."""
    classes, counts = np.unique(y, return_counts=True)
    product = np.ones((len(rows), len(classes)))
    for part in parts:
        product *= ic.PartitionClassifier([part], inducer=inducer).fit(frame, y).predict_proba(rows)
    return product / (counts / len(y)) ** (len(parts) - 1)


@pytest.mark.parametrize("inducer", [None, GaussianNB(), KNeighborsClassifier(3)])
@pytest.mark.parametrize("parts", [[["job"], ["town", "age"]], [["noise"], ["age"], ["job", "town"]], [[3, 0]]])
def test_equation_1(parts, inducer):
    frame, y = people()
    model = ic.PartitionClassifier(parts, inducer=inducer).fit(frame, y)
    wanted = by_equation_1(frame, y, parts, frame, inducer)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    possible = wanted.sum(axis=1) > 1e-100  # neighbours may rule out every class
    got = model.predict_proba(frame)
    assert got[possible] == pytest.approx((wanted / wanted.sum(axis=1, keepdims=True))[possible])
    assert got.sum(axis=1) == pytest.approx(np.ones(len(frame)))
    assert np.exp(model.predict_log_proba(frame)) == pytest.approx(got)
    clear = np.sort(got, axis=1)[:, -1] - np.sort(got, axis=1)[:, -2] > 1e-9
    assert (model.predict(frame) == model.classes_[got.argmax(axis=1)])[clear].all()


def test_trees_are_corrected_by_laplace_and_others_are_not():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 0, 1, 1])
    tree = ic.PartitionClassifier(inducer=DecisionTreeClassifier()).fit(X, y)
    assert tree.predict_proba([[0.0], [1.0]]) == pytest.approx(np.array([[4 / 5, 1 / 5], [1 / 4, 3 / 4]]))
    near = ic.PartitionClassifier(inducer=KNeighborsClassifier(1)).fit(X, y)
    assert near.predict_proba([[0.0], [1.0]]) == pytest.approx(np.eye(2))


def test_weights_of_classes_do_not_change_what_leaves_count():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1, 1])
    tree = DecisionTreeClassifier(class_weight={0: 10, 1: 1})
    assert ic.PartitionClassifier(inducer=tree).fit(X, y).predict_proba([[0.0]])[0] == pytest.approx([3 / 5, 2 / 5])


def test_without_parts_it_is_the_most_frequent_class():
    frame, y = people()
    model = ic.PartitionClassifier([]).fit(frame, y)
    values, counts = np.unique(y, return_counts=True)
    assert set(model.predict(frame)) == {values[counts.argmax()]}
    assert model.predict_proba(frame)[0] == pytest.approx(counts / len(y))


def test_columns_in_no_part_are_not_looked_at():
    frame, y = people()
    model = ic.PartitionClassifier([["job"], ["age"]]).fit(frame, y)
    other = frame.with_columns(pl.lit("?").alias("town"), pl.lit(99.0).alias("noise"))
    assert (model.predict_proba(other) == model.predict_proba(frame)).all()


@pytest.mark.parametrize("inducer", [None, GaussianNB()])
def test_new_and_missing_values_and_every_kind_of_frame(inducer):
    frame, y = people()
    frame = frame.with_columns(pl.Series("born", [date(1950 + i % 60, 1, 1) for i in range(len(frame))]))
    frame = frame.with_columns(pl.Series("member", [i % 3 == 0 for i in range(len(frame))]))
    model = ic.PartitionClassifier([["job", "born"], ["town", "age", "member"]], inducer=inducer).fit(frame, y)
    strange = frame[:3].with_columns(
        pl.lit("astronaut").alias("job"), pl.lit(None, pl.String).alias("town"), pl.lit(None, pl.Int64).alias("age")
    )
    assert np.isfinite(model.predict_log_proba(strange)).all()
    pandas = ic.PartitionClassifier([["job"], ["town", "noise"]], inducer=inducer)
    names = ["job", "town", "noise"]
    from_pandas = pandas.fit(pd.DataFrame(frame.select(names).to_dict(as_series=False)), y)
    got = from_pandas.predict_proba(pd.DataFrame(frame.select(names).to_dict(as_series=False)))
    own = ic.PartitionClassifier([["job"], ["town", "noise"]], inducer=inducer).fit(frame.select(names), y)
    assert (got == own.predict_proba(frame.select(names))).all()
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict(frame) == model.predict(frame)).all()


def test_an_unseen_name_counts_as_the_most_average_one_for_trees_and_as_none_for_others():
    frame, y = pl.DataFrame({"name": list("abc") * 10}), np.array([0, 1, 1] * 5 + [0, 0, 1] * 5)
    unseen, average = pl.DataFrame({"name": ["?"]}), pl.DataFrame({"name": ["b"]})
    model = ic.PartitionClassifier(inducer=DecisionTreeClassifier()).fit(frame, y)
    assert model.predict_proba(unseen)[0] == pytest.approx([0.5, 0.5])
    assert model.predict_proba(average)[0] == pytest.approx([0.5, 0.5])
    assert model.predict(frame[:3])[[0, 2]].tolist() == [0, 1]
    other = ic.PartitionClassifier(inducer=KNeighborsClassifier(30)).fit(frame, y)
    assert other._coders[0].code(unseen["name"]).tolist() == [[0.0, 0.0, 0.0]]


def test_tree_thresholds_part_names_by_their_classes():
    """a and c go together: no order of names puts them on one side of a threshold, the order of shares does."""
    frame, y = pl.DataFrame({"name": list("abcd") * 5}), np.array([1, 0, 1, 0] * 5)
    tree = DecisionTreeClassifier(max_depth=1)
    assert (ic.PartitionClassifier(inducer=tree).fit(frame, y).predict(frame) == y).all()


@pytest.mark.parametrize(
    ("parts", "fact"),
    [
        ([["job"], ["job", "age"]], "A feature is in two parts"),
        ([["job"], []], "without columns"),
        ([["wage"]], "'wage'"),
        (["job"], "parts is"),
        ("job", "parts is"),
    ],
)
def test_clear_errors(parts, fact):
    frame, y = people()
    with pytest.raises(ic.ParameterError, match=fact):
        ic.PartitionClassifier(parts).fit(frame, y)


def test_an_inducer_without_probabilities_is_refused():
    frame, y = people()
    with pytest.raises(ic.ParameterError, match="LinearSVC"):
        ic.PartitionClassifier(inducer=LinearSVC()).fit(frame, y)


@pytest.mark.parametrize("inducer", [None, GaussianNB(), DecisionTreeClassifier(max_features=1)])
def test_fitness_with_and_without_reuse_is_equal(inducer):
    frame, y = people(60)
    y[:2] = "rare"  # some folds are trained without it
    y[1] = "once"
    levels = Levels.of(frame.drop("noise", "age").with_columns(y=y), "y", ["job", "town"])
    found = []
    for reuse in (True, False):
        fitness = WrapperFitness(frame, y, inducer=inducer, n_folds=3, seed=5, reuse=reuse, levels=levels, k=4)
        search = FeatureSearch(2, fitness, generations=1, population=5, seed=1)
        search.run()
        more = {parts: fitness(parts) for parts in [((0,), (1,)), ((1,),)]}
        found.append((list(search.scores.items()), more, fitness.n_trained))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] < found[1][2]
    assert 0 < max(score for _, score in found[0][0]) <= 1


def test_fitness_with_all_kinds_of_columns_is_equal():
    frame, y = people(80)
    fast, slow = (WrapperFitness(frame, y, n_folds=4, reuse=reuse) for reuse in (True, False))
    for parts in [(), ((0,),), ((0, 2), (1,)), ((0,), (1, 2), (3,)), ((0, 1, 2, 3),), ((2,), (3,))]:
        assert fast(parts) == slow(parts)
    assert fast.n_trained == 7


def test_the_empty_partition_is_as_good_as_the_majority():
    frame, y = people(90)
    share = np.unique(y, return_counts=True)[1].max() / 90
    assert WrapperFitness(frame, y)(()) == pytest.approx(share, abs=0.02)


def test_fitness_is_0_below_k():
    frame, y = people()
    levels = Levels.of(frame.with_columns(y=y), "y", ["job", "town"])
    fitness = WrapperFitness(frame, y, levels=levels, k=levels.partial([[0, 1]]) + 1)
    assert fitness(((0, 1),)) == 0
    assert fitness(((0,), (1,))) > 0
    assert fitness.n_trained == 2


def test_memory_has_a_limit_and_results_do_not_change():
    frame, y = people(60)
    tight, wide = WrapperFitness(frame, y, memory=1), WrapperFitness(frame, y)
    for parts in [((0,), (1,), (2,)), ((0,), (2,)), ((1,), (2,))]:
        assert tight(parts) == wide(parts)
    assert (tight.n_trained, wide.n_trained) == (7, 3)
    assert len(tight._kept) == 1


def test_subsets_not_used_for_longest_are_forgotten_first():
    frame, y = people(60)
    fitness = WrapperFitness(frame, y, memory=2 * 60 * 3 * 8)
    for part in [(0,), (1,), (0,), (2,), (0,)]:
        fitness((part,))
    assert fitness.n_trained == 3
    assert list(fitness._kept) == [(2,), (0,)]


def test_folds_have_their_share_of_each_class():
    classes = np.repeat([0, 1, 2], [50, 23, 4])
    fold_of = assign_folds(classes, 5, seed=1)
    assert sorted(np.bincount(fold_of).tolist()) == [15, 15, 15, 16, 16]
    for c in range(3):
        sizes = np.bincount(fold_of[classes == c], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert (assign_folds(classes, 5, seed=1) == fold_of).all()
    assert (assign_folds(classes, 5, seed=2) != fold_of).any()


def test_one_row_cannot_be_left_out():
    with pytest.raises(ic.ParameterError, match="1 rows"):
        WrapperFitness(pl.DataFrame({"a": [1]}), ["x"])


def test_numbers_are_cut_into_the_finest_intervals():
    ages = pl.Series("age", [20, 25, 30, 40, 50, 60, None] * 9)
    y = pl.Series("y", ["a" if age is None or 28 < age < 45 else "b" for age in ages])
    cuts = mdl_cuts(ages, y)
    assert cuts == (27.5, 45.0)
    names = in_intervals(ages, cuts)
    assert names[:7].to_list() == ["(-inf-27.5]"] * 2 + ["(27.5-45]"] * 2 + ["(45-inf)"] * 2 + [None]
    assert in_intervals(pl.Series([45.0, 45.1]), cuts).to_list() == ["(27.5-45]", "(45-inf)"]  # the upper end belongs
    assert in_intervals(ages, ())[:7].to_list() == ["(-inf-inf)"] * 6 + [None]
    frame = pl.DataFrame({"age": ages, "job": ["x"] * 63, "y": y})
    cut, of = discretized(frame, "y", ["age", "job"])
    assert of == {"age": cuts}
    assert cut["age"].equals(names, null_equal=True)
    assert cut["job"].equals(frame["job"])


def test_quasi_identifiers_are_cut_twice_in_any_case():
    rng = np.random.default_rng(1)
    x, luck = np.repeat(np.arange(80), 2), rng.random(160)
    weak = pl.Series("y", np.where(luck < 0.4 + x / 400, "a", "b"))
    column = pl.Series("x", [*x, None])
    y = pl.Series([*weak, "b"])
    assert mdl_cuts(column, y) == ()
    for k, most in ((1, 3), (40, 3), (70, 1), (81, 0)):
        cuts = quasi_cuts(column, y, k=k)
        assert len(cuts) <= most
        assert (len(cuts) > 0) == (k < 81)
        shown = in_intervals(column, cuts).drop_nulls()
        assert shown.value_counts()["count"].min() >= max(k, 20)
    frame = pl.DataFrame({"x": column, "y": y})
    assert discretized(frame, "y", ["x"])[1] == {"x": ()}
    assert discretized(frame, "y", ["x"], k=2)[1] == {"x": quasi_cuts(column, y, k=2)}


def test_neighbouring_floats_can_be_cut():
    low = 1.0
    high = float(np.nextafter(low, 2))
    values, y = pl.Series([low, high] * 20), pl.Series(["a", "b"] * 20)
    cuts = mdl_cuts(values, y)
    assert in_intervals(values, cuts).n_unique() == 2
    assert mdl_cuts(pl.Series([None, None], dtype=pl.Float64), pl.Series(["a", "b"])) == ()
