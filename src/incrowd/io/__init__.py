"""Files, databases and frames in and out; everywhere else every frame is a polars frame."""

from __future__ import annotations

from incrowd.io.arrow import from_bits, from_record_batches, plain_bits, to_record_batches
from incrowd.io.atomic import atomic_file, atomic_folder, atomic_folders, is_written, written_paths
from incrowd.io.batches import BATCH_ROWS, Batches, count_quickly, count_rows, files_in_parts, open_batches, read_slice
from incrowd.io.canonical import value_text, write_canonical_csv, write_canonical_parquet
from incrowd.io.connecting import is_url, public_url
from incrowd.io.covers import Cover
from incrowd.io.database_tables import has_manifest
from incrowd.io.elsewhere import PART_ROWS, Existing, Fetched, Writing, fetch, part_name, storing, try_table
from incrowd.io.excel_safe import risky_cells, write_excel_safe
from incrowd.io.files import read, read_as, read_with_findings, write
from incrowd.io.formats import FORMATS, Format, find_format, format_of
from incrowd.io.frames import from_polars, is_spark_frame, kind_of, to_polars
from incrowd.io.places import DATASET_COVER, Place, find_place, place_of
from incrowd.io.reading import FILE_SETTINGS, Findings, Note, Reading
from incrowd.io.staging import recover, refuse_existing

__all__ = [
    "BATCH_ROWS",
    "DATASET_COVER",
    "FILE_SETTINGS",
    "FORMATS",
    "PART_ROWS",
    "Batches",
    "Cover",
    "Existing",
    "Fetched",
    "Findings",
    "Format",
    "Note",
    "Place",
    "Reading",
    "Writing",
    "atomic_file",
    "atomic_folder",
    "atomic_folders",
    "count_quickly",
    "count_rows",
    "fetch",
    "files_in_parts",
    "find_format",
    "find_place",
    "format_of",
    "from_bits",
    "from_polars",
    "from_record_batches",
    "has_manifest",
    "is_spark_frame",
    "is_url",
    "is_written",
    "kind_of",
    "open_batches",
    "part_name",
    "place_of",
    "plain_bits",
    "public_url",
    "read",
    "read_as",
    "read_slice",
    "read_with_findings",
    "recover",
    "refuse_existing",
    "risky_cells",
    "storing",
    "to_polars",
    "to_record_batches",
    "try_table",
    "value_text",
    "write",
    "write_canonical_csv",
    "write_canonical_parquet",
    "write_excel_safe",
    "written_paths",
]
