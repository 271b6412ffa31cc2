"""Releases of a growing table: all of them together leave everybody k rows, and each value of theirs as likely."""

from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.errors import PrivacyWarning
from incrowd.publish import signatures
from incrowd.publish.signatures import found_buckets, plan_buckets
from incrowd.release import People

SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill", identifiers=["name"])
ILLS = ["flu", "ulcer", "cold", "gout", "mumps", "rash"]


def drawn(rng, names, n_values):
    names = list(names)
    ills = rng.permutation(np.resize(ILLS[:n_values], len(names)))
    zips = rng.choice(["10055", "10023", "20165"], len(names))
    return pl.DataFrame({"name": names, "age": rng.integers(20, 60, len(names)), "zip": zips, "ill": ills})


def next_month(rng, people, n_values, *, change=True):
    """Some leave, some come, some move; and some have another illness."""
    stay = people.filter(pl.Series(rng.random(people.height) > 0.2))
    age = np.where(rng.random(stay.height) < 0.3, rng.integers(20, 60, stay.height), stay["age"].to_numpy())
    ill = stay["ill"].to_list()
    if change:
        ill = [str(rng.choice(ILLS[:n_values])) if rng.random() < 0.15 else i for i in ill]
    taken = max(int(name) for name in people["name"]) + 1
    new = drawn(rng, [str(taken + i) for i in range(int(rng.integers(1, 4)))], n_values)
    return pl.concat([stay.with_columns(age=pl.Series(age), ill=pl.Series(ill)), new])


def possible(people, values, groups):
    """All assignments of values to people, by place, that fit the groups: who is in each, and what it shows."""
    place = {who: i for i, who in enumerate(people)}
    each = np.zeros((1, 0), np.int8)
    for i, person in enumerate(people):  # one after another, dropping what no further value can mend
        of_person = np.tile(np.arange(len(values), dtype=np.int8), len(each))
        each = np.column_stack([np.repeat(each, len(values), axis=0), of_person])
        before = place.get((person[0], person[1] - 1))
        if before is not None:  # it is told that the value has changed
            each = each[each[:, before] != each[:, i]]
        for who, shown in (group for group in groups if person in group[0]):
            own = each[:, [place[w] for w in who if place[w] <= i]]
            for v, value in enumerate(values):
                fits = (own == v).sum(axis=1) <= shown.count(value)  # the others are filler
                each, own = each[fits], own[fits]
    return each


def worlds(releases, tables):
    """Everything that may be true, by brute force, for somebody who knows even who is in which group.

    Yields, for people whose rows are linked, who is unknown and every possible assignment of values to them. Told is
    also when somebody's value has changed, and it is another one then; otherwise values are taken to stay, which is the
    most that can be concluded.
    """
    groups, period, last = [], {}, {}
    for release, table in zip(releases, tables, strict=True):
        names, ills = table["name"].to_list(), table["ill"].to_list()
        for name, ill in zip(names, ills, strict=True):
            if last.setdefault(name, ill) != ill:
                period[name], last[name] = period.get(name, 0) + 1, ill
        group, rows = release.private.evidence.group, release.private.rows
        shown = release.sensitive_values.gather(release.sensitive).to_list()
        for g in range(int(group.max()) + 1):
            at = np.flatnonzero(group == g)
            who = [(names[rows[i]], period.get(names[rows[i]], 0)) for i in at if rows[i] >= 0]
            groups.append((who, [shown[i] for i in at]))
    left = list(range(len(groups)))
    while left:  # groups that share people are about the same unknowns
        together = [left.pop(0)]
        names = {name for name, _ in groups[together[0]][0]}
        while more := [g for g in left if names & {name for name, _ in groups[g][0]}]:
            left = [g for g in left if g not in more]
            together += more
            names |= {name for g in more for name, _ in groups[g][0]}
        people = sorted({who for g in together for who in groups[g][0]})
        values = sorted({v for g in together for v in groups[g][1]})
        own = [groups[g] for g in together]
        yield people, values, possible(people, values, own), own


def worst(releases, tables):
    """The largest belief in anything, and the smallest number of rows that somebody may have, over all worlds."""
    belief, crowd = 0.0, 10**9
    for people, values, each, groups in worlds(releases, tables):
        assert len(each)
        for i, person in enumerate(people):
            counts = np.bincount(each[:, i], minlength=len(values))
            belief = max(belief, counts.max() / counts.sum())
            possible = {values[v] for v in np.flatnonzero(counts)}
            for who, shown in groups:
                if person in who:
                    crowd = min(crowd, sum(value in possible for value in shown))
    return belief, crowd


