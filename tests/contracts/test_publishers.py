"""What every publisher keeps, whatever it does inside: the contract suite, and random tables."""

import copy
import dataclasses
import json

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from claims import ALWAYS, CASES, OPTIONS, make
from incrowd.publish import PUBLISHERS, CellPublisher, describe
from incrowd.testing import check_publisher, publisher_checks
from incrowd.verify.core import check
from strategies import tables

CONTRACTS = {
    name: publisher_checks(name, parameters=ALWAYS.get(name), settings=OPTIONS.get(name, [])) for name in PUBLISHERS
}


QUICK = [what for what in CONTRACTS["mondrian"] if not what.startswith(("publishes", "keeps"))]


@pytest.mark.one_in(3)  # there are eight for each publisher: each check, and each publisher, several times
@pytest.mark.parametrize(("name", "what"), [(name, what) for name in PUBLISHERS for what in QUICK], ids=str)
def test_contract(name, what):
    CONTRACTS[name][what]()


@pytest.mark.end_to_end
@pytest.mark.one_in(5)  # each publisher, and each kind of table, several times
@pytest.mark.parametrize(
    ("name", "what"),
    [(name, what) for name in PUBLISHERS for what in CONTRACTS[name] if what not in QUICK],
    ids=str,
)
def test_contract_of_releases(name, what):
    CONTRACTS[name][what]()


def test_the_contract_asks_for_every_constraint_that_a_publisher_has():
    """A check that silently fell away would leave a gap."""
    n_settings = {name: sum(what.startswith("keeps") for what in checks) for name, checks in CONTRACTS.items()}
    asked = {name: sum(case[0] == name for case in CASES) - 1 for name in PUBLISHERS}
    assert n_settings == asked
    assert n_settings["mondrian"] == 12 + len(OPTIONS["mondrian"])
    assert all(len(checks) - n_settings[name] == 15 for name, checks in CONTRACTS.items())


def shown(release):
    """Everything that a release shows, as frames of the kind that came in: one table, or several projections."""
    return release.frames if isinstance(release, ic.ProjectionRelease) else [release.frame]


def row_maps(release):
    return tuple(tuple(rows) for rows in release.private.row_maps)


def assert_reached(manifest, levels):
    for promise in manifest.guarantees:
        if promise.kind == "lkc":
            assert levels["lkc_k"] >= promise.K
            assert levels["lkc_c"] <= promise.C + 1e-9
            continue
        reached = levels[f"l_{promise.l_kind}" if promise.kind == "l" else promise.kind]
        asked = promise.k if promise.kind == "concealment" else getattr(promise, promise.kind)
        smaller_is_better = promise.kind in ("t", "alpha", "beta", "delta")
        assert reached <= asked + 1e-9 if smaller_is_better else reached >= asked - 1e-9


@given(tables(), st.sampled_from(CASES), st.integers(1, 5), st.integers(0, 9))
def test_releases_keep_their_promise_and_the_input(drawn, case, k, seed):
    drawn = drawn.fit_for(case[1])
    before = drawn.frame.clone()
    method = make(*case, k=k)
    try:
        release = method.publish(drawn.frame, drawn.schema, seed=seed)
    except ic.InfeasibleError:
        reject()  # too many of these fail the test
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
        make(*case, k=n + 1).publish(drawn.frame, drawn.schema)
    reached = {key: value for key, value in refused.value.best.items() if key != "c"}
    assert reached["k"] == n
    release = make(*case, **reached).publish(drawn.frame, drawn.schema)
    assert release.verify(drawn.frame).ok


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PUBLISHERS)
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_every_kind_of_frame_comes_back_as_it_came(name, kind):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    given_frame = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    before = copy.deepcopy(given_frame)
    release = make(name, k=2).publish(given_frame, schema, seed=3)
    assert all(type(each) is type(given_frame) for each in shown(release))
    if isinstance(release, ic.RowRelease):
        assert type(release.sample(seed=1)) is type(given_frame)
        if release.private.recoding is not None:
            assert type(release.transform(given_frame)) is type(given_frame)
    assert pl.from_dataframe(given_frame).equals(pl.from_dataframe(before))
    again = shown(make(name, k=2).publish(frame, schema, seed=3))
    assert all(pl.from_dataframe(a).equals(b) for a, b in zip(shown(release), again, strict=True))


@pytest.mark.parametrize("name", PUBLISHERS)
def test_groups_need_no_sensitive_column(name):
    frame = pl.DataFrame({"a": [1, 2, 3, 4]})
    schema = ic.Schema(quasi={"a": ic.Intervals()})
    promises_values = getattr(make(name, k=2), "l", 1) != 1
    if issubclass(PUBLISHERS[name], CellPublisher) and PUBLISHERS[name].homogeneous and not promises_values:
        assert make(name, k=2).publish(frame, schema).verify(frame).ok
    with pytest.raises(ic.SchemaError, match="no sensitive column"):
        make(name, k=2, l=2).publish(frame, schema)


