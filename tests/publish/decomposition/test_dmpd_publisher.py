"""DMPD: what it publishes, what it leaves out, and what it refuses."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import incrowd as ic
from incrowd.manifest import Method, RowCounts
from incrowd.privacy import Privacy
from incrowd.publish.decomposition import feature_partition
from incrowd.publish.decomposition.feature_partition import Features, suppressed
from incrowd.release.intervals import in_intervals
from incrowd.release.seal import secret_rng
from strategies import tables

QUICK = {"generations": 3, "population": 8}


def people(n=120, seed=5):
    """Risk follows job and town together; zip tells everybody apart, hours is nobody's business."""
    rng = np.random.default_rng(seed)
    job, town = rng.choice(list("abc"), n), rng.choice(list("xy"), n)
    risk = np.where((job == "a") ^ (town == "x") ^ (rng.random(n) < 0.1), "high", "low")
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "job": job,
            "town": town,
            "age": rng.integers(20, 60, n),
            "zip": [str(10_000 + i) for i in range(n)],
            "hours": rng.integers(1, 50, n),
            "risk": risk,
        }
    )


SCHEMA = ic.Schema(quasi=["job", "town", "age", "zip"], sensitive="risk", identifiers=["name"], other=["hours"])


def smallest(release, quasi=None):
    """Partial and set level by brute force: rows counted, projections really joined row by row."""
    quasi, target = set(release.quasi if quasi is None else quasi), release.target
    known = [[name for name in part if name in quasi] for part in release.parts]
    frames = list(release.projections)
    partial = min(
        frame.group_by(names).len()["len"].min() if names else frame.height
        for frame, names in zip(frames, known, strict=True)
    )
    joins = []
    for (a, p), (b, r) in itertools.combinations(zip(frames, known, strict=True), 2):
        join = a.select(*p, target).join(b.select(*r, target), on=target, nulls_equal=True)
        joins.append(join.group_by(*p, *r, target).len()["len"].min())
    return partial, min(joins, default=None)


@given(tables(min_rows=2), st.integers(1, 4), st.sampled_from([0.0, 0.5]), st.integers(0, 3))
def test_levels_are_those_of_a_real_join(drawn, k, suppress, seed):
    try:
        release = ic.DMPD(k=k, suppress=suppress, **QUICK).publish(drawn.frame, drawn.schema, seed=seed)
    except ic.InfeasibleError:
        reject()  # too many of these fail the test
    partial, joined = smallest(release)
    assert (release.levels["k_partial"], release.levels["k_set"]) == (partial, joined)
    assert partial >= k
    assert joined is None or joined >= k


def test_it_finds_the_columns_that_tell_the_class():
    frame = people()
    release = ic.DMPD(k=10, generations=10, population=20).publish(frame, SCHEMA, seed=1)
    assert ["job", "town"] in [sorted(set(part) & {"job", "town"}) for part in release.parts]
    assert release.levels["accuracy"] > release.levels["accuracy_of_class_alone"] + 0.2
    assert "zip" in release.manifest.left_out
    assert release.manifest.dropped == ("name",)
    for projection in release.projections:
        assert projection.columns[-1] == "risk"
        assert projection["risk"].value_counts().sort("risk").equals(frame["risk"].value_counts().sort("risk"))


def released(parts, seed, frame=None, schema=SCHEMA, k=5):
    """A release of this very partition."""
    original = people() if frame is None else frame
    rng = secret_rng(seed, original)
    about = {"method": Method("by_hand", {}), "privacy": Privacy.of(k), "seed": seed, "kind": "polars"}
    return Features.of(original, schema, k=k).release(original, parts, rng=rng, **about)


def test_projections_are_shuffled_by_themselves():
    one, other = released(((0,), (1,)), seed=1).private.row_maps
    assert sorted(one) == sorted(other) == list(range(120))
    assert (one == other).mean() < 0.2
    assert (one == np.arange(120)).mean() < 0.2
    again = released(((0,), (1,)), seed=1).private.row_maps
    assert np.array_equal(one, again[0])
    assert np.array_equal(other, again[1])
    assert not np.array_equal(one, released(((0,), (1,)), seed=None).private.row_maps[0])


