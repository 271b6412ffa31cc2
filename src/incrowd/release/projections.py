"""ProjectionRelease: columns of one table shared out among several, each with the class and its rows in its own order.

The sibling of `Release` for methods that do not generalize rows but separate columns (DMPD). Nobody can tell which rows
of two projections belong together; what can be joined is joined by the class. See docs/release-format.md.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import clean
from incrowd.errors import SchemaError
from incrowd.hierarchy.hierarchy import leaves_to_data, type_of
from incrowd.release.intervals import in_intervals
from incrowd.release.release import FORMAT, promise_text
from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd.verify import Verdict

PAYLOAD = "projections"
Rows = tuple[npt.NDArray[np.int64], ...]

_LEARNER = "incrowd.publish.decomposition.partition_classifier"  # a room above: loaded by name
_INSTEAD = {
    "frame": "it has several tables: take release.frames",
    "sample": "its values are concrete already: take release.frames, or release.classifier()",
    "soft": "its values are concrete already: take release.frames, or release.classifier()",
    "transform": "release.classifier() takes new rows as they are; release.recode(frame) shows them as published",
    "loss": "no cell was generalized; release.levels has the cross-validated accuracy",
    "distributions": "each projection shows the class as it is",
}


@dataclass(frozen=True)
class PrivateProjections:
    """What the owner keeps: it would undo the release.

    Attributes
    ----------
    rows
        Of each projection, the original row number of each of its rows.
    seed
        The seed of the run, or ``None`` if the operating system seeded the randomness.
    """

    rows: Rows
    seed: int | None = None

    def __repr__(self) -> str:
        return "PrivateProjections(...)"  # a stray log line must not undo the release


@dataclass(frozen=True)
class ProjectionRelease:
    """Projections of a table with a public manifest.

    Attributes
    ----------
    projections
        The published tables: columns of a part, then the class.
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

    projections: tuple[pl.DataFrame, ...]
    manifest: dict[str, Any]
    private: PrivateProjections | None = None
    kind: str = "polars"
    levels: dict[str, float | int | None] | None = None

    @classmethod
    def assemble(
        cls,
        features: pl.DataFrame,
        columns: Sequence[Mapping[str, Any]],
        target: Mapping[str, Any],
        classes: tuple[npt.NDArray[np.int32], pl.Series],
        parts: Sequence[Sequence[str]],
        *,
        rows: npt.NDArray[np.int64],
        about: Mapping[str, Any],
        rng: np.random.Generator,
        seed: int | None,
        kind: str,
    ) -> ProjectionRelease:
        """Put a release together.

        Parameters
        ----------
        features
            Columns as they are to be published, in the order of the table.
        columns
            Of each of them, its entry in the manifest.
        target
            Name and role of the class.
        classes
            Number of each row's class, and the classes.
        parts
            Names of the columns of each projection; none at all publishes the class alone.
        rows
            Number of each row in the frame that came in.
        about
            What else the manifest says.
        rng
            Shuffles each projection by itself, if no seed is given.
        seed
            Shuffles them together with the whole table, so that nobody else can repeat it: see `_shuffler`.
        """
        codes, values = classes
        if seed is not None:
            rng = _shuffler(seed, features, codes)
        orders = [rng.permutation(len(codes)) for _ in parts or [[]]]
        shown: list[Sequence[str]] = list(parts) or [[]]
        own = values[codes].alias(target["name"])
        projections = tuple(
            pl.DataFrame([*(features[name] for name in part), own])[order]
            for part, order in zip(shown, orders, strict=True)
        )
        published = {name for part in parts for name in part}
        manifest = {
            "format": FORMAT,
            "incrowd": __version__,
            "payload": PAYLOAD,
            **about,
            "class": {
                **target,
                "type": type_of(values),
                "values": leaves_to_data(values),
                "marginal": np.bincount(codes, minlength=len(values)).tolist(),
            },
            "parts": [list(part) for part in shown],
            "columns": [dict(column) for column in columns if column["name"] in published],
        }
        private = PrivateProjections(tuple(rows[order] for order in orders), seed)
        return cls(projections, manifest, private, kind)

    @property
    def n_rows(self) -> int:
        """Number of rows of each projection."""
        return self.projections[0].height

    @property
    def parts(self) -> list[list[str]]:
        """Names of the columns of each projection, without the class; ``[[]]`` when only the class was published."""
        return [list(part) for part in self.manifest["parts"]]

    @property
    def target(self) -> str:
        """Name of the class column."""
        return str(self.manifest["class"]["name"])

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers that were published."""
        return [column["name"] for column in self.manifest["columns"] if column["role"] == "quasi"]

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

    def verify(self, original: Any = None) -> Verdict:  # noqa: ANN401
        """Check every promise by code that shares nothing with the method; with the original, all of it."""
        from incrowd.verify.projections import check_projections  # noqa: PLC0415

        source = None if original is None else io.to_polars(original)
        rows = None if self.private is None else self.private.rows
        return check_projections(self.manifest, self.projections, original=source, rows=rows)

    def save(self, path: str | Path) -> None:
        """Write the release folder, and beside it the private one; all of it or nothing."""
        from incrowd.release.projection_folder import save  # noqa: PLC0415

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> ProjectionRelease:
        """Read a release folder; the private part too, if it lies beside it."""
        from incrowd.release.projection_folder import load  # noqa: PLC0415

        return load(Path(path))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        fact = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(f"{fact}: {_INSTEAD[name]}" if name in _INSTEAD else fact)

    def __repr__(self) -> str:
        rows, method = self.manifest["rows"], self.manifest["method"]["name"]
        promises = ", ".join(promise_text(guarantee) for guarantee in self.manifest["guarantees"])
        what = "the class alone" if self.is_empty else f"{len(self.projections)} projections"
        return f"ProjectionRelease({method}: {promises}; {what}; {rows['released']} of {rows['input']} rows)"

    def _repr_html_(self) -> str:
        heads = "".join(projection.head(5)._repr_html_() for projection in self.projections)
        return f"<p>{html.escape(repr(self))}</p>{heads}"


def _shuffler(seed: int, features: pl.DataFrame, codes: npt.NDArray[np.int32]) -> np.random.Generator:
    """Return randomness that takes the seed and all rows in their order to repeat.

    Of the seed alone it must not be: whoever guesses one could see from the classes of two projections that it is the
    right one, as they would fall into the same order, and so would the people.
    """
    secret = hashlib.sha256(features.write_csv().encode())
    secret.update(codes.astype("<i4").tobytes())
    return np.random.default_rng([seed, int.from_bytes(secret.digest(), "little")])


@dataclass(frozen=True)
class AsPublished:
    """Turns raw rows into the columns of a release: numbers into intervals, values that were suppressed into missing.

    Attributes
    ----------
    columns
        The entries of the manifest.
    kept
        For columns with suppressed values, those that were not.
    tokens
        Texts that mean missing.
    """

    columns: tuple[Mapping[str, Any], ...]
    kept: Mapping[str, pl.Series]
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, release: ProjectionRelease) -> AsPublished:
        """Read how a release shows its columns."""
        columns = tuple(release.manifest["columns"])
        place = {name: i for i, part in enumerate(release.parts) for name in part}
        kept = {
            column["name"]: release.projections[place[column["name"]]][column["name"]].unique().drop_nulls()
            for column in columns
            if column["suppressed"]
        }
        return cls(columns, kept, tuple(release.manifest["missing"]["tokens"]))

    def __call__(self, frame: Any) -> pl.DataFrame:  # noqa: ANN401
        """Return the columns of a release, in the order of its manifest, of other rows."""
        source = io.to_polars(frame)
        lacking = [column["name"] for column in self.columns if column["name"] not in source.columns]
        if lacking:
            fact = f"The table has no column {', '.join(map(repr, lacking))}"
            raise SchemaError(fact, f"its columns are {', '.join(map(repr, source.columns))}")
        shown = [self._shown(source[column["name"]], column) for column in self.columns]
        return pl.DataFrame(shown) if shown else source.select()

    def _shown(self, values: pl.Series, column: Mapping[str, Any]) -> pl.Series:
        if column["role"] == "other":
            return values
        if column["cuts"] is None:
            values = clean(values, column["type"], None, self.tokens)
        else:
            values = in_intervals(clean(values, "float", None, self.tokens), tuple(column["cuts"]))
        if column["name"] in self.kept:
            values = values.set(~values.is_in(self.kept[column["name"]].implode()).fill_null(value=False), None)
        return values
