import json
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import plots
from incrowd.evaluate import comparison, evaluation
from incrowd.evaluate.classifiers import CLASSIFIERS, classifier
from incrowd.evaluate.features import Examples
from incrowd.evaluate.protocol import Rows, folds, unfit
from incrowd.evaluate.scores import SCORES, retention_interval
from incrowd.evaluate.tables import aligned, explained
from incrowd.evaluate.training_data import training_data
from incrowd.learn.naive_bayes import NaiveBayes

QUICK = {"classifiers": "naive_bayes", "samples": 2}
DRAWN = QUICK | {"training": "samples"}
SHORT = {"generations": 2, "population": 6}


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 60, n), rng.choice(["a", "b", "c", "d"], n)
    noise = rng.random(n) < 0.1
    risk = np.where((age > 40) ^ noise, "high", np.where(job == "d", "mid", "low"))
    return pl.DataFrame({"id": np.arange(n) + 1000 * seed, "age": age, "job": job, "risk": risk})


SCHEMA = ic.Schema(
    quasi={"age": ic.Intervals(), "job": ic.Taxonomy.from_nested({"ab": ["a", "b"], "cd": ["c", "d"]})},
    sensitive="risk",
    identifiers=["id"],
)


def test_a_release_sees_only_the_training_rows_of_its_fold(monkeypatch):
    published, tested = [], []
    publish, judge = ic.Mondrian.publish, evaluation.judge_release

    def spying_publish(self, frame, *rest, **options):
        published.append(set(frame["id"]))
        return publish(self, frame, *rest, **options)

    def spying_judge(release, fold, *rest, **options):
        tested.append(set(fold.test.source["id"]))
        return judge(release, fold, *rest, **options)

    monkeypatch.setattr(ic.Mondrian, "publish", spying_publish)
    monkeypatch.setattr(evaluation, "judge_release", spying_judge)
    found = ic.evaluate("mondrian", people(), SCHEMA, k=5, cv=3, **DRAWN)
    assert len(published) == len(tested) == 3
    assert all(not train & test and len(train | test) == 200 for train, test in zip(published, tested, strict=True))
    assert set.union(*tested) == set(range(200))
    assert sum(map(len, tested)) == 200
    assert found.scores.filter(pl.col("data") == "release").height == 6


def test_means_and_retention_are_of_folds_and_samples():
    found = ic.evaluate(
        "mondrian", people(), SCHEMA, k=5, cv="2x2", classifiers="tree,naive_bayes", samples=2, training="samples"
    )
    scores, row = found.scores, found.frame.row(0, named=True)
    mine = scores.filter((pl.col("data") == "release") & (pl.col("classifier") == "tree"))
    assert (mine.height, row["fits"]) == (8, 8)
    assert row["accuracy"] == pytest.approx(mine["accuracy"].mean())
    original = scores.filter((pl.col("data") == "original") & (pl.col("classifier") == "tree"))["accuracy"].mean()
    majority = scores.filter(pl.col("data") == "majority")["accuracy"].mean()
    assert (row["original"], row["majority"]) == pytest.approx((original, majority))
    assert row["retention"] == pytest.approx((row["accuracy"] - majority) / (original - majority))
    assert row["low"] < row["accuracy"] < row["high"]


def test_retention_has_an_interval_over_folds_beside_their_own_baselines(compared):
    found = ic.evaluate("mondrian", people(), SCHEMA, k=20, cv=5, **DRAWN)
    row = found.frame.row(0, named=True)
    by_fold = {
        data: [group["accuracy"].mean() for _, group in part.sort("fold").group_by("fold", maintain_order=True)]
        for (data,), part in found.scores.group_by("data")
    }
    ends = retention_interval(
        [[value] for value in by_fold["release"]], by_fold["majority"], by_fold["original"], found.about["test_share"]
    )
    assert (row["retention_low"], row["retention_high"]) == pytest.approx(ends)
    assert row["retention_low"] < row["retention"] < row["retention_high"]
    assert found.to_dict()["classifiers"][0]["retention_high"] == row["retention_high"]
    assert f"[{100 * row['retention_low']:.1f}, " in str(found)
    assert "over folds, corrected for shared training rows" in str(found)
    assert "majority class: accuracy " in str(found)
    assert {"retention_low", "retention_high"} <= set(compared.frame.columns)


