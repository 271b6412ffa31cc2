"""What every publisher is: parameters, one verb, and a release that was verified before anyone gets it."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import Table
from incrowd.hierarchy.hierarchy import type_of
from incrowd.kernels.jit import interpreted
from incrowd.privacy import Privacy
from incrowd.privacy.constraints import LKind
from incrowd.recoding import Recoding
from incrowd.release import Release
from incrowd.release.checked import checked
from incrowd.schema import Schema

Progress = Callable[[str, int, int], None]
"""Called with a stage, the work done and the work to do; what it raises ends the run."""

_FEW_STEPS = 150_000  # take a fraction of a second in plain Python, and loading compiled loops takes longer


@dataclass(frozen=True)
class Choice:
    """What a method chose: cells, and the cell of each row of the table.

    Attributes
    ----------
    lo, hi
        Cells, int32 [cells x quasi].
    cell_of
        Number of each row's cell; ``-1`` for a row that is left out.
    counts
        Published sensitive counts per cell, or ``None`` when exact values are published.
    recoding
        The function of a row that the method learned, if it is one.
    privacy
        What every group keeps, if the method found out more than it was asked for.
    numbers
        What else the method has to say; the owner finds it in `Release.levels`.
    rings
        For methods that deal rows out to cells on rings, where each row and its cell are; see docs/release-format.md.
    blocks
        For methods that tell sensitive values by blocks of rows, the block of each row; `counts` are shares then.
    """

    lo: npt.NDArray[np.int32]
    hi: npt.NDArray[np.int32]
    cell_of: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int32] | None = None
    recoding: Recoding | None = None
    privacy: Privacy | None = None
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)
    rings: pl.DataFrame | None = None
    blocks: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Publisher(ABC):
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

    @abstractmethod
    def publish(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Any:  # noqa: ANN401
        """Publish a frame.

        Parameters
        ----------
        frame
            A polars, pandas or pyarrow table; it is not modified.
        schema
            Roles and hierarchies of its columns.
        seed
            Makes the run repeatable. Without it, randomness is seeded by the operating system, which is what
            protects people: keep a seed to yourself, as you would the original.
        progress
            Called with (stage, done, total).

        Returns
        -------
        Release or ProjectionRelease
            Verified against the original by code that this method does not share.
        """


@dataclass(frozen=True, kw_only=True)
class CellPublisher(Publisher):
    """A method that generalizes: it chooses a cell for each row."""

    homogeneous: ClassVar[bool] = True

    def _require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep: what one group of all rows would not."""
        ordered = type_of(table.sensitive_values) in ("int", "float", "date")
        self.privacy().require_feasible(table.n_rows, table.sensitive_counts, values_are_ordered=ordered)

    def _steps(self, table: Table) -> float:
        """Return about how often the innermost loops run; when that is not often, they are not compiled."""
        return table.codes.size * float(np.log2(table.n_rows + 1))

    @abstractmethod
    def _choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells; the only thing that a method writes."""

    def publish(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Publish a frame as generalized rows; see `Publisher.publish`."""
        report = progress or (lambda _stage, _done, _total: None)
        original = io.to_polars(frame)
        report("coding", 0, 1)
        table = Table.encode(original, schema)
        report("coding", 1, 1)
        self._require_feasible(table)
        rng = np.random.default_rng(seed)
        with interpreted(self._steps(table) < _FEW_STEPS):
            choice = self._choose(table, rng, report)
        kept = np.flatnonzero(choice.cell_of >= 0)
        shuffled = (rng if seed is None or choice.counts is not None else _secret(seed, table)).permutation(kept)
        release = Release.assemble(
            table,
            shuffled,
            choice.lo,
            choice.hi,
            choice.cell_of[shuffled],
            counts=choice.counts,
            method={"name": self.name, "parameters": asdict(self)},
            guarantees=(choice.privacy or self.privacy()).guarantees(),
            homogeneous=self.homogeneous,
            seed=seed,
            recoding=choice.recoding,
            rings=None if choice.rings is None else choice.rings[shuffled],
            blocks=None if choice.blocks is None else choice.blocks[shuffled],
            kind=io.kind_of(frame),
        )
        numbers = choice.numbers
        del table, choice  # verifying takes as much room again
        return checked(release, original, report, numbers)


def _secret(seed: int, table: Table) -> np.random.Generator:
    """Return randomness that takes the seed and all rows in their order, with their sensitive values, to repeat.

    Of the seed alone it must not be where rows have exact values: whoever guesses it, and has the quasi-identifiers in
    the original's order, would know whose row is whose. Distributions are not in danger, and their order shall not
    depend on values.
    """
    secret = hashlib.sha256(table.codes.astype("<i4").tobytes())
    secret.update(b"" if table.sensitive is None else table.sensitive.astype("<i4").tobytes())
    return np.random.default_rng([seed, int.from_bytes(secret.digest(), "little")])


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