def series(rng, k, l, n_values, n_months=3, **given):
    n = 2 * n_values + int(rng.integers(0, 2))
    tables = [drawn(rng, map(str, range(n)), n_values)]
    releases = [ic.MInvariance(k=k, l=l).publish(tables[0], SCHEMA, seed=1)]
    for _ in range(n_months - 1):
        tables.append(next_month(rng, tables[-1], n_values, **given))
        releases.append(ic.republish(releases[-1], tables[-1], SCHEMA, seed=1))
    return releases, tables


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(12))
def test_every_world_that_fits_all_releases_leaves_k_rows_and_no_more_than_a_share_of_1_of_l(seed):
    rng = np.random.default_rng(seed)
    k, l, n_values = [(2, 2, 3), (3, 2, 4), (4, 2, 4), (3, 3, 4)][seed % 4]
    releases, tables = series(rng, k, l, n_values)
    belief, crowd = worst(releases, tables)
    assert belief <= 1 / l + 1e-9
    assert crowd >= k
    for release, table in zip(releases, tables, strict=True):
        assert release.verify(table).ok
        rows = release.manifest.rows
        assert rows.input == rows.suppressed + rows.released - rows.filler == table.height
        assert int((release.private.rows < 0).sum()) == rows.filler


def test_independent_releases_do_not():
    """The same tables, each published by itself: the oracle tells people's values."""
    beliefs = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        _, tables = series(rng, 2, 2, 3, change=False)
        fresh = [ic.MInvariance(k=2).publish(table, SCHEMA, seed=seed + i) for i, table in enumerate(tables[:1] * 3)]
        beliefs.append(worst(fresh, tables[:1] * 3)[0])
    assert max(beliefs) == 1


def test_everybody_who_stays_keeps_their_values():
    """The hospital of the paper: two months, five people leave and five come."""
    head = {"name": ["Bob", "Alice", "Andy", "David", "Gary", "Helen", "Jane", "Ken", "Linda", "Paul", "Steve"]}
    first = pl.DataFrame(
        head
        | {
            "age": [21, 22, 24, 23, 41, 36, 37, 40, 43, 52, 56],
            "zip": ["12000", "14000", "18000", "25000", "20000", "27000", "33000", "35000", "26000", "33000", "34000"],
            "ill": [ILLS[i] for i in (0, 1, 2, 3, 2, 3, 0, 2, 3, 0, 3)],
        }
    )
    gone = first.filter(pl.col("name").is_in(["Bob", "David", "Gary", "Jane", "Linda", "Steve"]))
    new = pl.DataFrame(
        {
            "name": ["Emily", "Mary", "Ray", "Tom", "Vince"],
            "age": [25, 46, 54, 60, 65],
            "zip": ["21000", "30000", "31000", "44000", "36000"],
            "ill": [ILLS[i] for i in (2, 3, 0, 3, 2)],
        }
    )
    second = pl.concat([gone, new])
    one = ic.MInvariance(k=2).publish(first, SCHEMA)
    two = ic.republish(one, second, SCHEMA)

    def shown(release, table):
        group = release.private.evidence.group
        values = release.sensitive_values.gather(release.sensitive).to_list()
        rows = release.private.rows
        of = {g: {values[i] for i in np.flatnonzero(group == g)} for g in set(group.tolist())}
        return {table["name"][int(rows[i])]: of[group[i]] for i in range(len(rows)) if rows[i] >= 0}

    before, after = shown(one, first), shown(two, second)
    assert set(after) == set(second["name"])
    assert all(after[name] == before[name] for name in gone["name"])
    assert all(len(values) >= 2 for values in after.values())


def test_somebody_with_a_new_value_gets_others_or_is_held_back():
    rng = np.random.default_rng(3)
    people = drawn(rng, map(str, range(40)), 4)
    one = ic.MInvariance(k=2).publish(people, SCHEMA)
    changed = people.with_columns(
        ill=pl.col("ill").replace_strict(dict(zip(ILLS[:4], ILLS[1:4] + ILLS[:1], strict=True)))
    )
    two = ic.republish(one, changed, SCHEMA)
    assert two.verify(changed).ok
    kept = two.private.evidence
    assert isinstance(kept, People)
    values = {
        n: set(kept.signatures.filter(pl.col("signature") == n)["value"]) for n in kept.signatures["signature"].unique()
    }
    given = kept.people.group_by("person", maintain_order=True).agg("signature")["signature"].to_list()
    assert any(len(own) > 1 for own in given)
    assert all(not values[a] & values[b] for own in given for a, b in pairwise(own))
    three = people.with_columns(ill=pl.when(pl.col("name") == "0").then(pl.lit("rash")).otherwise(pl.col("ill")))
    held = ic.republish(one, three, SCHEMA)
    assert held.manifest.rows.suppressed == 1
    assert held.manifest.rows.filler >= 1
    assert 0 not in held.private.rows
    assert held.verify(three).ok


