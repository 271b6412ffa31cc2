"""BestCuts: groups that part the classes, the best of many randomized trees of cuts.

A release that trains classifiers should keep together people of one class, and nothing else matters much: measured by
the NSVDist paper's protocol, what guides the cuts changes retention by less than 0.02, but homogeneous groups with
exact counts, over ranges that may begin and end anywhere, keep half as much again as the paper's cells do. So: cut as
InfoGain Mondrian does, several times, and take the groups in which each person's class is told best by the others of
their group (log-loss with the person left out, so that nobody's own class speaks for a tree). The first run is greedy.
In the others each group looks at a random part of the attributes, and gains are divided by the entropy of the sizes to
the power 0, 1/2 or 1 in turn, which finds cuts that pay only later.

Where l, t or alpha allow no threshold, a *band* of values may be cut out of a range (or a child out of a node): the
people inside it are one group, those below and above it another, which is published as the range around the band.
Nothing else helps where a sensitive value sits at both ends of every attribute: each end would be too pure by itself.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, counted by its true members.
What remains: cuts were chosen with the classes of the people beside them, see the attack *minimality*; and a group that
was cut no further, or by a band, tells that its parts would not keep l. Group counts and the pattern of the population
together are right far more often than 1/l, about anybody whose quasi-identifiers are known: l bounds what the row of a
person tells, not what is true of people like them. `./dev bench exposure` compares people who are in a release with
people who were left out, with and without bands.

Cost: O(n M) for each level of cuts and run; as many runs as fit about a second.
Use it when the release is to train classifiers, with ``release.training()`` for the learner. Ranges (`Intervals`) keep
much more than fixed trees; `by_class` puts names into an order in which ranges make sense. Not when values matter for
themselves. Where the class is the sensitive column, accuracy and l are one quantity: who bets on the largest share of
each group is right for at most 1/l of the people. Protect another column, or pay. Hardened `NSVDist` over ranges may
keep more then, above all for naive Bayes (docs/results/class-aware.md).

Where we are on our own: this is no published algorithm. The number of runs, the share of attributes and the powers
were chosen on the NSVDist paper's eight tables, folds of seed 11, and matter little. Boxes of several ranges in place
of thresholds raise what groups tell of their own people and not what is kept of others; where k is larger than the rare
classes little can be kept at all (docs/results/page-blocks.txt). Bands were left out for a while:
of Breast Cancer, where no threshold keeps l (docs/results/class-aware-ceiling.txt), an adversary is right about 97 % of
the people, where 85 % is the largest share of a group. But he is as right about people who were left out of the table,
and of hardened NSVDist's release about as many (docs/results/exposure.txt).

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47, 48, 55, 56], "ill": list("yynnnnyy")})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
>>> sorted(ic.BestCuts(k=2).publish(people, schema, seed=1).frame["age"].unique())
['21-22', '30-31', '47-48', '55-56']
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.kernels.class_cuts import Search, loss_left_out
from incrowd.kernels.partition import Partition, Work
from incrowd.publish.class_cuts import ClassCuts
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.runs import workers

_MOST_RUNS = 60
_STEPS = 40_000_000  # of all runs together: ten runs on Adult, one on a million rows
_SHARE = 0.7  # of the attributes that a group looks at
_POWERS = (0.0, 0.5, 1.0)
_DRAWS = 256  # rows of random numbers; groups share them in turn


@dataclass(frozen=True, kw_only=True)
class BestCuts(GroupPublisher):
    """The best of many trees of cuts that part the classes.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    runs
        Trees to choose from; by default up to 60, fewer for large tables (10 on Adult, 1 from about 500 000 rows).
    """

    runs: int | None = None

    name: ClassVar[str] = "best_cuts"
    paper: ClassVar[str] = "ours"
    kind: ClassVar[str] = "multi-dimensional"
    cost: ClassVar[str] = "runs n M depth of the cuts"
    cuts_weighted_rows: ClassVar[bool] = True
    recodes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        runs = self.runs
        if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1):
            fact = f"runs is {runs!r}"
            raise ParameterError(fact, "use a whole number, at least 1, or None to choose it by the size of the table")
        super().__post_init__()

    @property
    def takes_stored_rows(self) -> bool:
        """Whether it can cut rows that lie on the disk."""
        return True

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return 4 * self.n_runs(table) * super().n_steps(table)

    def n_runs(self, table: Table) -> int:
        """Return the number of runs for a table."""
        if self.runs is not None:
            return int(self.runs)
        steps = table.n_rows * table.n_quasi * max(1.0, np.log2(table.n_rows / self.k))
        return int(np.clip(_STEPS // steps, 1, _MOST_RUNS))

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        cuts = ClassCuts.of(table, self.privacy(), self.k)
        bands = self.privacy().about_sensitive
        searches = [
            Search(rng.random((_DRAWS, table.n_quasi)), 1.0 if run == 0 else _SHARE, _POWERS[run % len(_POWERS)], bands)
            for run in range(self.n_runs(table))
        ]
        best: tuple[Work, Partition] | None = None
        least = np.inf
        progress("cutting", 0, len(searches))
        for number, (loss, work, partition) in enumerate(_in_threads(cuts, searches), start=1):
            if loss < least:  # of equals the first
                best, least = (work, partition), loss
            progress("cutting", number, len(searches))
        assert best is not None
        return cuts.cutting.close(*best)


def _in_threads(cuts: ClassCuts, searches: list[Search]) -> Iterator[tuple[float, Work, Partition]]:
    """Yield the loss and the groups of each run, in order."""
    if len(searches) == 1:
        yield _run(cuts, searches[0], once=True)
        return
    contexts = [copy_context() for _ in searches]  # they say whether kernels are compiled
    with ThreadPoolExecutor(min(workers(), len(searches))) as pool:
        yield from pool.map(lambda context, search: context.run(_run, cuts, search), contexts, searches)


def _run(cuts: ClassCuts, search: Search, *, once: bool = False) -> tuple[float, Work, Partition]:
    """Return the loss and the groups of a run; one that is run once moves the rows themselves about."""
    cutting = cuts.cutting
    work, partition = cutting.start(cutting.rows if once else cutting.copy())
    cut = cuts.by(search)
    while partition.state[0] > 0:
        cut(work, partition)
    groups = partition.groups[: partition.state[1]]
    return loss_left_out(work.rows, groups, cuts.n_classes), work, partition
