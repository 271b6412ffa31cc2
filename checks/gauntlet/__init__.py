"""The gauntlet: random tables are published, saved, checked on disk by a plain oracle, forged, killed, and starved of disk.

Nothing here but `cases` and `crashes`, which publish, and `plants`, which asks for verdicts, imports incrowd: the oracle
is written from docs/release-format.md and the original table alone. Run it as ``python -m checks.gauntlet [minutes]``.
"""
