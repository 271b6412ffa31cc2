"""What the adversary has before any attack: the public release, everybody's quasi-identifiers, and who fits which row.

Equal people are one *point*, equal cells are one *box*; which points lie in which boxes is found with one bit per pair,
attribute by attribute: a few passes over n^2 / 8 bytes, however many values a column has.

Where domains are joined, only published leaves are told apart. Whoever lacks the private part does not know which of
several joined leaves an unlisted value belongs to; it then fits every cell that holds one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import clean, encode_column, in_ranges
from incrowd.errors import SchemaError
from incrowd.hierarchy import Spec
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, convert
from incrowd.kernels.groups import label_groups
from incrowd.recoding import nearest_leaves
from incrowd.release import RowRelease
from incrowd.release.domains import Domain
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNKNOWN = -1
PAIR_BUDGET = 10**8
"""Pairs of a box and a point in it up to which attacks list them."""

_CHUNK = 1 << 26


@dataclass(frozen=True)
class Pairs:
    """Which points lie in which boxes: those of box b are ``points[first[b]:first[b + 1]]``."""

    first: Int64
    points: Codes

    @cached_property
    def boxes(self) -> Codes:
        """The box of each pair."""
        return np.repeat(np.arange(len(self.first) - 1, dtype=np.int32), np.diff(self.first))

    def per_box(self, weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Add up a weight of the points in each box."""
        up_to = np.concatenate([[0], np.cumsum(weight[self.points])])
        return np.asarray(up_to[self.first[1:]] - up_to[self.first[:-1]])

    def per_point(self, weight: npt.NDArray[Any], n_points: int) -> Floats:
        """Add up a weight of the boxes that each point lies in."""
        return np.asarray(np.bincount(self.points, weights=weight[self.boxes], minlength=n_points), np.float64)

    def some(self, which: npt.NDArray[np.bool_]) -> Pairs:
        """Return some of the pairs."""
        kept = np.concatenate([[0], np.cumsum(which)])
        return Pairs(kept[self.first], self.points[which])


@dataclass(frozen=True)
class Scene:
    """The release beside the people.

    Attributes
    ----------
    codes
        Leaf ranks of every person who may be in the release, [people x quasi].
    rows
        Row of the original of each person.
    truth
        Sensitive value of each person, for scoring only; ``None`` when nothing is sensitive.
    people
        The original's rows of these people: their quasi-identifiers are known, all else is for scoring only.
    k, limit
        What is promised: the least crowd, and the largest belief in a sensitive value (1 when nothing is promised).
    """

    release: RowRelease
    codes: Codes
    rows: Int64
    truth: Codes | None
    people: pl.DataFrame
    k: int
    limit: float

    @property
    def n_people(self) -> int:
        """Number of people who may be in the release."""
        return len(self.rows)

    @property
    def n_values(self) -> int:
        """Number of sensitive values."""
        return len(self.release.sensitive_values)

    @property
    def n_suppressed(self) -> int:
        """People who are in the original and not in the release."""
        return self.n_people - self.release.n_rows + self.n_filler

    @property
    def n_filler(self) -> int:
        """Released rows that are about nobody."""
        return self.release.manifest.rows.filler

    @cached_property
    def point_of(self) -> Int64:
        """The point of each person: equal people share one."""
        return label_groups(np.asfortranarray(self.codes))[0]

    @cached_property
    def points(self) -> Codes:
        """Leaf ranks of the points."""
        return self.codes[_firsts(self.point_of)]

    @cached_property
    def point_size(self) -> Int64:
        """Number of people at each point."""
        return np.bincount(self.point_of)

    @cached_property
    def box_of(self) -> Int64:
        """The box of each released row: rows with equal cells share one."""
        cells = np.asfortranarray(np.hstack([self.release.cell_lo, self.release.cell_hi]))
        labels, _ = label_groups(cells)
        return label_groups(np.asfortranarray(labels[self.release.cell_of][:, None].astype(np.int32)))[0]

    @cached_property
    def boxes(self) -> tuple[Codes, Codes]:
        """First and last leaf ranks of the boxes."""
        cell = self.release.cell_of[_firsts(self.box_of)]
        return self.release.cell_lo[cell], self.release.cell_hi[cell]

    @cached_property
    def box_size(self) -> Int64:
        """Number of released rows in each box."""
        return np.bincount(self.box_of)

    @cached_property
    def pairs(self) -> Pairs | None:
        """Which points lie in which boxes, or ``None`` when that is too much to list."""
        return find_pairs(self.points, *self.boxes, self.release.domains)

    @cached_property
    def row_of(self) -> Int64 | None:
        """The released row of each person, `UNKNOWN` for a suppressed one; ``None`` without the private row map."""
        private = self.release.private
        if private is None:
            return None
        place = np.full(int(max(self.rows.max(initial=0), private.rows.max(initial=0))) + 1, UNKNOWN)
        known = np.flatnonzero(private.rows >= 0)  # filler is nobody's
        place[private.rows[known]] = known
        return place[self.rows]

    @property
    def totals_are_exact(self) -> bool:
        """Whether everybody can count how often each sensitive value occurs among the released rows."""
        return self.release.sensitive is not None or self.release.manifest.domains == "exact"

    @cached_property
    def prior(self) -> Floats:
        """How often each sensitive value occurs in the release, as a share: about, where totals are rounded."""
        counts = self.release.sensitive_counts().astype(np.float64)
        if not self.totals_are_exact:  # a value that is listed occurs, also where its count was rounded to nothing
            counts = np.maximum(counts, 1)
        return np.asarray(counts / max(1.0, counts.sum()))

    @cached_property
    def exact_codes(self) -> Codes:
        """Leaf ranks of the people in the hierarchies that the method worked with; only the owner knows all of them."""
        private = self.release.private
        if private is None:
            return self.codes
        columns = self.release.clean_quasi(self.people)
        coded = [encode_column(d.hierarchy, column) for d, column in zip(private.domains, columns, strict=True)]
        return np.asfortranarray(np.column_stack(coded))

    def people_at(self, points: npt.NDArray[Any]) -> Int64:
        """Return the people at some points."""
        first, by_point = self._by_point
        parts = [by_point[first[p] : first[p + 1]] for p in points]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @cached_property
    def _by_point(self) -> tuple[Int64, Int64]:
        return np.concatenate([[0], np.cumsum(self.point_size)]), np.argsort(self.point_of, kind="stable")


