"""k^m-anonymity of baskets: the paper's example, brute force, the verifier on forged folders, the command."""

import json
import sys
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.cli import main

# Terrovitis, Mamoulis and Kalnis 2008, Figures 1 to 3
PAPER = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
TREE = ic.Taxonomy.from_nested({"A": ["a1", "a2"], "B": ["b1", "b2"]})
DEEP = {"P": {"p": ["a", "b"], "q": ["c", "d"]}, "R": {"r": ["e", "f"], "s": ["g"]}}
BASKETS = st.lists(st.sets(st.sampled_from("abcdefg"), max_size=4).map(sorted), min_size=1, max_size=9)


def sets_of(baskets, m):
    counts = Counter()
    for basket in baskets:
        for size in range(1, m + 1):
            counts.update(combinations(sorted(set(basket)), size))
    return counts


def keeps(baskets, k, m):
    return all(n >= k for n in sets_of(baskets, m).values())


def cuts(tree):
    """Every way to publish a tree with whole subtrees: for each item its name."""
    if isinstance(tree, list):
        return [{item: item for item in tree}]
    below = product(*(with_root(name, own) for name, own in tree.items()))
    return [{item: name for part in parts for item, name in part.items()} for parts in below]


def with_root(name, below):
    inner = cuts(below)
    return [*inner, dict.fromkeys(inner[0], name)]


def penalty(baskets, way):
    width, n = Counter(way.values()), sum(len(set(basket)) for basket in baskets)
    costs = [width[way[item]] / len(way) if width[way[item]] > 1 else 0 for basket in baskets for item in set(basket)]
    return sum(costs) / max(1, n)


@pytest.mark.parametrize("search", ["apriori", "direct"])
def test_the_example_of_the_paper(search):
    """Nobody is unique by one item, but {a1, a2} is; {a1, a2} -> A makes it 2^2-anonymous."""
    assert keeps(PAPER, 2, 1)
    assert not keeps(PAPER, 2, 2)
    release = ic.KmBaskets(k=2, m=2, hierarchy=TREE, search=search).publish(PAPER)
    assert sorted(release.baskets) == [["A", "b1"], ["A", "b1", "b2"], ["A", "b1", "b2"], ["A", "b2"]]
    assert release.stands_for == {"A": ["a1", "a2"], "b1": ["b1"], "b2": ["b2"]}
    assert release.loss == pytest.approx(5 * 0.5 / 11)


@settings(max_examples=40)
@given(BASKETS, st.integers(1, 3), st.integers(1, 3), st.sampled_from(["apriori", "direct"]))
def test_brute_force(baskets, k, m, search):
    method = ic.KmBaskets(k=k, m=m, hierarchy=ic.Taxonomy.from_nested(DEEP), search=search)
    full = [basket for basket in baskets if basket]
    if len(full) < k:
        with pytest.raises(ic.InfeasibleError):
            method.publish(baskets)
        return
    release = method.publish(baskets)
    way = {item: name for name, own in release.stands_for.items() for item in own}
    every = [*cuts(DEEP), dict.fromkeys("abcdefg", "*")]
    assert way in every
    assert sorted(release.baskets) == sorted(sorted({way[item] for item in basket}) for basket in full)
    assert keeps(release.baskets, k, m)
    assert release.loss == pytest.approx(penalty(full, way))
    safe = [penalty(full, own) for own in every if keeps([[own[i] for i in b] for b in full], k, m)]
    assert min(safe) - 1e-9 <= release.loss
    if keeps(full, k, m):
        assert release.loss == 0
    assert release.empty == len(baskets) - len(full)


def long(baskets):
    return pl.DataFrame(
        [(f"t{n}", item) for n, basket in enumerate(baskets) for item in (basket or [None])],
        schema={"tid": pl.String, "item": pl.String},
        orient="row",
    )


def saved(tmp_path):
    frame = long([*PAPER, []])
    release = ic.KmBaskets(k=2, m=2, hierarchy=TREE).publish(frame)
    release.save(tmp_path / "out")
    return frame, tmp_path / "out"


