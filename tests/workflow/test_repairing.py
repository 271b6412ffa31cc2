import json

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner

import incrowd as ic
from incrowd import workflow
from incrowd.cli.app import app
from incrowd.errors import InputError
from incrowd.workflow.repairing import Kept

N = 240
RNG = np.random.default_rng(1)
AGE, SEX, PAY = RNG.integers(20, 60, N), RNG.integers(0, 2, N), RNG.integers(0, 4, N)
FRAME = pl.DataFrame(
    {"age": AGE, "sex": SEX, "pay": PAY, "ill": np.where(AGE + 8 * PAY + RNG.normal(0, 4, N) > 52, "yes", "no")}
)
NAMES = ["age", "sex", "pay"]
SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive="ill", other=["pay"])
K = 10


def forest():
    return RandomForestClassifier(5, random_state=0).fit(FRAME[NAMES], FRAME["ill"])


def test_a_refit_is_of_the_same_kind_and_size_and_keeps_k():
    made = ic.refit(forest(), FRAME, SCHEMA, K, random_state=0)
    assert isinstance(made, ic.KAnonymousForestClassifier)
    assert made.n_estimators == 5
    assert ic.audit(made, FRAME, SCHEMA, K).ok
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME[NAMES], FRAME["ill"])
    alone = ic.refit(tree, FRAME, SCHEMA, K, max_confidence=0.9)
    assert isinstance(alone, ic.KAnonymousTreeClassifier)
    assert ic.audit(alone, FRAME, SCHEMA, K, max_confidence=0.9).ok
    linear = LogisticRegression().fit(FRAME[NAMES].to_numpy(), FRAME["ill"])
    assert ic.refit(linear, FRAME, SCHEMA, K).n_estimators == 100


def test_a_refit_needs_a_classifier_and_its_table():
    with pytest.raises(ic.IncompatibleError, match="no fitted classifier"):
        ic.refit(DecisionTreeRegressor().fit(FRAME[["age"]], FRAME["pay"]), FRAME, SCHEMA, K)
    with pytest.raises(ic.SchemaError, match="'pay'"):
        ic.refit(forest(), FRAME.drop("pay"), SCHEMA, K)
    with pytest.raises(ic.SchemaError, match="no column of the class"):
        ic.refit(forest(), FRAME.drop("ill"), SCHEMA, K)


def test_folds_say_what_a_repair_and_a_refit_keep():
    seen = []
    kept = workflow.kept_by_folds(
        forest(), FRAME, SCHEMA, K, folds=2, run=workflow.Run(lambda *step: seen.append(step))
    )  # fmt: skip
    assert set(kept.accuracy) == {"model", "repaired", "refitted", "majority"}
    assert all(0 <= share <= 1 for share in kept.accuracy.values())
    assert kept.accuracy["model"] > kept.accuracy["majority"]
    assert kept.accuracy["refitted"] > kept.accuracy["majority"]
    assert kept.accuracy["majority"] == pytest.approx(FRAME["ill"].value_counts()["count"].max() / N, abs=0.02)
    assert seen[-1] == ("folds", 2, 2)
    none = workflow.kept_by_folds(LogisticRegression().fit(FRAME[NAMES], FRAME["ill"]), FRAME, SCHEMA, K, folds=2)
    assert none.accuracy["repaired"] is None
    assert "no repair" in none.reasons["repaired"]
    assert "no repair" in str(none)


def test_what_cannot_be_judged_by_folds_says_so():
    with pytest.raises(ic.ParameterError, match="fitted again"):
        workflow.kept_by_folds(DecisionTreeRegressor().fit(FRAME[NAMES], FRAME["pay"]), FRAME, SCHEMA, K)
    with pytest.raises(ic.ParameterError, match="cannot be cut into 200 folds"):
        workflow.kept_by_folds(forest(), FRAME, SCHEMA, K, folds=200)


def test_a_repair_that_guesses_is_said():
    shares = {"model": 0.8, "repaired": 0.6, "refitted": 0.75, "majority": 0.6}
    assert "no better than guessing" in str(Kept(3, shares, {}))
    assert "guessing" not in str(Kept(3, shares | {"repaired": 0.7}, {}))


def test_the_command_line_writes_a_refit_and_judges_by_folds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joblib.dump(forest(), "model.joblib")
    FRAME.write_csv("data.csv")
    SCHEMA.to_toml("data.toml")
    call = ["audit", "model.joblib", "data.csv", "-s", "data.toml", "-k", str(K), "--trust"]
    done = CliRunner().invoke(app, [*call, "--refit", "safe.joblib", "--folds", "2"])
    assert done.exit_code == 3, done.output
    assert "a k-anonymous model in its place  " in done.output
    assert "Wrote safe.joblib, a k-anonymous model in its place." in done.output
    safe = CliRunner().invoke(app, [*call[:1], "safe.joblib", *call[2:], "--json", "--folds", "2"])
    assert safe.exit_code == 0, safe.output
    assert json.loads(safe.stdout)["kept"]["folds"] == 2
    again = CliRunner().invoke(app, [*call, "--refit", "safe.joblib"])
    assert isinstance(again.exception, InputError)
    rules = CliRunner().invoke(app, ["audit", "rules.csv", "--folds", "2"])
    assert "are for models" in rules.exception.fact
