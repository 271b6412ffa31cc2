"""From a table to a schema to review, and from there to a release folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import IncrowdError, ParameterError, PrivacyWarning, counted
from incrowd.runs import Run
from incrowd.workflow.estimates import estimate, refuse_impossible, refuse_unreadable
from incrowd.workflow.missing_codes import notes_on_codes
from incrowd.workflow.sources import Source, read_schema, read_source, settings, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.attacks.ledger import Ledger
    from incrowd.publish import Population, Publisher
    from incrowd.release import Release, RowRelease
    from incrowd.release.overview import Overview
    from incrowd.schema import Schema

_BEFORE_WRITING = ("linking", "matching", "reconstruction")
_APPENDED = (
    "the table now holds rows of several releases, which cannot be told apart: verify cannot check their promises, and "
    "people who are in more than one of them are less protected than each release promises."
)
SERIES = "m_invariance"
_LONG = 10.0  # seconds; shorter work needs no announcement
_WITH_EARLIER = ("intersection", "differencing")


@dataclass(frozen=True)
class Publication:
    """A release that was written.

    Attributes
    ----------
    release
        What was published; a `DatasetRelease`, which has no rows, if another engine than the local one was asked for.
    folder, private
        Where it is, and where the owner's part is; of a table in a database its address, without a password.
    overview
        What to show people about it.
    copies
        More files that were asked for.
    notes, warnings
        What somebody who uses it should know, and what its promises do not protect from.
    """

    release: Release = field(repr=False)
    folder: Path | str
    private: Path
    overview: Overview
    copies: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def shared(self) -> tuple[str, ...]:
        """What to share: of a file also the manifest that lies beside it."""
        place = io.find_place(self.folder)
        beside = (str(place.cover),) if place is not None and place.kind == "file" else ()
        return (str(self.folder), *beside)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        manifest = self.release.manifest
        return {
            "release": str(self.folder),
            "private": str(self.private),
            "copies": [str(path) for path in self.copies],
            "method": manifest.method.name,
            "guarantees": [guarantee.to_dict() for guarantee in manifest.guarantees],
            "rows": manifest.rows.to_dict(of_series=manifest.rows.filler > 0),
            "levels": self.release.levels,
            "kind": manifest.payload,
            **dict.fromkeys(("loss", "parts", "left_out")),
            **self.overview.details,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


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
    from incrowd.privacy.constraints import own_of

    roles, given = read_schema(schema), dict(parameters or {})
    if roles.target is None or roles.target not in roles.secrets:
        return ()
    given = {name: given[name] for name in ("l", "l_kind", "c", "alpha") if given.get(name) is not None}
    asked = {name: own_of(value, roles.target, None) for name, value in given.items()}
    asked = {name: value for name, value in asked.items() if value is not None}
    asked |= dict(roles.attributes[roles.target].limits)
    kept = {name: value for name, value in asked.items() if name in ("l", "l_kind", "c", "alpha")}
    limits = [g.belief for g in Privacy.of(1, **kept).guarantees() if g.belief is not None]
    if not limits or min(limits) == 1:
        return ()
    text = (
        f"{roles.target!r} is both the class and sensitive: predictions from groups with these limits are "
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
    after: str | Path | None = None,
    insist: bool = False,
    excel_safe: bool = False,
    private: str | Path | None = None,
    append: bool = False,
    replace: bool = False,
    dataset: bool = False,
    force: bool = False,
    engine: str = "local",
    memory: str | None = None,
    master: str | None = None,
    query: str | None = None,
    population: Source = None,
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> Publication:
    """Publish a table as a verified release, all of it or nothing.

    Parameters
    ----------
    schema
        The schema, or its file.
    output
        The folder to write, which must not exist; or a file whose suffix tells its format, or a database URL with
        ``#table``. See docs/release-format.md.
    method, parameters
        Name and parameters of the method; see `incrowd.methods`.
    seed, domains
        See `incrowd.publish.Publisher.publish`.
    attacked
        Attack the release first, and write nothing if an attack succeeds.
    ledger
        File that records releases; with `refuse_repeat` a second one about the same people is refused.
    after
        The last release of a series, its public or private folder: this one goes on with it, see `incrowd.republish`.
    insist
        Publish even if the ledger knows the same people from another series.
    excel_safe
        Also write copies of the tables beside the folder, in which no cell is a formula.
    private
        The folder for the owner's part; by default beside the release, for a database in the working folder.
    append, replace
        Append to the table of a database, or replace it, if it is there and is a release; a release folder that is
        there is replaced once the new one is verified.
    dataset
        Write the folder as a Parquet dataset.
    force
        Try it even if the memory will not do.
    engine, memory, master
        ``"streamed"`` publishes by way of the disk what does not fit, and takes no more than so much memory;
        ``"spark"`` publishes on a cluster, by its master. The output is a Parquet dataset. See docs/scale.md.
    population, k_map, presence
        A table of everybody who could be in it, and what has to hold among them; see `incrowd.Population`.
    query, reading
        What to ask a database for, and how else the source is to be read; the schema may say that, too.
    """
    from incrowd.attacks.ledger import Ledger
    from incrowd.publish import default_method, make
    from incrowd.release.elsewhere import refuse_early, save_to

    local = engine == "local" and not io.is_spark_frame(source)
    _refuse_population(population, (k_map, presence), alone=local and after is None)
    if not local:
        from incrowd.workflow.scaling import publish_by_batches

        return publish_by_batches(
            source, schema, output,
            engine="spark" if engine == "local" else engine, memory=memory, master=master,
            method=method, parameters=parameters, seed=seed, domains=domains, reading=reading, run=run,
            attacked=attacked, ledger=ledger, refuse_repeat=refuse_repeat, excel_safe=excel_safe, private=private,
            append=append, replace=replace, query=query, after=after, insist=insist,
        )  # fmt: skip
    if memory is not None or master is not None:
        fact = f"Parameter {'memory' if memory is not None else 'master'} is for other engines than 'local'"
        raise ParameterError(fact, "use engine='streamed', which keeps to the memory, or 'spark', or leave it out")
    place, existing = io.place_of(output, dataset=dataset), _existing(append=append, replace=replace)
    kept = place.private if private is None else Path(private)
    refuse_early(place, kept, existing)
    folder = str(place) if place.kind == "database" else place.path
    roles, given = read_schema(schema), dict(parameters or {})
    previous = None if after is None else _last_of_series(after, method)
    publisher = make(method or (SERIES if previous is not None else default_method(roles)), **given)
    if attacked and publisher.kind == "projections":
        fact = "Only releases of generalized rows can be attacked, and this method publishes projections"
        raise ParameterError(fact, "leave out attacked=True; check projections with: incrowd verify --original")
    if refuse_repeat and ledger is None:
        fact = "Parameter refuse_repeat needs a ledger, which records earlier releases"
        raise ParameterError(fact, "name its file: ledger='releases.jsonl'")
    book = None if ledger is None else Ledger(ledger)
    own = "" if previous is None or previous.manifest.series is None else previous.manifest.series.id
    with working(run) as work, collect_warnings() as raised:
        if not force:
            refuse_unreadable(source)
        found: list[str] = []
        findings = io.Findings(found.append)
        frame = read_source(source, roles.reading.with_settings(settings(reading, query)), run=work, findings=findings)
        _foresee(publisher.name, frame.height, len(roles.quasi), work, force=force)
        if book is not None and refuse_repeat:
            book.refuse(frame, [*roles.quasi, *roles.secrets], own)  # before a search that takes long
        within = None if population is None else _population(population, roles, reading, k_map, presence, work)
        make_release = (
            partial(publisher.publish, within=within)
            if previous is None
            else _next_of_series(publisher, previous, given)
        )
        release = make_release(frame, roles, seed=seed, progress=work, domains=domains)
        overview = release.overview()
        notes = [*(f"{text}." for text in found), *notes_on_codes(frame, roles, findings), *overview.notes]
        if attacked:
            notes.append(_attack_first(release, frame, _about_the_same(book, release, frame), work))
        copies = _copies_of(release, place.path, replacing=replace) if excel_safe else {}
        work("writing", 0, 1)
        with _recording(book, release, frame, folder, refuse=refuse_repeat, insist=insist) as repeated:
            save_to(release, place, private=kept, existing=existing)
        for path, table in copies.items():
            io.write_excel_safe(table, path)
        work.tell("writing", 1, 1)
    warned = (*raised, *overview.warnings, *repeated, *([] if excel_safe else _formulas(release)))
    warned = (*warned, *([_APPENDED] if append else []))
    return Publication(release, folder, kept, overview, tuple(copies), tuple(notes), tuple(dict.fromkeys(warned)))


def _refuse_population(population: Source, asked: tuple[object, object], *, alone: bool) -> None:
    """Refuse bounds without a population, and a population that nothing would look at."""
    if population is None and asked != (None, None):
        fact = "Parameters k_map and presence are about a population, and none was given"
        raise ParameterError(fact, "name its table: population='people.csv'")
    if population is not None and not alone:
        fact = "A population was given, and only single releases of the engine 'local' look at one"
        raise ParameterError(fact, "leave out engine and after, or the population")


def _population(
    source: Source, roles: Schema, reading: io.Reading | None, k_map: int | None,
    presence: tuple[float, float] | None, work: Run,
) -> Population:  # fmt: skip
    from incrowd.publish import Population

    how = with_changes(roles.reading.with_settings(reading), query=None, table=None)
    return Population(people=read_source(source, how, run=work), k_map=k_map, presence=presence)


def _last_of_series(after: str | Path, method: str | None) -> RowRelease:
    """Read the last release of a series, named by its public or its private folder."""
    from incrowd.release import RowRelease

    if method not in (None, SERIES):
        fact = f"The method is {method!r}, and only {SERIES!r} publishes a table again"
        raise ParameterError(fact, "leave out the method, or after (--after)")
    folder = str(after).rstrip("/").removesuffix(".private")
    found: RowRelease = RowRelease.load(folder)
    return found


def _next_of_series(
    publisher: Publisher[Any], previous: RowRelease, given: Mapping[str, Any]
) -> Callable[..., RowRelease]:
    """Return what publishes the next release of a series, which goes on with the parameters that it began with."""
    from incrowd.publish import republish

    began = previous.manifest.method.parameters
    other = [name for name in given if name in began and getattr(publisher, name) != began[name]]
    if other:
        told = ", ".join(f"{name} = {began[name]!r}" for name in other)
        fact = f"The series began with {told}, and now {', '.join(f'{n} = {given[n]!r}' for n in other)} is asked for"
        raise ParameterError(fact, "leave it out, or give what the series began with")
    return partial(republish, previous)


def _existing(*, append: bool, replace: bool) -> io.Existing:
    if append and replace:
        fact = "Parameters append and replace exclude each other"
        raise ParameterError(fact, "give one of them")
    return "append" if append else "replace" if replace else "refuse"


def _foresee(method: str, rows: int, columns: int, run: Run, *, force: bool) -> None:
    """Say how long it will take, if that is long; refuse what surely does not fit into the memory."""
    found = estimate(method, rows, columns)
    if found is None:
        return
    if not force:
        refuse_impossible(found, rows, columns)
    if found.seconds >= _LONG:
        run.announce(f"This takes {found}.")


@contextmanager
def _recording(
    book: Ledger | None, release: Release, frame: pl.DataFrame, folder: Path | str, *, refuse: bool, insist: bool
) -> Iterator[list[str]]:
    """Record the release before it is written, and again after; yield the warning about earlier ones, if any."""
    from incrowd.attacks.ledger import warn

    if book is None:
        yield []
        return
    with book.recording(release.manifest, frame, folder, refuse=refuse, insist=insist) as earlier:
        repeated = warn(earlier)
        yield [] if repeated is None else [repeated]


def _about_the_same(book: Ledger | None, release: Release, frame: pl.DataFrame) -> list[str]:
    """Return where earlier releases about the same people are."""
    earlier = [] if book is None else book.earlier(frame, release.manifest.recognized_by)
    return [entry.folder for entry in earlier]


def _copies_of(release: Release, folder: Path, *, replacing: bool) -> dict[Path, pl.DataFrame]:
    """Return the tables of a release, and where their copies for spreadsheets go: beside the folder, never into it."""
    stems, tables = release.stems(), release.written_tables()
    names = [folder.name] if len(stems) == 1 else [f"{folder.name}.{stem}" for stem in stems]
    paths = [folder.with_name(f"{name}.excel.csv") for name in names]
    for path in () if replacing else paths:
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


def _attack_first(release: Release, frame: pl.DataFrame, folders: Sequence[str], run: Run) -> str:
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
def collect_warnings() -> Iterator[list[str]]:
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
