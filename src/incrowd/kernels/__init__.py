"""Compiled loops: arrays and scalars in, arrays and scalars out, nothing of the rest of the package."""