def test_the_order_of_a_projection_is_that_of_its_rows_and_tells_nothing_else():
    release = released(((0,), (1,)), seed=1)
    for projection, rows in zip(release.projections, release.private.row_maps, strict=True):
        assert projection.equals(projection.sort(projection.columns, nulls_last=False))
        assert projection.equals(people().select(projection.columns)[rows])


def test_a_seed_that_is_guessed_does_not_tell_whose_row_is_whose():
    """The order of equal rows in what the owner keeps needs every cell of the original."""
    release = released(((0,), (1,)), seed=42)
    changed = people().with_columns(hours=pl.when(pl.col("name") == "person 7").then(99).otherwise("hours"))
    again = released(((0,), (1,)), seed=42, frame=changed)  # hours is not even published
    assert (again.private.row_maps[0] == release.private.row_maps[0]).mean() < 0.2


def test_columns_that_tell_everybody_apart_are_named():
    frame = people().with_columns(hours=pl.int_range(120))
    names = Features.of(frame, SCHEMA, k=5).frame.columns
    release = released(((names.index("job"),), (names.index("hours"),)), seed=None, frame=frame)
    assert "nearly unique, so be sure that nobody knows them: 'hours'" in str(release.verify())


def test_the_seed_decides_and_is_not_told():
    frame = people()
    one, other = (ic.DMPD(k=10, **QUICK).publish(frame, SCHEMA, seed=4711) for _ in range(2))
    assert one.manifest == other.manifest
    assert all(a.equals(b) for a, b in zip(one.projections, other.projections, strict=True))
    assert "4711" not in str(one.manifest)
    assert one.private.seed == 4711
    assert "4711" not in repr(one.private)


def test_numbers_are_cut_and_others_are_not():
    n = 200
    age = np.arange(n) % 50 + 20
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"age": age, "hours": rng.integers(0, 9, n), "old": np.where((age > 44) ^ (rng.random(n) < 0.05), "y", "n")}
    )
    schema = ic.Schema(quasi={"age": ic.Intervals()}, other=["hours"], sensitive="old")
    release = ic.DMPD(k=20, **QUICK).publish(frame, schema, seed=0)
    assert release.quasi == ["age"]
    (age_column,) = [column for column in release.manifest.columns if column.name == "age"]
    assert age_column.cuts == (44.5,)  # more intervals are not fitter
    (shown,) = [projection["age"] for projection in release.projections if "age" in projection.columns]
    assert set(shown) == {"(-inf-44.5]", "(44.5-inf)"}
    predicted = release.classifier().predict(pl.DataFrame({"hours": [3, 3], "age": [21, 68], "unused": ["a", "b"]}))
    assert predicted.tolist() == ["n", "y"]


def test_numbers_that_mdl_leaves_whole_are_cut_if_that_is_fitter():
    rng = np.random.default_rng(3)
    age = np.arange(60) + 20
    frame = pl.DataFrame({"age": age, "old": np.where(rng.random(60) < 0.3 + (age > 50) * 0.35, "y", "n")})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="old")
    few, many = (Features.of(frame, schema, k=10, fine=fine) for fine in (False, True))
    assert few.is_pointless
    assert [column.name for column in many.columns] == ["age"]
    release = ic.DMPD(k=10, **QUICK).publish(frame, schema, seed=0)
    assert release.parts == [["age"]]
    assert release.levels["accuracy"] > release.levels["accuracy_of_class_alone"]
    assert set(release.projections[0]["age"]) == set(in_intervals(frame["age"], many.columns[0].cuts))
    assert release.projections[0]["age"].value_counts()["count"].min() >= 10


