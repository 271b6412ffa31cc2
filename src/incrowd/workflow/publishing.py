"""From a table to a schema to review, and from there to a release folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import IncrowdError, ParameterError, PrivacyWarning, counted
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_schema, read_source, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.attacks.ledger import Ledger
    from incrowd.release import Release
    from incrowd.release.overview import Overview
    from incrowd.schema import Schema

_BEFORE_WRITING = ("linking", "matching", "reconstruction")
_WITH_EARLIER = ("intersection", "differencing")


@dataclass(frozen=True)
class Proposal:
    """A schema to review, and the reason for each role.

    Attributes
    ----------
    schema
        The proposed schema.
    rows
        Number of rows that it was proposed from.
    """

    schema: Schema
    rows: int

    @property
    def columns(self) -> list[dict[str, str]]:
        """One entry per column: role, hierarchy, and why."""
        return [
            {
                "column": attribute.name,
                "role": attribute.role.value,
                "hierarchy": "" if attribute.role.value != "quasi" else _kind(attribute.hierarchy),
                "why": attribute.why,
            }
            for attribute in self.schema.attributes.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rows": self.rows, "columns": self.columns}


@dataclass(frozen=True)
class Publication:
    """A release that was written.

    Attributes
    ----------
    release
        What was published.
    folder, private
        Where it is, and where the owner's part is.
    overview
        What to show people about it.
    copies
        More files that were asked for.
    notes, warnings
        What somebody who uses it should know, and what its promises do not protect from.
    """

    release: Release = field(repr=False)
    folder: Path
    private: Path
    overview: Overview
    copies: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        manifest = self.release.manifest
        return {
            "release": str(self.folder),
            "private": str(self.private),
            "copies": [str(path) for path in self.copies],
            "method": manifest.method.name,
            "guarantees": [guarantee.to_dict() for guarantee in manifest.guarantees],
            "rows": dict(vars(manifest.rows)),
            "levels": self.release.levels,
            **self.overview.details,
            "columns": [dict(row) for row in self.overview.columns],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


def propose(
    source: Source,
    *,
    sensitive: str | Sequence[str] | None = None,
    missing_tokens: Sequence[str] = (),
    query: str | None = None,
    run: Run | None = None,
) -> Proposal:
    """Propose a schema for a table: roles, types and hierarchies, to be reviewed by a person.

    Parameters
    ----------
    sensitive
        The column to protect; guessed if not given.
    missing_tokens
        Texts that mean missing.
    """
    from incrowd.schema import Schema

    names = [sensitive] if isinstance(sensitive, str) else list(sensitive or [])
    if len(names) > 1:
        fact = f"{len(names)} sensitive columns were given: {', '.join(map(repr, names))}; only one can be protected"
        raise ParameterError(fact, f"give one, such as {names[0]!r}; make the others quasi-identifiers or identifiers")
    tokens = tuple(missing_tokens)
    with working(run) as work:
        frame = read_source(source, io.Reading(query=query, missing_tokens=tokens), run=work)
        schema = Schema.propose(frame, sensitive=names[0] if names else None, missing_tokens=tokens)
    return Proposal(schema, frame.height)


def expect(schema: Schema | str | Path, parameters: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return what to know before publishing: what l or alpha cost where the class is the sensitive column itself.

    Parameters
    ----------
    schema
        The schema, or its file.
    parameters
        Those of the method: l, l_kind and alpha are looked at.
    """
    from incrowd.privacy import Privacy

    roles, given = read_schema(schema), dict(parameters or {})
    if roles.target is None or roles.target != roles.sensitive:
        return ()
    asked = {name: given[name] for name in ("l", "l_kind", "c", "alpha") if given.get(name) is not None}
    limits = [g.belief for g in Privacy.of(1, **asked).guarantees() if g.belief is not None]
    if not limits or min(limits) == 1:
        return ()
    text = (
        f"{roles.target!r} is both the class and the sensitive column: predictions from groups with these limits are "
        f"right for at most {min(limits):.0%} of the people, and names stand in alphabetical order; to keep a class "
        "predictable, protect another column (sensitive) and name the class as target."
    )
    return (text,)


