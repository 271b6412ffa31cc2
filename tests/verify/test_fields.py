"""What a manifest may hold in each kind of field, to the last number."""

from __future__ import annotations

import pytest

from incrowd.verify.fields import _KINDS, Reading

NUMBERS = [-1, 0, 0.5, 1, 1.5, 2**40 - 1, 2**40, 2**63 - 1, 2**63]
OTHERS = [
    *(None, True, "a", "", "a b", "A", "1.2.3", [], ["a"], ["a", 1], [["a"]], [["a"], "b"], [1, 0], [1, -1], [2**40]),
    *([2**40 - 1], [True], [0.5], {}, {"a": 1}, {1: 2}, {"a": ["b"]}, [{}], [{"a": 1}, {}], float("nan"), float("inf")),
]
SHORT = "a" * 40
FINE = {
    "text": ["a", "", "a b", "A", "1.2.3"],
    "text or null": [None, "a", "", "a b", "A", "1.2.3"],
    "a version number": ["1.2.3"],
    "a short name": ["a"],
    "a list": [
        *([], ["a"], ["a", 1], [["a"]], [["a"], "b"], [1, 0], [1, -1], [2**40], [2**40 - 1], [True], [0.5], [{}]),
        [{"a": 1}, {}],
    ],
    "a list of texts": [[], ["a"]],
    "a list of lists of texts": [[], [["a"]]],
    "an object of lists of texts": [{}, {"a": ["b"]}],
    "a list of counts": [[], [1, 0], [2**40 - 1]],
    "an object": [{}, {"a": 1}, {"a": ["b"]}],
    "an object, a list of objects or null": [None, {}, {"a": 1}, {1: 2}, {"a": ["b"]}, [{}], [{"a": 1}, {}]],
    "true or false": [True],
    "a count or null": [0, 1, 2**40 - 1, None],
    "a whole number": [-1, 0, 1, 2**40 - 1, 2**40, 2**63 - 1],
    "a count": [0, 1, 2**40 - 1, 2**40, 2**63 - 1],
    "a whole number from 1": [1, 2**40 - 1, 2**40, 2**63 - 1],
    "a number from 1": [1, 1.5, 2**40 - 1, 2**40, 2**63 - 1, 2**63],
    "a number from 0": [0, 0.5, 1, 1.5, 2**40 - 1, 2**40, 2**63 - 1, 2**63],
    "a number above 0": [0.5, 1, 1.5, 2**40 - 1, 2**40, 2**63 - 1, 2**63],
    "a share above 0": [0.5, 1],
}


@pytest.mark.parametrize("kind", _KINDS)
def test_values_of_each_kind(kind):
    fine = [value for value in [*NUMBERS, *OTHERS] if _KINDS[kind](value)]
    assert list(map(repr, fine)) == list(map(repr, FINE[kind]))


@pytest.mark.parametrize(
    ("kind", "value", "fine"),
    [
        ("a short name", SHORT, True), ("a short name", SHORT + "a", False), ("a short name", "a_1", True),
        ("a short name", "a-b", False), ("a short name", "a\n", False), ("a version number", "1.2.3.4", True),
        ("a version number", "1.2.3.4.5", False), ("a version number", "12345", False),
        ("a version number", "1.0rc1.dev2", True), ("a version number", "1.0 ", False), ("a version number", "", False),
        ("a version number", "1.0a1.post2.dev3", False), ("a version number", "1.\u0661", False),
    ],
)  # fmt: skip
def test_names_and_versions(kind, value, fine):
    reading = Reading()
    assert reading.field({"x": value}, "x", kind, "at.") == (value if fine else None)
    assert reading.manifest == ([] if fine else [f"at.x is not {kind}"])
    assert reading.field({}, "x", kind) is None
    assert reading.manifest[-1] == "x is missing"
