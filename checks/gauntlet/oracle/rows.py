"""Generalized rows: manifest, columns, order, cells, and each row against its original."""

from __future__ import annotations

import datetime as dt
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from checks.gauntlet.oracle.asked import Asked, key, same
from checks.gauntlet.oracle.domains import Values, judge_domain, judge_sensitive_counts
from checks.gauntlet.oracle.evidence import judge_evidence
from checks.gauntlet.oracle.files import Folder, Unreadable, csv_bytes
from checks.gauntlet.oracle.guarantees import MORE_K, NOTHING, asked_guarantees, told_parameters
from checks.gauntlet.oracle.labels import interval_problem, label_holds, leaf_problem, names_of, value_of
from checks.gauntlet.oracle.promises import judge_promises
from checks.gauntlet.oracle.told import Secrets, share_columns, told_secrets

KEYS = (
    "format", "incrowd", "polars", "method", "recoding", "guarantees", "rows", "missing", "domains", "quasi",
    "sensitive", "target", "other", "dropped",
)  # fmt: skip
QUASI_KEYS = {
    "intervals": ("name", "kind", "type", "missing", "cuts", "counts"),
    "taxonomy": ("name", "kind", "type", "leaves", "levels", "rest", "counts"),
    "names": ("name", "kind", "type", "leaves", "rest", "counts"),
}
SECRET_KEYS = {
    "exact": ("name", "type", "form"),
    "counts": ("name", "type", "form", "values", "counts"),
    "shares": ("name", "type", "form", "values", "counts"),
}
PARAMETERS = {
    "k", "l", "l_kind", "c", "t", "ordered", "alpha", "beta", "enhanced", "delta", "tree", "width", "recoding",
    "strict", "cut", "runs", "sweeps", "class_weight", "mode", "loss", "presplit", "delta_c", "delta_d", "keep_values",
    "gain", "tighten", "cluster", "min_rows", "confidence", "L", "C",
    "score", "start", "omega", "passes", "generations", "population", "folds", "inducer", "crossover", "mutation",
    "suppress", "quasi_sets", "patience", "seconds", "archive", "local", "others_known", "concealment",
    "looks", "points", "rounds", "criterion",
}  # fmt: skip


def judge_rows(found: Folder, asked: Asked, problems: list[str]) -> None:
    """Collect what is wrong with a release of rows."""
    manifest, table = found.manifest, found.tables["release"]
    if tuple(manifest) != KEYS:
        fact = "the keys of the manifest are not those of the format"
        raise Unreadable(fact)
    judge_about(manifest, asked, problems)
    _judge_columns(found, asked, problems)
    free = asked.method in ("nsvdist", "nhaa")
    if manifest["recoding"] != ("non-homogeneous" if free else "homogeneous"):
        problems.append("the recoding is not the method's")
    if problems:
        return
    n_rows = len(next(iter(table.values())))
    _judge_order(table, problems)
    rows = _row_map(found, asked, n_rows, problems)
    if problems:
        return
    least = max(g.get("k", g.get("K", 1)) for g in manifest["guarantees"])
    cells: list[list[Any]] = []
    values: list[Values] = []
    private = found.private["domains"]["quasi"]
    for entry, own in zip(manifest["quasi"], private, strict=True):
        name = entry["name"]
        originals = [asked.meant[name][row] for row in rows]
        meant = judge_domain(entry, own, originals, asked.hierarchies[name], least, manifest["domains"], problems)
        column = list(zip(table[f"{name}.lo"], table[f"{name}.hi"], strict=True))
        _judge_cells(entry, column, table[name], originals, asked.hierarchies[name], problems)
        values.append(meant)
        cells.append(column)
    if problems:
        return
    secrets = {name: [asked.meant[name][row] for row in rows] for name in asked.secrets}
    for about in told_secrets(manifest):
        _judge_type(about, secrets[about["name"]], problems)
        if about["form"] != "exact":
            judge_sensitive_counts(about, secrets[about["name"]], least, manifest["domains"], problems)
    judge_promises(manifest, table, cells, values, secrets, problems)
    judge_evidence(found, asked, rows, cells, values, secrets, problems)
    _judge_kept(found, asked, rows, cells, values, secrets, problems)


