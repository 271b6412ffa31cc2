"""Several sensitive columns: every limit of each of them, judged by plain code on what is published."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.publish import PUBLISHERS, make
from incrowd.schema.schema import Attribute, Role
from incrowd.verify.csv_text import for_people
from incrowd.verify.manifest import read_claims

GROUPS = sorted(name for name, publisher in PUBLISHERS.items() if publisher.several and name != "nsvdist")
ONE_ONLY = sorted(name for name, publisher in PUBLISHERS.items() if not publisher.several)
SECRETS = ["ill", "faith"]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    return pl.DataFrame(
        {
            "age": age,
            "job": rng.choice(["clerk", "driver", "nurse", "teacher"], n),
            "ill": np.where(rng.random(n) < 0.3, "flu", rng.choice(["asthma", "none", "ulcer"], n)),
            "faith": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "income": np.where(age + rng.normal(0, 9, n) > 40, "high", "low"),
        }
    )


SCHEMA = ic.Schema(
    quasi={"age": ic.Intervals(), "job": ic.balanced(2)}, sensitive=SECRETS, other=["income"], target="income"
)
PLAIN = ic.Schema(quasi={"age": ic.Intervals(), "job": ic.balanced(2)}, sensitive=SECRETS, rest="drop")


def keeps(values, table, l=1, l_kind="frequency", t=None, alpha=None):
    counts, n = Counter(values), len(values)
    top = max(counts.values())
    if l_kind == "frequency" and top * l > n * (1 + 1e-12):
        return False
    if l_kind == "distinct" and len(counts) < l:
        return False
    if l_kind == "entropy" and -sum(c / n * log(c / n) for c in counts.values()) < log(l) - 1e-9:
        return False
    if alpha is not None and top > alpha * n * (1 + 1e-12):
        return False
    whole = Counter(table)
    far = sum(abs(counts[v] / n - whole[v] / len(table)) for v in whole) / 2
    return t is None or far <= t + 1e-9


def groups_of(release):
    found = defaultdict(list)
    for row in release.frame.iter_rows(named=True):
        found[tuple(row[name] for name in release.quasi)].append(row)
    return list(found.values())


def assert_kept(release, k, limits, others_known=False):
    rows = list(release.frame.iter_rows(named=True))
    for group in groups_of(release):
        assert len(group) >= k
        for column, asked in limits.items():
            parts = [group]
            if others_known:
                for other in limits.keys() - {column}:
                    by_other = defaultdict(list)
                    for row in group:
                        by_other[row[other]].append(row)
                    parts += by_other.values()
            for part in parts:
                assert keeps([row[column] for row in part], [row[column] for row in rows], **asked)


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "l": st.sampled_from([1, 1.2, 1.5, 2]),
        "t": st.sampled_from([0.1, 0.3, 0.6]),
        "alpha": st.sampled_from([0.5, 0.8]),
    },
)


@settings(max_examples=settings().max_examples * 2)
@given(st.sampled_from(GROUPS), st.integers(1, 60), st.integers(0, 999), st.integers(1, 8), LIMITS, LIMITS)
def test_groups_keep_the_limits_of_each_column(name, n, seed, k, ill, faith):
    frame, each = people(n, seed), {"ill": ill, "faith": faith}
    given = {key: {c: own[key] for c, own in each.items() if key in own} for key in ("l", "t", "alpha")}
    anything = {"delta_c": None, "delta_d": None, "keep_values": False} if name == "iacc" else {}
    method = make(name, k=k, **{key: own for key, own in given.items() if own}, **anything)
    whole = all(keeps(frame[c].to_list(), frame[c].to_list(), **own) for c, own in each.items())
    if n < k or not whole:
        with pytest.raises(ic.InfeasibleError):
            method.publish(frame, PLAIN, seed=seed)
        return
    release = method.publish(frame, PLAIN, seed=seed)
    assert_kept(release, k, each)
    assert release.verify(frame).ok


@pytest.mark.slow
@settings(max_examples=settings().max_examples)
@given(st.sampled_from(GROUPS), st.integers(20, 80), st.integers(0, 999), st.sampled_from(["frequency", "entropy"]))
def test_who_knows_one_column_learns_no_more_of_the_other(name, n, seed, kind):
    frame, asked = people(n, seed), {"l": 1.25, "l_kind": kind}
    try:
        release = make(name, k=3, others_known=True, **asked).publish(frame, PLAIN, seed=seed)
    except ic.InfeasibleError:
        assume(False)
    assert_kept(release, 3, dict.fromkeys(SECRETS, asked), others_known=True)
    assert release.verify(frame).ok
    assert all(promise.others_known for promise in release.manifest.guarantees if promise.kind == "l")


def test_three_columns_and_distinct_values():
    frame = people(300)
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive=[*SECRETS, "income"], rest="drop")
    limits = {"ill": {"l": 3, "l_kind": "distinct"}, "faith": {"l": 1.5}, "income": {"t": 0.5}}
    release = ic.Mondrian(
        k=5, l={"ill": 3, "faith": 1.5}, l_kind={"ill": "distinct"}, t={"income": 0.5}
    ).publish(frame, schema, seed=1)  # fmt: skip
    assert len(groups_of(release)) > 3
    assert_kept(release, 5, limits)
    told = [promise.text for promise in release.manifest.guarantees]
    assert told == ["k = 5", "l = 3 (distinct) for 'ill'", "l = 1.5 for 'faith'", "t = 0.5 for 'income'"]


def test_shares_of_each_column_are_told_by_blocks(tmp_path):
    frame = people(400)
    release = ic.NSVDist(k=10, l={"ill": 1.8, "faith": 1.4}).publish(frame, SCHEMA, seed=1)
    assert release.verify(frame).ok
    for name, l in (("ill", 1.8), ("faith", 1.4)):
        own = release.about(name)
        assert own.distributions.max() <= 1 / l + 1e-9
        blocks = release.private.evidence.block
        values = frame[name].gather(release.private.rows).to_list()
        for block in set(blocks.tolist()):
            inside = [value for value, at in zip(values, blocks, strict=True) if at == block]
            assert len(inside) >= 10
            assert max(Counter(inside).values()) <= len(inside) / l
    release.save(tmp_path / "out")
    loaded = ic.Release.load(tmp_path / "out")
    assert loaded.frame.equals(release.frame)
    verdict = ic.verify(tmp_path / "out", original=frame)
    assert verdict.ok
    assert verdict.complete
    assert {f"{c} of {name!r}" for c in ("blocks", "shares", "l (frequency)") for name in SECRETS} <= {
        check.name for check in verdict.checks
    }


def test_folder_sample_training_and_attacks(tmp_path):
    frame = people(200)
    release = ic.publish(frame, SCHEMA, k=8, l=1.5, seed=1)
    assert release.manifest.method.name == "best_cuts"
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out", original=frame).ok
    loaded = ic.Release.load(tmp_path / "out")
    assert loaded.frame.equals(release.frame)
    assert loaded.manifest == release.manifest
    assert set(release.sample(seed=1).columns) == {"age", "job", *SECRETS, "income"}
    assert release.training().height == 200
    with pytest.raises(ic.IncompatibleError, match="2 sensitive columns"):
        _ = release.sensitive
    report = ic.attack(release, frame, attacks=["linking", "matching", "minimality"])
    assert report.ok
    assert [(f.attack, f.column) for f in report.findings] == [
        (attack, name) for name in SECRETS for attack in ("linking", "matching", "minimality")
    ]


@pytest.mark.parametrize("name", ONE_ONLY)
def test_methods_that_protect_one_column_say_so(name):
    with pytest.raises(ic.IncompatibleError, match="protects one sensitive column"):
        make(name, k=2).publish(people(30), PLAIN)


def test_limits_of_the_schema_hold_whatever_was_asked_for():
    frame = people(200)
    attributes = [
        replace(own, limits={"ill": {"l": 2}, "faith": {"alpha": 0.75}}.get(name, {}))
        for name, own in SCHEMA.attributes.items()
    ]
    schema = ic.Schema.of(attributes, target="income")
    release = ic.Mondrian(k=4).publish(frame, schema, seed=1)
    assert [promise.text for promise in release.manifest.guarantees] == [
        "k = 4", "l = 2 for 'ill'", "alpha = 0.75 for 'faith'"
    ]  # fmt: skip
    assert_kept(release, 4, {"ill": {"l": 2}, "faith": {"alpha": 0.75}})
    with pytest.raises(ic.ParameterError, match="the schema asks for 2 of column 'ill'"):
        ic.Mondrian(k=4, l=1.5).publish(frame, schema)
    with pytest.raises(ic.IncompatibleError, match="no alpha, which the schema asks for column 'faith'"):
        ic.NSVDist(k=4).publish(frame, schema)
    one = ic.Schema.of([Attribute("age", Role.QUASI), Attribute("ill", Role.SENSITIVE, limits={"l": 2})], rest="drop")
    assert [p.text for p in ic.NSVDist(k=4).publish(frame, one, seed=1).manifest.guarantees] == ["k = 4", "l = 2"]


def test_others_known_is_about_limits_of_the_schema_too():
    frame = people(200)
    attributes = [replace(own, limits={"l": 1.2} if own.name == "ill" else {}) for own in PLAIN.attributes.values()]
    release = ic.Mondrian(k=4, others_known=True).publish(frame, ic.Schema.of(attributes, rest="drop"), seed=1)
    promised = [promise for promise in release.manifest.guarantees if promise.kind == "l"]
    assert [(promise.column, promise.others_known) for promise in promised] == [("ill", True)]
    for group in groups_of(release):
        for faith in {row["faith"] for row in group}:
            assert keeps([row["ill"] for row in group if row["faith"] == faith], frame["ill"].to_list(), l=1.2)
    with pytest.raises(ic.ParameterError, match="none of them was given"):
        ic.Mondrian(k=4, others_known=True).publish(frame, PLAIN)


def test_what_cannot_be_is_refused():
    frame = people(40)
    with pytest.raises(ic.ParameterError, match="'age'"):
        ic.Mondrian(k=2, l={"age": 2}).publish(frame, PLAIN)
    with pytest.raises(ic.InfeasibleError) as caught:
        ic.Mondrian(k=2, l={"faith": 3}).publish(frame, PLAIN)
    assert set(caught.value.best["l"]) == {"faith"}
    ic.Mondrian(k=2, l=caught.value.best["l"]).publish(frame, PLAIN)
    with pytest.raises(ic.ParameterError, match="others_known is about several"):
        ic.Mondrian(k=2, l=2, others_known=True).publish(frame, ic.Schema(quasi=["job"], sensitive="ill", rest="drop"))
    copied = frame.with_columns(faith=pl.col("ill"))
    with pytest.raises(ic.InfeasibleError, match="share a value of the other"):
        ic.Mondrian(k=2, l=1.2, others_known=True).publish(copied, PLAIN)
    with pytest.raises(ic.IncompatibleError, match="mode='paper' protects one"):
        ic.NSVDist(k=2, mode="paper").publish(frame, PLAIN)


def test_broken_promises_about_either_column_are_found():
    frame = people(300)
    release = ic.Mondrian(k=10, l={"ill": 1.6, "faith": 1.3}).publish(frame, PLAIN, seed=1)
    for at, name in enumerate(SECRETS):
        group = int(np.bincount(release.cell_of).argmax())
        codes = release.secrets[at].codes.copy()
        codes[release.cell_of == group] = codes[release.cell_of == group][0]
        secrets = [replace(s, codes=codes) if s.name == name else s for s in release.secrets]
        verdict = replace(release, secrets=tuple(secrets)).verify(frame)
        wrong = [check.name for check in verdict.checks if check.ok is False]
        assert f"l (frequency) of {name!r}" in wrong
        assert f"own value of {name!r}" in wrong
        assert not any(other in check for check in wrong for other in SECRETS if other != name)


def test_guarantees_that_are_dropped_or_moved_are_found():
    frame = people(300)
    release = ic.Mondrian(k=10, l={"ill": 1.6, "faith": 1.3}).publish(frame, PLAIN, seed=1)
    promises = release.manifest.guarantees
    for forged in (
        promises[:2],
        (promises[0], promises[2]),
        (promises[0], *(replace(p, column="faith") for p in promises[1:])),
    ):
        manifest = replace(release.manifest, guarantees=forged)
        assert not replace(release, manifest=manifest).verify(frame).ok


def test_several_columns_in_counts_are_no_release_whoever_made_it():
    release = ic.Mondrian(k=10).publish(people(100), PLAIN, seed=1)
    told = release.manifest.to_dict() | {"method": {"name": "stranger", "parameters": {}}}
    assert read_claims(told)[1].promises == []
    told["sensitive"] = [about | {"form": "counts", "values": ["a"], "counts": [100]} for about in told["sensitive"]]
    assert "neither by value in groups" in read_claims(told)[1].promises[0]


def test_forged_manifests_are_refused_and_end_no_check():
    frame = people(60)
    release = ic.NSVDist(k=5, l=1.2).publish(frame, PLAIN, seed=1)
    promises = tuple(replace(p, others_known=p.kind == "l") for p in release.manifest.guarantees)
    verdict = replace(release, manifest=replace(release.manifest, guarantees=promises)).verify(frame)
    assert any("only groups with exact values can keep it" in problem for problem in verdict.violations)
    told = {"quasi": [], "sensitive": [{"name": "ill", "form": "shares", "values": []}]}
    assert for_people(told, frame).equals(frame)


def test_a_release_without_a_sensitive_column_counts_nothing():
    frame = people(30)
    release = ic.Mondrian(k=3).publish(frame, ic.Schema(quasi={"age": ic.Intervals()}, rest="drop"), seed=1)
    assert release.sensitive_counts().tolist() == []
    assert release.each_secret() == [release]


def test_columns_told_in_several_forms_are_refused(tmp_path):
    ic.Mondrian(k=4).publish(people(60), PLAIN, seed=1).save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["sensitive"][1] |= {"form": "counts", "values": ["a"], "counts": [60]}
    path.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert any("told in several forms" in violation for violation in ic.verify(tmp_path / "out").violations)


def test_shares_of_combinations_stand_beside_those_of_each_column():
    """What docs/schema.md says of joint distributions: the combination is a sensitive column of its own."""
    rng = np.random.default_rng(4)
    n = 60
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, n), "ill": rng.permutation(np.resize(["a", "b", "c"], n)),
         "faith": rng.permutation(np.resize(["x", "y"], n))}
    ).with_columns(both=pl.concat_str("ill", "faith", separator=" and "))  # fmt: skip
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive=["ill", "faith", "both"])
    release = ic.NSVDist(k=5, l={"ill": 2, "faith": 1.5, "both": 3}).publish(frame, schema, seed=1)
    assert release.verify(frame).ok
    joint = np.asarray(release.about("both").distributions)
    for name, l in (("ill", 2), ("faith", 1.5)):
        own = release.about(name)
        shares, values = np.asarray(own.distributions), own.sensitive_values.to_list()
        parts = release.about("both").sensitive_values.str.split(" and ").to_list()
        added = [joint[:, [at for at, words in enumerate(parts) if value in words]].sum(axis=1) for value in values]
        assert np.abs(np.column_stack(added) - shares).max() < 1e-3
        assert shares.max() <= 1 / l
    assert joint.max() <= 1 / 3
