"""Releases of baskets: what a stranger can check of a folder, and what the original adds.

The promise: any set of at most m published items that one basket holds is held by at least k baskets. Sets are counted
plainly, by joining baskets with themselves; nothing is shared with the search that made them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import InputError, counted
from incrowd.verify.csv_text import csv_bytes
from incrowd.verify.domain import Array, is_text, is_whole
from incrowd.verify.fields import Reading
from incrowd.verify.verdict import Findings, Verdict

FILES = ("baskets.csv", "manifest.json")
_FORMAT = 1
_KEYS = ("format", "incrowd", "payload", "columns", "method", "guarantees", "baskets", "items")
_SEARCHES = ("apriori", "direct")
_MOST_SETS = 20_000_000  # looked at together
_MOST_M = 8

Rows = Sequence[tuple[int, str]]


def is_basket_folder(folder: Path) -> bool:
    """Tell whether a folder says that it is a release of baskets."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # of which the check of other releases speaks
        return False
    return isinstance(manifest, dict) and manifest.get("payload") == "baskets"


def check_basket_files(folder: Path, original: Rows | None = None, n_baskets: int | None = None) -> Verdict:
    """Check a folder of baskets; completely with the original: a row for each item of each basket, and their number."""
    findings = Findings()
    there = sorted(path.name for path in folder.iterdir())
    findings.judge(
        "files", [] if there == list(FILES) else [f"there are not exactly {' and '.join(FILES)}"], "no other"
    )
    try:
        text = (folder / "manifest.json").read_text(encoding="utf-8")
        manifest = json.loads(text)
        written = (folder / "baskets.csv").read_bytes()
        rows = _read_csv(written)
    except (OSError, ValueError, RecursionError, InputError, pl.exceptions.PolarsError) as error:
        findings.judge("csv", [f"a file cannot be read: {type(error).__name__}"], "")
        return findings.verdict()
    same = text == json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    canonical = b"".join(csv_bytes(pl.DataFrame(rows, schema={"basket": pl.Int64, "item": pl.String}, orient="row")))
    findings.judge("nothing private", [] if same else ["manifest.json is not written as the format says"], "canonical")
    findings.judge(
        "csv", [] if written == canonical else ["baskets.csv is not written as the format says"], "canonical"
    )
    _check(findings, manifest, rows, original, n_baskets)
    return findings.verdict()


def check_baskets(manifest: Any, rows: Rows, original: Rows | None = None, n_baskets: int | None = None) -> Verdict:  # noqa: ANN401
    """Check baskets in memory."""
    findings = Findings()
    _check(findings, manifest, rows, original, n_baskets)
    return findings.verdict()


def _read_csv(written: bytes) -> list[tuple[int, str]]:
    table = pl.read_csv(written, schema={"basket": pl.Int64, "item": pl.String})
    if table.columns != ["basket", "item"] or table["basket"].null_count():
        fact = "'baskets.csv' has other columns"
        raise InputError(fact, "get the release again")
    return table.rows()


def _check(
    findings: Findings, manifest: Any, rows: Rows, original: Rows | None, n_baskets: int | None  # noqa: ANN401
) -> None:  # fmt: skip
    problems = manifest_problems(manifest)
    if not findings.judge("manifest", problems, "complete, and no more"):
        return
    k, m = (manifest["guarantees"][0][name] for name in ("k", "m"))
    names = [entry["name"] for entry in manifest["items"]]
    place = {name: at for at, name in enumerate(names)}
    baskets = np.array([number for number, _ in rows], np.int64)
    items = np.array([place.get(name, -1) for _, name in rows], np.int64)
    unknown = int((items < 0).sum())
    if not findings.judge("items", [f"{unknown} items are not announced"] if unknown else [], "all are announced"):
        return
    if not findings.judge("order", _order_problems(baskets, rows, manifest["baskets"]), "tells nothing"):
        return
    smallest, broken = _rarest(baskets, items, len(names), k, m)
    findings.levels["km"] = smallest
    fine = f"every set of at most {m} published items that is there is in at least {k} baskets"
    findings.judge(
        "km", [f"{counted(broken, 'set')} of items are in fewer than k = {k} baskets"] if broken else [], fine
    )
    if original is not None:
        problems = _unlike(manifest, rows, original, n_baskets)
        findings.judge("original", problems, "every basket is published as the recoding says")
    else:
        findings.skip("original", "needs the original: whether these are its baskets", needed=False)


