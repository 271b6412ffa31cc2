"""Which column each feature of a model is made of, through steps of all kinds; and what an attacker can tell apart."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd.audit.inputs import Inputs, read

N = 40
FRAME = pl.DataFrame({
    "age": np.arange(N), "pay": np.arange(N) * 7 % 11, "sex": ["f", "m"] * (N // 2),
    "job": ["clerk", "nurse", "smith", "clerk"] * (N // 4), "y": np.arange(N) // 3 % 2,
})  # fmt: skip
NUMBERS = ["age", "pay"]
NAMES = ["age", "pay", "sex", "job"]


def schema(*public):
    return ic.Schema(
        quasi=dict.fromkeys(public or NAMES),
        sensitive="y",
        other=[name for name in NAMES if name not in public and public],
    )


def fit(preparation, names=NAMES, kind="pandas"):
    given = FRAME.select(names).to_pandas() if kind == "pandas" else FRAME.select(names).to_numpy()
    return make_pipeline(preparation, DecisionTreeClassifier(random_state=0)).fit(given, FRAME["y"].to_numpy())


ONE_HOT = OneHotEncoder(sparse_output=False)


@pytest.mark.parametrize(
    ("parts", "remainder", "expected"),
    [
        ([("p", ONE_HOT, ["job", "sex"]), ("q", StandardScaler(), ["pay"])], "drop", "job job job sex sex pay"),
        ([("p", ONE_HOT, ["job", "sex"])], "passthrough", "job job job sex sex age pay"),
        ([("p", ONE_HOT, [3]), ("q", "passthrough", [1, 0])], "drop", "job job job pay age"),
        ([("p", "passthrough", [1]), ("q", ONE_HOT, [-1])], "drop", "pay job job job"),
        ([("p", "passthrough", slice(0, 2)), ("q", "drop", ["sex"])], "drop", "age pay"),
        ([("p", "drop", slice(1, 4)), ("q", MinMaxScaler(), ["age"])], "drop", "age"),
        ([("p", "passthrough", [True, False, False, False]), ("q", ONE_HOT, [False, False, True, True])], "drop",
         "age sex sex job job job"),
        ([("p", "passthrough", np.array([False, True, False, False]))], "drop", "pay"),
        ([("p", MinMaxScaler(), make_column_selector(dtype_include="number")), ("q", ONE_HOT, ["sex"])], "drop",
         "age pay sex sex"),
        ([("p", OrdinalEncoder(), ["job", "sex"]), ("q", "passthrough", [])], "passthrough", "job sex age pay"),
        ([("p", OneHotEncoder(drop="first", sparse_output=False), ["job", "sex"])], StandardScaler(),
         "job job sex age pay"),
        ([("p", OneHotEncoder(min_frequency=15, sparse_output=False), ["job", "sex"])], "drop", "job job sex sex"),
        ([("p", make_pipeline(OrdinalEncoder(), "passthrough", StandardScaler()), ["job", "sex"])], "drop", "job sex"),
        ([("p", ColumnTransformer([("in", ONE_HOT, [1])], remainder="drop"), ["job", "sex"])], "drop", "sex sex"),
        ([("p", Binarizer(), ["pay"]), ("q", FunctionTransformer(), ["age"])], "drop", "pay age"),
        ([("p", PCA(1), ["age"]), ("q", PolynomialFeatures(2), ["pay"])], "drop", "age pay pay pay"),
        ([("p", KBinsDiscretizer(2, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), ["pay"])], "drop",
         "pay pay"),
    ],
)  # fmt: skip
def test_features_are_followed_to_their_columns(parts, remainder, expected):
    model = fit(ColumnTransformer(parts, remainder=remainder))
    last, found = read(model, FRAME.to_pandas(), schema("age", "job"), class_public=False)
    assert last is model[-1]
    assert found.sources == tuple(expected.split())
    assert found.public.tolist() == [name in ("age", "job") for name in found.sources]
    assert np.array_equal(found.values, model[:-1].transform(FRAME.select(NAMES).to_pandas()))
    assert found.classes.tolist() == (FRAME["y"] + 1).to_list()


@pytest.mark.parametrize("columns", [[1], [-1], slice(1, 2), [False, True]])
def test_columns_without_names_are_followed_too(columns):
    model = fit(ColumnTransformer([("p", MinMaxScaler(), columns)]), NUMBERS, kind="numpy")
    _, found = read(model, FRAME.select(*NUMBERS, "y"), schema("age"), class_public=False)
    assert (found.sources, found.public.tolist()) == (("pay",), [False])


def test_a_column_alone_and_sparse_features():
    model = fit(
        ColumnTransformer([("p", OneHotEncoder(), ["job"]), ("q", FunctionTransformer(), ["age"])], sparse_threshold=1)
    )
    _, found = read(model, FRAME.to_pandas(), schema("job"), class_public=True)
    assert found.sources == ("job", "job", "job", "age")
    assert found.class_public
    assert found.values.sum(axis=0).tolist() == [20, 10, 10, sum(range(N))]


def test_steps_one_after_the_other():
    both = ColumnTransformer([("p", OrdinalEncoder(), ["job", "sex"])], remainder="passthrough")
    steps = [
        ("p", both),
        ("no", "passthrough"),
        ("q", StandardScaler()),
        ("tree", DecisionTreeClassifier(random_state=0)),
    ]
    model = Pipeline(steps).fit(FRAME.select(NAMES).to_pandas(), FRAME["y"].to_numpy())
    _, found = read(model, FRAME.to_pandas(), schema("pay"), class_public=False)
    assert found.sources == ("job", "sex", "age", "pay")
    assert found.values.mean(axis=0).round(9).tolist() == [0, 0, 0, 0]
    for mixing in (Normalizer(), PolynomialFeatures(1, include_bias=False)):
        mixed = fit(mixing, NUMBERS)
        with pytest.raises(ic.IncompatibleError, match="mixes public and private columns: age, pay"):
            read(mixed, FRAME.to_pandas(), schema("pay"), class_public=False)
        _, known = read(mixed, FRAME.select(*NUMBERS, "y").to_pandas(), schema(*NUMBERS), class_public=False)
        assert (known.sources, known.public.all()) == (("age and pay",) * 2, True)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_people_come_in_any_kind_of_frame(kind):
    """And a step that was fitted with a pandas frame gets one."""
    model = fit(ColumnTransformer([("p", StandardScaler(), NUMBERS)]))
    given = {"polars": FRAME, "pandas": FRAME.to_pandas(), "pyarrow": FRAME.to_arrow()}[kind]
    _, found = read(model, given, schema("age", "job"), class_public=False)
    assert found.sources == ("age", "pay")
    _, bare = read(
        model[-1], FRAME.select(pay=pl.col("pay"), age=pl.col("age"), y=pl.col("y")), schema("age"), class_public=True
    )
    assert bare.sources == ("pay", "age")
    tree = DecisionTreeClassifier().fit(FRAME.select(NUMBERS).to_pandas(), FRAME["y"].to_numpy())
    _, plain = read(tree, given, schema("age", "job"), class_public=False)
    expected = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pl.DataFrame}[kind]
    assert isinstance(plain.given, expected)


def test_columns_that_a_step_has_renamed():
    first = ColumnTransformer([("x", MinMaxScaler(), ["pay", "age"])])
    second = ColumnTransformer([("z", StandardScaler(), ["x__age"])])
    model = make_pipeline(first, second, DecisionTreeClassifier()).set_output(transform="pandas")
    model.fit(FRAME.select(NUMBERS).to_pandas(), FRAME["y"].to_numpy())
    _, found = read(model, FRAME.to_pandas(), schema("age"), class_public=False)
    assert (found.sources, found.public.tolist()) == (("age",), [True])


def test_a_function_of_numpy_looks_at_one_number_at_a_time():
    model = fit(FunctionTransformer(np.abs), NUMBERS)
    _, found = read(model, FRAME.to_pandas(), schema("pay"), class_public=False)
    assert found.sources == ("age", "pay")
    mixing = fit(FunctionTransformer(lambda rows: rows), NUMBERS)
    with pytest.raises(ic.IncompatibleError, match="parameter func of the step FunctionTransformer"):
        read(mixing, FRAME.to_pandas(), schema("pay"), class_public=False)


def test_the_table_must_have_the_class_that_the_schema_names():
    model = DecisionTreeClassifier().fit(FRAME.select(NUMBERS).to_pandas(), FRAME["y"].to_numpy())
    with pytest.raises(ic.SchemaError, match="no column 'y'"):
        read(model, FRAME.drop("y"), schema("age"), class_public=False)
    _, found = read(model, FRAME.drop("y"), ic.Schema(quasi=["age"], other=["pay"]), class_public=False)
    assert found.classes is None
    with pytest.raises(ic.SchemaError, match="does not have: 'age', 'pay'"):
        read(model, FRAME.select("y"), schema("age"), class_public=False)
    unnamed = DecisionTreeClassifier().fit(FRAME.select(NUMBERS).to_numpy(), FRAME["y"].to_numpy())
    with pytest.raises(ic.SchemaError, match="2 features without names, and the table 3 columns"):
        read(unnamed, FRAME.drop("sex"), schema("age"), class_public=False)


@pytest.mark.parametrize("kind", ["polars", "pandas", "numpy"])
def test_ranks_are_what_our_trees_compute_with(kind):
    """Of a frame, and of what a step before the tree made of it."""
    ours = ic.KAnonymousTreeClassifier(k=2)
    frame = FRAME.select("pay", "y")
    if kind == "numpy":
        model = make_pipeline(MinMaxScaler(), ours).fit(frame.select("pay").to_pandas(), frame["y"].to_numpy())
    else:
        model = ours.fit(frame.select("pay"), frame["y"].to_list())
    given = frame if kind == "polars" else frame.to_pandas()
    _, found = read(model, given, schema("pay"), class_public=False)
    assert found.values.ravel().tolist() == frame["pay"].to_list()  # all of 0 to 10 occur
    report = ic.audit(model, given, schema("pay"), 2)
    assert report.ok
    assert report.level == (model[-1] if kind == "numpy" else model).spans_.level


def inputs(values, public, classes=None, *, class_public=False):
    given = None if classes is None else np.array(classes)
    return Inputs(np.array(values, float), np.array(public, bool), ("a",) * len(public), given, class_public)


@pytest.mark.parametrize(
    ("public", "classes", "class_public", "kinds"),
    [
        ([1, 0], None, False, [0, 0, 1, 1, 2]),
        ([1, 0], [0, 1, 0, 0, 0], False, [0, 0, 1, 1, 2]),
        ([1, 0], [0, 1, 0, 0, 0], True, [0, 1, 2, 2, 3]),
        ([1, 0], None, True, [0, 0, 1, 1, 2]),
        ([1, 1], None, False, [0, 1, 2, 3, 4]),
        ([0, 0], None, False, [0, 0, 0, 0, 0]),
        ([0, 0], [0, 1, 0, 0, 0], True, [0, 1, 0, 0, 0]),
        ([0, 0], [0, 1, 0, 0, 0], False, [0, 0, 0, 0, 0]),
    ],
)
def test_whom_an_attacker_can_tell_apart(public, classes, class_public, kinds):
    one_of, kind_of = inputs(
        [[1, 5], [1, 6], [2, 7], [2, 8], [np.nan, 9]], public, classes, class_public=class_public
    ).known_alike()
    assert kind_of.tolist() == kinds
    assert kind_of[one_of].tolist() == list(range(max(kinds) + 1))
