"""NHAA: rows on rings, each generalized with its successors, and people assigned to the cells at random.

Cut the table into clusters, as Mondrian does. Put the rows of each cluster on a ring, so that any l neighbours have
different sensitive values and otherwise near rows are neighbours; with l > 1 long rings are chopped into short ones.
The cell at place b of a ring is the closure of the w rows at places b ... b + w - 1, where w is k, rounded up to a
multiple of l: cells overlap and are smaller than one cell for the whole cluster. Every person fits w of these cells and
is published in one of them, drawn at random: a released row shows a cell, and the sensitive value and the other
columns of the person that was drawn for it.

Guarantee: every released row generalizes at least k people, every person fits at least k released rows, and no
sensitive value has a share above 1/l in the w rows that the person may be behind. The draw, given the ring, puts a
person behind each of these w with probability exactly 1/w. Why:

- A ring on which any l neighbours differ exists if and only if no value has more than n / l of its n rows, which is
  what the cuts keep. Only if: every row of a value needs l places to itself, its own and the l - 1 behind it. If: lay
  n // l rounds of at least l places under each other and fill them column by column, value after value, those with
  n // l rows first; equal values are then at least l places apart (see `kernels.nhaa`). As w is a multiple of l, w
  neighbours have each value at most w / l times. A ring of fewer than w rows is one cell, which keeps k and l itself.
- With l > 1 each ring draws a shift s from 0 ... w - 1, and the cell at place b gets the person at place b + s. Every
  shift is equally likely, so each of the w cells of a person is, and whatever was drawn the values in them are those
  of w neighbours. Any other matching can show a person fewer than l values.
- Every person fits w cells and every cell w people, so the pairs are a union of w disjoint perfect matchings: whoever
  drops all pairs of a person and a cell that are in none still finds k cells for everybody (k-concealment).
- With l = 1 each ring draws r of the w distances between a person and a cell (all of them if w is at most 32), and a
  perfect matching of cells and people at these distances. The graph of such pairs is r-regular; random walks take it
  apart into r disjoint matchings, and one of these, each with probability 1/r, is published. A pair is in the graph
  with probability r/w and then in exactly one matching: its probability is 1/w, however the walks went.

What it does not stop:

- With l > 1 the cuts and the order of a ring look at sensitive values, as the method prescribes. Somebody who knows all
  quasi-identifiers can repeat the algorithm for every assignment of values to people, rule out the shifts that
  would have led to another ring, and exceed 1/l, on small clusters sometimes to certainty. What is promised and
  verified is about the candidates of each person, the w rows, and not about such an adversary.
- With l > 1, who learns which row of a ring is somebody's (a person knows his own) may learn the shift, and with it
  everybody on a ring of more than w rows; with l = 1 he learns little about the others.
- A column of role `other` that goes with a quasi-identifier can give away the shift of a ring of more than w rows in
  the same way: leave such columns out, or make them quasi-identifiers.

Cost: O(n M log n), and about 16 n log k steps of the walks. Use it when recipients need exact sensitive values in
smaller cells than Mondrian's; not when one value has most of the rows: l must be whole, and l = 2 allows a half.

Where the paper is silent: (1) the clusters are Mondrian's; `cluster` keeps them, and the rings, longer: with l = 1 and
large k that makes cells smaller, with l > 1 it makes more people share one shift; (2) rows are ordered as Mondrian's
cuts would order them if they went on to single rows, equal ones at random; for l > 1 the earliest row whose value may
come next is taken, and values of which too many are left go first; where that fails, or takes too long, the columns
of the proof are used; (3) Mondrian stops where no cut keeps l, and one shift for thousands of people would be a poor
secret: with l > 1 a ring is chopped into pieces of about w rows, which always works (`kernels.nhaa.chop`), and each is
arranged again; a piece of w rows is one cell, and its shift tells nothing; (4) k above l is ours.

Reference: Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD 2010.
The form with l is described by Last, Tassa, Zhmudyak, Shmueli 2014, section 4.5, who use it with k = l.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47], "ill": ["a", "b", "c", "a", "b"]})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
>>> sorted(ic.NHAA(k=2, l=2).publish(people, schema).frame["age"])
['21-22', '21-30', '22-30', '31-47', '31-47']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Table
from incrowd.domains import flatten
from incrowd.errors import InfeasibleError, ParameterError, counted
from incrowd.kernels.groups import label_groups
from incrowd.kernels.nhaa import NONE, RING, Values, Walk, arrange, chop, close_windows, draw_matchings
from incrowd.manifest import Guarantee
from incrowd.privacy import Privacy
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.publisher import CellPublisher, Choice, Progress
from incrowd.release import Rings
from incrowd.schema import Schema

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_SLICE = 200_000  # rows between two looks at progress and Ctrl-C
_NUMBERS = 1 << 20  # random numbers drawn at once
_MOST_EDGES = 32  # of the cells that a person fits, those looked at when one of them is drawn
_MOST_STEPS = 1 << 24  # rows times values of a ring, up to which its order is searched


@dataclass(frozen=True, kw_only=True)
class NHAA(CellPublisher):
    """Non-homogeneous generalization on rings.

    Parameters
    ----------
    k
        Least number of people who fit a released row, and of released rows that fit a person.
    l
        Diversity: no sensitive value has a share above 1/l in the rows that a person may be behind. A whole number;
        k = l is the paper's setting.
    cluster
        Least number of rows on a ring; ``None`` makes them as short as k and l allow.
    concealment
        Promise, and let `verify` check, that everybody is left with k rows after all pairs of a person and a row that
        are in no perfect matching are dropped. Rings are so in any case; by default it is promised where columns are
        published as they are.
    """

    k: int
    l: float = 1
    cluster: int | None = None
    concealment: bool | None = None

    name: ClassVar[str] = "nhaa"
    paper: ClassVar[str] = "Wong et al. 2010"
    promise: ClassVar[str] = "k, l (frequency, whole)"
    kind: ClassVar[str] = "non-homogeneous"
    cost: ClassVar[str] = "n M log n"
    homogeneous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.privacy()
        if self.l != int(self.l):
            fact = f"l is {self.l!r}"
            lower = int(self.l)
            hint = f"rings need a whole number, such as {lower} or {lower + 1}; NSVDist and Mondrian take fractions"
            raise ParameterError(fact, hint)
        whole = isinstance(self.cluster, int | np.integer) and not isinstance(self.cluster, bool)
        if self.cluster is not None and not (whole and self.cluster >= self.k):
            fact = f"cluster is {self.cluster!r}, and k is {self.k}"
            raise ParameterError(fact, "use a whole number, at least k")
        if self.concealment not in (True, False, None):
            fact = f"concealment is {self.concealment!r}"
            raise ParameterError(fact, "use true or false")

    def privacy(self) -> Privacy:
        """Return the constraints that every cluster keeps, and every window of a ring with it."""
        return Privacy.of(self.k, l=self.l)

    def settled(self, schema: Schema) -> NHAA:
        """Return this method, promising concealment where columns are published as they are, unless told otherwise."""
        found = super().settled(schema)
        return found if self.concealment is not None else replace(found, concealment=bool(schema.other))

    def promises(self, choice: Choice, schema: Schema) -> Sequence[Guarantee]:
        """Return what the manifest promises of a choice."""
        more = (Guarantee("concealment", k=self.k),) if self.concealment else ()
        return (*super().promises(choice, schema), *more)

    @property
    def width(self) -> int:
        """Rows in a cell (w): k, rounded up to a multiple of l."""
        l = int(self.l)
        return -(-int(self.k) // l) * l

    def require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep."""
        n, counts = table.n_rows, table.sensitive_counts
        if self.l == 1 or counts.size == 0:
            super().require_feasible(table)
            return
        top = int(counts.max())
        best = {"k": min(self.k, n), "l": min(int(self.l), n // top)}
        if best == {"k": self.k, "l": self.l}:
            return
        fact = f"No release of a table with {counted(n, 'row')} can keep k = {self.k} and l = {self.l:g}"
        if best["l"] < self.l:
            fact += f": one sensitive value has {top} of them, more than 1/{self.l:g}, so no ring can separate its rows"
        none = " (no diversity)" if best["l"] == 1 else ""
        hint = f"use k = {best['k']}, l = {best['l']}{none}, the closest that this table can reach"
        raise InfeasibleError(fact, hint, best=best)

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return super().n_steps(table) + table.n_rows * min(self.width, _MOST_EDGES) * float(np.log2(table.n_rows + 1))

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        cluster, order = self._clusters(table, rng, progress)
        start = np.concatenate([[0], np.cumsum(np.bincount(cluster))])
        ring = order
        if self.l > 1:
            ring = self._arrange(table, order, start, progress)
            ring, start = self._chop(table, ring, start, progress)
            ring = self._arrange(table, ring, start, progress)
        lo, hi = self._windows(table, ring, start, progress)
        box = self._shift(start, rng) if self.l > 1 else self._match(start, rng, progress)
        cell_of_place, n_cells = label_groups(np.asfortranarray(np.hstack([lo, hi])))
        some = np.empty(n_cells, np.int64)
        some[cell_of_place] = np.arange(len(ring))
        size = np.diff(start)
        first = np.repeat(start[:-1], size)
        cell_of = np.empty(table.n_rows, np.int64)
        cell_of[ring] = cell_of_place[first + box]
        where = {
            "ring": np.repeat(np.arange(len(size)), size),
            "cell": box,
            "original": np.arange(len(ring)) - first,
            "width": np.repeat(np.minimum(size, self.width), size),
        }
        return Choice(lo[some], hi[some], cell_of, evidence=Rings(pl.DataFrame(where)[np.argsort(ring)]))

    def _clusters(self, table: Table, rng: np.random.Generator, progress: Progress) -> tuple[Int64, Int64]:
        """Return each row's cluster, and the rows cluster by cluster, near ones together."""
        size = min(self.cluster or self.k, table.n_rows)
        cluster = Mondrian(k=size, l=self.l).choose(table, rng, progress).cell_of
        near = Mondrian(k=1).choose(table, rng, lambda _, done, total: progress("ordering", done, total)).cell_of
        return cluster, np.lexsort((rng.permutation(table.n_rows), near, cluster))

    def _arrange(self, table: Table, order: Int64, start: Int64, progress: Progress) -> Int64:
        """Return rows in an order in which any l neighbours on a ring differ."""
        assert table.sensitive is not None
        values, n_values = table.sensitive[order], table.n_values
        longest = int(np.diff(start).max())
        per_value = [np.empty(min(longest, n_values) + 1, np.int64) for _ in range(8)]
        work = Values(np.full(n_values, NONE), np.empty(longest, np.int64), np.empty(longest, np.int64), *per_value)
        ring = np.empty(len(order), np.int64)
        for begin, end in _slices(start, "arranging", progress):
            arrange(values, start, begin, end, int(self.l), _MOST_STEPS, work, ring)
        return order[ring]

    def _chop(self, table: Table, ring: Int64, start: Int64, progress: Progress) -> tuple[Int64, Int64]:
        """Chop long rings, so that few people share one shift; return rows ring by ring, and where rings begin."""
        assert table.sensitive is not None
        l = int(self.l)
        block = -(-max(self.width, self.cluster or 0) // l) * l
        values, piece = table.sensitive[ring], np.empty(len(ring), np.int64)
        n_pieces = 0
        for begin, end in _slices(start, "chopping", progress):
            n_pieces = chop(values, start, begin, end, l, block, n_pieces, piece)
        return ring[np.argsort(piece, kind="stable")], np.concatenate([[0], np.cumsum(np.bincount(piece))])

    def _windows(self, table: Table, ring: Int64, start: Int64, progress: Progress) -> tuple[Int32, Int32]:
        """Return the cell at each place: the closure of the rows at w places from there on."""
        codes, domains = np.asfortranarray(table.codes[ring]), flatten(table.hierarchies)
        lo, hi = np.empty_like(codes), np.empty_like(codes)
        for begin, end in _slices(start, "closing", progress):
            close_windows(codes, start, begin, end, self.width, domains, lo, hi)
        return lo, hi

    def _shift(self, start: Int64, rng: np.random.Generator) -> Int64:
        """Draw a shift for each ring; return the place of the cell of the person at each place."""
        size = np.diff(start)
        shift = rng.integers(0, np.minimum(size, self.width))
        place = np.arange(start[-1]) - np.repeat(start[:-1], size)
        return np.asarray((place - np.repeat(shift, size)) % np.repeat(size, size))

    def _match(self, start: Int64, rng: np.random.Generator, progress: Progress) -> Int64:
        """Draw a perfect matching of each ring; return the place of the cell of the person at each place."""
        size = np.diff(start)
        longest, n = int(size.max()), int(start[-1])
        n_edges = min(self.width, _MOST_EDGES)
        offsets = np.full((len(size), n_edges), NONE, np.int32)
        alike = size <= self.width  # all cells of such a ring are equal: any matching will do
        every = np.arange(self.width, dtype=np.int32)
        for r in np.flatnonzero(~alike):
            offsets[r] = every if n_edges == self.width else rng.choice(every, n_edges, replace=False)
        turns = rng.integers(0, n_edges, len(size))
        per_box = [np.empty(longest, np.int64) for _ in range(3)]
        walk = Walk(np.empty((longest, n_edges), np.int32), np.array([0, NONE, 0, 0]), *per_box)
        box = np.empty(n, np.int64)
        n_numbers = min(_NUMBERS, 1024 + 4 * n * n_edges)
        while walk.state[RING] < len(size):
            progress("drawing", int(start[walk.state[RING]]), n)
            draw_matchings(start, offsets, turns, rng.random(n_numbers), walk, box)
        progress("drawing", n, n)
        return box


def _slices(start: Int64, stage: str, progress: Progress) -> Iterator[tuple[int, int]]:
    """Yield runs of rings of about as many rows each."""
    n, begin = int(start[-1]), 0
    while begin < len(start) - 1:
        progress(stage, int(start[begin]), n)
        end = max(begin + 1, int(np.searchsorted(start, start[begin] + _SLICE, side="right")) - 1)
        yield begin, end
        begin = end
    progress(stage, n, n)
