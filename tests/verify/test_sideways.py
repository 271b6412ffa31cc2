"""Columns that tell what a release hides: copies, renamed and nearly so, in every method; and columns that do not."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify import check
from incrowd.verify.sideways import (
    _rising,
    copies,
    is_nearly_unique,
    log_choose,
    longest_rise,
    repeats_shuffled,
    reveals,
)

N = 300
RNG = np.random.default_rng(3)
TEXTS = pl.Series(RNG.choice(["flu", "gout", "none"], N))
BINARY = pl.Series(RNG.choice(["no", "yes"], N, p=[0.9, 0.1]))
AGES = pl.Series(RNG.integers(20, 60, N))
UNIQUE = pl.Series(RNG.permutation(N) * 1.5)
DAYS = pl.Series([date(2000, 1, 1) + timedelta(days=int(d)) for d in RNG.permutation(N)])


def renamed(column):
    names = {value: f"code {number}" for number, value in enumerate(column.unique(maintain_order=True))}
    return column.replace_strict(names, return_dtype=pl.String)


def noisy(column, share, seed=0):
    """Give some rows the value of another one."""
    rng = np.random.default_rng(seed)
    order = np.arange(len(column))
    changed = rng.choice(len(column), round(share * len(column)), replace=False)
    order[changed] = rng.permutation(changed)
    return column.gather(order)


def finer(column):
    """Each value by several names."""
    return column.cast(pl.String) + pl.Series([str(i % 3) for i in range(len(column))])


TOLD = {
    "a copy": (TEXTS, TEXTS),
    "a copy of two values": (BINARY, BINARY),
    "a copy of numbers as text": (AGES.cast(pl.String), AGES),
    "a copy of unique numbers": (UNIQUE, UNIQUE),
    "a copy of unique texts": (UNIQUE.cast(pl.String), UNIQUE.cast(pl.String)),
    "other names": (renamed(TEXTS), TEXTS),
    "other names of two values": (renamed(BINARY), BINARY),
    "other names of numbers": (renamed(AGES), AGES),
    "several names for a value": (finer(TEXTS), TEXTS),
    "nearly a copy": (noisy(TEXTS, 0.05), TEXTS),
    "nearly other names": (noisy(renamed(TEXTS), 0.05), TEXTS),
    "nearly a copy of unique texts": (noisy(UNIQUE.cast(pl.String), 0.04), UNIQUE.cast(pl.String)),
    "a number that rises with it": (UNIQUE * 7 + 1, UNIQUE),
    "a number that falls when it rises": (-UNIQUE, UNIQUE),
    "a number that nearly rises with it": (noisy(UNIQUE * 7, 0.03), UNIQUE),
    "a day that falls when a number rises": (DAYS, pl.Series(-DAYS.to_physical().to_numpy() / 3)),
    "a number that decides a text's place": (UNIQUE, (UNIQUE > 200).cast(pl.Int64)),
    "missing values": (renamed(TEXTS.replace("none", None)), TEXTS.replace("none", None)),
}

NOT_TOLD = {
    "nothing": (TEXTS.shuffle(seed=1), TEXTS),
    "nothing of unique numbers": (UNIQUE.shuffle(seed=1), UNIQUE),
    "texts of their own in every row": (UNIQUE.cast(pl.String), TEXTS),
    "a constant": (pl.Series(["x"] * N), TEXTS),
    "a constant secret": (TEXTS, pl.Series(["x"] * N)),
    "the most frequent value": (pl.Series(["no"] * N), BINARY),
    "too noisy a copy": (noisy(TEXTS, 0.15), TEXTS),
    "coarser": (TEXTS.replace({"gout": "flu"}), TEXTS),
    "few rows": (TEXTS.head(9), TEXTS.head(9)),
    "two values in few rows": (BINARY.head(15), BINARY.head(15)),
    "other names in few rows": (renamed(TEXTS).head(19), TEXTS.head(19)),
    "lists": (pl.Series([[1]] * N), TEXTS),
    "a secret of lists": (TEXTS, pl.Series([[1], [2]] * (N // 2))),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_column_tells(name):
    column, secret = TOLD[name]
    assert reveals(column, secret)


@pytest.mark.parametrize("name", NOT_TOLD)
def test_a_column_does_not_tell(name):
    column, secret = NOT_TOLD[name]
    assert not reveals(column, secret)


def test_large_tables_are_probed_first():
    n = 50_000
    rng = np.random.default_rng(0)
    secret = pl.Series(rng.integers(0, 50, n))
    assert reveals(noisy(renamed(secret), 0.04), secret)
    assert not reveals(noisy(renamed(secret), 0.08), secret)
    assert not reveals(pl.Series(rng.random(n)), secret)


def test_chance_does_not_tell():
    rng = np.random.default_rng(1)
    for n in (10, 12, 15, 20, 25, 40):
        for _ in range(200):
            a, b = (pl.Series(rng.integers(0, rng.integers(2, 5), n)) for _ in range(2))
            assert not reveals(a, b)


@pytest.mark.parametrize(
    ("column", "least"),
    [
        (lambda secret: secret, 24),
        (renamed, 26),
        (lambda secret: pl.Series(range(len(secret))), 24),
        (lambda secret: -pl.Series(range(len(secret))), 24),
    ],
)
def test_the_edge_of_chance(column, least):
    """Two values, equally often: the orders in which they can stand, less what it takes to write the rule down."""
    for n, told in ((least - 2, False), (least, True)):
        secret = pl.Series([0] * (n // 2) + [1] * (n // 2))
        assert reveals(column(secret), secret) is told


def test_the_edge_of_few():
    """One row in twenty may be wrong, and half of what the most frequent value gets wrong."""
    secret = pl.Series([i % 4 for i in range(400)])
    wrong = np.arange(0, 400, 4)
    for n_wrong, told in ((20, True), (21, False)):
        column = secret.clone().scatter(wrong[:n_wrong], 9)
        column = column.scatter(wrong[:n_wrong], [1] * n_wrong)
        assert reveals(column, secret) is told
    rare = pl.Series([1] * 20 + [0] * 380)
    for n_wrong, told in ((10, True), (11, False)):
        assert reveals(pl.Series([1] * (20 - n_wrong) + [0] * (380 + n_wrong)), rare) is told


def test_values_of_single_rows_are_no_rule():
    """What one row has alone, nobody could have learned from another row."""
    secret = pl.Series([i % 2 for i in range(200)])
    for n_single, told in ((10, True), (11, False)):
        column = pl.Series([f"x{i}" if i < n_single else f"y{i % 2}" for i in range(200)])
        assert reveals(column, secret) is told


def test_copies():
    for a, b in (
        (TEXTS, TEXTS),
        (renamed(TEXTS), TEXTS),
        (renamed(BINARY), BINARY),
        (-UNIQUE, UNIQUE),
        (UNIQUE, UNIQUE),
    ):
        assert copies(a, b)
        assert copies(b, a)
    for a, b in (
        (noisy(TEXTS, 0.02), TEXTS),
        (finer(TEXTS), TEXTS),
        (UNIQUE.shuffle(seed=1), UNIQUE),
        (UNIQUE.cast(pl.String), (UNIQUE + 1).cast(pl.String)),
        (TEXTS.head(9), TEXTS.head(9)),
        (renamed(TEXTS).head(19), TEXTS.head(19)),
        (BINARY.head(15), BINARY.head(15)),
        (pl.Series([[1], [2]] * 50), pl.Series([[1], [2]] * 50)),
        (TEXTS, pl.Series([[1], [2], [3]] * 100)),
        (noisy(UNIQUE, 0.02), UNIQUE * 2),
    ):
        assert not copies(a, b)
    assert copies(TEXTS.head(19), TEXTS.head(19))
    half = pl.Series([f"v{i % 20}" for i in range(40)])
    assert copies(renamed(half), half)
    more = pl.Series([f"v{i % 21}" for i in range(40)])
    assert not copies(renamed(more), more)
    twenty = pl.Series([f"v{i % 5}" for i in range(20)])
    assert copies(renamed(twenty), twenty)
    assert copies(pl.Series(range(10)), pl.Series(range(10)))


@pytest.mark.parametrize(
    ("numbers", "length"),
    [([], 0), ([3], 1), ([1, 2, 2, 3], 4), ([3, 2, 1], 1), ([1, 5, 2, 3, 4], 4), ([2, 2, 1, 1, 1], 3)],
)
def test_longest_rise(numbers, length):
    assert longest_rise(numbers) == length


@pytest.mark.parametrize(("n", "m"), [(5, 0), (5, 5), (10, 3), (40, 20)])
def test_ways_to_choose(n, m):
    assert log_choose(n, m) == pytest.approx(math.log(math.comb(n, m)), abs=1e-9)


def test_nearly_unique():
    assert is_nearly_unique(pl.Series(range(20)))
    assert not is_nearly_unique(pl.Series(range(19)))
    assert not is_nearly_unique(pl.Series([*range(18), 0, 1]))
    assert is_nearly_unique(pl.Series([*range(19), 0]))


def test_repeats_in_another_order():
    names = pl.Series([f"p{i}" for i in range(20)])
    assert repeats_shuffled(names.reverse(), names)
    assert repeats_shuffled(names.head(12), names)
    assert not repeats_shuffled(names.head(11).extend(pl.Series(["x"])), names)
    assert not repeats_shuffled(pl.Series(["p1"] * 20), names)
    assert not repeats_shuffled(names, pl.Series(["p1"] * 20))
    few = pl.Series(["a", "b", "b"])
    assert repeats_shuffled(few, few)
    assert not repeats_shuffled(few.head(1), few)
    assert not repeats_shuffled(few, pl.Series(["a", "b", "b", "b"]))
    assert not repeats_shuffled(pl.Series(["a", "b", "b", "b"]), few)


PEOPLE = pl.DataFrame({"age": AGES, "sex": RNG.choice(["m", "f"], N), "hours": RNG.integers(1, 60, N), "ill": TEXTS})
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", other=["hours"])
METHODS = {"hardened": ic.NSVDist(k=5), "mondrian": ic.Mondrian(k=5), "nhaa": ic.NHAA(k=5)}
OTHERS = {
    "a copy": lambda column: column,
    "other names": renamed,
    "nearly": lambda column: noisy(renamed(column), 0.04),
    "nothing": lambda column: noisy(renamed(column), 1.0, seed=8),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("secret", ["age", "ill"])
@pytest.mark.parametrize("method", METHODS)
def test_no_method_publishes_a_column_that_tells(method, secret, other):
    """Exact sensitive values stand in their rows anyhow, so that a copy of them tells nothing."""
    frame = PEOPLE.with_columns(hours=OTHERS[other](PEOPLE[secret]))
    if other == "nothing" or (secret == "ill" and method != "hardened"):
        assert METHODS[method].publish(frame, SCHEMA, seed=1).verify(frame).violations == []
        return
    with pytest.raises(ic.VerificationError) as refused:
        METHODS[method].publish(frame, SCHEMA, seed=1)
    assert f"other columns: column 'hours' reveals the originals of '{secret}'" in refused.value.violations


def test_a_quasi_identifier_that_is_shown_may_be_told():
    """Every sex is shown as it is: a copy of it tells nothing more."""
    frame = PEOPLE.with_columns(hours=PEOPLE["sex"], age=pl.lit(30))
    assert ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1).verify(frame).violations == []


def test_a_quasi_identifier_whose_rare_values_are_joined_is_hidden():
    sex = pl.Series([f"s{i}" for i in range(3)] + ["m", "f"] * 148 + ["m"])
    frame = PEOPLE.with_columns(sex=sex, hours=sex, age=pl.lit(30))
    with pytest.raises(ic.VerificationError, match="column 'hours' reveals the originals of 'sex'"):
        ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1)


def test_a_dropped_column_under_another_name():
    names = pl.Series([f"p{i}" for i in range(N)])
    frame = PEOPLE.with_columns(hours=names, name=names)
    schema = ic.Schema(quasi=["age", "sex"], sensitive="ill", other=["hours"], identifiers=["name"])
    with pytest.raises(ic.VerificationError, match="column 'hours' repeats the dropped column 'name'"):
        ic.Mondrian(k=5).publish(frame, schema, seed=1)


@pytest.mark.parametrize(
    ("values", "dropped", "with_rows", "said"),
    [
        ("text", True, False, "column 'hours' repeats the dropped column 'name'"),
        ("text", False, False, "column 'hours' repeats the unreleased column 'name'"),
        ("text", True, True, None),
        ("number", True, False, "column 'hours' repeats the dropped column 'name'"),
        ("number", False, False, None),
    ],
)
def test_a_hidden_column_in_another_order(values, dropped, with_rows, said):
    """Without a row map nobody knows the order: then a column of the same texts is the hidden one."""
    numbers = pl.Series(np.random.default_rng(6).permutation(N))
    codes = numbers.cast(pl.String) if values == "text" else numbers
    frame = PEOPLE.with_columns(hours=codes)
    release = ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1)
    original = frame.with_columns(name=codes.shuffle(seed=2))
    manifest = release.manifest.to_dict() | {"dropped": ["name"] if dropped else []}
    private = release.private.files(release.quasi) if with_rows else None
    verdict = check(manifest, release.coded_tables(), original=original, private=private)
    details = {c.name: c.detail for c in verdict.checks if c.ok is False}
    assert details.get("identifiers") == said


def test_a_column_that_cannot_be_compared():
    """Bytes are nobody's name."""
    frame = PEOPLE.with_columns(name=pl.lit(b"x"))
    release = ic.Mondrian(k=5).publish(PEOPLE, SCHEMA, seed=1)
    verdict = check(release.manifest.to_dict() | {"dropped": ["name"]}, release.coded_tables(), original=frame)
    assert "no column repeats one of 0 unreleased ones" in str(verdict)


