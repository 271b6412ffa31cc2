"""Publishing with an engine that goes by batches: what the local one can and these cannot is refused first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.runs import Run
from incrowd.workflow.publishing import Publication, collect_warnings
from incrowd.workflow.sources import Source, read_schema, settings, working

if TYPE_CHECKING:
    from incrowd.release import Release
    from incrowd.schema import Schema


def publish_by_batches(
    source: Source,
    schema: Schema | str | Path,
    output: str | Path,
    *,
    engine: str,
    memory: str | int | None = None,
    master: str | None = None,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    domains: str = "joined",
    reading: io.Reading | None = None,
    run: Run | None = None,
    **unable: Any,  # noqa: ANN401
) -> Publication:
    """Publish a table as a verified Parquet dataset, all of it or nothing.

    Parameters
    ----------
    engine
        ``"streamed"``: by way of the disk; ``"spark"``: on a cluster.
    memory, master
        What the run may take, and where Spark runs.
    unable
        Settings of `publish` that need all rows in memory; each must be as if it was not given.
    """
    from incrowd.engines import foresee
    from incrowd.engines import publish as publish_with
    from incrowd.publish import default_method, make

    for name, value in unable.items():
        if value:
            fact = f"The engine {engine!r} cannot do {name}={value!r}"
            raise ParameterError(fact, f"leave out {name}, or use engine='local'")
    place = io.place_of(output, dataset=True)
    io.refuse_existing(place.path)
    io.refuse_existing(place.private)
    roles = read_schema(schema)
    publisher = make(method or default_method(roles), **dict(parameters or {}))
    notes: list[str] = []
    with working(run) as work, collect_warnings() as raised:
        if engine == "streamed" and (needs := foresee(source, roles, place.path, memory)) is not None:
            work.announce(needs)
        release = publish_with(
            source, roles, publisher, place.path,
            engine=engine, memory=memory, master=master, seed=seed, domains=domains, reading=settings(reading, None),
            findings=io.Findings(notes.append), progress=work,
        )  # fmt: skip
    said = (*(f"{text}." for text in dict.fromkeys(notes)), *release.overview.notes)
    warned = (*raised, *release.overview.warnings)
    return replace(
        Publication(cast("Release", release), place.path, place.private, release.overview),
        notes=said,
        warnings=tuple(warned),
    )
