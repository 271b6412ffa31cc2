"""The risk of a table as it is: who stands out in it, and how many of them would stand out in its population."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import ParameterError, counted
from incrowd.hierarchy.hierarchy import text
from incrowd.risks.chances import Chances, expected_inverse
from incrowd.risks.classes import Classes
from incrowd.risks.estimates import Estimate, Spectrum, estimates
from incrowd.risks.special import Separation, Uniques, find_uniques
from incrowd.schema import Schema

Progress = Callable[[str, int, int], None]

_SHOWN = 5
_LARGEST = 3


@dataclass(frozen=True)
class Sample:
    """The table as a sample of its population.

    Attributes
    ----------
    fraction
        The part of the population that is in the table.
    size
        People in the population, counted or estimated.
    known
        Whether the population was given.
    outside
        Rows of the table whose values no person of the population has; ``None`` where it is not known.
    uniques
        How many rows are unique in the table and in the population; ``None`` where it is not known.
    k_map
        In how few people of the population the values of a row occur: the k of k-map (Sweeney); ``None`` where that
        is not known.
    presence
        The least and the largest chance that somebody of the population is in the table, by their values: the deltas of
        delta-presence (Nergiz, Atzori and Clifton 2007); ``None`` where it is not known.
    journalist, marketer
        The chance that somebody who looks for the person behind a row, and that somebody who links all rows, is right.
        Where the population is not known, the means of what the fraction allows.
    """

    fraction: float
    size: int
    known: bool
    outside: int | None
    uniques: int | None
    k_map: int | None
    presence: tuple[float, float] | None
    journalist: Chances
    marketer: float


@dataclass(frozen=True)
class SampleRisk:
    """What `risk` found. What is printed, and `to_dict`, tell no value of the table; `specials` does, for its owner.

    Attributes
    ----------
    rows, left_out
        Rows that count, and those left out for a missing value.
    classes, unique
        Different combinations of quasi-identifiers, and rows that nobody shares theirs with.
    threshold
        The chance above which a row is called at risk.
    prosecutor
        The chance that somebody is right who looks for a person known to be in the table.
    sample
        What holds against the population, ``None`` if nothing is known of one.
    estimates, chosen
        How many people are unique in the population, by each model, and the model that the rule of Dankar et al. takes.
    intrusion
        The chance that a unique row that is linked to a unique person is linked rightly (data intrusion simulation).
    columns
        Names of the quasi-identifiers.
    largest
        How many columns the largest sets had that were looked at.
    """

    rows: int
    left_out: int
    classes: int
    unique: int
    threshold: float
    prosecutor: Chances
    sample: Sample | None
    estimates: tuple[Estimate, ...]
    chosen: str | None
    intrusion: float | None
    columns: tuple[str, ...]
    largest: int
    _uniques: Uniques = field(repr=False)
    _classes: Classes = field(repr=False)

    @property
    def contributions(self) -> Mapping[str, float]:
        """The share of all scores of minimal sample uniques that each column takes part in."""
        return dict(zip(self.columns, self._uniques.shares.tolist(), strict=True))

    @property
    def separations(self) -> pl.DataFrame:
        """Each set of columns that was looked at, with its distinction and separation; the best of each size first."""
        found = sorted(self._uniques.sets, key=lambda one: (len(one.columns), -one.separation, one.columns))
        return pl.DataFrame(
            {
                "columns": [", ".join(self._names(one)) for one in found],
                "size": [len(one.columns) for one in found],
                "distinction": [one.distinction for one in found],
                "separation": [one.separation for one in found],
            }
        )

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """The score of each row that counts: 0 where no set of at most `largest` columns makes it unique."""
        return self._uniques.scores

    @cached_property
    def specials(self) -> pl.DataFrame:
        """Every minimal sample unique: row, score, columns and values; for the owner of the table, and nobody else.

        Rows count from 0. Rows that stand out most come first, and of each row its smallest sets.
        """
        found, names = self._uniques, np.array(self.columns, object)
        texts = [np.array(text(column), object) for column in self._classes.values]
        has = (found.columns[:, None] >> np.arange(len(names))) & 1
        order = np.lexsort((has.sum(axis=1), found.row, -found.scores[found.row]))
        sets = [np.flatnonzero(own) for own in has[order]]
        row = found.row[order]
        return pl.DataFrame(
            {
                "row": self._classes.rows[row],
                "score": found.scores[row],
                "size": [len(own) for own in sets],
                "columns": ["|".join(names[own]) for own in sets],
                "values": ["|".join(texts[m][at] for m in own) for at, own in zip(row, sets, strict=True)],
            },
            schema={"row": pl.Int64, "score": pl.Float64, "size": pl.Int64, "columns": pl.String, "values": pl.String},
        )

    def _names(self, one: Separation) -> list[str]:
        return [self.columns[m] for m in one.columns]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without any value of the table."""
        sample = self.sample
        sets = self.separations.sort("separation", "size", descending=[True, False], maintain_order=True).head(_SHOWN)
        return {
            "rows": self.rows,
            "left_out": self.left_out,
            "classes": self.classes,
            "unique": self.unique,
            "threshold": self.threshold,
            "prosecutor": self.prosecutor.to_dict(),
            "population": None
            if sample is None
            else {
                "size": sample.size,
                "fraction": sample.fraction,
                "known": sample.known,
                "rows_outside": sample.outside,
                "unique_in_both": sample.uniques,
                "k_map": sample.k_map,
                "presence": None if sample.presence is None else list(sample.presence),
                "journalist": sample.journalist.to_dict(),
                "marketer": sample.marketer,
            },
            "estimates": [{"model": one.model, "uniques": one.uniques, "note": one.why} for one in self.estimates],
            "chosen": self.chosen,
            "intrusion": self.intrusion,
            "largest": self.largest,
            "columns": [
                {"name": name, "contribution": share, "distinction": one.distinction, "separation": one.separation}
                for (name, share), one in zip(self.contributions.items(), self._uniques.sets, strict=False)
            ],
            "separating": sets.to_dicts(),
            "rows_with_special_uniques": int((self.scores > 0).sum()),
        }

    def __str__(self) -> str:
        unique = f"{self.unique} of them ({self.unique / self.rows:.1%}) unique in the table"
        lines = [
            f"{counted(self.rows, 'row')}, {counted(self.classes, 'combination')} of {', '.join(self.columns)};",
            unique,
            _line("prosecutor (knows that a person is in the table)", self.prosecutor),
        ]
        if self.sample is not None:
            lines += self._of_population(self.sample)
        else:
            lines.append("Nothing is known of the population: give it, or the sampling fraction, for what holds there.")
        lines.append(f"What makes rows unique (sets of at most {counted(self.largest, 'column')}):")
        lines += [
            f"  {name}: {share:.1%} of all scores; alone it separates {one.separation:.1%} of the pairs of rows"
            for (name, share), one in sorted(
                zip(self.contributions.items(), self._uniques.sets, strict=False), key=lambda entry: -entry[0][1]
            )
        ]
        return "\n".join(lines)

    def _of_population(self, sample: Sample) -> list[str]:
        how = "counted in the population" if sample.known else "mean of what the fraction allows"
        lines = [
            f"population: {sample.size:,} people, of whom {sample.fraction:.4g} are in the table",
            _line(f"journalist (looks for the person behind a row; {how})", sample.journalist),
            f"marketer (links all rows; {how}): right for {sample.marketer:.2%} of them",
        ]
        if sample.uniques is not None:
            lines.append(f"{sample.uniques} rows are unique in the population as well")
        if sample.presence is not None:
            least, most = sample.presence
            lines.append(
                f"k-map: k = {sample.k_map}; delta-presence: somebody of the population is in the table with a chance "
                f"of {least:.3g} to {most:.3g}"
            )
        else:
            lines.append("Note: a mean hides who is unique in the population, and surely found: see the estimates")
        if sample.outside:
            lines.append(f"Note: {counted(sample.outside, 'row')} fit nobody of the population: is it the right one?")
        lines.append("people who are unique in the population, estimated from the table alone:")
        for one in self.estimates:
            number = "nothing" if one.uniques is None else f"{one.uniques:,.0f} ({one.uniques / sample.size:.2%})"
            chosen = " <- by the rule of Dankar et al." if one.model == self.chosen else ""
            lines.append(f"  {one.model}: {number}; {one.why}{chosen}")
        return lines


