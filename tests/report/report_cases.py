"""Small releases of every kind, each made once."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic

PEOPLE = Path(__file__).parents[2] / "docs" / "people.csv"


@cache
def people():
    return ic.read(PEOPLE)


@cache
def schema():
    quasi = {"age": ic.Intervals(), "zip": ic.prefixes(), "sex": None, "job": ic.balanced(3)}
    return ic.Schema(quasi=quasi, sensitive="disease", identifiers=["name"])


@cache
def rows():
    return ic.BestCuts(k=4, l=1.5, runs=3).publish(people(), schema(), seed=1)


@cache
def shares():
    return ic.NSVDist(k=4, l=1.5).publish(people(), schema(), seed=1)


@cache
def projections():
    return ic.DMPD(k=2, generations=2).publish(people(), schema(), seed=1)


@cache
def not_sensitive():
    """A release without a sensitive column: the disease is published as it came."""
    roles = ic.Schema(
        quasi={"age": ic.Intervals(), "sex": None}, other=["disease"], identifiers=["name", "zip", "job"], target=None
    )
    return ic.Mondrian(k=4).publish(people(), roles, seed=1)


KINDS = {"rows": rows, "shares": shares, "projections": projections, "not_sensitive": not_sensitive}


@cache
def report(kind, *, original=True, for_owner=False, evaluate=False):
    return KINDS[kind]().report(people() if original else None, for_owner=for_owner, evaluate=evaluate)


def crowd(n=240, seed=3):
    """People whose illness depends on their age; identifiers that nobody else has."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ill = np.where(rng.random(n) < age / 120, "yes", "no")
    return pl.DataFrame(
        {
            "name": [f"person{i:04}" for i in range(n)],
            "age": age,
            "town": [f"town{t}" for t in rng.integers(0, 6, n)],
            "ill": ill,
        }
    )


def crowd_schema():
    return ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="ill", identifiers=["name"])
