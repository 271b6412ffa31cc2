"""Boosted trees of other libraries, from their files: XGBoost's JSON and LightGBM's text.

The libraries are not needed, and no code of a file is run. Every key of a file is known, and what may stand there, or
it is refused: both formats have room for text of anybody's. What files say about people is compared with the table in
`dump_models`.
``incrowd.audit(read_dump("model.json"), frame, schema, k=30)``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit.dumped_trees import LEAF, Dump, DumpedTree
from incrowd.audit.tokens import NUMBER, numbers, require_tokens, short
from incrowd.errors import IncompatibleError, InputError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_ROUNDED = 1e-5  # what single precision leaves of a product
_MOST_BYTES = 500_000_000
_AS_SAVED = "save the model again as the library does, without anything added"
_OBJECTIVES = (
    "fit it with the objective binary:logistic, multi:softprob or reg:squarederror (binary, multiclass, regression)"
)
_SETTING_NAMES = """
boosting objective metric tree_learner device_type data_sample_strategy data valid num_iterations learning_rate
num_leaves num_threads seed deterministic force_col_wise force_row_wise histogram_pool_size max_depth min_data_in_leaf
min_sum_hessian_in_leaf bagging_fraction pos_bagging_fraction neg_bagging_fraction bagging_freq bagging_seed
bagging_by_query feature_fraction feature_fraction_bynode feature_fraction_seed extra_trees extra_seed
early_stopping_round early_stopping_min_delta first_metric_only max_delta_step lambda_l1 lambda_l2 linear_lambda
min_gain_to_split drop_rate max_drop skip_drop xgboost_dart_mode uniform_drop drop_seed top_rate other_rate
min_data_per_group max_cat_threshold cat_l2 cat_smooth max_cat_to_onehot top_k monotone_constraints
monotone_constraints_method monotone_penalty feature_contri forcedsplits_filename refit_decay_rate cegb_tradeoff
cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled path_smooth interaction_constraints verbosity
saved_feature_importance_type use_quantized_grad num_grad_quant_bins quant_train_renew_leaf stochastic_rounding
linear_tree max_bin max_bin_by_feature min_data_in_bin bin_construct_sample_cnt data_random_seed is_enable_sparse
enable_bundle use_missing zero_as_missing feature_pre_filter pre_partition two_round header label_column weight_column
group_column ignore_column categorical_feature forcedbins_filename precise_float_parser parser_config_file
objective_seed num_class is_unbalance scale_pos_weight sigmoid boost_from_average reg_sqrt alpha fair_c
poisson_max_delta_step tweedie_variance_power lambdarank_truncation_level lambdarank_norm label_gain
lambdarank_position_bias_regularization eval_at multi_error_top_k auc_mu_weights num_machines local_listen_port
time_out machine_list_filename machines gpu_platform_id gpu_device_id gpu_device_id_list gpu_use_dp num_gpu
"""
_SETTINGS = frozenset(_SETTING_NAMES.split())
_WORD_NAMES = """
gbdt gbrt dart goss serial feature data voting cpu gpu cuda bagging basic intermediate advanced binary multiclass
softmax multiclassova regression regression_l2 l2 mse mean_squared_error rmse l1 mae auc binary_logloss binary_error
multi_logloss multi_error average_precision None none na true false
"""
_WORDS = frozenset(_WORD_NAMES.split())
_MOST_ENTRIES = 64


def read_dump(path: str | Path) -> Dump:
    """Read a model of XGBoost (`.json`) or LightGBM (`.txt`) from its file."""
    path = Path(path)
    if not path.is_file():
        fact = f"There is no file '{path}'"
        raise InputError(fact, "give the file that the model was saved to")
    if path.stat().st_size > _MOST_BYTES:
        fact = f"'{path.name}' is larger than a model file that the audit reads"
        raise InputError(fact, "audit a model with fewer trees")
    try:
        text = path.read_text(encoding="utf-8")
        if text.startswith("tree\n"):
            return _from_lightgbm(text)
        return _from_xgboost(json.loads(text, object_pairs_hook=_once, parse_float=short(float), parse_int=short(int)))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        fact = f"'{path.name}' cannot be read as a model of XGBoost or LightGBM: {type(error).__name__}"
        raise InputError(fact, "save it with save_model, as JSON (XGBoost) or text (LightGBM)") from None


def _only(found: Mapping[str, Any], known: str, where: str) -> None:
    """Refuse keys that are not known: a file has room for anything."""
    foreign = sorted(set(found) - set(known.split()))
    if foreign:
        fact = f"The file holds '{foreign[0][:40]}' in {where}, which the audit does not understand"
        raise IncompatibleError(fact, _AS_SAVED)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: what stands first is read by nobody."""
    found = dict(pairs)
    if len(found) != len(pairs):
        fact = "The file has a key twice in one place"
        raise IncompatibleError(fact, _AS_SAVED)
    return found


