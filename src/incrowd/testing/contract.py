"""The contract of a publisher: what every one keeps, ours and those of other packages.

`check_publisher` publishes generated tables and looks at what comes out, in memory and on disk. It raises
`AssertionError` at the first thing that a publisher does not keep, and returns the names of the checks that it made.
With pytest, `publisher_checks` makes a test of each::

    from incrowd.testing import publisher_checks

    CHECKS = publisher_checks(Coarse, settings=[{"rounds": 3}])

    @pytest.mark.parametrize("name", CHECKS)
    def test_coarse(name):
        CHECKS[name]()

>>> from incrowd.testing import publisher_checks
>>> list(publisher_checks("mondrian"))[:3]
['describes itself', 'parameters are frozen and keyword-only', 'refuses parameters out of range']
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, SchemaError
from incrowd.hierarchy import Intervals
from incrowd.publish import Progress, Publisher, describe, find_publisher
from incrowd.release import Release
from incrowd.schema import Schema
from incrowd.testing.samples import SAMPLES, Sample, duplicates, mixed, one_quasi
from incrowd.verify.folder import check_folder

Settings = Mapping[str, Any]
Check = Callable[[], None]

_CONSTRAINTS: tuple[Settings, ...] = (
    {"l": 1.3},
    {"l": 2, "l_kind": "distinct"},
    {"l": 1.5, "l_kind": "entropy"},
    {"l": 2, "l_kind": "recursive", "c": 2.5},
    {"t": 0.4},
    {"t": 0.4, "ordered": True},
    {"alpha": 0.8},
    {"beta": 0.9},
    {"beta": 2.0, "enhanced": True},
    {"delta": 1.9},
    {"t": 0.4, "tree": True},
    {"width": 2},
    {"L": 2},
    {"L": 2, "l": 1.3},
    {"C": 0.8},
)
_OUT_OF_RANGE: tuple[Settings, ...] = (
    {"k": 0},
    {"k": 2.5},
    {"l": 0.5},
    {"l": 2, "l_kind": "unheard of"},
    {"t": -0.1},
    {"t": float("nan")},
    {"alpha": 0},
    {"beta": 0},
    {"delta": -1},
    {"width": 0},
    {"L": 0},
    {"C": 1.5},
)
_SEED = 11


@dataclass(frozen=True)
class _Subject:
    """A publisher, and what it is given in every check."""

    publisher: type[Publisher[Any]]
    parameters: Settings
    k: int

    @property
    def fields(self) -> list[str]:
        return [field.name for field in fields(self.publisher)]

    def make(self, **settings: Any) -> Publisher[Any]:  # noqa: ANN401
        return self.publisher(**{"k": self.k, **self.parameters, **settings})


def constraints_of(publisher: type[Publisher[Any]] | str) -> list[Settings]:
    """Return a setting for every kind of constraint that a publisher has parameters for, and one without any."""
    found = find_publisher(publisher) if isinstance(publisher, str) else publisher
    names = {field.name for field in fields(found)}
    return [{}, *(setting for setting in _CONSTRAINTS if set(setting) <= names)]


def check_publisher(
    publisher: type[Publisher[Any]] | str,
    *,
    parameters: Settings | None = None,
    settings: Sequence[Settings] = (),
    k: int = 4,
) -> list[str]:
    """Make every check of the contract; return their names.

    Parameters
    ----------
    publisher
        A class, or the name of one.
    parameters
        What the publisher is given in every check, such as parameters without a default or ones that make it quick.
    settings
        Parameters to try beside every constraint that the publisher has (`constraints_of`).
    k
        The k to ask for.

    Raises
    ------
    AssertionError
        With the name of the check and what was found.
    """
    checks = publisher_checks(publisher, parameters=parameters, settings=settings, k=k)
    for check in checks.values():
        check()
    return list(checks)


def publisher_checks(
    publisher: type[Publisher[Any]] | str,
    *,
    parameters: Settings | None = None,
    settings: Sequence[Settings] = (),
    k: int = 4,
) -> dict[str, Check]:
    """Return the checks of the contract by name, to be called one by one; see `check_publisher`."""
    found = find_publisher(publisher) if isinstance(publisher, str) else publisher
    subject = _Subject(found, parameters or {}, k)
    checks = {name: partial(check, subject) for name, check in _CHECKS.items()}
    for name in SAMPLES:
        checks[f"publishes {name}"] = partial(_publishes, subject, name, {})
    whole = [setting for setting in [*constraints_of(found)[1:], *settings] if not _is_refused(subject, setting)]
    for setting in whole:
        told = ", ".join(f"{name}={value!r}" for name, value in setting.items())
        checks[f"keeps {told}"] = partial(_publishes, subject, "a table of mixed types", setting)
    return {name: partial(_named, found, name, check) for name, check in checks.items()}


def _named(publisher: type[Publisher[Any]], name: str, check: Check) -> None:
    """Make a check; say which one it was if it fails."""
    try:
        check()
    except AssertionError as error:
        fact = f"{publisher.__name__}, {name!r}: {error}"
        raise AssertionError(fact) from error


def _require(holds: bool, fact: str) -> None:  # noqa: FBT001
    if not holds:
        raise AssertionError(fact)


def _must_raise(error: type[Exception] | tuple[type[Exception], ...], call: Callable[[], object], what: str) -> Any:  # noqa: ANN401
    try:
        call()
    except error as found:
        return found
    fact = f"{what} was not refused"
    raise AssertionError(fact)


def _is_refused(subject: _Subject, setting: Settings) -> bool:
    """Whether a constraint is one that the publisher does not take: a fraction where it wants whole numbers."""
    try:
        subject.make(**setting)
    except ParameterError:
        return True
    return False


def _describes_itself(subject: _Subject) -> None:
    publisher = subject.publisher
    for fact in ("name", "paper", "promise", "kind", "cost"):
        _require(isinstance(getattr(publisher, fact, None), str), f"the class does not say its {fact}")
    _require(bool(inspect.getdoc(publisher)), "the class has no docstring")
    try:
        is_known = find_publisher(publisher.name) is publisher
    except (ParameterError, IncompatibleError):
        is_known = False
    if is_known:
        text = describe(publisher.name)
        _require(all(name in text for name in subject.fields), "a parameter is missing from its description")


def _is_frozen(subject: _Subject) -> None:
    method = subject.make()
    name = subject.fields[0]
    _must_raise(FrozenInstanceError, lambda: setattr(method, name, 3), "setting a parameter")
    positional: Any = subject.publisher
    _must_raise(TypeError, lambda: positional(subject.k), "a positional parameter")
    required = {field.name for field in fields(method) if field.default is MISSING and field.default_factory is MISSING}
    _require(required <= {"k", *subject.parameters}, f"parameters without a default: {sorted(required)}")


def _refuses_nonsense(subject: _Subject) -> None:
    for setting in _OUT_OF_RANGE:
        if set(setting) <= set(subject.fields):
            _must_raise(ParameterError, partial(subject.make, **setting), f"{dict(setting)}")
    _must_raise(TypeError, lambda: subject.make(no_such_parameter=1), "an unknown parameter")


def _refuses_unfounded(subject: _Subject) -> None:
    """A promise about sensitive values needs some."""
    sample = one_quasi()
    schema = Schema(quasi={"age": Intervals()}, rest="drop")
    for setting in constraints_of(subject.publisher)[1:]:
        if set(setting) != {"L"} and not _is_refused(subject, setting):
            method = subject.make(**setting)
            _must_raise(
                SchemaError, partial(method.publish, sample.frame, schema), f"{setting} without sensitive values"
            )


def _refuses_infeasible(subject: _Subject) -> None:
    sample = one_quasi()
    n = sample.frame.height
    method = subject.make(k=n + 1)
    error = _must_raise(InfeasibleError, lambda: _publish(method, sample), "k above the rows")
    _require(error.best.get("k") == n, f"the closest k is {n}, and the error says {error.best}")


def _fitting(subject: _Subject, sample: Sample) -> Sample:
    """Return a sample without its *other* column, if the method refuses to publish columns as they are."""
    try:
        _publish(subject.make(), sample)
    except IncompatibleError:
        return sample.without_other()
    return sample


def _takes_all_rows(subject: _Subject) -> None:
    """With k = n everybody looks alike."""
    sample = _fitting(subject, one_quasi())
    release = _publish(subject.make(k=sample.frame.height), sample)
    _require_kept(release, sample, sample.frame.height)
    for table in release.written_tables():
        shown = table.select(name for name in sample.schema.quasi if name in table.columns)
        _require(shown.width == 0 or shown.n_unique() == 1, "rows differ, and k is their number")


def _repeats_itself(subject: _Subject) -> None:
    sample = _fitting(subject, mixed())
    method = subject.make()
    first, again = (_publish(method, sample) for _ in range(2))
    _require(first.manifest == again.manifest, "the same seed gave another manifest")
    tables = zip(first.coded_tables(), again.coded_tables(), strict=True)
    _require(all(a.equals(b) for a, b in tables), "the same seed gave other rows")
    _require(_row_maps(first) == _row_maps(again), "the same seed gave another row map")
    alike = _fitting(subject, duplicates())
    free = {tuple(_row_maps(_publish(method, alike, None))) for _ in range(3)}
    _require(len(free) > 1, "without a seed, equal rows are always in the same order")


def _reports_progress(subject: _Subject) -> None:
    sample = _fitting(subject, mixed())
    calls: list[tuple[str, int, int]] = []

    def note(stage: str, done: int, total: int) -> None:
        calls.append((stage, done, total))

    _publish(subject.make(), sample, progress=note)
    stages = {stage for stage, _, _ in calls}
    _require({"coding", "verifying"} <= stages, f"progress was reported of {sorted(stages)} only")
    _require(all(0 <= done <= total for _, done, total in calls), "more was done than there is to do")

    class Stopped(Exception):  # noqa: N818
        pass

    def stop(stage: str, done: int, total: int) -> None:
        del done, total
        if stage == calls[len(calls) // 2][0]:
            raise Stopped

    _must_raise(Stopped, lambda: _publish(subject.make(), sample, progress=stop), "a run whose progress raises")


_CHECKS: dict[str, Callable[[_Subject], None]] = {
    "describes itself": _describes_itself,
    "parameters are frozen and keyword-only": _is_frozen,
    "refuses parameters out of range": _refuses_nonsense,
    "refuses promises about sensitive values that are not there": _refuses_unfounded,
    "refuses k above the number of rows": _refuses_infeasible,
    "k equal to the number of rows": _takes_all_rows,
    "same seed, same release": _repeats_itself,
    "reports progress": _reports_progress,
}


def _publish(
    method: Publisher[Any], sample: Sample, seed: int | None = _SEED, progress: Progress | None = None
) -> Release:
    """Publish a table; it must stay as it was."""
    before = sample.frame.clone()
    release: Release = method.publish(sample.frame, sample.schema, seed=seed, progress=progress)
    _require(sample.frame.equals(before), "the input was modified")
    return release


def _publishes(subject: _Subject, name: str, setting: Settings) -> None:
    """Publish a table, and check everything about the release."""
    sample = SAMPLES[name]()
    sample = sample.with_ordered_values() if setting.get("ordered") or "width" in setting else sample
    sample = sample.with_tree() if setting.get("tree") else sample
    method = subject.make(**setting)
    try:
        release = _publish(method, sample)
    except IncompatibleError:  # a method may refuse to publish columns as they are
        sample = sample.without_other()
        release = _publish(method, sample)
    _require_kept(release, sample, subject.k)
    if not setting:  # constraints are kept by rows, and make no difference to files
        _require_written(release, sample)
    for wanted in ("l", "t", "alpha", "beta", "delta", "width", "L"):
        if wanted in setting:
            _require(_is_promised(release, wanted, setting[wanted]), f"{wanted} is not among the guarantees")


def _is_promised(release: Release, name: str, value: float) -> bool:
    """Whether a parameter is a guarantee of the release; l may also be one about shares."""
    guarantees = release.manifest.guarantees
    if any(getattr(guarantee, name) == value for guarantee in guarantees):
        return True
    return name == "l" and any((guarantee.belief or 1) <= 1 / value + 1e-9 for guarantee in guarantees)


def _require_kept(release: Release, sample: Sample, k: int) -> None:
    """Require that a release keeps what it promises."""
    rows = release.manifest.rows
    _require(rows.input == sample.frame.height, "the manifest counts other rows than came in")
    _require(rows.input == rows.missing + rows.suppressed + rows.released - rows.filler, "rows do not add up")
    _require(rows.released == release.n_rows, "the manifest counts other rows than are released")
    _require(rows.missing == 0 or sample.schema.missing == "drop", "rows were dropped for missing values")
    crowd = max((g.crowd or 0 for g in release.manifest.guarantees), default=0)
    _require(crowd >= k, f"k is {k}, and {crowd} is promised")
    for each in _row_maps(release):
        _require(len(set(each) - {-1}) == rows.released - rows.filler, "an original was released twice")
    shown = {name for table in release.coded_tables() for name in table.columns}
    _require(not shown & set(sample.schema.identifiers), "an identifier was published")
    _require_verified(release, sample.frame)


def _require_written(release: Release, sample: Sample) -> None:
    """Require that files hold what is in memory, and can be verified by themselves."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "release"
        release.save(folder)
        verdict = check_folder(folder, sample.frame, private=folder.with_name("release.private"))
        _require(verdict.ok and not verdict.unchecked, f"as written: {[*verdict.violations, *verdict.unchecked]}")
        loaded = Release.load(folder)
        _require(loaded.manifest == release.manifest, "another manifest was read than written")
        tables = zip(loaded.coded_tables(), release.coded_tables(), strict=True)
        _require(all(a.equals(b) for a, b in tables), "other rows were read than written")
        _require_verified(loaded, sample.frame)


def _require_verified(release: Release, frame: pl.DataFrame) -> None:
    verdict = release.verify(frame)
    _require(verdict.ok, f"violations: {verdict.violations}")
    _require(not verdict.unchecked, f"could not be checked with the original: {verdict.unchecked}")


def _row_maps(release: Release) -> list[tuple[int, ...]]:
    assert release.private is not None
    return [tuple(rows.tolist()) for rows in release.private.row_maps]
