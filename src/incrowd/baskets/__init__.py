"""Baskets: transactions published so that whoever knows some items of a person finds a crowd (k^m-anonymity)."""

from incrowd.baskets.km import KmBaskets
from incrowd.baskets.release import BasketRelease

__all__ = ["BasketRelease", "KmBaskets"]