def judge_about(manifest: dict[str, Any], asked: Asked, problems: list[str]) -> None:
    """Check what the manifest says of method, guarantees, rows and columns."""
    versions = [manifest["incrowd"], manifest["polars"]]
    newer = any(
        promise["kind"] in ("beta", "delta", "width") or "tree" in promise for promise in manifest["guarantees"]
    )
    if manifest["format"] != (6 if asked.ranges else 4 if newer else 3 if asked.several else 2) or not all(
        isinstance(own, str) for own in versions
    ):
        problems.append("format or versions are wrong")
    method = manifest["method"]
    if list(method) != ["name", "parameters"] or method["name"] != asked.method:
        problems.append("the manifest names another method")
        return
    wanted = told_parameters(asked)
    for name, value in method["parameters"].items():
        right = wanted.get(name, NOTHING.get(name, value))
        in_order = list(value) == asked.secrets if isinstance(right, dict) else not isinstance(value, dict)
        if value != right or not in_order or (name == "others_known" and name not in wanted):
            problems.append(f"parameter {name} is not what was asked for")
    if set(wanted) - set(method["parameters"]) or set(method["parameters"]) - PARAMETERS:
        problems.append("a parameter is missing in the manifest, or one too much")
    _judge_guarantees(manifest, asked, problems)
    _judge_missing(manifest["missing"], asked, problems)
    if manifest["dropped"] != asked.dropped:
        problems.append("the dropped columns are not those that have to go")
    rows = manifest["rows"]
    if list(rows) != ["input", "missing", "suppressed", "released"]:
        fact = "the row counts have other keys"
        raise Unreadable(fact)
    right = rows["input"] == asked.n_rows and rows["missing"] == asked.n_rows - len(asked.kept)
    if not right or rows["input"] != rows["missing"] + rows["suppressed"] + rows["released"] or min(rows.values()) < 0:
        problems.append("rows do not add up")


def _judge_missing(missing: dict[str, Any], asked: Asked, problems: list[str]) -> None:
    wanted: dict[str, Any] = {"policy": asked.policy, "tokens": list(asked.tokens)}
    if asked.codes:
        wanted["codes"] = {name: list(asked.codes[name]) for name in sorted(asked.codes)}
    if missing != wanted or list(missing.get("codes", ())) != sorted(asked.codes):
        problems.append("policy, tokens or codes of missing values are not those of the schema")


def _judge_guarantees(manifest: dict[str, Any], asked: Asked, problems: list[str]) -> None:
    told = manifest["guarantees"]
    wanted = asked_guarantees(asked)
    lacking = [promise["kind"] for promise in wanted if promise not in told]
    about_columns = [list(g.items()) for g in told if asked.several and g["kind"] != "k"]
    if asked.several and about_columns != [list(g.items()) for g in wanted if g["kind"] != "k"]:
        lacking.append("of each column, in order, ")
    if asked.method in MORE_K and not any(g["kind"] == "k" and g["k"] >= asked.parameters["k"] for g in told):
        lacking.append("k")
    problems += [f"guarantee {kind} is not promised as it was asked for" for kind in lacking]
    if not told or len({str(sorted(g.items())) for g in told}) < len(told):
        problems.append("guarantees are missing or said twice")


def _secret_keys(entry: dict[str, Any], manifest: dict[str, Any], asked: Asked) -> tuple[str, ...] | None:
    """Return the keys that a sensitive column must be told in: with its tree where closeness is promised along it."""
    along = [g for g in manifest["guarantees"] if "tree" in g and g.get("column") in (None, entry.get("name"))]
    known = SECRET_KEYS.get(entry.get("form", ""))
    if known and entry.get("name") in asked.ranges:
        known = (*known[:3], "ranges", *known[3:])
    return (*known, "leaves", "levels") if known and along else known


