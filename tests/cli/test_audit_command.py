"""incrowd audit, from files."""

import json
import subprocess
import sys

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier
from skops import io as skops_io

import incrowd as ic

ROWS = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(20, 70, ROWS), "hours": rng.integers(10, 60, ROWS)})
    frame = frame.with_columns(
        rich=pl.when(pl.col("age") + pl.col("hours") > 80).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    frame.write_csv(here / "data.csv")
    quasi = {"age": ic.Intervals(), "hours": ic.Intervals()}
    ic.Schema(quasi=quasi, sensitive="rich").to_toml(here / "data.toml")
    model = DecisionTreeClassifier(random_state=0).fit(
        frame.select("age", "hours").to_pandas(), frame["rich"].to_list()
    )
    joblib.dump(model, here / "model.joblib")
    skops_io.dump(model, here / "model.skops")
    rules = pl.DataFrame({"antecedents": ["cherries", "cherries|candles"], "consequents": ["viagra", "tylenol"],
                          "support": [0.084, 0.024], "confidence": [0.75, 0.8]})  # fmt: skip
    rules.write_csv(here / "rules.csv")
    return here


def incrowd(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "incrowd", "audit", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_breach_is_exit_code_3_and_repair_writes_a_safe_model(folder):
    found = incrowd(folder, "model.skops", "data.csv", "-s", "data.toml", "-k", "20", "--repair", "safe.skops")
    assert found.returncode == 3
    assert "BROKEN" in found.stdout
    assert "Wrote safe.skops" in found.stdout
    again = incrowd(folder, "safe.skops", "data.csv", "-s", "data.toml", "-k", "20", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["ok"] is True
    twice = incrowd(folder, "model.skops", "data.csv", "-s", "data.toml", "-k", "20", "--repair", "safe.skops")
    assert twice.returncode == 2
    assert "exists already" in twice.stderr


def test_a_pickle_is_loaded_only_on_trust(folder):
    refused = incrowd(folder, "model.joblib", "data.csv", "-s", "data.toml", "-k", "2")
    assert refused.returncode == 2
    assert "runs whatever code is in it" in refused.stderr
    trusted = incrowd(folder, "model.joblib", "data.csv", "-s", "data.toml", "-k", "1", "--trust")
    assert trusted.returncode == 0, trusted.stderr


def test_rules_from_numbers_alone(folder):
    given = ("rules.csv", "--public", "cherries,candles", "--people", "1000")
    assert incrowd(folder, *given, "-k", "30").returncode == 0
    found = incrowd(folder, *given, "-k", "31", "--repair", "safe.csv")
    assert found.returncode == 3, found.stderr
    assert pl.read_csv(folder / "safe.csv").height == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.joblib", "data.csv", "-s", "data.toml"), "no file"),
        (("model.skops",), "table that it was fitted with"),
        (("data.toml", "data.csv", "-s", "data.toml"), "not a model file"),
        (("rules.csv",), "--public"),
        (("model.skops", "data.csv", "-s", "data.toml", "-k", "0"), "k is 0"),
    ],
)
def test_bad_input_is_said_plainly(folder, arguments, said):
    found = incrowd(folder, *arguments)
    assert found.returncode == 2
    assert said in found.stderr


def test_a_broken_file_is_no_traceback(folder):
    (folder / "broken.joblib").write_bytes(b"nonsense")
    (folder / "broken.skops").write_bytes(b"nonsense")
    for name in ("broken.joblib", "broken.skops"):
        found = incrowd(folder, name, "data.csv", "-s", "data.toml", "--trust")
        assert found.returncode == 2
        assert "cannot be loaded" in found.stderr
        assert "Traceback" not in found.stderr