def _from_xgboost(found: dict[str, Any]) -> Dump:
    _only(found, "learner version", "the file")
    learner = found["learner"]
    _only(
        learner, "attributes feature_names feature_types gradient_booster learner_model_param objective", "the learner"
    )
    _only(learner["attributes"], "best_iteration best_score scikit_learn", "the attributes")
    _only(learner["objective"], "name reg_loss_param softmax_multiclass_param", "the objective")
    _only(learner["objective"].get("reg_loss_param", {}), "scale_pos_weight", "the objective")
    _only(learner["objective"].get("softmax_multiclass_param", {}), "num_class", "the objective")
    shape = learner["learner_model_param"]
    _only(shape, "base_score boost_from_average num_class num_feature num_target", "the shape of the model")
    booster = learner["gradient_booster"]
    _only(booster, "model name", "the booster")
    if booster.get("name") != "gbtree" or shape.get("num_target", "1") != "1":
        fact = "The file is not of boosted trees with one target"
        raise IncompatibleError(fact, "audit a model of the booster gbtree")
    _only(booster["model"], "cats gbtree_model_param iteration_indptr tree_info trees", "the booster")
    _only(booster["model"].get("cats", {}), "enc feature_segments sorted_idx", "the categories")
    _only(booster["model"]["gbtree_model_param"], "num_parallel_tree num_trees", "the booster")
    _require_values(found["version"], learner, shape, booster["model"])
    objective = _objective(learner["objective"]["name"])
    made = tuple(_xgboost_tree(one, int(shape["num_feature"])) for one in booster["model"]["trees"])
    _require_one_step(booster["model"]["trees"])
    stage = booster["model"]["tree_info"]
    n_per_stage, n_trees = max(1, int(shape["num_class"])), len(made)
    whole = (stage, booster["model"].get("iteration_indptr", []))
    if [one["id"] for one in booster["model"]["trees"]] != list(range(n_trees)):
        fact = "The trees of the file are not numbered one after another"
        raise IncompatibleError(fact, _AS_SAVED)
    if whole[0] != [i % n_per_stage for i in range(n_trees)] or whole[1] not in (
        [],
        [*range(0, n_trees + 1, n_per_stage)],
    ):
        fact = "The stages of the model do not have one tree for each class"
        raise IncompatibleError(fact, "fit it with num_parallel_tree = 1")
    base = np.ravel(np.array(json.loads(shape["base_score"]), np.float64))
    base = np.log(base / (1 - base)) if objective == "two classes" else base
    start = tuple((base if len(base) == n_per_stage else np.repeat(base, n_per_stage)).tolist())
    names = tuple(map(str, learner["feature_names"]))
    return Dump("XGBoost", objective, start, made, n_per_stage, int(shape["num_feature"]), names)


def _objective(name: str) -> str:
    known = {
        "binary:logistic": "two classes", "multi:softprob": "classes", "multi:softmax": "classes",
        "reg:squarederror": "a number", "binary sigmoid:1": "two classes", "regression": "a number",
    }  # fmt: skip
    objective = "classes" if re.fullmatch(r"multiclass num_class:\d+", name) else known.get(name)
    if objective is None:
        fact = f"The audit does not know the objective {name[:40]!r}"
        raise IncompatibleError(fact, _OBJECTIVES)
    return objective


