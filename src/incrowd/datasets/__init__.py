"""Real tables to try things on, read from packages that carry them."""

from incrowd.datasets.adult import adult, adult_schema

__all__ = ["adult", "adult_schema"]
