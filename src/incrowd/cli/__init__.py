"""The command line: parse, call, show."""

import sys


def main() -> None:
    """Run the command line; whatever happens ends in a documented exit code."""
    try:
        from incrowd.cli.exits import run
    except KeyboardInterrupt:  # Ctrl-C while the first modules load
        sys.stderr.write("Stopped. Nothing was written.\n")
        sys.exit(130)
    run()


__all__ = ["main"]
