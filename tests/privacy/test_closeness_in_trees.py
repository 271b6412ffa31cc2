"""Hierarchical closeness: distances of the paper, a plain earth mover, and releases that keep it."""

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import incrowd as ic
from incrowd.domains import limits_of
from incrowd.kernels.limits import holds
from incrowd.privacy import Privacy
from incrowd.verify.levels import distances_in_tree

# Li, Li and Venkatasubramanian 2007, Figure 1
DISEASES = {
    "respiratory system diseases": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung diseases": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive system diseases": {
        "stomach diseases": ["gastric ulcer", "stomach cancer", "gastritis"],
        "colon diseases": ["colitis", "colon cancer"],
    },
}
TREE = ic.Taxonomy.from_nested(DISEASES)
NODES = np.array([[list(dict.fromkeys(level)).index(name) for name in level] for level in TREE.level_names[1:]])
PLACE = {name: at for at, name in enumerate(TREE.leaves.to_list())}
SMALL = np.array([[0, 0, 1, 1], [0, 0, 0, 0]])  # values 0 and 1 meet below the root, as do 2 and 3
COUNTS = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


def ground(nodes):
    """How far apart values are: the height at which they meet over the root's."""
    return np.array(
        [
            [0 if a == b else (np.argmax(nodes[:, a] == nodes[:, b]) + 1) / len(nodes) for b in range(nodes.shape[1])]
            for a in range(nodes.shape[1])
        ]
    )


def earth_moved(p, q, apart):
    """The cheapest way to move p to q, by linear programming."""
    n = len(p)
    rows = [np.kron(np.eye(n)[i], np.ones(n)) for i in range(n)] + [np.kron(np.ones(n), np.eye(n)[i]) for i in range(n)]
    return linprog(apart.ravel(), A_eq=np.array(rows), b_eq=[*p, *q]).fun


