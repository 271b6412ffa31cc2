"""Projections against the rows that they were made from: the same rows, cut and suppressed as told, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.compare import as_text, is_comparable, read_like
from incrowd.verify.domain import ABSENT, OUTSIDE, Array, Values, convert, without_codes, without_tokens
from incrowd.verify.groups import number_rows
from incrowd.verify.original import row_map_problems
from incrowd.verify.payload import wrong_rows
from incrowd.verify.projection_manifest import ProjectionClaims, Shown
from incrowd.verify.sideways import copies, repeats_shuffled, reveals
from incrowd.verify.verdict import Findings


def check_original(
    findings: Findings,
    claims: ProjectionClaims,
    frames: Sequence[pl.DataFrame],
    classes: Sequence[Array],
    original: pl.DataFrame,
    private: Mapping[str, Any] | None,
) -> None:
    """Check all that the originals can show, with the row maps when there are some."""
    original = _without_codes(claims, original)
    kept = _kept(findings, claims, original)
    if kept is None or any(frame.height != int(kept.sum()) for frame in frames):
        return
    behind = original.filter(pl.Series(kept))
    values = Values(claims.target.type, frames[0][claims.target.name].unique().sort().alias(""))
    own = values.code(behind[claims.target.name], claims.tokens if claims.target.role == "sensitive" else ())
    published, originals = _coded(findings, claims, frames, behind)
    tuples = []
    for number, part in enumerate(claims.parts):
        both = [np.concatenate([published[name], originals[name]]) - ABSENT for name in part]
        both.append(np.concatenate([classes[number], own]) - ABSENT)
        joined = number_rows(both, 2 * len(own))
        tuples.append((joined[: len(own)], joined[len(own) :]))
    problems = []
    for number, (shown, wanted) in enumerate(tuples, start=1):
        size = int(max(shown.max(), wanted.max())) + 1
        gap = np.bincount(shown, minlength=size) - np.bincount(wanted, minlength=size)
        if gap.any():
            problems.append(f"projection {number} has {int(gap[gap > 0].sum())} rows that are nobody's")
    findings.judge("same rows", problems, "each projection has the originals' rows, as often as they have them")
    _check_maps(findings, claims, tuples, kept, private)
    _check_sideways(findings, claims, frames, behind, originals)


def _without_codes(claims: ProjectionClaims, original: pl.DataFrame) -> pl.DataFrame:
    """Make missing what counts as missing in one column only."""
    kinds = {name: "float" if column.cuts is not None else column.type for name, column in claims.columns.items()}
    kinds[claims.target.name] = claims.target.type
    present = [name for name in claims.codes if name in original.columns]
    return original.with_columns(
        without_codes(original[name], kinds.get(name), claims.codes[name]).alias(name) for name in present
    )


def _kept(findings: Findings, claims: ProjectionClaims, original: pl.DataFrame) -> Array | None:
    """Tell which originals have no missing value that drops them."""
    drops = [*claims.quasi, *([claims.target.name] if claims.target.role == "sensitive" else [])]
    wanted = dict.fromkeys([*claims.columns, claims.target.name, *(drops if claims.policy == "drop" else [])])
    lost = [name for name in wanted if name not in original.columns]
    problems = [f"it lacks the columns {', '.join(map(repr, lost))}"] if lost else []
    if original.height != claims.rows["input"]:
        problems.append(f"it has {original.height} rows, and the manifest says {claims.rows['input']}")
    if not findings.judge(
        "original", problems, f"{counted(original.height, 'row')} with all {counted(len(wanted), 'column')}"
    ):
        return None
    kept = np.ones(original.height, np.bool_)
    if claims.policy == "drop":
        for name in drops:
            kept &= without_tokens(original[name], claims.tokens).is_not_null().to_numpy()
    n_dropped = int((~kept).sum())
    problems = []
    if n_dropped != claims.rows["missing"]:
        problems.append(f"{n_dropped} originals have a missing value, and the manifest says {claims.rows['missing']}")
    findings.judge("missing rows", problems, f"rows that a missing value drops: {n_dropped}")
    return kept


def _coded(
    findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame], behind: pl.DataFrame
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return both sides of each column in the same numbers, and judge what was suppressed, and where it was cut."""
    published, originals, problems, gone_wrong = {}, {}, [], []
    for part, frame in zip(claims.parts, frames, strict=True):
        for column in (claims.columns[name] for name in part):
            own = _code_other if column.type is None else _code_cut if column.cuts is not None else _code_values
            shown, wanted = own(column, frame[column.name], behind[column.name], claims.tokens)
            if strange := _strange_cuts(column, behind[column.name], claims.tokens):
                problems.append(f"column {column.name!r} has {strange} cuts that are not midway between two values")
            if column.suppressed:
                gone = ~np.isin(wanted, shown) & (wanted != ABSENT)
                if int(gone.sum()) != column.suppressed:
                    gone_wrong.append(f"column {column.name!r} lost another number of values than was said")
                wanted = np.where(gone, ABSENT, wanted)
            published[column.name], originals[column.name] = shown, wanted
    n_columns = sum(column.suppressed > 0 for column in claims.columns.values())
    findings.judge("suppression", gone_wrong, f"as was said of {n_columns} columns, value by value")
    findings.judge("cuts", problems, "each midway between two values")
    return published, originals


