"""Publishers: each turns a frame into a verified release. `publish` chooses one by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from incrowd.errors import ParameterError
from incrowd.io import is_spark_frame
from incrowd.publish.best_cuts import BestCuts
from incrowd.publish.bottom_up import BottomUp
from incrowd.publish.decomposition.dmpd import DMPD
from incrowd.publish.decomposition.pareto_dmpd import ParetoDMPD
from incrowd.publish.iacc import IACc
from incrowd.publish.iack import IACk
from incrowd.publish.infogain_mondrian import InfoGainMondrian
from incrowd.publish.iyengar import Iyengar
from incrowd.publish.k_optimal import KOptimal
from incrowd.publish.kactus import KACTUS
from incrowd.publish.lattice import Lattice
from incrowd.publish.m_invariance import MInvariance, republish
from incrowd.publish.mdav import Microaggregation
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.nhaa import NHAA
from incrowd.publish.nsvdist import NSVDist
from incrowd.publish.pais import PAIS
from incrowd.publish.population import Population
from incrowd.publish.publisher import CellPublisher, Choice, GroupPublisher, Progress, Publisher
from incrowd.publish.registry import (
    PUBLISHERS,
    default_method,
    describe,
    find_publisher,
    make,
    methods,
    publisher_names,
)
from incrowd.publish.seqa import SeqA
from incrowd.publish.tdr import TDR
from incrowd.publish.tds import TDS
from incrowd.publish.tight_groups import TightGroups
from incrowd.publish.tree import TreeAnonymizer
from incrowd.schema import Schema

__all__ = [
    "DMPD",
    "KACTUS",
    "NHAA",
    "PAIS",
    "PUBLISHERS",
    "TDR",
    "TDS",
    "BestCuts",
    "BottomUp",
    "CellPublisher",
    "Choice",
    "GroupPublisher",
    "IACc",
    "IACk",
    "InfoGainMondrian",
    "Iyengar",
    "KOptimal",
    "Lattice",
    "MInvariance",
    "Microaggregation",
    "Mondrian",
    "NSVDist",
    "ParetoDMPD",
    "Population",
    "Progress",
    "Publisher",
    "SeqA",
    "TightGroups",
    "TreeAnonymizer",
    "default_method",
    "describe",
    "find_publisher",
    "make",
    "methods",
    "publish",
    "publisher_names",
    "republish",
]


_ENGINES = "incrowd.engines"


def publish(
    frame: Any,  # noqa: ANN401
    schema: Schema,
    *,
    method: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    domains: str = "joined",
    engine: str = "local",
    output: str | Path | None = None,
    memory: str | int | None = None,
    master: str | None = None,
    within: Population | None = None,
    **parameters: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Publish a frame by the method of this name; see `methods` for names and what each promises.

    Without a name it is `default_method`.

    Returns a `RowRelease`, or a `ProjectionRelease` if the method publishes projections. With ``domains="exact"`` the
    manifest lists every value of the quasi-identifiers and how often it occurs, rare ones too.

    Other engines than ``"local"`` write the release to `output`, a Parquet dataset, and return a `DatasetRelease`:
    ``"streamed"`` goes by way of the disk and takes no more than `memory` (``"4GB"``); `frame` may then be the name of
    a Parquet or text file, a folder of them, or a lazy frame. ``"spark"``, which a frame of Spark asks for by itself,
    works on a cluster, or with `master` (``"local[2]"``) in a session of its own. See docs/scale.md. Only the
    local engine looks at a population (`within`).
    """
    chosen = make(method or default_method(schema), **parameters)
    if engine == "local" and is_spark_frame(frame):
        engine = "spark"
    if engine != "local":
        if within is not None:
            fact = "A population was given, and only the engine 'local' looks at one"
            raise ParameterError(fact, "leave out engine, output and memory, or the population")
        engines = import_module(_ENGINES)  # a room above: loaded by name
        return engines.publish(
            frame, schema, chosen, output,
            engine=engine, memory=memory, master=master, seed=seed, progress=progress, domains=domains,
        )  # fmt: skip
    unused = [name for name, value in (("output", output), ("memory", memory), ("master", master)) if value is not None]
    if unused:
        fact = f"Parameter {unused[0]} is for other engines than 'local'"
        raise ParameterError(fact, "use engine='streamed', or save what publish returns: release.save(...)")
    more = {} if within is None else {"within": within}
    return chosen.publish(frame, schema, seed=seed, progress=progress, domains=domains, **more)
