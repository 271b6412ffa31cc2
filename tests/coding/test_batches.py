"""A table that comes in parts is coded as it is as a whole."""

from datetime import datetime
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
import strategies
from incrowd.coding import Coding, Table, ValueCounts, kept_rows, settle_types
from incrowd.errors import SchemaError


def coded_in_parts(frame, schema, cuts):
    """Code each part by itself, after the three passes that a stream takes."""
    ends = sorted({0, *(cut % (frame.height + 1) for cut in cuts), frame.height})
    parts = [frame[a:b] for a, b in pairwise(ends)]
    columns = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
    values = {name: pl.concat([part[name].unique() for part in parts]).unique() for name in columns}
    settled = settle_types(schema, values)
    used = [kept_rows(part, settled)[0] for part in parts]
    coding = Coding.fit(reduce(add, [ValueCounts.of(part, settled) for part in used]), settled)
    coded = [coding.encode(part) for part in used]
    sensitive = np.concatenate([own[0] for _, own in coded]) if coded[0][1] else None
    return coding, np.concatenate([codes for codes, _ in coded]), sensitive


def assert_equal(frame, schema, cuts):
    whole = Table.encode(frame, schema)
    coding, codes, sensitive = coded_in_parts(frame, schema, cuts)
    assert [h.to_dict() for h in coding.hierarchies] == [h.to_dict() for h in whole.hierarchies]
    for values, secret in zip(coding.sensitive_values, whole.secrets, strict=True):
        assert values.equals(secret.values, null_equal=True)
    assert np.array_equal(codes, whole.codes)
    assert np.array_equal(sensitive, whole.sensitive) if sensitive is not None else whole.sensitive is None


@settings(max_examples=settings().max_examples * 2)
@given(strategies.tables(min_rows=1, max_rows=12), st.lists(st.integers(0, 12), max_size=3))
def test_parts_are_coded_as_the_whole(drawn, cuts):
    assert_equal(drawn.frame, drawn.schema, cuts)


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_what_only_the_whole_column_tells(missing):
    """Text that is numbers in all parts, whole ones in one; tokens; midnights in one part only; weighed recipes."""
    frame = pl.DataFrame(
        {
            "height": ["1", "2", "2.5", "?", "4", "5"],
            "age": [30, 30, 30, 41, 55, None],
            "zip": [7, 7, 7, 8, 9, 9],
            "seen": [datetime(2024, 1, 1), None, datetime(2024, 1, 2), *[datetime(2024, 1, 3, 12)] * 3],
        }
    )
    quasi = {"height": ic.Intervals(), "age": ic.frequency(2), "zip": ic.mdl()}
    schema = ic.Schema(quasi=quasi, sensitive="seen", missing_tokens=["?"], missing=missing)
    for cuts in ([2], [3], [1, 4], [5]):
        assert_equal(frame, schema, cuts)


def test_weights_stand_for_rows():
    ages = pl.Series("age", [21, 30, 42, 55, None])
    weights = np.array([4, 1, 1, 2, 3])
    repeated = ages.gather(np.repeat(np.arange(5), weights))
    classes = pl.Series(["a", "b", "b", "a", "a"])
    for recipe in (ic.frequency(2), ic.mdl(), ic.balanced(2), ic.Intervals()):
        whole = recipe.build(repeated, classes.gather(np.repeat(np.arange(5), weights)))
        assert recipe.build(ages, classes, weights).to_dict() == whole.to_dict()
    assert ic.frequency(2).build(ages).to_dict() != ic.frequency(2).build(ages, None, weights).to_dict()


def test_rows_outside_declared_ends_are_counted_by_weight():
    with pytest.raises(ic.errors.HierarchyError, match="has 7 rows outside"):
        ic.Intervals(low=0, high=50).build(pl.Series("age", [20, 55, 60]), None, np.array([1, 3, 4]))


def test_a_column_without_values_is_refused_in_parts_too():
    frame = pl.DataFrame({"age": [None, None], "ill": ["a", "b"]}, schema={"age": pl.Int64(), "ill": pl.String()})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
    with pytest.raises(SchemaError, match="Column 'age' has no values"):
        coded_in_parts(frame, schema, [1])
    with pytest.raises(SchemaError, match="Column 'age' has no values"):
        Table.encode(frame, schema)
