"""k-map and delta-presence: the paper's example, plain counting, and violations that are planted."""

import json
import sys
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from checks.gauntlet.oracle.domains import Values
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.cli import main
from incrowd.publish.population import measure
from strategies import tables

# Nergiz, Atzori and Clifton 2007, the public table P; the people of T are b, c, f, h and i
PUBLIC = pl.DataFrame({
    "zip": ["47906", "47903", "47906", "47630", "47630", "47633", "48973", "48972", "48970"],
    "age": [35, 59, 42, 18, 22, 63, 33, 47, 52],
    "nation": ["USA", "Canada", "USA", "Brazil", "Brazil", "Peru", "Spain", "Bulgaria", "France"],
})  # fmt: skip
IN = [1, 2, 5, 7, 8]
NATIONS = {"America": ["USA", "Canada", "Brazil", "Peru"], "Europe": ["Spain", "Bulgaria", "France"]}
ZIPS = {f"{a}***": [z for z in PUBLIC["zip"].unique().sort() if z[:2] == a] for a in ("47", "48")}
SCHEMA = ic.Schema(
    quasi={"zip": ic.Taxonomy.from_nested(ZIPS), "age": None, "nation": ic.Taxonomy.from_nested(NATIONS)}
)


def test_the_example_of_the_paper():
    """T* = {(47***, *, America): b, c, f; (48***, *, Europe): h, i} is (1/2, 2/3)-present in P."""
    asked = ic.Population(people=PUBLIC, presence=(0.5, 2 / 3))
    release = ic.Lattice(k=1, suppress=0).publish(PUBLIC[IN], SCHEMA, within=asked)
    assert sorted(release.frame.rows()) == [("47***", "*", "America")] * 3 + [("48***", "*", "Europe")] * 2
    assert measure(release, PUBLIC) == (3, 0.5, 2 / 3)
    verdict = release.verify(PUBLIC[IN], within=asked)
    assert verdict.ok
    assert (verdict.levels["k_map"], verdict.levels["presence_least"], verdict.levels["presence_most"]) == (
        3,
        0.5,
        2 / 3,
    )
    for closer in ((0.51, 0.67), (0.5, 0.66)):
        wrong = release.verify(within=ic.Population(people=PUBLIC, presence=closer))
        assert [violation.split(":")[0] for violation in wrong.violations] == ["presence"]


def count(release, people):
    """Count in plain Python, from the published codes and the owner's domains, with the oracle's reading of a cell."""
    coded, own = release.coded(labels=False).rows(named=True), release.private.files(release.quasi)["domains"]["quasi"]
    told = release.manifest.to_dict()["quasi"]

    def fits(person, row):
        for entry, kept in zip(told, own, strict=True):
            name, value = entry["name"], person[entry["name"]]
            cell = row[f"{name}.lo"], row[f"{name}.hi"]
            ranges = entry["kind"] == "intervals"
            if not ranges:
                listed = kept["hierarchy"].get("leaves", kept["hierarchy"].get("values"))
                known = [str(leaf) for leaf in listed]
                if str(value) not in known:
                    if cell != (0, len(entry["leaves"]) - 1):
                        return False
                    continue
                value = kept["leaf_of"][known.index(str(value))]
            if not Values([value], is_range=ranges).fits(cell, 0):
                return False
        return True

    cells = {}
    for row in coded:
        key = tuple(row[f"{name}.{end}"] for name in release.quasi for end in ("lo", "hi"))
        cells.setdefault(key, []).append(row)
    of_cell = {key: [fits(person, rows[0]) for person in people.rows(named=True)] for key, rows in cells.items()}
    k_map = min(sum(who) for who in of_cell.values())
    chances = [
        sum((Fraction(len(cells[key]), sum(who)) for key, who in of_cell.items() if who[i]), Fraction())
        for i in range(people.height)
    ]
    return k_map, float(min(chances)), float(max(chances))


@settings(max_examples=30)
@given(
    tables(max_rows=14),
    st.integers(1, 4),
    st.sampled_from(["mondrian", "lattice", "tds", "tight_groups"]),
    st.sampled_from(["joined", "exact"]),
    st.integers(0, 9),
)
def test_plain_counting(drawn, k, method, domains, seed):
    frame = drawn.frame
    k = min(k, frame.height)
    more = frame.sample(min(9, 2 * frame.height), with_replacement=True, seed=seed)
    people = pl.concat([frame, more])
    try:
        release = ic.publish(frame, drawn.schema, method=method, k=k, seed=1, domains=domains)
    except ic.InfeasibleError:
        return
    found = measure(release, people)
    assert found == pytest.approx(count(release, people))
    verdict = release.verify(frame, within=ic.Population(people=people, k_map=1))
    told = [verdict.levels[name] for name in ("k_map", "presence_least", "presence_most")]
    assert told == pytest.approx(list(found))
    assert release.manifest.rows.released == 0 or found.k_map >= k


def people(n=300, seed=3):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "age": rng.integers(18, 80, n),
        "zip": [f"{x:05d}" for x in rng.integers(10000, 10030, n)],
        "ill": rng.choice(["flu", "gout", "none"], n),
    })  # fmt: skip


OF_PEOPLE = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill")