def test_a_folder_is_verified_with_and_without_the_original(tmp_path):
    frame, folder = saved(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["baskets.csv", "manifest.json"]
    verdict = ic.verify(folder, frame)
    assert verdict.ok
    assert verdict.complete
    assert verdict.levels == {"km": 2}
    assert ic.verify(folder).ok
    assert not ic.verify(folder, frame.head(8)).ok
    with pytest.raises(ic.InputError, match="exists"):
        ic.KmBaskets(k=2, m=2, hierarchy=TREE).publish(frame).save(folder)


def changed(name, change):
    def act(folder):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        after = change(json.loads(text)) if name.endswith("json") else change(text)
        path.write_text(json.dumps(after, indent=1) + "\n" if name.endswith("json") else after, encoding="utf-8")

    return act


def of_manifest(change):
    def act(manifest):
        change(manifest)
        return manifest

    return changed("manifest.json", act)


def promise(k, m):
    def change(manifest):
        manifest["method"]["parameters"] |= {"k": k, "m": m}
        manifest["guarantees"][0] |= {"k": k, "m": m}

    return of_manifest(change)


FORGED = {
    "larger k": (promise(3, 2), "km"),
    "larger m": (promise(4, 3), "km"),
    "k in the guarantee only": (of_manifest(lambda m: m["guarantees"][0].update(k=1)), "manifest"),
    "note": (of_manifest(lambda m: m.update(note="t1 is Alice")), "manifest"),
    "item behind two names": (of_manifest(lambda m: m["items"][0]["stands_for"].append("b1")), "manifest"),
    "name left out": (of_manifest(lambda m: m["items"].pop()), "items"),
    "count": (of_manifest(lambda m: m["baskets"].update(released=7)), "order"),
    "another search": (of_manifest(lambda m: m["method"]["parameters"].update(search="Alice")), "manifest"),
    "method without parameters": (of_manifest(lambda m: m.update(method={"name": "km_baskets"})), "manifest"),
    "method that is none": (of_manifest(lambda m: m.update(method=None)), "manifest"),
    "another method": (of_manifest(lambda m: m["method"].update(name="tds")), "manifest"),
    "empty baskets that are none": (of_manifest(lambda m: m["baskets"].update(empty=-1)), "manifest"),
    "format": (of_manifest(lambda m: m.update(format=9)), "manifest"),
    "what a name stands for": (of_manifest(lambda m: m["items"][0].update(stands_for=["a1"])), "original"),
    "rare set": (changed("baskets.csv", lambda t: t.replace("3,b1\n", "", 1)), "km"),
    "another basket": (changed("baskets.csv", lambda t: t + "5,A\n5,b1\n"), "order"),
    "order": (changed("baskets.csv", lambda t: "basket,item\n1,b1\n1,A\n" + t.split("\n", 3)[3]), "order"),
    "crlf": (changed("baskets.csv", lambda t: t.replace("1,A\n", "1,A\r\n", 1)), "csv"),
    "another file": (lambda folder: (folder / "notes.txt").write_text("t1 is Alice"), "files"),
    "a number that is none": (changed("baskets.csv", lambda t: t + "x,b1\n"), "csv"),
    "a basket without a number": (changed("baskets.csv", lambda t: t.replace("3,b1\n", ",b1\n", 1)), "csv"),
    "numbers with a gap": (changed("baskets.csv", lambda t: t.replace("\n4,", "\n9,")), "order"),
    "numbers from 2": (changed("baskets.csv", lambda t: t.replace("\n1,", "\n2,")), "order"),
    "spaces": (lambda f: (f / "manifest.json").write_text((f / "manifest.json").read_text() + " "), "nothing private"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_folders_are_refused(tmp_path, name):
    frame, folder = saved(tmp_path)
    forge, check = FORGED[name]
    forge(folder)
    verdict = ic.verify(folder, frame)
    assert not verdict.ok
    assert check in {violation.split(":")[0] for violation in verdict.violations}


@pytest.mark.parametrize("columns", [["basket"], ["basket", "item", "item"], ["basket", 3], "basket", []])
def test_columns_are_two_names(tmp_path, columns):
    _, folder = saved(tmp_path)
    of_manifest(lambda m: m.update(columns=columns))(folder)
    assert "columns are not two names" in " ".join(ic.verify(folder).violations)


def test_a_table_that_lacks_the_columns_is_not_the_original(tmp_path):
    frame, folder = saved(tmp_path)
    with pytest.raises(ic.InputError, match="has not the columns for basket and item"):
        ic.verify(folder, frame.rename({frame.columns[0]: "other"}))


def test_rules_beside_the_originals():
    baskets = [["a1", "b1"], ["a1", "b1"], ["a2", "b1"], ["a1", "b2", "b1"], ["a2", "b2", "b1"], ["b1"]]
    release = ic.KmBaskets(k=2, m=2, hierarchy=TREE).publish(baskets)
    found = release.rules(min_support=0.3, min_confidence=0.8)
    assert (["b2"], ["b1"]) in found.select("antecedents", "consequents").rows()
    compared = release.compare_rules(baskets, min_support=0.3, min_confidence=0.8)
    assert compared.matched.height + compared.false.height == found.height
    same = ic.KmBaskets(k=1, m=1, hierarchy=TREE).publish(baskets).compare_rules(baskets, min_support=0.3)
    assert (same.recall, same.precision) == (1, 1)


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2, "m": 1.5}, "m is 1.5"),
        ({"k": 2, "m": 9}, "m is 9"),
        ({"k": 2, "search": "fast"}, "search is 'fast'"),
    ],
)
def test_wrong_parameters(given, fact):
    with pytest.raises(ic.ParameterError, match=fact):
        ic.KmBaskets(**given)


def test_wrong_input():
    method = ic.KmBaskets(k=2, hierarchy=TREE)
    for data, fact in (
        ([], "no baskets"),
        (["a1"], "Every basket must be"),
        (long(PAPER).with_columns(price=1), "is not clear"),
        (long(PAPER).with_columns(tid=pl.lit(None, pl.String)), "say no basket"),
    ):
        with pytest.raises(ic.IncrowdError, match=fact):
            method.publish(data)
    with pytest.raises(ic.HierarchyError, match="lacks 1 item"):
        method.publish([["a1", "Zaphod"], ["a1"]])


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    long(PAPER).write_csv("data.csv")
    Path("tree.csv").write_text("a1,A,*\na2,A,*\nb1,B,*\nb2,B,*\n", encoding="utf-8")
    asked = ("baskets", "data.csv", "-o", "out", "-k", "2", "-m", "2", "--rules", "0.3")
    code, out, err = run(monkeypatch, capsys, *asked, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["baskets"], told["empty"], told["items"]) == (4, 0, 4)
    assert run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")[0] == 0
    code, _, err = run(monkeypatch, capsys, *asked)
    assert code == 2
    code, out, _ = run(monkeypatch, capsys, *asked, "--if-exists", "replace")
    assert "whoever knows at most 2 items" in out
    Path("out/baskets.csv").write_text("basket,item\n1,a1\n", encoding="utf-8")
    assert run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")[0] == 3
