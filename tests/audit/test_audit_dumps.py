"""Trees of XGBoost and LightGBM from their files, beside what the libraries themselves say."""

import json
import re
from collections import Counter

import lightgbm
import numpy as np
import polars as pl
import pytest
import xgboost

import incrowd as ic
from incrowd.audit.dumped_trees import DumpView
from incrowd.audit.dumps import read_dump
from incrowd.audit.files import load_model
from incrowd.audit.inputs import Inputs

N = 300
RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.integers(0, 9, N), RNG.integers(0, 4, N)]).astype(float)
LABELS = ((ROWS[:, 0] + 2 * ROWS[:, 1] + RNG.normal(0, 1.5, N)) > 7).astype(int)
FRAME = pl.DataFrame({"age": ROWS[:, 0], "pay": ROWS[:, 1], "y": LABELS})
ALL = ic.Schema(quasi=["age", "pay"], sensitive="y")
SOME = ic.Schema(quasi=["age"], sensitive="y", other=["pay"])


def saved(kind, folder, rows=ROWS, labels=LABELS, **more):
    """A model in its file, and the leaves that the library says."""
    if kind == "xgboost":
        options = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1} | more
        model = xgboost.XGBClassifier(**options).fit(rows, labels)
        path = folder / "model.json"
        model.get_booster().save_model(path)
        return path, model.apply(rows)
    options = {"objective": "binary", "num_leaves": 4, "verbose": -1, "min_data_in_leaf": 5, "num_threads": 1} | more
    model = lightgbm.train(options, lightgbm.Dataset(rows, labels), 3)
    path = folder / "model.txt"
    model.save_model(path)
    return path, model.predict(rows, pred_leaf=True)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_leaves_are_those_of_the_library(kind, missing, tmp_path):
    rows = ROWS.copy()
    rows[RNG.random(rows.shape) < missing] = np.nan
    path, leaves = saved(kind, tmp_path, rows)
    dump = read_dump(path)
    inputs = Inputs(rows, np.array([True, True]), ("age", "pay"), LABELS, class_public=False)
    for place, tree in enumerate(dump.trees_):
        ours = DumpView(tree, inputs).reached()
        assert len(set(zip(ours.tolist(), leaves[:, place].tolist(), strict=True))) == len(set(ours.tolist()))
    frame = FRAME.with_columns(age=rows[:, 0], pay=rows[:, 1])
    found = ic.audit(dump, frame, ALL, 20)
    expected = Counter(map(tuple, leaves.tolist()))
    assert sorted(found.people.tolist()) == sorted(expected.values())
    assert found.level == min(expected.values())
    assert found.ok == (found.level >= 20)
    assert found.model == f"{'XGBoost' if kind == 'xgboost' else 'LightGBM'} of 3 trees"


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_private_tests_go_both_ways_and_another_table_is_refused(kind, tmp_path):
    path, _ = saved(kind, tmp_path)
    dump = load_model(path)
    hidden = ic.audit(dump, FRAME, SOME, 5)
    assert hidden.level > ic.audit(dump, FRAME, ALL, 5).level
    with pytest.raises(ic.SchemaError, match="as many people to the leaves"):
        ic.audit(dump, FRAME.with_columns(age=pl.col("age").shift(fill_value=0)), ALL, 5)
    names = FRAME.with_columns(y=pl.Series(np.where(LABELS == 1, "a", "b")))
    assert ic.audit(dump, names, ALL, 5).level == ic.audit(dump, FRAME, ALL, 5).level
    for _ in range(20):
        with pytest.raises(ic.SchemaError, match="do not follow the class"):
            ic.audit(dump, FRAME.with_columns(y=pl.Series(RNG.integers(0, 2, N))), ALL, 5)
    with pytest.raises(ic.IncompatibleError, match="no repair"):
        ic.audit(dump, FRAME, ALL, 250).repair()
    drawn = {"subsample": 0.5} if kind == "xgboost" else {"bagging_fraction": 0.5, "bagging_freq": 1}
    path, _ = saved(kind, tmp_path, **drawn)
    with pytest.raises(ic.SchemaError, match="as many people to the leaves"):
        ic.audit(read_dump(path), FRAME, ALL, 5)


