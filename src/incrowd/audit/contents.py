"""What a fitted model may hold: every attribute of every estimator inside it is known, or the audit refuses.

Types are compared exactly: a subclass may hold more. Parameters are numbers and names; fitted attributes are listed
here by type, each with what it has to be. Some tell about single rows, to whoever knows the order of the table: labels,
out-of-bag votes, weights of rows, and the seeds by which rows were drawn. Those can be taken out, and `repair` does it.
Whatever is on no list is refused by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from incrowd.audit.steps import is_bare, is_plain, is_short, kind_of, require_no_notes, require_valid
from incrowd.errors import IncompatibleError


@dataclass(frozen=True)
class Kind:
    """A type of model that is understood: how it is audited, and its fitted attributes with what each has to be."""

    audit: str
    attributes: dict[str, str]


_FITTED = {
    "n_features_in_": "number", "feature_names_in_": "names", "_n_features_out": "number",
    "_sklearn_output_config": "plain",
}  # fmt: skip
_CLASSES = {"classes_": "classes", "n_classes_": "number", "class_weight": "plain"}
_TREE = {**_FITTED, **_CLASSES, "n_outputs_": "number", "max_features_": "number", "tree_": "tree"}
_ENSEMBLE = {
    **_FITTED, **_CLASSES, "n_outputs_": "number", "estimator": "template", "estimator_": "template",
    "estimator_params": "plain", "estimators_": "members", "_n_samples": "number",
    "oob_score_": "number", "oob_decision_function_": "rows", "oob_prediction_": "rows", "_sample_weight": "rows",
}  # fmt: skip
_FOREST = _ENSEMBLE | {"_n_samples_bootstrap": "number"}
_BAGGING = _ENSEMBLE | {
    "_max_samples": "number", "_max_features": "number", "estimators_features_": "columns", "_seeds": "rows",
}  # fmt: skip
_ADA = _ENSEMBLE | {"estimator_weights_": "curve", "estimator_errors_": "curve"}
_BOOSTING = _ENSEMBLE | {
    "n_trees_per_iteration_": "number", "max_features_": "number", "_loss": "loss", "init_": "start",
    "train_score_": "curve", "oob_improvement_": "rows", "oob_scores_": "rows", "_rng": "rows",
    "n_estimators_": "number", "alpha": "number",
}  # fmt: skip
_HISTOGRAMS = {
    **_FITTED, **_CLASSES, "is_categorical_": "plain", "_preprocessor": "nothing", "_is_categorical_remapped": "plain",
    "_label_encoder": "encoder", "n_trees_per_iteration_": "number", "_random_seed": "number",
    "_feature_subsample_rng": "rows", "_n_features": "number", "_loss": "loss", "do_early_stopping_": "number",
    "_use_validation_data": "number", "_bin_mapper": "bins", "_baseline_prediction": "curve", "_predictors": "members",
    "_scorer": "nothing", "train_score_": "rows", "validation_score_": "rows", "_in_fit": "number",
}  # fmt: skip
_CENTROIDS = {
    **_FITTED, "_tol": "number", "_n_init": "number", "_algorithm": "plain", "_n_threads": "number",
    "cluster_centers_": "table", "labels_": "rows", "inertia_": "number", "n_iter_": "number",
    "_batch_size": "number", "_init_size": "number", "_counts": "curve", "_ewa_inertia": "number",
    "_ewa_inertia_min": "number", "_no_improvement": "number", "_n_since_last_reassign": "number", "n_steps_": "number",
    "_n_clusters": "number",
}  # fmt: skip
_LINEAR = _FITTED | _CLASSES | {
    "coef_": "table", "intercept_": "curve", "n_iter_": "curve", "rank_": "number", "singular_": "rows",
    "dual_gap_": "number", "l1_ratio": "number", "solver_": "plain", "sparse_coef_": "nothing",
}  # fmt: skip
_BAYES = _FITTED | _CLASSES | {
    "class_count_": "curve", "class_prior_": "curve", "class_log_prior_": "curve", "theta_": "table", "var_": "table",
    "epsilon_": "number", "feature_count_": "table", "feature_log_prob_": "tables", "category_count_": "tables",
    "n_categories_": "curve", "feature_all_": "curve",
}  # fmt: skip


@cache
def known_models() -> dict[type, Kind]:
    """Return the types that the audit understands."""
    from sklearn import cluster, ensemble, linear_model, naive_bayes, svm, tree  # noqa: PLC0415 - as the model is there

    listed = {
        "tree": (_TREE, tree, "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"),
        "forest": (
            _FOREST, ensemble,
            "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor",
        ),
        "bagging": (_BAGGING, ensemble, "BaggingClassifier BaggingRegressor"),
        "ada": (_ADA, ensemble, "AdaBoostClassifier"),
        "boosting": (_BOOSTING, ensemble, "GradientBoostingClassifier GradientBoostingRegressor"),
        "histograms": (_HISTOGRAMS, ensemble, "HistGradientBoostingClassifier HistGradientBoostingRegressor"),
        "centroids": (_CENTROIDS, cluster, "KMeans MiniBatchKMeans"),
        "sums": (_LINEAR, linear_model, "LogisticRegression LinearRegression Ridge Lasso ElasticNet"),
        "sums of margins": (_LINEAR, svm, "LinearSVC"),
        "sums of values": (_BAYES, naive_bayes, "GaussianNB CategoricalNB BernoulliNB MultinomialNB ComplementNB"),
    }  # fmt: skip
    return {
        getattr(module, name): Kind(audit.split()[0], attributes)
        for audit, (attributes, module, names) in listed.items()
        for name in names.split()
    }


# Why there is no audit of some models that people ask about.
_REASONS = {
    "KNeighborsClassifier": "it holds the rows that it was fitted with",
    "KNeighborsRegressor": "it holds the rows that it was fitted with",
    "RadiusNeighborsClassifier": "it holds the rows that it was fitted with",
    "SVC": "its support vectors are rows of the table",
    "SVR": "its support vectors are rows of the table",
    "GaussianProcessClassifier": "it holds the rows that it was fitted with",
    "MLPClassifier": "nobody can tell from its weights whose rows they remember",
    "MLPRegressor": "nobody can tell from its weights whose rows they remember",
    **dict.fromkeys(
        (
            "lightgbm.sklearn.LGBMClassifier",
            "lightgbm.sklearn.LGBMRegressor",
            "lightgbm.basic.Booster",
            "xgboost.sklearn.XGBClassifier",
            "xgboost.sklearn.XGBRegressor",
            "xgboost.core.Booster",
        ),
        "save its trees with save_model, and audit the file (incrowd.audit.dumps.read_dump)",
    ),
    **dict.fromkeys(
        ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
        "it holds results of fits to parts of the table; audit its best_estimator_, and share that alone",
    ),
    **dict.fromkeys(
        ("FixedThresholdClassifier", "TunedThresholdClassifierCV", "FrozenEstimator", "TransformedTargetRegressor"),
        "audit the estimator inside it (estimator_, estimator or regressor_), and share that alone",
    ),
    **dict.fromkeys(
        ("VotingClassifier", "VotingRegressor"),
        "audit its estimators_ as a list, fitted with the class as it is in the table, and share these",
    ),
    **dict.fromkeys(
        ("CalibratedClassifierCV", "StackingClassifier", "StackingRegressor"),
        "its parts were fitted with other parts of the table, and what joins them with what these say of single rows",
    ),
    "AdaBoostRegressor": "its trees were fitted with draws that cannot be repeated",
}


def kind_of_model(model: Any) -> Kind:  # noqa: ANN401
    """Return how a model is audited; refuse a type that is not listed."""
    found = known_models().get(type(model))
    if found is not None:
        return found
    reason = why_not(model)
    fact = f"There is no audit for models of type {kind_of(model)}{f': {reason}' if reason else ''}"
    raise IncompatibleError(
        fact, "it knows trees, forests, boosted trees, k-means, linear models, naive Bayes, and rules (audit_rules)"
    )


def why_not(model: Any) -> str | None:  # noqa: ANN401
    """Return why there is no audit of a type that people ask about; ``None`` for any other."""
    return _REASONS.get(kind_of(model))


def by_row(model: Any) -> list[str]:  # noqa: ANN401
    """Return the attributes of a model that tell about rows, and refuse one that holds what is not understood."""
    kind = kind_of_model(model)
    parameters = set(inspect.signature(type(model).__init__).parameters)
    found = []
    for name, value in vars(model).items():
        expected = kind.attributes.get(name)
        if expected is None and name in parameters:
            found += _parameter(model, name, value)
        elif expected == "rows":
            found += [] if value is None or np.size(value) == 0 else [name]
        elif expected is None or not _CHECKS[expected](value) or _is_long(model, value, expected):
            fact = f"The {kind_of(model)} holds '{name}', which the audit does not understand"
            raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
    require_valid(model)
    require_no_notes(model)
    if _draws_rows(model) and _seeded(model):
        found.append("the seeds by which rows were drawn")
    return found


def _is_long(model: Any, value: Any, expected: str) -> bool:  # noqa: ANN401
    """Tell whether figures are more than there are stages, classes, columns or clusters that they could be about."""
    if expected != "curve" and not (expected == "plain" and type(value) is np.ndarray):
        return False
    names = ("n_estimators", "max_iter", "n_clusters", "n_features_in_", "n_classes_", "n_trees_per_iteration_")
    given = [vars(model).get(name) for name in names]
    most = max([2, len(getattr(model, "classes_", ())), *(int(one) for one in given if one and _is_number(one))])
    return bool(np.size(value) > most + 1 and np.size(value) > 2 * len(np.shape(value)) * most)


def _parameter(model: Any, name: str, value: Any) -> list[str]:  # noqa: ANN401
    """Look at a parameter: one that holds rows can be taken out, and one that may hold anything is refused."""
    if name == "random_state" and type(value) in (np.random.RandomState, np.random.Generator):
        return [name]
    if name == "init" and type(value) is np.ndarray:  # centroids to begin with: rows, as a rule
        return [name]
    if name == "init" and value is not None and not isinstance(value, str):
        fact = f"There is no audit for models of type {kind_of(model)} with these parts"
        raise IncompatibleError(fact, "fit it without init, or with 'zero'")
    if _is_template(value) or (is_plain(value) and is_short(value)):
        return []
    fact = f"The parameter {name} of {kind_of(model)} is an object or text that may hold anything"
    raise IncompatibleError(fact, "give it as a number, a name or a list of them, and fit again")


def _is_template(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a parameter is an estimator of a known type that was never fitted."""
    if type(value) not in known_models():
        return False
    parameters = set(inspect.signature(type(value).__init__).parameters)
    return set(vars(value)) <= parameters | {"class_weight"} and all(
        one is None or (is_plain(one) and is_short(one)) for one in vars(value).values()
    )


