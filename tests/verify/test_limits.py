"""What the verifier does at its borders: numbers too large for a key, files without room, a share met exactly."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.errors import ParameterError
from incrowd.verify import check, linking, promises, rings, verify_table
from incrowd.verify.compare import equal_values
from incrowd.verify.domain import is_whole
from incrowd.verify.files import read_table
from incrowd.verify.linking import _n_distinct
from incrowd.verify.manifest import Promise
from incrowd.verify.methods import PARAMETERS
from incrowd.verify.original import check_own_value
from incrowd.verify.sideways import copies, reveals
from incrowd.verify.source import reading_hints
from incrowd.verify.verdict import Findings
from verify.build import answers, detail, publish
from verify.projections_by_hand import make
from verify.test_levels import lkc_release


@pytest.mark.parametrize("n_codes", [4, 2**21, 2**31, 2**32])
def test_distinct_people_are_counted_however_many_codes_there_are(n_codes):
    """Four people who differ in the first column only, which a 64-bit key of three such columns would lose."""
    codes = [np.array([0, 1, 2, 3]), np.zeros(4, np.int64), np.array([1, 1, 1, 1])]
    payload = SimpleNamespace(n_codes=[n_codes] * 3)
    assert _n_distinct(payload, codes, 1) == 4
    assert _n_distinct(payload, [code[[0, 0, 1, 1]] for code in codes], 1) == 2
    assert _n_distinct(payload, codes, 0) is _n_distinct(payload, [code[:0] for code in codes], 1) is None


@pytest.mark.parametrize(
    ("n_columns", "text", "fine"),
    [(1, None, False), (1, "", False), (1, "a\n1\n", True), (12, "a\n1\n", True), (13, "a\n1\n", False)],
)
def test_a_table_without_room_in_its_csv_file_is_not_unpacked(tmp_path, n_columns, text, fine):
    pl.DataFrame({f"c{i}": [1] for i in range(n_columns)}).write_parquet(tmp_path / "release.parquet")
    if text is not None:
        (tmp_path / "release.csv").write_text(text)
    problems: list[str] = []
    found = read_table(tmp_path, "release", 1, problems)
    assert (found is not None) is fine
    assert problems == ([] if fine else ["release.parquet has more fields than release.csv has room for"])


@pytest.mark.parametrize(("t", "ok"), [(0.25, True), (0.2499, False), (0.3, True), (1.0, True)])
def test_a_distance_of_exactly_t_is_close_enough(t, ok):
    """Half of all, and three quarters of each group, have one value."""
    table = pl.DataFrame({"q": list("aaaabbbb"), "s": list("xxxyyyyx")})
    assert answers(verify_table(table, quasi=["q"], t=t, sensitive="s"))["t"] is ok


@pytest.mark.parametrize(("role", "expected"), [("sensitive", True), ("other", False)])
def test_missing_tokens_are_looked_for_in_a_sensitive_class(tmp_path, role, expected):
    made = make()
    made.manifest["class"]["role"] = role
    coded, untouched, tokens = reading_hints(made.write(tmp_path / "out"))
    assert list(coded) == ["age", "town", "job", *(["ill"] if expected else [])]
    assert (untouched, tokens) == (["grade"], ["?"])


def test_hints_of_rows_and_of_no_manifest(tmp_path):
    manifest = {
        "quasi": [{"name": "age", "type": "int"}, {"name": 3}, 4],
        "sensitive": {"name": "ill"},
        "other": ["note", "n", 5],
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"missing": {"tokens": ["?", 1]}}))
    pl.DataFrame({"note": ["a"], "n": [1]}).write_parquet(tmp_path / "release.parquet")
    assert reading_hints(tmp_path) == ({"age": "int", "ill": None}, ["note"], ["?"])
    (tmp_path / "release.parquet").write_bytes(b"nonsense")
    assert reading_hints(tmp_path) == ({"age": "int", "ill": None}, [], ["?"])
    (tmp_path / "manifest.json").write_text("[]")
    assert reading_hints(tmp_path) == ({}, [], [])


def test_one_projection_alone_has_no_joins():
    made = make()
    made.manifest["parts"] = made.manifest["parts"][:1]
    made.manifest["columns"] = made.manifest["columns"][:1] + made.manifest["columns"][3:4]
    made.manifest["left_out"] = ["job", "town", "grade", "size"]
    del made.frames[1], made.rows[1]
    verdict = made.check(original=False)
    assert (verdict.levels.get("k_set"), verdict.levels["rows_fitting_min"]) == (None, None)
    assert "k of joins" not in answers(verdict)


@pytest.mark.parametrize(("n_wrong", "told"), [(160, True), (200, True), (300, False)])
def test_exceptions_that_lie_where_the_probe_looks_do_not_hide_a_copy(n_wrong, told):
    """Of 4096 rows every second is looked at first; nearly one in twenty may be wrong, all of them among those."""
    secret = pl.Series(np.arange(4096) // 7 % 5)
    wrong = (np.arange(4096) % 2 == 0) & (np.arange(4096) < 2 * n_wrong)
    column = pl.Series(np.where(wrong, 9, secret.to_numpy()))
    assert reveals(column, secret) is told


@pytest.mark.parametrize("mode", ["hardened", "paper"])
def test_no_check_is_made_twice(mode):
    verdict = publish(ic.NSVDist(k=4, l=1.2, mode=mode), n=150).judge()
    assert verdict.ok
    assert len({check.name for check in verdict.checks}) == len(verdict.checks)


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int64, pl.Int32, pl.UInt8])
@pytest.mark.parametrize("other", [pl.UInt64, pl.Int64, pl.Int16])
def test_whole_numbers_are_equal_to_the_last_digit(kind, other):
    """Beyond 2**53 a float does not tell neighbours apart, and beyond 2**63 an integer is no 64-bit one with a sign."""
    values = [None, 0, 1, 100, 2**53, 2**53 + 1, 2**63, 2**64 - 1]
    pairs = [(a, b) for a in values for b in values if _fits(a, kind) and _fits(b, other)]
    found = equal_values(pl.Series([a for a, _ in pairs], dtype=kind), pl.Series([b for _, b in pairs], dtype=other))
    assert found.tolist() == [a == b for a, b in pairs]


def _fits(value, kind):
    bits = {pl.UInt64: 64, pl.Int64: 63, pl.Int32: 31, pl.UInt8: 8, pl.Int16: 15}[kind]
    return value is None or value < 2**bits


def test_too_many_combinations_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(promises, "COMBINATION_BUDGET", 1)
    rows = [(0, 1, 0), (0, 1, 1), (2, 3, 0), (2, 3, 1)]
    verdict = check(*lkc_release(rows, 1, 2, 0.5))
    assert answers(verdict)["lkc"] is None
    assert (verdict.levels["lkc_k"], verdict.levels["lkc_c"]) == (None, None)
    assert "more than 1 combinations of 1" in detail(verdict, "lkc")
    whole = check(*lkc_release(rows, 2, 2, 0.5))  # of both there is one combination
    assert (answers(whole)["lkc"], whole.levels["lkc_k"]) == (True, 2)


def test_how_many_combinations_are_looked_at_is_what_pais_says():
    assert promises.COMBINATION_BUDGET == 20_000


@pytest.mark.parametrize(
    ("value", "fine"),
    [(0, True), (2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False), (True, False), (1.0, False),
     ("1", False), (None, False)],
)  # fmt: skip
def test_whole_numbers_of_64_bits(value, fine):
    assert is_whole(value) is fine


LEAST = {
    "k": 1, "L": 1, "generations": 0, "population": 1, "folds": 2, "patience": 1, "archive": 2, "min_rows": 1,
    "passes": 1, "cluster": 1,
}  # fmt: skip


def test_parameters_that_count_something_have_a_least():
    seen = set()
    for parameters in itertools.chain.from_iterable(PARAMETERS.values()):
        for name in parameters.keys() & LEAST.keys():
            fits = parameters[name]
            assert [fits(LEAST[name] + more) for more in (-1, 0, 1)] == [False, True, True]
            assert not any(map(fits, (LEAST[name] + 0.5, str(LEAST[name] + 1), True, [3])))
            seen.add(name)
    assert seen == LEAST.keys()


@pytest.mark.parametrize("c", [0, -1, float("nan")])
def test_c_of_recursive_diversity_is_above_0(c):
    table = pl.DataFrame({"q": list("aaaabbbb"), "s": list("xxxyyyyx")})
    with pytest.raises(ParameterError, match="a number above 0"):
        verify_table(table, quasi=["q"], l=2, l_kind="recursive", c=c, sensitive="s")


@pytest.mark.parametrize(("only", "few", "told"), [(False, 0, True), (True, 0, False), (True, 1 << 24, True)])
def test_values_on_rings_that_nothing_is_promised_about(monkeypatch, only, few, told):
    """They are measured for the owner's report, unless only promises are asked for and the rings are long."""
    monkeypatch.setattr(rings, "_FEW_LINKS", few)
    verdict = publish(ic.NHAA(k=3), n=60).judge(only=only)
    assert verdict.ok
    assert (verdict.levels.get("l_frequency") is not None) is told