@pytest.mark.parametrize("more", [{"lambda_l2": 3.0}, {"objective": "regression"}, {"learning_rate": 0.5}])
def test_settings_of_lightgbm(more, tmp_path):
    path, leaves = saved("lightgbm", tmp_path, num_leaves=8, **more)
    assert ic.audit(read_dump(path), FRAME, ALL, 5).level == min(Counter(map(tuple, leaves.tolist())).values())


def test_three_classes_of_xgboost(tmp_path):
    labels = np.digitize(ROWS[:, 0] + 2 * ROWS[:, 1] + RNG.normal(0, 1.5, N), [5, 9])
    path, leaves = saved("xgboost", tmp_path, labels=labels, max_depth=3)
    found = ic.audit(read_dump(path), FRAME.with_columns(y=pl.Series(labels)), ALL, 5)
    assert found.level == min(Counter(map(tuple, leaves.tolist())).values())


def test_the_range_of_a_private_column_is_refused_if_few_have_its_ends(tmp_path):
    rows = ROWS.copy()
    rows[7, 1] = 90000
    path, _ = saved("lightgbm", tmp_path, rows)
    frame = FRAME.with_columns(pay=rows[:, 1])
    with pytest.raises(ic.IncompatibleError, match="smallest and largest value of the private column pay"):
        ic.audit(read_dump(path), frame, SOME, 5)
    text = path.read_text()
    path.write_text(text.replace("[0:90000]", "none"))
    assert ic.audit(read_dump(path), frame, SOME, 5).level > 1


def test_whatever_else_a_file_holds_is_refused(tmp_path):
    path, _ = saved("xgboost", tmp_path)
    given = json.loads(path.read_text())

    def refused(change, match):
        again = json.loads(json.dumps(given))
        change(again)
        path.write_text(json.dumps(again))
        with pytest.raises(ic.IncompatibleError, match=match):
            read_dump(path)

    tree = ["learner", "gradient_booster", "model", "trees", 0]

    def at(found, *keys):
        for key in keys:
            found = found[key]
        return found

    refused(lambda m: m.update(rows=[1]), "holds 'rows' in the file")
    refused(lambda m: m["learner"].update(note="Ada"), "holds 'note' in the learner")
    refused(lambda m: m["learner"]["attributes"].update(note="Ada"), "holds 'note' in the attributes")
    refused(lambda m: m["learner"]["attributes"].update(best_score="Ada " * 99), "says of 'best_score'")
    refused(lambda m: at(m, *tree).update(people=[1]), "holds 'people' in a tree")
    refused(lambda m: at(m, *tree)["left_children"].__setitem__(0, -1), "nodes that nobody can reach")
    refused(lambda m: at(m, *tree)["split_type"].__setitem__(0, 1), "tests categories")
    refused(lambda m: at(m, "learner", "gradient_booster").update(name="dart"), "not of boosted trees")
    path, _ = saved("lightgbm", tmp_path)
    text = re.sub("tree_sizes=.*\n", "", path.read_text())
    for old, new, match in [
        ("pandas_categorical:null", 'pandas_categorical:[["Ada"]]', "more behind its trees"),
        ("version=v4", "version=v4\nrows=1", "holds 'rows' in the header"),
        ("is_linear=0", "is_linear=1", "linear models"),
        ("num_cat=0", "num_cat=1", "tests categories"),
        ("[0:8]", "0:1:2", "lists categories"),
        ("shrinkage=1\n", "shrinkage=1\nAda earns much\n", "no settings"),
    ]:
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ic.IncompatibleError, match=match):
            read_dump(path)
    for nonsense in ("", "{}", "tree\n", "[1]"):
        path.write_text(nonsense)
        with pytest.raises(ic.InputError, match="cannot be read as a model"):
            read_dump(path)
    with pytest.raises(ic.InputError, match="no file"):
        read_dump(tmp_path / "nothing.json")


def put(found, path, value):
    *way, last = path
    for key in way:
        found = found[key]
    found[last] = value(found[last]) if callable(value) else value


