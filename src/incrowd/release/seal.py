"""Seal: the only road to a release, for rows and projections alike.

Secret randomness, the order of rows, assembling, and the verification by code that the method does not share; what is
written later is checked once more (`incrowd.release.folder`).

**Order.** Rows stand in the order of what is published, so that the order tells nothing that the rows do not; equal
rows are shuffled in what the owner keeps.

**Secrets.** Whoever guesses a seed must not be able to repeat a run: every seeded generator also takes a hash of all
rows and columns of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Secret, Table, fingerprint, range_starts
from incrowd.errors import ParameterError
from incrowd.hierarchy.hierarchy import Codes, Hierarchy, leaves_to_data, type_of
from incrowd.manifest import (
    ClassColumn,
    Guarantee,
    Method,
    Missing,
    ProjectionsManifest,
    RowCounts,
    RowsManifest,
    Sensitive,
    Series,
    Shown,
)
from incrowd.recoding import Recoding
from incrowd.release.domains import Domain, publish_domain, rounded
from incrowd.release.evidence import NOBODY, Evidence, Private
from incrowd.release.projections import ProjectionRelease
from incrowd.release.release import Release
from incrowd.release.rows import RowRelease, SensitiveColumn, without_negative_zero
from incrowd.version import __version__

AnyRelease = TypeVar("AnyRelease", bound=Release)
Int64 = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]

DOMAINS = ("joined", "exact")


@dataclass(frozen=True)
class Filler:
    """Rows about nobody: the cell of each, and the combination of sensitive values that it shows."""

    cells: Int64
    values: Codes


NO_FILLER = Filler(np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True)
class Cells:
    """The cells of a release before it is one, row by row of a table.

    Attributes
    ----------
    lo, hi
        Cells, int32 [cells x quasi].
    cell_of
        Number of each row's cell; ``-1`` for a row that is left out.
    counts
        Published counts per cell of the values of one sensitive column after another, or ``None`` when exact values are
        published.
    recoding
        The function of a row that the method learned, if it is one.
    evidence
        How the method came to its cells, where that is needed to check them.
    numbers
        What else the method has to say; the owner finds it in `Release.levels`.
    filler
        Rows about nobody; `evidence` has them behind all others.
    series
        Which release of a growing table this is, if it is one.
    """

    lo: Codes
    hi: Codes
    cell_of: Int64
    counts: npt.NDArray[np.int32] | None = None
    recoding: Recoding | None = None
    evidence: Evidence | None = None
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)
    filler: Filler = NO_FILLER
    series: Series | None = None


def secret_rng(seed: int | None, original: pl.DataFrame | bytes) -> np.random.Generator:
    """Return randomness that nobody can repeat who has not the whole original; without a seed, nobody at all.

    The original may be given by its fingerprint.
    """
    if seed is None:
        return np.random.default_rng()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        fact = f"The seed is {seed!r}"
        raise ParameterError(fact, "use a whole number from 0, or none at all")
    digest = original if isinstance(original, bytes) else fingerprint(original)
    return np.random.default_rng([int(seed), int.from_bytes(digest, "little")])


def seal_rows(
    original: pl.DataFrame,
    choose: Callable[[], tuple[Table, Cells, Sequence[Guarantee]]],
    *,
    method: Method,
    homogeneous: bool,
    rng: np.random.Generator,
    seed: int | None,
    kind: str,
    domains: str = "joined",
    progress: Progress = lambda _stage, _done, _total: None,
) -> RowRelease:
    """Return the verified release of a table's rows in these cells.

    Parameters
    ----------
    original
        The frame that the table was made of.
    choose
        Returns the table, the cells and what they keep; nobody else may hold them, because verifying takes as much room
        again.
    rng
        From `secret_rng`.
    domains
        ``"joined"`` publishes no value and no count that fewer than k rows share; ``"exact"`` lists all of them.
    """
    refuse_domains(domains)
    table, cells, guarantees = choose()
    numbers = dict(cells.numbers)
    release = assemble_rows(
        table, cells, guarantees,
        method=method, homogeneous=homogeneous, rng=rng, seed=seed, kind=kind, domains=domains,
    )  # fmt: skip
    del table, cells
    return _verified(release, original, progress, numbers)


def refuse_domains(domains: str) -> None:
    """Refuse a way to tell domains that there is not."""
    if domains not in DOMAINS:
        fact = f"domains is {domains!r}"
        raise ParameterError(fact, f"use one of {', '.join(DOMAINS)}")


def assemble_rows(
    table: Table,
    cells: Cells,
    guarantees: Sequence[Guarantee],
    *,
    method: Method,
    homogeneous: bool,
    rng: np.random.Generator,
    seed: int | None,
    kind: str,
    domains: str,
) -> RowRelease:
    """Return the release before it is verified.

    Of a table of weighted rows it has one row for each of them, without the *other* columns; everything that is counted
    counts the weights. The order of equal rows is drawn apart from what the manifest tells, so that the manifest is the
    same however the rows are kept.
    """
    schema = table.schema
    released = np.flatnonzero(cells.cell_of >= 0)
    n_filler = len(cells.filler.cells)
    numbered = np.append(released, len(table.rows) + np.arange(n_filler)) if n_filler else released
    kept = rng.spawn(1)[0].permutation(numbered)
    behind = table if len(released) == len(table.rows) else table.of_rows(released)
    least = max((g.crowd for g in guarantees if g.crowd is not None), default=1)
    own = rng if domains == "joined" and least > 1 else None
    published, lo, hi, exact = [], [], [], []
    for m, (name, hierarchy) in enumerate(zip(schema.quasi, table.hierarchies, strict=True)):
        domain, first, last, owned = publish_domain(
            name, hierarchy, behind.marginals[m], cells.lo[:, m], cells.hi[:, m], least=least, rng=own
        )
        published.append(domain)
        lo.append(first)
        hi.append(last)
        exact.append(owned)
    shows_other = bool(schema.other) and table.weights is None
    dealt = cells.evidence.deal(rng, table.n_rows) if cells.evidence and shows_other else np.arange(len(table.rows))
    other = _without_negative_zero(table.other[dealt]) if shows_other else pl.DataFrame()
    manifest = RowsManifest(
        method=method,
        guarantees=tuple(guarantees),
        rows=RowCounts(
            table.n_input,
            table.n_input - table.n_rows,
            table.n_rows - behind.n_rows,
            behind.n_rows + n_filler,
            n_filler,
        ),
        series=cells.series,
        missing=Missing(schema.missing, tuple(schema.missing_tokens), schema.missing_codes),
        dropped=tuple(table.dropped),
        incrowd=__version__,
        polars=pl.__version__,
        recoding="homogeneous" if homogeneous else "non-homogeneous",
        domains="exact" if own is None else "joined",
        quasi=tuple(domain.entry for domain in published),
        secrets=tuple(_about_secret(behind, secret, cells, least, own, guarantees) for secret in table.secrets),
        target=schema.target,
        other=tuple(schema.other),
    )
    cell_of = (np.append(cells.cell_of, cells.filler.cells) if n_filler else cells.cell_of)[kept]
    cell_lo, cell_hi, cell_of = _merged(np.column_stack(lo), np.column_stack(hi), cell_of, cells.counts)
    release = RowRelease(
        domains=tuple(published),
        cell_lo=np.asfortranarray(cell_lo),
        cell_hi=np.asfortranarray(cell_hi),
        cell_of=cell_of,
        secrets=_published_secrets(table, cells, kept),
        other=other[kept] if shows_other else other,
        manifest=manifest,
        kind=kind,
    )
    release.refuse_name_clashes()
    order = _order_of_rows(release, published)
    taken = kept[order]
    evidence = cells.evidence.taken(taken) if cells.evidence else None
    rows = np.append(table.rows, np.full(n_filler, NOBODY)) if n_filler else table.rows
    private = Private((rows[taken],), seed, cells.recoding, tuple(exact), evidence)
    return replace(
        release,
        cell_of=release.cell_of[order],
        secrets=tuple(replace(s, codes=None if s.codes is None else s.codes[order]) for s in release.secrets),
        other=release.other[order] if shows_other else release.other,
        private=private,
    )


def _merged(lo: Codes, hi: Codes, cell_of: Int64, counts: npt.NDArray[np.int32] | None) -> tuple[Codes, Codes, Int64]:
    """Make cells that are published alike one, as a reader finds them; those with counts of their own stay apart."""
    if counts is not None:
        return lo, hi, cell_of
    both, new = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
    if len(both) == len(lo):
        return lo, hi, cell_of
    n_quasi = lo.shape[1]
    return both[:, :n_quasi], both[:, n_quasi:], new.reshape(-1)[cell_of].astype(np.int64)


def _published_secrets(table: Table, cells: Cells, kept: Int64) -> tuple[SensitiveColumn, ...]:
    """Return the sensitive columns as they are published; counts are of one after another."""
    found, begin, counts, added = [], 0, cells.counts, cells.filler.values
    for secret in table.secrets:
        assert table.sensitive is not None
        values, end = without_negative_zero(secret.values), begin + len(secret.values)
        shown = np.append(table.sensitive, added) if len(added) else table.sensitive
        codes = secret.codes(shown[kept]) if counts is None else None
        found.append(SensitiveColumn(values, codes, None if counts is None else counts[:, begin:end]))
        begin = end
    return tuple(found)


def _about_secret(
    table: Table,
    secret: Secret,
    cells: Cells,
    least: int,
    rng: np.random.Generator | None,
    promised: Sequence[Guarantee],
) -> Sensitive:
    kind, starts = type_of(secret.values), table.schema.attributes[secret.name].ranges
    ranges = tuple(leaves_to_data(range_starts(secret.values.alias(secret.name), starts))) if starts else None
    if cells.counts is None:
        if not any(promise.tree and promise.column in (None, secret.name) for promise in promised):
            return Sensitive(secret.name, kind, "exact", ranges=ranges)
        leaves = tuple(leaves_to_data(without_negative_zero(secret.values)))
        return Sensitive(secret.name, kind, "exact", leaves=leaves, levels=secret.levels)
    counts = secret.counts(table.sensitive_counts)
    told = counts if rng is None else rounded(counts, least, rng)
    form = cells.evidence.form if cells.evidence else "counts"
    values = tuple(leaves_to_data(secret.values))
    return Sensitive(secret.name, kind, form, values, tuple(told.tolist()), ranges=ranges)


def _order_of_rows(release: RowRelease, published: Sequence[Domain]) -> Int64:
    """Return the rows sorted by what is published about them; equal ones as they stand."""
    cell = _ranks(
        [_ranks_of_cells(d.hierarchy, release.cell_lo[:, m], release.cell_hi[:, m]) for m, d in enumerate(published)]
    )[release.cell_of]
    last: list[npt.NDArray[Any]] = []
    for secret in release.secrets:
        if secret.codes is not None:
            last.append(secret.codes)
        elif secret.cell_counts is not None:
            last.append(_ranks(list(secret.cell_counts.T))[release.cell_of])
    if not release.other.width:
        return _order([cell, *last])
    columns = [pl.Series(cell), *release.other.get_columns(), *map(pl.Series, last)]
    return _sorted(pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)]))


def _ranks_of_cells(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Int64:
    """Return the place of each cell in the order of labels, and of first and last leaves where they have one label."""
    distinct, which = np.unique(lo.astype(np.int64) * hierarchy.n_leaves + hi, return_inverse=True)
    ends = zip(*(end.tolist() for end in divmod(distinct, hierarchy.n_leaves)), strict=True)
    labels = [hierarchy.label(first, last) for first, last in ends]
    rank = np.empty(len(labels), np.int64)
    rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
    return np.asarray(rank[which])


def _ranks(keys: Sequence[npt.NDArray[Any]]) -> Int64:
    """Return the place of each row's keys in the order of all, equal ones together."""
    order = _order(keys)
    new = np.zeros(len(order), np.bool_)
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(new)
    return rank


