from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_rules as naive
from incrowd.errors import InputError, ParameterError, SchemaError
from incrowd.rules import itemsets
from incrowd.rules import search as rule_search
from incrowd.rules.anonymous import anonymous_rules
from incrowd.rules.release_rules import rules_from_release

ITEMS = list("abcde")
BASKETS = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=14).filter(any)
PUBLIC = st.sets(st.sampled_from(ITEMS))


def sides(frame):
    columns = ("antecedents", "consequents", "support", "confidence")
    return [(frozenset(l), frozenset(r), s, c) for l, r, s, c in frame.select(columns).rows()]


def there(public, baskets):
    return sorted(public & set().union(*baskets))


def mined(baskets, public, k, **options):
    lists = [sorted(basket) for basket in baskets]
    return anonymous_rules(lists, public=there(public, baskets), k=k, **options)


@given(BASKETS, st.sampled_from([0.01, 0.2, 0.3, 0.5]), st.sampled_from([0.1, 0.5, 0.6, 1.0]))
def test_with_k_1_all_rules_are_found(baskets, min_support, min_confidence):
    found = mined(baskets, set(), 1, min_support=min_support, min_confidence=min_confidence)
    expected = sorted(naive.rules(baskets, min_support, min_confidence), key=naive.rank)
    assert sides(found.rules) == expected
    assert found.exact
    assert found.dropped.is_empty()


@given(BASKETS, PUBLIC, st.integers(1, 6), st.booleans())
def test_spans_are_those_of_the_definition(baskets, public, k, lift):
    found = mined(baskets, public, k, min_support=0.1, min_confidence=0.4, max_len=3, lift=lift)
    spans = naive.spans(sides(found.rules), baskets, public, lift=lift)
    assert len(spans.breaches(k)) == 0
    assert found.level == spans.level
    assert sorted(found.spans["people"]) == sorted(spans.people[spans.multiple].tolist())


@given(BASKETS, PUBLIC, st.integers(2, 6), st.booleans())
def test_nothing_dropped_can_be_added_and_reasons_are_true(baskets, public, k, lift):
    found = mined(baskets, public, k, min_support=0.1, min_confidence=0.4, max_len=3, lift=lift)
    kept = sides(found.rules)
    for rule, reason, people in zip(
        sides(found.dropped), found.dropped["reason"], found.dropped["people"], strict=True
    ):
        alone = naive.spans([rule], baskets, public, lift=lift)
        together = naive.spans([*kept, rule], baskets, public, lift=lift)
        blamed = alone if reason == "alone" else together
        assert len(together.breaches(k)) > 0
        assert (reason == "alone") == (len(alone.breaches(k)) > 0)
        assert people == blamed.level < k


@given(BASKETS, PUBLIC, st.integers(2, 6), st.booleans())
def test_the_largest_safe_set_is_found(baskets, public, k, lift):
    candidates = sorted(naive.rules(baskets, 0.2, 0.6), key=naive.rank)
    if len(candidates) > 9:
        return
    found = mined(baskets, public, k, min_support=0.2, min_confidence=0.6, lift=lift)
    assert found.exact
    assert sides(found.rules) == naive.largest_safe(candidates, baskets, public, k, lift=lift)


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_safe_set_of_rules_that_quarrel(seed, monkeypatch):
    """Tables in which rules are safe alone and not together, so that it must be searched for."""
    if seed % 2:  # without a greedy set to begin with
        monkeypatch.setattr(rule_search, "_swapped", lambda *_: [])
    rng = np.random.default_rng(seed)
    quarrels = 0
    while quarrels < 3:
        baskets = [{ITEMS[i] for i in np.flatnonzero(row)} for row in rng.random((24, 5)) < rng.random(5)]
        candidates = sorted(naive.rules(baskets, 0.2, 0.5), key=naive.rank)
        public, k = {"a", "b", "c"}, int(rng.integers(3, 7))
        if not 4 <= len(candidates) <= 9:
            continue
        found = mined(baskets, public, k, min_support=0.2, min_confidence=0.5)
        if "with others" in found.dropped["reason"].to_list():
            quarrels += 1
            assert found.exact
            assert sides(found.rules) == naive.largest_safe(candidates, baskets, public, k)