def test_where_the_gain_is_uncertain_retention_has_no_interval_and_the_table_says_so():
    records = [
        {"fold": fold, "data": data, "classifier": None if data == "majority" else "tree", "seconds": 0.0}
        | dict.fromkeys(SCORES, score)
        for fold, scores in enumerate([(0.5, 0.7, 0.8), (0.7, 0.71, 0.71)])
        for data, score in zip(("majority", "release", "original"), scores, strict=True)
    ]
    (row,) = evaluation.summaries(records, 1.0)
    assert row["retention"] is not None
    assert row["retention_low"] is row["retention_high"] is None
    told = "\n".join(explained(pl.DataFrame([row]), ["retention"], 2))
    assert "the gain of the original is too uncertain" in told
    nothing = [record | ({"accuracy": 0.5} if record["data"] == "original" else {}) for record in records]
    (row,) = evaluation.summaries(nothing, 1.0)
    assert row["retention"] is row["retention_low"] is row["retention_high"] is None


@pytest.mark.slow
@pytest.mark.parametrize("cv", [3, 5])
def test_tables_fit_a_hundred_columns(cv):
    found = ic.evaluate("mondrian", people(), SCHEMA, k=20, cv=cv, samples=2)
    assert max(map(len, str(found).splitlines())) <= 100
    both = ic.compare(people(), SCHEMA, k=[5, 20], cv=cv, classifiers="naive_bayes,tree", samples=2)
    assert max(map(len, str(both).splitlines())) <= 100


def test_the_same_seed_gives_the_same_scores_and_another_one_others():
    scores = [
        ic.evaluate("nsvdist", people(80), SCHEMA, k=5, cv=2, seed=seed, **QUICK).frame.drop("seconds")
        for seed in (1, 1, 2)
    ]
    assert scores[0].equals(scores[1])
    assert not scores[0].equals(scores[2])


def test_with_k_1_nothing_is_lost():
    found = ic.evaluate("mondrian", people(), SCHEMA, k=1, holdout=people(100, seed=1), **DRAWN).frame
    assert found["accuracy"].item() == found["original"].item()
    assert found["retention"].item() == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("training", ["recommended", "samples", "soft", "cells", "majority_labels"])
@pytest.mark.parametrize(("method", "test"), [("nsvdist", "raw"), ("mondrian", "raw"), ("mondrian", "generalized")])
def test_every_way_to_train_and_to_ask_beats_the_majority(training, method, test):
    found = ic.evaluate(
        method, people(400), SCHEMA, k=5, holdout=people(200, seed=1), training=training, test=test,
        classifiers="naive_bayes,tree", samples=1,
    )  # fmt: skip
    assert found.frame["accuracy"].min() > found.frame["majority"].item(0) + 0.1


def test_what_is_recommended_stands_beside_samples_and_keeps_more():
    found = ic.evaluate(
        "mondrian", people(400), SCHEMA, k=40, holdout=people(400, seed=1), classifiers="tree,naive_bayes"
    )
    accuracy = {(row["classifier"], row["training"]): row["accuracy"] for row in found.frame.to_dicts()}
    assert set(accuracy) == {(name, way) for name in ("tree", "naive_bayes") for way in ("recommended", "samples")}
    assert accuracy["tree", "recommended"] > accuracy["tree", "samples"]
    assert found.about["training"] == ["recommended", "samples"]


