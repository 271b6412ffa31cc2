"""The exception tree: every error states a fact and, after a blank line, a hint at the next step.

Messages carry column names, counts and parameters, never a cell of somebody's table. They have one style: the fact
begins with a capital letter and has no full stop; the hint says what to do, in lower case after ``Hint:``; names of
files, columns and values are in single quotes. `counted` gets singular and plural right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "person", "people")
    ('1 row', '2 rows', '0 people')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


class IncrowdError(Exception):
    """Root of all errors that incrowd raises on purpose.

    Parameters
    ----------
    fact
        What is wrong, with names and the value that was got.
    hint
        What to do next.
    """

    def __init__(self, fact: str, hint: str | None = None) -> None:
        self.fact = fact
        self.hint = hint
        super().__init__(f"{fact}\n\nHint: {hint}" if hint else fact)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.fact, self.hint), self.__dict__)


class InputError(IncrowdError):
    """A file, database or frame that cannot be read or written as asked."""


class SchemaError(IncrowdError):
    """Schema and frame do not fit together."""


class HierarchyError(IncrowdError):
    """A hierarchy that is not one, or does not cover its column."""


class ParameterError(IncrowdError, ValueError):
    """A parameter outside its range."""


class IncompatibleError(IncrowdError):
    """A method was asked for something that it cannot honour."""


class InfeasibleError(IncrowdError, ValueError):
    """No release of this table can keep the promise asked for.

    Attributes
    ----------
    best
        The closest setting that can be reached, by parameter name.
    """

    def __init__(self, fact: str, hint: str | None = None, *, best: Mapping[str, float] | None = None) -> None:
        super().__init__(fact, hint)
        self.best: dict[str, float] = dict(best or {})


class VerificationError(IncrowdError):
    """A release does not keep its promise.

    Attributes
    ----------
    violations
        What the verifier found, one sentence each.
    """

    def __init__(self, fact: str, hint: str | None = None, *, violations: Sequence[str] = ()) -> None:
        super().__init__(fact, hint)
        self.violations: list[str] = list(violations)


class Cancelled(IncrowdError):  # noqa: N818 - it is no error
    """Somebody asked to stop the work; nothing was written."""


class PrivacyWarning(UserWarning):
    """A release keeps its promise, and somebody may still learn more than its owner expects."""


class QualityWarning(UserWarning):
    """What was made keeps its promise, and is of little use."""


class MissingDependencyError(IncrowdError):
    """An optional library is needed for this and is not installed."""

    def __init__(self, fact: str, hint: str | None = None, *, extra: str | None = None) -> None:
        super().__init__(fact, hint or (f"pip install 'incrowd[{extra}]'" if extra else None))
