"""Coding: domains are fitted from value counts, then rows are encoded; cleaning and the missing policy live here."""

from incrowd.coding.cleaning import (
    clean,
    clean_like,
    cleaned,
    in_ranges,
    kept_rows,
    range_starts,
    settle_types,
    used_rows,
)
from incrowd.coding.fingerprint import Fingerprint, fingerprint
from incrowd.coding.fitting import Coding, ValueCounts, code_classes, encode_column
from incrowd.coding.secrets import Secret
from incrowd.coding.stored import DiskArrays, StoredTable, SummedTable
from incrowd.coding.table import Table

__all__ = [
    "Coding",
    "DiskArrays",
    "Fingerprint",
    "Secret",
    "StoredTable",
    "SummedTable",
    "Table",
    "ValueCounts",
    "clean",
    "clean_like",
    "cleaned",
    "code_classes",
    "encode_column",
    "fingerprint",
    "in_ranges",
    "kept_rows",
    "range_starts",
    "settle_types",
    "used_rows",
]
