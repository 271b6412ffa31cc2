"""A table made ready for a search of partitions: columns as they would be published, their levels, their fitness.

Shared by the methods that share columns out among projections. Quasi-identifiers that are numbers are cut where the
classes come apart (`discretize`) and shown as intervals; rare values may be suppressed; everything else
is shown as it is. *Other* columns are features too, and do not count for the levels.

A quasi-identifier that breaks k or l all by itself is left out from the start: more columns make groups smaller and
shares larger, never the other way, so no partition with it is allowed. So is a column with one value only, and a copy:
of columns that tell each other value for value the first is used, since two of them in different projections would
link the rows (see `copied_columns`).

*Suppression* (Fig. 13 of the paper) is by value and column, before the search. Values of a quasi-identifier whose rows
break k or l by themselves become missing; where the missing rows then do so, the next rarest values join them. If that
takes more than the allowed share of rows, the column is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import code_classes, used_rows
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.hierarchy.entropy_cuts import Criterion
from incrowd.hierarchy.hierarchy import Codes, type_of
from incrowd.manifest import ClassColumn, Method, Missing, RowCounts, Shown
from incrowd.privacy import Privacy, exact
from incrowd.publish.decomposition.copied_columns import is_recoding_of, without_copies
from incrowd.publish.decomposition.discretize import mdl_cuts, quasi_cuts
from incrowd.publish.decomposition.feature_search import Partition
from incrowd.publish.decomposition.levels import Levels
from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness
from incrowd.release import ProjectionRelease
from incrowd.release.intervals import in_intervals
from incrowd.release.seal import Progress, seal_projections
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]
QuasiSets = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Features:
    """The features of a table, and what a release says about them.

    Attributes
    ----------
    frame
        The columns that a partition may use, as they would be published; their numbers are those of a partition.
    classes, class_values
        Number of each row's class, and the classes.
    columns
        Of each feature, its entry in the manifest.
    quasi_sets
        Names of quasi-identifiers; what each set alone tells is limited.
    rows
        Number of each row in the frame that came in.
    n_input
        Rows that came in; those not in `rows` were dropped for a missing value.
    left_out, dropped
        Features that no partition can use; columns that are never published.
    """

    schema: Schema
    frame: pl.DataFrame
    classes: Codes
    class_values: pl.Series
    columns: tuple[Shown, ...]
    quasi_sets: tuple[tuple[str, ...], ...]
    rows: Int64
    n_input: int
    left_out: list[str]
    dropped: list[str]

    @classmethod
    def of(
        cls,
        original: pl.DataFrame,
        schema: Schema,
        *,
        k: int = 1,
        l: float = 1,
        suppress: float = 0.0,
        quasi_sets: QuasiSets | None = None,
        fine: bool = False,
        criterion: Criterion = "fayyad",
    ) -> Features:
        """Make a table ready.

        Parameters
        ----------
        original
            The frame that came in.
        schema
            Roles of its columns; hierarchies are not used.
        k, l
            What each projection is to keep.
        suppress
            Largest share of a column's rows that may lose their value.
        quasi_sets
            Sets of quasi-identifiers that somebody may know, each by itself; by default one of all.
        fine
            Whether numbers are cut twice in any case, and not where MDL says only.
        criterion
            When a cut pays for its description.
        """
        target = _target(schema)
        sets = _checked_sets(quasi_sets, schema)
        schema.check(original)
        if original.height == 0:
            fact = "The table has no rows"
            raise SchemaError(fact, "check that this is the right table: there is nothing to publish")
        used, rows = used_rows(original, schema)
        classes, values = code_classes(used[target])
        assert classes is not None
        counts = np.bincount(classes, minlength=len(values))
        Privacy.of(k, l=l).require_feasible(len(rows), {"class": counts})
        names = [name for name in original.columns if name in used.columns and name != target]
        _require_features(used.select(names), schema)
        shown, columns = [], []
        for name in names:
            column, about = _published(
                used[name], used[target], schema, classes, k=k, l=l, suppress=suppress, fine=fine, criterion=criterion
            )
            if column.n_unique() > 1:
                shown.append(column)
                columns.append(about)
        able = [i for i, about in enumerate(columns) if about.role == "other" or _holds(shown[i], classes, k=k, l=l)]
        able = without_copies(able, shown)
        frame = pl.DataFrame([shown[i] for i in able])
        return cls(
            schema=schema,
            frame=frame,
            classes=classes,
            class_values=values,
            columns=tuple(columns[i] for i in able),
            quasi_sets=sets,
            rows=rows,
            n_input=original.height,
            left_out=[name for name in names if name not in frame.columns],
            dropped=[name for name in original.columns if name not in used.columns],
        )

    @property
    def n_features(self) -> int:
        """Number of columns that a partition may use."""
        return len(self.columns)

    @property
    def is_pointless(self) -> bool:
        """Whether there is nothing to choose from, or nothing to learn."""
        return self.n_features == 0 or len(self.rows) < 2 or len(self.class_values) < 2

    @cached_property
    def limits(self) -> SetLevels:
        """The levels of partitions, over all sets of quasi-identifiers."""
        codes = np.empty((len(self.rows), self.n_features), np.int32, order="F")
        for m, column in enumerate(self.frame.get_columns()):
            quasi = self.columns[m].role == "quasi"
            own = code_classes(column)[0] if quasi else None  # others do not count, and may be of any type
            codes[:, m] = 0 if own is None else own
        names = self.frame.columns
        sets = [[names.index(name) for name in known if name in names] for known in self.quasi_sets]
        return SetLevels([Levels(codes, self.classes, quasi) for quasi in sets])

    def fitness(self, *, inducer: Any = None, folds: int = 5, seed: int = 0) -> WrapperFitness:  # noqa: ANN401
        """Return the cross-validated accuracy as a function of partitions, whatever their levels are."""
        return WrapperFitness(self.frame, self.classes, inducer=inducer, n_folds=folds, seed=seed)

    def names_of(self, parts: Partition) -> list[list[str]]:
        """Return a partition by names of columns."""
        return [[self.frame.columns[m] for m in part] for part in parts]

    def release(
        self,
        original: pl.DataFrame,
        parts: Partition,
        *,
        method: Method,
        privacy: Privacy,
        rng: np.random.Generator,
        seed: int | None,
        kind: str,
        numbers: Mapping[str, float | int | None] | None = None,
        progress: Progress = lambda _stage, _done, _total: None,
    ) -> ProjectionRelease:
        """Return the verified release of a partition."""
        names = self.names_of(parts)
        inside = {name for part in names for name in part}
        left_out = [*self.left_out, *(name for name in self.frame.columns if name not in inside)]
        target = str(self.schema.target)
        about = {
            "method": method,
            "guarantees": privacy.guarantees(),
            "rows": RowCounts(self.n_input, self.n_input - len(self.rows), 0, len(self.rows)),
            "missing": Missing(self.schema.missing, tuple(self.schema.missing_tokens), self.schema.missing_codes),
            "quasi_sets": self.quasi_sets,
            "left_out": tuple(sorted(left_out)),
            "dropped": tuple(self.dropped),
        }
        role = "sensitive" if target == self.schema.sensitive else "other"
        return seal_projections(
            original,
            self.frame,
            self.columns,
            ClassColumn(target, role, type_of(self.class_values)),
            self.class_values[self.classes],
            names,
            rows=self.rows,
            about=about,
            rng=rng,
            seed=seed,
            kind=kind,
            numbers=numbers or {},
            progress=progress,
        )


class SetLevels:
    """Levels over several sets of quasi-identifiers, each of which must hold by itself."""

    def __init__(self, levels: Sequence[Levels]) -> None:
        self._levels = list(levels)

    def partial(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return the least partial level over all sets."""
        return min(levels.partial(parts) for levels in self._levels)

    def joined(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return the least set level over all sets."""
        return min(levels.joined(parts) for levels in self._levels)

    def of_partition(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return the lower of both."""
        return min(self.partial(parts), self.joined(parts))

    def keep_apart(self, parts: Partition, k: int, l: float = 1) -> bool:
        """Tell whether each projection keeps k and l by itself."""
        if self.partial(parts) < k:
            return False
        return l == 1 or max(levels.share(parts) for levels in self._levels) * exact(l) <= 1


def suppressed(column: pl.Series, classes: Codes, *, k: int, l: float, most: float) -> tuple[pl.Series, int]:
    """Return a column without the values that break k or l by themselves, and the number of rows that lost theirs.

    >>> import polars as pl
    >>> kin = pl.Series(["Own-child", "Wife", "Husband", "Own-child"])
    >>> column, n_rows = suppressed(kin, np.zeros(4, np.int32), k=2, l=1, most=0.5)
    >>> column.to_list(), n_rows
    (['Own-child', None, None, 'Own-child'], 2)
    """
    counts, codes, is_missing = _counts(column, classes)
    gone = np.array([not _is_fine(own, k, l) for own in counts])
    if not gone.any():
        return column, 0
    gone |= is_missing
    for value in np.argsort(counts.sum(axis=1), kind="stable"):
        if _is_fine(counts[gone].sum(axis=0), k, l):
            break
        gone[value] = True
    n_rows = int(counts[gone & ~is_missing].sum())
    if gone.all() or n_rows > most * len(column):
        return column, 0
    return column.set(pl.Series(gone[codes]), None), n_rows


def _counts(column: pl.Series, classes: Codes) -> tuple[Int64, Codes, npt.NDArray[np.bool_]]:
    """Return counts of values and classes, the number of each row's value, and which value is the missing one."""
    codes, values = code_classes(column)
    assert codes is not None
    n_classes = int(classes.max()) + 1
    cells = np.bincount(codes.astype(np.int64) * n_classes + classes, minlength=len(values) * n_classes)
    return cells.reshape(len(values), n_classes), codes, values.is_null().to_numpy()


def _is_fine(counts: Int64, k: int, l: float) -> bool:
    total = int(counts.sum())
    return total >= k and (l == 1 or int(counts.max()) * exact(l) <= total)


def _holds(column: pl.Series, classes: Codes, *, k: int, l: float) -> bool:
    return all(_is_fine(own, k, l) for own in _counts(column, classes)[0])


def _published(
    column: pl.Series,
    target: pl.Series,
    schema: Schema,
    classes: Codes,
    *,
    k: int,
    l: float,
    suppress: float,
    fine: bool,
    criterion: Criterion,
) -> tuple[pl.Series, Shown]:
    """Return a column as it would be published, and its entry in the manifest."""
    if column.name in schema.other:
        return column, Shown(column.name, "other", None, None, 0)
    kind, cuts, n_suppressed = type_of(column), None, 0
    if kind in ("int", "float"):
        cut = partial(quasi_cuts, k=k) if fine else mdl_cuts
        cuts = cut(column, target, criterion=criterion)
        column = in_intervals(column, cuts)
    if suppress > 0:
        column, n_suppressed = suppressed(column, classes, k=k, l=l, most=suppress)
    return column, Shown(column.name, "quasi", kind, cuts, n_suppressed)


def _target(schema: Schema) -> str:
    if schema.target is None:
        fact = "Projections are published with the class, and the schema has no sensitive column and no target"
        raise SchemaError(fact, "give a column the role 'sensitive', or name a target among the other columns")
    if schema.sensitive is not None and schema.sensitive != schema.target:
        fact = (
            f"The class is {schema.target!r}, and {schema.sensitive!r} is sensitive: projections protect the class only"
        )
        raise IncompatibleError(fact, "let the sensitive column be the class, or drop it as an identifier")
    return schema.target


def _checked_sets(quasi_sets: QuasiSets | None, schema: Schema) -> tuple[tuple[str, ...], ...]:
    if quasi_sets is None:
        return (tuple(schema.quasi),)
    sets = tuple(tuple(known) for known in quasi_sets)
    unknown = sorted({name for known in sets for name in known} - set(schema.quasi))
    if unknown:
        fact = (
            f"Parameter quasi_sets names {', '.join(map(repr, unknown))}, which is not a quasi-identifier of the schema"
        )
        raise SchemaError(fact, f"the quasi-identifiers are {', '.join(map(repr, schema.quasi))}")
    lacking = [name for name in schema.quasi if not any(name in known for known in sets)]
    if lacking:
        fact = f"The quasi-identifier {', '.join(map(repr, lacking))} is in none of quasi_sets"
        raise SchemaError(
            fact, "put it into one of them; a column that nobody knows is not a quasi-identifier but other"
        )
    return sets


def _require_features(frame: pl.DataFrame, schema: Schema) -> None:
    """Refuse quasi-identifiers in disguise."""
    for name in schema.other:
        for quasi in schema.quasi if name in frame.columns else ():
            if is_recoding_of(frame[name], frame[quasi]):
                fact = f"Column {name!r} is a one-to-one recoding of quasi-identifier {quasi!r}"
                raise SchemaError(fact, "make it a quasi-identifier too, or give it the role 'identifier'")
