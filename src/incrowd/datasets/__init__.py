"""Real tables to try things on: the papers' own, read from a folder or from packages that carry them."""

from incrowd.datasets.adult import adult, adult_schema
from incrowd.datasets.catalogue import DATASETS, Dataset, dataset
from incrowd.datasets.schemas import schema
from incrowd.datasets.sources import load

__all__ = ["DATASETS", "Dataset", "adult", "adult_schema", "dataset", "load", "schema"]
