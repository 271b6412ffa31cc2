"""Hierarchies and privacy limits in the form that kernels take."""

from incrowd.domains import flatten, limits

__all__ = ["flatten", "limits"]
