"""What a person should know of a release: columns that only k is about."""

import polars as pl
import pytest

import incrowd as ic


@pytest.mark.parametrize(
    ("method", "named", "share"),
    [
        (ic.Mondrian(k=4), "'a' or 'b'", "100%"),
        (ic.Mondrian(k=4, l={"b": 2}), "'a'", "75%"),
        (ic.Mondrian(k=4, l={"a": 1.3}), "'b'", "100%"),
        (ic.Mondrian(k=4, l={"a": 1.3, "b": 2}), None, ""),
    ],
)
def test_each_sensitive_column_that_only_k_is_about_is_named(method, named, share):
    rows = [
        (10 * group + at % 2, "xxxyyyxz"[(group + at) % 8], "pq"[group % 2]) for group in range(8) for at in range(4)
    ]
    frame = pl.DataFrame(rows, schema=["age", "a", "b"], orient="row")
    release = method.publish(frame, ic.Schema(quasi={"age": ic.Intervals()}, sensitive=["a", "b"]), seed=1)
    said = [text for text in release.overview().warnings if "k alone" in text]
    if named is None:
        assert said == []
    else:
        assert said[0].startswith(f"k alone does not hide {named}: in one group {share} of the people share")