def _order(keys: Sequence[npt.NDArray[Any]]) -> Int64:
    """Return the order that sorts rows by whole numbers from 0; equal rows stay as they stand.

    NumPy sorts numbers of 16 bits in linear time: a tenth of the time of any other sort of a million rows. Neighbouring
    keys that have few values are sorted as one.
    """
    joined = [keys[0]]
    for key in keys[1:]:
        base, most = int(key.max(initial=0)) + 1, int(joined[-1].max(initial=0))
        if (most + 1) * base <= 1 << 16:
            joined[-1] = joined[-1] * base + key
        else:
            joined.append(key)
    order = np.arange(len(keys[0]))
    for key in reversed(joined):
        for shift in range(0, int(key.max(initial=0)).bit_length(), 16):
            order = order[np.argsort((key[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def _sorted(frame: pl.DataFrame) -> Int64:
    """Return the order that sorts rows by all columns, missing values first; equal rows stay as they stand."""
    names = frame.columns
    found = frame.with_row_index("").sort(names, maintain_order=True, nulls_last=False)
    return found[""].to_numpy().astype(np.int64)


def _without_negative_zero(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame([without_negative_zero(column) for column in frame])


def seal_projections(
    original: pl.DataFrame,
    features: pl.DataFrame,
    columns: Sequence[Shown],
    target: ClassColumn,
    classes: pl.Series,
    parts: Sequence[Sequence[str]],
    *,
    rows: Int64,
    about: Mapping[str, Any],
    rng: np.random.Generator,
    seed: int | None,
    kind: str,
    numbers: Mapping[str, float | int | None],
    progress: Progress = lambda _stage, _done, _total: None,
) -> ProjectionRelease:
    """Return the verified release of columns shared out among projections.

    Parameters
    ----------
    features
        Columns as they are to be published, in the order of the table.
    columns
        Of each of them, its entry in the manifest.
    classes
        The class of each row.
    parts
        Names of the columns of each projection; none at all publishes the class alone.
    rows
        Number of each row in the frame that came in.
    about
        What else the manifest says: guarantees, row counts, sets of quasi-identifiers, columns that are left out.
    """
    shown = [list(part) for part in parts] or [[]]
    own = classes.alias(target.name)
    projections, maps = [], []
    for part in shown:
        table = _without_negative_zero(pl.DataFrame([*(features[name] for name in part), own]))
        shuffled = rng.permutation(table.height)
        order = shuffled[_sorted(table[shuffled].rename({n: str(i) for i, n in enumerate(table.columns)}))]
        projections.append(table[order])
        maps.append(rows[order])
    published = {name for part in shown for name in part}
    manifest = ProjectionsManifest(
        **about,
        incrowd=__version__,
        polars=pl.__version__,
        target=target,
        parts=tuple(map(tuple, shown)),
        columns=tuple(column for column in columns if column.name in published),
    )
    private = Private(tuple(maps), seed)
    release = ProjectionRelease(projections=tuple(projections), manifest=manifest, private=private, kind=kind)
    return _verified(release, original, progress, numbers)


def _verified(
    release: AnyRelease, original: pl.DataFrame, progress: Progress, numbers: Mapping[str, float | int | None]
) -> AnyRelease:
    """Return the release with the levels that it reaches, if it keeps its promises."""
    progress("verifying", 0, 1)
    verdict = release.verify(original, promises_only=True)
    verdict.raise_for_violations()
    progress("verifying", 1, 1)
    return replace(release, levels=verdict.levels | dict(numbers))
