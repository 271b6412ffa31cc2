"""What wide columns of codes and names may become."""

import random
import string

import polars as pl
import pytest

import incrowd as ic
from incrowd.schema.name_proposal import propose_for_names
from incrowd.schema.proposal import propose_hierarchy

HEADS = ["Nurse", "Clerk", "Cook", "Driver", "Guard", "Baker"]
PLACES = ["north", "south", "east", "west", "night", "day", "sea", "court", "school"]


JOBS = [f"{head}, {place}" for head in HEADS for place in PLACES]
TITLES = [f"{place} {head}" for head in HEADS for place in PLACES]


def icd(n=600, seed=0):
    rng = random.Random(seed)
    return [
        f"{rng.choice('ABCDEF')}{rng.randrange(8)}{rng.randrange(3)}" + rng.choice(["", ".0", ".9"]) for _ in range(n)
    ]


def strangers(n=200, seed=1):
    rng = random.Random(seed)
    return ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 9))).title() for _ in range(n)]


COLUMNS = {
    "icd": (icd(), "prefixes", "codes like those of diagnoses"),
    "postcodes": ([f"{a}{n} {m}AB" for a in ("SW", "N", "SE", "E", "W") for n in (1, 12) for m in range(1, 5)],
                  "prefixes", "codes"),
    "isco": ([str(n) for n in range(1111, 1999, 7)], "prefixes", "codes that share beginnings"),
    "jobs": (JOBS, "words", "first word with others (6 such words)"),
    "titles": (TITLES, "words", "last word with others (6 such words)"),
    "names": (strangers(), "by_class", "200 with fewer than 20 rows stand in alphabetical order"),
    "tokens": ([f"{random.Random(i).randrange(16**8):08x}" for i in range(300)], "by_class", "names"),
    "few": ([f"{head}, {place}" for head in HEADS[:3] for place in PLACES], "by_class", "27 distinct names"),
    "towns": ([f"town {n}" for n in range(90)], "by_class", "90 distinct names"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_proposals_for_names_and_their_reasons(name):
    values, kind, why = COLUMNS[name]
    found, reason = propose_hierarchy(pl.Series(name, values))
    assert found.to_dict()["kind"] == kind
    assert why in reason
    assert not [value for value in set(values) if len(value) > 3 and value in reason]


def test_the_end_at_which_more_names_agree():
    assert propose_for_names(pl.Series(JOBS))[0] == ic.words("start")
    assert propose_for_names(pl.Series(TITLES))[0] == ic.words("end")


def test_without_a_class_common_names_are_kept():
    values = [*strangers(), *["Anna"] * 30, *["Otto"] * 20]
    found, why = propose_hierarchy(pl.Series("name", values), has_class=False)
    assert found == ic.common()
    assert "2 are common and kept longest, rare ones are joined" in why
    assert propose_hierarchy(pl.Series("job", JOBS), has_class=False)[0] == ic.words()


@pytest.mark.parametrize(("name", "values", "is_code"), [
    ("isco", [2211, 2212, 3111], True), ("job_isco_code", [2211, 3111], True),
    ("isco", [2211, 221, 3111], False), ("pay", [2211, 2212, 3111], False), ("nace", [1, 2, 3], False),
])  # fmt: skip
def test_numbers_of_a_classification_are_codes(name, values, is_code):
    found, why = propose_hierarchy(pl.Series(name, values * 10))
    assert (found == ic.prefixes()) == is_code
    assert ("classification" in why) == is_code


def test_a_proposed_schema_for_wide_columns_publishes():
    rng = random.Random(5)
    frame = pl.DataFrame({
        "icd": rng.choices(icd(200), k=800), "job": rng.choices(JOBS, k=800), "ill": rng.choices(["yes", "no"], k=800),
    })  # fmt: skip
    schema = ic.Schema.propose(frame, sensitive="ill")
    assert [schema.attributes[name].hierarchy.kind for name in ("icd", "job")] == ["prefixes", "words"]
    release = ic.publish(frame, schema, k=5, seed=1)
    assert release.verify(frame).ok
    assert release.loss("lm") < 0.6
