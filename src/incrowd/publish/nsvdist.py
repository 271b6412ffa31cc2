"""NSVDist: each row is hidden among k rows of its own choice, and shows the distribution of their sensitive values.

For each row, start with the row alone and add, one at a time, the row that keeps the information loss of the closure
smallest, among those whose sensitive value does not yet occur floor(k / l) times; stop at k rows. The release shows
their closure, and instead of a sensitive value the values of all k as a distribution. Rows choose independently, so
groups overlap (non-homogeneous generalization) and cells are much smaller than those of groups that share one cell.

Guarantee (Definition 3.3): every released row generalizes at least k originals, its own among them, and no share in
its distribution is above 1/l. With a monotone, sub-additive loss each row's loss is at most k - 1 times the smallest
possible (Appendix A).

``mode="paper"`` is that algorithm. What it does not stop: overlapping exact distributions are linear equations about
people, and somebody who knows all quasi-identifiers can solve some of them; with l > 1 a member from far away is there
because of its value. ``mode="hardened"``, the default, publishes nothing to solve. Members are chosen by
quasi-identifiers alone, and each of them counts with the shares of values in its *block* instead of its own value.
Blocks are a partition of the table: at least k rows each, no value above 1/l. So (1) the cells are a function of
quasi-identifiers and chance; (2) the distributions are a function of the cells and of the counts of values in blocks;
(3) all that a release tells about sensitive values is told by the blocks and these counts, whatever is computed from
it, and by *other* columns, which are published as they are. If blocks were drawn without a look at values, somebody who
has no reason beyond the release could believe in no value more than its share in the block, at most 1/l; our blocks
look a little: `incrowd.publish.blocks` says how, and what was measured. A mean of shares that are at most 1/l is at
most 1/l, so members need no cap, and with l > 1 cells are smaller than the paper's. What remains possible is to learn
about people in general, as from any table that is good for training.

Cost: O(k n^2 M) as written in the paper; here members are found by best-first search in a tree of boxes, with the same
result. Use it when classifiers will be trained on the release; not when recipients need exact sensitive values.

Where the paper is silent: among equally good rows the one that comes first in a random order, drawn once per run
(`seed` repeats it), is taken; the order of the table must not decide who is a member. Losses are compared as whole
numbers of 31 bits, so that they do not depend on the order of adding: losses that differ by less than about 1e-9 of
what all domains together can lose may count as equal, and every step between two values costs at least that much. Each
attribute's loss is rounded by itself, so of rows whose exact losses are equal one may be taken for smaller by the last
of these bits; the same one on every machine. ``presplit`` is
the split of section 4.3: Mondrian cuts the table into parts, and rows choose within their part.
Shares of the hardened mode are published in parts of 10 000.

Reference: Last, Tassa, Zhmudyak, Shmueli: Improving accuracy of classification models induced from anonymized
datasets, Information Sciences 256, 2014, Algorithms 1 and 2.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [30, 21, 21, 55, 47], "ill": ["Measles", "Flu", "Angina", "Flu", "Diabetes"]})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
>>> release = ic.NSVDist(k=2, l=2, mode="paper").publish(people, schema, seed=1)
>>> sorted(release.frame["age"])
['21', '21', '21-30', '47-55', '47-55']
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Secret, Table
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, PrivacyWarning, SchemaError
from incrowd.kernels.boxes import RANK, START, STOP, TABLE, Prices, build_tree
from incrowd.kernels.groups import label_groups
from incrowd.kernels.nsvdist import Index, search
from incrowd.manifest import Guarantee
from incrowd.privacy import EachColumn, Privacy, exact
from incrowd.privacy.constraints import own_of
from incrowd.publish.block_shares import BlockShares
from incrowd.publish.blocks import Limited, blocks_of
from incrowd.publish.concealed import choose_concealed
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.prices import Loss, make_prices, tables_first
from incrowd.publish.publisher import CellPublisher, Choice, Progress
from incrowd.release import Blocks
from incrowd.runs import workers
from incrowd.schema import Schema

Mode = Literal["hardened", "paper"]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_LEAF_SIZE = 12
_MOST_SHARES = 200_000_000
_MOST_AS_A_WHOLE, _PART = 100_000, 10_000  # rows, where `presplit` is left to us
_JOBS_PER_SLICE = 128  # seeds between two looks at progress and Ctrl-C
RISK = (
    "mode='paper' publishes overlapping exact distributions, from which sensitive values follow: of 1500 census rows "
    "with k = 5 and l = 2, `incrowd attack` claimed a fifth of the sensitive values, more than 95 % of them correctly. "
    "Use mode='hardened', unless you compare with the paper."
)
"""What is said about the mode of the paper; ``./dev bench attacks --rows 1500`` measures it."""


@dataclass(frozen=True, kw_only=True)
class NSVDist(CellPublisher):
    """Non-homogeneous generalization with sensitive value distributions.

    Parameters
    ----------
    k
        Number of originals behind each released row.
    l
        Diversity: no share in a distribution is above 1/l. Any real number, at least 1; with several sensitive columns
        perhaps one for each, ``l={"diagnosis": 3}``. Only ``mode="hardened"`` protects several.
    loss
        What the search keeps small: ``"lm"``, ``"entropy"`` or ``"monotone_entropy"``. Plain entropy can fall when a
        cell grows, so its bounds are weaker and the search takes many times longer.
    presplit
        Cut the table into parts of about this many rows first (section 4.3); ``None`` searches the whole table, and
        ``"auto"`` does so up to 100 000 rows, and takes parts of 10 000 beyond.
    concealment
        Let everybody be a member of k cells: who drops each pair of a person and a row that no assignment of people to
        rows has is left with k rows for everybody (see `incrowd.publish.concealed`). Only ``mode="hardened"`` and LM.
        By default where columns are published as they are: somebody who is left with one row would be known by them.
    mode
        ``"hardened"`` tells values by blocks, so that nothing can be solved for; ``"paper"`` is the algorithm as it was
        published, with a warning.
    """

    k: int
    l: EachColumn[float] = 1
    mode: Mode = "hardened"
    loss: Loss = "lm"
    presplit: int | Literal["auto"] | None = "auto"
    concealment: bool | None = None

    name: ClassVar[str] = "nsvdist"
    paper: ClassVar[str] = "Last et al. 2014"
    promise: ClassVar[str] = "k, l (frequency), as distributions"
    kind: ClassVar[str] = "non-homogeneous"
    cost: ClassVar[str] = "about k n^1.5 M"
    homogeneous: ClassVar[bool] = False
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.privacy()
        if self.loss not in get_args(Loss):
            fact = f"loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Loss))}")
        if self.mode not in get_args(Mode):
            fact = f"mode is {self.mode!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Mode))}")
        if self.presplit not in (None, "auto") and (
            not isinstance(self.presplit, int | np.integer) or self.presplit < 2 * self.k
        ):
            fact = f"presplit is {self.presplit!r}, and k is {self.k}"
            raise ParameterError(fact, "use a whole number, at least 2 k, or auto, or None")

        if self.concealment not in (True, False, None):
            fact = f"concealment is {self.concealment!r}"
            raise ParameterError(fact, "use true or false")
        if self.concealment and (self.mode != "hardened" or self.loss != "lm"):
            fact = f"concealment is true, mode is {self.mode!r} and loss is {self.loss!r}"
            raise ParameterError(fact, "use mode='hardened' and loss='lm', or concealment=False")

    def privacy(self) -> Privacy:
        """Return the constraints that every row's distribution keeps."""
        return Privacy.of(self.k, l=self.l)

    def settled(self, schema: Schema) -> NSVDist:
        """Return this method, concealing where columns are published as they are, unless it was told otherwise."""
        found = super().settled(schema)
        can = (self.mode, self.loss) == ("hardened", "lm") and self.presplit in (None, "auto")
        conceals = bool(schema.other) and can if self.concealment is None else self.concealment
        return replace(found, concealment=conceals)

    def promises(self, choice: Choice, schema: Schema) -> Sequence[Guarantee]:
        """Return what the manifest promises of a choice."""
        more = (Guarantee("concealment", k=self.k),) if self.concealment else ()
        return (*super().promises(choice, schema), *more)

    @property
    def cap(self) -> int:
        """Largest number of members with the same sensitive value: floor(k / l), in exact arithmetic."""
        return int(self.k / exact(own_of(self.l, None, 1)))  # mode="paper" has one sensitive column

    def require_feasible(self, table: Table) -> None:
        """Refuse what no release of this table can keep."""
        n_values = sum(len(secret.values) for secret in table.secrets)
        if n_values == 0:
            fact = "NSVDist publishes distributions of sensitive values, and the schema has no sensitive column"
            raise SchemaError(fact, "give a column the role 'sensitive', or use a method that does not need one")
        if table.n_rows * n_values > _MOST_SHARES:
            fact = f"A share for each of {n_values} sensitive values in {table.n_rows} rows is too much to publish"
            raise IncompatibleError(
                fact, "make the sensitive column coarser, or use a method that publishes exact values"
            )
        if self.mode == "paper" and len(table.secrets) > 1:
            fact = f"mode='paper' protects one sensitive column, and the schema has {len(table.secrets)}"
            raise IncompatibleError(fact, "use mode='hardened', or a method that forms groups, such as best_cuts")
        if self.mode == "paper" and table.schema.other:
            named = ", ".join(map(repr, table.schema.other))
            fact = f"mode='paper' cannot publish the other column {named}: a person may fit a single row"
            hint = "use mode='hardened', which shuffles such columns among k people, or a method that forms groups"
            raise IncompatibleError(fact, hint)
        if self.mode == "hardened":
            super().require_feasible(table)
        else:
            l = own_of(self.l, None, 1)
            require_members(self.k, l, self.cap, table.sensitive_counts, table.n_rows)

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return float(table.codes.size) * table.n_rows

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        if self.mode == "paper":
            warnings.warn(RISK, PrivacyWarning, stacklevel=3)
            rank = rng.permutation(table.n_rows)
            return choose_members(table, rank, self.k, self.cap, self.loss, self._parts(table, rng, self.cap), progress)
        secrets = [Limited.of(table, secret, exact(own_of(self.l, secret.name, 1))) for secret in table.secrets]
        block_of = blocks_of(
            table, self.k, secrets, rng.spawn(1)[0]
        )  # how often it draws depends on values: not from rng
        shares = BlockShares.of(block_of, secrets)
        if self.concealment:
            return choose_concealed(table, self.k, shares, rng, progress)
        nothing = Secret(pl.Series("", [""]), np.zeros(1, np.int32))
        blank = replace(table, sensitive=np.zeros(table.n_rows, np.int32), secrets=(nothing,))
        rank = rng.permutation(table.n_rows)
        parts = self._parts(blank, rng, self.k)
        return choose_members(blank, rank, self.k, self.k, self.loss, parts, progress, shares)

    def part_rows(self, n_rows: int) -> int | None:
        """Return about how many rows a part of a table of this size has; ``None`` if it is searched as a whole."""
        if self.presplit == "auto":
            return None if n_rows <= _MOST_AS_A_WHOLE else max(_PART, 2 * self.k)
        return self.presplit

    def _parts(self, table: Table, rng: np.random.Generator, cap: int) -> list[Int64]:
        """Cut the table by Mondrian; neighbours that cannot find k members by themselves stay together."""
        part = self.part_rows(table.n_rows)
        if part is None:
            return [np.arange(table.n_rows)]
        size = max(self.k, part // 2)
        choice = Mondrian(k=min(size, table.n_rows)).choose(table, rng, lambda *_: None)
        order = np.argsort(choice.cell_of, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(choice.cell_of[order])) + 1)
        assert table.sensitive is not None
        parts: list[Int64] = []
        waiting: list[Int64] = []
        for group in groups:
            waiting.append(group)
            joined = np.concatenate(waiting)
            counts = np.bincount(table.sensitive[joined])
            if np.minimum(counts, cap).sum() >= self.k:
                parts.append(joined)
                waiting = []
        if waiting:  # the whole table can, so there is a part to join
            parts[-1] = np.concatenate([parts[-1], *waiting])
        return parts


