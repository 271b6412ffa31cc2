"""Random tables: missing values, duplicates, one row, one value, unicode, constant columns."""

from dataclasses import dataclass, replace

import polars as pl
from hypothesis import strategies as st

import incrowd as ic

NAMES = ["Ada", "Bö", "中文", "a b", "x;y", 'quo"te', "e,f", "zz"]
TREE = {"upper": {"left": ["Ada", "Bö"], "right": ["中文", "a b", "x;y"]}, "lower": ['quo"te', "e,f"], "zz": None}


@dataclass(frozen=True)
class Drawn:
    frame: pl.DataFrame
    schema: ic.Schema

    def fit_for(self, constraints):
        """Distances along an order need numbers for sensitive values; NSVDist as published takes no other columns."""
        frame, schema = self.frame, self.schema
        if constraints.get("ordered") or "width" in constraints:
            frame = frame.with_columns(pl.col("class").rank("dense").cast(pl.Int64))
        if constraints.get("tree"):
            own = [replace(a, hierarchy=ic.balanced(2)) if n == "class" else a for n, a in schema.attributes.items()]
            schema = ic.Schema.of(own, missing=schema.missing, rest=schema.rest)
        if constraints.get("mode") == "paper":
            kept = [attribute for name, attribute in schema.attributes.items() if name not in schema.other]
            schema = ic.Schema.of(kept, rest="drop")
        return Drawn(frame, schema)


def _column(draw, kind, n, missing):
    value = {
        "int": st.integers(-3, 9),
        "float": st.sampled_from([-1.5, 0.0, 0.25, 2.5, 1e6]),
        "name": st.sampled_from(NAMES),
        "tree": st.sampled_from(NAMES),
        "zip": st.sampled_from(["10055", "10023", "10165", "10224", "20001"]),
        "bool": st.booleans(),
        "constant": st.just("same"),
    }[kind]
    if missing:
        value = st.one_of(st.none(), value)
    values = draw(st.lists(value, min_size=n, max_size=n))
    if all(v is None for v in values):
        values[0] = draw(value.filter(lambda v: v is not None))
    return values


SPECS = {
    "int": ic.Intervals(),
    "float": ic.Intervals(),
    "name": ic.balanced(2),
    "tree": ic.Taxonomy.from_nested(TREE),
    "zip": ic.prefixes(),
    "bool": None,
    "constant": None,
}
TYPES = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}


@st.composite
def tables(draw, min_rows=1, max_rows=30, missing=True):
    n = draw(st.integers(min_rows, max_rows))
    kinds = draw(st.lists(st.sampled_from(list(SPECS)), min_size=1, max_size=4))
    with_missing = draw(st.booleans()) and missing
    columns, quasi = [], {}
    for i, kind in enumerate(kinds):
        name = f"q{i} {kind}"
        columns.append(pl.Series(name, _column(draw, kind, n, with_missing), TYPES.get(kind, pl.String)))
        quasi[name] = SPECS[kind]
    classes = draw(st.lists(st.sampled_from(["yes", "no", "może"]), min_size=n, max_size=n))
    columns.append(pl.Series("class", classes))
    columns.append(pl.Series("id", [f"person {i}" for i in range(n)]))
    columns.append(pl.Series("note", [i % 7 for i in range(n)]))
    schema = ic.Schema(quasi=quasi, sensitive="class", identifiers=["id"], other=["note"])
    return Drawn(pl.DataFrame(columns), schema)