def risk(
    frame: Any,  # noqa: ANN401 - any frame
    schema: Schema,
    *,
    population: Any = None,  # noqa: ANN401 - any frame
    sampling_fraction: float | None = None,
    threshold: float = 0.2,
    largest: int = _LARGEST,
    progress: Progress | None = None,
) -> SampleRisk:
    """Measure how easily people of a table could be found again by its quasi-identifiers, before it is published.

    Parameters
    ----------
    frame, schema
        The table as it is, and its roles; hierarchies are not looked at.
    population
        A table of everybody who could be meant, the people of the sample among them, with the same quasi-identifiers.
    sampling_fraction
        Without a population: the part of it that is in the table, such as 0.01.
    threshold
        The chance of being found above which a row is called at risk.
    largest
        How many columns the largest sets have that are searched for minimal sample uniques.
    progress
        Called with (stage, done, total); what it raises ends the run.

    Examples
    --------
    >>> import incrowd as ic, polars as pl
    >>> people = pl.DataFrame({"age": [30, 30, 41, 52], "sex": ["f", "f", "m", "f"]})
    >>> found = risk(people, ic.Schema(quasi=["age", "sex"]), sampling_fraction=0.5)
    >>> found.unique, round(found.prosecutor.average, 2), [round(v, 2) for v in found.contributions.values()]
    (2, 0.75, [0.67, 0.33])
    """
    _check(population, sampling_fraction, threshold, largest)
    report = progress or (lambda _stage, _done, _total: None)
    table = io.to_polars(frame)
    if not schema.quasi:
        fact = "The schema has no quasi-identifier"
        raise ParameterError(fact, 'name the columns by which somebody could be recognized: role = "quasi"')
    people = None if population is None else io.to_polars(population)
    report("counting", 0, 1)
    classes = Classes.of(table, schema, people)
    report("counting", 1, 1)
    fraction = sampling_fraction
    if classes.population_rows is not None:
        fraction = min(1.0, classes.n / classes.population_rows)
    spectrum = None if fraction is None else Spectrum.of(classes.sizes, fraction)
    told, chosen = ((), None) if spectrum is None else estimates(spectrum)
    most = min(largest, len(schema.quasi))
    return SampleRisk(
        rows=classes.n,
        left_out=table.height - classes.n,
        classes=len(classes.sizes),
        unique=int((classes.sizes == 1).sum()),
        threshold=threshold,
        prosecutor=Chances.of(1 / classes.sizes, classes.sizes, threshold),
        sample=None if fraction is None else _against(classes, fraction, threshold),
        estimates=told,
        chosen=chosen,
        intrusion=None if spectrum is None else _intrusion(spectrum),
        columns=tuple(schema.quasi),
        largest=most,
        _uniques=find_uniques(classes.codes(), most, report),
        _classes=classes,
    )