def publish(
    source: Source,
    schema: Schema | str | Path,
    output: str | Path,
    *,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    domains: str = "joined",
    attacked: bool = False,
    ledger: str | Path | None = None,
    refuse_repeat: bool = False,
    excel_safe: bool = False,
    query: str | None = None,
    run: Run | None = None,
) -> Publication:
    """Publish a table as a verified release folder, all of it or nothing.

    Parameters
    ----------
    schema
        The schema, or its file.
    output
        The folder to write, which must not exist; the owner's part is written beside it.
    method, parameters
        Name and parameters of the method; see `incrowd.methods`.
    seed, domains
        See `incrowd.publish.Publisher.publish`.
    attacked
        Attack the release first, and write nothing if an attack succeeds.
    ledger
        File that records releases; with `refuse_repeat` a second one about the same people is refused.
    excel_safe
        Also write copies of the tables beside the folder, in which no cell is a formula.
    """
    from incrowd.attacks.ledger import Ledger
    from incrowd.publish import default_method, make
    from incrowd.release.folder import private_folder

    folder = Path(output)
    private = private_folder(folder)
    for path in (folder, private):
        io.refuse_existing(path)
    roles, given = read_schema(schema), dict(parameters or {})
    publisher = make(method or default_method(roles), **given)
    if attacked and publisher.kind == "projections":
        fact = "Only releases of generalized rows can be attacked, and this method publishes projections"
        raise ParameterError(fact, "leave out attacked=True; check projections with: incrowd verify --original")
    if refuse_repeat and ledger is None:
        fact = "Parameter refuse_repeat needs a ledger, which records earlier releases"
        raise ParameterError(fact, "name its file: ledger='releases.jsonl'")
    book = None if ledger is None else Ledger(ledger)
    with working(run) as work, _privacy_warnings() as raised:
        frame = read_source(source, replace(roles.reading, query=query), run=work)
        if book is not None and refuse_repeat:
            book.refuse(frame, [*roles.quasi, *filter(None, [roles.sensitive])])  # before a search that takes long
        release = publisher.publish(frame, roles, seed=seed, progress=work, domains=domains)
        overview = release.overview()
        notes = list(overview.notes)
        if attacked:
            notes.append(_attack_first(release, frame, _about_the_same(book, release, frame), work))
        copies = _copies_of(release, folder) if excel_safe else {}
        work("writing", 0, 1)
        with _recording(book, release, frame, folder, refuse=refuse_repeat) as repeated:
            release.save(folder)
        for path, table in copies.items():
            io.write_excel_safe(table, path)
        work.tell("writing", 1, 1)
    found = (*raised, *overview.warnings, *repeated, *([] if excel_safe else _formulas(release)))
    return Publication(release, folder, private, overview, tuple(copies), tuple(notes), tuple(dict.fromkeys(found)))


@contextmanager
def _recording(
    book: Ledger | None, release: Release, frame: pl.DataFrame, folder: Path, *, refuse: bool
) -> Iterator[list[str]]:
    """Record the release before it is written, and again after; yield the warning about earlier ones, if any."""
    from incrowd.attacks.ledger import warn

    if book is None:
        yield []
        return
    with book.recording(release.manifest, frame, folder, refuse=refuse) as earlier:
        repeated = warn(earlier)
        yield [] if repeated is None else [repeated]


def _about_the_same(book: Ledger | None, release: Release, frame: pl.DataFrame) -> list[Path]:
    """Return the folders of earlier releases about the same people."""
    earlier = [] if book is None else book.earlier(frame, release.manifest.recognized_by)
    return [Path(entry.folder) for entry in earlier]


def _copies_of(release: Release, folder: Path) -> dict[Path, pl.DataFrame]:
    """Return the tables of a release, and where their copies for spreadsheets go: beside the folder, never into it."""
    stems, tables = release.stems(), release.written_tables()
    names = [folder.name] if len(stems) == 1 else [f"{folder.name}.{stem}" for stem in stems]
    paths = [folder.with_name(f"{name}.excel.csv") for name in names]
    for path in paths:
        io.refuse_existing(path)
    return dict(zip(paths, tables, strict=True))


def _formulas(release: Release) -> list[str]:
    """Warn of texts that a spreadsheet would run; ranges such as -3 to 5 are written by us and harmless."""
    risky = dict.fromkeys(name for table in release.written_tables() for name in io.risky_cells(table))
    risky = {name: None for name in risky if release.types.get(name) not in ("int", "float", "date")}
    if not risky:
        return []
    named = ", ".join(map(repr, risky))
    return [
        f"{named} has text that a spreadsheet would run as a formula; excel_safe=True writes a copy without formulas."
    ]


def _attack_first(release: Release, frame: pl.DataFrame, folders: Sequence[Path], run: Run) -> str:
    """Attack a release that is not written yet; raise if an attack succeeds, else say what it withstood.

    Releases about the same people that are in the ledger are attacked together with it.
    """
    from incrowd.attacks import attack as run_attacks
    from incrowd.attacks import load

    earlier = []
    for folder in folders:
        with suppress(IncrowdError):  # it was moved, or it has projections
            earlier.append(load(folder))
    names = (*_BEFORE_WRITING, *_WITH_EARLIER) if earlier else _BEFORE_WRITING
    report = run_attacks(release, frame, attacks=names, earlier=earlier, progress=run)
    report.raise_for_breaches()
    joined = (
        f", with {len(earlier)} of {counted(len(folders), 'earlier release')} about the same people" if folders else ""
    )
    return f"attacked before it was written{joined}: {report.headline.partition(': ')[2]}; see: incrowd attack."


@contextmanager
def _privacy_warnings() -> Iterator[list[str]]:
    """Collect what a method warns of; other warnings are passed on."""
    raised: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        yield raised
    for each in caught:
        if issubclass(each.category, PrivacyWarning):
            raised.append(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _kind(hierarchy: Any) -> str:  # noqa: ANN401
    return "suppress" if hierarchy is None else str(hierarchy.to_dict()["kind"])
