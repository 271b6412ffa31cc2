"""Engines: the same release of tables that do not fit the memory, on one machine or on a cluster."""

from __future__ import annotations

from incrowd.engines.choosing import require_cuts
from incrowd.engines.released import DatasetRelease
from incrowd.engines.streamed import publish_streamed

__all__ = ["DatasetRelease", "publish_streamed", "require_cuts"]
