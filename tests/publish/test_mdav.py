"""Microaggregation: equal to MDAV in plain Python, by class, under other limits, and its means."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_mdav
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.publish.mdav import Places, form_groups
from strategies import tables


@given(tables(max_rows=24), st.integers(1, 5), st.sampled_from([0.0, 0.5, 3.0]))
def test_groups_are_those_of_plain_mdav(drawn, k, weight):
    table = Table.encode(drawn.frame, drawn.schema)
    assume(k <= table.n_rows)
    places = Places.of(table, weight)
    rows = [(tuple(places.numbers[i]), tuple(places.names[i])) for i in places.order]
    wanted = naive_mdav.groups(rows, k, places.weights.tolist())
    found = form_groups(places, k, lambda *_: None)
    assert sorted(sorted(own.tolist()) for own in found) == sorted(sorted(places.order[own].tolist()) for own in wanted)
    assert all(k <= len(own) < 2 * k for own in found)


@given(tables(max_rows=20), st.integers(1, 4), st.sampled_from(CONSTRAINTS))
def test_other_limits_are_kept_as_well(drawn, k, constraints):
    drawn = drawn.fit_for(constraints)
    try:
        release = ic.Microaggregation(k=k, **constraints).publish(drawn.frame, drawn.schema, seed=1)
    except ic.InfeasibleError:
        return
    assert release.verify(drawn.frame).ok


def people(n=300):
    rng = np.random.default_rng(5)
    ill = rng.choice(["no", "yes"], n)
    pay = rng.normal(30, 9, n).round(1) + 8 * (ill == "yes")
    return pl.DataFrame({"age": rng.integers(18, 80, n), "pay": pay, "sex": rng.choice(["f", "m"], n), "ill": ill})


SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "pay": ic.Intervals(), "sex": None}, target="ill", other=["ill"])


def test_a_heavy_class_makes_groups_of_one_class():
    mixed, pure = (ic.Microaggregation(k=5, class_weight=w).publish(people(), SCHEMA, seed=1) for w in (0, 50))
    assert pure.loss("cm") < mixed.loss("cm") / 4
    assert mixed.loss("lm") < pure.loss("lm")


@pytest.mark.parametrize("method", [ic.Microaggregation(k=5), ic.Mondrian(k=5)], ids=lambda m: m.name)
def test_numbers_stay_numbers(method, tmp_path):
    frame = people()
    release = method.publish(frame, SCHEMA, seed=1)
    table = release.means(frame)
    behind, shown = frame[release.private.rows], release.frame
    groups = {}
    for i, cells in enumerate(shown.select("age", "pay", "sex").rows()):
        groups.setdefault(cells, []).append(i)
    for rows in groups.values():
        for name in ("age", "pay"):
            mean = sum(behind[name][i] for i in rows) / len(rows)
            assert table[name].gather(rows).to_list() == pytest.approx([mean] * len(rows))
    assert table["sex"].equals(shown["sex"])
    assert table["age"].mean() == pytest.approx(frame["age"].mean())
    table.write_csv(tmp_path / "means.csv")
    verdict = ic.verify(tmp_path / "means.csv", quasi=["age", "pay", "sex"], k=5)
    assert verdict.ok
    assert not ic.verify(
        table.with_columns(pl.col("pay") + (pl.int_range(pl.len()) == 7)), quasi=["age", "pay"], k=5
    ).ok


def test_what_is_refused(tmp_path):
    for odd in (-1, True, "much", float("inf")):
        with pytest.raises(ic.ParameterError, match="class_weight is"):
            ic.Microaggregation(k=2, class_weight=odd)
    frame = people(60)
    secret = ic.Schema(quasi={"age": ic.Intervals(), "pay": ic.Intervals(), "sex": None}, sensitive="ill")
    release = ic.Microaggregation(k=5).publish(frame, SCHEMA, seed=1)
    with pytest.raises(ic.SchemaError, match="59 rows"):
        release.means(frame[1:])
    release.save(tmp_path / "out")
    (tmp_path / "out.private").rename(tmp_path / "gone")
    for other in (ic.Release.load(tmp_path / "out"), ic.NSVDist(k=5).publish(frame, secret, seed=1)):
        with pytest.raises(ic.IncompatibleError, match="no groups"):
            other.means(frame)
