"""A forger who rewrites both files of a release of baskets in their one way, against a judge that counts plainly."""

import csv
import io
import json
from collections import Counter
from itertools import chain, combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.baskets import search
from incrowd.verify.baskets import check_basket_files

TREE = ic.Taxonomy.from_nested({"P": {"p": ["a", "b"], "q": ["c", "d"]}, "R": {"r": ["e", "f"], "s": ["g"]}})
BASKETS = st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=4).map(sorted), min_size=4, max_size=12)


def write(folder, manifest, baskets):
    """Write what a forger would: everything as the format wants it."""
    manifest["items"].sort(key=lambda entry: entry["name"])
    rows = [(n, item) for n, own in enumerate(sorted(map(sorted, baskets)), start=1) for item in own]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("basket", "item"), *rows])
    (folder / "baskets.csv").write_text(text.getvalue(), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows = list(csv.reader((folder / "baskets.csv").read_text(encoding="utf-8").splitlines()))[1:]
    held = {}
    for number, item in rows:
        held.setdefault(number, []).append(item)
    return manifest, list(held.values())


def true(manifest, baskets, original):
    """Say whether a folder that is written as it should be keeps its promise and is about the original."""
    k, m = (manifest["guarantees"][0][name] for name in ("k", "m"))
    asked = manifest["method"]["parameters"]
    names = [entry["name"] for entry in manifest["items"]]
    behind = [item for entry in manifest["items"] for item in entry["stands_for"]]
    name_of = {item: entry["name"] for entry in manifest["items"] for item in entry["stands_for"]}
    told = manifest["baskets"]
    if (asked["k"], asked["m"]) != (k, m) or k < 1 or not 1 <= m <= 8:
        return False
    if (
        any(a >= b for a, b in pairwise(names))
        or len(set(behind)) < len(behind)
        or not all(e["stands_for"] for e in manifest["items"])
    ):
        return False
    if any(len(set(own)) < len(own) for own in baskets) or not set(chain(*baskets)) <= set(names):
        return False
    if (told["released"], told["empty"]) != (len(original), 0) or len(baskets) != len(original):
        return False
    if not set(chain(*original)) <= set(behind):
        return False
    if sorted(map(sorted, baskets)) != sorted(sorted({name_of[i] for i in own}) for own in original):
        return False
    sets = Counter(s for own in baskets for size in range(1, m + 1) for s in combinations(sorted(own), size))
    return min(sets.values()) >= k


def of_rows(draw, kind, manifest, baskets, entry):
    """Change what some basket holds, or how many there are."""
    one, told = draw(st.sampled_from(baskets)), manifest["baskets"]
    if kind == "take" and len(one) > 1:
        one.remove(draw(st.sampled_from(one)))
    elif kind == "put":
        one.append(entry["name"])
    elif kind == "swap":
        one[0] = entry["name"]
    elif kind == "drop":
        baskets.remove(one)
        told["released"] -= draw(st.integers(0, 1))
    elif kind == "copy":
        baskets.append(list(one))
        told["released"] += draw(st.integers(0, 1))
    elif kind == "count":
        told["empty"] += 1
        told["released"] += draw(st.integers(0, 1))


def of_promise(draw, kind, manifest):
    """Promise more than was kept, or something else in one place."""
    if kind == "only one k":
        manifest["guarantees"][0]["k"] += draw(st.sampled_from([-1, 1]))
    else:
        manifest["method"]["parameters"][kind] += 1
        manifest["guarantees"][0][kind] += 1


def of_names(draw, kind, manifest, baskets, entry):
    """Change what names stand for, with the baskets or without."""
    entries, name, behind = manifest["items"], entry["name"], entry["stands_for"]
    if kind == "move" and len(entries) > 1 and behind:
        next(e for e in entries if e["name"] != name)["stands_for"].append(behind.pop())
    elif kind == "split" and len(behind) > 1:
        entries.append({"name": "z", "stands_for": [behind.pop()]})
        for own in baskets:
            if name in own and draw(st.booleans()):
                own[own.index(name)] = "z"
    elif kind == "rename":
        entry["name"] = "y"
        for own in baskets:
            own[:] = ["y" if item == name else item for item in own]
    elif kind == "lose" and behind:
        behind.pop()
    elif kind == "more":
        behind.append(draw(st.sampled_from(["h", "a", "g"])))


ROWS, PROMISE, NAMES = (
    ["take", "put", "swap", "drop", "copy", "count"],
    ["k", "m", "only one k"],
    ["move", "split", "rename", "lose", "more"],
)


def forge(draw, manifest, baskets):
    """Change one thing, and what hangs on it."""
    kind, entry = draw(st.sampled_from(ROWS + PROMISE + NAMES)), draw(st.sampled_from(manifest["items"]))
    if kind in ROWS:
        of_rows(draw, kind, manifest, baskets, entry)
    elif kind in PROMISE:
        of_promise(draw, kind, manifest)
    else:
        of_names(draw, kind, manifest, baskets, entry)


@settings(max_examples=4 * settings().max_examples)
@given(BASKETS, st.integers(1, 3), st.integers(1, 3), st.data())
def test_the_verifier_and_the_judge_agree(tmp_path_factory, original, k, m, data):
    folder = tmp_path_factory.mktemp("forged") / "out"
    ic.KmBaskets(k=k, m=m, hierarchy=TREE).publish(original).save(folder)
    manifest, baskets = read(folder)
    assert true(manifest, baskets, original)
    for _ in range(data.draw(st.integers(0, 2))):
        forge(data.draw, manifest, baskets)
    write(folder, manifest, baskets)
    rows = [(number, item) for number, own in enumerate(original) for item in own]
    verdict = check_basket_files(folder, rows, len(original))
    assert verdict.ok == true(manifest, baskets, original), verdict


def test_too_many_sets_are_refused(monkeypatch):
    """A table that cannot grow any more must not be tried for ever."""
    monkeypatch.setattr(search, "_PLACES", 4)
    monkeypatch.setattr(search, "_MOST_PLACES", 4)
    with pytest.raises(ic.ParameterError, match="too many to count"):
        ic.KmBaskets(k=2, m=2, hierarchy=TREE).publish([["a", "b", "c", "d", "e", "f", "g"]] * 2)


@pytest.mark.parametrize("wrong", [[["a"], 3], ["a"], [{"a": 1}]])
def test_an_original_that_is_no_baskets_is_refused(wrong, tmp_path):
    ic.KmBaskets(k=2, m=1).publish([["a"], ["a"]]).save(tmp_path / "out")
    with pytest.raises(ic.InputError, match="must be a list or a set of items"):
        ic.verify(tmp_path / "out", wrong)
