"""How well models tell, from a sample, how many people of a population are unique.

Populations are drawn as each model believes them to be, and taken from columns of Adult, where no model is right by
itself. Of each, samples are drawn again and again; a table shows the mean of estimate / truth, and the share of samples
in which a model said nothing. 1.00 is right; the chosen one is that of the rule of Dankar et al.

docs/results/uniqueness.txt is this program's output.
"""

import argparse

import numpy as np

from incrowd import datasets
from incrowd.risks.estimates import Spectrum, estimates

FRACTIONS = (0.01, 0.05, 0.1, 0.3, 0.6)
SETS = (
    ("age", "sex", "race", "education"),
    ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "occupation"),
    ("age", "hours-per-week", "occupation", "education", "relationship"),
)


def shifted_negative_binomial(rng):
    """Classes of 1 + a negative binomial number of people."""
    return 1 + rng.negative_binomial(0.5, 0.08, 20_000)


def poisson_inverse_gaussian(rng):
    """Classes of a Poisson number of people, with inverse Gaussian means."""
    sizes = rng.poisson(rng.wald(3.0, 0.6, 60_000))
    return sizes[sizes > 0]


def pitman(rng, alpha=0.6, theta=200.0, n=100_000):
    """Pitman's urn: who comes next is new, or of a class in proportion to its size less alpha."""
    sizes, owner = [1], np.empty(n, np.int64)
    owner[0] = 0
    draws = rng.random((n, 2))
    for i in range(1, n):
        if draws[i, 0] < (theta + alpha * len(sizes)) / (theta + i):
            owner[i] = len(sizes)
            sizes.append(1)
            continue
        at = owner[int(draws[i, 1] * i)]
        while rng.random() >= (sizes[at] - alpha) / sizes[at]:
            at = owner[rng.integers(i)]
        sizes[at] += 1
        owner[i] = at
    return np.array(sizes)


def adult(columns):
    """Classes of a real table, in an order that is the same in every run."""
    return datasets.load("adult").group_by(columns).len()["len"].sort().to_numpy()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5)
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(1)
    populations = {
        "shifted negative binomial": shifted_negative_binomial(rng),
        "Poisson-inverse Gaussian": poisson_inverse_gaussian(rng),
        "Pitman, alpha 0.6": pitman(rng),
    }
    populations |= {f"Adult by {len(columns)}: {', '.join(columns)}": adult(columns) for columns in SETS}
    for name, sizes in populations.items():
        unique, n = int((sizes == 1).sum()), int(sizes.sum())
        print(f"\n{name}: {n:,} people, {len(sizes):,} classes, {unique:,} unique ({unique / n:.2%})")
        print(f"{'fraction':>8}  {'zayatz':>14} {'pitman':>14} {'snb':>14} {'Poisson-IG':>14}  chosen")
        for fraction in FRACTIONS:
            ratios, chosen = {}, []
            for _ in range(given.samples):
                taken = rng.binomial(sizes, fraction)
                told, name_of = estimates(Spectrum.of(taken[taken > 0], fraction))
                values = {one.model: one.uniques for one in told}
                for model, value in values.items():
                    ratios.setdefault(model, []).append(np.nan if value is None else value / unique)
                chosen.append(np.nan if name_of is None else values[name_of] / unique)
            cells = [_cell(ratios[m]) for m in ("zayatz", "pitman", "snb", "poisson_inverse_gaussian")]
            print(f"{fraction:>8}  {' '.join(f'{cell:>14}' for cell in cells)}  {_cell(chosen)}")


def _cell(ratios):
    known = [ratio for ratio in ratios if not np.isnan(ratio)]
    lacking = f" ({1 - len(known) / len(ratios):.0%} none)" if len(known) < len(ratios) else ""
    return (f"{np.mean(known):.2f}" if known else "-") + lacking


if __name__ == "__main__":
    main()
