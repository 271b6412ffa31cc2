"""What rows reveal about columns that are released as they are, to somebody who knows whose row it may be.

A person who is left with fewer than k rows has the *other* columns of one of them, unless the method shuffles those
columns among more people. So they are claimed, as whole tuples, each of the rows that are left alike, and scored
with the originals. Claims that are no better than taking those of somebody alike (anybody else who fits the row) tell
nothing about the person; k promises that they are right at most once in k times beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.attacks.finding import Score, wilson
from incrowd.attacks.scene import Int64, Pairs, Scene

_MOST_PEOPLE = 2000  # about whom claims are scored: more do not make the interval much narrower
_MOST_ALIKE = 5 * 10**6  # pairs of a row and somebody who fits it that the baseline is taken from


@dataclass(frozen=True)
class Disclosure:
    """What the *other* columns of few rows reveal.

    Attributes
    ----------
    success, baseline
        How often the columns of a row that is left are the person's, and how often those of somebody alike would be.
    promised
        The share of right claims that k allows.
    """

    success: Score
    baseline: Score
    promised: float

    @property
    def broken(self) -> bool:
        """Whether claims are right more often than k allows, beyond chance."""
        return wilson(self.success.right, self.success.claimed)[0] > self.promised

    @property
    def why(self) -> str:
        """The outcome in words."""
        return (
            f"the other columns of the remaining rows are the person's own in {self.success.precision:.1%} of the "
            f"cases, those of a similar person in {self.baseline.precision:.1%}, and k allows {self.promised:.1%}"
        )

    @property
    def numbers(self) -> dict[str, float | int | None]:
        """The outcome in numbers."""
        return {
            "other_claims": self.success.claimed,
            "other_right": self.success.precision,
            "other_right_of_somebody_alike": self.baseline.precision,
            "other_promised": self.promised,
        }


def shuffled_in_blocks(scene: Scene) -> bool:
    """Tell whether the *other* columns of a row are those of somebody of a block, and not of its person."""
    about = scene.release.manifest.sensitive
    return about is not None and about.form == "shares"


def judge(scene: Scene, pairs: Pairs, rows: Int64) -> Disclosure | None:
    """Score what is claimed about people with fewer than k rows; ``None`` where nothing can be claimed.

    Parameters
    ----------
    pairs
        Which rows are left to which people.
    rows
        How many rows are left to each person.
    """
    names = list(scene.release.other.columns)
    few = np.flatnonzero((rows < scene.k) & (rows > 0))
    if not names or not len(few):
        return None
    if len(few) > _MOST_PEOPLE:
        few = few[np.linspace(0, len(few) - 1, _MOST_PEOPLE).astype(np.int64)]
    shown, own = _tuples(scene, names)
    asked = pl.DataFrame({"person": few, "point": scene.point_of[few], "own": own[few]})
    wanted = np.zeros(len(scene.points), np.bool_)
    wanted[scene.point_of[few]] = True
    left = asked.join(_frame(pairs, wanted[pairs.points]), on="point")
    rows_left = left.join(pl.DataFrame({"box": scene.box_of, "shown": shown}), on="box")
    said = rows_left.group_by("person").agg(right=(pl.col("shown") == pl.col("own")).mean())
    alike = left.join(_alike(scene, left["box"].unique().sort().to_numpy(), own), on=["box", "own"])
    alike = alike.group_by("person").agg(right=pl.col("alike").mean())
    n = len(few)
    success = Score("other columns of a person with few rows", float(said["right"].sum()), n, scene.n_people)
    baseline = Score("the same of a similar person", n * float(alike["right"].mean() or 0.0), n, scene.n_people)  # type: ignore[arg-type]
    share = baseline.precision or 0.0
    return Disclosure(success, baseline, share + (1 - share) / scene.k)


def _alike(scene: Scene, boxes: Int64, own: npt.NDArray[np.uint64]) -> pl.DataFrame:
    """Return for boxes and the columns of each person in them which share of the others there has the same ones."""
    pairs = scene.pairs
    assert pairs is not None
    people = pairs.per_box(scene.point_size)[boxes]
    some = boxes[: max(1, int(np.searchsorted(np.cumsum(people), _MOST_ALIKE)))]
    wanted = np.zeros(len(scene.box_size), np.bool_)
    wanted[some] = True
    inside = _frame(pairs, wanted[pairs.boxes]).join(pl.DataFrame({"point": scene.point_of, "own": own}), on="point")
    same = inside.group_by("box", "own").agg(same=pl.len())
    sizes = pl.DataFrame({"box": some, "size": people[: len(some)]})
    return same.join(sizes, on="box").select(
        "box", "own", alike=(pl.col("same") - 1.0) / (pl.col("size") - 1.0).clip(lower_bound=1.0)
    )


def _frame(pairs: Pairs, which: npt.NDArray[np.bool_]) -> pl.DataFrame:
    return pl.DataFrame({"point": pairs.points[which].astype(np.int64), "box": pairs.boxes[which].astype(np.int64)})


def _tuples(scene: Scene, names: list[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the *other* columns of each released row and of each person, as numbers that are equal where they are."""
    shown = scene.release.other
    truth = pl.DataFrame([scene.people[name].cast(shown[name].dtype, strict=False) for name in names])
    return hash_rows(shown), hash_rows(truth)


def hash_rows(frame: pl.DataFrame) -> npt.NDArray[np.uint64]:
    """Return a number for each row, equal for equal rows of frames with the same types."""
    return frame.with_columns(pl.selectors.float() + 0.0).hash_rows(seed=0).to_numpy()  # one zero only