def manifest_problems(manifest: Any) -> list[str]:  # noqa: ANN401
    """Say what is wrong with what a manifest of baskets claims."""
    reading = Reading()
    if not isinstance(manifest, dict):
        return ["it is not an object"]
    if list(manifest) != list(_KEYS):
        return ["its keys are not those of the format, in their order"]
    reading.field(manifest, "incrowd", "a version number")
    found = list(reading.manifest)
    if not is_whole(manifest["format"]) or manifest["format"] != _FORMAT or manifest["payload"] != "baskets":
        found.append("it is not of a format that this verifier knows")
    columns = manifest["columns"]
    if columns is not None and not (isinstance(columns, list) and len(columns) == 2 and all(map(is_text, columns))):
        found.append("columns are not two names, or null")
    method, promised = manifest["method"], manifest["guarantees"]
    parameters = method.get("parameters") if isinstance(method, dict) else None
    named = isinstance(method, dict) and list(method) == ["name", "parameters"] and method["name"] == "km_baskets"
    if not named or not isinstance(parameters, dict) or list(parameters) != ["k", "m", "search"]:
        return [*found, "the method is not km_baskets with k, m and search"]
    k, m = parameters["k"], parameters["m"]
    if not (is_whole(k) and is_whole(m) and k >= 1 and 1 <= m <= _MOST_M) or parameters["search"] not in _SEARCHES:
        found.append("a parameter has a value that it cannot have")
    if json.dumps(promised) != json.dumps([{"kind": "km", "k": k, "m": m}]):
        found.append("the guarantees are not those that the parameters ask for")
    return found + _count_problems(manifest["baskets"]) + _item_problems(manifest["items"])


def _count_problems(told: Any) -> list[str]:  # noqa: ANN401
    right = isinstance(told, dict) and list(told) == ["released", "empty"] and all(map(is_whole, told.values()))
    return [] if right and 0 <= told["empty"] <= told["released"] else ["the numbers of baskets are no counts"]


def _item_problems(entries: Any) -> list[str]:  # noqa: ANN401
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and list(entry) == ["name", "stands_for"] and is_text(entry["name"])
        and isinstance(entry["stands_for"], list) and entry["stands_for"] and all(map(is_text, entry["stands_for"]))
        for entry in entries
    ):  # fmt: skip
        return ["items are not names with what they stand for"]
    names = [entry["name"] for entry in entries]
    behind = [item for entry in entries for item in entry["stands_for"]]
    found = ["items are not in order, or told twice"] if any(a >= b for a, b in pairwise(names)) else []
    return found + (["an item is behind two names, or told twice"] if len(set(behind)) < len(behind) else [])


def _order_problems(baskets: Array, rows: Rows, told: dict[str, int]) -> list[str]:
    """Baskets are numbered from 1 by what they hold, and their items stand in order."""
    n = int(baskets[-1]) if len(baskets) else 0
    if len(baskets) and (baskets[0] != 1 or not np.isin(np.diff(baskets), (0, 1)).all()):
        return ["baskets are not numbered from 1 without gaps"]
    found = [] if n + told["empty"] == told["released"] else ["there are other baskets than are counted"]
    held: list[list[str]] = [[] for _ in range(n)]
    for number, name in rows:
        held[number - 1].append(name)
    if any(a >= b for own in held for a, b in pairwise(own)):
        found.append("items of a basket are told twice, or not in order")
    if any(a > b for a, b in pairwise(held)):
        found.append("baskets do not stand in the order of what they hold")
    return found


