"""Rules from releases with sensitive value distributions.

The paper that joins NSVDist and association rules gives no method and no example of its own; the rows here are those of
Last et al. 2014, Table 1(a), from which its algorithm is taken. Expectations are checked by trying every value of each
row.
"""

import polars as pl
import pytest
from hypothesis import given, settings

import incrowd as ic
import naive_rules as naive
import strategies
from incrowd.hierarchy.hierarchy import text
from incrowd.rules.anonymous import anonymous_rules
from incrowd.rules.release_rules import compare_rules, in_ranges, rules_from_release

TABLE_1A = pl.DataFrame(
    {
        "age": [30, 21, 21, 55, 47],
        "zip": ["10055", "10055", "10023", "10165", "10224"],
        "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="disease")


def likely_rows(release):
    """Each row as one {item: probability} per column, by the definitions of a release; None stands for no item."""
    rows = []
    for row in range(release.n_rows):
        columns = []
        for m, (name, hierarchy) in enumerate(zip(release.quasi, release.hierarchies, strict=True)):
            inside = range(int(release.lo[row, m]), int(release.hi[row, m]) + 1)
            total = sum(int(release.marginals[m][leaf]) for leaf in inside)
            labels = text(hierarchy.leaves)
            columns.append({_item(name, labels[i]): int(release.marginals[m][i]) / total for i in inside})
        name, labels = release.manifest.sensitive.name, text(release.sensitive_values)
        if release.distributions is None:
            columns.append({_item(name, labels[int(release.sensitive[row])]): 1.0})
        else:
            columns.append({_item(name, v): float(p) for v, p in zip(labels, release.distributions[row], strict=True)})
        rows.append(columns)
    return rows


def _item(name, label):
    return None if label == "(missing)" else f"{name}={label}"


def check(release, found, min_support, min_confidence):
    rows = likely_rows(release)
    seen = set()
    for left, right, support, confidence in found.select("antecedents", "consequents", "support", "confidence").rows():
        both = naive.expected_support(frozenset(left + right), rows)
        assert support == pytest.approx(both)
        assert confidence == pytest.approx(both / naive.expected_support(frozenset(left), rows))
        seen.add((frozenset(left), frozenset(right)))
    items = sorted({item for row in rows for column in row for item in column if item})
    for a in items:
        for b in items:
            both = naive.expected_support(frozenset([a, b]), rows)
            if a != b and both > min_support * 1.0001:
                enough = both > min_confidence * 1.0001 * naive.expected_support(frozenset([a]), rows)
                assert ((frozenset([a]), frozenset([b])) in seen) or not enough


@pytest.mark.parametrize("l", [1, 2])
def test_expected_supports_of_the_papers_table(l):
    release = ic.NSVDist(k=2, l=l, mode="paper").publish(TABLE_1A, SCHEMA, seed=1, domains="exact")
    assert release.distributions is not None
    found = rules_from_release(release, min_support=0.05, min_confidence=0.2)
    assert found.height > 0
    check(release, found, 0.05, 0.2)


@settings(max_examples=12, deadline=None)
@given(strategies.tables(min_rows=2, max_rows=6))
def test_expected_supports_of_random_releases(drawn):
    release = ic.Mondrian(k=2).publish(drawn.frame, drawn.schema, seed=1, domains="exact")
    if release.manifest.sensitive is None or drawn.schema.other:
        return
    found = rules_from_release(release, min_support=0.1, min_confidence=0.3, max_len=3)
    check(release, found, 0.1, 0.3)


def test_many_samples_have_these_supports():
    release = ic.NSVDist(k=2, l=2, mode="paper").publish(TABLE_1A, SCHEMA, seed=1, domains="exact")
    found = rules_from_release(release, min_support=0.1, min_confidence=0.3)
    left, right, support = found.select("antecedents", "consequents", "support").row(0)
    wanted = [item.split("=", 1) for item in left + right]
    times = 0
    for seed in range(400):
        drawn = release.sample(seed=seed).with_columns(pl.all().cast(pl.String))
        times += drawn.filter(pl.all_horizontal(pl.col(name) == value for name, value in wanted)).height
    assert times / (400 * 5) == pytest.approx(support, abs=0.04)


def test_a_release_that_hides_nothing_has_the_rules_of_the_table():
    release = ic.Mondrian(k=1).publish(TABLE_1A, SCHEMA, seed=1, domains="exact")
    found = rules_from_release(release, min_support=0.2, min_confidence=0.5)
    original = anonymous_rules(TABLE_1A, public=[], k=1, min_support=0.2, min_confidence=0.5).rules
    compared = compare_rules(found, original)
    assert compared.matched.height == original.height > 10
    assert (compared.recall, compared.precision) == (1, 1)
    assert compared.deviation("support")["max"] == pytest.approx(0)
    assert compared.deviation("confidence")["max"] == pytest.approx(0)


def test_ranges_of_numbers_and_chosen_columns():
    release = ic.Mondrian(k=1).publish(TABLE_1A, SCHEMA, seed=1, domains="exact")
    cuts = {"age": [30, 50]}
    options = {"min_support": 0.2, "min_confidence": 0.3}
    found = rules_from_release(release, cuts=cuts, columns=["age", "disease"], **options)
    ranged = in_ranges(TABLE_1A, cuts).drop("zip")
    assert ranged["age"].to_list() == ["30-<50", "<30", "<30", ">=50", "30-<50"]
    compared = compare_rules(found, anonymous_rules(ranged, public=[], k=1, **options).rules)
    assert (compared.recall, compared.precision) == (1, 1)
    assert compared.matched.height > 3
    with pytest.raises(ic.SchemaError, match="no column 'agee'"):
        rules_from_release(release, columns=["agee"])
    with pytest.raises(ic.InputError, match="no numbers to cut"):
        rules_from_release(release, cuts={"zip": [3]})


def rule(left, right, support, confidence):
    return {"antecedents": [left], "consequents": [right], "support": support, "confidence": confidence}


def test_comparison_counts_missed_and_false_rules():
    original = [rule("a", "b", 0.5, 0.9), rule("b", "a", 0.5, 0.7), rule("a", "c", 0.2, 0.6), rule("c", "a", 0.2, 0.5)]
    found = pl.DataFrame([rule("a", "b", 0.4, 0.8), rule("b", "a", 0.4, 0.75), rule("b", "c", 0.3, 0.5)])
    compared = compare_rules(found, original)
    assert compared.matched["original confidence"].to_list() == [0.9, 0.7]
    assert compared.missed["consequents"].to_list() == [["c"], ["a"]]
    assert compared.false["antecedents"].to_list() == [["b"]]
    assert compared.recall == 0.5
    assert compared.precision == pytest.approx(2 / 3)
    assert compared.deviation("support") == {"mean": pytest.approx(0.1), "max": pytest.approx(0.1)}
    assert compared.deviation("confidence") == {"mean": pytest.approx(0.075), "max": pytest.approx(0.1)}
    assert str(compared).startswith("2 of 4 rules found (50%), 1 false ones")
    assert compared.to_dict()["missed"] == 2
    nothing = compare_rules([], [])
    assert (nothing.recall, nothing.precision) == (1, 1)
    assert nothing.deviation("support") == {"mean": None, "max": None}
