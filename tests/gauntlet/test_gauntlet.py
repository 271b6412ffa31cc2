"""A short slice of the gauntlet; ``./dev gauntlet`` runs it for as long as you like."""

import random
from dataclasses import replace

import polars as pl
import pytest
from checks.gauntlet.cases import METHODS, Case, make_case
from checks.gauntlet.crashes import fill_disk, kill_once
from checks.gauntlet.forger import Forger, repair_digests
from checks.gauntlet.jobs import Report, plant_all, try_table
from checks.gauntlet.oracle import judge
from checks.gauntlet.plants import PLANTS
from checks.gauntlet.trial import asked_of, try_case

import incrowd as ic
from incrowd.publish import PUBLISHERS

BLIND = {"another polars", "text in version", "group widened"}
"""What the oracle does not know: versions, and how wide a cell must be; `verify` does."""


def test_every_method_is_tried():
    of_series = {
        "m_invariance"
    }  # whose format the oracle does not know: tests/publish/test_m_invariance.py has its own
    assert set(METHODS) == set(PUBLISHERS) - of_series


def test_tables():
    report = Report()
    for number in range(len(METHODS)):
        try_table("slice", number, report)
    assert report.escapes == []
    assert report.total("tables") == len(METHODS)
    assert report.total("tables", "published") >= len(METHODS) // 3


@pytest.mark.parametrize("method", ["nsvdist", "dmpd"])
def test_planted_violations_are_refused(method):
    report, number = Report(), METHODS.index(method)
    while not report.counts:  # a table that can be published
        plant_all("slice", number, report)
        number += len(METHODS)
    assert report.escapes == []
    assert report.total("plants", "refused") >= 30


def test_the_oracle_sees_what_is_planted(tmp_path):
    case = make_case("slice/oracle", 0, method="mondrian", plain=True)
    case.publish().save(tmp_path / "out")
    assert judge(tmp_path / "out", asked_of(case)) == []
    unseen = []
    for plant in PLANTS.values():
        forger = Forger(tmp_path / "out")
        rng = random.Random(plant.name)
        forged = tmp_path / "forged"
        if plant.on_files:
            forger.write(forged)
        if not plant.act(forged if plant.on_files else forger, rng):
            continue
        if plant.on_files:
            repair_digests(forged)
        else:
            forger.write(forged)
        if plant.sure and not judge(forged, asked_of(case)):
            unseen.append(plant.name)
    assert set(unseen) <= BLIND


def test_a_declared_value_that_nobody_has_cannot_be_checked(tmp_path):
    """Cells of a level end at it; `verify` says that it does not know, and the oracle knows why."""
    frame = pl.DataFrame({"a": [1, 2, 5, 6] * 3, "ill": list("xyxyyx") * 2})
    schema = ic.Schema(quasi={"a": ic.Intervals([1, 2, 3, 5, 6, 7])}, sensitive="ill")
    case = Case("", 0, frame, schema, ic.Lattice(k=6), "exact", {"a": "declared"}, {"k": 6})
    assert try_case(case, tmp_path / "out").how == "published"
    assert try_case(replace(case, hierarchies={"a": "intervals"}), tmp_path / "out").how == "escaped"


@pytest.mark.filterwarnings("ignore")  # of a learner about few rows, as in every trial
def test_joined_projections_are_accepted(tmp_path):
    """What joins of them would count is not promised, and no release is incomplete for it."""
    case = make_case("vintage", 16105)
    assert len(case.publish().parts) > 1
    assert try_case(case, tmp_path / "out").how == "published"


def test_a_plant_that_changes_nothing_is_none(tmp_path):
    """Five rows are one group of rows, however large these may be."""
    table = pl.DataFrame({"a": range(5)})
    found = set()
    for seed in range(20):
        table.write_parquet(tmp_path / "a.parquet", compression="zstd", compression_level=3, statistics=False)
        before = (tmp_path / "a.parquet").read_bytes()
        planted = PLANTS["parquet written otherwise"].act(tmp_path, random.Random(seed))
        assert planted == ((tmp_path / "a.parquet").read_bytes() != before)
        found.add(planted)
    assert found == {True, False}


def test_the_catalogue_is_long():
    assert len(PLANTS) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_kills_and_full_disks(number):
    assert kill_once(random.Random(number))[0].how == "survived"
    assert fill_disk(random.Random(number))[0].how in ("refused", "survived")
