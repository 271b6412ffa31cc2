"""Private columns that public ones tell, with errors and missing values; and figures that mix the two kinds."""

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd.audit.dependence import told_columns
from incrowd.learn.told import refuse_told

N_TOLD = 300
DRAW = np.random.default_rng(11)
BIRTH, HEIGHT, WEIGHT = DRAW.permutation(N_TOLD) * 61.0, DRAW.normal(175, 10, N_TOLD), DRAW.normal(75, 12, N_TOLD)


def with_errors(values, n):
    wrong = DRAW.choice(N_TOLD, n, replace=False)
    changed = values.astype(np.float64)
    changed[wrong] = DRAW.permutation(changed)[wrong]
    return changed


@pytest.mark.parametrize("n_wrong", [0, 1, 8])
@pytest.mark.parametrize(
    ("hidden", "by"),
    [
        (-(BIRTH // 365), "'birth'"),
        (np.exp(BIRTH / 3000), "'birth'"),
        (HEIGHT + 2 * WEIGHT, "a sum of public columns"),
        ((WEIGHT / (HEIGHT / 100) ** 2).round(1), "a product of public columns"),
    ],
)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_columns_that_are_told_with_errors_or_missing_values_are_found(hidden, by, n_wrong, missing):
    hidden = np.where(DRAW.random(N_TOLD) < missing, np.nan, with_errors(hidden, n_wrong))
    frame = pl.DataFrame({"birth": BIRTH, "height": HEIGHT, "weight": WEIGHT, "hidden": hidden}, nan_to_null=True)
    assert told_columns(frame, ["birth", "height", "weight"], ["hidden"]) == {"hidden": by}
    with pytest.raises(ic.ParameterError, match="'hidden' is private, and public columns tell it"):
        refuse_told(frame.get_columns(), np.array([True, True, True, False]))


def test_columns_that_have_nothing_to_do_with_each_other_are_not_told():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        makers = [
            lambda n, r=rng: r.normal(size=n), lambda n, r=rng: r.integers(0, 3, n).astype(float),
            lambda n, r=rng: np.where(r.random(n) < 0.97, 0.0, r.integers(1, 9, n)),
            lambda n, r=rng: r.permutation(np.where(np.arange(n) < n - 2, 0.0, np.arange(n))),
        ]  # fmt: skip
        n = int(rng.integers(20, 200))
        frame = pl.DataFrame({name: makers[rng.integers(4)](n) for name in "abc"})
        assert told_columns(frame, ["a", "b"], ["c"]) == {}
        refuse_told(frame.get_columns(), np.array([True, True, False]))


def test_figures_of_public_and_private_columns_together_are_refused():
    """The mean of the product of a person's own column and a private one is that person's value."""
    frame = pl.DataFrame({"who": np.arange(80), "b": DRAW.integers(0, 3, 80), "pay": DRAW.normal(size=80)}).to_pandas()
    frame["y"] = DRAW.integers(0, 2, 80)
    apart = ColumnTransformer([("who", OneHotEncoder(sparse_output=False), ["who"]), ("pay", "passthrough", ["pay"])])
    means = make_pipeline(apart, PolynomialFeatures(2, interaction_only=True), StandardScaler())
    both = ColumnTransformer([("means", means, ["who", "pay"]), ("rest", "passthrough", ["b"])])
    only = ColumnTransformer([("rest", "passthrough", [-1])])
    model = make_pipeline(both, only, DecisionTreeClassifier(max_depth=1)).fit(frame[["who", "b", "pay"]], frame["y"])
    fitted = model[0].named_transformers_["means"]
    with_pay = (fitted[1].powers_[:, -1] == 1) & (fitted[1].powers_.sum(axis=1) == 2)
    assert np.allclose(fitted[-1].mean_[with_pay] * 80, frame["pay"])  # everybody's
    schema = ic.Schema(quasi=["who", "b"], sensitive="y", other=["pay"])
    with pytest.raises(ic.IncompatibleError, match="figures of public and private columns together"):
        ic.audit(model, frame, schema, 5)


@pytest.mark.parametrize(("n_public", "by"), [(25, "'p0' and 'p1'"), (26, "the public columns together")])
def test_two_columns_at_a_time_are_looked_at_where_there_are_not_too_many(n_public, by):
    rng = np.random.default_rng(3)
    one, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    others = {f"p{i}": np.zeros(200, np.int64) for i in range(2, n_public)}
    frame = pl.DataFrame({"p0": one, "p1": second, **others, "hidden": one ^ second})
    assert told_columns(frame, frame.columns[:-1], ["hidden"]) == {"hidden": by}


def test_one_error_among_few_people_hides_nothing():
    birth = np.arange(40) * 7.0
    hidden = np.repeat(np.arange(10.0), 4)  # alone it is known of 4 people, and one error in 36 is one in twenty
    hidden[20] = 9.0
    frame = pl.DataFrame({"birth": birth, "hidden": hidden})
    assert told_columns(frame, ["birth"], ["hidden"]) == {"hidden": "'birth'"}
