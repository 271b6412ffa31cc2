"""Coding: domains are fitted from value counts, then rows are encoded; cleaning and the missing policy live here."""

from incrowd.coding.fingerprint import Fingerprint, fingerprint
from incrowd.coding.table import Table, clean, clean_like, code_classes, encode_column, used_rows

__all__ = [
    "Fingerprint",
    "Table",
    "clean",
    "clean_like",
    "code_classes",
    "encode_column",
    "fingerprint",
    "used_rows",
]