def _rarest(baskets: Array, items: Array, n_items: int, k: int, m: int) -> tuple[int | None, int]:
    """Return in how few baskets a set of at most m items is, and how many sets are in fewer than k."""
    order = np.lexsort((items, baskets))
    table = pl.DataFrame({"basket": baskets[order], "item": items[order]})
    smallest: int | None = None
    broken = 0
    for size in range(1, m + 1):
        for n in _counts(table, n_items, size):
            if len(n):
                smallest = int(n.min()) if smallest is None else min(smallest, int(n.min()))
                broken += int((n < k).sum())
    return smallest, broken


def _counts(table: pl.DataFrame, n_items: int, size: int) -> Iterator[Array]:
    """Yield in how many baskets each set of this size is, for the sets that begin with some items."""
    if not table.height:
        return
    left = table.select(pl.len().over("basket") - pl.int_range(pl.len()).over("basket") - 1).to_series()
    sets = np.array([comb(int(more), size - 1) for more in left.to_list()], np.float64)
    of_item = np.bincount(table["item"].to_numpy(), sets, n_items)
    part = (np.cumsum(of_item) // _MOST_SETS).astype(np.int64)
    for number in np.unique(part):
        firsts = pl.Series(np.flatnonzero(part == number))
        joined = table.filter(pl.col("item").is_in(firsts.implode())).rename({"item": "0"})
        for more in range(1, size):
            joined = joined.join(table.rename({"item": str(more)}), on="basket")
            joined = joined.filter(pl.col(str(more)) > pl.col(str(more - 1)))
        yield joined.group_by([str(place) for place in range(size)]).len()["len"].to_numpy().astype(np.int64)


def _unlike(manifest: Any, rows: Rows, original: Rows, n_baskets: int | None) -> list[str]:  # noqa: ANN401
    """Recode the original as the manifest says, and compare."""
    name_of = {item: entry["name"] for entry in manifest["items"] for item in entry["stands_for"]}
    lost = {item for _, item in original} - set(name_of)
    if lost:
        return [f"{counted(len(lost), 'item')} of the original stand behind no published name"]
    wanted: dict[int, set[str]] = {}
    for basket, item in original:
        wanted.setdefault(basket, set()).add(name_of[item])
    told: dict[int, list[str]] = {}
    for number, name in rows:
        told.setdefault(number, []).append(name)
    found = (
        [] if n_baskets in (None, manifest["baskets"]["released"]) else ["the original has another number of baskets"]
    )
    if sorted(map(sorted, wanted.values())) != sorted(told.values()):
        found.append("the published baskets are not those of the original, recoded")
    return found


def basket_columns(folder: Path) -> list[str] | None:
    """Return the columns of the original that a folder names, if it names two."""
    told = json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("columns")
    return told if isinstance(told, list) and len(told) == 2 and all(map(is_text, told)) else None


def basket_rows(original: Any, columns: list[str] | None) -> tuple[list[tuple[int, str]], int]:  # noqa: ANN401
    """Return a row for each item of each basket of the original, and how many baskets there are."""
    if isinstance(original, Sequence) and not isinstance(original, str):
        if any(isinstance(one, str | Mapping) or not isinstance(one, Collection) for one in original):
            fact = "Every basket of the original must be a list or a set of items"
            raise InputError(fact, 'for example [["cherries", "candles"], ["cherries"], []]')
        return [(number, str(item)) for number, own in enumerate(original) for item in own], len(original)
    table = io.to_polars(original)
    if columns is None or not set(columns) <= set(table.columns):
        fact = "The original has not the columns for basket and item that the release names"
        raise InputError(fact, "give the table that it was made from; baskets from lists are checked against lists")
    basket, item = pl.col(columns[0]).rank("dense").cast(pl.Int64), pl.col(columns[1]).cast(pl.String)
    plain = table.select(basket.alias("basket"), item.alias("item"))
    return plain.drop_nulls().unique().rows(), plain["basket"].n_unique()
