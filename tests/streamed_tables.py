"""A table and how it is published out of core, for the tests of engines and of the verifier."""

import numpy as np
import polars as pl

import incrowd as ic
from incrowd import engines
from incrowd.publish import make

SCHEMA = ic.Schema(
    quasi={"age": ic.Intervals(), "zip": ic.prefixes(), "sex": None},
    sensitive="ill", other=["note", "weight"], rest="drop", missing_tokens=["?"],
)  # fmt: skip


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": pl.Series(rng.integers(18, 80, n)),
            "zip": rng.choice(["10055", "10023", "10165", "20001", "20002", "?"], n).tolist(),
            "sex": rng.choice(["f", "m"], n).tolist(),
            "note": rng.choice(["a", "b", "", "c,d"], n).tolist(),
            "weight": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 5, n) - 0.0).tolist(),
            "ill": rng.choice(["flu", "cold", "none"], n).tolist(),
        },
        strict=False,
    ).with_columns(pl.col("weight").fill_nan(None))


def publish(source, schema, output, method="mondrian", seed=1, **parameters):
    return engines.publish_streamed(source, schema, make(method, **{"k": 5, **parameters}), output, seed=seed)
