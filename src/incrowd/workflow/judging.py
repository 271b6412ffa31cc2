"""Checks of releases and models: the verifier, the attacks, the auditor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_schema, read_source, settings, working

if TYPE_CHECKING:
    from incrowd.attacks import AttackReport
    from incrowd.audit import Audit
    from incrowd.audit.rules import RuleAudit
    from incrowd.release import Release
    from incrowd.risks import SampleRisk
    from incrowd.schema import Schema
    from incrowd.verify import Verdict

_EXAMPLE_MODEL = "run for example: incrowd audit model.joblib data.csv -s data.toml -k 30"
_EXAMPLE_RULES = "run for example: incrowd audit rules.csv -k 30 --public cherries,candles --people 1000"


def verify(
    release: str | Path | Source,
    original: Source = None,
    *,
    private: str | Path | None = None,
    after: str | Path | None = None,
    by_batches: bool = False,
    engine: str | None = None,
    master: str | None = None,
    query: str | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
    **foreign: Any,  # noqa: ANN401
) -> Verdict:
    """Check a release, completely if the original is given; or, with `foreign`, a table from elsewhere.

    Parameters
    ----------
    private
        The owner's private folder, if it does not lie where it is by default.
    after
        The release before in a series.
    by_batches
        Look through a Parquet dataset and its original a part at a time: memory does not grow with the rows.
    engine, master
        ``"streamed"`` is the same as `by_batches`; ``"spark"`` looks through them on a cluster, by its master.
    query, reading
        What to ask a database for, and how else the original (or the table) is to be read.
    foreign
        The parameters of `incrowd.verify.verify_table`: quasi, sensitive, k, l, l_kind, t, alpha; or population, k_map
        and presence, for a release folder.
    """
    from incrowd.verify import verify as check
    from incrowd.verify.streamed import verify_dataset

    spark = engine == "spark" or (engine is None and io.is_spark_frame(original))
    if engine not in (None, "local", "streamed", "spark") or (master is not None and not spark):
        fact = f"There is no engine {engine!r}" if master is None else "Parameter master is for the engine 'spark'"
        raise ParameterError(fact, "use one of local, streamed, spark; only spark has a master")
    if foreign and (spark or by_batches or engine == "streamed"):
        fact = f"Parameter {next(iter(foreign))} was given, which is not looked at where a dataset is read in parts"
        raise ParameterError(fact, "leave it out, or leave out by_batches and engine")
    with working(run) as work:
        if spark:
            from incrowd.engines import verify_spark

            how = settings(reading, query)
            return verify_spark(str(release), original, private=private, reading=how, progress=work, master=master)
        if by_batches or engine == "streamed":
            how = settings(reading, query)
            return verify_dataset(str(release), original, private=private, reading=how, progress=work)
        return check(
            release, original, private=private, after=after, reading=settings(reading, query), progress=work, **foreign
        )


def attack(
    release: Release | str | Path,
    original: Source,
    *,
    attacks: Sequence[str] | None = None,
    earlier: Sequence[Release | str | Path] = (),
    known: float = 0.0,
    non_members: Source = None,
    seed: int = 0,
    query: str | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> AttackReport:
    """Attack a release, and compare what comes out with its promise; see `incrowd.attack`.

    `query` and `reading` tell how the tables are to be read.
    """
    from incrowd.attacks import attack as run_attacks
    from incrowd.attacks import load

    with working(run) as work:
        work.check()
        loaded = load(release)
        # the release says what its columns are
        written = {name: kind for name, kind in loaded.types.items() if kind in ("int", "float", "date")}
        how = replace(settings(reading, query), types=dict.fromkeys(loaded.types, "str"), canonical=written)
        frame = read_source(original, how, run=work)
        outside = None if non_members is None else read_source(non_members, replace(how, query=None), run=work)
        return run_attacks(
            loaded, frame, attacks=attacks, earlier=earlier, known=known, non_members=outside, seed=seed, progress=work
        )


def audit(
    model: str | Path,
    data: Source = None,
    schema: Schema | str | Path | None = None,
    *,
    k: int,
    public: Sequence[str] | None = None,
    people: int | None = None,
    rounding: float = 0.0,
    class_public: bool = False,
    l: float | None = None,
    max_confidence: float | None = None,
    trust: bool = False,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> Audit | RuleAudit:
    """Audit a model in a file, or a table of association rules.

    Parameters
    ----------
    data
        The table that the model was fitted with; the baskets, for rules.
    schema
        Says which columns are public: the quasi-identifiers.
    public, people, rounding
        For rules; see `incrowd.audit_rules`.
    class_public, l, max_confidence, trust
        For models; see `incrowd.audit` and `incrowd.audit.files.load_model`.
    reading
        How the table is to be read.
    """
    from incrowd.audit import audit as find_spans
    from incrowd.audit.files import load_model
    from incrowd.audit.rules import audit_rules

    path = Path(model)
    with working(run) as work:
        if io.find_format(path) is not None:
            if public is None:
                fact = "An audit of rules needs the public items, which somebody may know about a person"
                raise ParameterError(fact, _EXAMPLE_RULES)
            baskets = None if data is None else read_source(data, reading, run=work)
            rules = read_source(path, run=work)
            return audit_rules(rules, public=public, k=k, n=people, data=baskets, rounding=rounding, separator="|")
        if data is None or schema is None:
            fact = "An audit of a model needs the table that it was fitted with, and a schema that says what is public"
            raise ParameterError(fact, _EXAMPLE_MODEL)
        loaded, roles = load_model(path, trust=trust), read_schema(schema)
        frame = read_source(data, roles.reading.with_settings(reading), run=work)
        work("auditing", 0, 1)
        return find_spans(loaded, frame, roles, k, class_public=class_public, l=l, max_confidence=max_confidence)


def risk(
    data: Source,
    schema: Schema | str | Path,
    *,
    population: Source = None,
    sampling_fraction: float | None = None,
    threshold: float = 0.2,
    largest: int = 3,
    specials: str | Path | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> SampleRisk:
    """Measure how easily people of a table could be found again; see `incrowd.risk`.

    Parameters
    ----------
    specials
        A file to write what makes each row unique to, values included: for the owner alone.
    reading
        How the tables are to be read.
    """
    from incrowd.risks import risk as measure

    with working(run) as work:
        roles = read_schema(schema)
        frame = read_source(data, roles.reading.with_settings(reading), run=work)
        how = replace(roles.reading.with_settings(reading), query=None, table=None)
        people = None if population is None else read_source(population, how, run=work)
        found = measure(
            frame, roles, population=people, sampling_fraction=sampling_fraction, threshold=threshold,
            largest=largest, progress=work,
        )  # fmt: skip
        if specials is not None:
            io.write(found.specials, specials)
        return found


def save_repair(found: Audit | RuleAudit, path: str | Path) -> Any:  # noqa: ANN401
    """Write what an audit repaired, a model or a table of rules, and return it."""
    from incrowd.audit.files import save_model

    repaired = found.repair()
    if io.find_format(path) is not None:
        io.write(repaired, path)
    else:
        save_model(repaired, path)
    return repaired