def _judge_columns(found: Folder, asked: Asked, problems: list[str]) -> None:
    manifest, about = found.manifest, told_secrets(found.manifest)
    if [entry.get("name") for entry in manifest["quasi"]] != asked.quasi or manifest["other"] != asked.other:
        problems.append("quasi-identifiers or other columns are not those of the schema")
    elif [entry.get("name") for entry in about] != asked.secrets:
        problems.append("the sensitive columns are not those of the schema")
    elif isinstance(manifest["sensitive"], list) != asked.several:
        problems.append("one sensitive column is written by itself, and several are a list")
    elif any(_secret_keys(entry, manifest, asked) != tuple(entry) or entry["form"] != _form(asked) for entry in about):
        problems.append("a sensitive column is told in other keys, or in another form than the method's")
    elif any(json.dumps(one.get("ranges", [])) != json.dumps(asked.starts(one["name"])) for one in about):
        problems.append("ranges of a sensitive column begin elsewhere than asked for, or are written otherwise")
    else:
        there, expected = found.dtypes["release"].items(), _expected_columns(manifest, asked)
        if len(there) != len(expected) or any(
            name not in right or kind not in (dtype, None)
            for (name, dtype), (right, kind) in zip(there, expected, strict=True)
        ):
            problems.append("the columns of release.parquet are not those of the format")
    if asked.target != manifest["target"]:
        problems.append("the target is not that of the schema")


def _form(asked: Asked) -> str:
    return {"hardened": "shares", "paper": "counts"}.get(asked.parameters.get("mode", ""), "exact")


def _judge_type(about: dict[str, Any], own: list[Any], problems: list[str]) -> None:
    wanted = {"int": int, "float": float, "str": str, "date": dt.date, "bool": bool}.get(about["type"])
    if any(type(value) is not wanted for value in own if value is not None):
        problems.append(f"the sensitive column {about['name']!r} is of another type")


def _expected_columns(manifest: dict[str, Any], asked: Asked) -> list[tuple[set[str], str | None]]:
    """Return what each column may be called, and its type where that is known."""
    expected: list[tuple[set[str], str | None]] = []
    for entry in manifest["quasi"]:
        name, bound, keys = entry["name"], "Int32", QUASI_KEYS.get(entry.get("kind"), ())
        if manifest["domains"] == "exact":
            keys = tuple("values" if key == "cuts" else key for key in keys)
        if tuple(entry) != keys:
            fact = f"the keys of quasi-identifier {name!r} are not those of its kind"
            raise Unreadable(fact)
        if entry["kind"] == "intervals":
            bound = {"int": "Int64", "float": "Float64", "date": "Date"}.get(entry["type"], "?")
        expected += [({name}, "String"), ({f"{name}.lo"}, bound), ({f"{name}.hi"}, bound)]
    expected += [({name}, asked.dtypes[name]) for name in asked.other]
    for about in told_secrets(manifest):
        if about["form"] == "exact":
            expected.append(({about["name"]}, None))
            continue
        values = [value_of(value, about["type"]) for value in about["values"]]
        expected += [({f"{about['name']}={text}" for text in names_of(value)}, "Int32") for value in values]
    return expected


def _judge_order(table: dict[str, list[Any]], problems: list[str]) -> None:
    rows = list(zip(*table.values(), strict=True))
    ranks = [tuple(map(rank, row)) for row in rows]
    if any(one > two for one, two in pairwise(ranks)):
        problems.append("rows are not in the order of what is published")


