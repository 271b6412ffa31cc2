"""Somebody else's published table: grouped by its cells as they stand, held against a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import ParameterError, SchemaError, counted
from incrowd.verify.domain import Array, is_number
from incrowd.verify.groups import number_rows
from incrowd.verify.levels import Distributions
from incrowd.verify.manifest import Promise
from incrowd.verify.promises import broken, check_k, note_likeness, promise_name, reached
from incrowd.verify.verdict import Findings, Verdict, first_row

_L_KINDS = ("frequency", "distinct", "entropy", "recursive")


def verify_table(
    frame: Any,  # noqa: ANN401 - any frame
    *,
    quasi: Sequence[str],
    sensitive: str | None = None,
    k: int | None = None,
    l: float | None = None,
    l_kind: str = "frequency",
    c: float = 3.0,
    t: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    enhanced: bool = False,
    delta: float | None = None,
) -> Verdict:
    """Check a published table that has no manifest.

    Parameters
    ----------
    frame
        A frame or the path of a file.
    quasi
        The columns that somebody may know; rows that agree in them form a group, a missing cell is a value.
    sensitive
        The column to be protected.
    k, l, l_kind, c, t, alpha, beta, enhanced, delta
        The promise: group size, diversity of a kind (`c` belongs to ``recursive``), closeness to the whole table's
        distribution (half the sum of absolute differences), largest share, beta-likeness (basic or `enhanced`),
        delta-disclosure.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["2*", "2*", "3*"], "ill": ["flu", "cold", "flu"]})
    >>> verify_table(table, quasi=["age"], sensitive="ill", k=2).violations
    ['k: 1 of 2 groups have fewer than k = 2 rows, the smallest 1, first at release row 3']
    """
    table = io.read(frame) if isinstance(frame, str | Path) else io.to_polars(frame)
    _check_columns(table, quasi, sensitive)
    asked = {"k": k, "l": l, "t": t, "alpha": alpha, "beta": beta, "delta": delta}
    _check_promise(asked, sensitive, l_kind, c)
    findings = Findings()
    group = _groups(table, quasi)
    sizes = np.bincount(group)
    first = np.unique(group, return_index=True)[1]
    findings.levels["k"] = int(sizes.min()) if len(sizes) else None
    if not table.height:
        findings.judge("rows", ["the table is empty"], "")
    if all(value is None for value in asked.values()):
        findings.skip("promises", "no k, l, t, alpha, beta or delta was given: only the levels are reported")
    if k is not None:
        check_k(findings, sizes, k, first)
    if sensitive is not None and table.height:
        values = _numbered(table[sensitive])
        marginal = np.bincount(values)
        found = Distributions.of_rows(group, values, len(sizes), len(marginal))
        findings.levels |= reached(found, marginal, c=c, ordered=False)
        promises = _promises(asked, l_kind, c, enhanced=enhanced)
        note_likeness(findings, found, promises, marginal)
        _check_values(findings, found, marginal, first, promises)
    return findings.verdict()


def _check_columns(table: pl.DataFrame, quasi: Sequence[str], sensitive: str | None) -> None:
    if quasi is None or isinstance(quasi, str) or not isinstance(quasi, Iterable) or not list(quasi):
        fact = f"quasi is {quasi!r}"
        raise ParameterError(fact, "list the columns that somebody may know: quasi=['age', 'zip'] (--quasi age,zip)")
    lost = [name for name in [*quasi, *([] if sensitive is None else [sensitive])] if name not in table.columns]
    if lost:
        fact = f"The table lacks the columns {', '.join(map(repr, lost))}"
        raise SchemaError(fact, "name columns as they stand in the table")
    if sensitive in quasi:
        fact = f"Column {sensitive!r} is both sensitive and a quasi-identifier"
        raise ParameterError(fact, "what somebody may know is not to be protected: leave it out of one of them")


_ALLOWED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "k": (lambda v: v >= 1 and v == int(v), "a whole number from 1"),
    "l": (lambda v: v >= 1, "a number from 1"),
    "c": (lambda v: v > 0, "a number above 0"),
    "t": (lambda v: v >= 0, "a number from 0"),
    "alpha": (lambda v: 0 < v <= 1, "a share above 0, at most 1"),
    "beta": (lambda v: v > 0, "a number above 0"),
    "delta": (lambda v: v > 0, "a number above 0"),
}


def _check_promise(asked: dict[str, Any], sensitive: str | None, l_kind: str, c: float) -> None:
    if l_kind not in _L_KINDS:
        fact = f"l_kind is {l_kind!r}"
        raise ParameterError(fact, f"use one of {', '.join(_L_KINDS)}")
    given = {name: value for name, value in asked.items() if value is not None}
    for name, value in (given | {"c": c}).items():
        fits, wanted = _ALLOWED[name]
        number = value.item() if isinstance(value, np.generic) else value
        if not is_number(number) or not fits(number):
            fact = f"{name} is {value!r}"
            raise ParameterError(fact, f"use {wanted}")
    if l_kind in ("distinct", "recursive") and given.get("l", 1) != int(given.get("l", 1)):
        fact = f"l is {given['l']!r} and l_kind is {l_kind!r}"
        raise ParameterError(fact, "this kind counts values: use a whole number")
    needing = [name for name in given if name != "k"]
    if needing and sensitive is None:
        fact = f"{', '.join(needing)} was asked for without a sensitive column"
        raise ParameterError(fact, "name it with sensitive= (--sensitive)")


def _numbered(column: pl.Series) -> Array:
    return column.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _groups(table: pl.DataFrame, quasi: Sequence[str]) -> Array:
    numbers = [_numbered(table[name]) for name in quasi]
    return number_rows(numbers, table.height)


def _promises(asked: dict[str, Any], l_kind: str, c: float, *, enhanced: bool) -> list[Promise]:
    """Return what was asked about sensitive values, as promises of a manifest."""
    with_it: dict[str, dict[str, Any]] = {
        "l": {"l_kind": l_kind, "c": c}, "t": {"ordered": False}, "alpha": {}, "beta": {"enhanced": enhanced},
        "delta": {},
    }  # fmt: skip
    given = {kind: value.item() if isinstance(value, np.generic) else value for kind, value in asked.items()}
    return [Promise(kind, {kind: given[kind], **more}) for kind, more in with_it.items() if given[kind] is not None]


def _check_values(
    findings: Findings, found: Distributions, marginal: Array, first: Array, promises: Sequence[Promise]
) -> None:
    for promise in promises:
        wrong = broken(promise, found, marginal)
        what = f"broken in {wrong.sum()} of {len(wrong)} groups"
        row = f", {first_row(int(first[wrong].min()))}" if wrong.any() else ""
        fine = f"holds in {counted(len(wrong), 'group')}"
        findings.judge(promise_name(promise), [what + row] if wrong.any() else [], fine)