def test_soft_training_is_the_limit_of_many_samples():
    frame = people(60).drop("age")
    schema = ic.Schema(quasi={"job": SCHEMA.attributes["job"].hierarchy}, sensitive="risk", identifiers=["id"])
    release = ic.NSVDist(k=7, mode="paper").publish(frame, schema, seed=1)
    classes, asked = frame["risk"].unique().sort(), frame.head(20)
    soft = next(training_data(release, asked, classes, training="soft"))
    limit = classifier("naive_bayes").predict(soft.train, soft.test, 0)

    def error(n):
        drawn = list(training_data(release, asked, classes, samples=n))
        features = type(soft.test)(np.vstack([d.train.features.X for d in drawn]), soft.test.blocks)
        labels = np.concatenate([d.train.labels for d in drawn])
        pooled = Examples(features, labels, len(classes), np.full(len(labels), 1 / n))
        return np.abs(classifier("naive_bayes").predict(pooled, drawn[0].test, 0) - limit).max()

    assert error(200) < 0.015 < error(1)


def test_cells_are_asked_about_by_containment():
    release = ic.publish(people(), SCHEMA, method="mondrian", k=20, seed=1)
    pair = next(training_data(release, people(50, seed=1), people()["risk"].unique().sort(), training="cells"))
    job = pair.test.blocks[0].width
    assert pair.train.features.X.shape[1] == pair.test.X.shape[1]
    whole = pair.test.X[:, job:].sum(axis=1)  # a raw job lies in its own node and in all above it that were released
    assert (whole >= 1).all()


def test_majority_labels_are_the_most_frequent_of_the_cell():
    release = ic.publish(people(), SCHEMA, method="nsvdist", k=9, seed=1)
    classes = people()["risk"].unique().sort()
    pair = next(training_data(release, people(10), classes, training="majority_labels", samples=1))
    assert pair.train.labels.tolist() == release.distributions.argmax(axis=1).tolist()


def test_a_release_with_and_without_its_original(tmp_path):
    train, test = people(), people(100, seed=1)
    release = ic.publish(train, SCHEMA, method="nsvdist", k=5, seed=1)
    release.save(tmp_path / "release")
    full = ic.evaluate(release, holdout=test, original=train, **DRAWN)
    loaded = ic.evaluate(tmp_path / "release", holdout=test, original=train, **DRAWN)
    assert full.frame.drop("seconds").columns == loaded.frame.drop("seconds").columns
    assert full.frame["original"].item() == loaded.frame["original"].item()
    by_method = ic.evaluate("nsvdist", train, SCHEMA, k=5, holdout=test, **DRAWN).frame
    assert full.frame["original"].item() == by_method["original"].item()
    assert full.frame["majority"].item() == by_method["majority"].item()
    bare = ic.evaluate(release, holdout=test, **DRAWN)
    assert bare.frame["majority"].item() == full.frame["majority"].item()
    assert bare.frame["retention"].item() is None
    assert "original" in bare.notes[0]


def test_test_rows_may_have_classes_and_values_that_training_rows_lack():
    train = people().filter(pl.col("risk") != "mid")
    test = people(100, seed=1).with_columns(job=pl.when(pl.col("age") == 33).then(pl.lit("zz")).otherwise("job"))
    schema = ic.Schema(quasi={"age": ic.Intervals(), "job": None}, sensitive="risk", identifiers=["id"])
    for way in ("raw", "generalized"):
        found = ic.evaluate("mondrian", train, schema, k=5, holdout=test, test=way, **DRAWN)
        assert 0.3 < found.frame["accuracy"].item() < 1
    release = ic.publish(train, schema, method="mondrian", k=5)
    assert ic.evaluate(release, holdout=test, training="soft", **QUICK).frame["accuracy"].item() > 0.3