def _strange_cuts(column: Shown, own: pl.Series, tokens: Sequence[str]) -> int:
    """Count the cuts that are not the mean of two neighbouring values; others that part them could tell something."""
    if not column.cuts:
        return 0
    values = np.unique(convert(without_tokens(own, tokens), "float").fill_nan(None).drop_nulls().to_numpy())
    means = np.maximum(values[1:] / 2 + values[:-1] / 2, values[:-1])
    return int((~np.isin(column.cuts, means)).sum())


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
    private: Mapping[str, Any] | None,
) -> None:
    names = [f"rows-{number + 1}" for number in range(len(tuples))]
    if private is None or not set(names) <= set(private):
        findings.skip("row maps", "no row map was given for each projection: see whether the private folder is there")
        return
    place = np.cumsum(kept) - 1
    problems = []
    for number, (name, (shown, wanted)) in enumerate(zip(names, tuples, strict=True), start=1):
        own = private[name]["row"].to_numpy()
        found = row_map_problems(own, len(shown), claims.rows["input"])
        found = found or wrong_rows(~kept[own], "come from originals with a missing value")
        found = found or wrong_rows(shown != wanted[place[own]], "are not those of their originals")
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
                disguised = [q for q in claims.quasi if q in behind.columns and reveals(behind[name], behind[q])]
                problems += [f"column {name!r} tells the quasi-identifier {quasi!r}" for quasi in disguised]
    unknown = [name for name in (*claims.left_out, *claims.dropped) if name not in behind.columns]
    problems += [f"{len(unknown)} columns that are left out or dropped are none of the original"] if unknown else []
    if list(claims.dropped) != [name for name in behind.columns if name in claims.dropped]:
        problems.append("dropped columns do not stand in the order of the original")
    kept_back = [name for name in behind.columns if name not in {*announced, *claims.left_out, *claims.dropped}]
    problems += [f"{len(kept_back)} columns of the original are not spoken of"] if kept_back else []
    findings.judge("identifiers", problems, f"no column tells one of {len(hidden)} unpublished ones")
    shown = {name: _as_shown(column, behind, originals) for name, column in claims.columns.items()}
    problems = [
        f"columns {a!r} and {b!r} tell each other: rows of two projections can be linked"
        for one, other in combinations(claims.parts, 2)
        for a in one
        for b in other
        if copies(shown[a], shown[b])
    ]
    findings.judge("links", problems, "no two columns of different projections tell each other")


def _as_shown(column: Shown, behind: pl.DataFrame, originals: dict[str, Array]) -> pl.Series:
    """Return the originals of a column as far as they are shown: numbers that were cut do not show how they rise."""
    if column.cuts is None and not column.suppressed:
        return behind[column.name]
    return pl.Series(originals[column.name]).cast(pl.String())