def build_scene(release: RowRelease, original: pl.DataFrame, *, same: bool = True) -> Scene:
    """Code the people of the original by the hierarchies of the release.

    `same` demands that it is the table of this release; otherwise people whom the release does not know fit no row.
    """
    manifest = release.manifest
    about, wanted = manifest.sensitive, manifest.recognized_by
    lacking = [name for name in wanted if name not in original.columns]
    if lacking:
        fact = f"The original has no column {', '.join(map(repr, lacking))}"
        raise SchemaError(
            fact, f"check that it is the original; its columns are {', '.join(map(repr, original.columns))}"
        )
    columns = release.clean_quasi(original)
    codes = code_quasi(release, original)
    truth = code_sensitive(release, original)
    kept = np.ones(original.height, np.bool_)
    if same and manifest.missing.policy == "drop":
        for column in columns:
            kept &= column.is_not_null().to_numpy()
        if about:
            kept &= _clean_sensitive(release, original).is_not_null().to_numpy()
    outside = kept & (codes == OUTSIDE).any(axis=1)
    if truth is not None:
        outside |= kept & (truth == UNKNOWN)
    n_people = manifest.rows.released - manifest.rows.filler + manifest.rows.suppressed
    if same and (outside.any() or kept.sum() != n_people):
        fact = f"The original has {int(kept.sum())} people, {int(outside.sum())} of them outside the published domains"
        fact += f", and the manifest says {n_people}"
        raise SchemaError(fact, "give the table that this release was made from")
    at = np.flatnonzero(kept)
    known = None if truth is None else truth[at]
    return Scene(release, np.asfortranarray(codes[at]), at, known, original[at], manifest.k, manifest.belief)


def schema_of(release: RowRelease, *more_other: str) -> Schema:
    """Return the schema by which the owner's method saw the table, as far as a release and its private part tell it.

    Parameters
    ----------
    more_other
        Names of further *other* columns.
    """
    manifest, private = release.manifest, release.private
    assert private is not None
    quasi = {name: cast("Spec", domain.hierarchy) for name, domain in zip(release.quasi, private.domains, strict=True)}
    return Schema(
        quasi=quasi,
        sensitive=[secret.name for secret in manifest.secrets],
        other=[*manifest.other, *more_other],
        target=manifest.target,
        missing=cast("Literal['value', 'drop']", manifest.missing.policy),
        missing_tokens=list(manifest.missing.tokens),
        missing_codes=manifest.missing.codes,
        rest="drop",
    )