def require_members(k: int, l: float, cap: int, counts: Int64, n_rows: int) -> None:
    """Refuse (k, l) for which no row can find k members: sum of min(count, floor(k / l)) below k."""
    if np.minimum(counts, cap).sum() >= k:
        return
    reachable = min(k, n_rows)
    caps = range(1, reachable + 1)
    least = next(c for c in caps if np.minimum(counts, c).sum() >= reachable)
    best = {"k": reachable, "l": np.floor(reachable / least * 1e4) / 1e4}
    fact = f"No row can find k = {k} members of which at most floor(k / l) = {cap} share a sensitive value (l = {l:g})"
    raise InfeasibleError(
        fact, f"use k = {reachable}, l = {best['l']}, the closest that this table can reach", best=best
    )


def choose_members(
    table: Table, rank: Int64, k: int, cap: int, loss: Loss, parts: list[Int64], progress: Progress,
    shares: BlockShares | None = None,
) -> Choice:  # fmt: skip
    """Search every row's members within its part of the table; they count with their values, or by blocks."""
    columns = tables_first(table, loss)
    prices = make_prices(table, columns, loss)
    n, n_values = table.n_rows, table.n_values
    cells_lo, cells_hi, cells_counts, cells_members = [], [], [], []
    cell_of = np.empty(n, np.int64)
    n_cells, n_done = 0, 0
    progress("searching", 0, n)
    with ThreadPoolExecutor(workers()) as pool:
        for part in parts:
            index, rows = make_index(table, columns, part, rank, cap, prices)
            jobs, job_of = make_jobs(index, k, cap, n_values)
            lo, hi = np.empty((len(jobs), table.n_quasi), np.int32), np.empty((len(jobs), table.n_quasi), np.int32)
            counts = np.empty((len(jobs), n_values), np.int32)
            members = np.empty((0, 0) if shares is None else (len(jobs), k), np.int32)
            for n_jobs in _in_slices(pool, jobs, (k, cap, prices, index, lo, hi, counts, members)):
                progress("searching", n_done + len(part) * n_jobs // len(jobs), n)
            if shares is not None:
                cells_members.append(rows[members].astype(np.int32))
                counts = shares.mean_parts(rows[members])
            cell_of[rows] = n_cells + job_of
            cells_lo.append(lo)
            cells_hi.append(hi)
            cells_counts.append(counts)
            n_cells += len(jobs)
            n_done += len(part)
    back = np.argsort(columns)
    lo, hi = np.concatenate(cells_lo)[:, back], np.concatenate(cells_hi)[:, back]
    evidence = None if shares is None else Blocks(shares.block_of, cell_of, np.concatenate(cells_members))
    return Choice(lo, hi, cell_of, np.concatenate(cells_counts), evidence=evidence)


def _in_slices(pool: ThreadPoolExecutor, jobs: Int64, arguments: tuple[object, ...]) -> Iterator[int]:
    """Run the search over slices of jobs in all threads; yield how many are done. Results do not depend on threads."""
    starts = range(0, len(jobs), _JOBS_PER_SLICE)
    pending: set[Future[None]] = set()
    try:
        for start in starts:
            stop = min(start + _JOBS_PER_SLICE, len(jobs))
            pending.add(pool.submit(copy_context().run, search, jobs, start, stop, *arguments))  # type: ignore[arg-type]
        total = len(pending)
        while pending:
            done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            yield min(len(jobs), (total - len(pending)) * _JOBS_PER_SLICE)
    finally:
        for future in pending:
            future.cancel()


def make_jobs(index: Index, k: int, cap: int, n_values: int) -> tuple[Int64, Int64]:
    """Return the seeds to search for, and the job of each row of the index.

    Equal rows take each other first, at no loss. When together they are at most k, and none of their values exceeds the
    cap, all of them end up with the same members: one search serves them.
    """
    n_distinct = len(index.first) - 1
    own = np.zeros((n_distinct, n_values), np.int64)
    np.add.at(own, (index.owner, index.sensitive), 1)
    shared = (own.sum(axis=1) <= k) & (own.max(axis=1) <= cap)
    is_job = ~shared[index.owner]
    is_job[index.first[:-1][shared]] = True
    return np.flatnonzero(is_job), np.cumsum(is_job) - 1


def make_index(table: Table, columns: Int64, part: Int64, rank: Int64, cap: int, prices: Prices) -> tuple[Index, Int64]:
    """Return the searchable form of some rows, and the table's row of each row in it."""
    codes = np.asfortranarray(table.codes[part][:, columns])
    labels, n_distinct = label_groups(codes)
    some_row = np.empty(n_distinct, np.int64)
    some_row[labels] = np.arange(len(part))
    distinct = np.ascontiguousarray(codes[some_row])
    spread = np.empty(max(hierarchy.n_leaves for hierarchy in table.hierarchies) + 1, np.int64)
    order, nodes, box = build_tree(distinct, _LEAF_SIZE, spread, prices)
    place = np.empty(n_distinct, np.int64)
    place[order] = np.arange(n_distinct)
    assert table.sensitive is not None
    spare = _places_among_equals(place[labels], table.sensitive[part], rank[part]) > cap  # never a member
    by_owner = np.lexsort((rank[part], spare, place[labels]))
    rows = part[by_owner]
    owner = place[labels][by_owner].astype(np.int32)
    first = np.searchsorted(owner, np.arange(n_distinct + 1)).astype(np.int32)
    ranks = rank[rows].astype(np.int32)
    lowest = ranks[first[:-1]]
    for node in range(len(nodes) - 1, -1, -1):
        nodes[node, RANK] = lowest[nodes[node, START] : nodes[node, STOP]].min()
    last = first[1:] - np.bincount(owner, weights=spare[by_owner], minlength=n_distinct).astype(np.int32)
    places = np.maximum(prices.shape[:, TABLE], 0)
    small = max(prices.n_table, spread.size) < 1 << 16  # half the memory is a tenth of the time
    kind = np.uint16 if small else np.uint32
    in_tables = (distinct[order] + places).astype(kind)
    boxes = (box + np.repeat(places, 2)).astype(kind)
    return Index(in_tables, first, last, owner, table.sensitive[rows], ranks, nodes, boxes), rows


def _places_among_equals(owner: Int64, value: Int32, rank: Int64) -> Int64:
    """Return the place of each row by rank among the rows that equal it in value too, from 0."""
    order = np.lexsort((rank, value, owner))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(owner[order]) != 0) | (np.diff(value[order]) != 0)
    begin = np.flatnonzero(new)[np.cumsum(new) - 1]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - begin
    return place
