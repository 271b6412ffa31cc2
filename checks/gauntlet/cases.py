"""Random cases: a table, a schema, a method with constraints; all of it a function of a seed and a number."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

import incrowd as ic
from checks.gauntlet.columns import MAKERS, TOKENS, real_numbers, sensitive_values, with_gaps
from checks.gauntlet.ranges import more_ranges
from checks.gauntlet.several import Asking, more_secrets, with_trees
from incrowd.publish import PUBLISHERS

METHODS = (
    "best_cuts", "mondrian", "infogain_mondrian", "nsvdist", "iack", "iacc", "tree", "nhaa", "kactus", "tds", "tdr",
    "pais", "seqa", "tight_groups", "mdav", "lattice", "k_optimal", "iyengar", "bottom_up", "dmpd", "pareto_dmpd",
)  # fmt: skip
PROJECTIONS = ("dmpd", "pareto_dmpd")
_OWN: dict[str, tuple[dict[str, Any], ...]] = {
    "best_cuts": ({"runs": 1}, {"runs": 4}),
    "mondrian": ({"recoding": "single"}, {"strict": True}, {"strict": False}, {"cut": "loss"}),
    "tight_groups": ({"sweeps": 0}, {"sweeps": 1}),
    "mdav": ({}, {"class_weight": 2}),
    "lattice": ({"suppress": 1.0}, {"suppress": 0.1}, {"local": True}, {"loss": "entropy"}, {"loss": "dm"}),
    "iyengar": ({"rounds": 40, "population": 8}, {"rounds": 40, "population": 8, "points": 3}),
    "k_optimal": ({"looks": 10}, {"looks": 10, "points": 3}),
    "seqa": tuple({"passes": 3, "start": start} for start in ("mondrian", "single_mondrian", "random", "best")),
}
_ODD_NAMES = ("x,y", 'q"1', "ü", "a.b", "two words", "日", "x=y", "line\nbreak", "#1", "0", "row", "name")


@dataclass(frozen=True)
class Case:
    """One attempt to publish.

    Attributes
    ----------
    number
        Its number in the run of a seed.
    frame
        The original.
    schema, publisher, domains
        What is asked of incrowd.
    hierarchies
        Kind of hierarchy of each quasi-identifier, for the oracle to judge labels by.
    parameters
        What the method was given.
    copied
        Whether an *other* column was made of the sensitive one on purpose: then a refusal is right.
    as_arrow
        Whether the table comes as one of pyarrow.
    must
        The only error that is right, where several sensitive columns are more than the method can keep.
    """

    seed: str
    number: int
    frame: pl.DataFrame
    schema: ic.Schema
    publisher: Any
    domains: str
    hierarchies: dict[str, str]
    parameters: dict[str, Any] = field(default_factory=dict)
    copied: bool = False
    as_arrow: bool = False
    must: str | None = None

    def publish(self) -> Any:  # noqa: ANN401 - a release of either kind
        """Publish the table; what comes back was verified by incrowd."""
        frame = self.frame.to_arrow() if self.as_arrow else self.frame
        return self.publisher.publish(frame, self.schema, seed=self.number, domains=self.domains)

    @property
    def told(self) -> str:
        """Say in a line what is tried."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        rows, columns = self.frame.shape
        return f"{self.publisher.name}({settings}), {rows} rows, {columns} columns, {self.domains} domains"


