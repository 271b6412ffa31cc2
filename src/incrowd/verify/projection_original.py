"""Projections against the rows that they were made from: the same rows, cut and suppressed as told, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import polars as pl

from incrowd.verify.compare import as_text, equal_values, is_comparable, one_to_one, read_like
from incrowd.verify.domain import ABSENT, OUTSIDE, Array, Values, convert, without_tokens
from incrowd.verify.groups import combine
from incrowd.verify.order import stand_alike
from incrowd.verify.original import row_map_problems
from incrowd.verify.payload import wrong_rows
from incrowd.verify.projection_manifest import ProjectionClaims, Shown
from incrowd.verify.sideways import repeats_shuffled
from incrowd.verify.verdict import Findings

_SOME_ROWS = 10
_MANY_ROWS = 20
_MANY_ORDERS = 10**14  # in which two values can stand: one to one by chance once in so many


def check_original(
    findings: Findings,
    claims: ProjectionClaims,
    frames: Sequence[pl.DataFrame],
    classes: Sequence[Array],
    original: pl.DataFrame,
    rows: Sequence[Array] | None,
) -> None:
    """Check all that the originals can show, with the row maps when there are some."""
    kept = _kept(findings, claims, original)
    if kept is None or any(frame.height != int(kept.sum()) for frame in frames):
        return
    behind = original.filter(pl.Series(kept))
    own = claims.target.values.code(behind[claims.target.name], _class_tokens(claims))
    published, originals = _coded(findings, claims, frames, behind)
    tuples = []
    for number, part in enumerate(claims.parts):
        both = [np.concatenate([published[name], originals[name]]) - ABSENT for name in part]
        both.append(np.concatenate([classes[number], own]) - ABSENT)
        joined = combine(both, [int(column.max(initial=0)) + 1 for column in both], 2 * len(own))
        tuples.append((joined[: len(own)], joined[len(own) :]))
    problems = []
    for number, (shown, wanted) in enumerate(tuples, start=1):
        size = int(max(shown.max(), wanted.max())) + 1
        gap = np.bincount(shown, minlength=size) - np.bincount(wanted, minlength=size)
        if gap.any():
            problems.append(f"projection {number} has {int(gap[gap > 0].sum())} rows that are nobody's")
    findings.judge("same rows", problems, "each projection has the originals' rows, as often as they have them")
    _check_maps(findings, claims, tuples, kept, rows)
    alike = [number for number, (shown, wanted) in enumerate(tuples, start=1) if stand_alike(shown, wanted)]
    problems = [f"projection {number} stands in the order of the originals" for number in alike]
    findings.judge("order of originals", problems, "no projection stands in the order of the originals")
    _check_sideways(findings, claims, frames, behind, originals)


def _kept(findings: Findings, claims: ProjectionClaims, original: pl.DataFrame) -> Array | None:
    """Tell which originals have no missing value that drops them."""
    drops = [*claims.quasi, *([claims.target.name] if claims.target.role == "sensitive" else [])]
    wanted = dict.fromkeys([*claims.columns, claims.target.name, *(drops if claims.policy == "drop" else [])])
    lost = [name for name in wanted if name not in original.columns]
    problems = [f"it lacks the columns {', '.join(map(repr, lost))}"] if lost else []
    if original.height != claims.rows["input"]:
        problems.append(f"it has {original.height} rows, and the manifest says {claims.rows['input']}")
    if not findings.judge("original", problems, f"{original.height} rows with all {len(wanted)} columns"):
        return None
    kept = np.ones(original.height, np.bool_)
    if claims.policy == "drop":
        for name in drops:
            kept &= without_tokens(original[name], claims.tokens).is_not_null().to_numpy()
    n_dropped = int((~kept).sum())
    problems = []
    if n_dropped != claims.rows["missing"]:
        problems.append(f"{n_dropped} originals have a missing value, and the manifest says {claims.rows['missing']}")
    findings.judge("missing rows", problems, f"{n_dropped} originals have a missing value that drops them")
    return kept


def _class_tokens(claims: ProjectionClaims) -> Sequence[str]:
    return claims.tokens if claims.target.role == "sensitive" else ()


def _coded(
    findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame], behind: pl.DataFrame
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return both sides of each column in the same numbers, and judge what was suppressed."""
    published, originals, problems = {}, {}, []
    for part, frame in zip(claims.parts, frames, strict=True):
        for column in (claims.columns[name] for name in part):
            own = _code_other if column.type is None else _code_cut if column.cuts is not None else _code_values
            shown, wanted = own(column, frame[column.name], behind[column.name], claims.tokens)
            if column.suppressed:
                gone = ~np.isin(wanted, shown) & (wanted != ABSENT)
                if int(gone.sum()) != column.suppressed:
                    problems.append(f"column {column.name!r} lost another number of values than was said")
                wanted = np.where(gone, ABSENT, wanted)
            published[column.name], originals[column.name] = shown, wanted
    n_columns = sum(column.suppressed > 0 for column in claims.columns.values())
    findings.judge("suppression", problems, f"as was said of {n_columns} columns, value by value")
    return published, originals


def _code_cut(column: Shown, shown: pl.Series, own: pl.Series, tokens: Sequence[str]) -> tuple[Array, Array]:
    known = without_tokens(own, tokens)
    numbers = convert(known, "float").cast(pl.Float64())
    values = numbers.fill_null(0.0).to_numpy()
    places = np.zeros(len(values), np.int64)
    for cut in column.cuts or ():
        places += values > cut
    places = np.where(numbers.is_null().to_numpy(), OUTSIDE, places)
    places = np.where(known.is_null().to_numpy(), ABSENT, places)
    return Values("str", pl.Series(column.labels)).code(shown).astype(np.int64), places