def _require_values(version: Any, learner: dict[str, Any], shape: dict[str, Any], model: dict[str, Any]) -> None:  # noqa: ANN401
    """Refuse what XGBoost does not write at the places that the trees do not need."""
    if any(len(part) for part in model.get("cats", {}).values()):
        fact = "The file holds a list of categories"
        raise IncompatibleError(fact, "code categories before the model")
    if set(learner["feature_types"]) - {"float", "int", "i", "q"}:
        fact = "The file has types of columns that are no numbers"
        raise IncompatibleError(fact, "code categories before the model")
    count, n_trees, n = r"\d{1,6}", str(len(model["trees"])), int(shape["num_feature"])
    patterns = {
        "best_iteration": count, "best_score": NUMBER, "num_class": count, "num_feature": count, "num_target": "1",
        "scikit_learn": r'\{"_estimator_type": "(classifier|regressor)"\}', "boost_from_average": "[01]",
        "base_score": rf"{NUMBER}|\[{NUMBER}(,{NUMBER})*\]", "num_trees": n_trees, "num_parallel_tree": "[01]",
        "scale_pos_weight": NUMBER,
    }  # fmt: skip
    objective = learner["objective"]
    said = {**learner["attributes"], **shape, **model["gbtree_model_param"], **objective.get("reg_loss_param", {})}
    require_tokens(said | objective.get("softmax_multiclass_param", {}), patterns)
    require_tokens({"version": ".".join(map(str, version))}, {"version": r"\d{1,3}\.\d{1,3}\.\d{1,3}"})
    columns = [learner["feature_names"], learner["feature_types"]]
    if any(len(part) not in (0, n) for part in columns) or said["base_score"].count(",") > int(shape["num_class"]):
        fact = "The file has more names, types or figures of columns than columns"
        raise IncompatibleError(fact, _AS_SAVED)


def _require_one_step(trees: list[dict[str, Any]]) -> None:
    """Refuse leaves whose values before they are shrunk are not in the same proportion in all trees."""
    pairs = [
        (base, value)
        for one in trees
        if len(one["base_weights"]) > 1
        for base, value, left in zip(one["base_weights"], one["split_conditions"], one["left_children"], strict=True)
        if left == LEAF
    ]
    before, after = np.array(pairs or [(0.0, 0.0)], np.float64).T
    if (before == after).all():  # as the updaters by histograms write them
        return
    step = float(after @ before / (before @ before)) if before.any() else 0.0
    if not 0 < step < 1 or np.abs(after - step * before).max() > _ROUNDED * np.abs(after).max():
        raise _about_leaves()


def _about_leaves() -> IncompatibleError:
    fact = "A tree of the file says something about its leaves that no tree says"
    return IncompatibleError(fact, _AS_SAVED)


