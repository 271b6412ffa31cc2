"""Small releases with known answers."""

from dataclasses import replace

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.manifest import Guarantee


def people(rng, n, n_quasi=2, n_leaves=4, n_values=3):
    """Random people, their values independent of everything."""
    columns = {f"q{m}": rng.integers(0, n_leaves, n) for m in range(n_quasi)}
    return pl.DataFrame(columns | {"ill": [f"v{v}" for v in rng.integers(0, n_values, n)]})


def schema(frame):
    quasi = {name: ic.Intervals() for name in frame.columns if name != "ill"}
    return ic.Schema(quasi=quasi, sensitive="ill")


def exact(frame, seed=0):
    """Everybody's row as it is, with the private row map."""
    return ic.Mondrian(k=1).publish(frame, schema(frame), seed=seed)


def with_boxes(release, lo, hi, k=1, l=1):
    """The same rows in other boxes, one per released row."""
    guarantees = (Guarantee("k", k=k), Guarantee("l", l=l, l_kind="frequency"))
    return replace(
        release,
        cell_lo=np.asfortranarray(lo, np.int32),
        cell_hi=np.asfortranarray(hi, np.int32),
        cell_of=np.arange(release.n_rows),
        manifest=replace(release.manifest, guarantees=guarantees),
    )


def widened(rng, frame, most=2):
    """Boxes that cover their own person and reach out at random."""
    release = exact(frame)
    ends = np.array([h.n_leaves - 1 for h in release.hierarchies])
    lo = np.maximum(release.lo - rng.integers(0, most + 1, release.lo.shape), 0)
    hi = np.minimum(release.hi + rng.integers(0, most + 1, release.hi.shape), ends)
    return with_boxes(release, lo, hi)


def without(release, n):
    """The release with its last n rows suppressed."""
    kept = release.n_rows - n
    rows = replace(release.manifest.rows, released=kept, suppressed=n)
    return replace(
        release,
        cell_of=release.cell_of[:kept],
        secrets=(replace(release.secrets[0], codes=release.sensitive[:kept]),),
        private=replace(release.private, row_maps=(release.private.rows[:kept],)),
        manifest=replace(release.manifest, rows=rows),
    )
