"""What privacy costs: a score and the detail lost, for several methods and sizes of crowds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, VerificationError
from incrowd.runs import Run
from incrowd.workflow.evaluating import compare
from incrowd.workflow.sources import Source, read_schema, read_source, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.schema import Schema

_SMALL, _FOLDS_OF_SMALL, _FOLDS = 2000, 5, 2  # rows up to which folds are cheap, and scores vary much
_REFUSALS = (InfeasibleError, IncompatibleError, ParameterError, VerificationError)


@dataclass(frozen=True)
class Point:
    """One method and one k.

    Attributes
    ----------
    accuracy
        Of a classifier that was trained on the release; ``None`` where there is no class.
    loss
        Share of the detail lost (LM).
    problem
        Why nothing could be published, if so.
    """

    method: str
    k: int
    accuracy: float | None = None
    loss: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class TradeOff:
    """What privacy costs.

    Attributes
    ----------
    points
        One per method and k.
    original, majority
        Accuracy with the original table, and of always naming the most frequent class; ``None`` without a class.
    plan
        How accuracy was measured; empty without a class.
    classifier
        The classifier that was trained.
    cv
        Number of folds; 0 without a class.
    """

    points: tuple[Point, ...]
    original: float | None = None
    majority: float | None = None
    plan: str = ""
    classifier: str = ""
    cv: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "points": [dict(vars(point)) for point in self.points]}


def trade_off(
    source: Source,
    schema: Schema,
    *,
    methods: Iterable[str] = ("best_cuts", "mondrian"),
    k: Iterable[int] = (5, 10, 25, 50),
    parameters: Mapping[str, Any] | None = None,
    classifier: str = "tree",
    run: Run | None = None,
) -> TradeOff:
    """Measure what each method and k cost: quickly, to choose among them; `compare` measures with more care.

    Parameters
    ----------
    parameters
        Parameters for all methods that have them, such as l.
    classifier
        What is trained on the releases, where the schema has a class.
    """
    names, ks = list(dict.fromkeys(methods)), sorted(set(k))
    if not names or not ks:
        fact = f"There is no {'k' if names else 'method'} to try"
        raise ParameterError(fact, "name one or more")
    with working(run) as work:
        roles = read_schema(schema)
        frame = read_source(source, roles.reading, run=work)
        if roles.target is None:
            return _losses(frame, roles, names, ks, parameters or {}, work)
        given = dict(parameters or {})
        extra = {"l": given.pop("l")} if "l" in given else {}
        cv = _FOLDS_OF_SMALL if frame.height <= _SMALL else _FOLDS
        found = compare(
            frame, schema=roles, methods=",".join(names), parameters=given, k=ks, classifiers=classifier, cv=cv,
            samples=1, run=work, **extra,
        )  # fmt: skip
    points = [_point(row) for row in found.rows]
    done = next((row for row in found.rows if row["status"] == "ok"), {})
    return TradeOff(
        tuple(points),
        original=done.get("original"),
        majority=done.get("majority"),
        plan=found.about["plan"],
        classifier=classifier,
        cv=cv,
    )


def _point(row: Mapping[str, Any]) -> Point:
    if row["status"] != "ok":
        return Point(row["method"], row["k"], problem=row["status"])
    return Point(row["method"], row["k"], accuracy=row["accuracy"], loss=row["lm"])


def _losses(
    frame: pl.DataFrame, schema: Schema, names: list[str], ks: list[int], parameters: Mapping[str, Any], run: Run
) -> TradeOff:
    from incrowd.publish import make

    points = []
    for number, (name, k) in enumerate((name, k) for name in names for k in ks):
        run("tasks", number, len(names) * len(ks))
        try:
            release = make(name, k=k, **parameters).publish(frame, schema, progress=run)
        except _REFUSALS as error:
            points.append(Point(name, k, problem=error.fact))
        else:
            points.append(Point(name, k, loss=release.loss("lm")))
    return TradeOff(tuple(points))
