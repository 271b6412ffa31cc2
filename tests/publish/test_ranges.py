"""Sensitive numbers that are published in ranges: in every method and engine, checked against the original."""

import json

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.schema.number_ranges import propose_ranges
from incrowd.verify.core import check
from incrowd.workflow.revising import revise

STARTS = [0, 2000, 4000, 6500]


def drawn(n=120, seed=0, dtype=pl.Int64):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "zip": rng.integers(10, 30, n),
            "salary": pl.Series(rng.integers(1000, 9000, n), dtype=dtype),
        }
    )


def schema(**given):
    quasi = {"age": ic.Intervals(), "zip": ic.Intervals()}
    own = {"sensitive": "salary", "identifiers": ["name"], "ranges": {"salary": STARTS}}
    return ic.Schema(quasi=quasi, **own | given)


def begins(values):
    return [max(start for start in STARTS if start <= value) for value in values]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
@pytest.mark.parametrize(
    "method", [ic.Mondrian(k=4, l=2), ic.Mondrian(k=4, t=0.3, ordered=True), ic.NHAA(k=4), ic.MInvariance(k=4)]
)
def test_each_number_is_the_beginning_of_its_range(method, dtype):
    frame = drawn(dtype=dtype)
    release = method.publish(frame, schema(), seed=1)
    at = release.private.rows
    shown = release.frame["salary"].filter(pl.Series(at >= 0)).to_list()
    assert shown == begins(frame["salary"].gather(at[at >= 0]).to_list())
    assert release.manifest.format == 6
    assert release.verify(frame).ok
    assert set(release.frame["salary"]) <= set(STARTS)


def test_one_share_for_each_range(tmp_path):
    frame = drawn()
    release = ic.NSVDist(k=4, l=2).publish(frame, schema(), seed=1)
    assert [name for name in release.frame.columns if name.startswith("salary")] == [f"salary={s}" for s in STARTS]
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out", original=frame).ok
    assert ic.Release.load(tmp_path / "out").manifest == release.manifest


def test_missing_numbers_stay_missing():
    frame = drawn().with_columns(salary=pl.when(pl.int_range(pl.len()) % 10 > 0).then("salary"))
    release = ic.Mondrian(k=4).publish(frame, schema(), seed=1)
    assert release.frame["salary"].null_count() == 12
    assert release.verify(frame).ok


def forged(release, frame, change):
    told = release.manifest.to_dict()
    change(told)
    private = release.private.files(release.quasi)
    return check(told, release.checked_tables(), original=frame, private=private)


def test_other_ranges_than_those_of_the_rows_are_found():
    frame = drawn()
    release = ic.Mondrian(k=4).publish(frame, schema(), seed=1)
    assert forged(release, frame, dict.copy).ok
    for starts in ([0, 2500, 4000, 6500], [2000, 4000, 6500], [0, 0], [0], ["0", "1"], [6500, 0], None):
        assert not forged(release, frame, lambda told, s=starts: told["sensitive"].update(ranges=s)).ok
    more = forged(release, frame, lambda told: told["sensitive"].update(ranges=[0, 1500, *STARTS[1:]]))
    assert not more.ok  # those with 1500 are published with 0
    for other in (2, 5):
        assert not forged(release, frame, lambda told, f=other: told.update(format=f)).ok
    plain = ic.Mondrian(k=4).publish(frame, schema(ranges=None), seed=1)
    assert not forged(plain, frame, lambda told: told["sensitive"].update(ranges=STARTS)).ok
    assert not forged(plain, frame, lambda told: told.update(format=6)).ok


@pytest.mark.parametrize("starts", [[0, 2000.0, 4000.0, 6500.0], [-0.0, 2000.0, 4000.0, 6500.0]])
def test_there_is_one_way_to_write_where_a_range_begins(starts):
    frame = drawn(dtype=pl.Float64)
    release = ic.Mondrian(k=4).publish(frame, schema(), seed=1)
    assert forged(release, frame, lambda told: told["sensitive"].update(ranges=[float(s) for s in STARTS])).ok
    assert not forged(release, frame, lambda told: told["sensitive"].update(ranges=starts)).ok


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Int16, pl.Float64])
@pytest.mark.parametrize("starts", [[-0.0, 2000.0, 4000], np.array([0, 2000, 4000]), [0, 2000, 4000, 10**12]])
def test_starts_are_numbers_of_the_columns_type(dtype, starts):
    frame = drawn(dtype=dtype)
    release = ic.Mondrian(k=4).publish(frame, schema(ranges={"salary": starts}), seed=1)
    kind = float if dtype == pl.Float64 else int
    assert [*map(repr, release.manifest.secrets[0].ranges)] == [repr(kind(s) + kind(0)) for s in starts]
    assert release.verify(frame).ok