@pytest.mark.parametrize("name", ["mondrian", "best_cuts", "lattice", "tight_groups", "nsvdist", "iack", "kactus"])
def test_every_method_keeps_what_is_asked_of_a_population(name):
    everybody = people()
    frame = everybody[:60]
    for asked in ({"k_map": 20}, {"presence": (0, 0.5)}, {"k_map": 15, "presence": (0, 0.6)}):
        within = ic.Population(people=everybody, **asked)
        release = ic.publish(frame, OF_PEOPLE, method=name, k=2, seed=1, within=within)
        k_map, _, most = count(release, everybody)
        assert k_map >= asked.get("k_map", 1)
        assert most <= asked.get("presence", (0, 9))[1] + 1e-9
        assert release.verify(frame, within=within).ok
        assert 2 <= release.manifest.k <= 60


def test_violations_are_found_in_folders(tmp_path):
    everybody = people()
    within = ic.Population(people=everybody, k_map=12, presence=(0, 0.5))
    release = ic.Mondrian(k=2).publish(everybody[:60], OF_PEOPLE, seed=1, within=within)
    release.save(tmp_path / "out")
    asked = {"k_map": 12, "presence": (0, 0.5)}
    assert ic.verify(tmp_path / "out", everybody[:60], population=everybody, **asked).ok
    reached = ic.verify(tmp_path / "out", population=everybody).levels
    for more in ({"k_map": reached["k_map"] + 1}, {"presence": (0, reached["presence_most"] - 1e-6)}):
        verdict = ic.verify(tmp_path / "out", population=everybody, **more)
        assert [v.split(":")[0] for v in verdict.violations] == [next(iter(more))]
    one = release.frame["age"][0].split("-")  # people of one cell are not in the population
    ages = pl.col("age").is_between(int(one[0]), int(one[-1]))
    fewer = pl.concat([everybody.filter(~ages), everybody.filter(ages)[:3]])
    assert {v.split(":")[0] for v in ic.verify(tmp_path / "out", population=fewer, **asked).violations} == {
        "k_map",
        "presence",
    }
    nobody = ic.verify(tmp_path / "out", population=everybody.filter(~ages), presence=(0, 1))
    assert "nobody fits" in " ".join(nobody.violations)
    # a larger claim in the manifest changes nothing of it, a row with the cell of another does
    path = tmp_path / "out" / "manifest.json"
    told = json.loads(path.read_text())
    assert "k_map" not in json.dumps(told)


def test_names_that_were_joined_need_the_owner(tmp_path):
    rng = np.random.default_rng(1)
    everybody = pl.DataFrame({"job": rng.choice([f"j{i}" for i in range(40)], 200), "ill": rng.choice(["a", "b"], 200)})
    schema = ic.Schema(quasi={"job": ic.balanced(3)}, sensitive="ill")
    release = ic.Mondrian(k=8).publish(everybody[:80], schema, seed=1)
    release.save(tmp_path / "out")
    asked = {"population": everybody, "k_map": 2}
    with_owner = ic.verify(tmp_path / "out", **asked)
    assert with_owner.levels["k_map"] == count(release, everybody)[0]
    path = tmp_path / "out.private" / "domains.json"
    domains = json.loads(path.read_text())
    domains["quasi"][0]["leaf_of"][0] = -1  # no place at all
    path.write_text(json.dumps(domains))
    assert "k_map" in " ".join(ic.verify(tmp_path / "out", **asked).unknown)
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    verdict = ic.verify(tmp_path / "out", **asked)
    assert not verdict.complete
    assert "k_map" in " ".join(verdict.unknown)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_what_is_refused():
    everybody = people(30)
    for odd, fact in (
        ({}, "neither k_map nor presence"),
        ({"k_map": 0}, "k_map is 0"),
        ({"k_map": True}, "k_map is True"),
        ({"presence": (0.5, 0.2)}, "presence is"),
        ({"presence": 0.5}, "presence is"),
    ):
        with pytest.raises(ic.ParameterError, match=fact):
            ic.Population(people=everybody, **odd)
    with pytest.raises(ic.InfeasibleError, match="k_map = 31"):
        ic.Mondrian(k=2).publish(everybody, OF_PEOPLE, within=ic.Population(people=everybody, k_map=31))
    within = ic.Population(people=everybody.drop("zip"), k_map=2)
    with pytest.raises(ic.SchemaError, match="no column 'zip'"):
        ic.Mondrian(k=2).publish(everybody, OF_PEOPLE, within=within)
    with pytest.raises(ic.IncompatibleError, match="publishes no rows with cells"):
        ic.DMPD(k=2).publish(everybody, OF_PEOPLE, within=ic.Population(people=everybody, k_map=2))
    with pytest.raises(ic.InputError, match="none was given"):
        ic.verify("nowhere", k_map=2)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people()[:60].write_csv("data.csv")
    people().write_csv("people.csv")
    OF_PEOPLE.to_toml("schema.toml")
    asked = ("--population", "people.csv", "--k-map", "12", "--presence", "0.5")
    code, _, err = run(monkeypatch, capsys, "publish", "data.csv", "-s", "schema.toml", "-o", "out", "-k", "2", *asked)
    assert code == 0, err
    assert run(monkeypatch, capsys, "verify", "out", "--original", "data.csv", *asked)[0] == 0
    assert run(monkeypatch, capsys, "verify", "out", *asked[:2], "--k-map", "299")[0] == 3
    for wrong in ((*asked, "--by-batches"), ("--k-map", "2"), ("--population", "people.csv", "--presence", "much")):
        code, _, err = run(monkeypatch, capsys, "verify", "out", *wrong)
        assert code == 2
        assert "Hint: " in err
