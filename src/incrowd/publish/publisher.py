"""What every publisher is: parameters, one verb, and a release that was verified before anyone gets it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import polars as pl

from incrowd import io
from incrowd.coding import Table
from incrowd.hierarchy.hierarchy import type_of
from incrowd.kernels.jit import interpreted
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.privacy.constraints import LKind
from incrowd.release import Release, RowRelease
from incrowd.release.seal import Cells, seal_rows, secret_rng
from incrowd.schema import Schema

AnyRelease = TypeVar("AnyRelease", bound=Release)
Progress = Callable[[str, int, int], None]
"""Called with a stage, the work done and the work to do; what it raises ends the run."""

_FEW_STEPS = 150_000  # take a fraction of a second in plain Python, and loading compiled loops takes longer


@dataclass(frozen=True)
class Choice(Cells):
    """What a method chose: the cells, and what every group keeps if the method found out more than it was asked for."""

    privacy: Privacy | None = None


@dataclass(frozen=True)
class Run:
    """What one call of `Publisher.publish` was given."""

    original: pl.DataFrame
    schema: Schema
    seed: int | None
    progress: Progress
    domains: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Publisher(ABC, Generic[AnyRelease]):
    """A method with its parameters: `publish` turns a frame into a verified release."""

    name: ClassVar[str]
    paper: ClassVar[str]
    promise: ClassVar[str]
    kind: ClassVar[str]
    cost: ClassVar[str]
    needs_hierarchies: ClassVar[bool] = False

    @abstractmethod
    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain data, as a manifest lists them."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}

    def publish(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
        domains: str = "joined",
    ) -> AnyRelease:
        """Publish a frame.

        Parameters
        ----------
        frame
            A polars, pandas or pyarrow table; it is not modified.
        schema
            Roles and hierarchies of its columns.
        seed
            Makes the run repeatable for somebody who has the whole original, whose hash is mixed in. Without it,
            randomness is seeded by the operating system. Keep a seed private, as you would the original.
        progress
            Called with (stage, done, total); what it raises ends the run.
        domains
            ``"joined"``: the manifest tells no value and no count that fewer than k rows share. ``"exact"``: it lists
            every value of the quasi-identifiers and how often it occurs, rare ones too, as the literature does.

        Returns
        -------
        Release
            Verified against the original by code that this method does not share: a `RowRelease`, or a
            `ProjectionRelease` if the method publishes projections.
        """
        report = progress or (lambda _stage, _done, _total: None)
        return self._release(Run(io.to_polars(frame), schema, seed, report, domains, io.kind_of(frame)))

    @abstractmethod
    def _release(self, run: Run) -> AnyRelease:
        """Choose what to publish, and seal it."""


@dataclass(frozen=True, kw_only=True)
class CellPublisher(Publisher[RowRelease]):
    """A method that generalizes: it chooses a cell for each row."""

    homogeneous: ClassVar[bool] = True
    cuts_weighted_rows: ClassVar[bool] = False
    """Whether it chooses the same cells if equal rows come once, with their number: then every engine can run it."""

    @property
    def takes_weights(self) -> bool:
        """Whether that holds for these parameters."""
        return self.cuts_weighted_rows

    @abstractmethod
    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells; the only thing that a method has to write."""

    def require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep: what one group of all rows would not."""
        ordered = type_of(table.sensitive_values) in ("int", "float", "date")
        self.privacy().require_feasible(table.n_rows, table.sensitive_counts, values_are_ordered=ordered)

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run; when that is not often, they are not compiled."""
        return table.codes.size * float(np.log2(table.n_rows + 1))

    def _release(self, run: Run) -> RowRelease:
        run.progress("coding", 0, 1)
        table = Table.encode(run.original, run.schema, least=self.rare(run.schema))
        run.progress("coding", 1, 1)
        self.require_feasible(table)
        rng = secret_rng(run.seed, run.original)
        with interpreted(self.n_steps(table) < _FEW_STEPS):
            choice = self.choose(table, rng, run.progress)
        return seal_rows(
            run.original,
            table,
            choice,
            method=Method(self.name, self.parameters()),
            guarantees=(choice.privacy or self.privacy()).guarantees(),
            homogeneous=self.homogeneous,
            rng=rng,
            seed=run.seed,
            kind=run.kind,
            domains=run.domains,
            progress=run.progress,
        )

    def rare(self, schema: Schema) -> float:
        """Return the number of rows below which a value is rare: k, or any number where the class is protected."""
        privacy = self.privacy()
        if privacy.about_sensitive and schema.target == schema.sensitive:
            return math.inf
        return max((g.crowd for g in privacy.guarantees() if g.crowd is not None), default=1)


@dataclass(frozen=True, kw_only=True)
class GroupPublisher(CellPublisher):
    """A method whose groups of rows with equal cells each keep k, and whatever else was asked for.

    Parameters
    ----------
    k
        Least number of rows in a group.
    l, l_kind, c
        Diversity of sensitive values: real l for ``frequency`` and ``entropy``, whole for ``distinct`` and
        ``recursive`` (with c).
    t, ordered
        Closeness of sensitive distributions to the table's; `ordered` uses the order of the values.
    alpha
        Largest share of a sensitive value.
    """

    k: int
    l: float = 1
    l_kind: LKind = "frequency"
    c: float = 3.0
    t: float | None = None
    ordered: bool = False
    alpha: float | None = None

    promise: ClassVar[str] = "k, l (all kinds), t, alpha"

    def __post_init__(self) -> None:
        self.privacy()

    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps."""
        return Privacy.of(
            self.k, l=self.l, l_kind=self.l_kind, c=self.c, t=self.t, alpha=self.alpha, ordered=self.ordered
        )