def test_rules_are_looked_for_from_twenty_rows_on():
    for n, told in ((19, False), (20, True)):
        secret = pl.Series(range(n))
        assert reveals(secret * 3 + 1, secret) is told
        assert copies(secret * 3 + 1, secret) is told
        assert reveals(secret, secret)  # a copy is one, however short


@pytest.mark.parametrize("n_values", [1, 2])
def test_a_dropped_column_of_few_values_under_another_name(n_values):
    flag = pl.Series(RNG.integers(0, n_values, N))
    frame = PEOPLE.with_columns(hours=flag, name=flag)
    schema = ic.Schema(quasi=["age", "sex"], sensitive="ill", other=["hours"], identifiers=["name"])
    if n_values == 1:  # a constant says nothing about anybody
        assert ic.Mondrian(k=5).publish(frame, schema, seed=1).n_rows == N
        return
    with pytest.raises(ic.VerificationError, match="column 'hours' repeats the dropped column 'name'"):
        ic.Mondrian(k=5).publish(frame, schema, seed=1)


def test_a_missing_value_comes_before_all_others():
    rows, secret = pl.Series(range(60)), pl.Series([None] * 30 + [1] * 30)
    assert _rising(rows, secret) == _rising(-rows, secret, falling=True) == (0, 1)
    assert _rising(-rows, secret) == _rising(rows, secret, falling=True) == (30, 1)
    assert reveals(rows, secret)
    assert reveals(-rows, secret)


@pytest.mark.parametrize("n", [10, 19, 20, 60])
def test_names_that_are_all_different_are_copies_only_of_themselves(n):
    names = pl.Series([f"p{number}" for number in range(n)])
    assert copies(names, names)
    assert not copies(names, names.reverse())
