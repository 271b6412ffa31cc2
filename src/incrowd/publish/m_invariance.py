"""MInvariance: a table that grows and changes is published again and again, and all releases together tell no more.

Every person has a *signature*: the sensitive values that occur in their group, all equally often. People of one
signature are a bucket, which is cut into groups of near people. When the table is published again, a person who is
still there gets a group with the same values, near whom ever; new people fill the places of those who left, others
found new buckets, and what then lacks is filler: rows about nobody. How many rows are filler is in the manifest.

Guarantee: every group has k rows, its cell fits k people, and its l or more values are equally frequent. Somebody who
holds all releases of a series, knows everybody's quasi-identifiers and who is in which table, and would even know the
group of each person, learns no more of a sensitive value than one release tells: swap any two values among all people
of a signature, in all releases, and every release stays as it is. So each of the l or more values of a person is as
likely as any other, and each row of their group in any release may be theirs. What is not promised: anything against
somebody who knows how often values change, the sensitive values of other people of the signature, or, where there is
filler, which value is the rarer one in the population and so probably filler's.

Changes: quasi-identifiers may change freely. A new sensitive value that is in a signature that the person had leaves
or brings them there; otherwise they get a signature without any value that they were shown with before. If there is
none, the person is held back: left out and counted as suppressed, with filler in their place in the group's cell.

Columns of role *other* are refused: rows of two releases could be told to be one person's by them.

Cost: O(n M^2 log n), and an integer program with a few variables per signature. Use it when a table will be published
more than once: fresh releases of other methods can be intersected. For a single release other methods lose less.

Where we differ from the paper: (1) its groups have each value once; ours have it equally often, so that k may be larger
than l; (2) how many new people go into which bucket is the solution of an integer program with least filler, where the
paper balances greedily; (3) the paper tells how much filler each group has, we only the number; (4) what a changed
value means is ours, the paper has insertions and deletions only; people who come back have the signature they had.

Reference: Xiao, Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets, SIGMOD 2007.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"name": list("abcd"), "age": [21, 22, 30, 31], "ill": ["flu", "ulcer"] * 2})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", identifiers=["name"])
>>> first = ic.MInvariance(k=2).publish(people, schema)
>>> more = people.vstack(pl.DataFrame({"name": ["e"], "age": [23], "ill": ["flu"]}))
>>> second = ic.republish(first, more, schema)
>>> second.manifest.rows.released, second.manifest.rows.filler
(6, 1)
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import Table
from incrowd.domains import flatten
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, PrivacyWarning, SchemaError, counted
from incrowd.kernels.domains import close_groups
from incrowd.manifest import Guarantee, Series
from incrowd.privacy import Privacy
from incrowd.publish.balanced_groups import Places, cut_bucket
from incrowd.publish.histories import NEW, Histories
from incrowd.publish.publisher import CellPublisher, Choice, Progress, Run, require_feasible
from incrowd.publish.signatures import Plan, Signature, plan_buckets
from incrowd.release import People, RowRelease
from incrowd.release.seal import Filler
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]
_FEW = 0.5  # share of people who are known, below which it is asked whether identifiers are written as before


@dataclass(frozen=True, kw_only=True)
class MInvariance(CellPublisher):
    """Releases of a growing table that tell no more together than each alone.

    Parameters
    ----------
    k
        Least number of rows in a group, and of people whom its cell fits.
    l
        Least number of sensitive values in a group, all equally frequent (the paper's m).
    person
        Column that tells people apart in all tables of the series; by default the only identifier of the schema.
    """

    k: int
    l: int = 2
    person: str | None = None

    name: ClassVar[str] = "m_invariance"
    paper: ClassVar[str] = "Xiao, Tao 2007"
    promise: ClassVar[str] = "k, l (frequency, whole), over all releases"
    kind: ClassVar[str] = "local, groups"
    cost: ClassVar[str] = "n M^2 log n"

    def __post_init__(self) -> None:
        self.privacy()
        if self.l != int(self.l) or self.l < 2:
            fact = f"l is {self.l!r}"
            raise ParameterError(fact, "signatures need a whole number of values, at least 2")
        object.__setattr__(self, "l", int(self.l))

    def privacy(self) -> Privacy:
        """Return the constraints that every group keeps."""
        return Privacy.of(self.k, l=self.l)

    def settled(self, schema: Schema) -> MInvariance:
        """Return this method with the column that tells people apart."""
        names = schema.identifiers
        if self.person is not None and self.person not in names:
            fact = f"person is {self.person!r}, which is not an identifier of the schema"
            raise SchemaError(fact, f"its identifiers are {', '.join(map(repr, names)) or 'none'}")
        if self.person is None and len(names) > 1:
            fact = f"The schema has {len(names)} identifiers: {', '.join(map(repr, names))}"
            raise SchemaError(fact, "say which of them tells people apart: person=...")
        return replace(super().settled(schema), person=self.person or next(iter(names), None))

    def promises(self, choice: Choice, schema: Schema) -> tuple[Guarantee, ...]:
        """Return what is promised of each release, and of all together."""
        return (*super().promises(choice, schema), Guarantee("m", m=self.l))

    def publish_after(
        self,
        previous: RowRelease,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
        domains: str = "joined",
    ) -> RowRelease:
        """Publish the table as it is now, after an earlier release of it; see `republish`."""
        report = progress or (lambda _stage, _done, _total: None)
        kind, table = io.kind_of(frame), io.to_polars(frame)
        return self.settled(schema)._release(Run(table, schema, seed, report, domains, kind, previous))

    def require_feasible(self, table: Table) -> None:
        """Refuse too few rows; whether values are too frequent is up to the first release, for filler evens out."""
        require_feasible(Privacy.of(self.k), table)

    def chosen(self, run: Run, table: Table, rng: np.random.Generator) -> tuple[Table, Choice]:
        """Choose the cells, with what earlier releases of the series have shown of the same people."""
        who = None if self.person is None else hash_people(_identifiers(run.original, self.person)[table.rows])
        if run.after is not None and who is None:
            fact = "Nothing tells who was in the release before"
            raise SchemaError(fact, "name the column that does as identifier in the schema, or with person=...")
        if run.after is not None and who is not None:
            _look_for_known(who, run.after)
        return self._choose(table, who, run.after, rng, run.progress)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells of a first release."""
        return self._choose(table, None, None, rng, progress)[1]

    def _choose(
        self,
        table: Table,
        who: Int64 | None,
        previous: RowRelease | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[Table, Choice]:
        _refuse_roles(table.schema)
        if previous is None:
            require_feasible(self.privacy(), table)
        histories = Histories.of(table, who, previous)
        place, held = histories.place_known()
        _require_people(table, held, int(self.k))
        buckets = _fill_buckets(histories, place, held, self.l, int(self.k), rng)
        places, k = Places.of(table), int(self.k)
        group_of, n_groups = np.full(table.n_rows, NEW), 0
        cells, values = [], []
        for number, (signature, rows, is_filler) in enumerate(buckets):
            progress("grouping", number, len(buckets))
            real = ~is_filler & ~held[rows]
            for part in cut_bucket(places, rows, real, k):
                own, empty = np.take_along_axis(rows, part, axis=1), np.take_along_axis(is_filler, part, axis=1)
                group_of[own[~empty]] = n_groups
                shown = np.broadcast_to(np.array(signature)[:, None], own.shape)
                added = empty | held[own]
                cells.append(np.full(int(added.sum()), n_groups))
                values.append(shown[added])
                n_groups += 1
        progress("grouping", 1, 1)
        fits = _widen(places, group_of, held, n_groups, k)
        domains, every = flatten(table.hierarchies), np.concatenate([table.codes, table.codes[fits[0]]])
        lo, hi = close_groups(np.asfortranarray(every), np.concatenate([group_of, fits[1]]), n_groups, domains)
        histories.remember(buckets)
        table, codes = histories.with_values(np.concatenate(values))
        filler = Filler(np.concatenate(cells), codes)
        return table, Choice(
            lo, hi, np.where(held, -1, group_of),
            evidence=histories.evidence(np.concatenate([group_of, filler.cells])), filler=filler,
            series=_series(previous, rng),
        )  # fmt: skip


def republish(
    previous: RowRelease,
    frame: Any,  # noqa: ANN401
    schema: Schema,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    domains: str | None = None,
) -> RowRelease:
    """Publish a table again that has grown or changed, so that all its releases together tell no more than each alone.

    Parameters
    ----------
    previous
        The last release of the series, with its private part; its method and parameters are used again.
    frame
        The table as it is now: rows may have come, gone or changed. It is not modified.
    schema
        Roles and hierarchies of its columns; the identifier tells who is who.
    seed, progress, domains
        As in `incrowd.publish.Publisher.publish`; `domains` is by default as in the last release.

    Returns
    -------
    RowRelease
        The next release of the series.
    """
    RowRelease.expect(previous, "only the owner, who has its private part, can go on with a series")
    manifest = previous.manifest
    if manifest.series is None or manifest.method.name != MInvariance.name:
        fact = f"The release before was made by {manifest.method.name!r}, and a table cannot be published after it"
        hint = "begin a series with method m_invariance, the only one whose releases cannot be intersected"
        raise IncompatibleError(fact, hint)
    if previous.private is None or not isinstance(previous.private.evidence, People):
        fact = "The release before has no private part, which knows the signatures of its people"
        raise IncompatibleError(fact, "load it where its private folder lies beside it")
    method = MInvariance(**manifest.method.parameters)
    how = manifest.domains if domains is None else domains
    return method.publish_after(previous, frame, schema, seed=seed, progress=progress, domains=how)


def hash_people(identifiers: pl.Series) -> Int64:
    """Return what is kept of identifiers: the first eight bytes of a BLAKE2b hash of their text."""
    texts = identifiers.cast(pl.String()).to_list()
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<i8").astype(np.int64)


def _identifiers(original: pl.DataFrame, column: str) -> pl.Series:
    found = original[column]
    n_missing, n_twice = found.null_count(), found.len() - found.n_unique()
    if n_missing or n_twice:
        what = f"is missing in {n_missing} rows" if n_missing else f"is the same in {n_twice} rows as in others"
        fact = f"Identifier {column!r} {what}, and it must tell people apart"
        raise SchemaError(fact, "give everybody an identifier of their own, in one row of the table")
    return found


def _look_for_known(who: Int64, previous: RowRelease) -> None:
    """Refuse a table of strangers, warn of one with few known people: identifiers may be written in another way."""
    assert previous.private is not None
    assert isinstance(previous.private.evidence, People)
    known = previous.private.evidence.people["person"].unique()
    n_known, n_before = int(np.isin(who, known.to_numpy()).sum()), previous.manifest.rows.input
    hint = "write identifiers as before: '7', '07' and '7.0' are three people"
    if not n_known:
        fact = "Nobody in the table was in an earlier release of the series"
        raise IncompatibleError(fact, f"{hint}; if all are others, begin a new series")
    if n_known < _FEW * min(n_before, len(who)):
        known_now = counted(n_known, "person", "people")
        fact = f"Of {len(who)} people in the table {known_now} had been in the series, whose last table had {n_before}"
        warnings.warn(f"{fact}. If more should be known: {hint}.", PrivacyWarning, stacklevel=2)


def _require_people(table: Table, held: npt.NDArray[np.bool_], k: int) -> None:
    n_held = int(held.sum())
    if table.n_rows - n_held < k:
        who = counted(n_held, "person", "people")
        fact = f"{who} of {table.n_rows} would be held back, and fewer than k = {k} are left"
        hint = "wait until more people come or get values that they had, or begin a new series for other people"
        raise InfeasibleError(fact, hint, best={"k": table.n_rows - n_held})


def _refuse_roles(schema: Schema) -> None:
    if schema.other:
        fact = f"Method 'm_invariance' cannot publish columns as they are: {', '.join(map(repr, schema.other))}"
        raise IncompatibleError(fact, "by them, rows of two releases could be told to be one person's: drop them")
    if not schema.secrets:
        fact = "Method 'm_invariance' protects sensitive values, and the schema has no sensitive column"
        raise SchemaError(fact, "name one in the schema; without one, use another method")


def _series(previous: RowRelease | None, rng: np.random.Generator) -> Series:
    before = None if previous is None else previous.manifest.series
    if previous is None or before is None:
        return Series(rng.bytes(16).hex(), 1, None)
    digest = hashlib.sha256(previous.manifest.to_json().encode()).hexdigest()
    return Series(before.id, before.number + 1, digest)


Bucket = tuple[Signature, Int64, npt.NDArray[np.bool_]]
"""A signature; rows of the table, [values x rows of each value]; which of these are filler, placed at some row."""


def _fill_buckets(
    histories: Histories, place: Int64, held: npt.NDArray[np.bool_], m: int, k: int, rng: np.random.Generator
) -> list[Bucket]:
    """Bring everybody into a bucket, new people at random among those that need their value."""
    value, known = histories.value, [histories.signatures[number] for number in range(len(histories.signatures))]
    here = {known[s]: [0] * len(known[s]) for s in np.unique(place[place != NEW]).tolist()}
    for s, v in zip(place[(place != NEW) & ~held].tolist(), value[(place != NEW) & ~held].tolist(), strict=True):
        here[known[s]][known[s].index(v)] += 1
    wild: dict[Signature, int] = {}
    for s in place[held].tolist():
        wild[known[s]] = wild.get(known[s], 0) + 1
    is_new = place == NEW
    new = np.bincount(value[is_new], minlength=histories.n_values).tolist()
    plans = plan_buckets(here, wild, new, m, k)
    waiting = {v: rng.permutation(np.flatnonzero(is_new & (value == v))) for v in range(histories.n_values)}
    number_of = {signature: number for number, signature in enumerate(known)}
    taken = dict.fromkeys(waiting, 0)
    found = []
    for signature, plan in plans.items():
        own = np.flatnonzero(place == number_of.get(signature, NEW - 1))
        came = []
        for v, n in zip(signature, plan.new, strict=True):
            came.append(waiting[v][taken[v] : taken[v] + n])
            taken[v] += n
        found.append(_fill(signature, plan, own[~held[own]], own[held[own]], came, value, rng))
    return found


def _fill(
    signature: Signature, plan: Plan, own: Int64, held: Int64, came: list[Int64], value: Int64, rng: np.random.Generator
) -> Bucket:
    """Return a bucket: people of each value, then those who are held back, then filler."""
    rows = np.full((len(signature), plan.height), NEW)
    start = 0
    for place, v in enumerate(signature):
        people = np.concatenate([own[value[own] == v], came[place]])
        end = start + min(len(held) - start, plan.height - len(people))
        people = np.concatenate([people, held[start:end]])
        rows[place, : len(people)] = people
        start = end
    is_filler = rows == NEW
    somebody = rows[~is_filler]
    rows[is_filler] = somebody[rng.integers(0, len(somebody), int(is_filler.sum()))]
    return signature, rows, is_filler


def _widen(places: Places, group_of: Int64, held: npt.NDArray[np.bool_], n_groups: int, k: int) -> tuple[Int64, Int64]:
    """Return people whom the cells of small groups must fit, too, and these groups: the nearest ones."""
    released = np.flatnonzero(~held)
    sizes = np.bincount(group_of[released], minlength=n_groups)
    people, groups = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for group in np.flatnonzero(sizes < k).tolist():
        own = places.at[:, group_of == group]
        at = places.at[:, released]
        apart = np.maximum(own.min(axis=1, keepdims=True) - at, at - own.max(axis=1, keepdims=True))
        far = np.maximum(apart, 0).sum(axis=0)
        near = released[np.argsort(far, kind="stable")[:k]]
        people.append(near)
        groups.append(np.full(len(near), group))
    return np.concatenate(people), np.concatenate(groups)
