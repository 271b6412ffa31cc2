"""No model of ours is ever flagged, whatever is public; a smaller k than asked for always is."""

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import incrowd as ic

NAMES = ["age", "job", "zip"]
ZIPS = ["10055", "10023", "10165", "10224", "20001"]


def table(seed, n):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 30, n), rng.choice(["clerk", "nurse", "smith"], n)
    jobs = pl.Series(job).set(pl.Series(rng.random(n) < 0.1), None)
    rich = np.where((age > 24) ^ (job == "nurse") ^ (rng.random(n) < 0.2), "yes", "no")
    return pl.DataFrame({"age": age, "job": jobs, "zip": rng.choice(ZIPS, n), "rich": rich})


def schema_of(public):
    return ic.Schema(
        quasi=dict.fromkeys(public, ic.Intervals()), sensitive="rich", other=[n for n in NAMES if n not in public]
    )


PUBLICS = [["age"], ["job"], ["zip"], ["age", "job"], ["job", "zip"], ["age", "zip"], NAMES]


@given(st.integers(0, 10_000), st.integers(8, 60), st.integers(1, 8), st.sampled_from(PUBLICS), st.booleans())
def test_a_tree_of_ours_is_never_flagged(seed, n, k, public, class_public):
    frame = table(seed, n)
    model = ic.KAnonymousTreeClassifier(
        k=min(k, n), public=public, class_public=class_public, hierarchies={"zip": ic.prefixes()}
    )
    model.fit(frame.select(NAMES), frame["rich"])
    report = ic.audit(model, frame, schema_of(public), min(k, n), class_public=class_public)
    assert report.ok
    assert report.level == model.spans_.level
    assert sorted(report.people) == sorted(model.spans_.people)


def test_a_tree_made_for_a_smaller_k_or_less_knowledge_is_flagged_and_mended():
    frame = table(1, 300)
    model = ic.KAnonymousTreeClassifier(k=2).fit(frame.select(NAMES), frame["rich"])
    report = ic.audit(model, frame, schema_of(NAMES), 40)
    assert not report.ok
    assert "fit it again with k = 40" in str(report)
    assert ic.audit(report.repair(), frame, schema_of(NAMES), 40).ok
    careless = ic.KAnonymousTreeClassifier(k=40, public=["zip"]).fit(frame.select(NAMES), frame["rich"])
    report = ic.audit(careless, frame, schema_of(NAMES), 40)
    assert not report.ok
    assert ic.audit(report.repair(), frame, schema_of(NAMES), 40).ok


@pytest.mark.parametrize("kind", ["tree", "clusters"])
def test_another_table_is_refused(kind):
    """Five copies of everybody would make small crowds large ones."""
    frame = table(1, 300)
    if kind == "tree":
        model, schema = ic.KAnonymousTreeClassifier(k=2).fit(frame.select(NAMES), frame["rich"]), schema_of(NAMES)
        model = pickle.loads(pickle.dumps(model))
        match = "not what it becomes when it is fitted|clusters of 300 people"
    else:
        frame = frame.select("age", pay=pl.col("age") * 7 % 11)
        model, schema = ic.KAnonymousClusters(k=2).fit(frame), ic.Schema(quasi=["age"], other=["pay"])
        match = "not what it becomes when it is fitted|clusters of 300 people"
    assert len(ic.audit(model, frame, schema, 40).span_of) == 300
    shifted = frame.with_columns(pl.col("age").shift(fill_value=20))
    for other in (pl.concat([frame] * 5), frame.head(299), shifted):
        with pytest.raises(ic.SchemaError, match=match):
            ic.audit(model, other, schema, 40)
    with pytest.raises(ic.SchemaError, match="no people"):
        ic.audit(model, frame.head(0), schema, 40)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_clusters_made_for_less_knowledge_are_flagged_and_mended(kind):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    given_frame = frame.to_pandas() if kind == "pandas" else frame
    model = ic.KAnonymousClusters(k=10, min_people=1, n_clusters=6).fit(given_frame)
    schema = ic.Schema(quasi={"a": ic.Intervals()}, other=["b"])
    report = ic.audit(model, given_frame, schema, 10)
    assert not report.ok
    mended = report.repair()
    assert ic.audit(mended, given_frame, schema, 10).ok
    assert mended.spans_.level is None or mended.spans_.level >= 10


def test_what_to_do_names_what_is_public():
    frame = table(1, 300)
    model = ic.KAnonymousTreeClassifier(k=2).fit(frame.select(NAMES), frame["rich"])
    report = ic.audit(model, frame, schema_of(["age", "zip"]), 40)
    assert report.repairs == ("fit it again with k = 40 and as public: age, zip",)
    assert report.repair().get_params()["k"] == 40
    assert report.repair().get_params()["public"] == [0, 2]
    hidden = frame.with_columns(town=pl.lit(1))
    nothing = ic.audit(model, hidden, ic.Schema(quasi=["town"], sensitive="rich", other=NAMES), 301)
    assert nothing.repairs[0].endswith("and as public: nothing")
    safe = ic.audit(model, frame, schema_of(["age", "zip"]), 1)
    assert (safe.ok, safe.repairs, safe.repair() is model) == (True, (), True)


def test_a_pipeline_that_ends_in_ours_is_mended_as_one():
    frame = table(2, 200).select("age", "rich").to_pandas()
    model = make_pipeline(MinMaxScaler(), ic.KAnonymousTreeClassifier(k=2)).fit(frame[["age"]], frame["rich"])
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich")
    report = ic.audit(model, frame, schema, 60)
    assert not report.ok
    mended = report.repair()
    assert [name for name, _ in mended.steps] == [name for name, _ in model.steps]
    assert ic.audit(mended, frame, schema, 60).ok
    assert report.repairs == ("fit it again with k = 60 and as public: age",)