def test_other_columns_are_features_and_the_target_need_not_be_sensitive():
    frame = people().with_columns(pay=pl.col("age") // 20 * 10.0, ill=pl.Series(["x", "y"] * 100))
    schema = ic.Schema(
        quasi={"age": ic.Intervals()}, sensitive="ill", identifiers=["id"], other=["pay", "job", "risk"], target="risk"
    )
    rows = Rows.of(frame, schema)
    assert rows.features.columns == ["age", "pay", "job"]
    for training in ("samples", "soft", "cells", "majority_labels"):
        method = ic.NSVDist(
            k=20, concealment=False
        )  # which keeps the columns that are published as they are by their rows
        found = ic.evaluate(method, frame, schema, cv=2, training=training, **QUICK).frame
        assert found["accuracy"].item() > found["majority"].item()


def test_rows_without_a_value_are_dropped_from_both_parts_if_the_schema_says_so():
    frame = people().with_columns(job=pl.when(pl.col("age") == 33).then(pl.lit("?")).otherwise("job"))
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "job": None}, sensitive="risk", identifiers=["id"], missing="drop",
        missing_tokens=["?"],
    )  # fmt: skip
    n_kept = frame.filter(pl.col("job") != "?").height
    parts = list(folds(Rows.of(frame, schema), 5, 0))
    assert sum(fold.test.n_rows for fold in parts) == n_kept
    release = ic.publish(frame, schema, method="mondrian", k=5)
    found = ic.evaluate(release, holdout=frame, original=frame, **QUICK)
    assert found.about["rows"] == {"train": n_kept, "test": n_kept}


def test_projections_teach_their_own_classifier():
    found = ic.evaluate("dmpd", people(300), SCHEMA, k=5, cv=2, **SHORT).frame  # classifiers that nobody had to name
    assert found["classifier"].to_list() == ["tree", "naive_bayes", "logistic"]
    assert (found["accuracy"] > found["majority"]).all()


def test_naive_bayes_of_projections_is_the_inducer_of_dmpd():
    release = ic.publish(people(300), SCHEMA, method="dmpd", k=5, seed=1, **SHORT)
    test = people(100, seed=1)
    own = release.classifier(NaiveBayes()).predict(test)
    found = ic.evaluate(release, holdout=test, classifiers="naive_bayes").frame
    assert not release.is_empty
    assert found["accuracy"].item() == (own == test["risk"].to_numpy()).mean()


def test_what_cannot_learn_from_projections_is_refused_by_name_and_a_row_of_a_comparison():
    with pytest.raises(ic.IncompatibleError, match="'svc' cannot be trained on projections: it gives no"):
        ic.evaluate("dmpd", people(300), SCHEMA, k=5, cv=2, classifiers="svc", **SHORT)
    release = ic.publish(people(), SCHEMA, method="dmpd", k=5, seed=1, **SHORT)
    assert "Weka" in unfit(release, CLASSIFIERS["j48"])
    found = ic.compare(
        people(), SCHEMA, methods="mondrian,dmpd", k=5, cv=2, samples=1, classifiers="svc,tree",
        parameters={"dmpd": SHORT},
    )  # fmt: skip
    told = {(row["method"], row["classifier"]): row["status"].partition(":")[0] for row in found.rows}
    assert told == {
        ("mondrian", "svc"): "ok", ("mondrian", "tree"): "ok", ("dmpd", "tree"): "ok", ("dmpd", "svc"): "incompatible",
    }  # fmt: skip
    assert "dmpd, k = 5, l = 1: incompatible: The classifier 'svc'" in str(found)


def test_a_release_that_a_way_of_testing_does_not_suit_is_not_infeasible():
    found = ic.compare(people(), SCHEMA, methods="nsvdist", k=5, cv=2, test="generalized", **QUICK)
    assert found.rows[0]["status"].startswith("incompatible: ")


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_the_class_alone_is_the_majority_class_beside_all_columns_of_the_original(missing):
    train, test = people(), people(100, seed=1)
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "job": None}, sensitive="risk", identifiers=["id"], missing=missing
    )
    release = ic.publish(train, schema, method="dmpd", k=190, seed=1, **SHORT)
    assert release.is_empty
    row = ic.evaluate(release, holdout=test, original=train, classifiers="tree").frame.row(0, named=True)
    assert (row["accuracy"], row["retention"]) == (row["majority"], 0)
    bare = ic.evaluate(release, holdout=test.select("risk"), original=train, classifiers="tree")
    row = bare.frame.row(0, named=True)
    assert row["accuracy"] == row["majority"] == row["original"]
    assert bare.notes == ["the original is used without age, job, which the test rows do not have"]