@given(BASKETS, PUBLIC, st.integers(2, 6))
def test_a_greedy_set_is_safe_and_nothing_can_be_added(baskets, public, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_search, "_EXACT_WORK", -1)
        found = mined(baskets, public, k, min_support=0.1, min_confidence=0.5, max_len=3)
    kept = sides(found.rules)
    assert len(naive.spans(kept, baskets, public).breaches(k)) == 0
    for rule in sides(found.dropped):
        assert len(naive.spans([*kept, rule], baskets, public).breaches(k)) > 0


ROWS = st.lists(
    st.fixed_dictionaries({"x": st.sampled_from(["u", "v", None]), "y": st.sampled_from([1, 2]), "z": st.booleans()}),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.sets(st.sampled_from(["x", "y", "z"])), st.integers(1, 5))
def test_columns_of_categories(rows, public, k):
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.Int64, "z": pl.Boolean})
    found = anonymous_rules(frame, public=sorted(public), k=k, min_support=0.1, min_confidence=0.5)
    text = [{"x": row["x"], "y": str(row["y"]), "z": str(row["z"]).lower()} for row in rows]
    domains = {"x": ["u", "v", None], "y": ["1", "2"], "z": ["true", "false"]}
    spans = naive.spans_of_columns(sides(found.rules), text, domains, public)
    assert found.level == spans.level
    assert len(spans.breaches(k)) == 0
    baskets = [{f"{name}={value}" for name, value in row.items() if value is not None} for row in text]
    every = anonymous_rules(frame, public=[], k=1, min_support=0.1, min_confidence=0.5)
    assert sides(every.rules) == sorted(naive.rules(baskets, 0.1, 0.5), key=naive.rank)


def test_bools_in_frames_of_three_kinds_are_baskets():
    baskets = [["a", "b"], ["a", "b", "c"], ["a"], ["c", "b"], []] * 2
    frame = pl.DataFrame({item: [item in basket for basket in baskets] for item in "abc"})
    options = {"public": ["a", "c"], "k": 3, "min_support": 0.1, "min_confidence": 0.3}
    expected = anonymous_rules(baskets, **options)
    assert expected.rules.height > 0
    assert expected.dropped.height > 0
    for same in (frame, frame.to_pandas(), frame.to_arrow()):
        found = anonymous_rules(same, **options)
        assert found.rules.equals(expected.rules)
        assert found.dropped.equals(expected.dropped)


def test_repeats_and_numbers_in_baskets_are_items_once():
    found = anonymous_rules([[1, "1", 2], [2, 2, 1], (1,)], public=[], k=1, min_support=0.5, min_confidence=0.5)
    assert sides(found.rules) == [({"2"}, {"1"}, 2 / 3, 1.0), ({"1"}, {"2"}, 2 / 3, 2 / 3)]


def test_lift_tells_how_many_have_the_right_side():
    """Two people have the public right side; without lift, only those with the left side are divided by it."""
    baskets = [["p", "s"]] * 4 + [["p", "q", "s"]] * 4 + [["q"]] * 2 + [[]] * 6
    plain = anonymous_rules(baskets, public=["p", "q"], k=4, min_support=0.2, min_confidence=0.5)
    assert (frozenset("p"), frozenset("q"), 0.25, 0.5) in sides(plain.rules)
    lifted = anonymous_rules(baskets, public=["p", "q"], k=4, min_support=0.2, min_confidence=0.5, lift=True)
    assert "lift" in lifted.rules.columns
    assert lifted.rules.height < plain.rules.height


def test_a_crowd_of_more_than_everybody_leaves_public_rules_only():
    baskets = [["p", "q", "s"]] * 3 + [["p", "s"]]
    found = anonymous_rules(baskets, public=["p", "q"], k=5, min_support=0.1, min_confidence=0.1)
    assert {item for left, right, *_ in sides(found.rules) for item in left | right} == {"p", "q"}
    assert found.level is None
    assert set(found.dropped["reason"]) == {"alone"}


