"""A k-anonymous model in place of one that reveals people: fitted again with the same table.

Pruning the trees of a forest until their joint spans hold k people leaves little of it; a forest that learns from
crowds in the first place (`KAnonymousForestClassifier`) keeps far more. A single tree becomes a
`KAnonymousTreeClassifier`. Neither needs the preparation steps of a pipeline: both take the columns of the table.

>>> import incrowd as ic, numpy as np, polars as pl
>>> from sklearn.ensemble import RandomForestClassifier
>>> people = pl.DataFrame({"age": np.arange(40), "ill": [0] * 20 + [1] * 20})
>>> forest = RandomForestClassifier(3, random_state=0).fit(people[["age"]], people["ill"])
>>> ic.refit(forest, people, ic.Schema(quasi=["age"], sensitive="ill"), k=5)
KAnonymousForestClassifier(hierarchies={}, n_estimators=3, public=['age'])
"""

from __future__ import annotations

from typing import Any

from incrowd import io
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.learn.forest import KAnonymousForestClassifier
from incrowd.learn.tree import KAnonymousTreeClassifier
from incrowd.schema import Schema


def refit(
    model: Any,  # noqa: ANN401
    frame: Any,  # noqa: ANN401
    schema: Schema,
    k: int,
    *,
    l: float | None = None,
    max_confidence: float | None = None,
    random_state: int | None = None,
) -> KAnonymousForestClassifier | KAnonymousTreeClassifier:
    """Fit a k-anonymous model with a table, of the kind and size of another model.

    Parameters
    ----------
    model
        A classifier of scikit-learn's kind, or a pipeline that ends in one: one tree becomes a k-anonymous tree, what
        has several a k-anonymous forest of as many, anything else a forest of 100 trees.
    frame
        The table that it was fitted with, with the class.
    schema
        Quasi-identifiers and identifiers are public; its hierarchies generalize them. The class is the target.
    k, l, max_confidence
        What every crowd has to keep; see `KAnonymousTreeClassifier`.
    random_state
        Seed of the forest; it tells nothing about people.
    """
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "classes_"):
        fact = f"The {type(last).__name__} is no fitted classifier"
        raise IncompatibleError(fact, "fit KAnonymousClusters in place of k-means; for numbers there is nothing yet")
    people = io.to_polars(frame)
    target = schema.target
    if target is None or target not in people.columns:
        fact = "The table has no column of the class"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    names = getattr(model, "feature_names_in_", getattr(last, "feature_names_in_", None))
    columns = [name for name in people.columns if name != target] if names is None else list(map(str, names))
    if missing := sorted(set(columns) - set(people.columns)):
        fact = f"The model was fitted with columns that the table does not have: {', '.join(map(repr, missing))}"
        raise SchemaError(fact, "give the table that the model was fitted with")
    public = [name for name in columns if name in schema.quasi or name in schema.identifiers]
    specs = {name: schema.attributes[name].hierarchy for name in public}
    limits: dict[str, Any] = {
        "public": public,
        "hierarchies": {name: spec for name, spec in specs.items() if spec is not None},
        "l": l,
        "max_confidence": max_confidence,
    }
    members = getattr(last, "estimators_", None)
    if members is None and hasattr(last, "tree_"):
        made: Any = KAnonymousTreeClassifier(k, **limits)
    else:
        limits |= {} if members is None else {"n_estimators": len(members)}
        made = KAnonymousForestClassifier(k, random_state=random_state, **limits)
    return made.fit(people[columns], people[target])  # type: ignore[no-any-return]
