"""What every publisher is: parameters, one verb, and a release that was verified before anyone gets it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import polars as pl

from incrowd import io
from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError
from incrowd.hierarchy.hierarchy import type_of
from incrowd.kernels.jit import interpreted
from incrowd.kernels.limits import groups_hold
from incrowd.manifest import Guarantee, Method
from incrowd.privacy import Privacy
from incrowd.privacy.constraints import EachColumn, LKind, own_of
from incrowd.publish.population import Population, publish_within
from incrowd.release import Release, RowRelease
from incrowd.release.seal import Cells, seal_rows, secret_rng
from incrowd.schema import Schema

AnyRelease = TypeVar("AnyRelease", bound=Release)
Progress = Callable[[str, int, int], None]
"""Called with a stage, the work done and the work to do; what it raises ends the run."""

_LATER = (
    ("others_known", False, ("others_known",)), ("beta", None, ("beta", "enhanced")), ("delta", None, ("delta",)),
    ("tree", False, ("tree",)), ("width", None, ("width",)),
)  # fmt: skip
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
    after: RowRelease | None = None
    """The release before in a series."""


@dataclass(frozen=True, kw_only=True)
class Publisher(ABC, Generic[AnyRelease]):
    """A method with its parameters: `publish` turns a frame into a verified release."""

    name: ClassVar[str]
    paper: ClassVar[str]
    promise: ClassVar[str]
    kind: ClassVar[str]
    cost: ClassVar[str]
    needs_hierarchies: ClassVar[bool] = False
    several: ClassVar[bool] = False
    """Whether the method protects several sensitive columns at once."""
    recodes: ClassVar[bool] = False

    def can_recode(self) -> bool:
        """Tell whether its recoding is a function of the row, which `RowRelease.transform` applies to new rows."""
        return self.recodes

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - scikit-learn's
        """Return the parameters by name, as scikit-learn's `clone` and searches ask for them."""
        del deep
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **parameters: Any) -> Self:  # noqa: ANN401
        """Change parameters in place, as scikit-learn's searches do; nothing else changes a method once it is made."""
        unknown = sorted(set(parameters) - {field.name for field in fields(self)})
        if unknown:
            fact = f"Method {self.name!r} has no parameter {', '.join(map(repr, unknown))}"
            raise ParameterError(fact, f"its parameters are {', '.join(field.name for field in fields(self))}")
        for name, value in vars(replace(self, **parameters)).items():
            object.__setattr__(self, name, value)
        return self

    @abstractmethod
    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain data, as a manifest lists them."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, unasked, with_it in _LATER:  # as in releases that were made before there were such parameters
            if name in given and given[name] is unasked:
                given = {key: value for key, value in given.items() if key not in with_it}
        if not given.get("concealment", True):
            given = {key: value for key, value in given.items() if key != "concealment"}
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}

    def settled(self, schema: Schema) -> Self:
        """Return this method with the limits that the schema asks of single columns among its parameters.

        Refuses what the method cannot keep; what it was asked for itself must not say otherwise.
        """
        if len(schema.secrets) > 1 and not self.several:
            fact = f"Method {self.name!r} protects one sensitive column, and the schema has {len(schema.secrets)}"
            raise IncompatibleError(fact, "use a method that forms groups, such as best_cuts or mondrian, or nsvdist")
        ranged = [name for name in schema.secrets if schema.attributes[name].ranges]
        if ranged and self.kind == "projections":
            fact = f"Method {self.name!r} cannot publish {', '.join(map(repr, ranged))} in ranges"
            raise IncompatibleError(fact, "use a method that generalizes rows, such as best_cuts or nsvdist")
        asked = {name: schema.attributes[name].limits for name in schema.secrets}
        known = {field.name: field for field in fields(self)}
        for column, own in asked.items():
            lost = [name for name in own if name not in known]
            if lost:
                fact = f"Method {self.name!r} has no {', '.join(lost)}, which the schema asks for column {column!r}"
                raise IncompatibleError(fact, "use a method that forms groups, such as best_cuts or mondrian")
        changed = {name for own in asked.values() for name in own}
        changed |= {name for name in known if isinstance(getattr(self, name), Mapping)}
        return replace(self, **{name: self._each(known[name], asked) for name in known if name in changed})

    def _each(self, field: Field[Any], asked: Mapping[str, Mapping[str, Any]]) -> Any:  # noqa: ANN401
        """Return one setting for each sensitive column, or the only one."""
        default, given = field.default if field.default is not MISSING else None, getattr(self, field.name)
        strange = [name for name in given if name not in asked] if isinstance(given, Mapping) else []
        if strange or not asked:
            fact = f"{field.name} is given for {', '.join(map(repr, strange))}, which the schema has not as sensitive"
            raise ParameterError(fact, f"use one of {', '.join(map(repr, asked))}" if asked else "give one number")
        each = {}
        for column, own in asked.items():
            mine = own_of(given, column, default)
            each[column] = own.get(field.name, mine)
            if mine not in (default, each[column]):
                fact = f"{field.name} is {mine!r}, and the schema asks for {each[column]!r} of column {column!r}"
                raise ParameterError(fact, "leave one of them out")
        return each if len(asked) > 1 else next(iter(each.values()))

    def publish(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
        domains: str = "joined",
        within: Population | None = None,
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
        within
            The population: everybody who could be in the table, and what has to hold among them; see `Population`. The
            k of the release is then the one that this takes.

        Returns
        -------
        Release
            Verified against the original by code that this method does not share: a `RowRelease`, or a
            `ProjectionRelease` if the method publishes projections.
        """
        report = progress or (lambda _stage, _done, _total: None)
        run = Run(io.to_polars(frame), schema, seed, report, domains, io.kind_of(frame))
        method = self.settled(schema)
        if within is None:
            return method._release(run)
        if not isinstance(method, CellPublisher) or "k" not in method.get_params():
            fact = f"Method {self.name!r} publishes no rows with cells, which people of a population fit or not"
            raise IncompatibleError(fact, "use a method that generalizes rows, or leave the population out")
        k = int(method.get_params()["k"])
        return publish_within(lambda k: replace(method, k=k)._release(run), k, within)  # type: ignore[call-arg,return-value]

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

    @property
    def takes_stored_rows(self) -> bool:
        """Whether it can cut a table whose rows lie on the disk, with these parameters; see `StoredTable`."""
        return False

    @abstractmethod
    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells; the only thing that a method has to write."""

    def chosen(self, run: Run, table: Table, rng: np.random.Generator) -> tuple[Table, Choice]:
        """Choose the cells for a run; return the table that they are of."""
        return table, self.choose(table, rng, run.progress)

    def promises(self, choice: Choice, schema: Schema) -> Sequence[Guarantee]:
        """Return what the manifest promises of a choice."""
        return (choice.privacy or self.privacy()).guarantees(schema.secrets)

    def require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep: what one group of all rows would not."""
        require_feasible(self.privacy(), table)

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run; when that is not often, they are not compiled."""
        return table.codes.size * float(np.log2(table.n_rows + 1))

    def _release(self, run: Run) -> RowRelease:
        rng = secret_rng(run.seed, run.original)

        def choose() -> tuple[Table, Choice, Sequence[Guarantee]]:
            run.progress("coding", 0, 1)
            table = Table.encode(run.original, run.schema, least=self.rare(run.schema))
            run.progress("coding", 1, 1)
            self.require_feasible(table)
            with interpreted(self.n_steps(table) < _FEW_STEPS):
                table, choice = self.chosen(run, table, rng)
            return table, choice, self.promises(choice, table.schema)

        return seal_rows(
            run.original,
            choose,
            method=Method(self.name, self.parameters()),
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
        if privacy.about_sensitive and (not schema.secrets or schema.target in schema.secrets):
            return math.inf
        return privacy.limits().size


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
    others_known
        Keep the limits of each sensitive column for somebody, too, who has learned another of them.
    beta, enhanced
        Largest relative gain of any sensitive value's share over its share in the table (beta-likeness); `enhanced`
        also keeps frequent values from becoming certain.
    delta
        Largest change of any sensitive value's share, as a logarithm to base 2 (delta-disclosure); every group then has
        every value.

    tree
        Measure t along the tree that the schema gives the sensitive column (hierarchical closeness).
    width
        How far the least and the greatest value of a sensitive number are apart in every group, at least: the e of
        (k, e)-anonymity.

    With several sensitive columns, each of these but k is one setting for all of them, or a mapping:
    ``l={"diagnosis": 3}`` asks for nothing of the others.
    """

    k: int
    l: EachColumn[float] = 1
    l_kind: EachColumn[LKind] = "frequency"
    c: EachColumn[float] = 3.0
    t: EachColumn[float | None] = None
    ordered: EachColumn[bool] = False
    alpha: EachColumn[float | None] = None
    others_known: bool = False
    beta: EachColumn[float | None] = None
    enhanced: EachColumn[bool] = False
    delta: EachColumn[float | None] = None
    tree: EachColumn[bool] = False
    width: EachColumn[float | None] = None

    promise: ClassVar[str] = "k, l (all kinds), t, alpha, beta, delta, width"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.privacy()

    @property
    def asked(self) -> dict[str, Any]:
        """What groups are to keep, as parameters of any method that forms groups."""
        return {field.name: getattr(self, field.name) for field in fields(GroupPublisher)}

    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps."""
        return Privacy.of(**self.asked)


def require_feasible(privacy: Privacy, table: Table) -> None:
    """Refuse what not even one group of all rows of this table keeps."""
    counts = {secret.name: secret.counts(table.sensitive_counts) for secret in table.secrets}
    ordered = [secret.name for secret in table.secrets if type_of(secret.values) in ("int", "float", "date")]
    numbers = [secret for secret in table.secrets if type_of(secret.values) in ("int", "float")]
    values = {secret.name: secret.values.to_list() for secret in numbers} if privacy.has_widths else None
    privacy.require_feasible(table.n_rows, counts, ordered, values)
    if not privacy.others_known:
        return
    whole, n = table.sensitive_counts[None, :], np.array([table.n_rows])
    if not groups_hold(whole, n, limits(privacy, table))[0]:
        asked = ", ".join(promise.text for promise in privacy.guarantees(table.schema.secrets))
        fact = f"No release of this table can keep {asked}: not even among all people who share a value of the other"
        raise InfeasibleError(fact, "leave out others_known, or ask for less", best={"k": int(privacy.limits().size)})
