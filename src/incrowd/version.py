"""The version, on a floor of its own."""

__version__ = "0.2.0"