@pytest.mark.parametrize(
    ("other", "apart"), [("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1)]
)
def test_distances_of_the_paper(other, apart):
    """From flu."""
    counts, marginal = np.zeros((1, 10), int), np.zeros(10, int)
    counts[0, PLACE["flu"]] = marginal[PLACE[other]] = 1
    assert distances_in_tree(counts, marginal, NODES).tolist() == [pytest.approx(apart)]


@given(COUNTS, COUNTS)
def test_it_is_the_earth_movers_distance(counts, rest):
    table = np.add(counts, rest)
    wanted = earth_moved(np.divide(counts, sum(counts)), table / table.sum(), ground(SMALL))
    assert distances_in_tree(np.array([counts]), table, SMALL)[0] == pytest.approx(wanted, abs=1e-9)
    trees = {"s": SMALL.astype(np.int32)}
    for t in (0.1, 0.3):
        limits = limits_of(Privacy.of(1, t=t, tree=True), int(table.sum()), {"s": table}, nodes=trees)
        if abs(wanted - t) > 1e-9:
            assert holds(np.array(counts), sum(counts), limits) == (wanted <= t)


def test_the_union_of_near_groups_is_near():
    one, other, table = np.array([3, 0, 1, 0]), np.array([0, 2, 0, 1]), np.array([5, 5, 5, 5])
    apart = [distances_in_tree(counts[None, :], table, SMALL)[0] for counts in (one, other, one + other)]
    assert apart[2] <= max(apart[:2])


TABLE = pl.DataFrame(
    {
        "age": [20 + i % 37 for i in range(120)],
        "ill": [list(PLACE)[(i * 7 + i // 11) % 10] for i in range(120)],
        "faith": [("a", "b", "c")[i * 5 % 7 % 3] for i in range(120)],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals()}, sensitive={"ill": TREE}, identifiers=["faith"])


def test_releases_keep_it_and_tell_the_tree(tmp_path):
    release = ic.Mondrian(k=3, t=0.25, tree=True).publish(TABLE, SCHEMA, seed=1)
    assert release.manifest.promises == "k = 3, t = 0.25 (tree)"
    release.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == 4
    assert manifest["sensitive"]["leaves"] == sorted(PLACE)
    verdict = ic.verify(tmp_path / "out", TABLE)
    assert verdict.ok
    assert verdict.unchecked == []
    assert [check.ok for check in verdict.checks if check.name == "t (tree)"] == [True]
    assert verdict.levels["t"] <= 0.25
    assert ic.Release.load(tmp_path / "out").manifest == release.manifest
    equal = ic.Mondrian(k=3, t=0.25).publish(TABLE, SCHEMA, seed=1)
    assert release.loss("lm") < equal.loss("lm")
    assert equal.manifest.format == 2
    assert "leaves" not in equal.manifest.to_dict()["sensitive"]


def test_several_columns_each_along_its_own_tree():
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive={"ill": TREE, "faith": None})
    release = ic.BestCuts(k=3, t=0.4, tree={"ill": True}).publish(TABLE, schema, seed=1)
    assert release.manifest.promises == "k = 3, t = 0.4 (tree) for 'ill', t = 0.4 for 'faith'"
    assert release.verify(TABLE).ok


def test_the_schema_file_keeps_the_tree(tmp_path):
    SCHEMA.to_toml(tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text(encoding="utf-8")
    (tmp_path / "a.toml").write_text(text.replace('role = "sensitive"', 'role = "sensitive"\nt = 0.3\ntree = true'))
    release = ic.Mondrian(k=3).publish(TABLE, ic.Schema.from_toml(tmp_path / "a.toml"), seed=1)
    assert release.manifest.promises == "k = 3, t = 0.3 (tree)"


def test_what_is_wrong_is_said():
    plain = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", rest="drop")
    with pytest.raises(ic.ParameterError, match="has no tree in the schema"):
        ic.Mondrian(k=3, t=0.3, tree=True).publish(TABLE, plain)
    with pytest.raises(ic.ParameterError, match="Both ordered and tree"):
        ic.Mondrian(k=3, t=0.3, tree=True, ordered=True)
    with pytest.raises(ic.ParameterError, match="t was not given"):
        ic.Mondrian(k=3, tree=True)
    no_tree = ic.Schema(quasi={"age": ic.Intervals()}, sensitive={"ill": ic.Intervals(sorted(PLACE))}, rest="drop")
    with pytest.raises(ic.SchemaError, match="is no tree"):
        ic.Mondrian(k=3, t=0.3, tree=True).publish(TABLE, no_tree)


def test_a_tree_that_is_none_is_refused(tmp_path):
    ic.Mondrian(k=3, t=0.25, tree=True).publish(TABLE, SCHEMA, seed=1).save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    good = json.loads(path.read_text(encoding="utf-8"))
    for change in (
        lambda own: own["levels"][-1].__setitem__(0, "x"),
        lambda own: own["levels"].pop(),
        lambda own: own["levels"][0].__setitem__(0, own["levels"][0][5]),
        lambda own: own["leaves"].reverse(),
        lambda own: own.pop("levels"),
    ):
        forged = json.loads(json.dumps(good))
        change(forged["sensitive"])
        path.write_text(json.dumps(forged, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        assert not ic.verify(tmp_path / "out", TABLE).ok
    assert all(len(set(zip(a, b, strict=True))) == len(set(a)) for a, b in pairwise(good["sensitive"]["levels"]))


def test_closeness_along_a_tree_is_judged_when_cells_overlap_too(tmp_path):
    """No method of ours promises it there, but a forger may say so, and another package may do so."""
    ic.Mondrian(k=3, t=0.25, tree=True).publish(TABLE, SCHEMA, seed=1).save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"recoding": "homogeneous"', '"recoding": "non-homogeneous"'), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    verdict = ic.verify(tmp_path / "out", TABLE)
    assert not verdict.ok
    assert [check.name for check in verdict.checks].count("t (tree)") == 1
