"""Single steps between cut sets: add an item, leave one out, exchange one for another, as long as the cost falls.

Of equal costs the lower impurity (Gini) counts: in CM most cuts pay only together with others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.publish.cut_sets import CutSets
from incrowd.publish.publisher import Progress

Bools = npt.NDArray[np.bool_]
Worth = tuple[float, float]

_CHANGED = 0.08  # share of the items of a set that a new start changes, at least two
_IN_VAIN = 20  # new starts without gain after which there are no more
_SAME = 1e-9  # impurities, of each row, that differ by less are equal: they are sums of rounded numbers


@dataclass
class Looks:
    """How often a set was looked at with all that could be added to it, and how often it may be.

    Attributes
    ----------
    most, done
        Looks.
    end
        Time of the monotonic clock after which there are none.
    """

    most: int
    end: float | None
    progress: Progress
    done: int = 0

    def over(self, share: float = 1.0) -> bool:
        """Tell whether so much of them is done, and report progress."""
        self.progress("searching", min(self.done, self.most), self.most)
        return self.done >= share * self.most or (self.end is not None and time.monotonic() > self.end)


@dataclass(frozen=True)
class Steps:
    """Steps between sets of items, while there are looks."""

    sets: CutSets
    looks: Looks
    share: float = 1.0

    def starts(self, rng: np.random.Generator) -> Iterator[Bools]:
        """Yield sets that no step makes better: from nothing, from low impurity, and from changes of the best one."""
        nothing = np.zeros(self.sets.n_items, np.bool_)
        best, worth = self.improve(nothing)
        yield best
        found, better = self.improve(self._pure(nothing))
        if better < worth:
            best, worth = found, better
        yield best
        in_vain = 0
        while in_vain < min(_IN_VAIN, self.sets.n_items) and not self.looks.over(self.share):
            in_vain += 1
            found, better = self.improve(self._changed(best, rng))
            if better < worth:
                best, worth, in_vain = found, better, 0
                yield best

    def improve(self, chosen: Bools) -> tuple[Bools, Worth]:
        """Return the set that single steps lead to, and what it is worth; less is better."""
        worth = self._best_with(chosen, [])[0]
        while not self.looks.over(self.share):
            for without in (-1, *self.sets.removable(chosen).tolist()):
                less = chosen.copy()
                if without >= 0:
                    less[without] = False
                better, item = self._best_with(less, self.sets.open_to(less).tolist())
                if better < worth:
                    break
                if self.looks.over(self.share):
                    return chosen, worth
            else:
                break
            chosen, worth = less, better
            if item < self.sets.n_items:
                chosen[item] = True
        return chosen, worth

    def _best_with(self, chosen: Bools, tried: list[int]) -> tuple[Worth, int]:
        """Return what a set is worth with the best of some items, or with none, and that item."""
        score = self.sets.score(self.sets.head(chosen), np.array([*tried, self.sets.n_items], np.int64))
        self.looks.done += 1
        impurity = np.rint(score.impurity / (_SAME * self.sets.rows.n))
        place = int(np.lexsort((impurity, score.cost))[0])
        return (float(score.cost[place]), float(impurity[place])), [*tried, self.sets.n_items][place]

    def _pure(self, chosen: Bools) -> Bools:
        """Return a set to which items were added as long as impurity falls, whatever the cost."""
        chosen, least = chosen.copy(), float("inf")
        while not self.looks.over(self.share) and len(tried := self.sets.open_to(chosen)):
            impurity = self.sets.score(self.sets.head(chosen), tried).impurity
            self.looks.done += 1
            if impurity.min() >= least - _SAME * self.sets.rows.n:
                break
            least = float(impurity.min())
            chosen[tried[np.argmin(impurity)]] = True
        return chosen

    def _changed(self, chosen: Bools, rng: np.random.Generator) -> Bools:
        n_changes = max(2, int(_CHANGED * chosen.sum()))
        changed = chosen.copy()
        changed[rng.integers(0, len(chosen), n_changes)] ^= True
        return self.sets.closed(changed)
