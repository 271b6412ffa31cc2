"""ParetoDMPD: the frontier of a table, the point that is picked, and its release."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.manifest import Guarantee
from incrowd.publish.decomposition.feature_partition import Features
from incrowd.publish.decomposition.feature_search import partition_of
from incrowd.release.seal import secret_rng

SMALL = {"generations": 12, "population": 12}


def people(n=400, seed=3):
    rng = np.random.default_rng(seed)
    job, town, age = rng.choice(list("abcd"), n), rng.choice(list("xyz"), n), rng.integers(20, 70, n)
    hobby = rng.choice(["chess", "golf"], n)
    risk = (job == "a") ^ (town == "x") | (age > 60)
    luck = rng.random(n) < 0.1
    return pl.DataFrame(
        {"job": job, "town": town, "age": age, "hobby": hobby, "risk": np.where(risk ^ luck, "high", "low")}
    )


FRAME = people()
SCHEMA = ic.Schema(quasi=["job", "town", "age"], other=["hobby"], sensitive="risk")


@pytest.fixture(scope="module")
def frontier():
    return ic.ParetoDMPD(k=1, **SMALL).frontier(FRAME, SCHEMA, runs=2, seed=1)


def every_partition(n):
    found = {()}
    for m in range(n):
        longer = {partition_of([*parts, [m]]) for parts in found}
        longer |= {
            partition_of([*parts[:i], [*parts[i], m], *parts[i + 1 :]]) for parts in found for i in range(len(parts))
        }
        found |= longer
    return found


def test_with_few_columns_it_is_the_frontier_of_all_partitions():
    """What seed 1 draws for the folds is drawn here, too."""
    features = Features.of(FRAME, SCHEMA)
    fitness = features.fitness(seed=int(secret_rng(1, FRAME).integers(2**32)))
    points = {
        (fitness(parts), min(features.limits.of_partition(parts), FRAME.height))
        for parts in every_partition(features.n_features)
    }
    best = {p for p in points if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)}
    found = ic.ParetoDMPD(k=1, generations=25, population=16).frontier(FRAME, SCHEMA, seed=1)
    assert set(found.frame.select("accuracy", "level").rows()) == best
    assert len(best) > 3


def test_levels_are_those_of_the_parts(frontier):
    limits = Features.of(FRAME, SCHEMA).limits
    names = Features.of(FRAME, SCHEMA).frame.columns
    for row in frontier.points.iter_rows(named=True):
        parts = [[names.index(name) for name in part] for part in row["parts"]]
        assert row["partial"] == (limits.partial(parts) if parts else None)
        assert row["set"] == (limits.joined(parts) if len(parts) > 1 else None)
    assert frontier.n_runs == 2
    assert frontier.frame["level"].max() == frontier.n_rows == FRAME.height
    assert frontier.majority == pytest.approx(FRAME["risk"].value_counts()["count"].max() / FRAME.height, abs=0.005)
    assert frontier.majority < frontier.original < 1


def test_k_is_where_it_begins(frontier):
    k = frontier.frame["level"][1]
    higher = ic.ParetoDMPD(k=k, **SMALL).frontier(FRAME, SCHEMA, seed=1)
    assert higher.frame["level"].min() >= k
    assert frontier.frame["level"].min() < k


def test_diversity_holds_on_the_whole_frontier():
    method = ic.ParetoDMPD(k=2, l=1.2, **SMALL)
    found = method.frontier(FRAME, SCHEMA, seed=1)
    features = Features.of(FRAME, SCHEMA)
    for row in found.frame.iter_rows(named=True):
        parts = partition_of([features.frame.columns.index(name) for name in part] for part in row["parts"])
        assert features.limits.keep_apart(parts, 2, 1.2)
    assert found.frame.height > 1
    most = ic.ParetoDMPD(k=2, **SMALL).frontier(FRAME, SCHEMA, seed=1).frame["accuracy"].max()
    assert found.frame["accuracy"].max() < most  # it costs something


@pytest.mark.parametrize("wish", [{"k": 20}, {"accuracy": 0.7}, {"k": 400}])
def test_the_point_that_is_picked_is_released_with_its_level(frontier, wish):
    point = frontier.pick(**wish)
    before = FRAME.clone()
    release = ic.ParetoDMPD(k=1).release(FRAME, SCHEMA, point, seed=2)
    assert FRAME.equals(before)
    shown = [part for part in release.parts if part]
    quasi = [name for part in shown for name in part if name != "hobby"]
    assert shown == [list(part) for part in point.parts]
    assert release.verify(FRAME).ok
    assert release.manifest.guarantees[0] == Guarantee("k", k=point.level)
    if quasi:
        assert release.verify(FRAME).levels["k"] == point.level


def test_a_release_by_names():
    release = ic.ParetoDMPD(k=5).release(FRAME, SCHEMA, [["town", "hobby"], ["job"]])
    assert sorted(map(sorted, release.parts)) == [["hobby", "town"], ["job"]]
    with pytest.raises(ic.InfeasibleError, match="has level") as refused:
        ic.ParetoDMPD(k=60).release(FRAME, SCHEMA, [["town", "job"]])
    assert 1 < refused.value.best["k"] < 60
    with pytest.raises(ic.ParameterError, match="column 'income'"):
        ic.ParetoDMPD(k=5).release(FRAME, SCHEMA, [["income"]])
    with pytest.raises(ic.ParameterError, match="A feature is in two parts"):
        ic.ParetoDMPD(k=5).release(FRAME, SCHEMA, [["job"], ["job"]])


def test_publish_releases_the_most_accurate_point_of_level_k():
    method = ic.ParetoDMPD(k=20, **SMALL)
    release = method.publish(FRAME, SCHEMA, seed=5)
    best = method.frontier(FRAME, SCHEMA, seed=5).pick(k=20)
    assert release.parts == [list(part) for part in best.parts]
    assert release.levels["accuracy"] == best.accuracy
    assert release.manifest.method.name == "pareto_dmpd"
    assert release.manifest.guarantees[0] == Guarantee("k", k=20)
    assert release.verify(FRAME).levels["k"] >= 20


def test_same_seed_same_frontier_and_other_frames_too(frontier):
    again = ic.ParetoDMPD(k=1, **SMALL).frontier(FRAME.to_pandas(), SCHEMA, runs=2, seed=1)
    assert again.points.equals(frontier.points)
    assert (again.majority, again.original) == (frontier.majority, frontier.original)
    one = ic.ParetoDMPD(k=1, **SMALL).frontier(FRAME, SCHEMA, seed=1)
    assert one.points.equals(frontier.points.filter(run=0))


def test_progress_counts_all_runs():
    told = []
    method = ic.ParetoDMPD(k=1, generations=2, population=4)
    method.frontier(FRAME, SCHEMA, runs=2, seed=1, progress=lambda *now: told.append(now))
    generations = [(done, total) for stage, done, total in told if stage == "generations"]
    assert generations[0] == (0, 4)
    assert generations[-1] == (4, 4)
    assert generations == sorted(generations)


def test_interrupted_it_tells_what_was_found():
    def interrupt(stage, done, _total):
        if stage == "generations" and done == 3:
            raise KeyboardInterrupt

    found = ic.ParetoDMPD(k=1, **SMALL).frontier(FRAME, SCHEMA, runs=5, seed=1, progress=interrupt)
    assert found.n_runs == 1
    assert found.frame.height > 1


def test_time_and_patience_end_a_search():
    quick = ic.ParetoDMPD(k=20, generations=10**6, seconds=0).publish(FRAME, SCHEMA, seed=1)
    assert quick.levels["partitions"] == 1
    patient = ic.ParetoDMPD(k=20, generations=10**6, population=10, patience=5).publish(FRAME, SCHEMA, seed=1)
    assert 5 <= patient.levels["generations"] < 1000
    endless = ic.ParetoDMPD(k=20, generations=10**6, population=10, patience=60).publish(FRAME, SCHEMA, seed=1)
    assert endless.levels["generations"] >= 60  # long after the last partition there is was tried
    assert patient.levels["accuracy"] > patient.levels["accuracy_of_class_alone"]


def test_nothing_to_choose_from():
    frame = pl.DataFrame({"a": ["x"] * 6, "s": ["u", "v", "u", "u", "u", "v"]})
    schema = ic.Schema(quasi=["a"], sensitive="s")
    found = ic.ParetoDMPD(k=2).frontier(frame, schema)
    assert found.frame.rows() == [([], 4 / 6, 6, None, None)]
    assert ic.ParetoDMPD(k=2).release(frame, schema, found.pick(k=6)).is_empty


def test_clear_errors():
    with pytest.raises(ic.ParameterError, match="archive is 1"):
        ic.ParetoDMPD(k=2, archive=1)
    with pytest.raises(ic.ParameterError, match="runs is 0"):
        ic.ParetoDMPD(k=2).frontier(FRAME, SCHEMA, runs=0)
    with pytest.raises(ic.InfeasibleError, match="k"):
        ic.ParetoDMPD(k=FRAME.height + 1).frontier(FRAME, SCHEMA)
    with pytest.raises(ic.ParameterError, match="The partition is"):
        ic.ParetoDMPD(k=2).release(FRAME, SCHEMA, ["job"])
