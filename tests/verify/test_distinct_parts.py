"""Distinct rows are found part by part as they are in the whole, wherever a part ends."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from incrowd.verify.parts import _runs, _Seen


def add(seen, part):
    """Number the rows of a part as `verify` does: of equal rows in a run only the first is looked at."""
    starts, sizes = _runs(part)
    return np.repeat(seen.add(part[starts], sizes), sizes)


CLAIMS = SimpleNamespace(other=("note",), secrets=(SimpleNamespace(name="ill"), SimpleNamespace(name="job")))


@pytest.mark.parametrize("seed", range(12))
def test_distinct_rows_of_parts_are_those_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    frame = pl.DataFrame({
        "a.lo": np.sort(rng.integers(0, 4, n)),
        "ill": rng.choice(["x", "y", "z"], n),
        "job": rng.integers(0, 2, n),
        "note": rng.integers(0, 9, n),
    })  # fmt: skip
    seen, ends = _Seen(CLAIMS), np.sort(rng.integers(0, n + 1, int(rng.integers(0, 9)))).tolist()
    numbers = [add(seen, frame[begin:end]) for begin, end in zip([0, *ends], [*ends, n], strict=True)]
    rows, counts = seen.rows()
    whole = frame.group_by("a.lo", "ill", "job").len("n").sort(pl.all())
    assert (
        rows.select("a.lo", "ill", "job")
        .with_columns(n=pl.Series(counts))
        .sort(pl.all())
        .equals(whole.cast({"n": pl.Series(counts).dtype}))
    )
    assert rows["note"].null_count() == len(rows)
    assert rows[np.concatenate(numbers)].select("a.lo", "ill", "job").equals(frame.select("a.lo", "ill", "job"))


def test_a_release_without_sensitive_columns():
    seen = _Seen(SimpleNamespace(other=(), secrets=()))
    frame = pl.DataFrame({"a.lo": [0, 0, 1, 1, 2]})
    assert [add(seen, part).tolist() for part in (frame[:1], frame[1:1], frame[1:3], frame[3:])] == [
        [0],
        [],
        [0, 1],
        [1, 2],
    ]
    rows, counts = seen.rows()
    assert (rows["a.lo"].to_list(), counts.tolist()) == ([0, 1, 2], [2, 2, 1])
