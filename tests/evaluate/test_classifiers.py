import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from incrowd.errors import IncompatibleError, ParameterError
from incrowd.evaluate import classifiers
from incrowd.evaluate.classifiers import CLASSIFIERS, chosen, classifier, probabilities
from incrowd.evaluate.features import Block, Encoding, Examples, Features

OURS = [name for name, known in CLASSIFIERS.items() if known.require is None]


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["x", "y", "z"], n)
    risk = np.where((age > 50) & (town != "z"), "high", np.where(age < 30, "low", "mid"))
    return pl.DataFrame({"age": age, "town": town, "risk": risk})


@pytest.mark.parametrize("name", OURS)
def test_every_classifier_gives_probabilities_and_the_same_ones_again(name):
    train, test = people(), people(40, seed=1)
    found = probabilities(name, train, test, "risk")
    assert found.shape == (40, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    np.testing.assert_array_equal(found, probabilities(name, train, test, "risk"))
    truth = test["risk"].replace_strict({"high": 0, "low": 1, "mid": 2}).to_numpy()
    common = (truth == np.bincount(truth).argmax()).mean()
    accuracy = (found.argmax(axis=1) == truth).mean()
    assert accuracy > common + 0.1 or name == "majority"


@pytest.mark.parametrize(
    "name", [name for name in OURS if name not in ("forest", "boosting")]
)  # which draw or bin rows
def test_a_whole_weight_is_that_many_rows(name):
    train = people(60)
    twice = np.where(np.arange(60) % 3 == 0, 2, 1)
    repeated = train[np.repeat(np.arange(60), twice)]
    weighted = probabilities(name, train, people(20, seed=1), "risk", weights=twice.astype(float))
    plain = probabilities(name, repeated, people(20, seed=1), "risk")
    if name == "tree":  # whose least leaf counts rows
        assert (weighted.argmax(axis=1) == plain.argmax(axis=1)).mean() > 0.8
    else:
        np.testing.assert_allclose(weighted, plain, atol=2e-3)


def test_naive_bayes_of_names_is_scikit_learns_categorical_one():
    train, test = people().drop("age"), people(30, seed=1).drop("age")
    codes = [frame["town"].rank("dense").to_numpy().reshape(-1, 1).astype(int) - 1 for frame in (train, test)]
    expected = CategoricalNB().fit(codes[0], train["risk"].to_numpy()).predict_proba(codes[1])
    np.testing.assert_allclose(probabilities("naive_bayes", train, test, "risk"), expected)


def test_naive_bayes_of_numbers_is_scikit_learns_normal_one():
    train, test = people().drop("town"), people(30, seed=1).drop("town")
    model = GaussianNB().fit(train.select("age").to_numpy(), train["risk"].to_numpy())
    expected = model.predict_proba(test.select("age").to_numpy())
    np.testing.assert_allclose(probabilities("naive_bayes", train, test, "risk"), expected, atol=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_missing_and_unseen_values_and_a_single_class_are_no_obstacle(name):
    train = people(60).with_columns(age=pl.when(pl.col("age") > 70).then(None).otherwise("age"))
    train = train.with_columns(town=pl.when(pl.col("town") == "z").then(None).otherwise("town"))
    test = pl.DataFrame({"age": [30, None, 200], "town": ["elsewhere", None, "x"]})
    assert np.isfinite(probabilities(name, train, test, "risk")).all()
    alone = train.with_columns(risk=pl.lit("low"))
    np.testing.assert_array_equal(probabilities(name, alone, test, "risk"), np.ones((3, 1)))


@pytest.mark.parametrize("name", ["majority", "tree", "naive_bayes", "svc"])
def test_a_class_without_an_example_has_no_probability(name):
    frame = people(60).drop("risk")
    encoding = Encoding.of(frame)
    labels = np.where(frame["age"].to_numpy() > 50, 3, 1)
    found = classifier(name).predict(Examples(encoding.encode(frame), labels, 5), encoding.encode(frame), 0)
    assert found.shape == (60, 5)
    assert (found[:, [0, 2, 4]] == 0).all()


def test_naive_bayes_takes_a_missing_number_as_a_value_of_its_own():
    ages = [20, 25, 30, 60, 65, None, None, None]
    train = pl.DataFrame({"age": ages, "risk": ["low"] * 3 + ["high"] * 5})
    found = probabilities("naive_bayes", train, pl.DataFrame({"age": [22, 62, None]}), "risk")
    assert found.argmax(axis=1).tolist() == [1, 0, 0]
    assert found[2, 0] > 5 / 8


def test_rare_values_of_a_name_share_a_column():
    towns = [f"t{i:03}" for i in range(300)]
    frame = pl.DataFrame({"town": towns + towns[40:]})
    features = Encoding.of(frame).encode(pl.DataFrame({"town": ["t000", "t294", "t295", "t999"]}))
    assert features.X.shape == (4, 256)
    assert features.X[0].argmax() == 255
    assert features.X[1].argmax() == 254
    assert features.X[2].argmax() == 255
    assert features.X[3].sum() == 0


def test_a_missing_number_is_the_average_and_says_so():
    train = pl.DataFrame({"age": [20.0, None, 40.0]})
    assert Encoding.of(train).encode(train).X.tolist() == [[20, 0], [30, 1], [40, 0]]


def test_names_of_classifiers():
    assert [known.name for known in chosen("tree, naive-bayes,tree")] == ["tree", "naive_bayes"]
    with pytest.raises(ParameterError, match=r"(?s)no classifier 'trees'.*did you mean tree"):
        chosen(["trees"])
    with pytest.raises(ParameterError, match="No classifier"):
        chosen([])
    with pytest.raises(ParameterError, match="classifiers is a int"):
        chosen(3)
    with pytest.raises(ParameterError, match="GaussianNB is no estimator that predicts"):
        chosen(["tree", GaussianNB])
    with pytest.raises(ParameterError, match="StandardScaler is no estimator that predicts"):
        chosen(StandardScaler())


def test_estimators_that_people_bring_have_names_of_their_own():
    brought = chosen([GaussianNB(), "tree", GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())])
    assert [known.name for known in brought] == ["GaussianNB", "tree", "GaussianNB 2", "pipeline of GaussianNB"]
    assert [known.name for known in chosen(LinearSVC())] == ["LinearSVC"]
    assert not chosen(LinearSVC())[0].calibrated


BROUGHT = [LinearSVC(), RidgeClassifier(), NearestCentroid(), GaussianNB(), RandomForestClassifier(5)]


@pytest.mark.parametrize("model", BROUGHT, ids=lambda model: type(model).__name__)
def test_an_estimator_that_somebody_brings_predicts_as_it_does_by_itself(model):
    train, test = people(), people(40, seed=1)
    encoding = Encoding.of(train.drop("risk"))
    labels = train["risk"].replace_strict({"high": 0, "low": 1, "mid": 2}).to_numpy()
    learn, ask = encoding.encode(train), encoding.encode(test)
    examples = Examples(learn, labels, 4)
    (known,) = chosen(model)
    found = known.predict(examples, ask, 0)
    assert found.shape == (40, 4)
    assert (found[:, 3] == 0).all()
    own = clone(model)
    if "random_state" in own.get_params():
        own.set_params(random_state=0)
    np.testing.assert_array_equal(found.argmax(axis=1), own.fit(learn.X, labels).predict(ask.X))
    np.testing.assert_array_equal(found, known.predict(examples, ask, 0))
    assert not hasattr(model, "classes_"), "it is cloned"


def test_an_estimator_without_weights_or_with_text_says_so():
    train = people(30)
    learn = Encoding.of(train.drop("risk")).encode(train)
    examples = Examples(learn, np.arange(30) % 2, 2, np.ones(30))
    with pytest.raises(IncompatibleError, match="'KNeighborsClassifier' takes no weights"):
        chosen(KNeighborsClassifier())[0].predict(examples, learn, 0)
    whole = chosen(make_pipeline(StandardScaler(), GaussianNB()))[0]
    with pytest.raises(
        ParameterError, match=r"(?s)cannot be trained on this table: \w+\n.*begin it with steps"
    ) as told:
        whole.predict(Examples(learn, np.arange(30) % 2, 2), learn, 0)
    assert "x" not in str(told.value).split("\n")[0].replace("expected", "")
    with pytest.raises(IncompatibleError, match="takes rows, and soft or generalized cells are none"):
        whole.predict(Examples(Features(learn.X, learn.blocks), np.arange(30) % 2, 2), learn, 0)


def test_logistic_regression_of_a_large_table_is_sparse_and_ends(monkeypatch):
    train, test = people(400), people(40, seed=1)
    before = probabilities("logistic", train, test, "risk")
    monkeypatch.setattr(classifiers, "_MANY_CELLS", 1)
    np.testing.assert_allclose(probabilities("logistic", train, test, "risk"), before, atol=1e-3)
    seen = []
    fit = LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda self, X, *rest, **own: (seen.append(self.max_iter), fit(self, X, *rest, **own))[1],
    )
    monkeypatch.setattr(classifiers, "_MOST_WORK", 400 * 2 * 3 * 40)
    probabilities("logistic", train, test, "risk")
    assert seen == [40]


