"""Release: generalized rows, what was promised about them, and what the owner keeps."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import Table, clean_like, code_classes
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes, leaves_to_data, text, type_of
from incrowd.recoding import Recoding, Unseen
from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd.release.soft import Soft
    from incrowd.verify import Verdict

FORMAT = 1


@dataclass(frozen=True)
class Private:
    """What the owner keeps: it would undo the release.

    Attributes
    ----------
    rows
        The original row number of each released row.
    seed
        The seed of the run, or ``None`` if the operating system seeded the randomness.
    recoding
        The cuts, for methods that can recode new rows.
    rings
        For methods that deal rows out to cells on rings: ring, place of the cell, place of the original, and width.
    blocks
        For methods that tell sensitive values by blocks of rows: the block of each released row.
    """

    rows: npt.NDArray[np.int64]
    seed: int | None = None
    recoding: Recoding | None = None
    rings: pl.DataFrame | None = None
    blocks: npt.NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return "Private(...)"  # a stray log line must not undo the release


@dataclass(frozen=True)
class Release:
    """Generalized rows with a public manifest; see docs/release-format.md.

    Attributes
    ----------
    cell_lo, cell_hi
        The distinct cells, int32 [cells x quasi]; `cell_of` gives each row's.
    sensitive
        Codes into `sensitive_values`, when exact values are published.
    cell_counts
        Sensitive counts per cell, when distributions are published.
    manifest
        What everybody may know.
    private
        What the owner keeps; ``None`` in the hands of anybody else.
    kind
        Kind of frames to return: polars, pandas or pyarrow.
    levels
        The levels that verification found when the release was made, and numbers that the method had to add;
        ``None`` for one that was loaded.
    """

    hierarchies: tuple[Hierarchy, ...]
    cell_lo: Codes
    cell_hi: Codes
    cell_of: npt.NDArray[np.int64]
    sensitive: Codes | None
    sensitive_values: pl.Series
    cell_counts: npt.NDArray[np.int32] | None
    other: pl.DataFrame
    manifest: dict[str, Any]
    private: Private | None = None
    kind: str = "polars"
    levels: dict[str, float | int | None] | None = None

    @classmethod
    def assemble(
        cls,
        table: Table,
        order: npt.NDArray[np.int64],
        cell_lo: Codes,
        cell_hi: Codes,
        cell_of: npt.NDArray[np.int64],
        *,
        counts: npt.NDArray[np.int32] | None,
        method: Mapping[str, Any],
        guarantees: Sequence[Mapping[str, Any]],
        homogeneous: bool,
        seed: int | None,
        recoding: Recoding | None,
        kind: str,
        rings: pl.DataFrame | None = None,
        blocks: npt.NDArray[np.int64] | None = None,
    ) -> Release:
        """Put a release together from a table and the cells that a method chose for its rows, in the given order."""
        suppressed = table.n_rows - len(order)
        marginals = table.marginals
        sensitive_counts = table.sensitive_counts
        sensitive = None if table.sensitive is None else table.sensitive[order]
        if suppressed:
            marginals = tuple(
                np.bincount(table.codes[order, m], minlength=h.n_leaves) for m, h in enumerate(table.hierarchies)
            )
            if sensitive is not None:
                sensitive_counts = np.bincount(sensitive, minlength=len(table.sensitive_values))
        schema = table.schema
        quasi = [
            {"name": name, "hierarchy": hierarchy.to_dict(), "marginal": marginal.tolist()}
            for name, hierarchy, marginal in zip(schema.quasi, table.hierarchies, marginals, strict=True)
        ]
        about_sensitive = None
        if sensitive is not None:
            about_sensitive = {
                "name": schema.sensitive,
                "type": type_of(table.sensitive_values),
                "values": leaves_to_data(table.sensitive_values),
                "form": "exact" if counts is None else "counts" if blocks is None else "shares",
                "marginal": sensitive_counts.tolist(),
            }
        manifest = {
            "format": FORMAT,
            "incrowd": __version__,
            "method": dict(method),
            "recoding": "homogeneous" if homogeneous else "non-homogeneous",
            "guarantees": [dict(guarantee) for guarantee in guarantees],
            "rows": {
                "input": table.n_input,
                "missing": table.n_input - table.n_rows,
                "suppressed": suppressed,
                "released": len(order),
            },
            "missing": {"policy": schema.missing, "tokens": list(schema.missing_tokens)},
            "quasi": quasi,
            "sensitive": about_sensitive,
            "target": schema.target,
            "other": schema.other,
            "dropped": table.dropped,
        }
        release = cls(
            hierarchies=table.hierarchies,
            cell_lo=cell_lo,
            cell_hi=cell_hi,
            cell_of=cell_of,
            sensitive=sensitive if counts is None else None,
            sensitive_values=table.sensitive_values,
            cell_counts=counts,
            other=table.other[order] if schema.other else pl.DataFrame(),
            manifest=manifest,
            private=Private(table.rows[order], seed, recoding, rings, blocks),
            kind=kind,
        )
        release._refuse_name_clashes()
        return release

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        return len(self.cell_of)

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [column["name"] for column in self.manifest["quasi"]]

    @cached_property
    def lo(self) -> Codes:
        """First leaf rank of each cell, int32 [rows x quasi]."""
        return _expand(self.cell_lo, self.cell_of)

    @cached_property
    def hi(self) -> Codes:
        """Last leaf rank of each cell, int32 [rows x quasi]."""
        return _expand(self.cell_hi, self.cell_of)

    @property
    def marginals(self) -> list[npt.NDArray[np.int64]]:
        """How often each leaf occurs among the originals of the released rows."""
        return [np.array(column["marginal"], np.int64) for column in self.manifest["quasi"]]

    @cached_property
    def frame(self) -> Any:  # noqa: ANN401
        """The release for people: labels, and either exact sensitive values or one share column per value."""
        return io.from_polars(self.labelled(), self.kind)

    def labelled(self) -> pl.DataFrame:
        """Return the content of release.csv."""
        columns = [self._labels(m) for m in range(len(self.hierarchies))]
        columns += self.other.get_columns()
        if self.sensitive is not None:
            columns.append(self.sensitive_values[self.sensitive].alias(self._sensitive_name))
        elif self.cell_counts is not None:
            shares = self._cell_shares(self.cell_counts)
            columns += [pl.Series(name, shares[:, v][self.cell_of]) for v, name in enumerate(self.share_columns)]
        return pl.DataFrame(columns)

    @property
    def distributions(self) -> npt.NDArray[np.float64] | None:
        """Published sensitive shares, [rows x sensitive values]; ``None`` when exact values are published."""
        if self.cell_counts is None:
            return None
        return self._cell_shares(self.cell_counts)[self.cell_of]

    @staticmethod
    def _cell_shares(counts: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def classes(self) -> tuple[Codes, pl.Series] | None:
        """Codes and values of the class, when it is published row by row: the target, or exact sensitive values."""
        target = self.manifest["target"]
        if target is not None and target in self.manifest["other"]:
            codes, values = code_classes(self.other[target])
            return (codes, values) if codes is not None else None
        return None if self.sensitive is None else (self.sensitive, self.sensitive_values)

    @property
    def share_columns(self) -> list[str]:
        """Names of the columns that hold a distribution."""
        return [f"{self._sensitive_name}={value}" for value in text(self.sensitive_values)]

    def coded(self, *, labels: bool = True) -> pl.DataFrame:
        """Return the content of release.parquet: labels and codes of cells, the rest as it is."""
        columns = []
        for m, name in enumerate(self.quasi):
            columns += [self._labels(m)] if labels else []
            columns.append(pl.Series(f"{name}.lo", self.cell_lo[:, m][self.cell_of]))
            columns.append(pl.Series(f"{name}.hi", self.cell_hi[:, m][self.cell_of]))
        columns += self.other.get_columns()
        if self.sensitive is not None:
            columns.append(self.sensitive_values[self.sensitive].alias(self._sensitive_name))
        elif self.cell_counts is not None:
            columns += [
                pl.Series(name, self.cell_counts[:, v][self.cell_of]) for v, name in enumerate(self.share_columns)
            ]
        return pl.DataFrame(columns)

    def verify(self, original: Any = None, *, promises_only: bool = False) -> Verdict:  # noqa: ANN401
        """Check every promise by code that shares nothing with the method; with the original, all of it.

        `promises_only` leaves out what no promise depends on: how many released rows fit each original.
        """
        from incrowd.verify import check  # noqa: PLC0415

        source = None if original is None else io.to_polars(original)
        frame, kept = self.coded(labels=False), self.private
        if kept is None:
            return check(self.manifest, frame, original=source, promises_only=promises_only)
        return check(
            self.manifest, frame, original=source, rows=kept.rows, rings=kept.rings, blocks=kept.blocks,
            promises_only=promises_only,
        )  # fmt: skip

    def loss(self, name: str = "lm", *, original: Any = None) -> float:  # noqa: ANN401
        """Return an information loss of this release; see `incrowd.losses`. ``kl`` needs ``original=frame``."""
        from incrowd.losses import loss  # noqa: PLC0415
        from incrowd.release.view import cells  # noqa: PLC0415

        return loss(name, cells(self, None if original is None else io.to_polars(original)))

    def sample(self, *, seed: int | None = None) -> Any:  # noqa: ANN401
        """Return concrete rows for any learner, drawn as in Last et al. 2014, section 5.1.

        Each quasi-identifier is drawn from the published marginal inside its cell, the sensitive value from its
        distribution. A missing value that was joined with others is one of the values that may be drawn.
        """
        from incrowd.release.soft import sample  # noqa: PLC0415

        return io.from_polars(sample(self, np.random.default_rng(seed)), self.kind)

    def soft(self) -> Soft:
        """Return expected encodings and class probabilities, for learners that take weights: no sampling noise."""
        from incrowd.release.soft import soften  # noqa: PLC0415

        return soften(self)

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
        if self.private is None or self.private.recoding is None:
            fact = "This release has no recoding to apply to new rows"
            raise IncompatibleError(
                fact, "only the owner can, of a release by a method whose recoding is a function of the row"
            )
        source = io.to_polars(frame)
        lacking = [name for name in self.quasi if name not in source.columns]
        if lacking:
            fact = f"The table has no column {', '.join(map(repr, lacking))}"
            raise SchemaError(fact, f"its columns are {', '.join(map(repr, source.columns))}")
        columns = self.clean_quasi(source)
        lo, hi = self.private.recoding.transform(columns, self.hierarchies, unseen)
        labels = [h.labels(lo[:, m], hi[:, m]).alias(self.quasi[m]) for m, h in enumerate(self.hierarchies)]
        kept = [*self.manifest["other"], *([self._sensitive_name] if self.manifest["sensitive"] else [])]
        rest = [source[name] for name in kept if name in source.columns]
        return io.from_polars(pl.DataFrame([*labels, *rest]), io.kind_of(frame))

    def clean_quasi(self, source: pl.DataFrame) -> list[pl.Series]:
        """Return the quasi-identifiers of other rows, with missing tokens and types as when this release was made."""
        tokens = self.manifest["missing"]["tokens"]
        return [clean_like(h, source[name], tokens) for h, name in zip(self.hierarchies, self.quasi, strict=True)]

    def save(self, path: str | Path) -> None:
        """Write the release folder, and beside it the private one; all of it or nothing."""
        from incrowd.release.folder import save  # noqa: PLC0415

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Any:  # noqa: ANN401
        """Read a release folder; the private part too, if it lies beside it.

        A folder of projections gives a `ProjectionRelease`.
        """
        from incrowd.release.folder import load  # noqa: PLC0415

        return load(Path(path))

    @property
    def _sensitive_name(self) -> str:
        return str(self.manifest["sensitive"]["name"])

    def _labels(self, m: int) -> pl.Series:
        """Write the labels of one column: each distinct cell once."""
        labels = self.hierarchies[m].labels(self.cell_lo[:, m], self.cell_hi[:, m])
        return labels[self.cell_of].alias(self.quasi[m])

    def _refuse_name_clashes(self) -> None:
        names = [f"{name}{end}" for name in self.quasi for end in ("", ".lo", ".hi")] + self.manifest["other"]
        if self.cell_counts is not None:
            names += self.share_columns
        elif self.sensitive is not None:
            names.append(self._sensitive_name)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            fact = f"The release would have two columns named {', '.join(map(repr, twice))}"
            raise SchemaError(fact, "rename that column: NAME.lo, NAME.hi and SENSITIVE=VALUE are taken")

    def __repr__(self) -> str:
        rows = self.manifest["rows"]
        promises = ", ".join(promise_text(guarantee) for guarantee in self.manifest["guarantees"])
        return f"Release({self.manifest['method']['name']}: {promises}; {rows['released']} of {rows['input']} rows)"

    def _repr_html_(self) -> str:
        head = self.labelled().head(10)
        return f"<p>{html.escape(repr(self))}</p>{head._repr_html_()}"


def promise_text(guarantee: Mapping[str, Any]) -> str:
    """Write one guarantee for people."""
    kind = guarantee["kind"]
    if kind == "lkc":
        return f"LKC = ({guarantee['L']}, {guarantee['K']}, {guarantee['C']})"
    return f"{kind} = {guarantee[kind]}"


def _expand(cells: Codes, cell_of: npt.NDArray[np.int64]) -> Codes:
    expanded = np.empty((len(cell_of), cells.shape[1]), np.int32, order="F")
    for m in range(cells.shape[1]):
        expanded[:, m] = cells[:, m][cell_of]
    return expanded