def _xgboost_tree(one: dict[str, Any], n_columns: int) -> DumpedTree:
    known = (
        "base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children "
        "loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param"
    )
    _only(one, known, "a tree")
    n = len(one["left_children"])
    of_nodes = [one[name] for name in known.split() if name not in ("id", "tree_param") and "categories" not in name]
    if any(len(part) != n or any(type(v) not in (int, float, bool) for v in part) for part in of_nodes):
        fact = "A tree of the file does not have one number for each node"
        raise IncompatibleError(fact, _AS_SAVED)
    if any(one["split_type"]) or one["categories"] or one["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        fact = "A tree of the file tests categories, or predicts several numbers"
        raise IncompatibleError(fact, "code categories before the model, and predict one column")
    left, right = (np.asarray(one[name], np.int64) for name in ("left_children", "right_children"))
    _require_whole(left, right)
    patterns = {"num_deleted": "0", "num_feature": str(n_columns), "num_nodes": str(n), "size_leaf_vector": "[01]"}
    require_tokens(one["tree_param"], patterns)
    feature, conditions = np.asarray(one["split_indices"], np.int64), np.asarray(one["split_conditions"], np.float64)
    is_leaf, parents = left == LEAF, np.asarray(one["parents"], np.int64)
    above = np.full(n, 2**31 - 1)
    above[left[~is_leaf]] = above[right[~is_leaf]] = np.flatnonzero(~is_leaf)
    values, gains = (np.asarray(one[name], np.float64) for name in ("base_weights", "loss_changes"))
    if n == 1 and not 0 <= conditions[0] / (values[0] or np.inf) <= 1:  # it may not be shrunk yet
        raise _about_leaves()
    values = np.where(is_leaf, conditions, values)
    missing = np.asarray(one["default_left"], np.int64)
    told = (feature[is_leaf], missing[is_leaf], gains[is_leaf], missing // 2)
    listed = any(one[name] for name in one if name.startswith("categories"))
    if (parents != above).any() or any(part.any() for part in told) or listed:
        raise _about_leaves()
    return DumpedTree(
        feature, conditions, left, right, "<", missing, values, None, np.asarray(one["sum_hessian"], np.float64), gains,
    )  # fmt: skip


def _require_whole(left: Int64, right: Int64) -> None:
    """Refuse nodes that nobody can reach."""
    splits = left != LEAF
    if sorted([*left[splits].tolist(), *right[splits].tolist()]) != list(range(1, len(left))):
        fact = "A tree of the file has nodes that nobody can reach"
        raise IncompatibleError(fact, _AS_SAVED)


def _from_lightgbm(text: str) -> Dump:
    head, *parts = re.split(r"^Tree=\d+$", text, flags=re.MULTILINE)
    starts = [found.start() for found in re.finditer(r"^Tree=\d+$|^end of trees$", text, flags=re.MULTILINE)]
    last, _, rest = parts[-1].partition("end of trees")
    header = _pairs(head.removeprefix("tree\n"))
    known = "version num_class num_tree_per_iteration label_index max_feature_idx objective feature_names feature_infos"
    _only(header, known + " tree_sizes monotone_constraints", "the header")
    names, n_trees = tuple(header["feature_names"].split()), len(parts)
    if re.findall(r"^Tree=(\d+)$", text, flags=re.MULTILINE) != [str(i) for i in range(n_trees)]:
        fact = "The trees of the file are not numbered one after another"
        raise IncompatibleError(fact, _AS_SAVED)
    sizes = " ".join(str(end - start) for start, end in pairwise(starts))
    patterns = {
        "version": r"v\d", "num_class": r"\d{1,6}", "num_tree_per_iteration": header["num_class"],
        "label_index": r"\d{1,6}", "max_feature_idx": str(len(names) - 1), "tree_sizes": sizes,
        "monotone_constraints": rf"(-?[01] ?){{{len(names)}}}",
    }  # fmt: skip
    require_tokens({name: header[name] for name in patterns if name in header}, patterns)
    is_named = any(name != f"Column_{i}" for i, name in enumerate(names))
    ranges = tuple(_range(one) for one in header.get("feature_infos", "").split())
    made = tuple(_lightgbm_tree(_pairs(part)) for part in [*parts[:-1], last])
    if len(ranges) not in (0, len(names)) or int(header["label_index"]) > len(names):
        fact = "The file has more ranges of columns than columns"
        raise IncompatibleError(fact, _AS_SAVED)
    tested = Counter(names[i] for tree in made for i in tree.feature[tree.left != LEAF].tolist())
    _require_known_end(rest, tested)
    n_per_stage, objective = int(header["num_tree_per_iteration"]), _objective(header["objective"])
    return Dump("LightGBM", objective, None, made, n_per_stage, len(names), names if is_named else (), ranges)


def _require_known_end(text: str, tested: Mapping[str, int]) -> None:
    """Refuse what is behind the trees but importances, parameters and the word that there are no categories."""
    seen = set[str]()
    for line in filter(None, map(str.strip, text.splitlines())):
        setting, importance = (re.fullmatch(form, line) for form in (r"\[(\w+):\s?(.*)\]", r"(\S{1,100})=(\d{1,9})"))
        is_known = line in ("feature_importances:", "parameters:", "end of parameters", "pandas_categorical:null",
                            "pandas_categorical:[]")  # fmt: skip
        is_known |= setting is not None and setting[1] in _SETTINGS and _is_setting(setting[2])
        is_known |= importance is not None and int(importance[2]) == tested.get(importance[1])
        what = line if setting is None and importance is None else line.split(":" if setting else "=")[0]
        if not is_known or what in seen:
            fact = "The file holds more behind its trees than importances and parameters, such as lists of categories"
            hint = "code categories before the model, and save it again; or take out what is behind 'end of trees'"
            raise IncompatibleError(fact, hint)
        seen.add(what)


def _is_setting(text: str) -> bool:
    """Tell whether a parameter is empty, a few numbers, or a word of LightGBM's own: no name of a file."""
    given = text.strip().split(",")
    return len(given) <= _MOST_ENTRIES and all(
        one in _WORDS or re.fullmatch(rf"({NUMBER})?", one) is not None for one in given
    )


def _range(text: str) -> tuple[float, float] | None:
    if text == "none":
        return None
    found = re.fullmatch(rf"\[({NUMBER}):({NUMBER})\]", text)
    if found is None:
        fact = "The file lists categories of a column"
        raise IncompatibleError(fact, "code categories before the model, and save it again")
    return float(found[1]), float(found[2])


def _pairs(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    if len(pairs) != len(lines):
        fact = "The file has lines that are no settings, which the audit does not understand"
        raise IncompatibleError(fact, _AS_SAVED)
    return pairs


def _lightgbm_tree(one: dict[str, str]) -> DumpedTree:
    known = (
        "num_leaves num_cat split_feature split_gain threshold decision_type left_child right_child leaf_value "
        "leaf_weight leaf_count internal_value internal_weight internal_count is_linear shrinkage"
    )
    _only(one, known, "a tree")
    if one["num_cat"] != "0" or one.get("is_linear", "0") != "0":
        fact = "A tree of the file tests categories, or has linear models in its leaves"
        raise IncompatibleError(fact, "code categories before the model, and fit without linear_tree")
    count = r"\d{1,6}"
    patterns = {"num_leaves": count, "num_cat": "0", "is_linear": "0", "shrinkage": NUMBER}
    require_tokens({name: one[name] for name in patterns if name in one}, patterns)
    n_leaves = int(one["num_leaves"])
    n_inner = n_leaves - 1

    def row(name: str, n: int) -> Float64:
        found = np.array(numbers(one.get(name, "")), np.float64)
        if len(found) != n:
            fact = f"A tree of the file has {len(found)} entries of {name}, and not {n}"
            raise IncompatibleError(fact, _AS_SAVED)
        return found

    def place(name: str) -> Int64:  # leaves stand behind the inner nodes, and are written as -1, -2, ...
        given = row(name, n_inner).astype(np.int64)
        return np.where(given < 0, n_inner + ~given, given)

    none = np.full(n_leaves, LEAF)
    left, right = (np.concatenate([place(name), none]) for name in ("left_child", "right_child"))
    _require_whole(left, right)
    kinds = row("decision_type", n_inner).astype(np.int64)
    # LightGBM: bit 1 missing goes left; bits 2 and 3: 0 none (missing counts as 0), 1 zero is missing, 2 NaN is.
    missing = ((kinds >> 1) & 1) | np.where((kinds >> 2) & 3 == 0, 2, 0) | np.where((kinds >> 2) & 3 == 1, 4, 0)
    empty = np.zeros(n_leaves)

    def both(inner: str, leaf: str) -> Float64:
        return np.concatenate([row(inner, n_inner), row(leaf, n_leaves)])

    return DumpedTree(
        np.concatenate([row("split_feature", n_inner), empty]).astype(np.int64),
        np.concatenate([row("threshold", n_inner), empty]), left, right, "<=", np.concatenate([missing, none]),
        both("internal_value", "leaf_value"), both("internal_count", "leaf_count").astype(np.int64),
        both("internal_weight", "leaf_weight"), np.concatenate([row("split_gain", n_inner), empty]),
    )  # fmt: skip
