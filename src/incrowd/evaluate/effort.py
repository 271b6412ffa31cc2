"""How much is tried on a table: folds and samples by its size, so that an evaluation with defaults ends.

Small tables get ten folds and ten samples, as in Last et al. 2014; of larger ones the first plan that takes at most
`_ENOUGH` seconds by the figures below, else the least. Folds cost a release and both baselines each, samples only a
training, so that folds are given up later. The plan depends on the size alone, never on the machine: the same call has
the same folds everywhere. The figures are seconds of a processor, measured by ``./dev bench evaluating``.

>>> str(Effort.of(5_000, 10, ["tree"], 2))
'cv=10, samples=10'
>>> str(Effort.of(100_000, 30, ["tree", "naive_bayes", "logistic"], 2))
'cv=3, samples=1'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.evaluate.protocol import n_folds

_ENOUGH = 75.0
_PLANS = ((10, 10), (10, 5), (5, 5), (5, 3), (5, 2), (3, 2), (3, 1))
_PUBLISHING = 5e-6  # seconds per cell of the training rows, of the default method; several others take less
_STARTING = 0.05  # seconds of a release, and of a training, however small the table
_FITTING = {
    "majority": 0.0, "tree": 1.1e-6, "naive_bayes": 0.9e-6, "logistic": 0.6e-6, "boosting": 6e-6, "forest": 8e-6,
}  # fmt: skip
_OTHER = 6e-6  # of a classifier that was not measured


@dataclass(frozen=True)
class Effort:
    """A plan, and about how long it takes.

    Attributes
    ----------
    cv
        Number of folds, or repeats and folds; ``None`` for test rows of one's own.
    samples
        Samples drawn from each release.
    seconds
        Of a processor.
    """

    cv: int | str | None
    samples: int
    seconds: float

    @classmethod
    def of(
        cls,
        n_rows: int,
        n_columns: int,
        learners: Sequence[str],
        n_ways: int,
        *,
        cv: int | str | None = None,
        samples: int | None = None,
        folded: bool = True,
    ) -> Effort:
        """Return the plan for a table: what was asked for, and the rest by size.

        Parameters
        ----------
        learners
            Names of classifiers.
        n_ways
            Ways to train on a release.
        cv, samples
            What was asked for; ``None`` is by size.
        folded
            Whether there are folds, and not test rows.
        """
        wanted = [(cv if cv is not None else folds if folded else None, samples or drawn) for folds, drawn in _PLANS]
        plans = [
            cls(folds, drawn, _seconds(n_rows, n_columns, learners, n_ways, folds, drawn)) for folds, drawn in wanted
        ]
        return next((plan for plan in plans if plan.seconds <= _ENOUGH), plans[-1])

    def __str__(self) -> str:
        """Return it as parameters: 'cv=3, samples=1'."""
        return f"samples={self.samples}" if self.cv is None else f"cv={self.cv}, samples={self.samples}"


def _seconds(
    n_rows: int, n_columns: int, learners: Sequence[str], n_ways: int, cv: int | str | None, samples: int
) -> float:
    repeats, parts = (1, 1) if cv is None else n_folds(cv)
    cells = n_rows * n_columns * ((parts - 1) / parts if parts > 1 else 1)
    once = sum(_STARTING + cells * _FITTING.get(name, _OTHER) for name in learners)
    return repeats * parts * (_STARTING + cells * _PUBLISHING + once * (1 + n_ways * samples))
