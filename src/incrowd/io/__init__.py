"""Files, databases and frames in and out; everywhere else every frame is a polars frame."""

from __future__ import annotations

from incrowd.io.atomic import atomic_file, atomic_folder, atomic_folders, written_paths
from incrowd.io.canonical import value_text, write_canonical_csv, write_canonical_parquet
from incrowd.io.excel_safe import risky_cells, write_excel_safe
from incrowd.io.files import read, read_as, read_with_findings, write
from incrowd.io.formats import FORMATS, Format, find_format, format_of
from incrowd.io.frames import from_polars, kind_of, to_polars
from incrowd.io.reading import FILE_SETTINGS, Findings, Note, Reading
from incrowd.io.staging import refuse_existing

__all__ = [
    "FILE_SETTINGS",
    "FORMATS",
    "Findings",
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
    "read_with_findings",
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