def _is_start(value: Any) -> bool:  # noqa: ANN401
    """Tell whether boosting begins with nothing, or with the shares of the classes or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor  # noqa: PLC0415 - the model has loaded it

    if value is None or (isinstance(value, str) and value == "zero"):
        return True
    known = {"strategy", "random_state", "constant", "quantile", "n_features_in_", "_strategy", "sparse_output_",
             "n_outputs_", "classes_", "n_classes_", "class_prior_", "constant_"}  # fmt: skip
    return type(value) in (DummyClassifier, DummyRegressor) and all(
        name in known and is_plain(one) and is_short(one) for name, one in vars(value).items()
    )


def _is_tree(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a tree has no nodes but those that can be reached, and no tests in leaves."""
    from sklearn.tree._tree import Tree  # noqa: PLC0415 - the model has loaded it

    if type(value) is not Tree:
        return False
    splits = value.children_left >= 0
    below = np.concatenate([value.children_left[splits], value.children_right[splits]])
    is_whole = sorted(below.tolist()) == list(range(1, value.node_count))
    return is_whole and bool((value.threshold[~splits] == -2).all() and (value.feature[~splits] == -2).all())


def _is_bins(value: Any) -> bool:  # noqa: ANN401
    """Tell whether bins have nothing but borders, which `histograms` looks at, and a few figures of each column."""
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper  # noqa: PLC0415

    if type(value) is not _BinMapper:
        return False
    numbers = {"n_bins", "subsample", "random_state", "n_threads", "missing_values_bin_idx_"}
    arrays = {"is_categorical", "is_categorical_", "n_bins_non_missing_"}
    nothing = {"known_categories"}
    held = vars(value)
    borders = held.get("bin_thresholds_")
    return (
        set(held) <= numbers | arrays | nothing | {"bin_thresholds_"}
        and type(borders) is list
        and all(map(_is_numbers(1), borders))
        and all(_is_number(held.get(name)) for name in numbers)
        and all(held.get(name) is None for name in nothing)
        and all(_is_numbers(1)(held.get(name)) and np.size(held.get(name)) <= len(borders) for name in arrays)
    )


