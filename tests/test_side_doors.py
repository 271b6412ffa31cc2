"""Ways in which what is promised left the house by a side door, each tried from outside."""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io
from incrowd.hierarchy import Intervals
from incrowd.release.atoms import Atoms
from incrowd.release.domains import PublishedTaxonomy

N = 300
VALUES = ["flu", "cold", "none", "asthma"]


def people(seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(17, 80, N),
            "pay": rng.normal(3000, 900, N).round(2),
            "born": [date(1960, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 9000, N)],
            "town": [f"town {number:02}" for number in rng.geometric(0.15, N)],
            "ill": rng.choice(VALUES, N),
        }
    )


QUASI = {"age": ic.Intervals(), "pay": ic.Intervals(), "born": ic.dates(), "town": ic.balanced(3)}
SCHEMA = ic.Schema(quasi=QUASI, sensitive="ill")
ROWS = [ic.NSVDist(k=5), ic.Mondrian(k=5), ic.NHAA(k=5)]


@pytest.mark.parametrize("method", [ic.NSVDist(k=5, l=1.2), ic.NSVDist(k=5)], ids=["l", "k"])
@pytest.mark.parametrize(
    "disguise",
    [
        lambda ill, _: ill,
        lambda ill, _: ill.replace_strict(VALUES, ["w", "x", "y", "z"]),
        lambda ill, _: ill.replace_strict(VALUES, [3, 1, 4, 2]),
        lambda ill, rng: pl.Series(np.where(rng.random(N) < 0.03, "?", ill.to_numpy())),
        lambda ill, rng: pl.Series(
            [f"{value}-{number}" for value, number in zip(ill, rng.integers(0, 9, N), strict=True)]
        ),
    ],
    ids=["copy", "renamed", "numbered", "nearly", "finer"],
)
def test_the_sensitive_column_does_not_leave_under_another_name(method, disguise):
    frame = people()
    told = frame.with_columns(note=disguise(frame["ill"], np.random.default_rng(1)))
    schema = ic.Schema(quasi=QUASI, sensitive="ill", other=["note"])
    with pytest.raises(ic.IncrowdError, match="note"):
        method.publish(told, schema)
    innocent = frame.with_columns(note=pl.Series(np.random.default_rng(1).integers(0, 9, N)))
    assert method.publish(innocent, schema).n_rows == N


@pytest.mark.parametrize("method", ROWS, ids=lambda method: method.name)
def test_a_generalized_column_does_not_leave_under_another_name(method):
    told = people().with_columns(note=pl.col("pay") * 2 + 1)
    with pytest.raises(ic.IncrowdError, match="note"):
        method.publish(told, ic.Schema(quasi=QUASI, sensitive="ill", other=["note"]))


def _one_further(right):
    return lambda self, lo, hi: right(self, min(lo + 1, hi), hi)


def _everything(right):
    return lambda self, *_: right(self, 0, self.n_leaves - 1)


@pytest.mark.parametrize(
    ("kind", "domains", "wrong"),
    [
        (Atoms, "joined", _one_further),
        (Intervals, "joined", _one_further),
        (Intervals, "exact", _one_further),
        (PublishedTaxonomy, "joined", _everything),
        (PublishedTaxonomy, "exact", _everything),
    ],
)
def test_a_wrong_label_is_not_vouched_for(kind, domains, wrong, tmp_path, monkeypatch):
    monkeypatch.setattr(kind, "label", wrong(kind.label))
    schema = ic.Schema(quasi=QUASI | {"town": Intervals()}, sensitive="ill")
    release = ic.Mondrian(k=5).publish(people(), schema, domains=domains)
    with pytest.raises(ic.VerificationError, match="label"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_what_is_written_is_what_is_checked(end, tmp_path, monkeypatch):
    write = getattr(io, f"write_canonical_{end}")

    def careless(frame, path):
        write(frame.with_columns(pl.col("ill").reverse()), path)

    monkeypatch.setattr(io, f"write_canonical_{end}", careless)
    release = ic.Mondrian(k=5).publish(people(), SCHEMA)
    with pytest.raises(ic.VerificationError):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def _trained(frame, seed):
    schema = ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="ill", rest="drop")
    tree = ic.KAnonymousTreeClassifier(k=5).fit(frame.select("age", "town"), frame["ill"])
    return tree.to_release(frame, schema, seed=seed)


