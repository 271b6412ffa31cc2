"""The curves of the IAC paper's experiment, as frames and as figures: what levels tell, what suppression costs.

They help to choose k for `IACk` and the thresholds of `IACc`. They show the original table to its owner and are not
for release.

Reference: Li, Liu, Baig, Wong: Information based data anonymization for classification utility, Data & Knowledge
Engineering 70 (2011), Fig. 2 and 3.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8], "ill": list("yyyynnyn")})
>>> curves = ic.level_curves(people, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill"))
>>> curves.filter("chosen").row(0)[:3]
('age', 2, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from incrowd import io, plots
from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.kernels.jit import interpreted
from incrowd.privacy import Privacy
from incrowd.publish.iac import (
    Generalized,
    Suppression,
    best_level,
    changes,
    generalize,
    level_bounds,
    level_information,
)
from incrowd.schema import Schema

KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
"""The k that suppression curves show, as far as there are rows for it."""

_FEW_CODES = 20_000  # loading compiled loops takes longer


def level_curves(frame: Any, schema: Schema) -> pl.DataFrame:  # noqa: ANN401
    """Return the normalized mutual information of each attribute with the class at each level: Fig. 2 (a).

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table.
    schema
        Roles and hierarchies of its columns.

    Returns
    -------
    polars.DataFrame
        ``attribute``; ``level``, 1 for the root; ``values`` that occur at it; ``information``, the paper's I_N;
        ``chosen``, whether IACk and IACc take this level.
    """
    table = Table.encode(io.to_polars(frame), schema)
    rows = []
    for m, hierarchy in enumerate(table.hierarchies):
        found = level_information(table, m)
        best, leaves = best_level(found), np.flatnonzero(table.marginals[m])
        for level, information in enumerate(found, start=1):
            n_values = len(np.unique(level_bounds(hierarchy, level)[0][leaves]))
            rows.append((schema.quasi[m], level, n_values, information, level == best))
    return pl.DataFrame(rows, ["attribute", "level", "values", "information", "chosen"], orient="row")


def group_size_curve(frame: Any, schema: Schema) -> pl.DataFrame:  # noqa: ANN401
    """Return how many rows are in groups up to each size, when attributes are at their best levels: Fig. 2 (b).

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table.
    schema
        Roles and hierarchies of its columns.

    Returns
    -------
    polars.DataFrame
        ``size``; ``groups`` of exactly this size; ``rows`` in groups of at most this size; their ``share``.
    """
    size, n_groups = np.unique(_generalized(frame, schema).sizes, return_counts=True)
    rows = np.cumsum(size * n_groups)
    return pl.DataFrame({"size": size, "groups": n_groups, "rows": rows, "share": rows / rows[-1]})


def suppression_curves(frame: Any, schema: Schema, ks: Sequence[int] | None = None) -> pl.DataFrame:  # noqa: ANN401
    """Return what `IACk` with each k does to each attribute: Fig. 3.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table.
    schema
        Roles and hierarchies of its columns.
    ks
        The k to look at; by default round numbers.

    Returns
    -------
    polars.DataFrame
        ``k``; ``attribute``; ``divergence``, the paper's D_N, with a value that is gone counted as one row left;
        ``information``, its I_N after suppression; ``change`` of that; ``gone``, values whose rows are all
        suppressed; ``star_rows``, rows suppressed. For each k the largest change is the paper's alpha, the largest
        divergence its beta.
    """
    generalized = _generalized(frame, schema)
    n_rows = generalized.table.n_rows
    wanted = sorted(set(ks)) if ks is not None else [k for k in KS if k <= n_rows]
    for k in wanted:
        Privacy.of(k)
        if k > n_rows:
            fact = f"ks has {k}, and the table has {n_rows} rows"
            raise ParameterError(fact, "no group can be larger than the table")
    with interpreted(generalized.table.codes.size < _FEW_CODES):
        suppression = Suppression.of(generalized, Privacy.of(1))
    steps = changes(generalized, suppression, [suppression.at(k) for k in wanted])
    rows = [
        (k, name, divergence, information, change, gone, step.n_rows)
        for k, step in zip(wanted, steps, strict=True)
        for name, divergence, information, change, gone in zip(
            schema.quasi, step.divergences, step.information, step.changes, step.gone, strict=True
        )
    ]
    names = ["k", "attribute", "divergence", "information", "change", "gone", "star_rows"]
    return pl.DataFrame(rows, names, orient="row")


def plot_levels(frame: Any, schema: Schema, *, theme: plots.Theme = "light") -> plots.Figure:  # noqa: ANN401
    """Draw Fig. 2: what each level tells about the class, and how large groups are at the best levels."""
    drawn = plots.figure(2, theme=theme)
    left, right = drawn.axes
    curves = level_curves(frame, schema)
    labels = ("level (1: the root)", "normalized mutual information")
    plots.lines(left, curves, "level", "information", "attribute", labels=labels, title="(a) information by level")
    left.set_xticks(range(1, int(curves["level"].max()) + 1))  # type: ignore[arg-type]
    best = curves.filter("chosen")
    ring: dict[str, Any] = {"marker": "o", "markersize": 10, "fillstyle": "none", "linestyle": "none"}
    left.plot(best["level"], best["information"], color=left.xaxis.label.get_color(), label="_chosen", **ring)
    sizes, labels = group_size_curve(frame, schema), ("size of group", "share of rows in groups up to this size")
    plots.lines(right, sizes, "size", "share", labels=labels, title="(b) groups at the chosen levels", log_x=True)
    return drawn


def plot_suppression(
    frame: Any,  # noqa: ANN401
    schema: Schema,
    ks: Sequence[int] | None = None,
    *,
    theme: plots.Theme = "light",
) -> plots.Figure:
    """Draw Fig. 3: divergence and information of each attribute after suppression for each k."""
    curves = suppression_curves(frame, schema, ks)
    drawn = plots.figure(2, theme=theme)
    for axes, column, label, title in (
        (drawn.axes[0], "divergence", "normalized Kullback-Leibler divergence", "(a) how values shift"),
        (drawn.axes[1], "information", "normalized mutual information", "(b) what values tell about the class"),
    ):
        plots.lines(axes, curves, "k", column, "attribute", labels=("k", label), title=title, log_x=True)
    return drawn


def _generalized(frame: Any, schema: Schema) -> Generalized:  # noqa: ANN401
    table = Table.encode(io.to_polars(frame), schema)
    with interpreted(table.codes.size < _FEW_CODES):
        return generalize(table, lambda _stage, _done, _total: None)
