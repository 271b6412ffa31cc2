"""The legal generalizations of a column: taxonomies, intervals, and what builds them from data."""

from incrowd.hierarchy.builders import Builder, balanced, bins, by_class, common, dates, frequency, mdl, prefixes, words
from incrowd.hierarchy.hierarchy import Hierarchy, Spec
from incrowd.hierarchy.intervals import Intervals
from incrowd.hierarchy.specs import from_dict
from incrowd.hierarchy.taxonomy import Taxonomy

__all__ = [
    "Builder",
    "Hierarchy",
    "Intervals",
    "Spec",
    "Taxonomy",
    "balanced",
    "bins",
    "by_class",
    "common",
    "dates",
    "frequency",
    "from_dict",
    "mdl",
    "prefixes",
    "words",
]
