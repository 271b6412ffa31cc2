"""How far sensitive numbers of a group are apart: kernel, verifier and a plain count agree; releases keep it."""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.domains import limits_of
from incrowd.kernels.limits import groups_hold, holds
from incrowd.privacy import Privacy
from incrowd.verify.core import check
from incrowd.verify.widths import widths

NUMBERS = (None, -1.5, 0.0, 0.1, 0.3, 0.4, 7.0, 2000.0)
PLACES = st.lists(st.integers(0, len(NUMBERS) - 1), min_size=1, max_size=12)
WIDTHS = st.sampled_from([0.1, 0.2, 0.3, 1, 6.7, 1999.6, 2001.5])


def is_wide(places, width):
    known = [Fraction(str(NUMBERS[at])) for at in places if NUMBERS[at] is not None]
    return bool(known) and max(known) - min(known) >= Fraction(str(width))


def decided(places, width, **asked):
    counts = {"s": np.ones(len(NUMBERS), np.int64)}
    bounds = limits_of(Privacy.of(1, width=width, **asked), 99, counts, values={"s": NUMBERS})
    return holds(np.bincount(places, minlength=len(NUMBERS)), len(places), bounds)


@given(PLACES, WIDTHS)
def test_kernel_and_verifier_agree_with_a_plain_count(places, width):
    assert decided(places, width) == is_wide(places, width)
    owner, values = np.zeros(len(places), np.int64), pl.Series(NUMBERS)
    assert (widths(owner, np.array(places), values, 1)[0] >= Fraction(str(width))) == is_wide(places, width)


@given(PLACES, PLACES, WIDTHS)
def test_what_a_group_keeps_its_union_with_another_keeps(one, other, width):
    if decided(one, width):
        assert decided(one + other, width)


def test_infinite_numbers_are_far_from_all_others():
    values = pl.Series([-np.inf, 1.0, np.inf])
    assert widths(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]), values, 2) == [np.inf, 0]
    bounds = limits_of(Privacy.of(1, width=5), 9, {"s": np.ones(3, np.int64)}, values={"s": values.to_list()})
    counts = np.array([[1, 1, 0], [0, 0, 2], [0, 1, 1], [0, 3, 0]])
    assert groups_hold(counts, counts.sum(axis=1), bounds).tolist() == [True, False, True, False]


def drawn(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "zip": rng.integers(10, 15, n),
            "salary": rng.lognormal(8, 0.5, n).round(2),
            "faith": rng.choice(list("ab"), n),
        }
    )


def schema(sensitive=("salary", "faith"), **given):
    return ic.Schema(
        quasi={"age": ic.Intervals(), "zip": ic.Intervals()}, sensitive=list(sensitive), rest="drop", **given
    )


def narrowest(frame, *more):
    groups = frame.group_by(frame.columns[0], frame.columns[1], *more)
    return groups.agg(pl.col("salary").max() - pl.col("salary").min())["salary"].min()


