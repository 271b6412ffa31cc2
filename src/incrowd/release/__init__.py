"""Release: what leaves the house."""

from incrowd.release.projections import PrivateProjections, ProjectionRelease
from incrowd.release.release import Private, Release
from incrowd.release.soft import Soft

__all__ = ["Private", "PrivateProjections", "ProjectionRelease", "Release", "Soft"]
