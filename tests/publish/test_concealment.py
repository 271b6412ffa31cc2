"""After all pairs that are in no perfect matching are dropped, everybody still has k rows."""

import json
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.core import check

SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill", other=["note"])


def drawn(rng, n):
    return pl.DataFrame(
        {
            "age": rng.integers(20, 40, n),
            "zip": rng.choice(["10055", "10023", "20165"], n),
            "ill": rng.permutation(np.resize(["a", "b", "c"], n)),
            "note": rng.integers(0, 9, n),
        }
    )


def levels(release, frame):
    """Rows that each person has in some assignment of everybody to a row, by brute force."""
    codes = release.encode(frame)[release.private.rows]
    fits = ((release.lo[:, None] <= codes) & (codes <= release.hi[:, None])).all(axis=2)  # [rows x people]
    n, seen = len(codes), np.zeros_like(fits)
    for order in permutations(range(n)):
        if all(fits[row, person] for person, row in enumerate(order)):
            seen[list(order), range(n)] = True
    return seen.sum(axis=0)


@pytest.mark.parametrize("seed", range(8))
def test_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 7)), 2 + seed % 2
    frame = drawn(rng, n)
    release = ic.NSVDist(k=k, concealment=True).publish(frame, SCHEMA, seed=1, domains="exact")
    assert levels(release, frame).min() >= k
    verdict = release.verify(frame)
    assert verdict.ok
    assert not verdict.unchecked
    assert k <= verdict.levels["concealment"] <= levels(release, frame).min()


@pytest.mark.parametrize("l", [1, 2])
def test_rings_conceal_by_themselves(l):
    frame = drawn(np.random.default_rng(2), 7)
    release = ic.NHAA(k=3, l=l, cluster=7).publish(frame, SCHEMA, seed=1, domains="exact")
    assert levels(release, frame).min() >= 3
    verdict = release.verify(frame)
    assert 3 <= verdict.levels["concealment"] <= levels(release, frame).min()
    assert not verdict.unchecked
    assert "k = 3 after matching" in release.manifest.promises
    silent = ic.NHAA(k=3, l=l, cluster=7, concealment=False).publish(frame, SCHEMA, seed=1, domains="exact")
    assert "after matching" not in silent.manifest.promises
    assert silent.frame.equals(release.frame)


def test_rings_that_conceal_less_than_is_promised_are_found(tmp_path):
    frame = drawn(np.random.default_rng(2), 24)
    release = ic.NHAA(k=3, cluster=12).publish(frame, SCHEMA, seed=1)
    told = release.manifest.to_dict()
    private = release.private.files(release.quasi)
    assert check(told, release.checked_tables(), original=frame, private=private).ok
    found = check(told, release.checked_tables(), original=frame)
    assert "concealment" in {each.name for each in found.checks if each.ok is None}
    for k in (4, 12):
        forged = json.loads(json.dumps(told))
        forged["method"]["parameters"]["k"] = forged["guarantees"][0]["k"] = forged["guarantees"][-1]["k"] = k
        verdict = check(forged, release.checked_tables(), original=frame, private=private)
        assert "concealment" in {each.name for each in verdict.checks if each.ok is False}
    narrow = private | {
        "rings": private["rings"].with_columns(width=pl.lit(2, pl.Int64).cast(private["rings"]["width"].dtype))
    }
    assert not check(told, release.checked_tables(), original=frame, private=narrow).ok


def test_without_it_the_level_is_lower():
    frame = drawn(np.random.default_rng(0), 7)
    release = ic.NSVDist(k=3, concealment=False).publish(frame, SCHEMA, seed=1, domains="exact")
    assert levels(release, frame).min() < 3


def test_matching_agrees_and_other_limits_hold():
    frame = drawn(np.random.default_rng(5), 90)
    release = ic.NSVDist(k=5, l=2, concealment=True).publish(frame, SCHEMA, seed=1)
    finding = ic.attack(release, frame, attacks=["matching"])["matching"]
    assert finding.numbers["concealment_level"] >= 5
    assert finding.numbers["people_per_row_min"] >= 5
    assert "k = 5 after matching" in release.manifest.promises
    assert release.verify(frame).ok
    assert release.loss("lm") >= ic.NSVDist(k=5, l=2, concealment=False).publish(frame, SCHEMA, seed=1).loss("lm")
    both = ic.Schema(quasi={"age": ic.Intervals()}, sensitive=["ill", "zip"], rest="drop")
    assert ic.NSVDist(k=5, concealment=True).publish(frame, both, seed=1).verify(frame).ok


def test_members_that_leave_somebody_fewer_rows_are_found():
    """A release of NSVDist as it is, said to be concealed."""
    frame = drawn(np.random.default_rng(0), 40)
    release = ic.NSVDist(k=4, concealment=False).publish(frame, SCHEMA, seed=1)
    told = release.manifest.to_dict()
    told["method"]["parameters"]["concealment"] = True
    told["guarantees"].append({"kind": "concealment", "k": 4})
    private = release.private.files(release.quasi)
    verdict = check(told, release.checked_tables(), original=frame, private=private)
    assert [each.name for each in verdict.checks if each.ok is False] == ["concealment"]
    told["guarantees"].pop()
    verdict = check(told, release.checked_tables(), original=frame, private=private)
    assert "nothing private" in {each.name for each in verdict.checks if each.ok is False}
    public = ic.NSVDist(k=4, concealment=True).publish(frame, SCHEMA, seed=1)
    found = check(public.manifest.to_dict(), public.checked_tables(), original=frame)
    assert "concealment" in {each.name for each in found.checks if each.ok is None}


def test_only_where_it_can_be_kept():
    for wrong in ({"mode": "paper"}, {"loss": "entropy"}, {"concealment": 2}):
        with pytest.raises(ic.ParameterError, match="concealment is"):
            ic.NHAA(k=3, concealment=2)
        with pytest.raises(ic.ParameterError, match="concealment is"):
            ic.NSVDist(**{"k": 3, "concealment": True} | wrong)


def test_default_where_columns_are_published_as_they_are():
    frame = drawn(np.random.default_rng(1), 20)
    assert "after matching" in ic.NSVDist(k=3).publish(frame, SCHEMA).manifest.promises
    plain = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", rest="drop")
    assert "after matching" not in ic.NSVDist(k=3).publish(frame, plain).manifest.promises
    assert "after matching" not in ic.NSVDist(k=3, concealment=False).publish(frame, SCHEMA).manifest.promises


def test_nhaa_conceals_without_a_sensitive_column(tmp_path):
    frame = pl.DataFrame({"age": [20 + i % 13 for i in range(40)], "note": [f"n{i % 7}" for i in range(40)]})
    release = ic.NHAA(k=4).publish(frame, ic.Schema(quasi={"age": ic.Intervals()}, other=["note"]), seed=1)
    assert "concealment" in {promise.kind for promise in release.manifest.guarantees}
    verdict = release.verify(frame)
    assert verdict.complete
    assert verdict.levels["concealment"] >= 4