def code_quasi(release: RowRelease, frame: pl.DataFrame, *, nearest: bool = False) -> Codes:
    """Return leaf ranks of the quasi-identifiers of any people, `OUTSIDE` where the release does not know a value.

    A reader takes an unlisted value for one of the joined leaves: for that leaf if there is one, else for a leaf after
    the last one. With `nearest`, the owner does so too, and an unknown number or date is the known one nearest to it.
    """
    coded = []
    found = release.encode(frame)
    for m, (domain, column) in enumerate(zip(release.domains, release.clean_quasi(frame), strict=True)):
        codes = found[:, m]
        if nearest and (codes == OUTSIDE).any() and domain.hierarchy.ordered:
            codes = np.where(codes == OUTSIDE, nearest_leaves(domain.hierarchy, column)[0], codes)
        if domain.rest and (nearest or release.private is None):
            somewhere = domain.rest[0] if len(domain.rest) == 1 else domain.hierarchy.n_leaves
            codes = np.where((codes == OUTSIDE) & column.is_not_null().to_numpy(), np.int32(somewhere), codes)
        coded.append(codes)
    return np.column_stack(coded)


def code_sensitive(release: RowRelease, frame: pl.DataFrame) -> Codes | None:
    """Return the sensitive value of any people as a number, `UNKNOWN` for one that the release does not know."""
    about = release.manifest.sensitive
    if not about:
        return None
    cleaned, values = _clean_sensitive(release, frame), release.sensitive_values
    cleaned = convert(cleaned.str.strip_chars() if cleaned.dtype == pl.String else cleaned, about.type)
    known = pl.DataFrame({"value": values, "code": np.arange(len(values), dtype=np.int32)})
    asked = pl.DataFrame({"value": cleaned.cast(values.dtype)})
    found = asked.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["code"].fill_null(UNKNOWN).to_numpy()


def _clean_sensitive(release: RowRelease, frame: pl.DataFrame) -> pl.Series:
    about, missing = release.manifest.sensitive, release.manifest.missing
    assert about is not None
    column, codes = frame[about.name], missing.codes_of(about.name)
    if column.dtype == pl.Datetime and about.type == "date":
        column = column.dt.date()
    cleaned = clean(column, about.type if codes or about.ranges else None, None, missing.tokens, codes)
    return in_ranges(cleaned, about.ranges) if about.ranges else cleaned


def find_pairs(points: Codes, lo: Codes, hi: Codes, domains: Sequence[Domain]) -> Pairs | None:
    """Return which points lie in which boxes, or ``None`` above the budget.

    A point after the last leaf of a domain lies wherever one of its joined leaves does.
    """
    n_points, n_boxes = len(points), len(lo)
    bits = []
    for m, domain in enumerate(domains):
        key = lo[:, m].astype(np.int64) << 32 | hi[:, m]
        distinct, which = np.unique(key, return_inverse=True)
        first, last = (distinct >> 32)[:, None], (distinct & 0xFFFFFFFF)[:, None]
        at = np.array(domain.rest, np.int64)
        somewhere = ((first <= at) & (at <= last)).any(axis=1)[:, None]
        unlisted = points[:, m] == domain.hierarchy.n_leaves
        step = max(1, _CHUNK // max(1, n_points))
        packed = [
            np.packbits(
                np.where(
                    unlisted,
                    somewhere[a : a + step],
                    (first[a : a + step] <= points[:, m]) & (points[:, m] <= last[a : a + step]),
                ),
                axis=1,
            )
            for a in range(0, len(distinct), step)
        ]
        bits.append((np.concatenate(packed), which.ravel()))
    found, size, total = [], np.zeros(n_boxes, np.int64), 0
    step = max(1, _CHUNK // max(1, n_points))
    for a in range(0, n_boxes, step):
        part = bits[0][0][bits[0][1][a : a + step]]
        for packed_bits, which in bits[1:]:
            part &= packed_bits[which[a : a + step]]
        inside = np.unpackbits(part, axis=1, count=n_points)
        at = np.flatnonzero(inside.ravel().view(np.bool_))
        found.append((at % n_points).astype(np.int32))
        size[a : a + step] = inside.sum(axis=1, dtype=np.int64)
        total += len(at)
        if total > PAIR_BUDGET:
            return None
    return Pairs(np.concatenate([[0], np.cumsum(size)]), np.concatenate(found))


def _firsts(labels: Int64) -> Int64:
    """Return some place of each label."""
    first = np.empty(int(labels.max()) + 1, np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    return first