def rank(cell: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Return what sorts cells of one column: missing first, text by its UTF-8 bytes."""
    if cell is None:
        return (0,)
    return (1, cell.encode("utf-8") if isinstance(cell, str) else cell)


def _row_map(found: Folder, asked: Asked, n_rows: int, problems: list[str]) -> list[int]:
    rows: list[int] = found.private.get("rows", {}).get("row", [])
    counts = found.manifest["rows"]
    if len(rows) != n_rows or counts["released"] != n_rows:
        problems.append("the number of rows is not what the manifest says")
    elif len(set(rows)) < len(rows) or not set(rows) <= set(asked.kept):
        problems.append("the row map names rows twice, or rows that were dropped")
    return rows


def _judge_cells(
    entry: dict[str, Any],
    cells: list[tuple[Any, Any]],
    labels: list[str],
    originals: list[Any],
    kind: str,
    problems: list[str],
) -> None:
    name = entry["name"]
    for place, (cell, label) in enumerate(zip(cells, labels, strict=True)):
        if entry["kind"] == "intervals":
            wrong = interval_problem(entry, cell, label, originals)
        else:
            wrong = leaf_problem(entry, cell, label)
        if wrong is None and not label_holds(kind, label, originals[place]):
            wrong = "has a label that its original does not fit"
        if wrong:
            problems.append(f"row {place + 1}: the cell of {name!r} {wrong}")
            return
    if entry["kind"] == "intervals":
        ends = {end for cell in cells for end in cell if end is not None}
        declared = kind in ("ends", "declared")
        if not declared and not ends <= {value for value in originals if value is not None}:
            problems.append(f"a cell of {name!r} ends at a value that no row has")


def _judge_kept(
    found: Folder,
    asked: Asked,
    rows: list[int],
    cells: list[Any],
    values: list[Values],
    secrets: Secrets,
    problems: list[str],
) -> None:
    """Hold each row against its original: cells, other columns and exact sensitive values; and the CSV file."""
    manifest, table = found.manifest, found.tables["release"]
    for entry, column, meant in zip(manifest["quasi"], cells, values, strict=True):
        if not all(meant.fits(cell, place) for place, cell in enumerate(column)):
            problems.append(f"a cell of {entry['name']!r} does not hold its original")
    for about in told_secrets(manifest):
        name = about["name"]
        if about["form"] == "exact" and not all(same(a, b) for a, b in zip(secrets[name], table[name], strict=True)):
            problems.append(f"a sensitive value of {name!r} is not its original's")
    if any(about["form"] == "shares" for about in told_secrets(manifest)):
        _judge_dealt(found, asked, rows, problems)
    elif not all(
        same(asked.shown[name][row], table[name][place]) for name in asked.other for place, row in enumerate(rows)
    ):
        problems.append("an other column is not its original's")


def _judge_dealt(found: Folder, asked: Asked, rows: list[int], problems: list[str]) -> None:
    """Hardened rows show the other columns of somebody of their block."""
    blocks = found.private["blocks"]["block"]
    table = found.tables["release"]
    for block in set(blocks):
        places = [place for place, own in enumerate(blocks) if own == block]
        told = sorted(str([key(table[name][place]) for name in asked.other]) for place in places)
        own = sorted(str([key(asked.shown[name][rows[place]]) for name in asked.other]) for place in places)
        if told != own:
            problems.append("other columns are not those of the block")
            return


def judge_csv(folder: Path, found: Folder, problems: list[str]) -> None:
    """Compare CSV files with what the Parquet files say."""
    for stem, table in found.tables.items():
        written = written_table(found.manifest, table) if stem == "release" else table
        if (folder / f"{stem}.csv").read_bytes() != csv_bytes(written):
            problems.append(f"{stem}.csv does not say what {stem}.parquet says, or not in the one way to write it")


def written_table(manifest: dict[str, Any], table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the rows for people: labels, and shares instead of counts."""
    bounds = [f"{entry['name']}{end}" for entry in manifest["quasi"] for end in (".lo", ".hi")]
    written = {name: column for name, column in table.items() if name not in bounds}
    for shares in share_columns(manifest, table).values():
        sums = [sum(row) for row in zip(*(table[name] for name in shares), strict=True)]
        written |= {
            name: [part / whole if whole else 0.0 for part, whole in zip(table[name], sums, strict=True)]
            for name in shares
        }
    return written