METHODS = [
    "best_cuts", "mondrian", "infogain_mondrian", "iack", "tree", "kactus", "tds", "tdr", "tight_groups", "mdav",
    "lattice",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_method_that_forms_groups_keeps_it(name):
    frame = drawn()
    release = ic.publish(frame, schema(), method=name, k=4, width={"salary": 2500.25}, seed=1)
    assert narrowest(release.frame) >= 2500.25
    assert release.levels["width"] == pytest.approx(narrowest(release.frame))
    assert release.manifest.format == 4
    asked = release.manifest.method.parameters["width"]
    assert asked == {"salary": 2500.25, "faith": None}


def test_without_it_groups_are_narrower():
    assert narrowest(ic.Mondrian(k=4).publish(drawn(), schema(), seed=1).frame) < 2500


def test_it_holds_for_who_knows_another_column():
    frame = drawn()
    asked = {"k": 4, "width": {"salary": 1500}}
    alone = ic.Mondrian(**asked).publish(frame, schema(), seed=1)
    known = ic.Mondrian(**asked, others_known=True).publish(frame, schema(), seed=1)
    assert narrowest(alone.frame, "faith") < 1500 <= narrowest(known.frame, "faith")
    told = alone.manifest.to_dict()
    told["guarantees"][1]["others_known"] = True
    told["method"]["parameters"] = {
        key: value for name, own in told["method"]["parameters"].items()
        for key, value in ([("others_known", True), (name, own)] if name == "width" else [(name, own)])
    }  # fmt: skip
    assert any("width, others known" in text for text in check(told, alone.checked_tables()).violations)


def forged(release, frame, change):
    told = release.manifest.to_dict()
    change(told)
    return check(told, release.checked_tables(), original=frame, private=release.private.files(release.quasi))


def promise(told, width):
    told["method"]["parameters"]["width"]["salary"] = width
    told["guarantees"][1]["width"] = width


def test_forged_promises_are_found():
    frame = drawn()
    release = ic.Mondrian(k=4, width={"salary": 2000}).publish(frame, schema(), seed=1)
    assert forged(release, frame, dict.copy).ok
    for width in (9000, 0, -1, "2000", None, 1e300):
        assert not forged(release, frame, lambda told, w=width: promise(told, w)).ok
    assert not forged(release, frame, lambda told: told["guarantees"][1].update(width=1999)).ok
    assert not forged(release, frame, lambda told: told["guarantees"][1].update(column="faith")).ok
    assert not forged(release, frame, lambda told: told["guarantees"].pop(1)).ok
    assert not forged(release, frame, lambda told: told.update(format=3)).ok


def test_one_column_and_ranges(tmp_path):
    frame = drawn()
    own = schema(["salary"], ranges={"salary": [0, 1000, 2000, 4000, 8000]})
    release = ic.Mondrian(k=4, width=3000).publish(frame, own, seed=1)
    assert narrowest(release.frame) >= 3000
    assert release.manifest.format == 6
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out", frame).ok
    assert json.loads((tmp_path / "out/manifest.json").read_text())["guarantees"][1] == {"kind": "width", "width": 3000}


def test_in_a_schema(tmp_path):
    frame, own = drawn(), schema()
    limited = own.with_attributes(
        ic.schema.Attribute(a.name, a.role, a.hierarchy, limits={"width": 2500.5} if a.name == "salary" else {})
        for a in own.attributes.values()
    )
    limited.to_toml(tmp_path / "s.toml")
    assert "width = 2500.5" in (tmp_path / "s.toml").read_text()
    again = ic.Schema.from_toml(tmp_path / "s.toml")
    assert again == limited
    assert narrowest(ic.Mondrian(k=4).publish(frame, again, seed=1).frame) >= 2500.5
    with pytest.raises(ic.IncompatibleError, match="'nsvdist' has no width"):
        ic.NSVDist(k=4).publish(frame, again)


def test_refused():
    frame = drawn()
    for wrong in (0, -1, float("nan"), "5", 1e16, True):
        with pytest.raises(ic.ParameterError, match="width is"):
            ic.Mondrian(k=4, width=wrong)
    with pytest.raises(ic.ParameterError, match="no numbers"):
        ic.Mondrian(k=4, width=5).publish(frame, schema())
    with pytest.raises(ic.InfeasibleError, match="width = 100000") as caught:
        ic.Mondrian(k=4, width={"salary": 1e5}).publish(frame, schema())
    closest = caught.value.best["width"]["salary"]
    assert f"{closest:g}" in str(caught.value)
    assert ic.Mondrian(k=4, width={"salary": closest}).publish(frame, schema()).n_rows == 90
    for method in ("nsvdist", "nhaa", "pais"):
        with pytest.raises(ic.ParameterError, match=r"no parameter 'width'\n\n.*best_cuts or mondrian"):
            ic.publish(frame, schema(["salary"]), method=method, k=4, width=5)