@pytest.mark.parametrize(
    "column", [pl.Series([[i] for i in range(40)]), pl.Series([str(i).encode() for i in range(40)])]
)
def test_lists_and_bytes_are_no_copies_of_numbers(column):
    numbers = pl.Series(range(40))
    assert copies(numbers, numbers)
    assert not copies(column, numbers)
    assert not copies(numbers, column)
    assert not reveals(column, numbers)


@pytest.mark.parametrize(("own", "fine"), [([0, 1], True), ([0, 0], True), ([1, 1], False), ([-1, 1], False)])
def test_a_distribution_has_the_value_of_its_original(own, fine):
    """A value that is not listed is in no distribution."""
    payload = SimpleNamespace(exact=None, counts=np.array([[2, 0], [1, 1]]))
    findings = Findings()
    check_own_value(findings, payload, SimpleNamespace(sensitive=np.array(own)))
    assert answers(findings.verdict())["own value"] is fine


@pytest.mark.parametrize(("budget", "found"), [(8, 4), (7, None)])
def test_pairs_of_boxes_and_people_are_counted_up_to_the_budget(monkeypatch, budget, found):
    monkeypatch.setattr(linking, "PAIR_BUDGET", budget)
    codes = [np.array([0, 1, 2, 3, 3])]
    assert _n_distinct(SimpleNamespace(n_codes=[4]), codes, 2) == found


@pytest.mark.parametrize(
    ("kind", "given", "needed"),
    [("l", {"l": 2.5}, 2.5), ("alpha", {"alpha": 0.25}, 4.0), ("t", {"t": 0.1}, 1.0)],
)
def test_how_many_values_somebody_is_linked_to(kind, given, needed):
    assert linking._n_needed(Promise(kind, given)) == needed