@given(tables(min_rows=4, missing=False), st.integers(1, 4), st.sampled_from([1, 1.2, 1.5]), st.integers(0, 3))
def test_shares_in_every_group_stay_below_one_in_l(drawn, k, l, seed):
    try:
        release = ic.DMPD(k=k, l=l, **QUICK).publish(drawn.frame, drawn.schema, seed=seed)
    except ic.InfeasibleError:
        reject()  # too many of these fail the test
    for part, projection in zip(release.parts, release.projections, strict=True):
        names = [name for name in part if name in release.quasi]
        groups = projection.partition_by(names) if names else [projection]
        for group in groups:
            top = group["class"].value_counts()["count"].max()
            assert Fraction(top, group.height) * Fraction(str(l)) <= 1


def test_each_set_of_quasi_identifiers_holds_by_itself():
    frame = people()
    together = ic.DMPD(k=15, generations=10, population=20).publish(frame, SCHEMA, seed=1)
    sets = [["job", "zip"], ["town", "age"]]
    apart = ic.DMPD(k=15, generations=10, population=20, quasi_sets=sets).publish(frame, SCHEMA, seed=1)
    assert smallest(together)[0] >= 15
    levels = [smallest(apart, known) for known in sets]
    assert min(partial for partial, _ in levels) >= 15
    assert all(joined is None or joined >= 15 for _, joined in levels)
    assert apart.manifest.quasi_sets == tuple(map(tuple, sets))
    assert apart.levels["accuracy"] >= together.levels["accuracy"] - 0.05


def test_sets_of_quasi_identifiers_are_checked():
    with pytest.raises(ic.SchemaError, match="'hours', which is not a quasi-identifier"):
        ic.DMPD(k=2, quasi_sets=[["job", "town", "age", "zip", "hours"]], **QUICK).publish(people(), SCHEMA)
    with pytest.raises(ic.SchemaError, match="'zip' is in none"):
        ic.DMPD(k=2, quasi_sets=[["job", "town"], ["age"]], **QUICK).publish(people(), SCHEMA)
    with pytest.raises(ic.ParameterError, match="quasi_sets"):
        ic.DMPD(k=2, quasi_sets=["job", "town"])


CLASSES = np.array([0, 0, 1, 1, 0, 1, 0, 1, 0, 1], np.int32)


@pytest.mark.parametrize(
    ("values", "k", "l", "most", "wanted", "lost"),
    [
        ("aaaabbbbcd", 2, 1, 0.2, "aaaabbbb??", 2),
        ("aaaabbbbcd", 2, 1, 0.1, "aaaabbbbcd", 0),  # more than a tenth would be lost
        ("aaaabbbccd", 2, 1, 0.3, "aaaabbb???", 3),  # d alone would be the only one: the next rarest joins it
        ("aaaabbbb??", 2, 1, 0.5, "aaaabbbb??", 0),  # nothing is rare
        ("aaaabbbb?c", 2, 1, 0.5, "aaaabbbb??", 1),  # joins the missing one
        ("aaaabbbbcc", 5, 1, 0.9, "aaaabbbbcc", 0),  # everything would be lost
        ("aaaabbbbbb", 2, 1.5, 0.5, "aaaabbbbbb", 0),
        ("aabaaaaaab", 2, 1.5, 0.2, "aabaaaaaab", 0),  # only b is too sure, and alone it stays so
    ],
)
def test_suppression_takes_the_rarest_values_and_no_more(values, k, l, most, wanted, lost):
    column = pl.Series([None if value == "?" else value for value in values], dtype=pl.String)
    shown, n_rows = suppressed(column, CLASSES, k=k, l=l, most=most)
    assert "".join(value or "?" for value in shown) == wanted
    assert n_rows == lost