def _is_encoder(value: Any) -> bool:  # noqa: ANN401
    from sklearn.preprocessing import LabelEncoder  # noqa: PLC0415 - the model has loaded it

    return type(value) is LabelEncoder and set(vars(value)) == {"classes_"} and _CHECKS["classes"](value.classes_)


def _is_loss(value: Any) -> bool:  # noqa: ANN401
    """Tell whether a loss has nothing but its own parts, with nothing but numbers."""
    return type(value).__module__.startswith("sklearn._loss") and all(
        _is_number(one) or isinstance(one, ModuleType) or _is_loss(one) for one in _held(value)
    )


def _held(part: Any) -> list[Any]:  # noqa: ANN401
    """Return what a part of a loss holds; compiled ones, and tuples with names, may have no attributes."""
    return list(part) if isinstance(part, tuple) else list(getattr(part, "__dict__", {}).values())


def _is_number(value: Any) -> bool:  # noqa: ANN401
    return value is None or (is_plain(value) and is_short(value) and np.ndim(value) == 0 and not isinstance(value, str))


def _is_numbers(*dimensions: int) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:  # noqa: ANN401
        is_array = type(value) is np.ndarray and value.dtype.kind in "biuf" and value.ndim in dimensions
        return (is_array and is_bare(value)) or _is_number(value)

    return check


