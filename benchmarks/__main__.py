"""Run a benchmark by its name."""

import sys
from importlib import import_module
from pathlib import Path

known = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_") and p.stem != "measure")
if len(sys.argv) < 2 or sys.argv[1] not in known:
    sys.exit(f"usage: ./dev bench NAME    known: {', '.join(known)}")
import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
