"""Anonymity levels of projections that are published side by side (DMPD, Definitions 7 and 8).

A partition shares columns out among parts; each part is published with the class, its rows shuffled. The *partial*
level is the least number of rows that agree on the quasi-identifiers of a part. Somebody may join two parts again, by
the only column that they share, the class; the *set* level is the least number of joined rows that agree on the
quasi-identifiers of both parts and on the class. The level of a partition is the lower of the two.

No join is made: a combination of the join occurs as often as the product of its counts in the two parts, within its
class. So the set level is the least, over classes, of the product of the two smallest minima that parts have there.
Exact whole numbers, O(rows x quasi-identifiers) per new set of quasi-identifiers, which is kept, and then
O(parts x classes) per partition.

What the set level does not say: it counts pairs of rows, as the paper does, and not people. Two joined rows may stand
for one person in one of the parts, who is then known by that part and the class; only the partial level counts people.
Nor does the partial level count those who know a person's quasi-identifiers in two parts: where a group of one part
has few classes they rule out all others in the other part, and fewer than k rows may be left.

Where the paper is silent: (1) a part without quasi-identifiers is one combination in each class, and one in all for
the partial level; (2) the empty partition publishes nothing and has no limit: its levels are infinite, as is the set
level of a single part; (3) a missing value is a value of its own; (4) a class without rows does not count.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 2010, sections 3 and 4.3.

>>> import polars as pl
>>> people = pl.DataFrame({"job": list("aaabbb"), "town": list("xyxyxy"), "risk": list("++-+--")})
>>> levels = Levels.of(people, "risk", quasi=["job", "town"])
>>> levels.partial([[0, 1]]), levels.partial([[0], [1]]), levels.joined([[0], [1]])
(1, 3, 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import code_classes
from incrowd.errors import ParameterError
from incrowd.kernels.groups import count_by_group, label_groups
from incrowd.kernels.jit import interpreted
from incrowd.learn.columns import Column, numbers_of

Codes = npt.NDArray[np.int32]

NO_LIMIT = math.inf
_FEW_STEPS = 150_000  # take a fraction of a second in plain Python, and loading compiled loops takes longer


class Levels:
    """Levels of partitions of one table.

    Parameters
    ----------
    codes
        One whole number per value, [rows x columns]; numeric quasi-identifiers in the intervals that are published.
    classes
        The class of each row, from 0.
    quasi
        Numbers of the columns that an attacker may know.
    """

    def __init__(self, codes: Codes, classes: Codes, quasi: Iterable[int]) -> None:
        if len(codes) == 0 or len(codes) != len(classes):
            fact = f"There are {len(codes)} rows and {len(classes)} classes"
            raise ParameterError(fact, "give one class per row, and at least one row")
        self._codes = np.asfortranarray(codes, np.int32)
        self._classes = np.ascontiguousarray(classes, np.int32)
        self._n_classes = int(self._classes.max()) + 1
        self.quasi = frozenset(numbers_of(quasi, _numbered(self._codes.shape[1]), "quasi"))
        self._n_steps = 0
        self._known: dict[tuple[int, ...], tuple[int, list[int], Fraction]] = {}

    @classmethod
    def of(cls, frame: pl.DataFrame, target: str, quasi: Iterable[Column]) -> Levels:
        """Return the levels of a frame whose columns, but for the target, are numbered in order, each value as is."""
        columns = frame.drop(target)
        codes = np.empty(columns.shape, np.int32, order="F")
        for m, column in enumerate(columns.get_columns()):
            codes[:, m] = _coded(column)
        return cls(codes, _coded(frame[target]), numbers_of(quasi, columns.columns, "quasi"))

    def partial(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return PAL(Z): the least number of rows that share their quasi-identifiers in some part."""
        return min((self._counted(part)[0] for part in parts), default=NO_LIMIT)

    def joined(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return SAL(Z): the least count of quasi-identifiers and class when any two parts are joined."""
        minima = [self._counted(part)[1] for part in parts]
        if len(minima) < 2:
            return NO_LIMIT
        products: list[int] = []
        for in_class in zip(*minima, strict=True):
            least, second = sorted(in_class)[:2]
            products.append(least * second)
        return min(products)

    def of_partition(self, parts: Iterable[Iterable[int]]) -> int | float:
        """Return PartAL(Z), the lower of both."""
        parts = [tuple(part) for part in parts]
        return min(self.partial(parts), self.joined(parts))

    def share(self, parts: Iterable[Iterable[int]]) -> Fraction:
        """Return the largest share of a class among rows that share their quasi-identifiers in some part."""
        return max((self._counted(part)[2] for part in parts), default=Fraction(0))

    def _counted(self, part: Iterable[int]) -> tuple[int, list[int], Fraction]:
        """Return the smallest count of a part's combinations, the smallest in each class, and the largest share."""
        key = tuple(sorted(self.quasi.intersection(numbers_of(part, _numbered(self._codes.shape[1]), "parts"))))
        if key not in self._known:
            self._n_steps += len(self._codes) * (len(key) + 1)  # a search asks many times: then compiling pays
            with interpreted(self._n_steps < _FEW_STEPS):
                labels, n_groups = label_groups(np.asfortranarray(self._codes[:, list(key)]))
                counts = count_by_group(labels, self._classes, n_groups, self._n_classes)
            # A class without rows gets the largest count there is, and so never the smallest product.
            minima = np.where(counts > 0, counts, len(self._codes)).min(axis=0)
            totals, tops = counts.sum(axis=1), counts.max(axis=1)
            surest = int((tops / totals).argmax())  # shares of so few rows differ by more than floats round
            share = Fraction(int(tops[surest]), int(totals[surest]))
            self._known[key] = int(totals.min()), minima.tolist(), share
        return self._known[key]


def _coded(column: pl.Series) -> Codes:
    codes, _ = code_classes(column)
    return np.asarray(codes, np.int32)


def _numbered(n_columns: int) -> Sequence[str]:
    return [f"column {m}" for m in range(n_columns)]
