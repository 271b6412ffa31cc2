"""Engines: the same release of tables that do not fit the memory, on one machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.engines.choosing import columns_of, require_cuts
from incrowd.engines.memory import Memory, foreseen
from incrowd.engines.released import DatasetRelease
from incrowd.engines.spark import publish_spark, verify_spark
from incrowd.engines.streamed import publish_streamed
from incrowd.errors import ParameterError
from incrowd.publish.publisher import Publisher
from incrowd.schema import Schema

__all__ = [
    "ENGINES",
    "DatasetRelease",
    "foresee",
    "publish",
    "publish_spark",
    "publish_streamed",
    "require_cuts",
    "verify_spark",
]

ENGINES = ("local", "streamed", "spark")


def foresee(source: Any, schema: Schema, output: Path, memory: str | int | None) -> str | None:  # noqa: ANN401
    """Say what the engine by way of the disk will need; nothing if the rows are not counted quickly."""
    return foreseen(source, output.parent, len(columns_of(schema)), len(schema.other), Memory.of(memory))


def publish(
    source: Any,  # noqa: ANN401
    schema: Schema,
    publisher: Publisher[Any],
    output: str | Path | None,
    *,
    engine: str,
    **settings: Any,  # noqa: ANN401
) -> DatasetRelease:
    """Publish a table by an engine of this name; see `publish_streamed` for the settings."""
    if engine not in ENGINES[1:]:
        fact = f"There is no engine {engine!r}"
        raise ParameterError(fact, f"use one of {', '.join(ENGINES)}")
    if output is None:
        fact = f"The engine {engine!r} writes a release and returns no rows"
        raise ParameterError(fact, "name the folder: output='release'")
    if engine == "spark":
        return publish_spark(source, schema, publisher, output, **settings)
    if settings.pop("master", None) is not None:
        fact = f"Parameter master is for the engine 'spark', and this is {engine!r}"
        raise ParameterError(fact, "use engine='spark', or leave it out")
    return publish_streamed(source, schema, publisher, output, **settings)
