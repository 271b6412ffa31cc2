"""Registry of publishers: name to class. A new one is one file in this room and one entry in `PUBLISHERS`.

Other packages add theirs by an entry point of the group ``incrowd.publishers``, whose name is the publisher's::

    [project.entry-points."incrowd.publishers"]
    coarse = "coarse_package.publisher:Coarse"

Nothing of another package is imported until its publisher is asked for, or all are listed; one that cannot be used is
reported then, and never stands in the way of others. `incrowd.testing.check_publisher` is the contract to pass.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from dataclasses import MISSING, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from incrowd.errors import IncompatibleError, ParameterError
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
from incrowd.publish.m_invariance import MInvariance
from incrowd.publish.mdav import Microaggregation
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.nhaa import NHAA
from incrowd.publish.nsvdist import NSVDist
from incrowd.publish.pais import PAIS
from incrowd.publish.publisher import GroupPublisher, Publisher
from incrowd.publish.seqa import SeqA
from incrowd.publish.tdr import TDR
from incrowd.publish.tds import TDS
from incrowd.publish.tight_groups import TightGroups
from incrowd.publish.tree import TreeAnonymizer
from incrowd.schema import Schema

GROUP = "incrowd.publishers"

PUBLISHERS: dict[str, type[Publisher[Any]]] = {
    publisher.name: publisher
    for publisher in (
        BestCuts,
        Mondrian,
        TightGroups,
        MInvariance,
        Microaggregation,
        InfoGainMondrian,
        NSVDist,
        Lattice,
        IACk,
        IACc,
        TreeAnonymizer,
        NHAA,
        KACTUS,
        TDS,
        TDR,
        BottomUp,
        PAIS,
        SeqA,
        KOptimal,
        Iyengar,
        DMPD,
        ParetoDMPD,
    )
}
"""The publishers of this package."""

_FACTS = ("name", "paper", "promise", "kind", "cost")


def publisher_names() -> list[str]:
    """Return the names of all publishers, ours first; nothing is imported."""
    return [*PUBLISHERS, *sorted(_others())]


def find_publisher(method: str) -> type[Publisher[Any]]:
    """Return a publisher by its name or, for ours, its class's name, in any case."""
    ours = {publisher.__name__.lower(): publisher for publisher in PUBLISHERS.values()} | PUBLISHERS
    asked = str(method).lower()
    if asked in ours:
        return ours[asked]
    others = {name.lower(): found for name, found in _others().items()}
    if asked in others:
        return _loaded(others[asked])
    close = difflib.get_close_matches(asked, [*ours, *others])
    guesses = dict.fromkeys(ours[name].name if name in ours else others[name][0].name for name in close)
    fact = f"There is no method {method!r}"
    guess = f"did you mean {' or '.join(guesses)}? The methods are " if guesses else "use one of "
    raise ParameterError(fact, guess + ", ".join(publisher_names()))


def _others() -> dict[str, list[EntryPoint]]:
    """Return the entry points of other packages by name; a name of ours is ours."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        if entry.name not in PUBLISHERS:
            found.setdefault(entry.name, []).append(entry)
    return found


def _loaded(entries: list[EntryPoint]) -> type[Publisher[Any]]:
    """Return the class behind an entry point, or say why it cannot be used."""
    entry = entries[0]
    if len({each.value for each in entries}) > 1:
        fact = f"Method {entry.name!r} is offered by {' and '.join(sorted(map(_origin, entries)))}"
        raise IncompatibleError(fact, "uninstall one of them")
    try:
        found = entry.load()
    except Exception as error:
        fact = f"Method {entry.name!r} of {_origin(entry)} cannot be loaded: {type(error).__name__}: {error}"
        raise IncompatibleError(fact, f"repair or uninstall that package; its entry point is {entry.value}") from error
    flaw = _flaw(found, entry.name)
    if flaw:
        fact = f"Method {entry.name!r} of {_origin(entry)} is not a publisher: {flaw}"
        raise IncompatibleError(fact, "tell its author; incrowd.testing.check_publisher says what a publisher keeps")
    return found  # type: ignore[no-any-return]


def _flaw(found: object, name: str) -> str | None:
    if not (isinstance(found, type) and issubclass(found, Publisher)):
        return "it is not a subclass of incrowd.publish.Publisher"
    lacking = [fact for fact in _FACTS if not isinstance(getattr(found, fact, None), str)]
    if lacking:
        return f"the class does not say its {', '.join(lacking)}"
    if found.name != name:
        return f"the class has the name {found.name!r}"
    return None if is_dataclass(found) else "it is not a dataclass"


def _origin(entry: EntryPoint) -> str:
    return f"package {entry.dist.name!r}" if entry.dist else "an unknown package"


def make(method: str, **parameters: Any) -> Publisher[Any]:  # noqa: ANN401
    """Return a publisher by its name or its class's, in any case, with a clear complaint about unknown parameters."""
    publisher = find_publisher(method)
    known = [field.name for field in fields(publisher)]
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        fact = f"Method {method!r} has no parameter {', '.join(map(repr, unknown))}"
        hint = f"its parameters are {', '.join(known)}"
        if set(unknown) <= {field.name for field in fields(GroupPublisher)}:
            hint += "; methods that form groups have more, such as best_cuts or mondrian"
        raise ParameterError(fact, hint)
    if "k" not in parameters and any(field.name == "k" and field.default is MISSING for field in fields(publisher)):
        fact = f"Method {method!r} needs k"
        raise ParameterError(fact, "give the size of the smallest crowd, for example k=10")
    return publisher(**parameters)


def default_method(schema: Schema) -> str:
    """Return the method to use if none was named: BestCuts where there is a class to predict, else Mondrian."""
    return Mondrian.name if schema.target is None else BestCuts.name


def methods() -> list[dict[str, str]]:
    """Return what exists: name, paper, promise, whether it needs hierarchies, kind of recoding, cost, parameters.

    A publisher of another package that cannot be used is listed with the reason as its promise.
    """
    return [_facts(name) for name in publisher_names()]


def _facts(name: str) -> dict[str, str]:
    try:
        publisher = find_publisher(name)
    except IncompatibleError as error:
        head = {"name": name, "paper": "", "promises": error.fact}
        return head | dict.fromkeys(("needs hierarchies", "recoding", "cost", "parameters"), "")
    return {
        "name": publisher.name,
        "paper": publisher.paper,
        "promises": publisher.promise,
        "needs hierarchies": "yes" if publisher.needs_hierarchies else "no",
        "recoding": publisher.kind,
        "cost": publisher.cost,
        "parameters": ", ".join(field.name for field in fields(publisher)),
    }


def describe(method: str) -> str:
    """Return what a method does, when to use it, and its parameters: its own documentation, for people."""
    publisher = find_publisher(method)
    about = inspect.getdoc(sys.modules[publisher.__module__]) or ""
    parameters = inspect.getdoc(publisher) or ""
    shared = inspect.getdoc(GroupPublisher) or "" if issubclass(publisher, GroupPublisher) else ""
    given = ", ".join(f.name if f.default is MISSING else f"{f.name} = {f.default!r}" for f in fields(publisher))
    texts = (about.partition("\n>>>")[0].strip(), parameters, shared, f"With their defaults: {given}")
    return "\n\n".join(text for text in texts if text)
