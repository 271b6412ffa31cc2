"""What an audit says: how many people share each span, who is at risk, and what to change."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit.subject import Limits, entropies
from incrowd.errors import QualityWarning, VerificationError, counted

Int64 = npt.NDArray[np.int64]

_MOST_SHOWN = 8


@dataclass(frozen=True)
class Audit:
    """The spans of a model over the people of a table.

    Attributes
    ----------
    model
        Kind of model.
    limits
        The crowd that was asked for.
    span_of
        Number of each person's span.
    multiple
        Which spans have more than one equivalence class: only those tell anything about private values.
    repairs
        What to change, one sentence each.
    notes
        What else is worth knowing.
    held
        What the model tells by row, to whoever knows the order of the table: `repair()` takes it out.
    behind
        People who stand behind a figure of fewer than k of them, such as the mean of a small cluster.
    classes
        Class of each person as a number; ``None`` if it is public or there is none.
    """

    model: str
    limits: Limits
    span_of: Int64
    multiple: npt.NDArray[np.bool_]
    repairs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    behind: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    classes: Int64 | None = None
    _repair: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    _predict: Callable[[Any, Any], npt.NDArray[np.float64]] | None = field(default=None, repr=False, compare=False)

    @property
    def k(self) -> int:
        """The crowd that was asked for."""
        return int(self.limits.k)

    @cached_property
    def people(self) -> Int64:
        """Number of people in each span."""
        return np.bincount(self.span_of, minlength=len(self.multiple))

    @cached_property
    def _class_counts(self) -> Int64 | None:
        """Classes of the people in each span."""
        if self.classes is None:
            return None
        width = int(self.classes.max()) + 1
        counts = np.bincount(self.span_of * width + self.classes, minlength=len(self.multiple) * width)
        return counts.reshape(-1, width)

    @cached_property
    def breaches(self) -> Int64:
        """Spans that link private values to too few people, or tell the class with too much confidence."""
        broken = self.limits.broken(self.people, self._class_counts)
        return np.flatnonzero(self.multiple & (self.people > 0) & broken)

    @cached_property
    def at_risk(self) -> Int64:
        """People in those spans, and behind figures of too few people: their places in the table, from 0."""
        broken = np.zeros(len(self.multiple), np.bool_)
        broken[self.breaches] = True
        return np.union1d(np.flatnonzero(broken[self.span_of]), self.behind)

    @property
    def ok(self) -> bool:
        """Whether everybody is hidden in a crowd of k, and nothing is told by row."""
        return len(self.breaches) == 0 and len(self.behind) == 0 and not self.held

    @property
    def level(self) -> int | None:
        """Largest k that the spans keep; ``None`` when they tell nothing about anybody, so that any k holds."""
        told = self.people[self.multiple & (self.people > 0)]
        return int(told.min()) if len(told) else None

    @property
    def exposed(self) -> int | None:
        """Number of people whose class is told for certain, because all people of their span have it (section 6.3)."""
        if self._class_counts is None:
            return None
        certain = (self._class_counts > 0).sum(axis=1) == 1
        return int(self.people[certain & self.multiple].sum())

    @property
    def confidence(self) -> float | None:
        """Largest share of one class in a span: how sure somebody can be of a person's class."""
        counts = self._revealed_classes()
        if counts is None:
            return None
        return float((counts.max(axis=1) / counts.sum(axis=1)).max())

    @property
    def diversity(self) -> float | None:
        """Largest l of entropy l-diversity that every span keeps."""
        counts = self._revealed_classes()
        return None if counts is None else float(np.exp(entropies(counts).min()))

    def _revealed_classes(self) -> Int64 | None:
        """Return the people of each class in the spans that reveal something and hold somebody; None if none does."""
        revealing = self.multiple & (self.people > 0)
        return None if self._class_counts is None or not revealing.any() else self._class_counts[revealing]

    def repair(self) -> Any:  # noqa: ANN401
        """Return a model that keeps k: a changed copy, or the model itself when nothing is wrong.

        Warns if the result predicts the class of the table no better than its most frequent value.
        """
        assert self._repair is not None
        changed = self._repair()
        if not self.ok and self._predict is not None:
            kept = self.compare(changed)
            if kept and kept["after"] <= kept["majority"] < kept["before"]:
                share = f"{kept['after']:.1%}, and the most frequent class has {kept['majority']:.1%}"
                warnings.warn(f"The repaired model predicts no better than guessing: {share}", QualityWarning, 2)
        return changed

    def compare(self, repaired: Any, rows: Any = None) -> dict[str, float]:  # noqa: ANN401
        """Return the accuracy before and after a repair, beside the share of the most frequent class.

        Parameters
        ----------
        repaired
            What `repair` returned.
        rows
            Rows with the class, best such that the model was not fitted with; the table of the audit by default.
        """
        if self._predict is None:
            return {}
        before, after, majority = self._predict(repaired, rows)
        return {"before": float(before), "after": float(after), "majority": float(majority)}

    def raise_for_breaches(self) -> None:
        """Raise `VerificationError` unless the audit is ok."""
        if not self.ok:
            raise VerificationError(
                self.headline,
                "do not share it; share what .repair() returns, or see .repairs",
                violations=self.repairs,
            )

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        n, asked = len(self.span_of), self._asked
        if self.ok:
            most = "any k: it reveals nothing private" if self.level is None else f"k up to {self.level}"
            return f"{self.model}: {asked} holds for all {n} people ({most})"
        if len(self.breaches) == 0 and len(self.behind) == 0:
            return f"{self.model}: {asked} is BROKEN for all {n} people: it tells about them by row"
        if len(self.breaches) == 0:
            few = counted(len(self.behind), "person", "people")
            return f"{self.model}: {asked} is BROKEN for {few} who stand behind figures of fewer than k people"
        return (
            f"{self.model}: {asked} is BROKEN for {counted(len(self.breaches), 'kind')} of people: "
            f"{len(self.at_risk)} of {n} people at risk, the smallest crowd is {self.level}"
        )

    @property
    def _asked(self) -> str:
        parts = [f"k = {self.k}"]
        parts += [] if self.limits.l is None else [f"l = {self.limits.l:g}"]
        parts += [] if self.limits.max_confidence is None else [f"confidence up to {self.limits.max_confidence:.1%}"]
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON: row numbers, never a value."""
        return {
            "model": self.model,
            "k": self.k,
            "l": None if self.limits.l is None else float(self.limits.l),
            "max_confidence": None if self.limits.max_confidence is None else float(self.limits.max_confidence),
            "ok": self.ok,
            "level": self.level,
            "people": len(self.span_of),
            "spans": len(self.multiple),
            "people_per_span": sorted(self.people.tolist()),
            "breaches": len(self.breaches),
            "at_risk": self.at_risk.tolist(),
            "repairs": list(self.repairs),
            "notes": list(self.notes),
            "held": list(self.held),
            "exposed": self.exposed,
            "confidence": self.confidence,
            "diversity": self.diversity,
        }

    def __str__(self) -> str:
        kinds = counted(len(self.multiple), "kind")
        lines = [self.headline, f"  the model reveals something about {int(self.multiple.sum())} of {kinds} of people"]
        if len(self.at_risk):
            rows = ", ".join(str(row + 1) for row in self.at_risk[:_MOST_SHOWN])
            more = " ..." if len(self.at_risk) > _MOST_SHOWN else ""
            lines.append(f"  people at risk, by row of the table: {rows}{more}")
        if not self.ok:
            lines += [f"  repair: {step}" for step in self.repairs[:_MOST_SHOWN]]
            if len(self.repairs) > _MOST_SHOWN:
                lines.append(f"  ... and {len(self.repairs) - _MOST_SHOWN} more")
        if self.exposed is not None and self.confidence is not None:
            who = counted(self.exposed, "person", "people")
            lines.append(f"  the class of {who} is told for certain; at most it is told with {self.confidence:.1%}")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        said = (*self.repairs[:_MOST_SHOWN], *self.notes)
        steps = "".join(f"<li>{html.escape(one)}</li>" for one in said)
        return f"<div><p><b>{html.escape(self.headline)}</b></p><ul>{steps}</ul></div>"