def _against(classes: Classes, fraction: float, threshold: float) -> Sample:
    """Return what holds against the population, if it is known, or by the fraction alone."""
    if classes.population is None or classes.population_rows is None:
        chances = Chances.of(expected_inverse(classes.sizes, fraction), classes.sizes, None)
        return Sample(fraction, round(classes.n / fraction), False, None, None, None, None, chances, chances.average)  # noqa: FBT003
    crowd = np.maximum(classes.population, classes.sizes)  # people who fit a row are at least those of the table
    chances = Chances.of(1 / crowd, classes.sizes, threshold)
    outside = int(classes.sizes[classes.population == 0].sum())
    both = int(((classes.sizes == 1) & (crowd == 1)).sum())
    share = classes.sizes / crowd
    nobody = int(crowd.sum()) < classes.population_rows  # some of the population have values that no row has
    presence = (0.0 if nobody else float(share.min()), float(share.max()))
    return Sample(
        fraction, classes.population_rows, known=True, outside=outside, uniques=both, k_map=int(crowd.min()),
        presence=presence, journalist=chances, marketer=chances.average,
    )  # fmt: skip


def _intrusion(spectrum: Spectrum) -> float | None:
    """Return the chance of a right link among unique ones (Skinner and Elliot 2002)."""
    ones, pairs, fraction = spectrum.of_size(1), spectrum.of_size(2), spectrum.fraction
    linked = fraction * ones + 2 * (1 - fraction) * pairs
    return fraction * ones / linked if linked else None


def _line(what: str, chances: Chances) -> str:
    at_risk = "" if chances.above is None else f"; {chances.above:.1%} of the rows are above {chances.threshold:g}"
    return f"{what}: highest {chances.highest:.3g}, mean {chances.average:.3g}{at_risk}"


def _check(population: object, fraction: float | None, threshold: float, largest: int) -> None:
    if population is not None and fraction is not None:
        fact = "Both a population and a sampling fraction were given"
        raise ParameterError(fact, "give the population alone: the fraction follows from it")
    for name, value in (("sampling_fraction", fraction), ("threshold", threshold)):
        if value is not None and (isinstance(value, bool) or not _is_share(value)):
            fact = f"{name} is {value!r}"
            raise ParameterError(fact, "use a number above 0, at most 1")
    if isinstance(largest, bool) or not isinstance(largest, int | np.integer) or largest < 1:
        fact = f"largest is {largest!r}"
        raise ParameterError(fact, "use a whole number, at least 1")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float | np.number) and bool(math.isfinite(value) and 0 < value <= 1)