def _projected(frame, seed):
    schema = ic.Schema(quasi={"age": ic.Intervals(), "town": None}, sensitive="ill", rest="drop")
    return ic.DMPD(k=5, generations=1, population=4, folds=2).publish(frame, schema, seed=seed)


@pytest.mark.parametrize("publish", [_trained, _projected], ids=["tree", "projections"])
def test_a_guessed_seed_does_not_tell_whose_row_is_whose(publish):
    """Who repeats the run with a table that differs in a column that is not even published gets other places."""
    frame = people().with_columns(pl.col("age") // 20 * 20, pl.lit("a").alias("town"), pl.int_range(N).alias("number"))
    guessed = frame.with_columns(pl.col("number").reverse())
    own, again, without = publish(frame, 7), publish(frame, 7), publish(guessed, 7)
    assert np.array_equal(own.private.rows, again.private.rows)
    if publish is _trained:  # the table that is handed out does not depend on chance
        assert own.written_tables()[0].equals(without.written_tables()[0])
    placed = (own.private.rows == without.private.rows).mean()
    assert placed < 0.1


def test_rare_dates_names_and_numbers_are_not_in_the_manifest():
    frame = people()
    text = json.dumps(ic.Mondrian(k=5).publish(frame, SCHEMA).manifest.to_dict())
    alone = [
        str(value)
        for name in ("pay", "born", "town")
        for value, rows in frame[name].value_counts().iter_rows()
        if rows < 5
    ]
    assert len(alone) > 500
    assert [value for value in alone if f'"{value}"' in text or f" {value}," in text or f"[{value}," in text] == []
    exact = json.dumps(ic.Mondrian(k=5).publish(frame, SCHEMA, domains="exact").manifest.to_dict())
    assert all(value in exact for value in alone)


def test_what_is_drawn_comes_from_what_is_published():
    """The owner's exact domains have no part in it: whoever has the public part alone draws the same rows."""
    frame = people()
    release = ic.NSVDist(k=5).publish(frame, SCHEMA)
    public = replace(release, private=None)
    drawn = release.sample(seed=1)
    assert drawn.equals(public.sample(seed=1))
    assert release.training(seed=1).equals(public.training(seed=1))
    rare = frame.filter(pl.len().over("town") < 5)["town"].unique()
    assert len(rare) > 3
    assert set(rare) & set(drawn["town"]) == set()


@pytest.mark.parametrize("place", [3, 200])
def test_two_releases_that_differ_by_a_person_do_not_tell_the_person_by_their_manifests(place):
    frame = people()
    less = frame.filter(pl.int_range(N) != place)

    def marginals(table, domains):
        quasi = ic.NSVDist(k=5).publish(table, SCHEMA, domains=domains).manifest.quasi
        return [dict(zip(map(str, q.values or q.cuts), q.counts, strict=False)) for q in quasi[:2]]

    with_person, without = marginals(frame, "exact"), marginals(less, "exact")
    for q, (name, a, b) in enumerate(zip(("age", "pay"), with_person, without, strict=True)):
        gone = [value for value, count in a.items() if b.get(value, 0) != count]
        assert gone == [str(frame[name][place])], q
    for counts in (*marginals(frame, "joined"), *marginals(less, "joined")):
        assert all(count % 5 == 0 for count in counts.values())
        assert str(frame["pay"][place]) not in counts


def test_nothing_is_left_beside_a_release(tmp_path):
    ic.Mondrian(k=5).publish(people(), SCHEMA).save(tmp_path / "out")
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["out", "out.private"]
