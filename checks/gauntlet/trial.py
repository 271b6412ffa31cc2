"""One trial of a case: publish, save, and let the oracle judge the files."""

from __future__ import annotations

import shutil
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from checks.gauntlet.cases import METHODS, Case
from checks.gauntlet.oracle import Asked, judge
from incrowd.errors import IncompatibleError, IncrowdError, VerificationError

FOREIGN = (Exception, pl.exceptions.PanicException)
"""Whatever may be raised and is not ours; a library that panics goes past `Exception`."""
_USED = 5  # of so many releases one is loaded and used
_SECRETS = 5  # characters from which a cell in a message is no coincidence
_FEW_ROWS = 20  # fewer may repeat a column that is not published by chance


@dataclass(frozen=True)
class Outcome:
    """How a trial ended.

    Attributes
    ----------
    how
        ``published``, ``refused`` (an error of incrowd's own), or ``escaped``.
    why
        The kind of error, or what the oracle found.
    """

    how: str
    why: str = ""


def asked_of(case: Case) -> Asked:
    """Return what was asked for, as plain data."""
    schema = case.schema
    return Asked(
        columns=case.frame.to_dict(as_series=False),
        dtypes={name: str(kind).replace("Categorical", "String") for name, kind in case.frame.schema.items()},
        hierarchies=case.hierarchies,
        secrets=schema.secrets,
        limits={name: dict(schema.attributes[name].limits) for name in schema.secrets},
        ranges={name: schema.attributes[name].ranges for name in schema.secrets if schema.attributes[name].ranges},
        other=schema.other,
        target=schema.target,
        policy=schema.missing,
        tokens=tuple(schema.missing_tokens),
        codes=schema.missing_codes,
        method=case.publisher.name,
        parameters=case.parameters,
        domains=case.domains,
    )


_OF_THE_TABLE = ("SchemaError", "HierarchyError")  # whatever is asked of the method, the table is no good


def try_case(case: Case, folder: Path) -> Outcome:
    """Publish a case, save it, judge what was saved, and remove it again."""
    before = case.frame.clone()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.publish().save(folder)
    except IncrowdError as error:
        return _judge_refusal(case, error, folder)
    except FOREIGN as error:
        return Outcome("escaped", what_and_where(error))
    if case.must is not None:
        remove(folder)
        return Outcome("escaped", f"was published, and asks for what the method cannot keep: {case.must}")
    if not before.equals(case.frame, null_equal=True):
        return Outcome("escaped", "the input was modified")
    try:
        problems = judge(folder, asked_of(case))
        if not problems and (case.number + case.number // len(METHODS)) % _USED == 0:  # each method in its turn
            problems = _use(case, folder)
    finally:
        remove(folder)
    return Outcome("escaped", "; ".join(problems[:3])) if problems else Outcome("published")


def _use(case: Case, folder: Path) -> list[str]:
    """Load a release, ask for a verdict, and train on it, as people do."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = ic.verify(folder, case.frame)
            release = ic.Release.load(folder)
            release.verify(case.frame).raise_for_violations()
            release.written_tables()
            if isinstance(release, ic.RowRelease):
                release.sample(seed=1)
                release.soft()
                release.loss("lm")
                for own in release.each_secret():
                    own.labelled()
                    own.sensitive_counts()
    except IncrowdError as error:
        return [] if isinstance(error, IncompatibleError) else [f"a loaded release fails: {what_and_where(error)}"]
    except FOREIGN as error:  # whatever is not ours is an escape
        return [f"a loaded release fails: {what_and_where(error)}"]
    unknown = {check.name for check in verdict.checks if check.ok is None and check.needed}
    if not verdict.ok or unknown - _told_by_nobody(case):
        return [f"the saved release is not accepted: {'; '.join([*verdict.violations, *verdict.unknown])[:200]}"]
    return []


def _told_by_nobody(case: Case) -> set[str]:
    """Return what cannot be checked: a column that lists its values may have cells that end at one that nobody has."""
    return {"declared values"} if "declared" in case.hierarchies.values() else set()


def _judge_refusal(case: Case, error: IncrowdError, folder: Path) -> Outcome:
    left = [path.name for path in folder.parent.iterdir() if folder.name in path.name]
    if left:
        return Outcome("escaped", f"{type(error).__name__} left {', '.join(left)} behind")
    if case.must is not None and type(error).__name__ not in (case.must, *_OF_THE_TABLE):
        return Outcome("escaped", f"{type(error).__name__} in place of {case.must}: {str(error)[:200]}")
    if isinstance(error, VerificationError) and not case.copied and not _by_chance(case, error):
        return Outcome("escaped", f"VerificationError: {' | '.join(error.violations)[:300]}")
    if told := _told_cells(case, str(error)):
        return Outcome("escaped", f"{type(error).__name__} tells {told} cells of the table")
    return Outcome("refused", type(error).__name__)


def _by_chance(case: Case, error: VerificationError) -> bool:
    """Whether all that was found is an *other* column that happens to tell what it must not, as in small tables."""
    found = ("other columns:", "identifiers:") if case.frame.height < _FEW_ROWS else ("other columns:",)
    return all(violation.startswith(found) for violation in error.violations)


def _told_cells(case: Case, message: str) -> int:
    """Count the longer texts of the table that a message repeats."""
    names = " ".join(case.frame.columns)
    texts: set[Any] = {
        cell
        for column in case.frame.get_columns()
        if str(column.dtype) in ("String", "Categorical")
        for cell in column.to_list()
        if cell is not None and len(cell.strip()) >= _SECRETS and cell not in names
    }
    codes = [code for listed in case.schema.missing_codes.values() for code in listed]
    known = {
        "(missing)",
        "a (rest)",
        "* (rest)",
        *case.schema.missing_tokens,
        *codes,
    }
    return sum(1 for cell in texts - known if cell in message)


def what_and_where(error: BaseException) -> str:
    """Say which foreign error came from where."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "incrowd" in frame.filename]
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
    return f"{type(error).__name__}: {str(error)[:150]!r} at {where}"


def remove(folder: Path) -> None:
    """Remove both folders of a release."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.with_name(folder.name + ".private"), ignore_errors=True)
