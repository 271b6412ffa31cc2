"""Projections as a payload: frames, folders, the classifier that is trained on them, and what they cannot do."""

import copy
import json
import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import incrowd as ic
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.publish.decomposition.feature_partition import Features

PARTS = [["age", "hours"], ["job"]]


def people(n=160, seed=3):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 60, n), rng.choice(["clerk", "cook"], n)
    rich = (age > 40) ^ (rng.random(n) < 0.1)
    frame = {"name": [f"person {i}" for i in range(n)], "age": age, "job": job, "hours": rng.integers(1, 50, n)}
    return pl.DataFrame(frame | {"rich": np.where(rich & (job == "cook"), "yes", "no")})


SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "job": None}, other=["hours"], sensitive="rich", identifiers=["name"])


@pytest.fixture
def release():
    features = Features.of(people(), SCHEMA, k=5)
    numbered = tuple(tuple(features.frame.columns.index(name) for name in part) for part in PARTS)
    method = Method("dmpd", ic.DMPD(k=5).parameters())
    return features.release(
        people(), numbered, method=method, privacy=Privacy.of(5), seed=17, kind="pandas",
        rng=np.random.default_rng(17), numbers={}, progress=lambda *_: None,
    )  # fmt: skip


def test_what_it_shows(release):
    assert release.parts == PARTS
    assert release.quasi == ["age", "job"]
    assert (release.n_rows, release.target, release.is_empty) == (160, "rich", False)
    assert [list(frame.columns) for frame in release.frames] == [["age", "hours", "rich"], ["job", "rich"]]
    assert all(type(frame).__module__.startswith("pandas") for frame in release.frames)
    assert repr(release) == "ProjectionRelease(dmpd: k = 5; 2 projections; 160 of 160 rows)"
    assert release._repr_html_().count("<table") == 2


def test_folders_come_back(release, tmp_path):
    release.save(tmp_path / "out")
    public = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert public == ["manifest.json"] + [f"projection-{i}.{end}" for i in (1, 2) for end in ("csv", "parquet")]
    secret = sorted(path.name for path in (tmp_path / "out.private").iterdir())
    assert secret == ["manifest.json", "rows-1.parquet", "rows-2.parquet"]
    for loaded in (ic.Release.load(tmp_path / "out"), ic.ProjectionRelease.load(tmp_path / "out")):
        assert type(loaded) is ic.ProjectionRelease
        assert loaded.manifest == release.manifest
        assert loaded.private.seed == 17
        for one, other in zip(loaded.projections, release.projections, strict=True):
            assert one.equals(other)
        for one, other in zip(loaded.private.row_maps, release.private.row_maps, strict=True):
            assert np.array_equal(one, other)
        assert loaded.verify(people()).ok


def test_the_public_folder_tells_nothing_that_puts_rows_together(release, tmp_path):
    release.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "17" not in json.dumps(manifest)
    assert b"person" not in b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    assert ic.Release.load(tmp_path / "out").private is None


def test_private_folders_of_other_releases_are_refused(release, tmp_path):
    release.save(tmp_path / "out")
    file = tmp_path / "out" / "projection-2.parquet"
    pl.read_parquet(file).reverse().write_parquet(file)
    with pytest.raises(ic.InputError, match="does not belong"):
        ic.Release.load(tmp_path / "out")


def test_generalized_rows_are_no_projections(tmp_path):
    ic.Mondrian(k=5).publish(people(), SCHEMA).save(tmp_path / "out")
    assert type(ic.Release.load(tmp_path / "out")) is ic.RowRelease
    with pytest.raises(ic.InputError, match="not a ProjectionRelease"):
        ic.ProjectionRelease.load(tmp_path / "out")


@pytest.mark.parametrize("name", ["frame", "sample", "soft", "transform", "loss", "distributions"])
def test_what_makes_no_sense_says_what_to_use(release, name):
    assert not hasattr(release, name)
    with pytest.raises(AttributeError, match=r"release\.|class as it is"):
        getattr(release, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        release.nonsense  # noqa: B018


def test_the_classifier_predicts_raw_rows(release):
    frame = people()
    model = release.classifier()
    assert isinstance(model, ic.PartitionClassifier)
    assert model.score(frame, frame["rich"].to_numpy()) > 0.85
    few = frame.head(5)
    wanted = model.predict(few)
    assert model.predict(few.to_pandas()).tolist() == wanted.tolist()
    assert model.predict(few.select("job", "hours", "age")).tolist() == wanted.tolist()
    assert pickle.loads(pickle.dumps(model)).predict(few).tolist() == wanted.tolist()
    with pytest.raises(ic.SchemaError, match="no column 'job'"):
        model.predict(few.drop("job"))


def test_the_classifier_is_trained_on_what_was_published(release, tmp_path):
    """Somebody who has the folder alone gets the same model as the owner."""
    frame = people()
    release.save(tmp_path / "out")
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    theirs = ic.Release.load(tmp_path / "out").classifier().predict_proba(frame)
    assert np.array_equal(theirs, release.classifier().predict_proba(frame))


def test_the_classifier_is_that_of_the_unshuffled_table(release):
    """With counts alone, the order of rows does not matter: Eq. (1) of the whole table."""
    frame = release.recode(people())
    whole = ic.PartitionClassifier(PARTS, inducer=GaussianNB()).fit(frame, people()["rich"])
    parts = release.classifier(GaussianNB()).predict_proba(people())
    assert np.allclose(parts, whole.predict_proba(frame))


def test_unshuffled_projections_give_the_estimator_itself():
    frame = people()
    whole = ic.PartitionClassifier(PARTS).fit(frame, frame["rich"])
    apart = ic.PartitionClassifier(PARTS).fit_projections([frame.select(*part, "rich") for part in PARTS], "rich")
    assert np.array_equal(whole.predict_proba(frame), apart.predict_proba(frame))
    apart.fit(frame, frame["rich"])
    assert np.array_equal(whole.predict_proba(frame), apart.predict_proba(frame))


def test_projections_of_different_tables_are_refused():
    frame = people()
    with pytest.raises(ic.ParameterError, match="same classes"):
        ic.PartitionClassifier().fit_projections(
            [frame.select("age", "rich"), frame.filter(pl.col("rich") == "no").select("job", "rich")], "rich"
        )


def test_the_class_alone():
    frame = people()
    release = ic.DMPD(k=150, generations=1, population=4).publish(frame, SCHEMA)
    assert release.is_empty
    assert release.parts == [[]]
    assert [list(each.columns) for each in release.frames] == [["rich"]]
    assert "the class alone" in repr(release)
    assert set(release.classifier().predict(frame)) == {"no"}
    shares = release.classifier().predict_proba(frame)[0]
    assert shares == pytest.approx([(frame["rich"] == name).mean() for name in ("no", "yes")])


def test_copies_and_input_stay_as_they_are(release):
    frame = people()
    before = frame.clone()
    twin = copy.deepcopy(release)
    twin.classifier().predict(frame)
    twin.verify(frame)
    assert frame.equals(before)
    assert twin.manifest == release.manifest
