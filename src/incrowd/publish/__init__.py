"""Publishers: each turns a frame into a verified release. Call the module itself to choose one by name."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Collection
from dataclasses import MISSING, fields
from types import ModuleType
from typing import Any

from incrowd.errors import ParameterError
from incrowd.publish.decomposition.dmpd import DMPD
from incrowd.publish.decomposition.pareto_dmpd import ParetoDMPD
from incrowd.publish.iacc import IACc
from incrowd.publish.iack import IACk
from incrowd.publish.infogain_mondrian import InfoGainMondrian
from incrowd.publish.kactus import KACTUS
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.nhaa import NHAA
from incrowd.publish.nsvdist import NSVDist
from incrowd.publish.pais import PAIS
from incrowd.publish.publisher import CellPublisher, Choice, GroupPublisher, Progress, Publisher
from incrowd.publish.seqa import SeqA
from incrowd.publish.tdr import TDR
from incrowd.publish.tds import TDS
from incrowd.publish.tree import TreeAnonymizer
from incrowd.schema import Schema

PUBLISHERS: dict[str, type[Publisher]] = {
    publisher.name: publisher
    for publisher in (
        Mondrian,
        InfoGainMondrian,
        NSVDist,
        IACk,
        IACc,
        TreeAnonymizer,
        NHAA,
        KACTUS,
        TDS,
        TDR,
        PAIS,
        SeqA,
        DMPD,
        ParetoDMPD,
    )
}

__all__ = [
    "DMPD",
    "KACTUS",
    "NHAA",
    "PAIS",
    "PUBLISHERS",
    "TDR",
    "TDS",
    "CellPublisher",
    "Choice",
    "GroupPublisher",
    "IACc",
    "IACk",
    "InfoGainMondrian",
    "Mondrian",
    "NSVDist",
    "ParetoDMPD",
    "Progress",
    "Publisher",
    "SeqA",
    "TreeAnonymizer",
    "describe",
    "make",
    "methods",
    "publish",
    "usual",
]


def make(method: str, **parameters: Any) -> Publisher:  # noqa: ANN401
    """Return a publisher by its name or its class's, in any case, with a clear complaint about unknown parameters."""
    publisher = _known(method)
    known = [field.name for field in fields(publisher)]
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        fact = f"Method {method!r} has no parameter {', '.join(map(repr, unknown))}"
        raise ParameterError(fact, f"its parameters are {', '.join(known)}")
    if "k" not in parameters and any(field.name == "k" and field.default is MISSING for field in fields(publisher)):
        fact = f"Method {method!r} needs k"
        raise ParameterError(fact, "say how large a crowd shall hide each person: k=10")
    return publisher(**parameters)


def _known(method: str) -> type[Publisher]:
    known = {publisher.__name__.lower(): publisher for publisher in PUBLISHERS.values()} | PUBLISHERS
    asked = str(method).lower()
    if asked not in known:
        close = dict.fromkeys(known[name].name for name in difflib.get_close_matches(asked, known))
        fact = f"There is no method {method!r}"
        guess = f"did you mean {' or '.join(close)}? " if close else ""
        raise ParameterError(fact, f"{guess}known methods: {', '.join(PUBLISHERS)}")
    return known[asked]


def publish(
    frame: Any,  # noqa: ANN401
    schema: Schema,
    *,
    method: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    domains: str = "joined",
    **parameters: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Publish a frame by the method of this name; see `methods` for names and what each promises, `usual` without one.

    Returns a `RowRelease`, or a `ProjectionRelease` if the method publishes projections. With ``domains="exact"`` the
    manifest lists every value of the quasi-identifiers and how often it occurs, rare ones too.
    """
    chosen = make(method or usual(schema, parameters), **parameters)
    return chosen.publish(frame, schema, seed=seed, progress=progress, domains=domains)


def usual(schema: Schema, parameters: Collection[str] = ()) -> str:
    """Return the method to use if none was named: NSVDist, or Mondrian where NSVDist cannot give what is asked for.

    NSVDist keeps k and l and tells distributions of a sensitive column. Where there is no such column, or a parameter
    is given that it does not have (``t``, ``alpha``, ``l_kind``), it is Mondrian.
    """
    strange = set(parameters) - {field.name for field in fields(NSVDist)}
    does_more = strange and strange <= {field.name for field in fields(Mondrian)}
    return Mondrian.name if does_more or not schema.sensitive else NSVDist.name


def methods() -> list[dict[str, str]]:
    """Return what exists: name, paper, promise, whether it needs hierarchies, kind of recoding, cost, parameters."""
    return [
        {
            "name": publisher.name,
            "paper": publisher.paper,
            "promises": publisher.promise,
            "needs hierarchies": "yes" if publisher.needs_hierarchies else "no",
            "recoding": publisher.kind,
            "cost": publisher.cost,
            "parameters": ", ".join(field.name for field in fields(publisher)),
        }
        for publisher in PUBLISHERS.values()
    ]


def describe(method: str) -> str:
    """Return what a method does, when to use it, and its parameters: its own documentation, for people."""
    publisher = _known(method)
    about = inspect.getdoc(sys.modules[publisher.__module__]) or ""
    parameters = inspect.getdoc(publisher) or ""
    shared = inspect.getdoc(GroupPublisher) or "" if issubclass(publisher, GroupPublisher) else ""
    given = ", ".join(f.name if f.default is MISSING else f"{f.name} = {f.default!r}" for f in fields(publisher))
    texts = (about.partition("\n>>>")[0].strip(), parameters, shared, f"With their defaults: {given}")
    return "\n\n".join(text for text in texts if text)


class _Verb(ModuleType):
    """Lets ``incrowd.publish`` be both this package and the function that people call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return publish(*args, **kwargs)


sys.modules[__name__].__class__ = _Verb
