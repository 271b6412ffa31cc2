"""Pictures: bars of at least k people, from what is published."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from report_cases import KINDS, crowd, crowd_schema

import incrowd as ic
from incrowd.report.bars import picture_of_names, quasi_picture, spread


def test_rows_are_spread_evenly_over_their_cells():
    lo, hi = np.array([0, 1, 0]), np.array([0, 2, 2])
    assert spread(lo, hi, np.array([1.0, 1.0, 2.0])) == pytest.approx([1 + 1 / 4, 1 / 3 + 1 / 4, 2 / 3 + 2 / 4])


def test_every_bar_is_of_at_least_k_people_and_all_add_up():
    release = KINDS["rows"]()
    for m, entry in enumerate(release.manifest.quasi):
        bars = quasi_picture(release, m).bars
        total = sum(entry.counts)
        assert bars
        for bar in bars:
            assert bar.before * total >= release.manifest.k - 1e-9
        assert sum(bar.before for bar in bars) == pytest.approx(1)
        assert sum(bar.after for bar in bars) <= 1 + 1e-9


def test_before_is_what_the_manifest_counts():
    release = KINDS["rows"]()
    age = quasi_picture(release, 0).bars
    assert [bar.before * 24 for bar in age] == pytest.approx(release.manifest.quasi[0].counts)
    assert [bar.label for bar in age] == ["21 to 29", "30 to 40", "41 to 53", "54 to 66"]
    assert [bar.end for bar in age[:-1]] == [bar.start for bar in age[1:]]


def test_a_column_that_kept_everything_looks_the_same_after():
    frame = crowd()
    release = ic.Mondrian(k=1).publish(frame, crowd_schema(), seed=1)
    for m in range(2):
        for bar in quasi_picture(release, m).bars:
            assert bar.after == pytest.approx(bar.before, abs=1e-6)


def test_rare_values_are_joined_and_too_few_of_them_are_not_shown():
    names = ["a", "b", "c", "d"]
    joined = picture_of_names(names, None, np.array([50.0, 8, 7, 35]), k=10)
    assert [bar.label for bar in joined.bars] == ["a", "d", "2 other values, joined"]
    assert joined.bars[-1].after == pytest.approx(0.15)
    hidden = picture_of_names(names, None, np.array([50.0, 2, 1, 35]), k=10)
    assert [bar.label for bar in hidden.bars] == ["a", "d"]
    assert hidden.note == "2 values of fewer than 10 people in all: not shown."


def test_many_values_are_the_most_frequent_ones_in_their_order():
    counts = np.array([20.0, 90, 30, 80, 40, 70, 50, 60, 21, 22, 23, 24])
    found = picture_of_names([f"v{i}" for i in range(12)], counts, counts, k=5)
    assert [bar.label for bar in found.bars][:3] == ["v1", "v2", "v3"]
    assert found.bars[-1].label == "2 other values, joined"
    assert found.bars[-1].before == pytest.approx(41 / counts.sum())


def test_exact_domains_are_joined_too():
    frame = crowd()
    release = ic.Mondrian(k=20).publish(frame, crowd_schema(), seed=1, domains="exact")
    assert min(release.manifest.quasi[0].counts) < 20
    for m in range(2):
        for bar in quasi_picture(release, m).bars:
            assert bar.before * frame.height >= 20 - 1e-6


@pytest.mark.parametrize("kind", ["date", "float", "missing", "constant"])
def test_every_kind_of_range_can_be_drawn(kind):
    n = 120
    values = {
        "date": [date(2001, 2, 3) + timedelta(days=9 * i) for i in range(n)],
        "float": [i / 7 - 3 for i in range(n)],
        "missing": [None if i % 4 == 0 else i for i in range(n)],
        "constant": [7] * n,
    }[kind]
    frame = pl.DataFrame({"q": values, "r": [i % 3 for i in range(n)], "ill": ["no", "yes"] * (n // 2)})
    schema = ic.Schema(quasi={"q": ic.Intervals(), "r": ic.Intervals()}, sensitive="ill")
    release = ic.Mondrian(k=10).publish(frame, schema, seed=1)
    story = release.report().summary.columns.each[0]
    assert sum(bar.before for bar in story.bars) == pytest.approx(0.75 if kind == "missing" else 1, abs=0.1)
    assert all(bar.start <= bar.end for bar in story.bars)
    if kind == "date":
        assert story.bars[0].label.startswith("2001-02-03")
    if kind == "missing":
        assert "missing values, of about" in story.note


def test_shares_are_drawn_beside_the_published_counts():
    story = KINDS["shares"]().report().summary.columns.each[-1]
    assert story.name == "disease"
    assert sum(bar.after for bar in story.bars) == pytest.approx(1)
    counts = KINDS["shares"]().manifest.sensitive.counts
    assert [bar.before * sum(counts) for bar in story.bars] == pytest.approx(counts)
