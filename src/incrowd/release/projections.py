"""ProjectionRelease: columns of one table shared out among several, each with the class and in an order of its own.

The kind of release of methods that do not generalize rows but separate columns (DMPD). Nobody can tell which rows
of two projections belong together; what can be joined is joined by the class. See docs/release-format.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import clean
from incrowd.errors import SchemaError
from incrowd.manifest import Missing, ProjectionsManifest, Shown
from incrowd.release.intervals import in_intervals
from incrowd.release.release import Release

if TYPE_CHECKING:
    from incrowd.release.overview import Overview

_LEARNER = "incrowd.publish.decomposition.partition_classifier"  # a room above: loaded by name
_INSTEAD = {
    "frame": "it has several tables: take release.frames",
    "sample": "its values are concrete already: take release.frames, or release.classifier()",
    "soft": "its values are concrete already: take release.frames, or release.classifier()",
    "transform": "release.classifier() takes new rows as they are; release.recode(frame) shows them as published",
    "loss": "no cell was generalized; release.levels has the cross-validated accuracy",
    "distributions": "each projection shows the class as it is",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ProjectionRelease(Release):
    """Projections of a table with a public manifest.

    Attributes
    ----------
    projections
        The published tables: columns of a part, then the class.
    """

    projections: tuple[pl.DataFrame, ...]
    manifest: ProjectionsManifest
    has_cells: ClassVar[Literal[False]] = False
    has_own_classifier: ClassVar[Literal[True]] = True

    @property
    def n_rows(self) -> int:
        """Number of rows of each projection."""
        return self.projections[0].height

    @property
    def parts(self) -> list[list[str]]:
        """Names of the columns of each projection, without the class; ``[[]]`` when only the class was published."""
        return [list(part) for part in self.manifest.parts]

    @property
    def target(self) -> str:
        """Name of the class column."""
        return self.manifest.target.name

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers that were published."""
        return [column.name for column in self.manifest.columns if column.role == "quasi"]

    @property
    def columns(self) -> list[str]:
        """Names of the published columns, and of the class."""
        return [*(column.name for column in self.manifest.columns), self.target]

    @property
    def is_empty(self) -> bool:
        """Whether nothing but the class was published."""
        return self.parts == [[]]

    @cached_property
    def frames(self) -> list[Any]:
        """The projections, each the kind of frame that came in."""
        return [io.from_polars(projection, self.kind) for projection in self.projections]

    def recode(self, frame: Any) -> pl.DataFrame:  # noqa: ANN401
        """Return other rows as this release would show them, class aside; they are not protected by it."""
        return AsPublished.of(self)(frame)

    def classifier(self, inducer: Any = None) -> Any:  # noqa: ANN401
        """Return a `PartitionClassifier` that was trained on the projections as published; it predicts raw rows.

        Parameters
        ----------
        inducer
            Any scikit-learn classifier with `predict_proba`; by default a decision tree. Rows without a class are not
            learned from.
        """
        learner = import_module(_LEARNER).PartitionClassifier([part for part in self.parts if part], inducer=inducer)
        known = [projection.filter(pl.col(self.target).is_not_null()) for projection in self.projections]
        return learner.fit_projections(known, self.target, prepare=AsPublished.of(self))

    @property
    def features(self) -> tuple[list[str], list[str]]:
        """Names of all quasi-identifiers, published or not, and of the other features, published or left out."""
        names = [*(column.name for column in self.manifest.columns), *self.manifest.left_out]
        quasi = dict.fromkeys(name for known in self.manifest.quasi_sets for name in known)
        return [name for name in quasi if name in names], [name for name in names if name not in quasi]

    def class_counts(self) -> tuple[pl.Series, npt.NDArray[np.int64]]:
        """Return the class values, and how often each occurs."""
        counts = self.projections[0][self.target].value_counts(name="rows").sort(self.target, nulls_last=False)
        return counts[self.target], counts["rows"].to_numpy().astype(np.int64)

    def clean_quasi(self, source: pl.DataFrame) -> list[pl.Series]:
        """Return the quasi-identifiers of other rows, with missing tokens as when this release was made."""
        missing = self.manifest.missing
        return [
            clean(source[name], None, None, missing.tokens, missing.codes_of(name))
            for name in self.features[0]
            if name in source.columns
        ]

    def coded_tables(self, *, labels: bool = True) -> tuple[pl.DataFrame, ...]:
        """Return the projections."""
        del labels
        return self.projections

    def written_tables(self) -> tuple[pl.DataFrame, ...]:
        """Return the projections."""
        return self.projections

    def stems(self) -> list[str]:
        """Return the names of the projections' files, without their suffix."""
        return [f"projection-{number + 1}" for number in range(len(self.projections))]

    def overview(self) -> Overview:
        """Return what each projection shows, and what the promises do not cover."""
        from incrowd.release.overview import of_projections  # noqa: PLC0415

        return of_projections(self)

    @property
    def types(self) -> dict[str, str]:
        """How to read the published quasi-identifiers and the class from text."""
        shown = {column.name: column.type for column in self.manifest.columns if column.type is not None}
        return shown | {self.target: self.manifest.target.type}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        fact = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(f"{fact}: {_INSTEAD[name]}" if name in _INSTEAD else fact)

    def _what(self) -> str:
        return "the class alone; " if self.is_empty else f"{len(self.projections)} projections; "


@dataclass(frozen=True)
class AsPublished:
    """Turns raw rows into the columns of a release: numbers into intervals, values that were suppressed into missing.

    Attributes
    ----------
    columns
        The entries of the manifest.
    kept
        For columns with suppressed values, those that were not.
    missing
        What means missing.
    """

    columns: tuple[Shown, ...]
    kept: Mapping[str, pl.Series]
    missing: Missing

    @classmethod
    def of(cls, release: ProjectionRelease) -> AsPublished:
        """Read how a release shows its columns."""
        columns = release.manifest.columns
        place = {name: i for i, part in enumerate(release.parts) for name in part}
        kept = {
            column.name: release.projections[place[column.name]][column.name].unique().drop_nulls()
            for column in columns
            if column.suppressed
        }
        return cls(columns, kept, release.manifest.missing)

    def __call__(self, frame: Any) -> pl.DataFrame:  # noqa: ANN401
        """Return the columns of a release, in the order of its manifest, of other rows."""
        source = io.to_polars(frame)
        lacking = [column.name for column in self.columns if column.name not in source.columns]
        if lacking:
            fact = f"The table has no column {', '.join(map(repr, lacking))}"
            raise SchemaError(fact, f"its columns are {', '.join(map(repr, source.columns))}")
        shown = [self._shown(source[column.name], column) for column in self.columns]
        return pl.DataFrame(shown) if shown else source.select()

    def _shown(self, values: pl.Series, column: Shown) -> pl.Series:
        if column.role == "other":
            return values
        codes = self.missing.codes_of(column.name)
        if column.cuts is None:
            values = clean(values, column.type, None, self.missing.tokens, codes)
        else:
            values = in_intervals(clean(values, "float", None, self.missing.tokens, codes), column.cuts)
        if column.name in self.kept:
            values = values.set(~values.is_in(self.kept[column.name].implode()).fill_null(value=False), None)
        return values