TREES = ("learner", "gradient_booster", "model", "trees")
SECRET = "Ada earns 90000"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*TREES, 2, "sum_hessian", 0), lambda one: one * 1.1),
        ((*TREES, 2, "sum_hessian", -1), lambda one: one * 1.1),
        ((*TREES, 1, "base_weights", 0), lambda one: one + 0.3),
        ((*TREES, 1, "base_weights", -1), lambda one: one + 0.3),
        ((*TREES, 1, "split_conditions", -1), lambda one: one + 0.3),
        ((*TREES, 1, "loss_changes", 0), lambda one: one * 1.1),
        ((*TREES, 1, "loss_changes", -1), 3.0),
        ((*TREES, 1, "parents", -1), 0),
        ((*TREES, 1, "default_left", -1), 1),
        ((*TREES, 1, "split_indices", -1), 1),
        ((*TREES, 1, "categories_nodes"), [1, 2]),
        ((*TREES, 1, "categories_segments"), SECRET),
        ((*TREES, 1, "split_type"), []),
        ((*TREES, 1, "default_left"), [0] * 900),
        ((*TREES, 1, "default_left", 0), 90000),
        ((*TREES, 1, "split_conditions", 0), "4.5"),
        ((*TREES, 1, "id"), 90000),
        ((*TREES, 1, "tree_param", "num_deleted"), SECRET),
        ((*TREES, 1, "tree_param", "num_feature"), "90000"),
        (("learner", "gradient_booster", "model", "gbtree_model_param", "num_trees"), SECRET),
        (("learner", "attributes"), {"best_score": SECRET}),
        (("learner", "attributes"), {"scikit_learn": SECRET}),
        (("learner", "objective", "reg_loss_param", "scale_pos_weight"), SECRET),
        (("learner", "feature_types"), ["float"] * 500),
        (("version",), [90000, 1, 2]),
        (("learner", "learner_model_param", "boost_from_average"), SECRET),
        ((*TREES, 1, "tree_param", "note"), SECRET),
        (("learner", "gradient_booster", "note"), SECRET),
        (("learner", "gradient_booster", "model", "gbtree_model_param", "note"), SECRET),
        (("learner", "gradient_booster", "model", "cats", "note"), []),
        (("learner", "gradient_booster", "model", "tree_info"), [0, 0, 90000]),
        (("learner", "gradient_booster", "model", "iteration_indptr"), [0, 90000]),
        (("learner", "learner_model_param", "note"), SECRET),
        (("learner", "learner_model_param", "boost_from_average"), SECRET * 20),
        (("learner", "learner_model_param", "base_score"), "[3E-1]"),
        (("learner", "objective", "reg_loss_param", "note"), SECRET),
        (("learner", "objective", "name"), "reg:pseudohubererror"),
        (("learner", "feature_types"), [SECRET]),
        (("version",), [90000] * 99),
    ],
)  # fmt: skip
def test_what_is_hidden_in_a_file_of_xgboost_is_found(path, value, tmp_path):
    file, _ = saved("xgboost", tmp_path)
    found = json.loads(file.read_text())
    assert ic.audit(read_dump(file), FRAME, ALL, 1).ok
    put(found, path, value)
    file.write_text(json.dumps(found))
    with pytest.raises((ic.SchemaError, ic.IncompatibleError)):
        ic.audit(read_dump(file), FRAME, ALL, 1)


def test_numbers_with_more_digits_than_there_are_are_refused(tmp_path):
    file, _ = saved("xgboost", tmp_path)
    text = file.read_text()
    for old, new in (('"id":0', '"id":0.00000000000000000000000090000'), ('"id":0', '"id":' + "9" * 30)):
        assert old in text
        file.write_text(text.replace(old, new, 1))
        with pytest.raises(ic.IncompatibleError, match="more digits than there are"):
            read_dump(file)


