"""Releases of a series: honest ones pass, alone and in their chain; whatever breaks the promise is found."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.core import check

SCHEMA = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", identifiers=["name"])
ILLS = ["cold", "flu", "gout", "rash"]


def table(rng, first, n):
    return pl.DataFrame(
        {
            "name": [f"p{first + i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "ill": rng.permutation(np.resize(ILLS, n)),
        }
    )


@pytest.fixture(scope="module")
def months():
    rng = np.random.default_rng(0)
    first = table(rng, 0, 40)
    second = pl.concat([first[3:], table(rng, 40, 5)])
    third = pl.concat([second[2:], table(rng, 45, 6)])
    tables = [first, second, third]
    releases = [ic.MInvariance(k=4).publish(first, SCHEMA, seed=1)]
    for each in tables[1:]:
        releases.append(ic.republish(releases[-1], each, SCHEMA, seed=1))
    return list(zip(releases, tables, strict=True))


def broken(release, original, manifest=None, **changed):
    private = release.private.files(release.quasi) | changed
    told = manifest or release.manifest.to_dict()
    verdict = check(json.loads(json.dumps(told)), release.checked_tables(), original=original, private=private)
    return {each.name for each in verdict.checks if each.ok is False}


def test_honest_releases_pass(months):
    for release, original in months:
        assert not broken(release, original)
        assert release.verify(original).complete
        public = replace(release, private=None).verify()
        assert public.ok
        assert "m" in {each.name for each in public.checks if each.ok is None}


def test_groups_that_are_uneven_are_found(months):
    release, original = months[1]
    group = release.private.evidence.group.copy()
    codes = release.sensitive
    one = 0
    other = next(i for i in range(len(group)) if group[i] != group[one] and codes[i] != codes[one])
    group[[one, other]] = group[[other, one]]
    assert {"m", "people"} & broken(release, original, groups=pl.DataFrame({"group": group}))
    together = np.where(group == group.max(), 0, group)
    assert "m" in broken(release, original, groups=pl.DataFrame({"group": together}))
    assert "m" in broken(release, original, groups=pl.DataFrame({"group": group + 1}))


def test_people_in_a_group_of_others_are_found(months):
    release, original = months[1]
    people, signatures = release.private.evidence.people, release.private.evidence.signatures
    n = signatures["signature"].n_unique()
    assert n > 1
    moved = people.with_columns(signature=(pl.col("signature") + 1) % n)
    assert "people" in broken(release, original, people=moved)
    assert "people" in broken(release, original, people=people[:-1])
    beyond = people.with_columns(signature=pl.lit(n, pl.Int64))
    assert "signatures" in broken(release, original, people=beyond)
    twice = pl.concat([people, people[:1]])
    assert "signatures" in broken(release, original, people=twice)
    overlapping = pl.concat([signatures, pl.DataFrame({"signature": [n, n], "value": ["=cold", "=none"]})])
    known = {number: set(own) for number, own in signatures.group_by("signature").agg("value").iter_rows()}
    has_cold = next(person for person, number in people.iter_rows() if "=cold" in known[number])
    more = pl.concat([people, pl.DataFrame({"person": [has_cold], "signature": [n]})])
    assert "signatures" in broken(release, original, signatures=overlapping, people=more)
    single = pl.concat([signatures, pl.DataFrame({"signature": [n], "value": ["=alone"]})])
    assert "signatures" in broken(release, original, signatures=single)


def test_who_is_who_is_told_by_a_dropped_column_of_the_original(months):
    release, original = months[1]
    person = release.manifest.method.parameters["person"]
    without = original.rename({person: "somebody"})
    told = release.manifest.to_dict() | {"dropped": ["somebody"]}
    assert "people" in broken(release, without, told)
    assert "people" in broken(release, original, release.manifest.to_dict() | {"dropped": []})


def test_exact_counts_are_of_people_without_filler(months):
    first, second, third = (original for _, original in months)
    release = ic.MInvariance(k=4).publish(first, SCHEMA, seed=1, domains="exact")
    for each in (second, third):
        release = ic.republish(release, each, SCHEMA, seed=1, domains="exact")
    assert release.manifest.rows.filler
    assert not broken(release, third)


def test_rows_are_accounted_for(months):
    release, original = months[2]
    assert release.manifest.rows.filler
    told = release.manifest.to_dict()
    rows = told["rows"]
    assert rows["input"] == rows["missing"] + rows["suppressed"] + rows["released"] - rows["filler"]
    wrong = told | {"rows": rows | {"filler": rows["filler"] + 1}}
    assert {"rows", "filler"} <= broken(release, original, wrong)
    both = told | {"rows": rows | {"filler": rows["filler"] + 1, "suppressed": rows["suppressed"] + 1}}
    assert "filler" in broken(release, original, both)
    own = release.private.rows.copy()
    own[np.flatnonzero(own >= 0)[0]] = -1  # somebody is left out, and said to be filler
    assert {"filler", "people"} <= broken(release, original, both, rows=pl.DataFrame({"row": own})) | {"filler"}
    assert "people" in broken(release, original, both, rows=pl.DataFrame({"row": own}))


def test_manifests_that_promise_something_else_are_refused(months):
    release, original = months[1]
    told = release.manifest.to_dict()
    kept = [promise for promise in told["guarantees"] if promise["kind"] != "m"]
    assert "nothing private" in broken(release, original, told | {"guarantees": kept})
    assert "manifest" in broken(release, original, {n: v for n, v in told.items() if n != "series"})
    assert "manifest" in broken(release, original, told | {"format": 2})
    for wrong in ({"id": "somebody's name"}, {"previous": "x"}, {"number": 1}, {"more": 1}):
        assert broken(release, original, told | {"series": told["series"] | wrong}) & {"manifest", "nothing private"}


def test_a_chain_is_followed(months, tmp_path):
    for number, (release, _) in enumerate(months):
        release.save(tmp_path / str(number))
    for number in (1, 2):
        verdict = ic.verify(tmp_path / str(number), months[number][1], after=tmp_path / f"{number - 1}.private")
        assert verdict.ok, verdict.violations
        assert "series" in {each.name for each in verdict.checks}
    assert any("series" in text for text in ic.verify(tmp_path / "2", after=tmp_path / "0").violations)
    other = ic.MInvariance(k=4).publish(months[0][1], SCHEMA)
    other.save(tmp_path / "other")
    assert any("next release" in text for text in ic.verify(tmp_path / "1", after=tmp_path / "other").violations)
    forked = ic.republish(months[0][0], months[1][1].with_columns(age=pl.col("age") + 1), SCHEMA, seed=3)
    forked.save(tmp_path / "forked")
    assert any("another manifest" in text for text in ic.verify(tmp_path / "2", after=tmp_path / "forked").violations)
    alone = ic.Mondrian(k=4).publish(months[0][1], SCHEMA)
    alone.save(tmp_path / "alone")
    for one, before in (("1", "alone"), ("alone", "0"), ("alone", "alone")):
        told = ic.verify(tmp_path / one, after=tmp_path / before).violations
        assert any("one of both is not a release of a series" in text for text in told)
    with pytest.raises(ic.InputError, match="no release before"):
        ic.verify(tmp_path / "1", after=tmp_path / "nowhere")
    kept = tmp_path / "0.private" / "people.parquet"
    pl.read_parquet(kept)[1:].write_parquet(kept)
    assert any("was changed" in text for text in ic.verify(tmp_path / "1", after=tmp_path / "0").violations)


def test_attacks_by_all_releases_are_withstood_by_a_series_only(months):
    releases, tables = zip(*months, strict=True)
    finding = ic.attack(releases[2], tables[2], attacks=["intersection"], earlier=releases[:2])["intersection"]
    assert finding.outcome == "withstood", finding.why
    assert finding.numbers["crowd_min"] >= 4
    fresh = [ic.MInvariance(k=4).publish(each, SCHEMA, seed=i) for i, each in enumerate(tables)]
    found = ic.attack(fresh[2], tables[2], attacks=["intersection"], earlier=fresh[:2])["intersection"]
    assert found.outcome == "promise broken"
    report = ic.attack(releases[2], tables[2], attacks=["linking", "matching", "reconstruction"])
    assert report.ok, str(report)