def test_identifiers_that_are_written_in_another_way_are_noticed():
    people = drawn(np.random.default_rng(6), map(str, range(40)), 4)
    one = ic.MInvariance(k=2).publish(people, SCHEMA)
    padded = people.with_columns(name="0" + pl.col("name"))
    with pytest.raises(ic.IncompatibleError, match="Nobody in the table was"):
        ic.republish(one, padded, SCHEMA)
    with pytest.warns(PrivacyWarning, match="Of 40 people in the table 10 people had been"):
        ic.republish(one, pl.concat([people[:10], padded[10:]]), SCHEMA)


def test_too_few_people_beside_those_who_are_held_back():
    people = drawn(np.random.default_rng(7), map(str, range(6)), 2)
    one = ic.MInvariance(k=4).publish(people, SCHEMA)
    three = people[:4].with_columns(ill=pl.Series(["rash", *people["ill"][1:4]]))
    with pytest.raises(ic.InfeasibleError, match="1 person of 4 would be held back, and fewer than k = 4 are left"):
        ic.republish(one, three, SCHEMA)


def test_buckets_when_the_search_finds_nothing(monkeypatch):
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: SimpleNamespace(x=None))
    plans = plan_buckets({(0, 1): [3, 1], (1, 2): [0, 0]}, {(1, 2): 3}, [2, 2, 0], 2, 2)
    assert plans == {(0, 1): signatures.Plan(5, (2, 2)), (1, 2): signatures.Plan(2, (0, 0))}


def test_who_comes_back_has_the_values_of_before():
    rng = np.random.default_rng(4)
    people = drawn(rng, map(str, range(30)), 3)
    one = ic.MInvariance(k=2).publish(people, SCHEMA)
    two = ic.republish(one, people[5:], SCHEMA)
    three = ic.republish(two, people, SCHEMA)
    assert three.private.evidence.people.equals(one.private.evidence.people)
    assert three.manifest.series.number == 3


def test_as_little_filler_as_possible():
    here, new = {(0, 1): [3, 1], (1, 2): [2, 2], (0, 2): [1, 0]}, [1, 2, 1]
    plans = plan_buckets(here, {}, new, 2, 2)
    filler = sum(len(s) * plan.height for s, plan in plans.items()) - sum(map(sum, here.values())) - sum(new)
    pairs = [list(zip(here.values(), way, strict=True)) for way in ways(list(here), new)]
    best = min(sum(2 * max(c[0] + came[0], c[1] + came[1], 1) for c, came in way) for way in pairs)
    assert filler == best - sum(map(sum, here.values())) - sum(new) == 1


def ways(signatures, new):
    """All ways to share new people out among buckets of pairs."""
    places = [(b, p) for b in range(len(signatures)) for p in range(2)]
    for amounts in product(range(max(new) + 1), repeat=len(places)):
        sums = [0] * len(new)
        for (b, p), n in zip(places, amounts, strict=True):
            sums[signatures[b][p]] += n
        if sums == new:
            yield [[amounts[2 * b], amounts[2 * b + 1]] for b in range(len(signatures))]


@pytest.mark.parametrize("counts", [[5, 5, 5], [9, 4, 3, 2], [7, 7, 1], [1, 1, 1, 1, 1, 1], [6, 6]])
def test_new_buckets_hold_everybody(counts):
    for m, k in ((2, 2), (2, 5)):
        left = np.array(counts)
        for signature, height in found_buckets(np.array(counts), m, k):
            assert len(signature) >= m
            assert height * len(signature) >= k
            left[list(signature)] -= height
        assert (left <= 0).all()


def test_what_cannot_be_a_series_is_refused():
    rng = np.random.default_rng(5)
    people = drawn(rng, map(str, range(12)), 3)
    one = ic.MInvariance(k=2).publish(people, SCHEMA)
    with pytest.raises(ic.SchemaError, match="same in 2 rows"):
        ic.republish(one, people.with_columns(name=pl.lit("0")).head(3), SCHEMA)
    with pytest.raises(ic.IncompatibleError, match="made by 'mondrian'"):
        ic.republish(ic.Mondrian(k=2).publish(people, SCHEMA), people, SCHEMA)
    with pytest.raises(ic.IncompatibleError, match="as they are: 'age'"):
        ic.MInvariance(k=2).publish(people, ic.Schema(quasi={"zip": None}, sensitive="ill", other=["age"], rest="drop"))
    nameless = ic.Schema(quasi={"zip": None}, sensitive="ill", rest="drop")
    alone = ic.MInvariance(k=2).publish(people, nameless)
    assert alone.verify(people).ok
    with pytest.raises(ic.SchemaError, match="Nothing tells who was"):
        ic.republish(alone, people, nameless)
    with pytest.raises(ic.ParameterError, match="l is 1"):
        ic.MInvariance(k=2, l=1)
    numbers = people.with_columns(ill=pl.col("ill").rank("dense").cast(pl.Int64))
    with pytest.raises(ic.IncompatibleError, match="and was 'ill'"):
        ic.republish(one, numbers, SCHEMA)
