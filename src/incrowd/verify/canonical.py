"""The one way in which each file is written: what was read is written again, and the bytes are compared.

Whatever else a file could hold (a row map before the footer, words in a dictionary that no row uses, notes in a schema,
spaces, quotes and line ends) would change its bytes.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import polars as pl

from incrowd.verify.verdict import Findings

ROW_GROUP = 262_144
_BITS: dict[int, type[np.unsignedinteger[Any]]] = {8: np.uint64, 4: np.uint32, 2: np.uint16}
_NAN = {8: 0x7FF8000000000000, 4: 0x7FC00000, 2: 0x7E00}


def json_bytes(data: Any) -> bytes:  # noqa: ANN401 - plain data
    """Write plain data as the manifest is written."""
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Write a table as the Parquet files are written."""
    found = io.BytesIO()
    frame.rechunk().write_parquet(
        found, compression="zstd", compression_level=3, statistics=False, row_group_size=ROW_GROUP
    )
    return found.getvalue()


def check_parquet(findings: Findings, files: dict[str, tuple[bytes, pl.DataFrame]], version: object) -> None:
    """Compare Parquet files with what polars writes of their content; another version would write other bytes."""
    problems = [f"{name} holds {what}" for name, (_, frame) in files.items() for what in odd_numbers(frame)]
    if version == pl.__version__:
        spoiled = [name for name, (data, frame) in files.items() if parquet_bytes(frame) != data]
        problems += [f"{name} is not written as polars {version} writes its content" for name in spoiled]
    elif not problems:
        why = f"only the polars that wrote a Parquet file can write the same bytes, and this is {pl.__version__}"
        findings.skip("parquet", why)
        return
    findings.judge("parquet", problems, "written again, every byte is the same")


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether a type carries nothing but its values."""
    simple = dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Null)
    return simple or dtype.is_integer() or dtype.is_float()


def odd_types(frame: pl.DataFrame) -> list[str]:
    """Name the columns of other types: lists, for example, which cannot be compared or written as text."""
    return [name for name, dtype in frame.schema.items() if not is_plain(dtype)]


def odd_numbers(frame: pl.DataFrame) -> list[str]:
    """Name the columns with floats that look like another number: -0.0, or one of the many that are not a number."""
    found = []
    for column in frame.get_columns():
        if not column.dtype.is_float():
            continue
        values = column.drop_nulls().to_numpy()
        size = values.itemsize
        bits = values.view(_BITS[size])
        if (bits == 1 << (8 * size - 1)).any():
            found.append(f"a negative zero in column {column.name!r}")
        if (bits[np.isnan(values)] != _NAN[size]).any():
            found.append(f"an unusual form of 'not a number' in column {column.name!r}")
    return found
