"""Two releases that differ by a person: what their counts tell about the one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.attacks.differencing import differences
from incrowd.attacks.published_counts import collect, label_of_people, likelihood
from incrowd.attacks.scene import build_scene
from incrowd.release.cut_points import cut_points
from incrowd.release.domains import rounded

N = 150
QUASI = {
    "age": ic.Intervals(), "zip": ic.Intervals(), "pay": ic.Intervals(), "born": ic.Intervals(),
    "town": None, "job": None, "sex": None,
}  # fmt: skip
SCHEMA = ic.Schema(quasi=QUASI, sensitive="ill")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(17, 90, N),
            "zip": rng.integers(1000, 9999, N),
            "pay": rng.normal(30_000, 9000, N).round(2),
            "born": pl.Series(rng.integers(0, 15_000, N)).cast(pl.Int32()).cast(pl.Date()),
            "town": [f"t{v:02}" for v in rng.geometric(0.1, N)],
            "job": [f"j{v}" for v in rng.integers(0, 9, N)],
            "sex": rng.choice(["f", "m"], N),
            "ill": [f"v{v}" for v in rng.integers(0, 5, N)],
        }
    )


def pair(frame, method, place, domains):
    """Releases with and without one person."""
    less = frame.filter(pl.int_range(frame.height) != place)
    return [method.publish(table, SCHEMA, domains=domains) for table in (frame, less)]


def true_labels(scene, claims, place, value):
    return [
        label_of_people(scene, claim.counts.name)[place]
        if claim.counts.role == "quasi"
        else claim.counts.labels.index(value)
        for claim in claims
    ]


@pytest.mark.parametrize("method", [ic.Mondrian(k=5), ic.NSVDist(k=5)], ids=lambda method: method.name)
@pytest.mark.parametrize("gone", [False, True])
def test_exact_counts_give_the_person_away(frame, method, gone):
    for place in (3, 77):
        more, less = pair(frame, method, place, "exact")
        table = frame.filter(pl.int_range(N) != place) if gone else frame
        under, earlier = (less, more) if gone else (more, less)
        report = ic.attack(under, table, earlier=earlier, attacks=["differencing", "intersection"])
        finding = report["differencing"]
        assert finding.outcome == "promise broken"
        assert (finding.numbers["columns_learned"], finding.numbers["columns"]) == (8, 8)
        assert finding.numbers["crowd"] == 1
        assert finding.at_risk == (() if gone else (place,))
        assert "7 of 7 quasi-identifiers are learned, and the sensitive value" in finding.why
        assert report["intersection"].outcome == "promise broken"
        assert "by subtraction" in report["intersection"].why


def test_what_is_learned_from_exact_counts_is_the_person(frame):
    more, less = pair(frame, ic.NSVDist(k=5), 11, "exact")
    scene = build_scene(more, frame)
    (found,) = differences(scene, [build_scene(less, frame, same=False)])
    truth = true_labels(scene, found.claims, 11, frame[11, "ill"])
    assert [int(claim.belief.argmax()) for claim in found.claims] == truth
    assert all(claim.belief.max() == 1 for claim in found.claims)


def test_joined_domains_and_shares_withstand(frame):
    for place in (3, 77, 120):
        more, less = pair(frame, ic.NSVDist(k=5), place, "joined")
        report = ic.attack(more, frame, earlier=less, attacks=["differencing"])
        finding = report["differencing"]
        assert finding.outcome == "withstood", finding.why
        assert finding.numbers["quasi_learned"] == finding.numbers["sensitive_learned"] == 0
        assert finding.numbers["crowd"] >= 5


def test_exact_sensitive_values_are_subtracted_whatever_the_domains(frame):
    more, less = pair(frame, ic.Mondrian(k=5), 3, "joined")
    finding = ic.attack(more, frame, earlier=less, attacks=["differencing"])["differencing"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["sensitive_learned"] == 1
    assert finding.numbers["quasi_learned"] == 0
    assert finding.numbers["crowd"] >= 5  # the person's group
    assert "publish again only when at least k people were added" in finding.why


def test_the_same_table_again_or_with_k_people_more_tells_nothing(frame):
    for height in (N, N - 5):
        earlier = ic.Mondrian(k=5).publish(frame[:height], SCHEMA, domains="exact")
        under = ic.Mondrian(k=5).publish(frame, SCHEMA, domains="exact")
        finding = ic.attack(under, frame, earlier=earlier, attacks=["differencing"])["differencing"]
        assert finding.outcome == "withstood"
        assert not finding.numbers
    assert ic.attack(under, frame, attacks=["differencing"])["differencing"].outcome == "not applicable"


def test_some_people_more_are_told_as_a_few(frame):
    earlier = ic.Mondrian(k=5).publish(frame[: N - 3], SCHEMA, domains="exact")
    under = ic.Mondrian(k=5).publish(frame, SCHEMA, domains="exact")
    finding = ic.attack(under, frame, earlier=earlier, attacks=["differencing"])["differencing"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["people_who_differ"] == 3
    assert finding.numbers["crowd"] <= 4


def test_another_table_of_nearly_the_same_size_is_no_difference(frame):
    other = frame.with_columns(pl.col("age") + 100)[: N - 1]
    earlier = ic.Mondrian(k=5).publish(other, SCHEMA, domains="exact")
    under = ic.Mondrian(k=5).publish(frame, SCHEMA, domains="exact")
    assert ic.attack(under, frame, earlier=earlier, attacks=["differencing"])["differencing"].outcome == "withstood"


def test_two_who_came_and_one_who_left_are_not_taken_for_one(frame):
    other = pl.concat([frame[2:], frame[5:6]])
    under, earlier = (ic.Mondrian(k=5).publish(table, SCHEMA, domains="exact") for table in (frame, other))
    finding = ic.attack(under, frame, earlier=earlier, attacks=["differencing"])["differencing"]
    assert finding.outcome == "withstood"
    assert not finding.numbers


def test_ranges_that_are_cut_by_chance_rule_nothing_out(frame):
    more, less = pair(frame, ic.NSVDist(k=5), 3, "joined")
    (found,) = differences(build_scene(more, frame), [build_scene(less, frame, same=False)])
    ordered = [claim for claim in found.claims if claim.counts.ordered]
    assert len(ordered) == 4
    for claim in ordered:
        assert (claim.belief > 0).all()


def test_a_value_that_just_k_people_have_is_listed_with_the_person_only(frame):
    towns = frame.with_columns(town=pl.when(pl.int_range(N) < 5).then(pl.lit("rare")).otherwise(pl.lit("large")))
    tree = ic.Taxonomy.from_nested({"all": {"x": ["large"], "y": ["rare"]}})
    schema = ic.Schema(quasi=QUASI | {"town": tree}, sensitive="ill")
    more, less = (ic.NSVDist(k=5).publish(table, schema) for table in (towns, towns[1:]))
    finding = ic.attack(more, towns, earlier=less, attacks=["differencing"])["differencing"]
    assert finding.numbers["quasi_learned"] == 1
    assert finding.numbers["crowd"] == 5
    assert finding.outcome == "withstood"  # five people fit


def test_other_columns_are_subtracted(frame):
    noted = frame.with_columns(note=pl.int_range(N))
    schema = ic.Schema(quasi=QUASI, sensitive="ill", other=["note"])
    more, less = (ic.NSVDist(k=5).publish(table, schema) for table in (noted, noted[1:]))
    finding = ic.attack(more, noted, earlier=less, attacks=["differencing"])["differencing"]
    assert finding.outcome == "promise broken"
    assert (finding.numbers["other_learned"], finding.numbers["sensitive_learned"]) == (1, 0)


def test_likelihoods_are_those_of_all_counts():
    for a, b, k in ((10, 10, 5), (15, 10, 5), (10, 15, 5), (4, 2, 2), (7, 7, 1), (7, 6, 1)):
        for moved in (0, 1):
            by_hand = sum(max(0, 1 - abs(c - a) / k) * max(0, 1 - abs(c - moved - b) / k) for c in range(moved, 100))
            assert likelihood([(a, k)], [(b, k)], moved) == pytest.approx(by_hand)
    assert likelihood([(7, 1)], [(6, 1)], 0) == 0
    assert likelihood([(20, 5)], [(5, 5)], 1) == 0


@pytest.mark.parametrize(("times", "learned"), [(1, False), (400, True)])
def test_roundings_average_out_over_hundreds_of_releases_and_not_over_two(frame, times, learned):
    """Rounding is drawn anew for every release: what one pair hides, some hundred pairs tell."""
    more, less = (ic.NSVDist(k=5).publish(frame[: N - gone], SCHEMA, domains="exact") for gone in (0, 1))
    rng = np.random.default_rng(1)

    def again(release):
        entries = tuple(
            replace(entry, counts=tuple(rounded(np.array(entry.counts), 5, rng).tolist()))
            for entry in release.manifest.quasi
        )
        manifest = replace(release.manifest, quasi=entries, domains="joined")
        return replace(release, manifest=manifest)

    scene, without = build_scene(more, frame), build_scene(less, frame, same=False)
    tables = [replace(scene, release=again(more)) for _ in range(times)]
    others = [replace(without, release=again(less)) for _ in range(times)]
    (found,) = differences(tables[0], [*tables[1:], *others])
    sex = next(claim for claim in found.claims if claim.counts.name == "sex")
    assert sex.sure is learned
    if learned:
        assert sex.counts.labels[int(sex.belief.argmax())] == frame[N - 1, "sex"]


def test_cuts_drawn_by_chance_do_not_tell_where_the_person_was():
    """With a fixed number of rows the first cut that differs is the person's; by chance it is anywhere before."""
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.integers(0, 1000, 400))

    def cuts(values, own):
        found, counts = np.unique(values, return_counts=True)
        return cut_points(found.tolist(), counts.tolist(), least=5, kind="int", rng=own)

    def hits(own):
        right = 0
        for place in range(200, 400, 4):
            one, other = cuts(numbers, own), cuts(np.delete(numbers, place), own)
            first = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one) - 1)
            low = -1 if first == 0 else one[first - 1]
            high = one[first + 1] if first + 1 < len(one) else 1000
            right += low <= numbers[place] <= high
        return right

    assert hits(None) > 40
    assert hits(rng) <= 2


def test_counts_are_those_of_the_manifest(frame):
    release = ic.Mondrian(k=5).publish(frame, SCHEMA)
    scene = build_scene(release, frame)
    for name, counts in collect(scene).items():
        if counts.role == "quasi":
            true = np.bincount(label_of_people(scene, name), minlength=len(counts.labels))
            assert (np.abs(true - counts.counts) < 5).all(), name
            assert (counts.counts % 5 == 0).all()
            assert (true >= 5).all() or not all(counts.single)
