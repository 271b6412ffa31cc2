"""RowRelease: generalized rows, what was promised about them, and what the owner keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import clean_like, code_classes
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, Floats, text
from incrowd.manifest import Ranges, RowsManifest, Sensitive
from incrowd.recoding import Recoding, Unseen
from incrowd.release.atoms import Atoms
from incrowd.release.domains import Domain
from incrowd.release.release import Release
from incrowd.verify.rows import Rows

if TYPE_CHECKING:
    from incrowd.release.overview import Overview
    from incrowd.release.soft import Soft


@dataclass(frozen=True, repr=False, eq=False)
class SensitiveColumn:
    """A sensitive column as it is published: exact values, or a distribution in each cell.

    Attributes
    ----------
    values
        The distinct values in order; the series has the name of the column.
    codes
        The value of each row, when exact values are published.
    cell_counts
        Counts of the values per cell, when distributions are published.
    """

    values: pl.Series
    codes: Codes | None
    cell_counts: npt.NDArray[np.int32] | None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.values.name

    @property
    def columns(self) -> list[str]:
        """Names of its published columns: one, or one for each value."""
        return [self.name] if self.cell_counts is None else [f"{self.name}={value}" for value in text(self.values)]

    def shown(self, cell_of: npt.NDArray[np.int64]) -> list[pl.Series]:
        """Return its columns for people: values, or shares."""
        if self.codes is not None:
            return [self.values[self.codes]]
        assert self.cell_counts is not None
        shares = _shares(self.cell_counts)
        return [pl.Series(name, shares[:, v][cell_of]) for v, name in enumerate(self.columns)]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RowRelease(Release):
    """Generalized rows with a public manifest.

    Attributes
    ----------
    domains
        The quasi-identifiers as they are published.
    cell_lo, cell_hi
        The distinct cells in published leaves, int32 [cells x quasi]; `cell_of` gives each row's.
    secrets
        The sensitive columns. `sensitive` (codes into `sensitive_values`) and `cell_counts` are those of the only one;
        of a release with several, `about` shows one.
    other
        The columns that are released as they came.
    """

    domains: tuple[Domain, ...]
    cell_lo: Codes
    cell_hi: Codes
    cell_of: npt.NDArray[np.int64]
    secrets: tuple[SensitiveColumn, ...]
    other: pl.DataFrame
    manifest: RowsManifest
    has_cells: ClassVar[Literal[True]] = True
    has_own_classifier: ClassVar[Literal[False]] = False

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        return len(self.cell_of)

    @property
    def _only(self) -> SensitiveColumn | None:
        if len(self.secrets) > 1:
            names = ", ".join(repr(secret.name) for secret in self.secrets)
            fact = f"This release has {len(self.secrets)} sensitive columns: {names}"
            raise IncompatibleError(fact, f"look at one of them: release.about({self.secrets[0].name!r})")
        return self.secrets[0] if self.secrets else None

    @property
    def sensitive(self) -> Codes | None:
        """Codes of the sensitive column, when exact values are published."""
        return None if self._only is None else self._only.codes

    @property
    def sensitive_values(self) -> pl.Series:
        """The distinct values of the sensitive column; none where nothing is sensitive."""
        return pl.Series([], dtype=pl.String()) if self._only is None else self._only.values

    @property
    def cell_counts(self) -> npt.NDArray[np.int32] | None:
        """Sensitive counts per cell, when distributions are published."""
        return None if self._only is None else self._only.cell_counts

    def about(self, name: str) -> RowRelease:
        """Return this release as if one sensitive column were the only one."""
        own = tuple(secret for secret in self.secrets if secret.name == name)
        if not own:
            fact = f"This release has no sensitive column {name!r}"
            raise SchemaError(fact, f"use one of {', '.join(repr(secret.name) for secret in self.secrets)}")
        return replace(self, secrets=own, manifest=self.manifest.about(name))

    def each_secret(self) -> list[RowRelease]:
        """Return one such release for each sensitive column; itself where there is only one, or none."""
        return [self] if len(self.secrets) < 2 else [self.about(secret.name) for secret in self.secrets]

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [column.name for column in self.manifest.quasi]

    @property
    def columns(self) -> list[str]:
        """Names of the published columns."""
        return [*self.manifest.recognized_by, *self.manifest.other]

    @property
    def target(self) -> str | None:
        """Name of the class column; ``None`` if there is none."""
        return self.manifest.target

    @property
    def features(self) -> tuple[list[str], list[str]]:
        """Names of the quasi-identifiers, and of the *other* columns except the class."""
        return self.quasi, [name for name in self.manifest.other if name != self.target]

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The published leaves of each quasi-identifier."""
        return tuple(domain.hierarchy for domain in self.domains)

    @property
    def marginals(self) -> list[Floats]:
        """How often each published leaf occurs among the originals of the released rows, about."""
        return [domain.weights for domain in self.domains]

    @cached_property
    def lo(self) -> Codes:
        """First published leaf of each cell, int32 [rows x quasi]."""
        return _expand(self.cell_lo, self.cell_of)

    @cached_property
    def hi(self) -> Codes:
        """Last published leaf of each cell, int32 [rows x quasi]."""
        return _expand(self.cell_hi, self.cell_of)

    @cached_property
    def frame(self) -> Any:  # noqa: ANN401
        """The release for people: labels, and either exact sensitive values or one share column per value."""
        return io.from_polars(self.labelled(), self.kind)

    def labelled(self) -> pl.DataFrame:
        """Return the content of release.csv."""
        columns = [self._labels(m) for m in range(len(self.domains))]
        columns += self.other.get_columns()
        for secret in self.secrets:
            columns += secret.shown(self.cell_of)
        return pl.DataFrame(columns)

    @property
    def distributions(self) -> Floats | None:
        """Published sensitive shares, [rows x sensitive values]; ``None`` when exact values are published."""
        return None if self.cell_counts is None else _shares(self.cell_counts)[self.cell_of]

    def classes(self) -> tuple[Codes, pl.Series] | None:
        """Codes and values of the class, when it is published row by row: the target, or exact sensitive values."""
        if self.target is not None and self.target in self.other.columns:  # which an engine leaves on the disk
            codes, values = code_classes(self.other[self.target])
            return (codes, values) if codes is not None else None
        found = self.target_secret
        return None if found is None or found.codes is None else (found.codes, found.values)

    @property
    def target_secret(self) -> SensitiveColumn | None:
        """The sensitive column that is the class, if there is one."""
        return next((secret for secret in self.secrets if secret.name == self.target), None)

    @property
    def class_is_drawn(self) -> bool:
        """Whether a row's class is only known by its distribution."""
        return self.target_secret is not None and self.target_secret.cell_counts is not None

    def class_counts(self) -> tuple[pl.Series, npt.NDArray[np.int64]]:
        """Return the class values, and how often each occurs as far as it is published."""
        found = self.classes()
        if found is not None:
            return found[1], np.bincount(found[0], minlength=len(found[1]))
        drawn = self if self.target_secret is None else self.about(self.target_secret.name)
        return drawn.sensitive_values, drawn.sensitive_counts()

    def sensitive_counts(self) -> npt.NDArray[np.int64]:
        """Return how often each sensitive value occurs, as far as it is published."""
        if self.sensitive is not None:
            return np.bincount(self.sensitive, minlength=len(self.sensitive_values))
        return np.array(self._sensitive.counts or (), np.int64) if self.secrets else np.empty(0, np.int64)

    def coded(self, *, labels: bool = True) -> pl.DataFrame:
        """Return the content of release.parquet: labels and bounds of cells, the rest as it is."""
        rows = self._coded_rows(labels=labels)
        return rows.select(rows.columns)

    def _coded_rows(self, *, labels: bool) -> Rows:
        """Return the same, column by column."""
        parts: dict[str, tuple[pl.Series, npt.NDArray[Any] | None]] = {}
        for m, (name, domain) in enumerate(zip(self.quasi, self.domains, strict=True)):
            if labels:
                parts[name] = self._cell_labels(m), self.cell_of
            lo, hi = bounds_of(domain, self.cell_lo[:, m], self.cell_hi[:, m])
            parts |= {f"{name}.lo": (lo, self.cell_of), f"{name}.hi": (hi, self.cell_of)}
        parts |= {column.name: (column, None) for column in self.other}
        for secret in self.secrets:
            if secret.codes is not None:
                parts[secret.name] = secret.values, secret.codes
            elif secret.cell_counts is not None:
                each = map(pl.Series, secret.cell_counts.T)
                parts |= {name: (counts, self.cell_of) for name, counts in zip(secret.columns, each, strict=True)}
        return Rows(self.n_rows, parts)

    def checked_tables(self) -> tuple[Rows]:
        """Return the coded rows without labels."""
        return (self._coded_rows(labels=False),)

    def coded_tables(self, *, labels: bool = True) -> tuple[pl.DataFrame, ...]:
        """Return the content of release.parquet."""
        return (self.coded(labels=labels),)

    def written_tables(self) -> tuple[pl.DataFrame, ...]:
        """Return the content of release.csv."""
        return (self.labelled(),)

    def stems(self) -> list[str]:
        """Return the name of the table's files, without their suffix."""
        return ["release"]

    def loss(self, name: str = "lm", *, original: Any = None) -> float:  # noqa: ANN401
        """Return an information loss of this release; see `incrowd.losses`. ``kl`` needs ``original=frame``.

        The owner's is exact; for everybody else it is that of the published domains.
        """
        from incrowd.losses import loss  # noqa: PLC0415
        from incrowd.release.view import cells  # noqa: PLC0415

        return loss(name, cells(self, None if original is None else io.to_polars(original)))

    def losses(self, names: Sequence[str], original: pl.DataFrame) -> dict[str, float]:
        """Return several information losses."""
        return {name: self.loss(name, original=original) for name in names}

    def sample(self, *, seed: int | None = None) -> Any:  # noqa: ANN401
        """Return concrete rows for any learner, drawn as in Last et al. 2014, section 5.1.

        Each quasi-identifier is drawn from what is published about its values inside its cell, the sensitive value from
        its distribution. A missing value that was joined with others is one of the values that may be drawn.
        """
        from incrowd.release.soft import sample  # noqa: PLC0415

        return io.from_polars(sample(self, np.random.default_rng(seed)), self.kind)

    def training(self, *, sharpen: float = math.inf, draws: int = 1, seed: int | None = None) -> Any:  # noqa: ANN401
        """Return the one obvious frame to train a classifier on.

        Quasi-identifiers are concrete, drawn as in `sample`, and every row has the most frequent class of its cell (of
        small groups the likeliest, seen together with ten rows of the whole table): a learner then sees what the
        release knows, without the noise of single rows. Where each row has a cell of its own and its exact class (NHAA;
        NSVDist, if the class is not sensitive), it keeps that class. It is as good for trees, rules and boosting.
        Learners that add up evidence, such as naive Bayes, do a little better with ``sharpen=4``; those that look at
        distances, such as support vectors, with ``draws=3``, because few points tell them little of how far a cell
        reaches. The class is not to be counted or analysed: take `frame` for that.

        A column of which every row shows the whole domain is left out (`untold`): values drawn for it would be noise,
        which kernels and distances take for information. Give the learner the same columns of test rows.

        Parameters
        ----------
        sharpen
            Power to which the shares of the classes in a cell are raised before the class is drawn from them; 1 draws
            as `sample` does, infinity takes the largest (of tied ones the first).
        draws
            How many concrete rows are drawn for each row.
        seed
            Of the draws.
        """
        from incrowd.release.soft import draw_training  # noqa: PLC0415

        return io.from_polars(draw_training(self, np.random.default_rng(seed), sharpen, draws), self.kind)

    @property
    def untold(self) -> list[str]:
        """Quasi-identifiers of which every row shows the whole domain; none if nothing else is left to learn from."""
        whole = np.array([h.n_leaves - 1 for h in self.hierarchies])
        hidden = ((self.cell_lo == 0) & (self.cell_hi == whole)).all(axis=0)
        names = [name for name, is_hidden in zip(self.quasi, hidden, strict=True) if is_hidden]
        return names if len(names) < len(self.quasi) or self.features[1] else []

    def cell_class_counts(self) -> tuple[Floats, pl.Series]:
        """Return how often each class occurs in each cell, as published, and the class values."""
        found = self.classes()
        if found is None:
            drawn = self.target_secret
            assert drawn is not None
            assert drawn.cell_counts is not None
            return drawn.cell_counts.astype(np.float64), drawn.values
        codes, values = found
        counts = np.zeros((len(self.cell_lo), len(values)))
        np.add.at(counts, (self.cell_of, codes), 1)
        return counts, values

    def soft(self, rows: Any = None, *, recode: bool = False) -> Soft:  # noqa: ANN401
        """Return expected encodings and class probabilities, for learners that take weights: no sampling noise.

        Parameters
        ----------
        rows
            Other rows, such as those that a classifier is tested with, to be encoded in the same columns, without
            class probabilities: a number is itself, and a name has the probability 1.
        recode
            Whether to recode those rows first, as `transform` does; only the owner can. A value outside the domain
            counts as any value.
        """
        from incrowd.release.soft import soften, soften_rows  # noqa: PLC0415

        return soften(self) if rows is None else soften_rows(self, io.to_polars(rows), recode=recode)

    @property
    def soft_columns(self) -> list[str]:
        """Names of the columns of expected encodings."""
        from incrowd.release.soft import column_names  # noqa: PLC0415

        return column_names(self)

    def transform(self, frame: Any, *, unseen: Unseen = "error") -> Any:  # noqa: ANN401
        """Recode new rows by the cuts that this release was made with; only the owner can.

        It is for new rows, such as those that a classifier is tested with. What it returns carries no guarantee: nobody
        counted whether k of the new rows look alike, and sensitive values stay. Never hand out the rows that were
        published a second time like this: whoever compares the two undoes suppression.

        Parameters
        ----------
        frame
            Rows with the quasi-identifiers of the release; columns that are not in the release are dropped.
        unseen
            A value outside the domain is an ``"error"``, the whole domain (``"suppress"``), or, for numbers and dates,
            the ``"nearest"`` end of it.
        """
        source = io.to_polars(frame)
        lo, hi = self.recode(source, unseen=unseen)
        exact = self._exact_hierarchies()
        labels = [h.labels(lo[:, m], hi[:, m]).alias(self.quasi[m]) for m, h in enumerate(exact)]
        kept = [*self.manifest.other, *(secret.name for secret in self.secrets)]
        rest = [source[name] for name in kept if name in source.columns]
        return io.from_polars(pl.DataFrame([*labels, *rest]), io.kind_of(frame))

    def recode(self, source: pl.DataFrame, *, unseen: Unseen = "error") -> tuple[Codes, Codes]:
        """Return the cells of new rows in leaves of the exact hierarchies, by the cuts of this release."""
        recoding = self.own_recoding()
        self.require_columns(source, self.quasi)
        return recoding.transform(self.clean_quasi(source), self._exact_hierarchies(), unseen)

    def own_recoding(self) -> Recoding:
        """Return the recoding that this release was made with, if it is its owner's and a function of the row."""
        if self.private is None or self.private.recoding is None:
            fact = f"This release (method {self.manifest.method.name!r}) has no recoding to apply to new rows"
            hint = "only the owner can recode, and only if the method's recoding is a function of the row"
            raise IncompatibleError(fact, hint)
        return self.private.recoding

    def mapping(self) -> Any:  # noqa: ANN401
        """Return the recoding that was applied; only the owner can, and it is to be kept like the original.

        Of a method that recodes each column alike (`TDS`, `Lattice` and others): columns ``column``, ``value`` and
        ``published``, a row for each value; rows that a method suppressed show ``*`` instead. Of one that cuts the
        table: a row for each ``node`` from 0, the ``column`` that it looks at, which values ``goes left``, the nodes
        ``left`` and ``right``, and where it ends what is ``published``.
        """
        from incrowd.release.mapping import mapping  # noqa: PLC0415

        return io.from_polars(mapping(self), self.kind)

    def means(self, original: Any) -> Any:  # noqa: ANN401
        """Return the rows with the mean of each group in place of ranges of numbers and dates; names keep their labels.

        All rows of a group show the same, so that k and what else is promised of groups holds of this table, too; check
        it with ``incrowd verify TABLE --quasi ... -k ...``. A mean tells more than a range: where all values but one
        are known, it tells that one. Only the owner can make it, of releases whose rows form groups; see
        `Microaggregation`.

        Parameters
        ----------
        original
            The table that the release was made from.
        """
        from incrowd.release.mapping import means  # noqa: PLC0415

        return io.from_polars(means(self, io.to_polars(original)), self.kind)

    def published_cells(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Bring cells of the exact hierarchies to the published leaves that hold them."""
        assert self.private is not None
        found = [
            exact.published(domain.hierarchy, lo[:, m], hi[:, m])
            for m, (exact, domain) in enumerate(zip(self.private.domains, self.domains, strict=True))
        ]
        return tuple(np.asfortranarray(np.column_stack(side)) for side in zip(*found, strict=True))  # type: ignore[return-value]

    def encode(self, frame: pl.DataFrame) -> Codes:
        """Return the published leaves of anybody's quasi-identifiers, `OUTSIDE` where none is known.

        The owner knows the leaf of every value of the original; a reader only that of listed values.
        """
        coded = []
        for m, column in enumerate(self.clean_quasi(frame)):
            exact = self.private.domains[m] if self.private is not None else None
            if exact is None or exact.leaf_of is None:
                coded.append(self.hierarchies[m].encode(column))
                continue
            codes = exact.hierarchy.encode(column)
            coded.append(np.where(codes == OUTSIDE, OUTSIDE, exact.leaf_of[codes]).astype(np.int32))
        return np.column_stack(coded)

    def clean_quasi(self, source: pl.DataFrame) -> list[pl.Series]:
        """Return the quasi-identifiers of other rows, with missing tokens and types as when this release was made."""
        missing = self.manifest.missing
        return [
            clean_like(h, source[name], missing.tokens, missing.codes_of(name))
            for h, name in zip(self._exact_hierarchies(), self.quasi, strict=True)
        ]

    def _exact_hierarchies(self) -> tuple[Hierarchy, ...]:
        return self.hierarchies if self.private is None else tuple(d.hierarchy for d in self.private.domains)

    @property
    def _sensitive(self) -> Sensitive:
        return cast("Sensitive", self.manifest.sensitive)

    def _labels(self, m: int) -> pl.Series:
        """Return the labels of one column."""
        return self._cell_labels(m).gather(self.cell_of).alias(self.quasi[m])

    def _cell_labels(self, m: int) -> pl.Series:
        """Write the labels of one column: each distinct cell once."""
        return self.hierarchies[m].labels(self.cell_lo[:, m], self.cell_hi[:, m])

    def refuse_name_clashes(self) -> None:
        """Refuse columns that would have the same name."""
        names = [f"{name}{end}" for name in self.quasi for end in ("", ".lo", ".hi")] + list(self.manifest.other)
        names += [name for secret in self.secrets for name in secret.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            fact = f"The release would have two columns named {', '.join(map(repr, twice))}"
            raise SchemaError(fact, "rename that column: NAME.lo, NAME.hi and SENSITIVE=VALUE are taken")

    def overview(self) -> Overview:
        """Return what each column lost, and what the promises do not cover."""
        from incrowd.release.overview import of_rows  # noqa: PLC0415

        return of_rows(self)

    @property
    def types(self) -> dict[str, str]:
        """How to read the quasi-identifiers and the sensitive column from text."""
        types = {column.name: column.type for column in self.manifest.quasi}
        return types | {secret.name: secret.type for secret in self.manifest.secrets}

    def _what(self) -> str:
        return ""


def bounds_of(domain: Domain, lo: Codes, hi: Codes) -> tuple[pl.Series, pl.Series]:
    """Return the bounds of cells as they are published: first and last values, or leaves of a list."""
    if not isinstance(domain.entry, Ranges):
        return pl.Series(lo, dtype=pl.Int32()), pl.Series(hi, dtype=pl.Int32())
    leaves = domain.hierarchy.leaves
    ends = domain.hierarchy.ends if isinstance(domain.hierarchy, Atoms) else leaves
    bounds = leaves[lo], ends[hi]
    return without_negative_zero(bounds[0]), without_negative_zero(bounds[1])


def without_negative_zero(column: pl.Series) -> pl.Series:
    """Write every zero alike: which of equal values a row has must tell nothing. Polars adds 0.0 without doing so."""
    zeros = (column == 0).fill_null(value=False) if column.dtype.is_float() else None
    return column if zeros is None or not zeros.any() else column.set(zeros, 0.0)


def _shares(counts: npt.NDArray[np.int32]) -> Floats:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _expand(cells: Codes, cell_of: npt.NDArray[np.int64]) -> Codes:
    expanded = np.empty((len(cell_of), cells.shape[1]), np.int32, order="F")
    for m in range(cells.shape[1]):
        expanded[:, m] = cells[:, m][cell_of]
    return expanded