def test_a_suppressed_column_is_missing_in_predictions_too():
    n = 100
    job = ["a"] * 45 + ["b"] * 45 + [f"rare {i}" for i in range(10)]
    frame = pl.DataFrame({"job": job, "risk": ["+"] * 45 + ["-"] * 45 + ["+"] * 10}).sample(n, shuffle=True, seed=0)
    schema = ic.Schema(quasi=["job"], sensitive="risk")
    assert ic.DMPD(k=10, **QUICK).publish(frame, schema, seed=0).is_empty
    release = ic.DMPD(k=10, suppress=0.1, **QUICK).publish(frame, schema, seed=0)
    assert release.manifest.columns[0].suppressed == 10
    new = pl.DataFrame({"job": ["a", "rare 3", "never seen", None]})
    assert release.recode(new)["job"].to_list() == ["a", None, None, None]
    assert release.classifier().predict(new).tolist() == ["+"] * 4


@pytest.mark.parametrize("inducer", ["tree", "c45", "naive_bayes", GaussianNB()])
def test_inducers(inducer):
    frame = people()
    release = ic.DMPD(k=10, inducer=inducer, **QUICK).publish(frame, SCHEMA, seed=1)
    assert release.verify(frame).ok
    assert isinstance(release.manifest.method.parameters["inducer"], str)


def test_a_copy_of_a_column_is_not_published_beside_it():
    frame = people().with_columns(work=pl.col("job").replace_strict({"a": 3, "b": 1, "c": 2}))
    schema = ic.Schema(quasi=["town"], sensitive="risk", other=["job", "work"], rest="drop")
    assert Features.of(frame, schema).left_out == ["work"]
    with pytest.raises(ic.SchemaError, match="'work' is a one-to-one recoding of quasi-identifier 'job'"):
        ic.DMPD(k=2).publish(frame, ic.Schema(quasi=["job"], sensitive="risk", other=["work"], rest="drop"))


def violations_of(frame, schema, *parts):
    """Is this partition left to choose; and what does the verifier say if somebody releases it all the same?"""
    names = Features.of(frame, schema, k=2).frame.columns
    numbers = tuple(tuple(names.index(name) for name in part) for part in parts)
    try:
        return released(numbers, seed=1, frame=frame, schema=schema, k=2).verify(frame).violations
    except ic.VerificationError as refused:
        return refused.violations


