"""Boosted trees of other libraries, from their files: XGBoost's JSON and LightGBM's text.

The libraries are not needed, and no code of a file is run. Every key of a file is known, or it is refused: both formats
have room for text of anybody's. What files say about people is compared with the table in `dump_models`.
``incrowd.audit(read_dump("model.json"), frame, schema, k=30)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit.dumped_trees import LEAF, Dump, DumpedTree
from incrowd.errors import IncompatibleError, InputError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_MOST_TEXT = 200
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
        return _from_xgboost(json.loads(text, object_pairs_hook=_once))
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
    notes = {**learner["attributes"], "version": found["version"], **shape, "types": learner["feature_types"][:0]}
    if any(len(part) for part in booster["model"].get("cats", {}).values()) or _is_long(notes):
        fact = "The file holds a list of categories, or notes"
        raise IncompatibleError(fact, "code categories before the model; save it without attributes")
    if set(learner["feature_types"]) - {"float", "int", "i", "q"}:
        fact = "The file has types of columns that are no numbers"
        raise IncompatibleError(fact, "code categories before the model")
    made = tuple(_xgboost_tree(one) for one in booster["model"]["trees"])
    stage = booster["model"]["tree_info"]
    n_per_stage, n_trees = max(1, int(shape["num_class"])), len(made)
    whole = (stage, booster["model"].get("iteration_indptr", []))
    if whole[0] != [i % n_per_stage for i in range(n_trees)] or whole[1] not in (
        [],
        [*range(0, n_trees + 1, n_per_stage)],
    ):
        fact = "The stages of the model do not have one tree for each class"
        raise IncompatibleError(fact, "fit it with num_parallel_tree = 1")
    base = np.ravel(np.array(json.loads(shape["base_score"]), np.float64))
    objective = _objective(learner["objective"]["name"])
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


def _is_long(notes: Mapping[str, Any]) -> bool:
    return any(len(str(value)) > _MOST_TEXT for value in notes.values())


def _xgboost_tree(one: dict[str, Any]) -> DumpedTree:
    known = (
        "base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children "
        "loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param"
    )
    _only(one, known, "a tree")
    left, right = (np.asarray(one[name], np.int64) for name in ("left_children", "right_children"))
    if any(one["split_type"]) or one["categories"] or one["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        fact = "A tree of the file tests categories, or predicts several numbers"
        raise IncompatibleError(fact, "code categories before the model, and predict one column")
    _require_whole(left, right)
    _only(one["tree_param"], "num_deleted num_feature num_nodes size_leaf_vector", "a tree")
    feature, conditions = np.asarray(one["split_indices"], np.int64), np.asarray(one["split_conditions"], np.float64)
    is_leaf, parents = left == LEAF, np.asarray(one["parents"], np.int64)
    above = np.full(len(left), 2**31 - 1)
    above[left[~is_leaf]] = above[right[~is_leaf]] = np.flatnonzero(~is_leaf)
    values, gains = (np.asarray(one[name], np.float64) for name in ("base_weights", "loss_changes"))
    if len(left) == 1 and 0 <= conditions[0] / (values[0] or np.inf) <= 1:  # one that was not shrunk yet
        values = conditions
    told = (
        feature[is_leaf],
        np.asarray(one["default_left"])[is_leaf],
        gains[is_leaf],
        values[is_leaf] - conditions[is_leaf],
    )
    if (
        (parents != above).any()
        or any(part.any() for part in told)
        or set(map(len, _lists(one, known))) - {0, len(left)}
    ):
        fact = "A tree of the file says something about its leaves that no tree says"
        raise IncompatibleError(fact, _AS_SAVED)
    return DumpedTree(
        feature, conditions, left, right, "<", np.asarray(one["default_left"], np.int64), values, None,
        np.asarray(one["sum_hessian"], np.float64), gains,
    )  # fmt: skip


def _lists(one: dict[str, Any], known: str) -> list[list[Any]]:
    return [one[name] for name in known.split() if isinstance(one.get(name), list)]


def _require_whole(left: Int64, right: Int64) -> None:
    """Refuse nodes that nobody can reach."""
    splits = left != LEAF
    if sorted([*left[splits].tolist(), *right[splits].tolist()]) != list(range(1, len(left))):
        fact = "A tree of the file has nodes that nobody can reach"
        raise IncompatibleError(fact, _AS_SAVED)


def _from_lightgbm(text: str) -> Dump:
    head, *parts = re.split(r"^Tree=\d+$", text, flags=re.MULTILINE)
    last, _, rest = parts[-1].partition("end of trees")
    header = _pairs(head.removeprefix("tree\n"))
    known = "version num_class num_tree_per_iteration label_index max_feature_idx objective feature_names feature_infos"
    _only(header, known + " tree_sizes monotone_constraints", "the header")
    names = tuple(header["feature_names"].split())
    numbers = "version num_class num_tree_per_iteration label_index max_feature_idx"
    if not all(re.fullmatch(r"v?\d{1,9}", header[name]) for name in numbers.split()):
        fact = "The header of the file has text where numbers stand"
        raise IncompatibleError(fact, _AS_SAVED)
    _require_known_end(rest, set(names))
    is_named = any(name != f"Column_{i}" for i, name in enumerate(names))
    ranges = tuple(_range(one) for one in header.get("feature_infos", "").split())
    made = tuple(_lightgbm_tree(_pairs(part)) for part in [*parts[:-1], last])
    n_per_stage, objective = int(header["num_tree_per_iteration"]), _objective(header["objective"])
    return Dump("LightGBM", objective, None, made, n_per_stage, len(names), names if is_named else (), ranges)


def _require_known_end(text: str, names: set[str]) -> None:
    """Refuse what is behind the trees but importances, parameters and the word that there are no categories."""
    seen = set[str]()
    for line in filter(None, map(str.strip, text.splitlines())):
        setting, importance = (
            re.fullmatch(form, line) for form in (r"\[(\w+):\s?(\S{0,200})\]", r"(\S{1,100})=\d{1,9}")
        )
        is_known = line in ("feature_importances:", "parameters:", "end of parameters", "pandas_categorical:null",
                            "pandas_categorical:[]")  # fmt: skip
        is_known |= setting is not None and setting[1] in _SETTINGS
        is_known |= importance is not None and importance[1] in names
        what = line if setting is None and importance is None else line.split(":" if setting else "=")[0]
        if not is_known or what in seen:
            fact = "The file holds more behind its trees than importances and parameters, such as lists of categories"
            raise IncompatibleError(fact, "code categories before the model, and save it again")
        seen.add(what)


def _range(text: str) -> tuple[float, float] | None:
    if text == "none":
        return None
    found = re.fullmatch(r"\[([^:\]]+):([^:\]]+)\]", text)
    if found is None:
        fact = "The file lists categories of a column"
        raise IncompatibleError(fact, "code categories before the model, and save it again")
    return float(found[1]), float(found[2])


def _pairs(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    if len(pairs) != len(lines) - lines.count("average_output"):
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
    n_leaves = int(one["num_leaves"])
    n_inner = n_leaves - 1

    def row(name: str, n: int) -> Float64:
        found = np.array(one.get(name, "").split(), np.float64)
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
