import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from incrowd.errors import ParameterError
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
    with pytest.raises(ParameterError, match="classifiers is a GaussianNB"):
        chosen(GaussianNB())


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
