"""The gauntlet: random tables are published and checked on disk by a plain oracle; releases are forged, runs killed.

Only what publishes (`cases`, `trial`, `crashes`) and what asks for verdicts (`forging`) imports incrowd: the oracle is
written from docs/release-format.md and the original table alone. Run it as ``python -m checks.gauntlet [minutes]``.
"""