def _code_values(column: Shown, shown: pl.Series, own: pl.Series, tokens: Sequence[str]) -> tuple[Array, Array]:
    values = Values(str(column.type), shown.unique().drop_nulls().alias(""))
    return values.code(shown).astype(np.int64), values.code(own, tokens).astype(np.int64)


def _code_other(column: Shown, shown: pl.Series, own: pl.Series, tokens: Sequence[str]) -> tuple[Array, Array]:
    del column
    if shown.dtype != own.dtype:
        read = read_like(own, shown.dtype) if own.dtype == pl.String else own.cast(shown.dtype, strict=False)
        own = own if read is None else read
    if tokens and own.dtype == pl.String and not shown.is_in(list(tokens)).any():
        own = without_tokens(own, tokens)  # a reader that knew the tokens has made them missing
    texts = [as_text(side).fill_null("") for side in (shown, own)]
    values = Values("str", pl.concat(texts).unique().alias(""))
    return values.code(texts[0]).astype(np.int64), values.code(texts[1]).astype(np.int64)


def _check_maps(
    findings: Findings,
    claims: ProjectionClaims,
    tuples: Sequence[tuple[Array, Array]],
    kept: Array,
    rows: Sequence[Array] | None,
) -> None:
    if rows is None:
        findings.skip("row maps", "no row maps were given")
        return
    problems = [] if len(rows) == len(tuples) else [f"{len(rows)} row maps for {len(tuples)} projections"]
    place = np.cumsum(kept) - 1
    for number, (own, (shown, wanted)) in enumerate(zip(rows, tuples, strict=False), start=1):
        found = row_map_problems(own, len(shown), claims.rows["input"])
        if not found:
            found = wrong_rows(~kept[own], "come from originals with a missing value")
        if not found:
            found = wrong_rows(shown != wanted[place[own]], "are not those of their originals")
        problems += [f"projection {number}: {problem}" for problem in found]
    findings.judge("row maps", problems, "every row is its original's, each original once in each projection")


def _check_sideways(
    findings: Findings,
    claims: ProjectionClaims,
    frames: Sequence[pl.DataFrame],
    behind: pl.DataFrame,
    originals: dict[str, Array],
) -> None:
    """No column tells another that is hidden, and no two columns of different projections tell each other."""
    announced = {*claims.columns, claims.target.name}
    hidden = [name for name in behind.columns if name not in announced and is_comparable(behind[name].dtype)]
    problems = []
    for part, frame in zip(claims.parts, frames, strict=True):
        for name in part:
            for secret in hidden:
                # features that were left out are no identifiers, and a quasi-identifier in disguise is looked for below
                told = secret in claims.dropped or (secret not in claims.left_out and behind[secret].dtype == pl.String)
                if told and is_comparable(frame[name].dtype) and repeats_shuffled(frame[name], behind[secret]):
                    known = "dropped" if secret in claims.dropped else "unpublished"
                    problems.append(f"column {name!r} repeats the {known} column {secret!r}")
            if claims.columns[name].role == "other":
                disguised = [q for q in claims.quasi if q in behind.columns and _tells(behind[name], behind[q])]
                problems += [f"column {name!r} tells the quasi-identifier {quasi!r}" for quasi in disguised]
    findings.judge("identifiers", problems, f"no column repeats one of {len(hidden)} unpublished ones")
    codes = {name: pl.Series(column) for name, column in originals.items()}
    n_values = {name: column.n_unique() for name, column in codes.items()}

    def rise(a: str, b: str) -> bool:  # numbers that were cut do not show how they rise
        return claims.columns[a].cuts is claims.columns[b].cuts is None and _rises_with(behind[a], behind[b])

    problems = [
        f"columns {a!r} and {b!r} tell each other: rows of two projections can be linked"
        for one, other in combinations(claims.parts, 2)
        for a in one
        for b in other
        if n_values[a] == n_values[b] and (_is_copy(codes[a], codes[b]) or _is_same(behind[a], behind[b]) or rise(a, b))
    ]
    findings.judge("links", problems, "no two columns of different projections tell each other")


def _tells(column: pl.Series, quasi: pl.Series) -> bool:
    """Tell whether a column is another one, as it is or by other names."""
    if not is_comparable(column.dtype) or not is_comparable(quasi.dtype):
        return False
    return _is_same(column, quasi) or _is_copy(column, quasi) or _rises_with(column, quasi)


def _is_same(column: pl.Series, other: pl.Series) -> bool:
    return len(other) >= _SOME_ROWS and other.n_unique() > 1 and bool(equal_values(column, other).all())


def _is_copy(column: pl.Series, other: pl.Series) -> bool:
    n = other.n_unique()
    if len(other) < _MANY_ROWS or not 2 <= n <= len(other) // 2 or (n == 2 and _n_orders(other) < _MANY_ORDERS):
        return False
    return one_to_one(column, other)


def _n_orders(column: pl.Series) -> int:
    """Return in how many orders a column of two values can stand."""
    return comb(len(column), int(column.value_counts(name="n_rows")["n_rows"][0]))


def _rises_with(column: pl.Series, other: pl.Series) -> bool:
    """Tell whether two numbers that differ from row to row stand in the same order of size, or in the opposite one."""
    few = len(other) < _SOME_ROWS or other.n_unique() <= max(len(other) // 2, 1)
    if few or not all(own.dtype.is_numeric() or own.dtype.is_temporal() for own in (column, other)):
        return False
    ranks = [own.rank("dense", descending=down) for own, down in ((column, False), (column, True), (other, False))]
    return any(rank.eq_missing(ranks[2]).all() for rank in ranks[:2])
