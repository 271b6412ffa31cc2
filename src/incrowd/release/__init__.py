"""Releases: what is handed out, what the owner keeps, and the one road to both."""

from incrowd.release.evidence import Blocks, Evidence, People, Private, Rings
from incrowd.release.projections import ProjectionRelease
from incrowd.release.release import Release
from incrowd.release.rows import RowRelease
from incrowd.release.soft import Soft

__all__ = ["Blocks", "Evidence", "People", "Private", "ProjectionRelease", "Release", "Rings", "RowRelease", "Soft"]