def test_leaves_that_are_shrunk_later_are_compared(tmp_path):
    file, leaves = saved("xgboost", tmp_path, tree_method="exact")
    assert ic.audit(read_dump(file), FRAME, ALL, 5).level == min(Counter(map(tuple, leaves.tolist())).values())
    found = json.loads(file.read_text())
    put(found, (*TREES, 1, "base_weights", -1), lambda one: one * 1.1)
    file.write_text(json.dumps(found))
    with pytest.raises(ic.IncompatibleError, match="about its leaves that no tree says"):
        read_dump(file)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    file, _ = saved("xgboost", tmp_path)
    file.write_text(file.read_text().replace('{"learner"', '{"version":["' + SECRET + '"],"learner"', 1))
    with pytest.raises(ic.IncompatibleError, match="a key twice"):
        read_dump(file)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"(Tree=2\n(?:.*\n)*?leaf_count=)\d+ (\d+)", r"\g<1>77 \2"),
        (r"(Tree=2\n(?:.*\n)*?internal_count=)\d+", r"\g<1>77"),
        (r"(Tree=2\n(?:.*\n)*?leaf_weight=)\S+", r"\g<1>77.7"),
        (r"(Tree=2\n(?:.*\n)*?internal_weight=)\S+", r"\g<1>77.7"),
        (r"(Tree=2\n(?:.*\n)*?leaf_value=)\S+", r"\g<1>0.777"),
        (r"(Tree=1\n(?:.*\n)*?internal_value=)\S+", r"\g<1>0.777"),
        (r"(Tree=1\n(?:.*\n)*?split_gain=)\S+", r"\g<1>77.7"),
        (r"(Tree=1\n(?:.*\n)*?split_gain=\S+)", r"\g<1> 77.7"),
        (r"version=v4", "version=v4 " + SECRET),
        (r"label_index=0", "label_index=90000 90001"),
        (r"label_index=0", "label_index=90000"),
        (r"num_class=1", "num_class=90000"),
        (r"num_tree_per_iteration=1", "num_tree_per_iteration=9"),
        (r"max_feature_idx=1", "max_feature_idx=90000"),
        (r"label_index=0", "label_index=0\naverage_output"),
        (r"tree_sizes=", "monotone_constraints=" + SECRET + "\ntree_sizes="),
        (r"tree_sizes=.*", "tree_sizes=" + SECRET),
        (r"tree_sizes=\d+", "tree_sizes=90000"),
        (r"Tree=1", "Tree=90000"),
        (r"shrinkage=0.1", "shrinkage=" + SECRET),
        (r"is_linear=0", "is_linear=0 "),
        (r"feature_infos=.*", "feature_infos=[0:8] [0:3] [90000:90001]"),
        (r"\[0:8\]", "[0:90000]"),
        (r"threshold=(\S+)", r"threshold=\g<1>00000000000000000000090000"),
        (r"leaf_value=", "leaf_value=  "),
        (r"\[data: \]", "[data: /home/ada/pay.csv]"),
        (r"\[label_gain: \]", "[label_gain: " + ",".join(["90000"] * 99) + "]"),
        (r"(feature_importances:\n\S+=)\d+", r"\g<1>90000"),
        (r"\[seed: 0\]", "[ada: 90000]"),
        (r"\[seed: 0\]", "[data_seed: 0]\n[seed: 1]\n[seed: 2]"),
        (r"(feature_importances:\n)", r"\1ada=90000\n"),
        (r"objective=binary sigmoid:1", "objective=binary sigmoid:2"),
    ],
)
def test_what_is_hidden_in_a_file_of_lightgbm_is_found(before, after, tmp_path):
    file, _ = saved("lightgbm", tmp_path)
    text = file.read_text()
    assert ic.audit(read_dump(file), FRAME, ALL, 1).ok
    changed = re.sub(before, after, text, count=1)
    assert changed != text
    if "tree_sizes" not in before:  # they would tell that something is longer
        changed = re.sub("tree_sizes=.*\n", "", changed)
    file.write_text(changed)
    with pytest.raises((ic.SchemaError, ic.IncompatibleError)):
        ic.audit(read_dump(file), FRAME, ALL, 1)


def test_objects_of_the_libraries_are_refused_with_what_to_do():
    model = lightgbm.LGBMClassifier(n_estimators=1, verbose=-1, n_jobs=1).fit(ROWS, LABELS)
    model.fitted_ = 1
    with pytest.raises(ic.IncompatibleError, match="save its trees with save_model"):
        ic.audit(model, FRAME, ALL, 5)
