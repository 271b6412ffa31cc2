"""What an audit says: how many people share each span, who is at risk, and what to change."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.errors import VerificationError, counted

Int64 = npt.NDArray[np.int64]

_MOST_SHOWN = 8


@dataclass(frozen=True)
class Audit:
    """The spans of a model over the people of a table.

    Attributes
    ----------
    model
        Kind of model.
    k
        The crowd that was asked for.
    span_of
        Number of each person's span.
    multiple
        Which spans have more than one equivalence class: only those tell anything about private values.
    repairs
        What to change, one sentence each.
    notes
        What the model holds beside its spans.
    """

    model: str
    k: int
    span_of: Int64
    multiple: npt.NDArray[np.bool_]
    repairs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    _repair: Callable[[], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def people(self) -> Int64:
        """Number of people in each span."""
        return np.bincount(self.span_of, minlength=len(self.multiple))

    @property
    def breaches(self) -> Int64:
        """Spans that link private values to fewer than k people."""
        return np.flatnonzero(self.multiple & (self.people > 0) & (self.people < self.k))

    @property
    def at_risk(self) -> Int64:
        """People in those spans: their places in the table, from 0."""
        broken = np.zeros(len(self.multiple), np.bool_)
        broken[self.breaches] = True
        return np.flatnonzero(broken[self.span_of])

    @property
    def ok(self) -> bool:
        """Whether everybody is hidden in a crowd of k."""
        return len(self.breaches) == 0

    @property
    def level(self) -> int | None:
        """Largest k that holds; ``None`` when the model tells nothing about anybody, so that any k holds."""
        told = self.people[self.multiple & (self.people > 0)]
        return int(told.min()) if len(told) else None

    def repair(self) -> Any:  # noqa: ANN401
        """Return a model that keeps k: a changed copy, or the model itself when nothing is wrong and nothing noted."""
        assert self._repair is not None
        return self._repair()

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
        n = len(self.span_of)
        if self.ok:
            most = "any k: it reveals nothing private" if self.level is None else f"k up to {self.level}"
            return f"{self.model}: k = {self.k} holds for all {n} people ({most})"
        return (
            f"{self.model}: k = {self.k} is BROKEN for {counted(len(self.breaches), 'kind')} of people: "
            f"{len(self.at_risk)} of {n} people at risk, the smallest crowd is {self.level}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON: row numbers, never a value."""
        return {
            "model": self.model,
            "k": self.k,
            "ok": self.ok,
            "level": self.level,
            "people": len(self.span_of),
            "spans": len(self.multiple),
            "people_per_span": sorted(self.people.tolist()),
            "breaches": len(self.breaches),
            "at_risk": self.at_risk.tolist(),
            "repairs": list(self.repairs),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        kinds = counted(len(self.multiple), "kind")
        lines = [self.headline, f"  the model reveals something about {int(self.multiple.sum())} of {kinds} of people"]
        if not self.ok:
            rows = ", ".join(str(row + 1) for row in self.at_risk[:_MOST_SHOWN])
            more = " ..." if len(self.at_risk) > _MOST_SHOWN else ""
            lines.append(f"  people at risk, by row of the table: {rows}{more}")
            lines += [f"  repair: {step}" for step in self.repairs[:_MOST_SHOWN]]
            if len(self.repairs) > _MOST_SHOWN:
                lines.append(f"  ... and {len(self.repairs) - _MOST_SHOWN} more")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        said = (*self.repairs[:_MOST_SHOWN], *self.notes)
        steps = "".join(f"<li>{html.escape(one)}</li>" for one in said)
        return f"<div><p><b>{html.escape(self.headline)}</b></p><ul>{steps}</ul></div>"