def test_nothing_frequent_gives_no_rules():
    found = anonymous_rules([["a"], ["b"], []], public=["a"], k=2, min_support=0.9)
    assert found.rules.is_empty()
    assert found.audit().ok


def test_public_may_be_read_only_once():
    frame = pl.DataFrame({"x": ["u"] * 6 + ["v"] * 2, "y": [1] * 4 + [2] * 4})
    baskets = [["a", "s"]] * 6 + [["b"]] * 2
    for data, public in ((frame, ["x"]), (baskets, ["a", "b"])):
        options = {"k": 2, "min_support": 0.2}
        once = anonymous_rules(data, public=(name for name in public), **options)
        assert list(once.public) == public
        listed = anonymous_rules(data, public=public, **options)
        assert once.audit().to_dict() == listed.audit().to_dict()
        assert once.audit(data).level == once.level is not None


@pytest.mark.parametrize(
    ("given_release", "match"), [("some/folder", "Release.load"), (Path("x"), "Release.load"), ([["a"]], "got list")]
)
def test_rules_of_what_is_no_release(given_release, match):
    with pytest.raises(InputError, match=match):
        rules_from_release(given_release)


def test_progress_and_words():
    seen = []
    baskets = [["p", "s"]] * 9 + [["p", "q", "s"]] * 2 + [[]] * 4
    found = anonymous_rules(
        baskets, public=["p", "q"], k=3, min_support=0.1, progress=lambda *report: seen.append(report)
    )
    assert {stage for stage, _, _ in seen} == {"mine", "choose"}
    assert all(done <= total for _, done, total in seen)
    assert "keep everybody in a crowd of 3" in str(found)
    blamed = found.dropped.filter(pl.col("antecedents") == ["q"], pl.col("consequents") == ["s"])
    assert blamed["span"].to_list() == ["people with q"]
    assert blamed["people"].to_list() == [2]


def test_too_many_itemsets_stop(monkeypatch):
    monkeypatch.setattr(itemsets, "MOST_ITEMSETS", 20)
    with pytest.raises(ParameterError, match="raise min_support"):
        anonymous_rules([list("abcdefgh")] * 3, public=[], k=1)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"k": 0}, ParameterError, "k must be"),
        ({"k": True}, ParameterError, "k must be"),
        ({"public": "a"}, ParameterError, r"write \['a'\]"),
        ({"public": ["a", "aa"]}, SchemaError, "do not occur"),
        ({"min_support": 0}, ParameterError, "min_support"),
        ({"min_confidence": 1.1}, ParameterError, "min_confidence"),
        ({"max_len": 1}, ParameterError, "max_len"),
        ({"data": []}, InputError, "no baskets"),
        ({"data": ["ab", "a"]}, InputError, "list or a set"),
        ({"data": pl.DataFrame({"a": []}, schema={"a": pl.Boolean}), "public": ["a"]}, InputError, "no baskets"),
        ({"data": pd.DataFrame({"x": ["u"]}), "public": ["x=u"]}, SchemaError, "public columns"),
    ],
)
def test_bad_input_is_refused(change, error, match):
    with pytest.raises(error, match=match):
        anonymous_rules(**({"data": [["a", "b"], ["a"]], "public": ["a"], "k": 1} | change))


@given(st.integers(0, 2**32 - 1), st.integers(65, 200))
def test_bits_beyond_one_word_are_counted(seed, n):
    has = np.random.default_rng(seed).random((n, 4)) < 0.6
    frame = pl.DataFrame(has, schema=list("abcd"), orient="row")
    baskets = [{item for item, there in zip("abcd", row, strict=True) if there} for row in has]
    found = anonymous_rules(frame, public=[], k=1, min_support=0.1, min_confidence=0.1)
    assert sides(found.rules) == sorted(naive.rules(baskets, 0.1, 0.1), key=naive.rank)
