"""A public report contains nothing that the release does not: it may be handed out."""

import json
import re
from dataclasses import fields, is_dataclass, replace

import numpy as np
import polars as pl
import pytest
from report_cases import KINDS, crowd, crowd_schema, people, report

import incrowd as ic
from incrowd.report import Report
from incrowd.report.rates import Rate
from incrowd.report.summary import Summary

MARK = "Zaphod"


def numbers(value):
    """All numbers in a summary that are no rates, texts included; and all rates."""
    if isinstance(value, Rate):
        return [], [value]
    if is_dataclass(value):
        found = [numbers(getattr(value, each.name)) for each in fields(value)]
    elif isinstance(value, tuple | list):
        found = [numbers(each) for each in value]
    elif isinstance(value, dict):
        found = [numbers(each) for each in value.values()]
    elif isinstance(value, str):
        return re.findall(r"\d+(?:\.\d+)?", value), []
    else:
        return ([] if value is None or isinstance(value, bool) else [str(value)]), []
    return [each for plain, _ in found for each in plain], [each for _, rates in found for each in rates]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
def test_with_the_original_come_outcomes_and_rates_and_no_other_number(kind):
    alone = report(kind, original=False).summary
    beside = report(kind, evaluate=kind == "shares").summary
    for part in ("promise", "columns", "risks", "making", "limits"):
        assert getattr(alone, part) == getattr(beside, part)
    assert alone.judgement.reached == beside.judgement.reached
    manifest, attacks = KINDS[kind]().manifest, beside.adversaries.lines
    judged = sum(line.outcome in ("withstood", "reported", "promise broken") for line in attacks)
    # Not of the original: how many attacks there are, what counts as sure, folds, the level of intervals, and steps.
    constants = {
        len(attacks),
        judged,
        90,
        95,
        5,
        f"{manifest.belief:.0%}"[:-1],
        f"{manifest.k / people().height:.1%}"[:-1],
    }
    told, rates = numbers(beside)
    assert set(told) - set(numbers(alone)[0]) <= set(map(str, constants))
    k = manifest.k
    for rate in rates:
        assert rate.share is None or rate.step >= k / people().height - 1e-9
        steps = 0 if rate.share in (None, 1.0) else rate.share / rate.step
        assert abs(steps - round(steps)) < 1e-3


def test_details_of_the_verifier_are_those_of_the_public_check_only():
    public = replace(KINDS["shares"](), private=None).verify()
    told = {check.name: check.detail for check in public.checks}
    for line in report("shares").summary.judgement.checks:
        assert line.detail in ("", told.get(line.name))
    exact = report("shares", for_owner=True).summary.judgement.checks
    assert any("distinct originals" in line.detail for line in exact)


@pytest.mark.parametrize("method", [ic.Mondrian(k=20), ic.NSVDist(k=20, l=1.1)], ids=lambda m: m.name)
def test_no_cell_name_or_rare_value_of_the_original_is_in_any_form(method, tmp_path):
    frame = crowd()
    names = pl.Series([f"{MARK}{i}" for i in range(frame.height)])
    frame = frame.with_columns(
        name=names,
        secret=pl.Series(np.arange(frame.height) + 7_000_000),
        town=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("Magrathea")).otherwise("town"),
        age=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(63)).otherwise("age"),
    )
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "town": ic.frequency(2)}, sensitive="ill", identifiers=["name", "secret"]
    )
    release = method.publish(frame, schema, seed=1)
    release.save(tmp_path / "r")
    found = ic.Release.load(tmp_path / "r").report(frame, evaluate=False)
    for written in (found.html, found._repr_html_(), json.dumps(found.to_dict()), str(found), repr(found)):
        assert MARK not in written
        assert "Magrathea" not in written
        assert not re.search(r"7000\d\d\d", written)
        assert str(tmp_path) not in written


def _fixed_randomness(monkeypatch):
    """Let runs on two originals draw the same: only then can their releases be the same."""
    monkeypatch.setattr("incrowd.release.seal.fingerprint", lambda _frame: b"same")


def _neighbours(frame, seed, tries):
    """Tables that differ from this one in one person: the name, or the age by a year or two."""
    rng = np.random.default_rng(seed)
    for _ in range(tries):
        at, by = int(rng.integers(frame.height)), int(rng.choice([-2, -1, 1, 2]))
        ages = frame["age"].to_list()
        ages[at] += by
        yield frame.with_columns(age=pl.Series(ages))
    yield frame.with_columns(name=pl.Series([MARK, *frame["name"].to_list()[1:]]))


_QUICK = ["linking", "matching", "minimality", "classifier"]


