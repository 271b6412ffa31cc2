"""The papers' tables: counts as published, the same from every source, and errors that name the ways."""

import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from incrowd import datasets
from incrowd.datasets import DATASETS
from incrowd.datasets.schemas import NSVDIST

# Rows without a missing value and the most frequent class, as UCI and the papers (NSVDist Table 3) count them.
PACKAGED = {
    "abalone": (4177, 689),
    "breast_cancer": (683, 444),
    "cmc": (1473, 629),
    "ecoli": (336, 143),
    "mammographic": (830, 427),
    "yeast": (1484, 463),
    "german": (1000, 700),
    "heart_cleveland": (297, 160),
    "pima": (768, 500),
    "nursery": (12960, 4320),
    "adult": (30162, 22654),
    "adult_test": (15060, 11360),
}
# Table 3's "Diversity": one over the share of the most frequent class.
DIVERSITY = {"abalone": 6.06, "breast_cancer": 1.54, "cmc": 2.34, "ecoli": 2.35, "mammographic": 1.94, "yeast": 3.21}


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("INCROWD_DATA", raising=False)


@pytest.mark.parametrize("name", PACKAGED)
def test_counts_are_those_of_the_papers(name, no_folder):
    frame = datasets.load(name).drop_nulls()
    table = DATASETS[name]
    assert frame.columns == list(table.columns)
    assert frame.height == table.n_complete
    top = frame[table.target].value_counts()["count"].max()
    assert (frame.height, top) == PACKAGED[name]
    if name in DIVERSITY:
        assert round(frame.height / top, 2) == DIVERSITY[name]


@pytest.mark.parametrize("name", [name for name in NSVDIST if name in PACKAGED])
def test_schemas_name_columns_that_exist(name, no_folder):
    schema = datasets.schema(name, paper="nsvdist")
    assert schema.sensitive == DATASETS[name].target
    assert set(schema.quasi) < set(DATASETS[name].columns)
    schema.check(datasets.load(name))


def test_a_schema_publishes(no_folder):
    frame = datasets.load("mammographic")
    release = ic.Mondrian(k=50, l=1.1).publish(frame, datasets.schema("mammographic"), seed=1, domains="exact")
    assert release.n_rows == 830
    assert [h.n_leaves for h in release.hierarchies][2:] == [4, 5, 4]


def test_dmpd_lets_any_attribute_be_one(no_folder):
    schema = datasets.schema("german", paper="dmpd")
    assert schema.quasi == list(DATASETS["german"].columns[:-1])
    assert isinstance(schema.attributes["age"].hierarchy, ic.Intervals)
    assert schema.attributes["purpose"].hierarchy is None
    assert datasets.schema("german", paper="dmpd", quasi=["age", "job"]).quasi == ["age", "job"]


def test_adult_has_taxonomies_for_names_and_trees_for_numbers(no_folder):
    adult = datasets.schema("adult")
    assert len(adult.quasi) == 14
    assert isinstance(adult.attributes["workclass"].hierarchy, ic.Taxonomy)
    assert adult.attributes["age"].hierarchy == ic.balanced(5)


def test_the_folder_comes_first(monkeypatch, tmp_path):
    cmc = DATASETS["cmc"]
    rows = pl.DataFrame({name: [1, 2, 3] * 491 for name in cmc.columns}).cast(pl.String())
    rows = rows.with_columns(
        pl.when(pl.int_range(pl.len()) > 0).then("wife_age").otherwise(pl.lit("?")).alias("wife_age")
    )
    rows.write_csv(tmp_path / "cmc.csv")
    monkeypatch.setenv("INCROWD_DATA", str(tmp_path))
    frame = datasets.load("cmc")
    assert frame["wife_age"].null_count() == 1
    assert frame["wife_age"].dtype == pl.Int64
    assert datasets.load("ecoli").height == 336  # not in the folder: from the package


def test_damaged_files_are_refused(monkeypatch, tmp_path):
    cmc = DATASETS["cmc"]
    rows = pl.DataFrame({name: [1, 2, 3] for name in cmc.columns})
    rows.write_csv(tmp_path / "cmc.csv")
    monkeypatch.setenv("INCROWD_DATA", str(tmp_path))
    with pytest.raises(ic.InputError, match="3 rows and 3 classes"):
        datasets.load("cmc")
    rows.drop("class").write_csv(tmp_path / "cmc.csv")
    with pytest.raises(ic.InputError, match="no column 'class'"):
        datasets.load("cmc")


def test_a_table_that_nobody_carries_names_the_ways(no_folder):
    with pytest.raises(ic.MissingDependencyError, match="page_blocks") as error:
        datasets.load("page_blocks")
    assert "INCROWD_DATA" in error.value.hint
    assert "download=True" in error.value.hint


def test_openml_is_asked_on_request(no_folder, monkeypatch):
    """A stand-in for the network: the reply of `fetch_openml` for Heart (Statlog), numbers as floats."""
    heart = DATASETS["heart_statlog"]
    reply = pd.DataFrame({f"V{i}": [1.0, 2.5] * 135 for i in range(14)})
    reply["V13"] = pd.Categorical(["absent", "present"] * 135)
    asked = []

    class Reply:
        frame = reply

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: asked.append(options["data_id"]) or Reply)
    frame = datasets.load("heart_statlog", download=True)
    assert asked == [heart.openml]
    assert frame.columns == list(heart.columns)
    assert frame["class"].dtype == pl.String
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: (_ for _ in ()).throw(OSError()))
    with pytest.raises(ic.InputError, match="OpenML did not"):
        datasets.load("heart_statlog", download=True)


def test_unknown_names(no_folder):
    with pytest.raises(ic.ParameterError, match="'cmd'"):
        datasets.load("cmd")
    with pytest.raises(ic.ParameterError, match="does not use"):
        datasets.schema("german", paper="nsvdist")
    with pytest.raises(ic.ParameterError, match="paper is"):
        datasets.schema("cmc", paper="iac")
