"""Plant one violation at a time; the check that is meant for it must find it."""

from __future__ import annotations

import json
import random

import numpy as np
import polars as pl
import pytest

from incrowd.errors import InputError, VerificationError
from incrowd.verify import check, verify
from verify.build import AGES, DAYS, ILLS, Made, answers, make, put

ALL_PROMISES = [
    {"kind": "k", "k": 6},
    {"kind": "l", "l": 3, "l_kind": "frequency"},
    {"kind": "l", "l": 4, "l_kind": "distinct"},
    {"kind": "l", "l": 3.7, "l_kind": "entropy"},
    {"kind": "l", "l": 3, "l_kind": "recursive", "c": 3.0},
    {"kind": "t", "t": 0.15, "ordered": False},
    {"kind": "t", "t": 0.15, "ordered": True},
    {"kind": "alpha", "alpha": 0.34},
    {"kind": "lkc", "L": 2, "K": 6, "C": 0.6},
]
KINDS = {
    "homogeneous exact": {"guarantees": ALL_PROMISES},
    "homogeneous counts": {"form": "counts", "guarantees": ALL_PROMISES},
    "missing dropped": {"missing": True},
    "missing is a value": {"missing": True, "policy": "value"},
    "non-homogeneous counts": {"recoding": "non-homogeneous", "form": "counts", "guarantees": ALL_PROMISES[:-1]},
    "non-homogeneous, missing": {"recoding": "non-homogeneous", "form": "counts", "missing": True, "policy": "value"},
}
EXACT, COUNTS, DROPPED, NULLS = "homogeneous exact", "non-homogeneous counts", "missing dropped", "missing is a value"


