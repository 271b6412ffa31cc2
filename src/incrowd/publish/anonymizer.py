"""A publisher as a step of a scikit-learn pipeline: training rows are published, other rows are recoded alike.

`fit` publishes the rows that it gets, all columns as quasi-identifiers and y as the class. `transform` recodes rows by
the cuts of that release, and gives numbers: of a number or date its expected value within its cell, of a name the
probability of each value (`RowRelease.soft`). So a pipeline of an anonymizer and any classifier, in cross-validation,
tells what the classifier keeps when it learns from a release and is asked about people who are shown as coarsely.

A method whose recoding is not a function of the row, such as NSVDist, has no `transform`, and its tags say so: fit it,
and take `release_`. Counts are of people, so rows have no weights, and there is no metadata to route.

A fitted anonymizer holds what only the owner may have: hand out ``release_.save(folder)``, never the object.

>>> import incrowd as ic, numpy as np
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.tree import DecisionTreeClassifier
>>> ages = np.arange(20, 60).reshape(-1, 1)
>>> model = make_pipeline(ic.Anonymizer(ic.Mondrian(k=5)), DecisionTreeClassifier())
>>> model.fit(ages, ages.ravel() > 40).score(ages, ages.ravel() > 40)
0.975
>>> model.set_params(anonymizer__publisher__k=10)[0].publisher.k
10
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from incrowd.errors import IncompatibleError, InfeasibleError, SchemaError
from incrowd.hierarchy import Intervals, Spec
from incrowd.hierarchy.hierarchy import type_of
from incrowd.learn.columns import Column, checked_classes, columns_of, numbers_of
from incrowd.publish.publisher import Publisher
from incrowd.publish.registry import default_method, make
from incrowd.release import RowRelease
from incrowd.schema import Schema

_K = 5


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that publishes what it is fitted with, and recodes other rows by the cuts of that release.

    Parameters
    ----------
    publisher
        The method; by default the one of `incrowd.publish`, with k = 5.
    hierarchies
        How columns are generalized, by name or number, as in a schema; by default numbers and dates in ranges, and
        names as they are or not at all.
    random_state
        Seed of the release; see `Publisher.publish`.

    Attributes
    ----------
    release_
        The release of the training rows, verified, with the private part.
    """

    def __init__(
        self,
        publisher: Publisher[Any] | None = None,
        *,
        hierarchies: Mapping[Column, Spec | None] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.publisher = publisher
        self.hierarchies = hierarchies
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        if not self._recodes():
            tags.transformer_tags = None
        return tags

    def fit(self, X: Any, y: Any = None) -> Anonymizer:  # noqa: ANN401
        """Publish rows.

        Parameters
        ----------
        X
            An array, or a polars, pandas or pyarrow frame: one row per person.
        y
            The class of each person, which the release shows and, if asked for, protects.
        """
        columns = columns_of(self, X, reset=True)
        names = [column.name for column in columns]
        given = dict(
            zip(
                numbers_of(self.hierarchies or {}, names, "hierarchies"), (self.hierarchies or {}).values(), strict=True
            )
        )
        specs = {
            name: given.get(m, Intervals() if type_of(column) in ("int", "float", "date") else None)
            for m, (name, column) in enumerate(zip(names, columns, strict=True))
        }
        label = next(name for name in ("class", *(f"class_{m}" for m in range(len(names)))) if name not in names)
        if y is not None:
            columns = [*columns, pl.Series(label, checked_classes(columns, y, type(self).__name__))]
        schema = Schema(quasi=specs, sensitive=None if y is None else label)
        publisher = make(default_method(schema), k=_K) if self.publisher is None else self.publisher
        try:
            self.release_ = publisher.publish(pl.DataFrame(columns), schema, seed=self.random_state)
        except (IncompatibleError, SchemaError) as error:
            if y is None:
                fact = f"{publisher.name} requires y to be passed, but the target y is None"
                raise ValueError(fact) from error
            raise
        except InfeasibleError as error:
            fact = f"{error.fact}: n_samples = {len(columns[0])}"
            raise InfeasibleError(fact, error.hint, best=error.best) from None
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401
        """Recode rows by the cuts of the release; a value that training rows do not have counts as any value."""
        check_is_fitted(self)
        columns = columns_of(self, X, reset=False)
        return self._release().soft(pl.DataFrame(columns), recode=True).X

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float64]:  # noqa: ANN401
        """Publish rows and return what the release shows of them, in their order."""
        return np.asarray(self.fit(X, y).transform(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ANN401
        """Return the names of the columns that `transform` gives."""
        check_is_fitted(self)
        del input_features
        return np.array(self._release().soft_columns, object)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        fact = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in ("transform", "fit_transform") and "publisher" in vars(self):
            why = f"the recoding of method {getattr(self.publisher, 'name', None)!r} is not a function of the row"
            fact = f"There is no {name}: {why}; fit it and take release_, or use a method such as mondrian"
        raise AttributeError(fact)

    def _release(self) -> RowRelease:
        found: RowRelease = self.release_
        return found

    def _recodes(self) -> bool:
        return self.publisher is None or self.publisher.can_recode()


for _name in ("transform", "fit_transform"):  # scikit-learn has wrapped them by now, so that they keep to set_output
    setattr(Anonymizer, _name, available_if(lambda self: self._recodes())(vars(Anonymizer)[_name]))
