"""What every publisher keeps, whatever it does inside."""

import copy
import dataclasses
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.publish import PUBLISHERS, CellPublisher, describe
from incrowd.verify import check
from strategies import tables

# Every publisher with every constraint it claims; a publisher without an entry here fails the first test.
CLAIMS = {
    "mondrian": [
        {},
        {"strict": False},
        {"recoding": "single"},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True, "recoding": "single"},
        {"alpha": 0.8},
    ],
    "infogain_mondrian": [
        {},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True},
        {"alpha": 0.8},
    ],
    "nsvdist": [
        {},
        {"l": 1.3},
        {"l": 2, "loss": "entropy"},
        {"loss": "monotone_entropy"},
        {"presplit": 80},
    ],
    "seqa": [
        {},
        {"start": "random"},
        {"start": "single_mondrian", "omega": 2},
        {"loss": "entropy", "l": 1.3},
        {"loss": "monotone_entropy", "passes": 2},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True, "start": "random"},
        {"alpha": 0.8},
    ],
    "iack": [
        {},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True},
        {"alpha": 0.8},
    ],
    "iacc": [
        {"delta_c": None, "delta_d": None},
        {"delta_c": None, "delta_d": None, "l": 1.3},
        {"delta_c": None, "delta_d": None, "t": 0.4, "alpha": 0.8},
    ],
    "tree": [
        {},
        {"tighten": False},
        {"gain": "gini"},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True, "tighten": False},
        {"alpha": 0.8},
    ],
    "nhaa": [{}, {"l": 2}, {"l": 3}, {"cluster": 80}, {"l": 2, "cluster": 80}],
    "kactus": [
        {},
        {"confidence": None},
        {"min_rows": 1, "confidence": 0.25},
        {"l": 1.3, "confidence": None},
        {"l": 2, "l_kind": "distinct", "confidence": None},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4, "confidence": None},
        {"t": 0.4, "ordered": True},
        {"alpha": 0.8},
    ],
    "tds": [
        {},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True},
        {"alpha": 0.8},
    ],
    "tdr": [
        {},
        {"l": 1.3},
        {"l": 2, "l_kind": "distinct"},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 2.5},
        {"t": 0.4},
        {"t": 0.4, "ordered": True},
        {"alpha": 0.8},
    ],
    "dmpd": [
        {"generations": 2, "population": 6},
        {"generations": 2, "population": 6, "l": 1.3},
        {"generations": 2, "population": 6, "suppress": 0.4},
        {"generations": 2, "population": 6, "suppress": 0.6, "l": 1.1, "inducer": "naive_bayes"},
    ],
    "pareto_dmpd": [
        {"generations": 2, "population": 6},
        {"generations": 2, "population": 6, "l": 1.3, "suppress": 0.4, "archive": 3},
    ],
    "pais": [{}, {"l": 1.3}, {"L": 2}, {"L": 2, "l": 1.3}, {"C": 0.8}, {"score": "discernibility"}],
}
CASES = [(name, parameters) for name, claims in CLAIMS.items() for parameters in claims]


def test_every_publisher_has_claims():
    assert set(CLAIMS) == set(PUBLISHERS)


def made(case, **parameters):
    name, claims = case
    return PUBLISHERS[name](**claims, **parameters)


def plain(name, **parameters):
    """A publisher as in its first claim."""
    return made((name, CLAIMS[name][0]), **parameters)


def shown(release):
    """Everything that a release shows, as frames of the kind that came in: one table, or several projections."""
    return release.frames if isinstance(release, ic.ProjectionRelease) else [release.frame]


def row_maps(release):
    maps = release.private.rows if isinstance(release, ic.ProjectionRelease) else [release.private.rows]
    return tuple(tuple(rows) for rows in maps)


def assert_reached(manifest, levels):
    for guarantee in manifest["guarantees"]:
        kind = guarantee["kind"]
        if kind == "lkc":
            assert levels["lkc_k"] >= guarantee["K"]
            assert levels["lkc_c"] <= guarantee["C"] + 1e-9
            continue
        reached = levels[f"l_{guarantee['l_kind']}" if kind == "l" else kind]
        smaller_is_better = kind in ("t", "alpha")
        if smaller_is_better:
            assert reached <= guarantee[kind] + 1e-9
        else:
            assert reached >= guarantee[kind] - 1e-9


@given(tables(), st.sampled_from(CASES), st.integers(1, 5), st.integers(0, 9))
def test_releases_keep_their_promise_and_the_input(drawn, case, k, seed):
    drawn = drawn.fit_for(case[1])
    before = drawn.frame.clone()
    method = made(case, k=k)
    try:
        release = method.publish(drawn.frame, drawn.schema, seed=seed)
    except ic.InfeasibleError:
        return
    assert drawn.frame.equals(before)
    verdict = release.verify(drawn.frame)
    assert verdict.ok
    assert_reached(release.manifest, verdict.levels)
    again = method.publish(drawn.frame, drawn.schema, seed=seed)
    assert all(a.equals(b) for a, b in zip(shown(again), shown(release), strict=True))
    assert row_maps(again) == row_maps(release)
    assert again.manifest == release.manifest


@given(tables(min_rows=2), st.sampled_from(CASES))
def test_the_closest_setting_of_an_infeasible_one_is_feasible(drawn, case):
    drawn = drawn.fit_for(case[1])
    n = drawn.frame.height
    with pytest.raises(ic.InfeasibleError) as refused:
        made(case, k=n + 1).publish(drawn.frame, drawn.schema)
    name, claims = case
    reached = {key: value for key, value in refused.value.best.items() if key != "c"}
    assert reached["k"] == n
    release = PUBLISHERS[name](**{**claims, **reached}).publish(drawn.frame, drawn.schema)
    assert release.verify(drawn.frame).ok