PAIRS = {
    "whole numbers and floats": ([0, 1] * 40, [0.0, 1.0] * 40),
    "two values by other names": (["m", "f", "f"] * 30, [1, 2, 2] * 30),
    "one rises with the other": ([i * 7 % 81 for i in range(81)], [i * 7 % 81 * 0.3 + 5 for i in range(81)]),
    "one falls as the other rises": ([i * 7 % 81 for i in range(81)], [-(i * 7 % 81) for i in range(81)]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_copies_link_projections(name, monkeypatch):
    one, other = PAIRS[name]
    frame = pl.DataFrame({"job": [list("abc")[i // 5 % 3] for i in range(len(one))], "one": one, "other": other})
    frame = frame.with_columns(risk=pl.when(pl.int_range(pl.len()) % 7 > 2).then(pl.lit("+")).otherwise(pl.lit("-")))
    schema = ic.Schema(quasi=["job"], sensitive="risk", other=["one", "other"])
    assert Features.of(frame, schema).left_out == ["other"]
    with pytest.raises(ic.SchemaError, match="'other' is a one-to-one recoding of quasi-identifier 'one'"):
        Features.of(frame, ic.Schema(quasi=["job", "one"], sensitive="risk", other=["other"]))
    monkeypatch.setattr(feature_partition, "without_copies", lambda able, _: list(able))
    assert [v.split(":")[0] for v in violations_of(frame, schema, ["one"], ["other"])] == ["links"]


def test_columns_that_are_alike_by_chance_are_no_copies():
    rare = ["x"] * 79 + ["y"]  # one in eighty that both have the rare value in the same row
    frame = pl.DataFrame({"one": rare, "other": [1] * 79 + [2], "job": list("ab") * 40, "risk": list("++--") * 20})
    schema = ic.Schema(quasi=["job"], sensitive="risk", other=["one", "other"])
    assert Features.of(frame, schema).left_out == []
    assert violations_of(frame, schema, ["one"], ["other"]) == []


def test_numbers_that_rise_together_and_were_cut_do_not_show_it():
    """Sixteen rows in two intervals each: they may be one to one by chance, whatever the numbers behind them are."""
    days = [i * 7 % 17 for i in range(16)]
    frame = pl.DataFrame({"days": days, "hours": [24 * day + 5 for day in days]})
    frame = frame.with_columns(risk=pl.when(pl.col("days") > 7).then(pl.lit("+")).otherwise(pl.lit("-")))
    schema = ic.Schema(quasi={"days": ic.Intervals(), "hours": ic.Intervals()}, sensitive="risk")
    assert violations_of(frame, schema, ["days"], ["hours"]) == []


def test_of_two_texts_that_tell_everybody_apart_one_can_be_published():
    """A copy that was left out is a feature like the other, and no identifier that came back."""
    note = [f"note {i}" for i in range(80)]
    frame = pl.DataFrame({"job": list("ab") * 40, "one": note, "other": note, "risk": list("++--") * 20})
    schema = ic.Schema(quasi=["job"], sensitive="risk", other=["one", "other"])
    assert violations_of(frame, schema, ["one"], ["job"]) == []
    hidden = ic.Schema(quasi=["job"], sensitive="risk", other=["one"], identifiers=["other"])
    assert violations_of(frame, hidden, ["one"], ["job"])


def test_columns_that_break_k_alone_are_not_searched():
    features = Features.of(people(), SCHEMA, k=10)
    assert "zip" in features.left_out
    assert "zip" in Features.of(people(), SCHEMA, k=1).frame.columns


def interrupt_after(n):
    calls = itertools.count()

    def progress(stage, done, total):
        if stage == "generations" and next(calls) == n:
            raise KeyboardInterrupt

    return progress


def test_ctrl_c_publishes_the_best_so_far():
    frame = people()
    whole = ic.DMPD(k=10, generations=4, population=8).publish(frame, SCHEMA, seed=1)
    stopped = ic.DMPD(k=10, generations=50, population=8).publish(frame, SCHEMA, seed=1, progress=interrupt_after(5))
    assert stopped.levels["generations"] == 4
    assert stopped.parts == whole.parts
    with pytest.raises(KeyboardInterrupt):
        ic.DMPD(k=10, generations=50).publish(frame, SCHEMA, seed=1, progress=interrupt_after(0))


def test_other_exceptions_end_the_run():
    def progress(stage, done, total):
        raise RuntimeError(stage)

    with pytest.raises(RuntimeError, match="coding"):
        ic.DMPD(k=10).publish(people(), SCHEMA, progress=progress)


def test_patience_and_seconds():
    frame = people()
    patient = ic.DMPD(k=10, generations=60, population=8, patience=3).publish(frame, SCHEMA, seed=1)
    assert 3 <= patient.levels["generations"] < 60
    hasty = ic.DMPD(k=10, generations=60, population=8, seconds=0).publish(frame, SCHEMA, seed=1)
    assert hasty.levels["generations"] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"k": 0}, "k is 0"),
        ({"l": 0.5}, "l is 0.5"),
        ({"folds": 1}, "folds is 1"),
        ({"generations": -1}, "generations is -1"),
        ({"population": 1}, "population is 1"),
        ({"crossover": 2}, "crossover is 2"),
        ({"mutation": -0.1}, "mutation is -0.1"),
        ({"suppress": 1.5}, "suppress is 1.5"),
        ({"patience": 0}, "patience is 0"),
        ({"seconds": -1}, "seconds is -1"),
        ({"inducer": "forest"}, "inducer is 'forest'"),
        ({"inducer": LinearSVC()}, "no predict_proba"),
        ({"inducer": 5}, "no predict_proba"),
        ({"inducer": GaussianNB}, "the class GaussianNB"),
        ({"suppress": "some"}, "suppress is 'some'"),
        ({"crossover": "often"}, "crossover is 'often'"),
        ({"seconds": "soon"}, "seconds is 'soon'"),
        ({"quasi_sets": 5}, "quasi_sets is 5"),
        ({"quasi_sets": [5]}, "quasi_sets is"),
        ({"quasi_sets": [["job"], []]}, "quasi_sets is"),
    ],
)
def test_wrong_parameters_are_refused(wrong, words):
    with pytest.raises(ic.ParameterError, match=words):
        ic.DMPD(**{"k": 2, **wrong})


def test_schemas_that_do_not_fit():
    frame = people()
    with pytest.raises(ic.SchemaError, match="no sensitive column"):
        ic.DMPD(k=2).publish(frame, ic.Schema(quasi=["job"], rest="drop"))
    schema = ic.Schema(quasi=["job"], sensitive="town", other=["risk"], target="risk", rest="drop")
    with pytest.raises(ic.IncompatibleError, match="'town' is sensitive"):
        ic.DMPD(k=2).publish(frame, schema)
    with pytest.raises(ic.SchemaError, match="no rows"):
        ic.DMPD(k=2).publish(frame.clear(), SCHEMA)
    with pytest.raises(ic.InfeasibleError, match="120 rows") as refused:
        ic.DMPD(k=121).publish(frame, SCHEMA)
    assert refused.value.best == {"k": 120}


def test_a_class_that_is_not_sensitive():
    frame = people()
    schema = ic.Schema(quasi=["job", "town"], other=["risk"], target="risk", rest="drop")
    release = ic.DMPD(k=10, **QUICK).publish(frame, schema, seed=1)
    assert release.manifest.target.role == "other"
    assert release.verify(frame).ok


ODD = {
    "one row": {"q": ["a"], "c": ["x"]},
    "one class": {"q": list("ab") * 10, "c": ["x"] * 20},
    "constant column": {"q": ["a"] * 20, "c": list("xy") * 10},
    "missing values": {"q": ["a", None] * 10, "c": list("xy") * 10},
    "missing classes": {"q": list("ab") * 10, "c": ["x", None] * 10},
    "unicode": {"q": ["Bö", "中文"] * 10, "c": ["może", "né"] * 10},
    "numbers as classes": {"q": list("ab") * 10, "c": [1, 2] * 10},
    "truth values": {"q": [True, False] * 10, "c": [True, False] * 10},
    "dates": {"q": [pl.Series(["2020-01-01"]).str.to_date()[0], None] * 10, "c": list("xy") * 10},
    "floats with cuts that need many digits": {"q": [0.1, 0.3 + 1e-12] * 20, "c": list("xy") * 20},
    "negative numbers": {"q": [-3, -1] * 20, "c": list("xy") * 20},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables(name, tmp_path):
    frame = pl.DataFrame(ODD[name])
    schema = ic.Schema(quasi=["q"], sensitive="c")
    release = ic.DMPD(k=1, **QUICK).publish(frame, schema, seed=0)
    release.save(tmp_path / "out")
    verdict = ic.verify(tmp_path / "out", frame)
    assert verdict.ok, verdict.violations
    one_sided = frame["q"].n_unique() == 1 or frame["c"].n_unique() == 1
    assert release.is_empty == one_sided
    assert len(release.classifier().predict(frame.head(1))) == 1


def test_rows_with_missing_values_can_be_dropped():
    frame = people().with_columns(town=pl.when(pl.col("hours") > 40).then(pl.lit("?")).otherwise("town"))
    schema = ic.Schema(quasi=["job", "town"], sensitive="risk", missing="drop", missing_tokens=["?"], rest="drop")
    release = ic.DMPD(k=5, **QUICK).publish(frame, schema, seed=1)
    n_missing = (frame["hours"] > 40).sum()
    assert release.manifest.rows == RowCounts(120, n_missing, 0, 120 - n_missing)
    assert release.verify(frame).ok
