"""Files, databases and frames in and out; everywhere else every frame is a polars frame."""

from __future__ import annotations

from incrowd.io.atomic import atomic_file, atomic_folder, atomic_folders, written_paths
from incrowd.io.canonical import value_text, write_canonical_csv, write_canonical_parquet
from incrowd.io.excel_safe import risky_cells, write_excel_safe
from incrowd.io.files import read, read_as, write
from incrowd.io.formats import FORMATS, Format, find_format, format_of
from incrowd.io.frames import from_polars, kind_of, to_polars
from incrowd.io.reading import Note, Reading
from incrowd.io.staging import recover, refuse_existing

__all__ = [
    "FORMATS",
    "Format",
    "Note",
    "Reading",
    "atomic_file",
    "atomic_folder",
    "atomic_folders",
    "find_format",
    "format_of",
    "from_polars",
    "kind_of",
    "read",
    "read_as",
    "recover",
    "refuse_existing",
    "risky_cells",
    "to_polars",
    "value_text",
    "write",
    "write_canonical_csv",
    "write_canonical_parquet",
    "write_excel_safe",
    "written_paths",
]