def test_the_original_of_projections_has_the_columns_that_were_left_out():
    rng = np.random.default_rng(3)
    train, test = (
        frame.with_columns(noise=rng.random(frame.height), shift=rng.choice(["x", "y"], frame.height)).with_columns(
            job=pl.when(pl.col("id") % 50 == 0).then(None).otherwise("job")
        )
        for frame in (people(300), people(100, seed=1))
    )
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "noise": ic.Intervals(), "job": None}, sensitive="risk", identifiers=["id"],
        other=["shift"], missing="drop",
    )  # fmt: skip
    release = ic.publish(train, schema, method="dmpd", k=60, seed=0, **SHORT)
    assert {"noise", "job"} <= set(release.manifest.left_out)
    of_release = ic.evaluate(release, holdout=test, original=train, classifiers="tree,naive_bayes")
    of_method = ic.evaluate("dmpd", train, schema, k=60, holdout=test, classifiers="tree,naive_bayes", **SHORT)
    assert of_release.about["rows"] == of_method.about["rows"] == {"train": 294, "test": 98}
    for name in ("original", "majority"):
        assert of_release.frame[name].to_list() == of_method.frame[name].to_list()


@pytest.mark.parametrize(
    ("what", "options", "said"),
    [
        ("mondrian", {"k": 5, "cv": 1}, "cv is 1"),
        ("mondrian", {"k": 5, "cv": "5y2"}, "cv is '5y2'"),
        ("mondrian", {"k": 5, "cv": 150}, "too few for 150 folds"),
        ("mondrian", {"k": 5, "cv": 2, "holdout": people(5)}, "Both cv and holdout"),
        ("mondrian", {"k": 5, "holdout": people(5)[:0]}, "No test row"),
        ("mondrian", {"k": 5, "training": "rows"}, "training is 'rows'"),
        ("mondrian", {"k": 5, "test": "cells"}, "test is 'cells'"),
        ("mondrian", {"k": 5, "samples": 0}, "samples is 0"),
        ("mondrian", {"k": 5, "original": people()}, "original is only for releases"),
        ("mondrian", {"k": 101, "cv": 2}, "k = 101"),
        ("nsvdist", {"k": 5, "cv": 2, "test": "generalized"}, "no recoding"),
        ("nobody", {"k": 5}, "no method 'nobody'"),
        (ic.Mondrian(k=5), {"k": 5}, "has its parameters"),
        (ic.Mondrian(k=5), {"holdout": people(9).with_columns(risk=pl.lit(1.5))}, None),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_a_reason(what, options, said):
    if said is None:
        assert ic.evaluate(what, people(), SCHEMA, **options, **DRAWN).frame["accuracy"].item() == 0
        return
    with pytest.raises(ic.IncrowdError, match=said):
        ic.evaluate(what, people(), SCHEMA, **(QUICK | options))


def test_releases_are_refused_without_test_rows_and_tables_without_a_schema():
    release = ic.publish(people(), SCHEMA, method="mondrian", k=5)
    with pytest.raises(ic.ParameterError, match="with test rows"):
        ic.evaluate(release)
    with pytest.raises(ic.ParameterError, match="schema is missing"):
        ic.evaluate("mondrian", people())
    with pytest.raises(ic.SchemaError, match="no column 'job'"):
        ic.evaluate(release, holdout=people().drop("job"))


def test_an_evaluation_shows_itself(tmp_path):
    found = ic.evaluate("mondrian", people(), SCHEMA, k=5, cv=2, classifiers="tree,naive_bayes", samples=1)
    assert "retention" in str(found)
    assert "2-fold" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["classifiers"][1]["classifier"] == "naive_bayes"
    assert "<table" in found._repr_html_()
    plots.save(found.plot(theme="dark"), tmp_path / "a.svg")
    labels = [text.get_text() for text in found.plot().axes[0].get_yticklabels()]
    assert labels == [f"{name} ({way})" for way in evaluation.DEFAULT_TRAINING for name in ("tree", "naive_bayes")]
    alone = ic.evaluate("mondrian", people(), SCHEMA, k=5, cv=2, training="soft", **QUICK)
    assert [text.get_text() for text in alone.plot().axes[0].get_yticklabels()] == ["naive_bayes"]
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_only_columns_that_are_there_are_explained():
    train, test = people(), people(100, seed=1)
    release = ic.publish(train, SCHEMA, method="mondrian", k=5, seed=1)
    one_set = str(ic.evaluate(release, holdout=test, original=train, **QUICK))
    assert "over samples of the release, on these test rows only" in one_set
    assert "over folds" in str(ic.evaluate("mondrian", train, SCHEMA, k=5, cv=2, **QUICK))
    assert "retention: share" not in str(ic.evaluate(release, holdout=test, **QUICK))
    assert "low, high" not in str(ic.evaluate(release, holdout=test, original=train, **QUICK | {"samples": 1}))
    assert "over folds" in str(ic.compare(train, SCHEMA, methods="mondrian", k=5, cv=2, **QUICK))


def run(store=None, progress=None, **options):
    settings = {"methods": "mondrian,nsvdist", "k": [5, 20, 300], "l": [1, 1.1], "cv": 2, "samples": 1}
    return ic.compare(
        people(120), SCHEMA, classifiers="naive_bayes", store=store, progress=progress, **(settings | options)
    )


@pytest.fixture(scope="module")
def compared():
    return run()


def test_a_comparison_has_a_row_for_everything_and_says_what_is_infeasible(compared):
    frame = compared.frame
    assert frame.height == 12
    done = frame.filter(pl.col("status") == "ok")
    assert set(done["k"]) == {5, 20}
    assert done["lm"].is_between(0, 1).all()
    assert (done["level_k"] >= done["k"]).all()
    assert done["retention"].null_count() == 0
    refused = frame.filter(pl.col("status") != "ok")
    assert refused.height == 4
    assert refused["status"].str.starts_with("infeasible: ").all()
    assert refused["accuracy"].null_count() == 4


def test_a_comparison_agrees_with_single_evaluations(compared):
    chosen = (pl.col("method") == "nsvdist") & (pl.col("k") == 20) & (pl.col("l") == 1.1)
    row = compared.frame.row(by_predicate=chosen, named=True)
    alone = ic.evaluate("nsvdist", people(120), SCHEMA, k=20, l=1.1, cv=2, samples=1, classifiers="naive_bayes")
    expected = alone.frame.row(0, named=True)
    assert {name: row[name] for name in expected if name != "seconds"} == {
        name: value for name, value in expected.items() if name != "seconds"
    }


@pytest.mark.slow
def test_a_comparison_goes_on_where_it_stopped(compared, tmp_path, monkeypatch):
    store = tmp_path / "store.jsonl"

    def stop(_stage, done, _total):
        if done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, stop)
    assert store.read_text().count("\n") == 9
    monkeypatch.setattr(comparison, "_judge", _Spy(comparison._judge))
    monkeypatch.setattr(_Spy, "judged", judged := [])
    whole = run(store)
    assert len(judged) == 26 - 9
    timed = ["seconds", "publishing"]
    assert whole.frame.drop(timed).equals(compared.frame.drop(timed))
    judged.clear()
    run(store, k=[5, 20, 300, 301])
    assert {cell["k"] for cell in judged} == {301}
    assert "high" not in store.read_text()  # a value of the table


class _Spy(partial):
    """Notes what is judged; results are those of the code of the function behind it."""

    judged: ClassVar[list] = []

    def __call__(self, source, schema, holdout, cell):
        self.judged.append(cell)
        return super().__call__(source, schema, holdout, cell)


def test_a_comparison_refuses_what_there_is_not():
    for options, said in [
        ({"methods": "mondrain"}, "no method 'mondrain'"),
        ({"losses": ["lmm"]}, "no loss 'lmm'"),
        ({"classifiers": "trees"}, "no classifier 'trees'"),
        ({"k": []}, "nothing to compare"),
        ({"samples": 0}, "samples is 0"),
        ({"losses": "lm,lmm"}, "no loss 'lmm'"),
        ({"losses": (name for name in ["lmm", "lm"])}, "no loss 'lmm'"),
    ]:
        with pytest.raises(ic.ParameterError, match=said):
            ic.compare(people(), SCHEMA, **({"cv": 2} | options))


def test_what_is_compared_may_be_a_text_or_come_one_by_one():
    several = {"methods": "mondrian, tds", "losses": "lm, dm"}
    one_by_one = {name: iter(value.split(", ")) for name, value in several.items()}
    shared = {"cv": 2, "classifiers": "naive_bayes", "samples": 1}
    texts = ic.compare(people(60), SCHEMA, k=[2, 5], l=[1, 1.1], **several, **shared)
    found = ic.compare(people(60), SCHEMA, k=iter([2, 5]), l=iter([1, 1.1]), **one_by_one, **shared)
    timed = ["seconds", "publishing"]
    assert found.about["losses"] == ["lm", "dm"]
    assert found.frame.height == 8
    assert found.frame.drop(timed).equals(texts.frame.drop(timed))
    alone = ic.compare(people(60), SCHEMA, methods="mondrian", k=2, losses=[], **shared)
    assert "lm" not in alone.frame.columns
    assert " l " not in str(alone)  # nobody asked for diversity
    assert " l " in str(found)


def test_intervals_stand_beside_their_shares():
    ends = {"retention_low": [-0.0001, None], "retention_high": [1.234, None]}
    rows = pl.DataFrame({"classifier": ["a", "long"], "retention": [0.5, 1.0], **ends, "f1": [0.25, None]})
    assert aligned(rows, ["classifier", "retention", "f1"]) == [
        "classifier  retention             f1",
        "a            50.0% [0.0, 123]  25.0%",
        "long        100.0%                 -",
    ]


def test_a_comparison_shows_itself(compared, tmp_path):
    found = compared
    assert "infeasible" in str(found)
    assert "2-fold" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["method"] == "mondrian"
    drawn = found.plot(theme="dark")
    assert [axes.get_title() for axes in drawn.axes] == ["naive_bayes, l = 1", "naive_bayes, l = 1.1"]
    labels = [line.get_label() for line in drawn.axes[0].lines]
    assert labels == ["mondrian", "nsvdist", "original", "majority"]
    plots.save(drawn, tmp_path / "a.png")
    kept = found.plot(score="retention").axes[0]
    assert len(kept.collections) == 2
    assert found.frame["retention_high"].max() > 2 > kept.get_ylim()[1]  # two folds say little
    looks = {line.get_label(): line._unscaled_dash_pattern for line in drawn.axes[0].lines}
    assert len(set(map(str, looks.values()))) == 4  # in a grey print too
    assert drawn._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ic.ParameterError, match="no score 'speed'"):
        found.plot(score="speed")
    with pytest.raises(ic.ParameterError, match="None of these"):
        found.plot(classifiers="forest")


def test_test_rows_of_a_class_that_nobody_could_learn_are_told():
    test = people(50, seed=1).with_columns(
        risk=pl.when(pl.int_range(50) < 3).then(pl.lit("gout")).when(pl.int_range(50) < 5).then(None).otherwise("risk")
    )
    words = (
        "test rows with no class, or one that no training row has: 5 of 50; every prediction for them counts as wrong"
    )
    release = ic.publish(people(), SCHEMA, method="mondrian", k=5)
    assert words in ic.evaluate(release, holdout=test, original=people(), **QUICK).notes
    assert words in ic.evaluate(release, holdout=test, **QUICK).notes
    assert words in ic.evaluate("mondrian", people(), SCHEMA, k=5, holdout=test, **QUICK).notes
    compared = ic.compare(people(), SCHEMA, methods="mondrian", k=5, holdout=test, **QUICK)
    assert f"Note: {words}" in str(compared)
    with pytest.raises(ic.ParameterError, match="nothing to draw"):
        ic.compare(people(), SCHEMA, methods="mondrian", k=500, holdout=test, **QUICK).plot()
