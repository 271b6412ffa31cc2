"""Models in files: what is read, and what is refused before anything in the file can run."""

import pickle
import sys
from fractions import Fraction

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from skops import io as skops_io

import incrowd as ic
from incrowd.audit.files import load_model, require_model_name, save_model
from incrowd.errors import InputError, MissingDependencyError, ParameterError

ROWS = np.array([[1.0], [2.0], [3.0], [4.0]])


@pytest.fixture
def model():
    return DecisionTreeClassifier().fit(ROWS, [0, 0, 1, 1])


class Touch:
    """Leaves a trace when it is loaded."""

    def __reduce__(self):
        return (exec, ("import sys; sys._incrowd_was_here = True",))


@pytest.fixture
def is_run():
    yield lambda: hasattr(sys, "_incrowd_was_here")
    vars(sys).pop("_incrowd_was_here", None)


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle", ".skops"])
def test_what_is_saved_is_loaded(model, tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    save_model(model, path)
    loaded = load_model(str(path), trust=suffix != ".skops")
    assert loaded.predict(ROWS).tolist() == [0, 0, 1, 1]
    assert loaded.tree_.threshold.tolist() == model.tree_.threshold.tolist()
    with path.open("rb") as file:
        assert (file.read(2) == b"PK") == (suffix == ".skops")  # a zip archive, not a pickle under its name


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle"])
def test_nothing_of_a_pickle_runs_without_trust(tmp_path, suffix, is_run):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Touch()))
    with pytest.raises(ParameterError, match="runs whatever code is in it"):
        load_model(path)
    assert not is_run()
    load_model(path, trust=True)
    assert is_run()


@pytest.mark.parametrize("name", ["model", "model.dat", "model.skops.bak", "model.joblib.gz"])
def test_other_names_are_refused_before_the_file_is_read_or_written(model, tmp_path, name, is_run):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Touch()))
    for trust in (False, True):
        with pytest.raises(InputError, match="not a model file"):
            load_model(path, trust=trust)
    assert not is_run()
    fresh = tmp_path / "fresh" / name
    with pytest.raises(InputError, match="not a model file"):
        save_model(model, fresh)
    assert not fresh.exists()


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle", ".skops"])
def test_names_of_models(tmp_path, suffix):
    require_model_name(tmp_path / f"any{suffix}")
    with pytest.raises(InputError, match=r"There is no file '.*gone"):
        load_model(tmp_path / f"gone{suffix}", trust=True)
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(InputError, match="There is no file"):
        load_model(tmp_path / f"folder{suffix}", trust=True)


@pytest.mark.parametrize("suffix", [".joblib", ".skops"])
def test_a_broken_file_is_said_to_be_one(tmp_path, suffix):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match=rf"broken{suffix}' cannot be loaded as a model: \w+") as refused:
        load_model(path, trust=True)
    assert ("with skops" in str(refused.value)) == (suffix == ".skops")
    assert "nonsense" not in str(refused.value)


def test_types_of_unknown_origin_need_trust(model, tmp_path):
    """Of classes of numpy or ours nothing need be said; the standard library's Fraction is not among them."""
    known, foreign = tmp_path / "known.skops", tmp_path / "foreign.skops"
    model.note_ = {"b": np.polynomial.Polynomial([1, 2])}
    save_model(model, known)
    assert skops_io.get_untrusted_types(file=known)  # skops would have asked
    assert load_model(known).predict(ROWS).tolist() == [0, 0, 1, 1]
    model.note_["a"] = Fraction(1, 3)
    save_model(model, foreign)
    with pytest.raises(ParameterError) as refused:
        load_model(foreign)
    assert refused.value.fact.endswith("unknown origin: fractions.Fraction")
    assert load_model(foreign, trust=True).note_["a"] == Fraction(1, 3)


def test_a_function_needs_trust_wherever_it_is_from(model, tmp_path):
    path = tmp_path / "model.skops"
    save_model(make_pipeline(FunctionTransformer(np.nan_to_num), model), path)
    with pytest.raises(ParameterError, match=r"holds functions, or types of unknown origin: numpy\.nan_to_num"):
        load_model(path)
    assert load_model(path, trust=True).predict(ROWS).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("kind", ["tree", "clusters"])
def test_our_own_models_need_no_trust(tmp_path, kind):
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4] * 3})
    ours = ic.KAnonymousTreeClassifier(k=2) if kind == "tree" else ic.KAnonymousClusters(k=2, n_clusters=2)
    save_model(ours.fit(frame, [0, 1, 1, 0] * 3), tmp_path / "ours.skops")
    assert len(load_model(tmp_path / "ours.skops").predict(frame)) == 12


def test_without_skops_the_extra_is_named(model, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    save_model(model, path)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[models\]"):
        load_model(path)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[models\]"):
        save_model(model, tmp_path / "other.skops")
    joblib.dump(model, tmp_path / "model.pkl")
    assert load_model(tmp_path / "model.pkl", trust=True).n_features_in_ == 1