@pytest.mark.parametrize("case", CASES, ids=str)
def test_k_equal_to_the_number_of_rows_gives_one_group(case):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"], "s": ["u", "v", "w", "x"]})
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": None}, sensitive="s")
    frame = frame.with_columns(s=pl.col("s").rank().cast(pl.Int64)) if case[1].get("ordered") else frame
    release = made(case, k=4).publish(frame, schema)
    for frame in shown(release):
        assert frame.select(name for name in ("a", "b") if name in frame.columns).n_unique() <= 1


@pytest.mark.parametrize("name", PUBLISHERS)
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_every_kind_of_frame_comes_back_as_it_came(name, kind):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    given_frame = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    before = copy.deepcopy(given_frame)
    release = plain(name, k=2).publish(given_frame, schema, seed=3)
    assert all(type(each) is type(given_frame) for each in shown(release))
    if isinstance(release, ic.Release):
        assert type(release.sample(seed=1)) is type(given_frame)
        if release.private.recoding is not None:
            assert type(release.transform(given_frame)) is type(given_frame)
    assert pl.from_dataframe(given_frame).equals(pl.from_dataframe(before))
    again = shown(plain(name, k=2).publish(frame, schema, seed=3))
    assert all(pl.from_dataframe(a).equals(b) for a, b in zip(shown(release), again, strict=True))


@pytest.mark.parametrize("name", PUBLISHERS)
def test_methods_are_frozen_and_keyword_only(name):
    method = plain(name, k=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.k = 3
    with pytest.raises(TypeError):
        PUBLISHERS[name](2)


@pytest.mark.parametrize("name", PUBLISHERS)
def test_sensitive_constraints_need_a_sensitive_column(name):
    frame = pl.DataFrame({"a": [1, 2, 3, 4]})
    schema = ic.Schema(quasi={"a": ic.Intervals()})
    if issubclass(PUBLISHERS[name], CellPublisher) and PUBLISHERS[name].homogeneous:
        assert plain(name, k=2).publish(frame, schema).verify(frame).ok
    with pytest.raises(ic.SchemaError, match="no sensitive column"):
        plain(name, k=2, l=2).publish(frame, schema)


@pytest.mark.parametrize("name", PUBLISHERS)
def test_without_a_seed_the_order_is_the_operating_systems(name):
    frame = pl.DataFrame({"a": list(range(50)), "s": ["u", "v"] * 25})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    runs = {row_maps(plain(name, k=5).publish(frame, schema)) for _ in range(3)}
    assert len(runs) == 3


def test_a_release_that_breaks_its_promise_is_never_returned(monkeypatch):
    """Plant a method that lies, and see the independent verifier refuse it."""
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    honest = ic.Mondrian._choose

    def lying(self, table, rng, progress):
        choice = honest(dataclasses.replace(self, k=1), table, rng, progress)
        return dataclasses.replace(choice, recoding=None)

    monkeypatch.setattr(ic.Mondrian, "_choose", lying)
    with pytest.raises(ic.VerificationError) as refused:
        ic.Mondrian(k=2).publish(frame, schema)
    assert any(violation.startswith("k:") for violation in refused.value.violations)


def test_manifest_is_plain_data_without_cells_of_identifiers():
    frame = pl.DataFrame({"name": ["Ann", "Bob", "Cid", "Dee"], "a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s", identifiers=["name"])
    release = ic.Mondrian(k=2).publish(frame, schema, seed=12345)
    text = json.dumps(release.manifest)
    assert "Ann" not in text
    assert "12345" not in text
    assert check(json.loads(text), release.coded(labels=False), original=frame, rows=release.private.rows).ok


@pytest.mark.parametrize(
    ("sensitive", "parameters", "method"),
    [("s", {}, "nsvdist"), ("s", {"l": 1.2}, "nsvdist"), ("s", {"t": 0.9}, "mondrian"), (None, {}, "mondrian")],
)
def test_without_a_method_it_is_nsvdist_where_that_can_do_it(sensitive, parameters, method):
    frame = pl.DataFrame({"q": list(range(30)), "s": ["a", "b"] * 15})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive=sensitive, rest="drop")
    release = ic.publish(frame, schema, k=3, **parameters)
    assert release.manifest["method"]["name"] == method
    if method == "nsvdist":
        assert release.manifest["method"]["parameters"]["mode"] == "hardened"


@pytest.mark.parametrize("name", PUBLISHERS)
def test_every_parameter_is_told_with_its_default(name):
    told = describe(name).rpartition("With their defaults: ")[2]
    assert [part.partition(" = ")[0] for part in told.split(", ")] == [
        f.name for f in dataclasses.fields(PUBLISHERS[name])
    ]


def test_a_guessed_seed_does_not_tell_whose_row_is_whose():
    """Somebody who knows the seed and the quasi-identifiers, and guesses the values, does not get the order."""
    frame = pl.DataFrame({"q": list(range(60)), "s": ["a", "b", "c"] * 20})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    release = ic.Mondrian(k=3).publish(frame, schema, seed=7)
    assert release.private.rows.tolist() == ic.Mondrian(k=3).publish(frame, schema, seed=7).private.rows.tolist()
    guess = frame.with_columns(pl.col("s").reverse())
    repeated = ic.Mondrian(k=3).publish(guess, schema, seed=7)
    same = (repeated.private.rows == release.private.rows).mean()
    assert same < 0.2
