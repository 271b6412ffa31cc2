"""Publishers as scikit-learn knows estimators: parameters, clones, and a transformer of each."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import incrowd as ic
from claims import ALWAYS, CASES, make
from incrowd.publish import PUBLISHERS

RNG = np.random.default_rng(0)
PEOPLE = pl.DataFrame({"age": RNG.integers(18, 70, 200), "job": RNG.choice(["clerk", "nurse", "smith"], 200)})
LABELS = np.where(PEOPLE["age"].to_numpy() + RNG.integers(0, 9, 200) > 45, "yes", "no")
WITHOUT_TRANSFORM = {"tight_groups", "m_invariance", "nsvdist", "nhaa", "seqa", "mdav", "dmpd", "pareto_dmpd"}


def method(name, k=2):
    found = PUBLISHERS[name]
    given = {"k": k} | ALWAYS.get(name, {}) | ({"runs": 2} if name == "best_cuts" else {})
    return found(**{key: value for key, value in given.items() if key in found.__dataclass_fields__})


@pytest.mark.parametrize(
    "name",
    [name if name in ("mondrian", "nhaa") else pytest.param(name, marks=pytest.mark.slow) for name in PUBLISHERS],
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_checks_of_scikit_learn_pass_for_the_transformer_of_every_publisher(name):
    results = check_estimator(ic.Anonymizer(method(name), random_state=0), on_skip=None, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    if name == "m_invariance":  # which needs two values, and neither too often: tables of one class are refused
        failed = {check: error for check, error in failed.items() if not isinstance(error, ic.InfeasibleError)}
    assert failed == {}
    passed = {one["check_name"] for one in results if one["status"] == "passed"}
    assert len(passed) > 30
    of_transformers = {
        "check_transformer_general",
        "check_transformer_data_not_an_array",
        "check_transformers_unfitted",
    }
    assert of_transformers & passed == (set() if name in WITHOUT_TRANSFORM else of_transformers)


def test_every_publisher_says_whether_it_has_a_transform():
    for name in PUBLISHERS:
        made = ic.Anonymizer(method(name), random_state=0)
        has = name not in WITHOUT_TRANSFORM
        assert (hasattr(made, "transform"), hasattr(made, "fit_transform")) == (has, has)
        assert (get_tags(made).transformer_tags is not None) == has
    with pytest.raises(AttributeError, match="no transform: the recoding of method 'nsvdist' is not a function"):
        ic.Anonymizer(ic.NSVDist(k=5)).fit(PEOPLE, LABELS).transform(PEOPLE)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ic.Anonymizer().nothing
    assert not ic.Anonymizer(ic.Mondrian(k=5, strict=False))._recodes()


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_what_a_method_says_about_its_recoding_is_so(name, settings):
    publisher = make(name, k=5, **settings) if "k" in PUBLISHERS[name].__dataclass_fields__ else make(name, **settings)
    assert publisher.can_recode() == (name not in WITHOUT_TRANSFORM and getattr(publisher, "strict", True))


UNASKED = {"others_known": False, "beta": None, "enhanced": False, "delta": None, "tree": False, "width": None}


def test_parameters_clones_and_searches():
    given = ic.Mondrian(k=5, l=1.5)
    assert given.get_params() == given.parameters() | UNASKED
    assert clone(given) == given
    assert clone(given) is not given
    assert given.set_params(k=7) is given
    assert given == ic.Mondrian(k=7, l=1.5)
    with pytest.raises(ic.ParameterError):
        given.set_params(k=0)
    assert given.k == 7
    with pytest.raises(ic.ParameterError, match="no parameter 'crowd'"):
        given.set_params(crowd=3)
    for name in PUBLISHERS:
        assert clone(method(name)) == method(name)


@pytest.mark.parametrize("publisher", [None, ic.Mondrian(k=5)])
def test_a_pipeline_publishes_its_training_rows_and_recodes_the_others(publisher):
    coded = PEOPLE.select(pl.col("age"), pl.col("job").rank("dense")).to_numpy()
    model = make_pipeline(ic.Anonymizer(publisher, random_state=0), LogisticRegression(max_iter=1000))
    model.fit(coded[:150], LABELS[:150])
    assert model.score(coded[150:], LABELS[150:]) > 0.7
    release = model[0].release_
    assert release.n_rows == 150
    assert release.manifest.promises.startswith("k = 5")
    assert model[0].transform(coded[150:]).shape == (50, len(model[0].get_feature_names_out()))


def test_a_search_over_parameters_of_the_method():
    search = GridSearchCV(
        make_pipeline(ic.Anonymizer(ic.Mondrian(k=2), random_state=0), DecisionTreeClassifier(random_state=0)),
        {"anonymizer__publisher__k": [2, 90], "anonymizer__publisher": [ic.Mondrian(k=3), ic.InfoGainMondrian(k=3)]},
        cv=2,
    )
    search.fit(PEOPLE.select("age").to_numpy(), LABELS)
    assert search.best_params_["anonymizer__publisher__k"] == 2
    assert search.best_estimator_[0].release_.manifest.promises.startswith("k = 2")


def test_rows_that_were_published_are_shown_as_they_were():
    for name in ("mondrian", "infogain_mondrian", "tree"):
        made = ic.Anonymizer(method(name, 5), random_state=0)
        shown = made.fit_transform(PEOPLE, LABELS)
        soft = made.release_.soft()
        assert made.get_feature_names_out().tolist() == soft.columns == made.release_.soft_columns
        assert sorted(map(tuple, shown.round(9))) == sorted(map(tuple, soft.X.round(9)))
        ages = PEOPLE["age"].to_numpy()
        assert np.corrcoef(shown[:, 0], ages)[0, 1] > 0.5


def test_output_of_the_kind_that_was_asked_for_and_hierarchies():
    made = ic.Anonymizer(ic.Mondrian(k=5), hierarchies={"job": ic.frequency(2)}, random_state=0)
    shown = made.set_output(transform="pandas").fit_transform(PEOPLE.to_pandas(), LABELS)
    assert list(shown.columns) == made.get_feature_names_out().tolist()
    assert shown.columns[0] == "age"
    assert made.set_output(transform="polars").transform(PEOPLE).columns == list(shown.columns)
    again = pickle.loads(pickle.dumps(made))
    assert again.transform(PEOPLE).equals(made.transform(PEOPLE))


def test_without_a_class_only_methods_that_need_none():
    assert ic.Anonymizer(random_state=0).fit(PEOPLE).release_.manifest.method.name == "mondrian"
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        ic.Anonymizer(method("dmpd")).fit(PEOPLE)


def test_test_rows_are_encoded_in_the_columns_of_a_release():
    frame = PEOPLE.with_columns(rich=pl.Series(LABELS))
    schema = ic.Schema(quasi={"age": ic.Intervals(), "job": None}, sensitive="rich")
    release = ic.Mondrian(k=5).publish(frame, schema, seed=1, domains="exact")
    rows = pl.DataFrame({"age": [20, 99, 44], "job": ["nurse", "pilot", "clerk"]})
    asked = release.soft(rows)
    assert asked.columns == ["age", "job=clerk", "job=nurse", "job=smith"]
    assert asked.X.tolist() == [[20, 0, 1, 0], [99, 0, 0, 0], [44, 1, 0, 0]]
    assert asked.proba is None
    with pytest.raises(ic.IncompatibleError, match="are not the release's"):
        asked.weighted()
    train = release.soft()
    row, label, weight = train.weighted()
    model = LogisticRegression(max_iter=2000).fit(row, label, weight)
    assert (train.classes.gather(model.predict(release.soft(frame).X)) == frame["rich"]).mean() > 0.8
    shown = release.soft(rows, recode=True).X
    assert shown[1, 1:].sum() == pytest.approx(1)  # a job that nobody has counts as any
    assert abs(shown[0, 0] - 20) < 12
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        ic.NSVDist(k=5).publish(frame, schema, seed=1).soft(rows, recode=True)


def test_missing_numbers_of_test_rows():
    frame = pl.DataFrame({"age": [20, 21, 30, 31, None, None], "rich": list("yynnyn")})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich")
    release = ic.Mondrian(k=2).publish(frame, schema, seed=1, domains="exact")
    asked = release.soft(pl.DataFrame({"age": [20, None]}))
    assert asked.columns == ["age", "age=(missing)"]
    assert asked.X[:, 1].tolist() == [0, 1]
    assert asked.X[0, 0] == 20
    assert 20 < asked.X[1, 0] < 31