def test_boosting_of_few_rows_is_cautious():
    small, large = (CLASSIFIERS["boosting"].estimator(n, 0) for n in (300, 50_000))
    assert (small.max_depth, small.min_samples_leaf, small.max_features) == (3, 3, 0.3)
    assert (large.max_depth, large.max_features) == (None, 1.0)
    assert small.l2_regularization > large.l2_regularization > 0


@pytest.mark.parametrize("name", ["naive_bayes", "logistic"])
@pytest.mark.parametrize("noise", [0.0, 2.0**-52])
def test_a_number_that_is_constant_up_to_rounding_says_nothing(name, noise):
    rng = np.random.default_rng(0)
    labels, weights = np.repeat([0, 1], 100), rng.random(200)
    still = 49.32 * (1 + rng.integers(0, 2, 200) * noise)
    learn = np.column_stack([still, labels + rng.normal(size=200)])
    ask = learn * [3, 1]

    def predicted(*columns):
        blocks = tuple(Block(f"x{m}", 1, is_number=True) for m in columns)
        train = Examples(Features(learn[:, columns], blocks), labels, 2, weights)
        return classifier(name).predict(train, Features(ask[:, columns], blocks), 0)

    assert predicted(0, 1) == pytest.approx(predicted(1))
    shares = np.bincount(labels, weights) / weights.sum()
    assert predicted(0) == pytest.approx(np.tile(shares, (200, 1)), abs=1e-3)


@pytest.mark.parametrize("name", ["boosting"])
def test_a_class_of_one_row_is_no_obstacle_in_a_large_table(name):
    train = pl.DataFrame({"x": np.arange(11_000) % 7, "c": ["rare", *(["a", "b"] * 5_500)][:11_000]})
    found = probabilities(name, train, train.head(5).drop("c"), "c")
    np.testing.assert_allclose(found.sum(axis=1), 1)
