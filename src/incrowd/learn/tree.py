"""A decision tree that may be given away: it links nobody's private values to fewer than k people.

Algorithm 1 of the paper: one queue holds every way to split every leaf, by gain; the best one is applied if everybody
still shares a span with enough people, otherwise it is refused and, where the attribute has a taxonomy, tried one level
up. Public attributes are those that an attacker may know; the class and the other attributes are private.

Guarantee: for each person of the training table the span has one class, or is shared by at least k people (Claim 3);
with `l` or `max_confidence`, the classes of the people in each span are diverse as well. The counts in the leaves may
be published. Cost: O(n M) per level of the tree with public attributes; a private split lets everybody above it reach
all its leaves, which each have to be looked at. Adult takes a tenth of a second.
Use it to hand out a classifier; to hand out a table for any classifier, see `incrowd.publish`.

Where the paper is silent: (1) gains are weighted by the leaf's rows, so that the queue's best split is the one that
tells most about the table's classes; ties go to the leaf that was made first, then to the attribute that comes first,
then to the lower threshold; (2) each threshold of a number is a candidate of its own: after a refusal the best allowed
one is next; (3) a number between two known ones counts as the nearer; (4) a value that no row of a node has, or that
was never seen, ends at that node, with the node's own class shares; such values are places of their own in spans, which
is the strict reading; (5) a missing value is a value of its own, and with numbers the smallest; (6) probabilities are
the leaf's class shares; (7) constraints on classes look at the people of a span, as in section 6.3; (8) a
private column that public ones tell is refused, see `told`.

A file of the fitted object holds the domain of every attribute, as the paper assumes to be known (so each number that
occurs, of private attributes too), but nothing about a single person: `spans_` and `to_release` need the object that
was fitted. The text of `export_text` holds thresholds and counts only.

Reference: Friedman, Wolff, Schuster: Providing k-anonymity in data mining, VLDB Journal 2008.

>>> import incrowd as ic, polars as pl
>>> status = ["single", "married", "married", "married", "single", "single"]
>>> people = pl.DataFrame({"status": status, "car": list("yynnyn")})
>>> risk = ["good", "good", "bad", "bad", "bad", "bad"]
>>> tree = ic.KAnonymousTreeClassifier(k=3, public=["status"]).fit(people, risk)
>>> print(tree.export_text())
car = n (private)  ->  bad: 3
car = y (private)
|   status = married  ->  good: 1
|   status = single  ->  bad: 1, good: 1
>>> tree.spans_.people.tolist()
[3, 3]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from incrowd import io, plots
from incrowd.coding import Table
from incrowd.domains import limits_of
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, SchemaError
from incrowd.hierarchy import Spec
from incrowd.kernels.jit import interpreted
from incrowd.learn.columns import Column, build, checked_classes, columns_of, encode, numbers_of
from incrowd.learn.induction import Gain, Induction, Training, boxes_of, places_of
from incrowd.learn.spans import Spans
from incrowd.learn.told import refuse_told
from incrowd.learn.tree_views import View
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.release import RowRelease
from incrowd.release.seal import Cells, seal_rows, secret_rng
from incrowd.schema import Schema

_FEW_STEPS = 150_000  # take a fraction of a second in plain Python, and loading compiled loops takes longer


def diversity_for_confidence(confidence: float) -> float:
    """Return the l of entropy l-diversity that keeps two classes from being told with more than this confidence.

    >>> round(diversity_for_confidence(0.85), 3)
    1.526
    """
    if not 0.5 <= confidence <= 1:
        fact = f"confidence is {confidence!r}"
        raise ParameterError(fact, "of two classes one has a share from 0.5 to 1")
    return math.exp(-sum(share * math.log(share) for share in (confidence, 1 - confidence) if share > 0))


class KAnonymousTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree whose spans each hold at least k people.

    Parameters
    ----------
    k
        Least number of people that private values may be linked to.
    l
        Entropy diversity of the classes in each span: their entropy is at least log l.
    max_confidence
        Largest share of a class in any span.
    public
        Columns that an attacker may know, by name or number; ``"all"`` by default, which is the careful choice.
    class_public
        Whether an attacker knows the class too.
    hierarchies
        How columns are split, by name or number: a `Taxonomy` or a recipe for one (into the nodes of a level),
        `Intervals` (at thresholds), ``None`` (into the values). By default numbers and dates at thresholds, all else
        into values.
    gain
        ``"information"`` or ``"gini"``.

    Attributes
    ----------
    classes_
        The classes in order.
    tree_
        The tree, over leaf ranks of `hierarchies_`.
    n_leaves_
        Number of leaves.
    spans_
        The people of the training table by span.
    """

    def __init__(
        self,
        k: int = 5,
        *,
        l: float | None = None,
        max_confidence: float | None = None,
        public: Literal["all"] | Iterable[Column] = "all",
        class_public: bool = False,
        hierarchies: Mapping[Column, Spec | None] | None = None,
        gain: Gain = "information",
    ) -> None:
        self.k = k
        self.l = l
        self.max_confidence = max_confidence
        self.public = public
        self.class_public = class_public
        self.hierarchies = hierarchies
        self.gain = gain

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any) -> KAnonymousTreeClassifier:  # noqa: ANN401
        """Induce the tree.

        Parameters
        ----------
        X
            An array, or a polars, pandas or pyarrow frame: one row per person.
        y
            The class of each person.
        """
        privacy = self._privacy()
        columns = columns_of(self, X, reset=True)
        y = checked_classes(columns, y, type(self).__name__)
        self.classes_, classes = np.unique(y, return_inverse=True)
        self.public_ = self._public_columns([column.name for column in columns])
        refuse_told(columns, self.public_, pl.Series("class", classes) if self.class_public else None)
        self.hierarchies_, codes = build(columns, self.hierarchies, pl.Series(classes))
        counts = np.bincount(classes)
        self._require_feasible(privacy, len(classes), counts)
        n_values = len(counts) if privacy.about_sensitive else 0
        coded = classes.astype(np.int32)
        training = Training(codes, self.hierarchies_, coded, len(counts), coded, n_values, self.public_)
        limits = limits_of(privacy, len(classes), {"class": counts})
        with interpreted(codes.size * math.log2(len(codes) + 1) < _FEW_STEPS):
            induced = Induction(training, limits, class_public=self.class_public, gain=self.gain).run()
        self.tree_, self.n_leaves_ = induced.tree, induced.tree.n_leaves
        self._span_of = induced.span_of
        self._span_class, self._span_codes = induced.somebody(classes), induced.somebody(codes)
        self._span_codes[:, ~self.public_] = 0  # a file of the model tells nobody's private values
        if not self.class_public:
            self._span_class[:] = 0
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401
        """Return the class shares of the node at which each row ends."""
        check_is_fitted(self)
        codes = encode(columns_of(self, X, reset=False), self.hierarchies_)
        with interpreted(codes.size < _FEW_STEPS):
            counts = self.tree_.counts[self.tree_.descend(codes)]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: ANN401
        """Return the most frequent class where each row ends, of tied ones the first."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def get_depth(self) -> int:
        """Return the largest number of tests on a path."""
        check_is_fitted(self)
        return int(self.tree_.depth)

    @property
    def spans_(self) -> Spans:
        """The people of the training table by span; a class of a span is a place of the tree and a class value."""
        span_of = self._spans_by_row()
        spans = []
        for span, places in enumerate(places_of(self.tree_, self._span_codes, self.public_)):
            known = [self._span_class[span]] if self.class_public else range(len(self.classes_))
            spans.append(frozenset((place, self.classes_[c]) for place in places for c in known))
        return Spans(tuple(spans), span_of)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_span_of"}

    def _spans_by_row(self) -> npt.NDArray[np.int64]:
        check_is_fitted(self)
        if not hasattr(self, "_span_of"):
            fact = "Spans are about the training table, and a model that was read from a file does not hold them"
            raise AttributeError(fact)
        return self._span_of

    def export_text(self) -> str:
        """Return the tree as text, one line per test; numbers behind a class count people."""
        check_is_fitted(self)
        return "\n".join(self._view().lines())

    def plot(self, *, theme: plots.Theme = "light") -> Any:  # noqa: ANN401
        """Return a picture of the tree; `incrowd.plots.save` writes it to a file."""
        check_is_fitted(self)
        return self._view().draw(theme)

    def to_release(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        domains: str = "joined",
    ) -> RowRelease:
        """Return the table that is equivalent to the tree (section 6.2): each span is a group.

        A public attribute is released as far as the tests on a span's path tell it, and as ``*`` where there is none.

        Parameters
        ----------
        frame
            The training rows, in their order, with the class and whatever else is released.
        schema
            Roles of its columns: public attributes are quasi-identifiers, the class is sensitive or the target. The
            hierarchies are those of the tree.
        seed, domains
            As in `Publisher.publish`.
        """
        span_of = self._spans_by_row()
        names = self._names()
        kept = self._released_attributes(schema, names)
        specs: dict[str, Any] = {names[m]: self.hierarchies_[m] for m in kept}
        attributes = [replace(a, hierarchy=specs.get(a.name, a.hierarchy)) for a in schema.attributes.values()]
        built = schema.with_attributes(attributes)
        original = io.to_polars(frame)
        table = Table.encode(original, built)
        lo, hi = boxes_of(self.tree_, self._span_codes, self.public_, self.hierarchies_)
        lo, hi = lo[:, kept], hi[:, kept]
        cell_of = span_of[table.rows] if table.n_input == len(span_of) else None
        if cell_of is None or (table.codes < lo[cell_of]).any() or (table.codes > hi[cell_of]).any():
            fact = f"These {table.n_input} rows are not the {len(span_of)} that the tree was induced from"
            raise SchemaError(fact, "give the training rows in their order")
        parameters = {"k": self.k, "l": self.l, "max_confidence": self.max_confidence, "gain": self.gain}
        return seal_rows(
            original,
            lambda: (table, Cells(lo, hi, cell_of), self._privacy().guarantees()),
            method=Method("tree", parameters),
            homogeneous=True,
            rng=secret_rng(seed, original),
            seed=seed,
            kind=io.kind_of(frame),
            domains=domains,
        )

    def _privacy(self) -> Privacy:
        if self.gain not in get_args(Gain):
            fact = f"gain is {self.gain!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Gain))}")
        if self.class_public and (self.l is not None or self.max_confidence is not None):
            fact = "class_public is true, and l and max_confidence limit what is told about the class"
            raise ParameterError(fact, "a class that everybody knows needs no diversity: ask for k only")
        return Privacy.of(self.k, l=1 if self.l is None else self.l, l_kind="entropy", alpha=self.max_confidence)

    def _public_columns(self, names: list[str]) -> npt.NDArray[np.bool_]:
        public = np.zeros(len(names), np.bool_)
        if isinstance(self.public, str) and self.public != "all":
            fact = f"public is {self.public!r}"
            raise ParameterError(fact, f"use 'all' or a list: [{self.public!r}]")
        public[
            list(range(len(names))) if isinstance(self.public, str) else numbers_of(self.public, names, "public")
        ] = True
        return public

    def _require_feasible(self, privacy: Privacy, n: int, counts: npt.NDArray[np.int64]) -> None:
        if self.class_public:
            return  # a tree without private tests tells nothing that is not known
        if n < self.k:
            fact = f"k is {self.k}, and with n_samples = {n} there are not so many people"
            raise InfeasibleError(fact, f"use k = {n} or less, or more rows", best={"k": n})
        privacy.require_feasible(n, {"class": counts})

    def _names(self) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return [f"x{m}" for m in range(self.n_features_in_)] if given is None else [str(name) for name in given]

    def _view(self) -> View:
        return View(self.tree_, self.hierarchies_, self._names(), self.public_, self.classes_.tolist())

    def _released_attributes(self, schema: Schema, names: list[str]) -> list[int]:
        if self.class_public:
            fact = "The class of this tree is public, and the groups of its table would differ in it"
            raise IncompatibleError(fact, "induce the tree with class_public=False")
        foreign = [name for name in schema.quasi if name not in names or not self.public_[names.index(name)]]
        if foreign:
            fact = f"The quasi-identifier {', '.join(map(repr, foreign))} is not a public attribute of the tree"
            raise IncompatibleError(
                fact, "list private attributes under other= or identifiers=, or induce the tree again"
            )
        private_now = [n for n, known in zip(names, self.public_, strict=True) if known and n not in schema.quasi]
        released = [name for name in private_now if name in schema.attributes and name not in schema.identifiers]
        if released:
            fact = f"The schema releases {', '.join(map(repr, released))} as it is, a public attribute of the tree"
            raise IncompatibleError(fact, "list it under quasi=, or drop it with identifiers=")
        return [names.index(name) for name in schema.quasi]