def test_ranges_that_cannot_be_told_apart_are_refused():
    for dtype, starts in ((pl.Float64, [0, 2**53, 2**53 + 1]), (pl.Int64, [0, 10**20]), (pl.Int64, [0, 1e300])):
        with pytest.raises(ic.SchemaError, match="cannot be told apart"):
            ic.Mondrian(k=4).publish(drawn(dtype=dtype), schema(ranges={"salary": starts}))
    with pytest.raises(ic.SchemaError, match="increasing order"):
        schema(ranges={"salary": [0, 10**400]})


def test_attacks_and_evaluation_know_ranges():
    frame = drawn()
    release = ic.Mondrian(k=4, l=2).publish(frame, schema(), seed=1)
    assert ic.attack(release, frame, attacks=["linking"])["linking"].success is not None
    found = ic.evaluate(release, holdout=drawn(seed=1), original=frame, classifiers=["tree"], samples=1)
    assert found.frame.height


def test_a_series_goes_on_with_the_same_ranges():
    frame = drawn()
    first = ic.MInvariance(k=4).publish(frame, schema(), seed=1)
    assert ic.republish(first, frame[10:], schema()).verify(frame[10:]).ok
    with pytest.raises(ic.IncompatibleError, match="ranges of the sensitive column"):
        ic.republish(first, frame, schema(ranges={"salary": [0, 3000]}))


def test_refused():
    frame = drawn()
    with pytest.raises(ic.SchemaError, match=r"has \d+ values below its first range"):
        ic.Mondrian(k=4).publish(frame, schema(ranges={"salary": [4000, 6000]}))
    for wrong in ([1], [2, 1], ["a", "b"], [0, float("inf")], 5):
        with pytest.raises(ic.SchemaError, match="increasing order"):
            schema(ranges={"salary": wrong})
    with pytest.raises(ic.SchemaError, match="is not sensitive"):
        schema(ranges={"age": [0, 30]})
    with pytest.raises(ic.SchemaError, match="whole numbers"):
        ic.Mondrian(k=4).publish(frame, schema(ranges={"salary": [0, 2000.5]}))
    with pytest.raises(ic.SchemaError, match="of type str"):
        ic.Mondrian(k=4).publish(frame.with_columns(salary=pl.lit("a")), schema())
    with pytest.raises(ic.IncompatibleError, match="in ranges"):
        ic.DMPD(k=2).publish(frame, schema())


def test_toml(tmp_path):
    schema().to_toml(tmp_path / "s.toml")
    assert "ranges = [0, 2000, 4000, 6500]" in (tmp_path / "s.toml").read_text()
    assert ic.Schema.from_toml(tmp_path / "s.toml") == schema()


def test_revising_keeps_ranges_of_sensitive_columns_only():
    own = schema(target="salary")
    assert revise(own).attributes["salary"].ranges == tuple(STARTS)
    assert revise(own, roles={"salary": "other"}).attributes["salary"].ranges == ()


def test_init_proposes_ranges_of_equally_many_people(tmp_path):
    frame = drawn(500)
    ic.Schema.propose(frame, sensitive="salary").to_toml(tmp_path / "s.toml")
    (line,) = [line for line in (tmp_path / "s.toml").read_text().splitlines() if "ranges = [" in line]
    starts = json.loads(line[line.index("[") :])
    assert line.startswith("# ")
    assert starts[0] == 0
    counts = np.histogram(frame["salary"], [*starts, 9000])[0]
    assert len(counts) == 5
    assert counts.min() > 80
    assert propose_ranges(frame["salary"] - 5000)[0] == -10000
    assert propose_ranges(pl.Series([1, 2] * 50)) == []
    assert propose_ranges(pl.Series(["a"] * 50)) == []
    assert propose_ranges(pl.Series(np.linspace(0, 0.4, 50))) == []


def test_streamed_is_the_local_release(tmp_path):
    frame, method = drawn(dtype=pl.Float64), {"method": "mondrian", "k": 4, "seed": 1}
    ic.publish(frame, schema(), **method, engine="streamed", output=tmp_path / "out")
    release = ic.publish(frame, schema(), **method)
    assert ic.Release.load(tmp_path / "out").frame.equals(release.frame)
    assert ic.verify(tmp_path / "out", original=frame).ok
