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
from test_publish_errors import run

import incrowd as ic
from incrowd import io

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


@pytest.fixture
def incrowd(folder, monkeypatch, capsys):
    """Run the command in this process: starting one takes longer than what it does."""
    monkeypatch.chdir(folder)
    return lambda *arguments: run(monkeypatch, capsys, "audit", *arguments)


def test_a_breach_is_exit_code_3_and_repair_writes_a_safe_model(incrowd):
    code, out, _ = incrowd("model.skops", "data.csv", "-s", "data.toml", "-k", "20", "--repair", "safe.skops")
    assert code == 3
    assert "BROKEN" in out
    assert "Wrote safe.skops" in out
    assert "the model as it was about 100.0%, the most frequent class about " in out
    code, out, _ = incrowd("safe.skops", "data.csv", "-s", "data.toml", "-k", "20", "--json")
    assert code == 0
    assert json.loads(out)["ok"] is True
    code, _, err = incrowd("model.skops", "data.csv", "-s", "data.toml", "-k", "20", "--repair", "safe.skops")
    assert code == 2
    assert "already exists" in err


def test_what_is_told_about_the_class_can_be_limited(incrowd):
    given = ("model.skops", "data.csv", "-s", "data.toml", "-k", "1")
    assert incrowd(*given)[0] == 0
    code, out, _ = incrowd(*given, "--max-confidence", "0.9")
    assert (code, "confidence up to 90.0%" in out) == (3, True)
    code, out, _ = incrowd(*given, "-l", "1.2", "--json")
    assert (code, json.loads(out)["diversity"], json.loads(out)["exposed"]) == (3, 1.0, ROWS)


def test_a_pickle_is_loaded_only_on_trust(incrowd):
    code, _, err = incrowd("model.joblib", "data.csv", "-s", "data.toml", "-k", "2")
    assert code == 2
    assert "runs whatever code is in it" in err
    code, _, err = incrowd("model.joblib", "data.csv", "-s", "data.toml", "-k", "1", "--trust")
    assert code == 0, err


def test_rules_from_numbers_alone(folder, incrowd):
    given = ("rules.csv", "--public", "cherries,candles", "--people", "1000")
    assert incrowd(*given, "-k", "30")[0] == 0
    code, _, err = incrowd(*given, "-k", "31", "--repair", "safe.csv")
    assert code == 3, err
    assert pl.read_csv(folder / "safe.csv").height == 1


@pytest.mark.parametrize("suffix", [suffix for entry in io.FORMATS if entry.write for suffix in entry.suffixes])
def test_rules_in_every_format_of_tables(folder, incrowd, suffix):
    io.write(pl.read_csv(folder / "rules.csv"), folder / f"rules{suffix}")
    code, _, err = incrowd(f"rules{suffix}", "--public", "cherries,candles", "--people", "1000", "-k", "31")
    assert code == 3, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.joblib", "data.csv", "-s", "data.toml"), "no file"),
        (("model.skops",), "table that it was fitted with"),
        (("data.toml", "data.csv", "-s", "data.toml"), "not a model file"),
        (("rules.csv",), "--public"),
        (("model.skops", "data.csv", "-s", "data.toml", "-k", "0"), "The value of option -k is not valid"),
    ],
)
def test_bad_input_is_said_plainly(incrowd, arguments, said):
    code, _, err = incrowd(*arguments)
    assert code == 2
    assert said in err


def test_a_broken_file_is_no_traceback(folder, incrowd):
    for name in ("broken.joblib", "broken.skops"):
        (folder / name).write_bytes(b"nonsense")
        code, _, err = incrowd(name, "data.csv", "-s", "data.toml", "--trust")
        assert code == 2
        assert "cannot be loaded" in err


def test_as_a_person_types_it(folder):
    """In a process of its own: the exit code arrives, and nothing but the message."""
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", "audit", "rules.csv"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
