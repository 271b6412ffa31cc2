"""What every skin calls: results as plain data, progress, and a way to stop."""

import json

import joblib
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd import workflow
from incrowd.publish import best_cuts

N = 60
FRAME = pl.DataFrame(
    {
        "age": [20 + i * 7 % 40 for i in range(N)],
        "zip": [f"10{i % 6}" for i in range(N)],
        "ill": ["no" if i * 7 % 40 < 20 else "yes" for i in range(N)],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill")


def test_propose_from_a_frame_and_from_a_file(tmp_path):
    found = workflow.propose(FRAME, sensitive="ill")
    assert json.loads(json.dumps(found.to_dict()))["rows"] == N
    assert [column["role"] for column in found.columns] == ["quasi", "quasi", "sensitive"]
    assert [column["hierarchy"] for column in found.columns] == ["intervals", "prefixes", ""]
    ic.write(FRAME, tmp_path / "data.csv")
    assert workflow.propose(tmp_path / "data.csv", sensitive=["ill"]).schema.sensitive == "ill"
    both = workflow.propose(FRAME, sensitive=["ill", "zip"])
    assert [column["role"] for column in both.columns] == ["quasi", "sensitive", "sensitive"]


def test_publish_gives_plain_data_and_tells_every_stage(tmp_path):
    stages = []
    run = workflow.Run(lambda stage, *_: stages.append(stage), workers=1)
    done = workflow.publish(FRAME, SCHEMA, tmp_path / "out", parameters={"k": 5}, run=run)
    found = json.loads(json.dumps(done.to_dict()))
    assert found["rows"] == {"input": N, "missing": 0, "suppressed": 0, "released": N}
    assert found["guarantees"] == [{"kind": "k", "k": 5}]
    assert found["release"] == str(done.folder) == str(tmp_path / "out")
    assert 0 < found["loss"]["lm"] < 1
    assert list(dict.fromkeys(stages)) == ["coding", "cutting", "verifying", "writing"]
    assert workflow.verify(tmp_path / "out", FRAME).complete
    with pytest.raises(ic.InputError, match="out' already exists"):
        workflow.publish(FRAME, SCHEMA, tmp_path / "out", parameters={"k": 5})


def test_a_cancelled_publication_leaves_nothing(tmp_path):
    def cancel_at(wanted):
        def progress(stage, *_):
            if stage == wanted:
                run.cancel()

        run = workflow.Run(progress)
        return run

    for stage in ("coding", "cutting", "verifying", "writing"):
        with pytest.raises(ic.Cancelled):
            workflow.publish(FRAME, SCHEMA, tmp_path / "out", parameters={"k": 5}, run=cancel_at(stage))
        assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_cancelled_after_the_last_look_is_done(tmp_path):
    def progress(stage, done, _):
        if (stage, done) == ("writing", 1):
            run.cancel()

    run = workflow.Run(progress)
    done = workflow.publish(FRAME, SCHEMA, tmp_path / "out", parameters={"k": 5}, run=run)
    assert workflow.verify(done.folder, FRAME).complete


def test_the_number_of_workers_reaches_the_search(tmp_path, monkeypatch):
    asked = []
    pool = best_cuts.ThreadPoolExecutor
    monkeypatch.setattr(best_cuts, "ThreadPoolExecutor", lambda n: asked.append(n) or pool(n))
    workflow.publish(FRAME, SCHEMA, tmp_path / "out", parameters={"k": 5}, run=workflow.Run(workers=3))
    assert asked == [3]


def test_what_l_on_the_class_costs_is_said_before():
    (text,) = workflow.expect(SCHEMA, {"l": 2})
    assert "at most 50%" in text
    assert "'ill' is both" in text
    assert workflow.expect(SCHEMA, {"alpha": 0.8, "l": 1.1})[0].count("at most 80%") == 1
    assert workflow.expect(SCHEMA, {"k": 5}) == workflow.expect(SCHEMA) == ()
    apart = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=["job"], target="job")
    assert workflow.expect(apart, {"l": 2}) == ()


def test_warnings_of_a_method_are_part_of_the_result(tmp_path):
    asked = {"k": 5, "mode": "paper"}
    done = workflow.publish(FRAME, SCHEMA, tmp_path / "out", method="nsvdist", parameters=asked)
    assert any("mode='paper'" in warning for warning in done.warnings)
    assert done.to_dict()["warnings"] == list(done.warnings)


def test_projections_are_published_in_the_same_words(tmp_path):
    asked = {"k": 5, "generations": 1, "population": 4}
    done = workflow.publish(FRAME, SCHEMA, tmp_path / "out", method="dmpd", parameters=asked, seed=1)
    found = done.to_dict()
    assert found["parts"] == done.release.parts
    assert (found["kind"], found["loss"]) == ("projections", None)
    with pytest.raises(ic.ParameterError, match="projections"):
        workflow.publish(FRAME, SCHEMA, tmp_path / "other", method="dmpd", parameters=asked, attacked=True)


def test_judges_take_sources_and_a_run(tmp_path):
    ic.write(FRAME, tmp_path / "data.csv")
    SCHEMA.to_toml(tmp_path / "data.toml")
    folder = tmp_path / "out"
    workflow.publish(tmp_path / "data.csv", tmp_path / "data.toml", folder, method="mondrian", parameters={"k": 5})
    stages = []
    run = workflow.Run(lambda stage, *_: stages.append(stage))
    assert workflow.verify(folder, tmp_path / "data.csv", run=run).complete
    assert "reading" in stages
    report = workflow.attack(folder, tmp_path / "data.csv", attacks=["linking"], run=run)
    assert json.loads(json.dumps(report.to_dict()))["people"] == N
    judged = workflow.evaluate(folder, test=FRAME[:20], original=FRAME, classifiers="tree", samples=1, run=run)
    assert judged.to_dict()["method"] == "mondrian"
    compared = workflow.compare(
        FRAME, schema=SCHEMA, methods="mondrian", k=[5], cv=2, classifiers="tree", samples=1, run=run
    )
    assert [row["k"] for row in compared.to_dict()["rows"]] == [5]
    run.cancel()
    for work in (
        lambda: workflow.verify(folder, tmp_path / "data.csv", run=run),
        lambda: workflow.attack(folder, FRAME, run=run),
        lambda: workflow.evaluate(folder, test=FRAME, run=run),
        lambda: workflow.compare(FRAME, schema=SCHEMA, run=run),
        lambda: workflow.propose(tmp_path / "data.csv", run=run),
    ):
        with pytest.raises(ic.Cancelled):
            work()


def test_a_model_and_rules_are_audited_by_what_their_files_are(tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(FRAME.select("age").to_numpy(), FRAME["ill"].to_list())
    joblib.dump(model, tmp_path / "model.joblib")
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
    found = workflow.audit(tmp_path / "model.joblib", FRAME.drop("zip"), schema, k=2, trust=True)
    assert found.to_dict()["people"] == N
    rules = pl.DataFrame(
        {"antecedents": ["a", "a|b"], "consequents": ["x", "y"], "support": [0.084, 0.024], "confidence": [0.75, 0.8]}
    )
    ic.write(rules, tmp_path / "rules.tsv")
    found = workflow.audit(tmp_path / "rules.tsv", k=31, public=["a", "b"], people=1000)
    assert not found.ok
    workflow.save_repair(found, tmp_path / "safe.parquet")
    assert ic.read(tmp_path / "safe.parquet").height == 1
