"""The version, on a floor of its own."""

__version__ = "0.1.0"
