"""How useful a release is to classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError
from incrowd.io import Reading
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_schema, read_source, working

if TYPE_CHECKING:
    from incrowd.evaluate import Comparison, Evaluation
    from incrowd.schema import Schema


def evaluate(
    source: Source,
    *,
    schema: Schema | str | Path | None = None,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    test: Source = None,
    original: Source = None,
    cv: int | str | None = None,
    reading: Reading | None = None,
    run: Run | None = None,
    **settings: Any,  # noqa: ANN401
) -> Evaluation:
    """Measure how much accuracy classifiers keep with a release; see `incrowd.evaluate`.

    Parameters
    ----------
    source
        A release folder, with `test` and perhaps `original`; or a table, with `schema` and `parameters`.
    reading
        How the tables are to be read.
    settings
        The other parameters of `incrowd.evaluate`: classifiers, samples, training, test_rows, quick, seed.
    """
    from incrowd.evaluate import evaluate as judge
    from incrowd.publish import default_method, make
    from incrowd.release import Release
    from incrowd.release.folder import is_release

    if "test_rows" in settings:
        settings["test"] = settings.pop("test_rows")
    with working(run) as work:
        work.check()
        if is_release(source):
            if test is None or any(given is not None for given in (schema, method, parameters, cv)):
                fact = f"'{source}' is a release folder: it needs test rows, and no schema, method, parameters or folds"
                raise ParameterError(fact, f"run: incrowd evaluate {source} --test test.csv --original data.csv")
            release = Release.load(source)
            missing = release.manifest.missing
            how = Reading(types=release.types, missing_tokens=missing.tokens, missing_codes=missing.codes)
            how = how.with_settings(reading)
            rows: dict[str, Any] = {"holdout": read_source(test, how, run=work)}
            if original is not None:
                rows["original"] = read_source(original, how, run=work)
            return judge(release, **rows, **settings, progress=work, notice=work.announce)
        if original is not None:
            fact = f"original='{original}' is only for release folders"
            raise ParameterError(fact, "leave it out: a table is published again for each fold")
        roles, given = read_schema(schema, source), dict(parameters or {})
        if "k" not in given:
            fact = "The size of the smallest crowd is missing"
            raise ParameterError(fact, "give it, for example k=10")
        how = roles.reading.with_settings(reading)
        publisher = make(method or default_method(roles), **given)
        holdout = None if test is None else read_source(test, how, run=work)
        frame = read_source(source, how, run=work)
        return judge(publisher, frame, roles, cv=cv, holdout=holdout, **settings, progress=work, notice=work.announce)


def compare(
    source: Source,
    *,
    schema: Schema | str | Path | None = None,
    methods: str = "mondrian,nsvdist",
    parameters: Mapping[str, Any] | None = None,
    test: Source = None,
    reading: Reading | None = None,
    run: Run | None = None,
    **settings: Any,  # noqa: ANN401
) -> Comparison:
    """Compare methods on one table; see `incrowd.compare`.

    Parameters
    ----------
    methods
        Names, comma-separated.
    parameters
        Parameters for all methods that have them.
    reading
        How the tables are to be read.
    settings
        The other parameters of `incrowd.compare`.
    """
    from incrowd.evaluate import compare as judge

    if "test_rows" in settings:
        settings["test"] = settings.pop("test_rows")
    with working(run) as work:
        work.check()
        roles = read_schema(schema, source)
        how = roles.reading.with_settings(reading)
        own = _own_parameters(parameters or {}, methods)
        holdout = None if test is None else read_source(test, how, run=work)
        frame = read_source(source, how, run=work)
        return judge(
            frame, roles, methods=methods, parameters=own, holdout=holdout, jobs=work.workers or 1, progress=work,
            **settings,
        )  # fmt: skip


def _own_parameters(given: Mapping[str, Any], methods: str) -> dict[str, dict[str, Any]]:
    """Give each method those of the parameters that it has."""
    from incrowd.publish import find_publisher

    asked = [part.strip() for part in methods.split(",")] if given else []
    known = {name: {each.name for each in fields(find_publisher(name))} for name in asked}
    unknown = sorted(set(given).difference(*known.values()))
    if unknown:
        fact = f"None of the methods has a parameter {', '.join(map(repr, unknown))}"
        raise ParameterError(fact, "see their parameters with: incrowd methods NAME")
    return {method: {name: given[name] for name in given if name in names} for method, names in known.items()}