@pytest.mark.parametrize(
    ("method", "attacks"),
    [
        (ic.Mondrian(k=20), None),
        (ic.NSVDist(k=20, l=1.1), _QUICK),
        pytest.param(ic.BestCuts(k=20, l=1.1, runs=2), None, marks=pytest.mark.slow),
        pytest.param(ic.NSVDist(k=20, l=1.1), None, marks=pytest.mark.slow),
    ],
    ids=lambda given: getattr(given, "name", "all" if given is None else "quick"),
)
def test_two_originals_that_the_release_does_not_tell_apart_have_the_same_report(method, attacks, monkeypatch):
    _fixed_randomness(monkeypatch)
    frame = crowd()
    release = method.publish(frame, crowd_schema(), seed=1)
    expected = release.report(frame, evaluate=False, attacks=attacks).html
    alike = 0
    for other in _neighbours(frame, 5, 6):
        same = method.publish(other, crowd_schema(), seed=1)
        if same.manifest != release.manifest or not same.coded().equals(release.coded()):
            continue  # the release itself tells them apart
        alike += 1
        assert same.report(other, evaluate=False, attacks=attacks).html == expected
    assert alike >= 2


def test_the_owners_report_does_tell_them_apart_so_the_test_above_can_fail(monkeypatch):
    _fixed_randomness(monkeypatch)
    frame = crowd()
    method = ic.NSVDist(k=20, l=1.1)
    pages = set()
    for other in [frame, *_neighbours(frame, 5, 6)]:
        release = method.publish(other, crowd_schema(), seed=1)
        found = release.report(other, evaluate=False, for_owner=True, attacks=["linking", "matching"])
        pages.add((release.manifest.to_json(), found.html))
    assert len(pages) > len({manifest for manifest, _ in pages})


@pytest.mark.slow
def test_one_person_changes_what_classifiers_keep_by_a_step_at_most(monkeypatch):
    _fixed_randomness(monkeypatch)
    frame, method = crowd(), ic.Mondrian(k=20)
    release = method.publish(frame, crowd_schema(), seed=1)
    before = release.report(frame, attack=False).summary.usefulness
    assert before.lines
    for other in _neighbours(frame, 5, 1):
        changed = method.publish(other, crowd_schema(), seed=1).report(other, attack=False).summary.usefulness
        for one, two in zip(before.lines, changed.lines, strict=True):
            for rate, its in ((one.accuracy, two.accuracy), (one.original, two.original), (one.majority, two.majority)):
                assert rate.step >= 20 / 240
                assert abs(rate.share - its.share) <= rate.step + 1e-9


def test_a_folder_and_the_release_in_memory_have_the_same_public_report_but_for_the_checks_of_files(tmp_path):
    release = KINDS["rows"]()
    release.save(tmp_path / "r")
    loaded = ic.Release.load(tmp_path / "r")
    assert loaded.report(people(), evaluate=False).html == report("rows").html
    (tmp_path / "r.private").rename(tmp_path / "elsewhere")
    stranger = ic.Release.load(tmp_path / "r").report().summary
    owner = release.report().summary
    assert replace(stranger, judgement=owner.judgement) == owner


def test_what_the_owner_keeps_changes_nothing_but_the_checks():
    towns = [f"town{i * 7 % 40:02}" if i % 3 else "town05" for i in range(240)]  # most are rare
    frame = crowd().with_columns(town=pl.Series(towns))
    roles = ic.Schema(quasi={"age": ic.Intervals(), "town": ic.balanced(3)}, sensitive="ill", identifiers=["name"])
    release = ic.Mondrian(k=10).publish(frame, roles, seed=1)
    stranger = replace(release, private=None)
    assert release.loss("lm") != stranger.loss("lm")  # the owner knows values that are not listed
    found, theirs = release.report().summary, stranger.report().summary
    assert found.columns.lost == pytest.approx(stranger.loss("lm"), abs=1e-4)
    assert replace(found, judgement=theirs.judgement) == theirs


def test_an_owners_report_says_so_and_is_closed_to_others(tmp_path):
    found = report("rows", for_owner=True)
    assert found.html.count("For the owner only") == 2
    assert found.html.index("For the owner only") < found.html.index("<h1>")
    assert str(found).startswith("For the owner only.")
    found.save(tmp_path / "owner.html")
    assert (tmp_path / "owner.html").stat().st_mode & 0o077 == 0
    public = report("rows")
    assert "For the owner" not in public.html
    assert "Safe to hand out" in public.html


def test_a_report_is_the_same_every_time():
    release = KINDS["rows"]()
    assert release.report(people(), evaluate=False).html == report("rows").html
    assert isinstance(report("rows"), Report)
    assert isinstance(report("rows").summary, Summary)