def lying(choose):
    """Return a method that promises more than it looks for."""

    def choose_less(self, table, rng, progress):
        choice = choose(dataclasses.replace(self, k=1), table, rng, progress)
        return dataclasses.replace(choice, recoding=None)

    return choose_less


def test_a_release_that_breaks_its_promise_is_never_returned(monkeypatch):
    """Plant a method that lies, and see the independent verifier refuse it."""
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    monkeypatch.setattr(ic.Mondrian, "choose", lying(ic.Mondrian.choose))
    with pytest.raises(ic.VerificationError) as refused:
        ic.Mondrian(k=2).publish(frame, schema)
    assert any(violation.startswith("k:") for violation in refused.value.violations)


class Careless(ic.Mondrian):
    """A publisher for the contract suite to refuse."""


def changes_the_input(self, frame, schema, **given):
    release = ic.Mondrian.publish(self, frame, schema, **given)
    frame[0, "age"] = 99
    return release


def forgets_the_seed(self, frame, schema, *, seed=None, **given):
    return ic.Mondrian.publish(self, frame, schema, seed=None, **given)


def weakens_k(self, frame, schema, **given):
    return ic.Mondrian.publish(dataclasses.replace(self, k=2 if self.k < 10 else self.k), frame, schema, **given)


def hides_progress(self, frame, schema, *, progress=None, **given):
    return ic.Mondrian.publish(self, frame, schema, **given)


def takes_anything(self, frame, schema, **given):
    feasible = dataclasses.replace(self, k=min(self.k, frame.height))
    return ic.Mondrian.publish(feasible, frame, schema, **given)


def drops_l(self, frame, schema, **given):
    return ic.Mondrian.publish(dataclasses.replace(self, l=1), frame, schema, **given)


@pytest.mark.parametrize(
    ("publish", "what"),
    [
        (changes_the_input, "the input was modified"),
        (forgets_the_seed, "the same seed gave another"),
        (weakens_k, "k is [0-9]+, and 2 is promised"),
        (hides_progress, "progress was reported"),
        (takes_anything, "k above the rows was not refused"),
        (drops_l, "not refused|l is not among"),
    ],
)
def test_the_contract_suite_refuses_careless_publishers(monkeypatch, publish, what):
    monkeypatch.setattr(Careless, "publish", publish, raising=False)
    with pytest.raises(AssertionError, match=what):
        check_publisher(Careless)


def test_manifest_is_plain_data_without_cells_of_identifiers():
    frame = pl.DataFrame({"name": ["Ann", "Bob", "Cid", "Dee"], "a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s", identifiers=["name"])
    release = ic.Mondrian(k=2).publish(frame, schema, seed=12345)
    text = release.manifest.to_json()
    assert "Ann" not in text
    assert "12345" not in text
    assert check(json.loads(text), release.coded_tables(), original=frame, private=release.private.files(["a"])).ok


@pytest.mark.parametrize(
    ("sensitive", "parameters", "method"),
    [("s", {}, "best_cuts"), ("s", {"l": 1.2, "t": 0.9, "runs": 2}, "best_cuts"), (None, {}, "mondrian")],
)
def test_without_a_method_it_is_the_best_for_the_class(sensitive, parameters, method):
    frame = pl.DataFrame({"q": list(range(30)), "s": ["a", "b"] * 15})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive=sensitive, rest="drop")
    release = ic.publish(frame, schema, k=3, **parameters)
    assert release.manifest.method.name == method


@pytest.mark.parametrize("name", PUBLISHERS)
def test_every_parameter_is_described_with_its_default(name):
    described = describe(name).rpartition("With their defaults: ")[2]
    assert [part.partition(" = ")[0] for part in described.split(", ")] == [
        f.name for f in dataclasses.fields(PUBLISHERS[name])
    ]


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_guessed_seed_does_not_tell_whose_row_is_whose(name):
    """Somebody who knows the seed and the quasi-identifiers, and guesses the values, does not get the row map."""
    frame = pl.DataFrame({"q": list(range(60)), "s": ["a", "b", "c"] * 20})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    release, again = (make(name, k=5).publish(frame, schema, seed=7) for _ in range(2))
    assert row_maps(again) == row_maps(release)
    guess = frame.with_columns(pl.col("s").reverse())
    repeated = make(name, k=5).publish(guess, schema, seed=7)
    n_same = sum(a == b for a, b in zip(row_maps(repeated)[0], row_maps(release)[0], strict=False))
    assert n_same < 0.6 * frame.height
