"""Differencing: two releases, one of which has a person more; the difference of their counts reveals the person.

The adversary holds both releases and knows that one table has fewer than k people more than the other, and is the same
otherwise. Whatever both count exactly (values of exact domains, exact sensitive values, *other* columns, rows) he
subtracts. Of one person, rounded counts tell by likelihood: how much more often these roundings come about if the
person has the value than if not; several releases of the same tables are multiplied, so repeated roundings are
averaged. A value of a taxonomy that is listed in one release only is the person's: fewer than k have it otherwise.
Ranges of numbers and of ordered names are cut by chance, and tell nothing. Where rows form groups, the person is in one
that the other release lacks, or has in another size.

What comes out is a row about the person: for each quasi-identifier the values that remain, a sensitive value, *other*
columns. Compared with the promise: it must fit at least k people like any other row, and may not show with certainty
(more than the promised share, or 90 % where nothing is promised) a sensitive value or *other* columns. Exact sensitive
values cannot be hidden from somebody who subtracts: publish a table again only when at least k people came.

**Rounding again and again.** One pair of roundings changes the odds of a value by about 1 + 3 / k. They are drawn anew
for every release, so the mean of m releases of a table is right up to k / sqrt(6 m): about 5 k^2 releases of each
table undo the rounding. The ledger warns long before. (Were they drawn from the table alone, whoever knows all rows but
one could try out the last.)

Not tried: to repeat the method with and without each person, to compare ranges that are cut differently, and two or
more people by rounded counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable
from incrowd.attacks.finding import worst as most_at_risk
from incrowd.attacks.other_columns import hash_rows
from incrowd.attacks.published_counts import (
    OTHER,
    QUASI,
    SENSITIVE,
    Counts,
    collect,
    label_of_people,
    likelihood,
    shares,
)
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import Floats, Scene
from incrowd.errors import counted

_SURE = 0.9


@dataclass(frozen=True)
class Claim:
    """What is believed about one column of the person who makes the difference.

    Attributes
    ----------
    counts
        The column, in the release that has the person.
    belief
        In each label; the mean over the people, if there are several.
    prior
        The same without the difference.
    """

    counts: Counts
    belief: Floats
    prior: Floats

    @property
    def left(self) -> npt.NDArray[np.bool_]:
        """The labels that are possible, or, of one that is nearly certain, that one."""
        top = self.belief.argmax()
        return np.arange(len(self.belief)) == top if self.belief[top] > _SURE else self.belief > 0

    @property
    def sure(self) -> bool:
        """Whether one value is believed nearly for certain."""
        return bool(self.belief.max() > _SURE) and self.counts.is_one_value[int(self.belief.argmax())]

    @property
    def gained(self) -> bool:
        """Whether that is more than before."""
        top = self.belief.argmax()
        return self.sure and bool(self.prior[top] <= _SURE or self.prior[top] < self.belief[top] == 1)


@dataclass(frozen=True)
class Difference:
    """What two releases tell about the people who are in one of them only.

    Attributes
    ----------
    n_people
        How many there are.
    claims
        One per column that could be compared.
    fits
        Which people of the larger table fit what was learned about quasi-identifiers, as far as they are known here.
    gone
        Whether the people who make the difference are not in the table under attack.
    """

    n_people: int
    claims: tuple[Claim, ...]
    fits: npt.NDArray[np.bool_]
    gone: bool

    @property
    def crowd(self) -> int:
        """How many people fit what was learned, those who are gone among them."""
        return int(self.fits.sum()) + self.n_people * self.gone

    def learned(self, *roles: str) -> list[Claim]:
        """Return the columns of some roles of which a value was learned."""
        return [claim for claim in self.claims if claim.counts.role in roles and claim.gained]


def attack(given: Given) -> Finding:
    """Subtract what earlier releases count, and judge what that tells about the people who make the difference."""
    scene, name = given.scene, "differencing"
    if not given.earlier:
        return not_applicable(name, "no earlier release was given")
    found = differences(scene, given.earlier)
    if not found:
        sizes = ", ".join(str(other.release.n_rows - scene.release.n_rows) for other in given.earlier)
        why = f"rows more or fewer than in this release: {sizes}; nothing follows about fewer than {scene.k} people"
        return Finding(name, _knows(len(given.earlier)), "withstood", why)
    worst = max(found, key=lambda difference: (breaks(scene, difference), len(difference.learned(QUASI))))
    claims, broken = worst.claims, breaks(scene, worst)
    sure = [claim for claim in claims if claim.sure]
    n, quasi = len(claims), [claim for claim in claims if claim.counts.role == QUASI]
    values = worst.learned(SENSITIVE)
    success = Score("value of a column, believed with more than 90%",
                    float(sum(claim.belief.max() for claim in sure)), len(sure), n, "columns")  # fmt: skip
    baseline = Score("most frequent value of the column", float(sum(claim.prior.max() for claim in sure)), len(sure), n,
                     "columns")  # fmt: skip
    numbers = {
        "people_who_differ": worst.n_people,
        "columns": n,
        "columns_learned": len([claim for claim in claims if claim.gained]),
        "quasi": len(quasi),
        "quasi_learned": len(worst.learned(QUASI)),
        "sensitive_learned": len(values),
        "other_learned": len(worst.learned(OTHER)),
        "belief_max": float(max(claim.belief.max() for claim in claims)),
        "crowd": worst.crowd,
    }
    who = "the person who differs" if worst.n_people == 1 else f"the {worst.n_people} people who differ"
    why = f"about {who}, {len(worst.learned(QUASI))} of {len(quasi)} quasi-identifiers are learned"
    why += ", and the sensitive value" if values else ""
    why += ", and the other columns" if worst.learned(OTHER) else ""
    why += f"; what is learned fits {counted(worst.crowd, 'person', 'people')}, and the promise is {scene.k}"
    if (values or worst.learned(OTHER)) and worst.crowd >= scene.k:
        why += "; exact values can be subtracted: publish again only when at least k people were added"
    outcome: Outcome = "promise broken" if broken else "withstood"
    at_risk = worst.fits & (worst.crowd < scene.k) & (not worst.gone)
    return Finding(
        name, _knows(len(given.earlier)), outcome, why, success, baseline, numbers,
        most_at_risk(scene.rows, at_risk.astype(np.float64), at_risk), int(at_risk.sum()),
    )  # fmt: skip


def _knows(n_earlier: int) -> str:
    return f"{n_earlier + 1} releases, and that the tables differ by fewer than k people; nobody's quasi-identifiers"


def breaks(scene: Scene, difference: Difference) -> bool:
    """Tell whether a difference tells more than the release under attack promises."""
    bar = scene.limit if scene.limit < 1 else _SURE
    values = [claim for claim in difference.claims if claim.counts.role == SENSITIVE]
    certain = any(((claim.belief > bar) & (claim.prior <= bar)).any() for claim in values)
    return bool(difference.crowd < scene.k or certain or difference.learned(SENSITIVE, OTHER))


def differences(scene: Scene, earlier: Sequence[Scene]) -> list[Difference]:
    """Return what is told about fewer than k people by each earlier release that has so many more or less."""
    found, seen = [], set()
    for other in earlier:
        d = scene.release.n_rows - other.release.n_rows
        if not 0 < abs(d) < scene.k or d in seen:
            continue
        seen.add(d)
        ours = [s for s in (scene, *earlier) if s.release.n_rows == scene.release.n_rows]
        theirs = [s for s in earlier if s.release.n_rows == other.release.n_rows]
        difference = _difference(*((ours, theirs) if d > 0 else (theirs, ours)), abs(d), gone=d < 0)
        if difference is not None:
            found.append(difference)
    return found


def _difference(more: Sequence[Scene], less: Sequence[Scene], n_people: int, *, gone: bool) -> Difference | None:
    """Compare releases of a table with those of one that lacks some people; ``None`` if more than these differ."""
    tables = [[collect(scene) for scene in side] for side in (more, less)]
    claims = []
    for name, counts in tables[0][0].items():
        against = [table[name] for table in tables[1] if name in table]
        if not against:
            continue
        again = [table[name] for table in tables[0] if name in table and table[name].labels == counts.labels]
        belief = _subtract(counts, again, against, n_people)
        if belief is None:
            return None
        claims.append(Claim(counts, belief, shares(counts.counts)))
    if not claims:
        return None
    fits = _in_changed_groups(more[0], less[0])
    for claim in claims:
        if claim.counts.role == QUASI:
            label = label_of_people(more[0], claim.counts.name)
            fits &= np.append(claim.left, False)[label]  # the last one stands for a value that is not known
    return Difference(n_people, tuple(claims), fits, gone)


def _subtract(counts: Counts, again: Sequence[Counts], against: Sequence[Counts], n_people: int) -> Floats | None:
    """Return the belief in each label about the people who make the difference; ``None`` if it cannot be only them."""
    prior, other = shares(counts.counts), against[0]
    if counts.base == other.base == 1:
        gained = counts.counts - other.of(counts.labels)
        if (gained < 0).any() or gained.sum() != n_people or not set(other.labels) <= set(counts.labels):
            return None
        return np.asarray(gained / n_people)
    if n_people > 1:
        return prior
    changed = [label not in other.labels for label in counts.labels]
    by_labels = any(changed) and not counts.ordered  # neighbours are joined by chance
    weights = prior * changed if by_labels else prior.copy()
    same = [each for each in against if each.labels == other.labels]
    for place, label in enumerate(counts.labels):
        if not changed[place] and weights[place] > 0:
            with_person = [(int(each.counts[place]), each.base) for each in again]
            without = [(int(each.of([label])[0]), each.base) for each in same]
            stayed = likelihood(with_person, without, 0)
            ratio = likelihood(with_person, without, 1) / stayed if stayed > 0 else np.inf
            weights[place] *= ratio
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(np.float64)
    return weights / weights.sum() if weights.sum() > 0 else prior


def _in_changed_groups(more: Scene, less: Scene) -> npt.NDArray[np.bool_]:
    """Return who fits a group that the other release does not have, or has in another size; everybody if none is so."""
    everybody = np.ones(more.n_people, np.bool_)
    homogeneous = all(scene.release.manifest.homogeneous for scene in (more, less))
    if not homogeneous or more.pairs is None or more.release.quasi != less.release.quasi:
        return everybody
    sizes = []
    for scene in (more, less):
        cells = hash_rows(scene.release.labelled().select(scene.release.quasi))
        sizes.append(pl.DataFrame({"cell": cells, "box": scene.box_of}).group_by("cell").agg(
            pl.col("box").first(), size=pl.len()))  # fmt: skip
    changed = sizes[0].join(sizes[1], on=["cell", "size"], how="anti")["box"].to_numpy()
    return np.isin(more.point_of, more.pairs.points[np.isin(more.pairs.boxes, changed)]) if len(changed) else everybody