def _is_label(value: Any) -> bool:  # noqa: ANN401
    return is_plain(value) and is_short(value)


def _are_members(value: Any) -> bool:  # noqa: ANN401
    return type(value) in (list, np.ndarray) and all(type(one) is not dict for one in value)  # each by itself


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "number": _is_number,
    "plain": lambda value: is_plain(value) and (is_short(value) or getattr(value, "dtype", None) == np.bool_),
    "nothing": lambda value: value is None,
    "names": lambda value: type(value) is np.ndarray and value.ndim == 1 and is_plain(value),
    "classes": lambda value: (
        type(value) is np.ndarray and value.ndim == 1 and is_bare(value) and all(map(_is_label, value.tolist()))
    ),
    "columns": lambda value: type(value) is list and is_plain(value),
    "curve": _is_numbers(1, 2),
    "table": _is_numbers(1, 2),
    "tables": lambda value: all(map(_is_numbers(2), value if type(value) is list else [value])),
    "tree": _is_tree,
    "template": lambda value: value is None or _is_template(value),
    "members": _are_members,
    "start": _is_start,
    "loss": _is_loss,
    "bins": _is_bins,
    "encoder": _is_encoder,
}


def _draws_rows(model: Any) -> bool:  # noqa: ANN401
    """Tell whether a model was fitted with rows drawn at random, so that its seeds tell who was drawn."""
    return bool(getattr(model, "bootstrap", False)) or getattr(model, "max_samples", 1.0) not in (1.0, None)


def _seeded(model: Any) -> bool:  # noqa: ANN401
    members = getattr(model, "estimators_", [])
    own = getattr(model, "random_state", None)
    return own is not None or any(getattr(one, "random_state", None) is not None for one in members)


def without_rows(model: Any) -> Any:  # noqa: ANN401
    """Take out of a model of one's own, with members of its own, what it tells about rows."""
    kind = known_models()[type(model)]
    for name in [name for name, expected in kind.attributes.items() if expected == "rows"]:
        if vars(model).get(name) is not None:
            delattr(model, name)
    if type(vars(model).get("init")) is np.ndarray:
        model.init = "k-means++"
    if _draws_rows(model) or type(vars(model).get("random_state")) in (np.random.RandomState, np.random.Generator):
        model.random_state = None
    for member in np.ravel(np.asarray(getattr(model, "estimators_", []), dtype=object)):
        if _draws_rows(model) or type(member.random_state) in (np.random.RandomState, np.random.Generator):
            member.random_state = None
    return model