@pytest.fixture(scope="module")
def valid() -> dict[str, Made]:
    return {name: make(**options) for name, options in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row_map", [True, False])
def test_the_unmutated_release_passes(valid, tmp_path, kind, row_map):
    made = valid[kind]
    folder = made.write(tmp_path / "out", row_map=row_map)
    verdict = verify(folder, made.original)
    assert verdict.violations == []
    open_ = {name for name, ok in answers(verdict).items() if ok is None}
    allowed = set()
    if not row_map:
        allowed |= {"row map", "order"} | ({"original marginals"} if made.manifest["rows"]["suppressed"] else set())
    assert open_ <= allowed
    alone = verify(folder)
    assert alone.violations == []
    assert answers(alone)["original"] is None


def swap_values(made, a, b):
    for name in ("frame", "csv"):
        frame = getattr(made, name)
        x, y = frame["ill"][a], frame["ill"][b]
        setattr(made, name, put(put(frame, "ill", a, y), "ill", b, x))


def same_group(made):
    """The rows of the first row's group."""
    codes = [c for c in made.frame.columns if c.endswith((".lo", ".hi"))]
    keys = made.frame.select(codes).rows()
    return [i for i, key in enumerate(keys) if key == keys[0]]


def small_group(made):
    row = same_group(made)[0]
    lo, hi = made.frame["age.lo"][row], made.frame["age.hi"][row]
    lo, hi = (0, hi) if lo else (0, 19) if hi < 19 else (lo, hi)
    taken = set(zip(made.frame["age.lo"], made.frame["age.hi"], strict=True))
    lo, hi = next(
        (a, b) for a, b in [(0, 19), (lo, hi), (0, 18), (1, 19)] if (a, b) not in taken and a <= lo and hi <= b
    )
    set_cell(made, row, "age", lo, hi, f"{AGES[lo]}-{AGES[hi]}")


def set_cell(made, row, column, lo, hi, label):
    made.frame = put(put(put(made.frame, f"{column}.lo", row, lo), f"{column}.hi", row, hi), column, row, label)
    made.csv = put(made.csv, column, row, label)


def fill_group(made, value, n):
    """Give n rows of the first group one value, taken in exchange from rows of other groups."""
    group = same_group(made)
    outside = [i for i in range(made.frame.height) if i not in group and made.frame["ill"][i] == value]
    inside = [i for i in group if made.frame["ill"][i] != value]
    have = len(group) - len(inside)
    for a, b in list(zip(inside, outside, strict=False))[: n - have]:
        swap_values(made, a, b)


def set_counts(made, row, counts):
    total = sum(counts)
    for ill, count in zip(ILLS, counts, strict=True):
        made.frame = put(made.frame, f"ill={ill}", row, count)
        made.csv = put(made.csv, f"ill={ill}", row, count / total if total else 0.0)


def shrink_to_own(made):
    """Make one row's box its own original: nobody else fits."""
    person = made.original.row(int(made.rows[0]), named=True)
    age, day = AGES.index(person["age"]), DAYS.index(person["day"])
    set_cell(made, 0, "age", age, age, str(person["age"]))
    set_cell(made, 0, "day", day, day, str(person["day"]))
    work = made.manifest["quasi"][1]["hierarchy"]["leaves"].index(person["work"])
    set_cell(made, 0, "work", work, work, person["work"])


def away_from_original(made):
    person = made.original.row(int(made.rows[0]), named=True)
    age = (AGES.index(person["age"]) + 1) % len(AGES)
    set_cell(made, 0, "age", age, age, str(AGES[age]))


def illegal_node(made):
    set_cell(made, 0, "work", 1, 3, "*")


def joins_missing(made):
    made.manifest["quasi"][1]["hierarchy"] = {
        "kind": "intervals", "type": "str", "values": made.manifest["quasi"][1]["hierarchy"]["leaves"],
    }  # fmt: skip
    set_cell(made, 0, "work", 0, 2, "*")


def lo_above_hi(made):
    made.frame = put(put(made.frame, "age.lo", 0, 9), "age.hi", 0, 8)


def out_of_domain(made):
    made.frame = put(made.frame, "age.hi", 0, 20)


def negative_code(made):
    made.frame = put(made.frame, "age.lo", 0, -1)


def lose_row(made):
    made.frame, made.csv, made.rows = made.frame[1:], made.csv[1:], made.rows[1:]


def double_row(made):
    made.frame = pl.concat([made.frame[1:], made.frame[-1:]])
    made.csv = pl.concat([made.csv[1:], made.csv[-1:]])
    made.rows = np.append(made.rows[1:], made.rows[-1])


def double_row_unmapped(made):
    double_row(made)
    made.rows[-1] = next(i for i in range(made.original.height) if i not in made.rows)


def leak_identifier(made):
    made.frame = made.frame.with_columns(made.original["name"][made.rows].alias("name"))


def hide_identifier(made):
    """The identifier stands under the name of an announced column, in the original as in the release."""
    names = made.original["name"]
    made.original = made.original.with_columns(names.alias("hours"))
    made.frame = made.frame.with_columns(names[made.rows].alias("hours"))
    made.csv = made.csv.with_columns(names[made.rows].alias("hours"))


def marginal_off_by_one(made):
    made.manifest["quasi"][0]["marginal"][3] += 1


def marginals_shifted(made):
    marginal = made.manifest["quasi"][0]["marginal"]
    marginal[9] += 1
    marginal[10] -= 1


def marginal_without_room(made):
    size = len(made.manifest["quasi"][0]["marginal"])
    made.manifest["quasi"][0]["marginal"] = [made.frame.height] + [0] * (size - 1)


def sensitive_marginal_off(made):
    marginal = made.manifest["sensitive"]["marginal"]
    marginal[0] += 1
    marginal[1] -= 1


def short_marginal(made):
    made.manifest["quasi"][0]["marginal"].pop()


def wrong_csv_label(made):
    made.csv = put(made.csv, "work", 0, "hand" if made.csv["work"][0] != "hand" else "head")


def wrong_parquet_label(made):
    made.frame = put(made.frame, "age", 5, "20-21")


def wrong_share(made):
    made.csv = put(made.csv, f"ill={ILLS[0]}", 0, made.csv[f"ill={ILLS[0]}"][0] + 1e-6)


def wrong_csv_value(made):
    made.csv = put(made.csv, "ill", 0, ILLS[0] if made.csv["ill"][0] != ILLS[0] else ILLS[1])


def csv_rows_swapped(made):
    order = [1, 0, *range(2, made.csv.height)]
    made.csv = made.csv[order]


def accounting_off(made):
    made.manifest["rows"]["input"] += 1


def suppressed_hidden(made):
    made.manifest["rows"]["missing"] -= 1
    made.manifest["rows"]["suppressed"] += 1


def not_nested(made):
    made.manifest["quasi"][1]["hierarchy"]["levels"].insert(1, ["u", "v", "v", "v", "v"])


def not_contiguous(made):
    made.manifest["quasi"][1]["hierarchy"]["levels"][0] = ["hand", "head", "hand", "head", "iron"]


def leaf_twice(made):
    made.manifest["quasi"][1]["hierarchy"]["leaves"][1] = made.manifest["quasi"][1]["hierarchy"]["leaves"][0]


def null_leaf_inside(made):
    made.manifest["quasi"][1]["hierarchy"]["leaves"][2] = None


def row_map_twice(made):
    made.rows[0] = made.rows[1]


def row_map_outside(made):
    made.rows[0] = made.original.height


def row_from_missing(made):
    gone = next(i for i, w in enumerate(made.original["work"]) if w in (None, "?"))
    made.rows[0] = gone


def row_map_misses(made):
    """Two people of different groups trade places in the row map."""
    made.rows[[0, 1]] = made.rows[[1, 0]]


def stranger_counted(made):
    """A member is counted with a value that too few covered originals have."""
    counts = [made.frame[f"ill={ill}"][0] for ill in ILLS]
    counts[0] = 100
    set_counts(made, 0, counts)


def own_value_missing(made):
    own = ILLS.index(made.original["ill"][int(made.rows[0])])
    counts = [2, 2, 2, 2]
    counts[own] = 0
    set_counts(made, 0, counts)


def negative_count(made):
    made.frame = put(made.frame, f"ill={ILLS[0]}", 0, -1)


def too_few_members(made):
    set_counts(made, 0, [1, 1, 1, 1])


def other_changed(made):
    made.frame = put(made.frame, "hours", 0, made.frame["hours"][0] + 1)
    made.csv = put(made.csv, "hours", 0, made.csv["hours"][0] + 1)


def one_share_too_large(made):
    set_counts(made, 0, [3, 2, 2, 1])


def whole_leaf(made):
    """Every cell of one row tells exactly who it is, in the row map as well."""
    shrink_to_own(made)


def swap_across(made):
    a = 0
    b = next(i for i in range(made.frame.height) if made.frame["ill"][i] != made.frame["ill"][a])
    swap_values(made, a, b)


def seed_told(made):
    made.manifest["method"]["parameters"]["seed"] = 7


def unknown_key(made):
    made.manifest["row_numbers"] = [1, 2]


def in_order(made):
    order = np.argsort(made.rows)
    made.frame, made.csv, made.rows = made.frame[order], made.csv[order], made.rows[order]


def wrong_code_type(made):
    made.frame = made.frame.with_columns(pl.col("age.lo").cast(pl.Int64))


def columns_moved(made):
    made.frame = made.frame.select([made.frame.columns[-1], *made.frame.columns[:-1]])


def unlisted_value(made):
    made.frame, made.csv = put(made.frame, "ill", 0, "plague"), put(made.csv, "ill", 0, "plague")


def everything_lost(made):
    made.frame, made.csv, made.rows = made.frame[:0], made.csv[:0], made.rows[:0]


def promised(index, **changes):
    def mutate(made):
        made.manifest["guarantees"][index] = made.manifest["guarantees"][index] | changes

    return mutate


def stray(name):
    def mutate(made):
        made.strays[name] = "1"

    return mutate


MUTATIONS = [
    # name of the check that must find it, kind of release, what is planted
    ("k", EXACT, small_group),
    ("l (frequency)", EXACT, lambda made: fill_group(made, ILLS[0], 4)),
    ("alpha", EXACT, lambda made: fill_group(made, ILLS[0], 4)),
    ("l (distinct)", EXACT, lambda made: fill_group(made, ILLS[0], 6)),
    ("l (entropy)", EXACT, lambda made: fill_group(made, ILLS[0], 4)),
    ("l (recursive)", EXACT, lambda made: fill_group(made, ILLS[0], 5)),
    ("t", EXACT, lambda made: fill_group(made, ILLS[0], 4)),
    ("t (ordered)", EXACT, lambda made: fill_group(made, ILLS[0], 5)),
    ("lkc", EXACT, lambda made: fill_group(made, ILLS[0], 6)),
    ("lkc", EXACT, promised(-1, K=500)),
    ("l (frequency)", EXACT, promised(1, l=3.001)),
    ("l (entropy)", EXACT, promised(3, l=3.9)),
    ("alpha", EXACT, promised(-2, alpha=0.333)),
    ("own value", EXACT, swap_across),
    ("own value", COUNTS, own_value_missing),
    ("l (frequency)", COUNTS, one_share_too_large),
    ("alpha", COUNTS, one_share_too_large),
    ("covers", EXACT, away_from_original),
    ("covers", COUNTS, away_from_original),
    ("covers", EXACT, row_map_misses),
    ("legal cells", EXACT, illegal_node),
    ("legal cells", NULLS, joins_missing),
    ("cells", EXACT, lo_above_hi),
    ("cells", EXACT, out_of_domain),
    ("cells", COUNTS, negative_code),
    ("rows", EXACT, lose_row),
    ("rows", EXACT, accounting_off),
    ("rows", EXACT, everything_lost),
    ("original", EXACT, accounting_off),
    ("missing rows", DROPPED, suppressed_hidden),
    ("row map", EXACT, double_row),
    ("row map", EXACT, row_map_twice),
    ("row map", EXACT, row_map_outside),
    ("row map", DROPPED, row_from_missing),
    ("marginals", EXACT, marginal_off_by_one),
    ("marginals", EXACT, marginal_without_room),
    ("marginals", EXACT, sensitive_marginal_off),
    ("marginals", EXACT, short_marginal),
    ("original marginals", EXACT, marginals_shifted),
    ("original marginals", COUNTS, sensitive_marginal_off),
    ("columns", EXACT, leak_identifier),
    ("columns", EXACT, wrong_code_type),
    ("columns", EXACT, columns_moved),
    ("sensitive values", EXACT, unlisted_value),
    ("identifiers", EXACT, hide_identifier),
    ("files", EXACT, stray("rows.parquet")),
    ("files", EXACT, stray(".hidden")),
    ("labels", EXACT, wrong_csv_label),
    ("labels", EXACT, wrong_parquet_label),
    ("csv", COUNTS, wrong_share),
    ("csv", EXACT, wrong_csv_value),
    ("csv", EXACT, csv_rows_swapped),
    ("hierarchies", EXACT, not_nested),
    ("hierarchies", EXACT, not_contiguous),
    ("hierarchies", EXACT, leaf_twice),
    ("hierarchies", EXACT, null_leaf_inside),
    ("distributions", COUNTS, negative_count),
    ("distributions", COUNTS, too_few_members),
    ("members", COUNTS, stranger_counted),
    ("k", COUNTS, shrink_to_own),
    ("originals per row", EXACT, whole_leaf),
    ("other columns", EXACT, other_changed),
    ("nothing private", EXACT, seed_told),
    ("nothing private", EXACT, unknown_key),
    ("order", EXACT, in_order),
]


@pytest.mark.parametrize(("name", "kind", "mutate"), MUTATIONS)
def test_a_planted_violation_is_found(valid, tmp_path, name, kind, mutate):
    made = valid[kind].copy()
    mutate(made)
    verdict = verify(made.write(tmp_path / "out"), made.original)
    assert answers(verdict)[name] is False, str(verdict)
    assert not verdict.ok
    with pytest.raises(VerificationError) as caught:
        verdict.raise_for_violations()
    assert any(violation.startswith(f"{name}: ") for violation in caught.value.violations)


@pytest.mark.parametrize(
    ("kind", "mutate"),
    [(EXACT, swap_across), (EXACT, away_from_original), (EXACT, other_changed), (COUNTS, away_from_original),
     (EXACT, double_row_unmapped)],
)  # fmt: skip
def test_without_a_row_map_an_impossible_release_has_no_assignment(valid, tmp_path, kind, mutate):
    made = valid[kind].copy()
    if mutate is swap_across:
        # with every cell told, only the person's own value fits
        shrink_to_own(made)
    mutate(made)
    if mutate is away_from_original:
        set_cell(made, 0, "day", 0, 0, str(DAYS[0]))
        set_cell(made, 0, "work", 0, 0, "clerk")
        made.original = made.original.filter(
            ~(
                (pl.col("age") == AGES[made.frame["age.lo"][0]])
                & (pl.col("day") == DAYS[0])
                & (pl.col("work") == "clerk")
            )
        )
        assert made.original.height == valid[kind].original.height
    verdict = verify(made.write(tmp_path / "out", row_map=False), made.original)
    assert answers(verdict)["assignment"] is False, str(verdict)


def test_identifiers_are_found_without_a_row_map(valid, tmp_path):
    made = valid[EXACT].copy()
    hide_identifier(made)
    verdict = verify(made.write(tmp_path / "out", row_map=False), made.original)
    assert answers(verdict)["identifiers"] is False


def test_nothing_of_the_data_is_said(valid, tmp_path):
    """No label, value or name of the table stands in any text, however much is broken."""
    secrets = [*ILLS, "person", "clerk", "nurse", "hand", "2020-"]
    for number, (_, kind, mutate) in enumerate(MUTATIONS):
        made = valid[kind].copy()
        mutate(made)
        verdict = verify(made.write(tmp_path / str(number) / "out"), made.original)
        text = str(verdict) + verdict._repr_html_() + json.dumps(verdict.to_dict())
        assert not [secret for secret in secrets if secret in text]


def test_labels_may_be_absent_in_memory(valid):
    made = valid[EXACT]
    frame = made.frame.drop("age", "work", "day")
    verdict = check(made.manifest, frame, original=made.original, rows=made.rows)
    assert verdict.violations == []
    assert answers(verdict)["labels"] is None


def test_taxonomy_leaves_in_any_contiguous_order(valid, tmp_path):
    """The manifest's order counts, whatever order a hierarchy would give its leaves."""
    made = valid[EXACT].copy()
    hierarchy = made.manifest["quasi"][1]["hierarchy"]
    hierarchy["leaves"] = [3, 1, 2, 0, 9]
    hierarchy["type"] = "int"
    made.manifest["quasi"][1]["hierarchy"] = hierarchy
    number = dict(zip(["clerk", "cook", "judge", "nurse", "smith"], hierarchy["leaves"], strict=True))
    made.original = made.original.with_columns(pl.col("work").replace_strict(number, return_dtype=pl.Int64))
    for name in ("frame", "csv"):
        frame = getattr(made, name)
        labels = [str(number.get(label, label)) for label in frame["work"]]
        setattr(made, name, frame.with_columns(pl.Series("work", labels)))
    assert verify(made.write(tmp_path / "out"), made.original).violations == []


def test_a_budget_that_is_too_small_is_said(valid, monkeypatch):
    made = valid[EXACT]
    monkeypatch.setattr("incrowd.verify.linking.PAIR_BUDGET", 10)
    verdict = check(made.manifest, made.frame, original=made.original, rows=made.rows)
    assert verdict.violations == []
    found = {c.name: c for c in verdict.checks}["releases per original"]
    assert found.ok is None
    assert "lower bound" in found.detail
    exact = 6
    assert verdict.levels["releases_per_original_min"] == exact
    monkeypatch.setattr("incrowd.verify.assignment.PAIR_BUDGET", 10)
    assert answers(check(made.manifest, made.frame, original=made.original))["assignment"] is None
    monkeypatch.setattr("incrowd.verify.assignment.PAIR_BUDGET", 10**9)
    monkeypatch.setattr("incrowd.verify.assignment.EDGE_BUDGET", 10)
    assert answers(check(made.manifest, made.frame, original=made.original))["assignment"] is None


def places(data, path=()):
    """Every place in nested plain data."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


ODD = [None, True, -1, 0, 1.5, float("nan"), float("inf"), 10**30, "", "x", [], [None], [[]], {}, {"a": 1}]


@pytest.mark.parametrize("kind", [EXACT, COUNTS, NULLS])
def test_no_manifest_makes_the_verifier_stumble(valid, kind):
    """Whatever stands in the manifest, the answer is a verdict; a lost key is always a violation."""
    made = valid[kind]
    rng = random.Random(0)
    optional = {("method", "parameters", "k")}
    for path in places(made.manifest):
        for odd in [*rng.sample(ODD, 4), "lost"]:
            mutated = made.copy()
            if not path:
                mutated.manifest = odd
            else:
                parent = mutated.manifest
                for key in path[:-1]:
                    parent = parent[key]
                if odd == "lost":
                    del parent[path[-1]]
                else:
                    parent[path[-1]] = odd
            verdict = check(mutated.manifest, mutated.frame, original=mutated.original, rows=mutated.rows)
            json.dumps(verdict.to_dict())
            lists = ("guarantees", "other", "dropped", "tokens")
            in_list = any(isinstance(key, int) for key in path[-1:]) or path[:1] in {(x,) for x in lists}
            if odd == "lost" and path not in optional and not in_list:
                assert not verdict.ok, path


@pytest.mark.parametrize("broken", ["manifest.json", "release.parquet", "release.csv"])
@pytest.mark.parametrize("how", ["gone", "garbage"])
def test_a_broken_file_is_a_violation(valid, tmp_path, broken, how):
    folder = valid[EXACT].write(tmp_path / "out")
    if how == "gone":
        (folder / broken).unlink()
    else:
        (folder / broken).write_bytes(b"\x00\xff\n{")
    if broken == "manifest.json" and how == "gone":
        with pytest.raises(InputError, match=r"out is not a release folder"):
            verify(folder)
        return
    assert answers(verify(folder))["files" if broken != "release.csv" or how == "gone" else "csv"] is False


def test_a_folder_that_is_none_is_bad_input(tmp_path):
    with pytest.raises(InputError):
        verify(tmp_path / "nowhere")


def test_metadata_beside_the_columns_is_found(valid, tmp_path):
    folder = valid[EXACT].write(tmp_path / "out")
    valid[EXACT].frame.to_pandas().to_parquet(folder / "release.parquet")
    verdict = verify(folder)
    assert answers(verdict)["files"] is False
    assert "'pandas'" in str(verdict)


def test_rows_given_by_hand_take_the_place_of_the_private_map(valid, tmp_path):
    made = valid[EXACT]
    folder = made.write(tmp_path / "out")
    assert verify(folder, made.original, rows=made.rows).ok
    assert answers(verify(folder, made.original, rows=made.rows[::-1]))["covers"] is False


@pytest.mark.parametrize("kind", [EXACT, DROPPED, NULLS, COUNTS])
def test_the_original_may_be_a_file(valid, tmp_path, kind):
    made = valid[kind]
    made.original.write_csv(tmp_path / "people.csv")
    assert verify(made.write(tmp_path / "out"), tmp_path / "people.csv").violations == []


def test_a_row_map_that_is_none(valid, tmp_path):
    made = valid[EXACT]
    folder = made.write(tmp_path / "out")
    for rows in (made.rows + 0.5, made.rows[:5], made.rows - 1, made.rows.reshape(2, -1)):
        assert answers(verify(folder, made.original, rows=rows))["row map"] is False
    assert verify(folder, made.original, rows=made.rows.astype(np.uint64)).ok
    (tmp_path / "out.private" / "rows.parquet").write_text("nothing")
    assert answers(verify(folder))["row map"] is False
