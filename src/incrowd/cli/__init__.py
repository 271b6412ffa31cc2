"""The command line: parse, call, show."""

from incrowd.cli.app import main

__all__ = ["main"]