def make_case(seed: str, number: int, *, method: str | None = None, plain: bool = False, several: bool = False) -> Case:
    """Return the case of this number.

    Parameters
    ----------
    several
        Always ask for two or three sensitive columns.
    method
        Instead of the one that the number says.
    plain
        A table that can surely be published: for planting violations, rows and values enough.
    """
    rng = random.Random(f"{seed}/{number}")
    name = method or METHODS[number % len(METHODS)]
    n = _rows(rng, name, plain=plain)
    n_quasi = rng.choice((1, 2, 3)) if plain else rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 8, 12))
    tokens = TOKENS if rng.random() < 0.3 else ()
    names = _names(rng, n_quasi + 5, plain=plain)
    quasi, other, gone, secret = names[:n_quasi], names[n_quasi : n_quasi + 2], names[n_quasi + 2 : -1], names[-1]
    columns: dict[str, pl.Series] = {}
    specs: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for column in quasi:
        columns[column], specs[column], kinds[column] = _quasi(rng, n, tokens, plain=plain)
    with_sensitive = plain or rng.random() < 0.9 or several
    other = other[: rng.choice((0, 0, 1, 2))]
    gone = gone[: rng.choice((0, 1, 2))]
    for column in (*other, *gone):
        kind = rng.choice(list(MAKERS))
        made = real_numbers(rng, n, infinite=rng.random() < 0.2) if kind == "float" else MAKERS[kind](rng, n)
        columns[column] = with_gaps(rng, made, ()) if rng.random() < 0.3 else made
    if with_sensitive:
        columns[secret] = sensitive_values(rng, n, tokens, plain=plain)
    copied = bool(with_sensitive and other and not plain and rng.random() < 0.03)
    if copied:
        columns[other[0]] = columns[secret].cast(pl.String())
    frame = pl.DataFrame([values.alias(column) for column, values in columns.items()])
    if rng.random() < 0.3:
        frame = frame.select(rng.sample(frame.columns, frame.width))
    if n > 3 and rng.random() < 0.3:  # duplicates
        frame = frame[[rng.randrange(max(1, n // 2)) for _ in range(n)]]
    target = rng.choice(other) if other and rng.random() < 0.2 else None
    schema = ic.Schema(
        quasi=specs,
        sensitive=secret if with_sensitive else None,
        other=other,
        identifiers=[] if (unlisted := rng.random() < 0.2) else gone,
        rest="drop" if unlisted else "error",
        target=target,
        missing=rng.choice(("value", "value", "drop")),
        missing_tokens=tokens,
        missing_codes=_codes(random.Random(f"{seed}/{number}/codes"), frame, quasi),
    )
    parameters = _parameters(rng, name, frame.height, sensitive=with_sensitive, plain=plain)
    domains = "exact" if rng.random() < 0.25 else "joined"
    as_arrow, asking = rng.random() < 0.1, Asking(frame, schema, parameters)
    if with_sensitive:
        draws = random.Random(f"{seed}/{number}/secrets")
        asking = more_secrets(draws, name, asking, tokens, plain=plain, always=several)
        if not copied:
            asking = replace(asking, schema=with_trees(asking))
            draws = random.Random(f"{seed}/{number}/ranges")
            asking = more_ranges(draws, asking, projections=name in PROJECTIONS, plain=plain)
    publisher = PUBLISHERS[name](**asking.parameters)
    return Case(
        seed, number, asking.frame, with_trees(asking), publisher, domains, kinds, asking.parameters, copied, as_arrow,
        asking.must,
    )  # fmt: skip


def _codes(rng: random.Random, frame: pl.DataFrame, quasi: list[str]) -> dict[str, list[str]]:
    """Return values that mean missing in one column, as text: some of those that occur, and one that does not."""
    found = {}
    for name in quasi:
        column = frame[name]
        if rng.random() < 0.85 or column.dtype == pl.Boolean:
            continue
        values = [
            v.date() if isinstance(v, dt.datetime) else v for v in column.drop_nulls().unique(maintain_order=True)
        ]
        texts = [str(v) for v in values if v not in (0, "") and str(v) == str(v).strip() and len(str(v)) < 40]
        found[name] = [*rng.sample(texts, min(len(texts), rng.choice((0, 1, 1, 2)))), "-9"]
    return {name: list(dict.fromkeys(texts)) for name, texts in found.items()}


def _rows(rng: random.Random, method: str, *, plain: bool) -> int:
    if plain:
        return rng.randint(24, 60)
    if method in PROJECTIONS:
        return rng.choice((1, 8, 20, 40, 60))
    if rng.random() < 0.1:
        return rng.choice((1, 2, 3))
    return 300 if method != "seqa" and rng.random() < 0.03 else rng.randint(4, 60)


def _names(rng: random.Random, n: int, *, plain: bool) -> list[str]:
    names = [f"c{place}" for place in range(n)]
    if plain:
        return names
    for place in range(n):
        if rng.random() < 0.1:
            new = rng.choice(_ODD_NAMES)
            names[place] = new if new not in names else names[place]
    return names


def _quasi(rng: random.Random, n: int, tokens: tuple[str, ...], *, plain: bool) -> tuple[pl.Series, Any, str]:
    """Return a quasi-identifier, its hierarchy, and the kind of that."""
    kind = rng.choice([name for name in MAKERS if not plain or name != "text numbers"])
    infinite = kind == "float" and not plain and rng.random() < 0.02
    column = real_numbers(rng, n, infinite=infinite) if kind == "float" else MAKERS[kind](rng, n)
    if rng.random() < 0.3:
        column = with_gaps(rng, column, tokens)
    choices: dict[str, tuple[str, ...]] = {
        "int": (
            "intervals",
            "intervals",
            "ends",
            "declared",
            "balanced",
            "bins",
            "frequency",
            "mdl",
            "none",
            "prefixes",
            "steps",
        ),
        "float": ("intervals", "intervals", "balanced", "bins", "frequency", "mdl", "none"),
        "str": ("none", "balanced", "frequency", "prefixes", "tree", "names", "intervals", "words", "common", "steps"),
        "date": ("intervals", "dates", "balanced", "none"),
        "bool": ("none", "balanced", "names"),
        "text numbers": ("intervals", "none", "prefixes"),
    }
    chosen = rng.choice(choices[kind])
    return column, _spec(rng, chosen, column, tokens), chosen


def _spec(rng: random.Random, chosen: str, column: pl.Series, tokens: tuple[str, ...]) -> Any:  # noqa: ANN401
    known = [v for v in column.to_list() if v is not None and v == v and v not in tokens]  # noqa: PLR0124 - NaN
    distinct = sorted(set(known))
    if chosen == "intervals" or not distinct:
        return ic.Intervals()
    if chosen == "ends":
        return ic.Intervals(low=min(distinct) - rng.randrange(3), high=max(distinct) + rng.randrange(3))
    if chosen == "declared":
        return ic.Intervals(distinct if abs(max(distinct)) > 10**12 else sorted({*distinct, max(distinct) + 5}))
    if chosen == "names":
        rng.shuffle(distinct)
        return ic.Intervals(distinct)
    if chosen == "tree":
        return _tree(rng, [*distinct, "never seen"])
    recipes = {
        "balanced": lambda: ic.balanced(rng.choice((2, 3, 5))),
        "bins": lambda: ic.bins(rng.choice((1, 5, 0.5, 1000))),
        "frequency": lambda: ic.frequency(rng.choice((2, 4))),
        "mdl": ic.mdl,
        "prefixes": lambda: ic.prefixes(rng.choice((1, 2))),
        "steps": lambda: ic.prefixes(rng.choice((1, 2)), branching=rng.choice((2, 3))),
        "words": lambda: ic.words(rng.choice(("start", "end")), branching=rng.choice((2, 3))),
        "common": lambda: ic.common(rng.choice((1, 2, 5)), branching=rng.choice((2, 3))),
        "dates": ic.dates,
        "none": lambda: None,
    }
    return recipes[chosen]()


def _tree(rng: random.Random, leaves: list[str]) -> ic.Taxonomy:
    """Return a random tree over these leaves, with names that nobody else has."""
    lower = [f"group {rng.randrange(1 + len(leaves) // 2)}" for _ in leaves]
    upper = {name: f"part {rng.randrange(2)}" for name in lower}
    uppers = [lower] if rng.random() < 0.4 else [lower, [upper[name] for name in lower]]
    return ic.Taxonomy(leaves, uppers)


def _parameters(rng: random.Random, method: str, n: int, *, sensitive: bool, plain: bool) -> dict[str, Any]:
    k = rng.choice((2, 3, 4, 5)) if plain else min(rng.choice((1, 2, 2, 2, 3, 3, 4, 5, 7, 10)), max(2, n // 2))
    if not plain and rng.random() < 0.08:
        k = rng.choice((max(1, n), n + 1))
    found: dict[str, Any] = {"k": k}
    asks = sensitive and rng.random() < (0.7 if plain else 0.5)
    l = rng.choice((1.1, 1.25, 1.3) if plain else (1.1, 1.2, 1.3, 1.5, 1.7, 2, 3))
    if method == "nsvdist":
        found["mode"] = rng.choice(("hardened", "hardened", "paper"))
        found["loss"] = rng.choice(("lm", "lm", "monotone_entropy", "entropy"))
        return found | ({"l": l} if asks else {})
    if method == "nhaa":
        return found | ({"l": 2} if asks else {})
    if method == "pais":
        found["L"] = rng.choice((None, 1, 2, 3))
        found["score"] = rng.choice(("infogain", "discernibility"))
        return found | (rng.choice(({"l": l}, {"C": 0.9})) if asks else {})
    if method in PROJECTIONS:
        found |= {"generations": 2, "population": 4, "folds": 2, "suppress": rng.choice((0.0, 0.1))}
        found |= {"inducer": "naive_bayes"} if rng.random() < 0.9 else {}
        return found | ({"l": l} if asks else {})
    if method == "iack" and not sensitive and rng.random() < 0.3:
        found["mode"] = "paper"
    if method == "iacc":
        found |= {"delta_c": rng.choice((0.3, None)), "delta_d": rng.choice((0.5, None))}
    if method in _OWN:
        found |= rng.choice(_OWN[method])
    if asks:
        found |= _diversity(rng, l, plain=plain)
    return found


def _diversity(rng: random.Random, l: float, *, plain: bool) -> dict[str, Any]:
    kind = rng.choice(("frequency", "distinct", "entropy", "recursive", "t", "tree", "alpha", "beta", "delta", "all"))
    if kind == "tree":
        return {"t": rng.choice((0.1, 0.3)), "tree": True}
    if kind == "beta":
        return {"beta": rng.choice((0.5, 1, 2.5)), "enhanced": rng.random() < 0.5}
    if kind == "delta":
        return {"delta": rng.choice((1, 1.5, 3))}
    if kind == "t":
        return {"t": rng.choice((0.1, 0.3, 0.5)), "ordered": not plain and rng.random() < 0.3}
    if kind == "alpha":
        return {"alpha": rng.choice((0.8, 0.9) if plain else (0.4, 0.6, 0.9))}
    if kind == "all":
        return {"l": l, "t": 0.6, "alpha": 0.95}
    if kind in ("distinct", "recursive"):
        return {"l": 2, "l_kind": kind} | ({"c": rng.choice((1.5, 3.0, 5.0))} if kind == "recursive" else {})
    return {"l": l, "l_kind": kind}
