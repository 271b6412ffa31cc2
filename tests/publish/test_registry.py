"""Publishers by name: ours, and those that other packages add by entry point."""

import sys

import polars as pl
import pytest

import incrowd as ic
from incrowd.publish import PUBLISHERS, default_method, describe, find_publisher, make, methods, publisher_names
from incrowd.testing import check_publisher

CODE = '''
"""A publisher of another package."""
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from incrowd.publish import Choice, GroupPublisher

@dataclass(frozen=True, kw_only=True)
class OneGroup(GroupPublisher):
    """All rows in one group."""
    name: ClassVar[str] = "one_group"
    paper: ClassVar[str] = "none"
    kind: ClassVar[str] = "homogeneous"
    cost: ClassVar[str] = "n"

    def choose(self, table, rng, progress):
        last = np.array([[h.n_leaves - 1 for h in table.hierarchies]], np.int32)
        return Choice(np.zeros_like(last), last, np.zeros(table.n_rows, np.int64))

class Unnamed(GroupPublisher):
    name = "unnamed"

class NotOne:
    pass
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package in a folder of its own, with the entry points given."""

    def install(entries, name="others"):
        (tmp_path / "other_publishers.py").write_text(CODE)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "\n".join(f"{entry} = {value}" for entry, value in entries.items())
        (info / "entry_points.txt").write_text(f"[incrowd.publishers]\n{lines}\n")
        if str(tmp_path) not in sys.path:
            monkeypatch.syspath_prepend(str(tmp_path))

    yield install
    sys.modules.pop("other_publishers", None)


def test_names_are_those_of_the_classes():
    assert publisher_names() == list(PUBLISHERS)
    assert all(find_publisher(name).name == name for name in publisher_names())
    assert find_publisher("InfoGainMondrian") is find_publisher("infogain_mondrian") is ic.InfoGainMondrian


def test_a_wrong_name_is_answered_with_the_closest():
    with pytest.raises(ic.ParameterError, match="did you mean mondrian") as refused:
        find_publisher("mondrain")
    assert all(name in str(refused.value) for name in PUBLISHERS)


def test_unknown_parameters_and_a_missing_k_are_refused():
    with pytest.raises(ic.ParameterError, match="'nsvdist' has no parameter 't'"):
        make("nsvdist", k=3, t=0.3)
    with pytest.raises(ic.ParameterError, match="needs k"):
        make("mondrian")


def test_another_package_adds_a_publisher(package):
    package({"one_group": "other_publishers:OneGroup"})
    assert publisher_names() == [*PUBLISHERS, "one_group"]
    assert "other_publishers" not in sys.modules  # a list of names imports nothing
    found = make("One_Group", k=2)
    assert type(found).__name__ == "OneGroup"
    assert {"name": "one_group", "paper": "none"}.items() <= methods()[-1].items()
    assert "A publisher of another package" in describe("one_group")
    with pytest.raises(ic.ParameterError, match="did you mean one_group"):
        find_publisher("onegroup")


def test_a_publisher_of_another_package_passes_the_contract(package, tmp_path):
    package({"one_group": "other_publishers:OneGroup"})
    checks = check_publisher("one_group")
    assert {"same seed, same release", "publishes names", "keeps l=1.3"} < set(checks)
    frame = pl.DataFrame({"q": range(9), "s": list("abc") * 3})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    release = ic.publish(frame, schema, method="one_group", k=3)
    release.save(tmp_path / "out")
    verdict = ic.verify(tmp_path / "out", frame)
    assert verdict.ok
    assert not verdict.unchecked


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("other_publishers:Absent", "cannot be loaded: AttributeError"),
        ("no_such_module:X", "cannot be loaded: ModuleNotFoundError"),
        ("other_publishers:NotOne", "not a subclass"),
        ("other_publishers:Unnamed", "does not say its paper, kind, cost"),
        ("other_publishers:OneGroup", "has the name 'one_group'"),
    ],
)
def test_a_bad_entry_point_is_an_error_only_when_asked_for(package, value, why):
    package({"broken": value})
    assert make("mondrian", k=2) == ic.Mondrian(k=2)
    listed = methods()
    assert [row["name"] for row in listed] == [*PUBLISHERS, "broken"]
    assert why in listed[-1]["promises"]
    with pytest.raises(ic.IncompatibleError, match=why) as refused:
        find_publisher("broken")
    assert "package 'others'" in refused.value.fact


def test_our_names_stay_ours(package):
    package({"mondrian": "other_publishers:OneGroup"})
    assert publisher_names() == list(PUBLISHERS)
    assert find_publisher("mondrian") is ic.Mondrian


def test_two_packages_with_one_name_are_told_apart_by_nobody(package):
    package({"twice": "other_publishers:OneGroup"})
    package({"twice": "other_publishers:NotOne"}, "more")
    with pytest.raises(ic.IncompatibleError, match="by package 'more' and package 'others'"):
        find_publisher("twice")


@pytest.mark.parametrize(
    ("roles", "method"),
    [
        ({"sensitive": "s"}, "best_cuts"),
        ({"sensitive": "s", "other": ["o"], "target": "o"}, "best_cuts"),
        ({"other": ["o"], "target": "o"}, "best_cuts"),
        ({}, "mondrian"),
    ],
)
def test_the_default_is_for_the_class_where_there_is_one(roles, method):
    assert default_method(ic.Schema(quasi={"q": ic.Intervals()}, **roles)) == method
