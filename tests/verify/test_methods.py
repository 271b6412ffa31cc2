"""What each method may be given and must promise: what publishers write is accepted, and nothing else is."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict

import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import incrowd as ic
from incrowd.publish import PUBLISHERS, make
from incrowd.verify.methods import PARAMETERS, cells_of, evidence_of, makes_recoding, method_problems, recoding_of

PROJECTIONS = ("dmpd", "pareto_dmpd")
GIVEN = [
    ("mondrian", {}),
    ("mondrian", {"l": 2, "l_kind": "distinct", "strict": False}),
    ("mondrian", {"l": 1, "l_kind": "recursive", "c": 4.0}),
    ("mondrian", {"l": 1.5, "l_kind": "entropy", "t": 0.4, "ordered": True, "alpha": 0.5}),
    ("infogain_mondrian", {"t": 0.2}),
    ("best_cuts", {"l": 1.5}),
    ("tight_groups", {"sweeps": 0}),
    ("mdav", {"class_weight": 0.5}),
    ("lattice", {"loss": "dm"}),
    ("m_invariance", {"person": "name"}),
    ("nsvdist", {}),
    ("nsvdist", {"l": 1.1, "mode": "paper", "loss": "entropy", "presplit": 20}),
    ("nsvdist", {"presplit": None}),
    ("lattice", {}),
    ("lattice", {"suppress": 0.05, "loss": "entropy", "seconds": 2.5}),
    ("lattice", {"local": True, "l": 1.5}),
    ("k_optimal", {"l": 1.5}),
    ("iyengar", {"loss": "cm", "points": 20, "population": 5, "rounds": 9}),
    ("k_optimal", {"loss": "cm", "points": 20, "looks": 5, "seconds": 2.5}),
    ("iack", {"alpha": 1}),
    ("iacc", {"delta_c": None}),
    ("tree", {"gain": "gini"}),
    ("nhaa", {"l": 2, "cluster": 20}),
    ("kactus", {"min_rows": 7, "confidence": None}),
    ("tds", {}),
    ("tdr", {}),
    ("bottom_up", {}),
    ("pais", {}),
    ("seqa", {"start": "random", "omega": 2}),
    ("dmpd", {"quasi_sets": [["a"], ["b"]], "patience": 2, "seconds": 0.5}),
    ("dmpd", {"inducer": GaussianNB()}),
    ("pareto_dmpd", {"archive": 4}),
    ("mondrian", {"k": 1, "t": 0, "c": 1e9, "alpha": 1}),
    ("mondrian", {"t": 1}),
    ("kactus", {"min_rows": 1, "confidence": 0.5}),
    ("seqa", {"omega": 1, "passes": 1}),
    ("seqa", {"omega": 1e9, "start": "single_mondrian", "loss": "monotone_entropy"}),
    ("nsvdist", {"k": 1, "presplit": 2}),
    ("nhaa", {"k": 1, "cluster": 1}),
    ("iacc", {"k": 1, "delta_c": 0, "delta_d": 0, "keep_values": False}),
    ("tree", {"tighten": False, "gain": "information"}),
    ("pais", {"k": 1, "score": "discernibility"}),
    ("dmpd", {"k": 1, "folds": 2, "patience": 1, "seconds": 0, "crossover": 0, "mutation": 1, "suppress": 1}),
    ("dmpd", {"generations": 0, "population": 2, "inducer": "c45", "crossover": 1, "mutation": 0}),
    ("pareto_dmpd", {"archive": 2, "inducer": "naive_bayes"}),
]


def told(name, given):
    publisher = make(name, **({"k": 5} | given))
    parameters = publisher.parameters()
    guarantees = [guarantee.to_dict() for guarantee in publisher.privacy().guarantees()]
    guarantees += [{"kind": "m", "m": 2}] if name == "m_invariance" else []
    payload = "projections" if name in PROJECTIONS else "rows"
    return [*json.loads(json.dumps([{"name": name, "parameters": parameters}, guarantees])), payload]


@pytest.mark.parametrize(("name", "given"), GIVEN)
def test_what_publishers_write_is_accepted(name, given):
    assert method_problems(*told(name, given)) == ([], None)


def test_every_method_is_known():
    assert {name for name, _ in GIVEN} == set(PUBLISHERS) == set(PARAMETERS)
    for name, publisher in PUBLISHERS.items():
        wanted = None if name in PROJECTIONS else "homogeneous" if publisher.homogeneous else "non-homogeneous"
        assert recoding_of(name) == wanted
    assert recoding_of("ours") is recoding_of(["tds"]) is None


def test_evidence_of_methods():
    assert evidence_of(told("nhaa", {})[0]) == ("rings",)
    assert evidence_of(told("nsvdist", {})[0]) == ("blocks", "members")
    assert evidence_of(told("nsvdist", {"mode": "paper"})[0]) == evidence_of(told("tds", {})[0]) == ()
    assert evidence_of({"name": "ours", "parameters": {}}) is evidence_of(None) is evidence_of({}) is None
    assert evidence_of({"name": "nsvdist", "parameters": 3}) == ()


PROBES = [None, True, "auto", [], [["a"]], -1, 0, 1, 2, 3, 10**9, 10**9 + 1, 2**63 - 1, 2**63, -0.5, 1e-13, 0.25, 0.5,
          0.51, 1.0, 1.5, 1e9, 1.1e9, float("inf"), float("nan")]  # fmt: skip
FROM = {
    "k": 1,
    "points": 1,
    "looks": 1,
    "rounds": 0,
    "sweeps": 0,
    "passes": 1,
    "population": 1,
    "generations": 0,
    "folds": 2,
}
FROM_OR_NULL = {"runs": 1, "min_rows": 1, "L": 1, "cluster": 1, "patience": 1, "archive": 2}
SHARES = {"crossover": True, "mutation": True, "suppress": True, "C": False}  # and whether 0 is one
SHARES_OR_NULL = {"t": True, "alpha": False, "max_confidence": False}
OTHERS = {
    "l": [1, 2, 3, 10**9, 1.0, 1.5, 1e9],
    "omega": [1, 2, 3, 10**9, 1.0, 1.5, 1e9],
    "c": [1, 2, 3, 10**9, 0.25, 0.5, 0.51, 1.0, 1.5, 1e9],
    "delta_c": [None, 0, 1, 2, 3, 10**9, 0.25, 0.5, 0.51, 1.0, 1.5, 1e9],
    "confidence": [None, 0.25, 0.5],
    "presplit": [None, "auto", 2, 3, 10**9, 10**9 + 1, 2**63 - 1],
    "quasi_sets": [None, [], [["a"]]],
}
OTHERS |= {"person": [None, "auto"]}
OTHERS |= {"class_weight": OTHERS["delta_c"][1:]}
OTHERS |= {"delta_d": OTHERS["delta_c"], "seconds": OTHERS["delta_c"]}
OTHERS |= {name: [True] for name in ("ordered", "strict", "keep_values", "tighten", "local")}
OTHERS |= {
    name: [] for name in ("l_kind", "recoding", "cut", "gain", "loss", "start", "score", "mode", "inducer", "criterion")
}


def allowed(name):
    if name in FROM | FROM_OR_NULL:
        least = (FROM | FROM_OR_NULL)[name]
        found = [value for value in [0, 1, 2, 3, 10**9, 10**9 + 1, 2**63 - 1] if value >= least]
    elif name in SHARES | SHARES_OR_NULL:
        found = [*([0] if (SHARES | SHARES_OR_NULL)[name] else []), 1, 0.25, 0.5, 0.51, 1.0]
    else:
        return OTHERS[name]
    return [None, *found] if name in FROM_OR_NULL | SHARES_OR_NULL else found


@pytest.mark.parametrize(
    ("method", "at"), [(method, at) for method, own in PARAMETERS.items() for at in range(len(own))]
)
def test_what_each_parameter_may_be(method, at):
    for name, fits in PARAMETERS[method][at].items():
        nothing = [None] if name == "l" and "max_confidence" in PARAMETERS[method][at] else []
        known = [2, 3, 10**9, 10**9 + 1, 2**63 - 1] if (method, name) == ("m_invariance", "l") else allowed(name)
        assert [repr(value) for value in PROBES if fits(value)] == list(map(repr, [*nothing, *known])), name


@pytest.mark.parametrize("given", [{"t": 0}, {"t": 1e-12}, {"c": 1e-12}, {"c": 1e9}, {"alpha": 1}])
def test_numbers_at_the_end_of_what_is_allowed(given):
    assert method_problems(*told("mondrian", given)) == ([], None)


RECODED = [
    ic.Mondrian(k=2), ic.Mondrian(k=2, recoding="single"), ic.Mondrian(k=2, strict=False), ic.SeqA(k=2),
    ic.TightGroups(k=2), ic.InfoGainMondrian(k=2), ic.NHAA(k=2), ic.TDS(k=2), ic.TDR(k=2), ic.BottomUp(k=2),
    ic.PAIS(k=2), ic.IACk(k=2),
    ic.KACTUS(k=2), ic.IACc(k=2), ic.TreeAnonymizer(k=2), ic.BestCuts(k=2), ic.NSVDist(k=2),
    ic.NSVDist(k=2, mode="paper"), ic.Lattice(k=2), ic.Lattice(k=2, local=True), ic.KOptimal(k=2),
    ic.Iyengar(k=2), ic.MInvariance(k=2), ic.Microaggregation(k=2),
]  # fmt: skip


@pytest.mark.parametrize("publisher", RECODED, ids=lambda one: one.name)
def test_which_methods_make_a_recoding(publisher):
    frame = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3, 4, 4], "ill": list("abababab")})
    release = publisher.publish(frame, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill"), seed=1)
    method = {"name": publisher.name, "parameters": publisher.parameters()}
    assert makes_recoding(method) is (release.private.recoding is not None)


def test_every_method_that_generalizes_is_asked_for_its_recoding():
    assert {one.name for one in RECODED} == set(PUBLISHERS) - set(PROJECTIONS)
    assert not any(makes_recoding({"name": name, "parameters": {}}) for name in PROJECTIONS)
    assert not makes_recoding({"name": "tree", "parameters": {"k": 2, "max_confidence": None}})
    assert makes_recoding({"name": "ours", "parameters": {}})


def test_what_cells_are_closures_of():
    found = {(one.name, cells_of({"name": one.name, "parameters": one.parameters()})) for one in RECODED}
    assert found == {
        ("mondrian", "groups"), ("mondrian", "columns"), ("infogain_mondrian", "groups"), ("seqa", "groups"),
        ("kactus", "groups or all"), ("tree", "groups"), ("tds", "columns or all"), ("tdr", "columns or all"),
        ("bottom_up", "columns or all"),
        ("pais", "columns or all"), ("iack", "one for a value"), ("iacc", "one for a value"), ("nhaa", None),
        ("nsvdist", None), ("best_cuts", "groups"), ("tight_groups", "groups"), ("mdav", "groups"),
        ("lattice", "one for a value"), ("lattice", None), ("k_optimal", "one for a value"),
        ("iyengar", "one for a value"), ("m_invariance", None),
    }  # fmt: skip
    loose = {"name": "tree", "parameters": ic.TreeAnonymizer(k=2, tighten=False).parameters()}
    assert cells_of(loose) is cells_of({"name": ["tds"]}) is cells_of({"name": "ours"}) is cells_of(None) is None


def test_a_trained_tree_is_accepted():
    for given in ({}, {"l": 1.2}, {"max_confidence": 0.9}, {"max_confidence": 1}, {"l": 1.0}):
        tree = ic.KAnonymousTreeClassifier(k=1, **given)
        parameters = {"k": 1, "l": tree.l, "max_confidence": tree.max_confidence, "gain": tree.gain}
        guarantees = [guarantee.to_dict() for guarantee in tree._privacy().guarantees()]
        assert method_problems({"name": "tree", "parameters": parameters}, guarantees, "rows") == ([], None)
        assert len(guarantees) == 1 + (given not in ({}, {"l": 1.0}))


def parameter(key, value):
    def apply(method, guarantees):
        del guarantees
        method["parameters"][key] = value

    return apply


def promise(at, **values):
    return lambda _, guarantees: guarantees[at].update(values)


def drop(at):
    return lambda _, guarantees: guarantees.pop(at)


def turn_parameters(method, guarantees):
    del guarantees
    method["parameters"] = dict(reversed(method["parameters"].items()))


def turn_promise(method, guarantees):
    del method
    guarantees[0] = dict(reversed(guarantees[0].items()))


OTHER = "has other parameters than"
VALUE = "has a value that it cannot have"
PROMISES = "the guarantees are not those that the parameters of"
FULL = {"l": 2, "l_kind": "recursive", "t": 0.5, "alpha": 0.9}

WRONG = {
    "a seed": ("mondrian", {}, parameter("seed", 7), OTHER),
    "a parameter less": ("mondrian", {}, lambda method, _: method["parameters"].pop("strict"), OTHER),
    "another order": ("mondrian", {}, turn_parameters, OTHER),
    "a parameter of another method": ("tds", {}, parameter("loss", "lm"), OTHER),
    "free text": ("mondrian", {}, parameter("recoding", "see person 7"), VALUE),
    "an unknown kind of l": ("mondrian", {}, parameter("l_kind", "odd"), VALUE),
    "text in place of a number": ("mondrian", {}, parameter("k", "5"), VALUE),
    "true in place of a number": ("mondrian", {}, parameter("k", True), VALUE),
    "a float in place of a whole number": ("mondrian", {}, parameter("k", 5.0), VALUE),
    "k below 1": ("mondrian", {}, parameter("k", 0), VALUE),
    "l below 1": ("mondrian", {}, parameter("l", 0.5), VALUE),
    "c of 0": ("mondrian", {}, parameter("c", 0), VALUE),
    "a huge c": ("mondrian", {}, parameter("c", 1e10), VALUE),
    "t above 1": ("mondrian", {}, parameter("t", 1.5), VALUE),
    "t below 0": ("mondrian", {}, parameter("t", -0.1), VALUE),
    "alpha of 0": ("mondrian", {}, parameter("alpha", 0), VALUE),
    "alpha above 1": ("mondrian", {}, parameter("alpha", 1.5), VALUE),
    "a number in place of true": ("mondrian", {}, parameter("strict", 1), VALUE),
    "null in place of true": ("mondrian", {}, parameter("ordered", None), VALUE),
    "a list": ("nsvdist", {}, parameter("loss", ["lm"]), VALUE),
    "another text for presplit": ("nsvdist", {}, parameter("presplit", "person 7"), VALUE),
    "a small presplit": ("nsvdist", {}, parameter("presplit", 1), VALUE),
    "an unknown mode": ("nsvdist", {}, parameter("mode", "soft"), VALUE),
    "an unknown loss": ("seqa", {}, parameter("loss", "dm"), VALUE),
    "an unknown start": ("seqa", {}, parameter("start", "x"), VALUE),
    "omega below 1": ("seqa", {}, parameter("omega", 0.5), VALUE),
    "no passes": ("seqa", {}, parameter("passes", 0), VALUE),
    "an unknown gain": ("tree", {}, parameter("gain", "x"), VALUE),
    "an unknown score": ("pais", {}, parameter("score", "x"), VALUE),
    "no rows": ("kactus", {}, parameter("min_rows", 0), VALUE),
    "confidence above a half": ("kactus", {}, parameter("confidence", 0.6), VALUE),
    "a negative delta": ("iacc", {}, parameter("delta_c", -1), VALUE),
    "the name of a class": ("dmpd", {}, parameter("inducer", "GaussianNB"), VALUE),
    "quasi_sets that are no lists": ("dmpd", {}, parameter("quasi_sets", ["age"]), VALUE),
    "quasi_sets of numbers": ("dmpd", {}, parameter("quasi_sets", [[1]]), VALUE),
    "a share above 1": ("dmpd", {}, parameter("suppress", 1.5), VALUE),
    "one fold": ("dmpd", {}, parameter("folds", 1), VALUE),
    "no patience": ("dmpd", {}, parameter("patience", 0), VALUE),
    "negative seconds": ("dmpd", {}, parameter("seconds", -1), VALUE),
    "no generations": ("dmpd", {}, parameter("generations", -1), VALUE),
    "no population": ("dmpd", {}, parameter("population", 0), VALUE),
    "crossover above 1": ("dmpd", {}, parameter("crossover", 1.5), VALUE),
    "a negative mutation": ("dmpd", {}, parameter("mutation", -0.5), VALUE),
    "no cluster": ("nhaa", {}, parameter("cluster", 0), VALUE),
    "no L": ("pais", {}, parameter("L", 0), VALUE),
    "no C": ("pais", {}, parameter("C", 0), VALUE),
    "C above 1": ("pais", {}, parameter("C", 1.5), VALUE),
    "l of PAIS below 1": ("pais", {}, parameter("l", 0.5), VALUE),
    "k of PAIS below 1": ("pais", {}, parameter("k", 0), VALUE),
    "k of NHAA below 1": ("nhaa", {}, parameter("k", 0), VALUE),
    "a huge omega": ("seqa", {}, parameter("omega", 2e9), VALUE),
    "confidence of 0": ("kactus", {}, parameter("confidence", 0), VALUE),
    "a tiny c": ("mondrian", {}, parameter("c", 9.9e-13), VALUE),
    "a tiny t": ("mondrian", {}, parameter("t", 1.234567e-300), VALUE),
    "a huge l": ("mondrian", {}, parameter("l", 1e300), VALUE),
    "many seconds": ("dmpd", {}, parameter("seconds", 1e10), VALUE),
    "a tiny delta": ("iacc", {}, parameter("delta_d", 1e-200), VALUE),
    "an archive of one": ("pareto_dmpd", {}, parameter("archive", 1), VALUE),
    "no promise": ("mondrian", {}, drop(0), PROMISES),
    "less k": ("mondrian", {}, promise(0, k=4), PROMISES),
    "more k": ("mondrian", {}, promise(0, k=6), PROMISES),
    "l that was asked for and not promised": ("nsvdist", {"l": 1.1}, drop(1), PROMISES),
    "less l": ("nsvdist", {"l": 1.1}, promise(1, l=1.05), PROMISES),
    "l of another kind": ("mondrian", FULL, promise(1, l_kind="distinct"), PROMISES),
    "another c": ("mondrian", FULL, promise(1, c=4.0), PROMISES),
    "no t": ("mondrian", FULL, drop(2), PROMISES),
    "another t": ("mondrian", FULL, promise(2, t=0.6), PROMISES),
    "an ordered t": ("mondrian", FULL, promise(2, ordered=True), PROMISES),
    "no alpha": ("mondrian", FULL, drop(3), PROMISES),
    "another alpha": ("mondrian", FULL, promise(3, alpha=0.95), PROMISES),
    "a promise twice": ("mondrian", {}, lambda _, guarantees: guarantees.append(guarantees[0]), PROMISES),
    "a promise in another order": ("mondrian", FULL, lambda _, guarantees: guarantees.reverse(), PROMISES),
    "keys in another order": ("mondrian", {}, turn_promise, PROMISES),
    "another form of a number": ("nsvdist", {"l": 2}, promise(1, l=2.0), PROMISES),
    "less k of IACc": ("iacc", {}, promise(0, k=4), PROMISES),
    "k of IACc that is none": ("iacc", {}, promise(0, k="9"), PROMISES),
    "less k of ParetoDMPD": ("pareto_dmpd", {}, promise(0, k=4), PROMISES),
    "guarantees that are no list": ("mondrian", {}, None, "guarantees is not a list of objects"),
}


@pytest.mark.parametrize("name", WRONG)
def test_nothing_else_is_accepted(name):
    method_name, given, plant, said = WRONG[name]
    method, guarantees, payload = copy.deepcopy(told(method_name, given))
    if plant is None:
        guarantees = {}
    else:
        plant(method, guarantees)
    problems, unchecked = method_problems(method, guarantees, payload)
    assert (len(problems), unchecked) == (1, None)
    assert said in problems[0]
    assert "person" not in problems[0]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (None, "method is not a name with parameters"),
        ({"name": "tds"}, "method is not a name with parameters"),
        ({"parameters": {}, "name": "tds"}, "method is not a name with parameters"),
        ({"name": "tds", "parameters": {}, "x": 1}, "method is not a name with parameters"),
        ({"name": 3, "parameters": {}}, "method.name is not a short name"),
        ({"name": "see person 7", "parameters": {}}, "method.name is not a short name"),
        ({"name": "x" * 41, "parameters": {}}, "method.name is not a short name"),
        ({"name": "tds", "parameters": []}, "method.parameters is not an object"),
    ],
)
def test_a_method_is_a_name_with_parameters(method, said):
    assert method_problems(method, [], "rows") == ([said], None)


def test_a_method_publishes_what_it_publishes():
    method, guarantees, _ = told("tds", {})
    assert method_problems(method, guarantees, "projections") == (["method 'tds' does not publish projections"], None)
    method, guarantees, _ = told("dmpd", {})
    assert method_problems(method, guarantees, "rows") == (["method 'dmpd' does not publish rows"], None)


@pytest.mark.parametrize(
    ("name", "given", "recoding", "form"),
    [
        ("nsvdist", {}, "non-homogeneous", "shares"),
        ("nsvdist", {"mode": "paper"}, "non-homogeneous", "counts"),
        ("nhaa", {}, "non-homogeneous", "exact"),
        ("mondrian", {}, "homogeneous", "exact"),
    ],
)
def test_recoding_and_form_are_the_methods(name, given, recoding, form):
    asked = told(name, given)
    assert method_problems(*asked, recoding=recoding, form=form) == ([], None)
    for other in {"homogeneous", "non-homogeneous"} - {recoding}:
        said = f"recoding is not {recoding}, and that of {name!r} is"
        assert method_problems(*asked, recoding=other, form=form) == ([said], None)
    for other in {"exact", "counts", "shares"} - {form}:
        said = f"sensitive.form is not {form}, and that of {name!r} is"
        assert method_problems(*asked, recoding=recoding, form=other) == ([said], None)


@pytest.mark.parametrize(
    ("name", "given"),
    [("pais", {}), ("nhaa", {"l": 2}), ("nsvdist", {"mode": "paper"}), ("kactus", {}), ("tree", {})],
)
def test_what_protects_one_sensitive_column_is_refused_for_two(name, given):
    method, guarantees, payload = told(name, given)
    if name in ("kactus", "tree"):
        method = {"name": name, "parameters": {"k": 5, "l": 1, "max_confidence": 0.5}}
    said = f"method {name!r} protects one sensitive column, and there are 2"
    assert method_problems(method, guarantees, payload, names=("a", "b")) == ([said], None)
    assert method_problems(method, guarantees, payload, names=("a",)) != ([said], None)


def test_a_method_of_others_cannot_be_checked():
    problems, unchecked = method_problems({"name": "ours", "parameters": {"note": "x"}}, [], "rows")
    assert problems == []
    assert unchecked == "method 'ours' is not one that this verifier knows: its parameters were not checked"


@pytest.mark.parametrize("name", ["iacc", "pareto_dmpd"])
def test_some_methods_promise_the_k_that_they_reach(name):
    method, guarantees, payload = told(name, {"l": 2})
    guarantees[0]["k"] = 9
    assert method_problems(method, guarantees, payload) == ([], None)
    guarantees[0] = {"kind": "k", "k": 9, "x": 1}
    assert method_problems(method, guarantees, payload) != ([], None)


def of_pais(given, guarantees):
    method = {"name": "pais", "parameters": asdict(make("pais", k=5, **given))}
    return method_problems(method, guarantees, "rows") == ([], None)


def test_promises_of_pais():
    """LKC of the L asked for; what covers all quasi-identifiers is promised for them, too."""
    k, l, alpha = {"kind": "k", "k": 5}, {"kind": "l", "l": 3, "l_kind": "frequency"}, {"kind": "alpha", "alpha": 0.5}

    def lkc(L, C, K=5):
        return {"kind": "lkc", "L": L, "K": K, "C": C}

    third = 0.33333333333333337
    assert of_pais({}, [k])
    assert of_pais({}, [k, lkc(4, 1.0)])
    assert of_pais({"C": 0.5}, [k, alpha, lkc(4, 0.5)])
    assert of_pais({"l": 3}, [k, l, lkc(4, third)])
    assert of_pais({"L": 2, "l": 3}, [lkc(2, third)])
    assert of_pais({"L": 2, "l": 3}, [k, l, lkc(2, third)])
    assert of_pais({"L": 9, "l": 3}, [k, l, lkc(2, third)])
    assert not of_pais({"C": 0.5}, [k])
    assert not of_pais({"l": 3}, [k, lkc(4, third)])
    assert not of_pais({"l": 3}, [k, l, lkc(4, 0.3333333333333333)])
    assert not of_pais({"L": 2}, [k])
    assert not of_pais({"L": 2}, [])
    assert not of_pais({"L": 2}, [lkc(1, 1.0)])
    assert not of_pais({"L": 2}, [lkc(3, 1.0)])
    assert not of_pais({"L": 2}, [k, lkc(3, 1.0)])
    assert not of_pais({"L": 2}, [lkc(2, 1.0, K=4)])
    assert not of_pais({"L": 2, "C": 0.5}, [lkc(2, 0.6)])
    assert not of_pais({}, [lkc(4, 1.0)])
    assert not of_pais({}, [k, lkc("4", 1.0)])
