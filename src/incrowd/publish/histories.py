"""Histories: what earlier releases of a series have shown of the people who are in the table now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import Secret, Table
from incrowd.errors import IncompatibleError
from incrowd.hierarchy.hierarchy import Codes, convert, text, type_of
from incrowd.publish.signatures import Signature
from incrowd.release import People, RowRelease

Int64 = npt.NDArray[np.int64]

NEW = -1
"""The place of somebody whom no release has shown."""


@dataclass
class Histories:
    """People, values and signatures in numbers.

    Attributes
    ----------
    who
        The hash of each row's identifier; ``None`` if nothing tells people apart.
    value
        The sensitive value of each row. Values that only signatures have come after those of the table.
    texts
        All values.
    signatures
        All signatures, those of earlier releases first.
    given
        The signatures that each person was given, in the order of time.
    """

    table: Table
    who: Int64 | None
    value: Int64
    texts: list[str | None]
    signatures: list[Signature]
    given: dict[int, list[int]]
    records: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, table: Table, who: Int64 | None, previous: RowRelease | None) -> Histories:
        """Read what the owner kept of the release before; without one, everybody is new."""
        (secret,) = _only(table)
        assert table.sensitive is not None
        texts = _texts(secret.values)
        found = cls(table, who, secret.codes(table.sensitive).astype(np.int64), texts, [], {})
        if previous is not None:
            found._read(previous, secret)
        return found

    def _read(self, previous: RowRelease, secret: Secret) -> None:
        (about,), kind = previous.manifest.secrets, type_of(secret.values)
        if (about.name, about.type) != (secret.name, kind):
            fact = f"The sensitive column is {secret.name!r} ({kind}), and was {about.name!r} ({about.type})"
            raise IncompatibleError(fact, "a series goes on with the same column, of the same type")
        starts = self.table.schema.attributes[secret.name].ranges
        if tuple(about.ranges or ()) != starts:
            fact = f"The ranges of the sensitive column {secret.name!r} are not those of the release before"
            raise IncompatibleError(fact, "a series goes on with the same ranges, or with none")
        evidence = previous.private.evidence if previous.private is not None else None
        assert isinstance(evidence, People)
        place = {value: code for code, value in enumerate(self.texts)}
        listed: dict[int, list[int]] = {}
        for number, written in evidence.signatures.iter_rows():
            value = written[1:] if written else None
            if value not in place:
                place[value] = len(self.texts)
                self.texts.append(value)
            listed.setdefault(number, []).append(place[value])
        self.signatures = [tuple(sorted(listed[number])) for number in range(len(listed))]
        self.records = list(evidence.people.iter_rows())
        for person, number in self.records:
            self.given.setdefault(person, []).append(number)

    @property
    def n_values(self) -> int:
        """Number of values, those that nobody has any more among them."""
        return len(self.texts)

    def place_known(self) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Return the signature of everybody who was shown before (`NEW`: of nobody), and who must be held back."""
        place, held = np.full(self.table.n_rows, NEW), np.zeros(self.table.n_rows, np.bool_)
        if self.who is None:
            return place, held
        counts, changed = np.zeros((len(self.signatures), self.n_values), np.int64), []
        for row, (person, value) in enumerate(zip(self.who.tolist(), self.value.tolist(), strict=True)):
            given = self.given.get(person)
            if given is None:
                continue
            fitting = next((s for s in reversed(given) if value in self.signatures[s]), None)
            if fitting is None:
                changed.append((row, given))
            else:
                place[row] = fitting
                counts[fitting, value] += 1
        for row, given in changed:
            number = self._another(given, int(self.value[row]), counts)
            held[row] = number is None
            place[row] = given[-1] if number is None else number
            if number is not None:
                counts[number, self.value[row]] += 1
        return place, held

    def _another(self, given: list[int], value: int, counts: Int64) -> int | None:
        """Return a signature with this value and none that the person was shown with: in use, where it lacks most."""
        shown = {v for s in given for v in self.signatures[s]}
        used = np.asarray(counts.sum(axis=1) > 0)
        lacks = {
            s: int(counts[s].max() - counts[s, value])
            for s, signature in enumerate(self.signatures)
            if value in signature and not shown & set(signature)
        }
        return max(lacks, key=lambda s: (used[s], lacks[s], -s), default=None)

    def remember(self, buckets: list[tuple[Signature, Int64, npt.NDArray[np.bool_]]]) -> None:
        """Note the signatures that people were given in this release."""
        numbers = {signature: number for number, signature in enumerate(self.signatures)}
        now = np.full(self.table.n_rows, NEW)
        for signature, rows, is_filler in buckets:
            now[rows[~is_filler]] = numbers.setdefault(signature, len(numbers))
        self.signatures = list(numbers)
        for person, number in zip([] if self.who is None else self.who.tolist(), now.tolist(), strict=False):
            if self.given.get(person, [NEW])[-1] != number:
                self.records.append((person, number))

    def evidence(self, group: Int64) -> People:
        """Return what the owner keeps; `group` is that of each row, filler last."""
        told = [
            (number, _written(self.texts[v])) for number, signature in enumerate(self.signatures) for v in signature
        ]
        return People(
            group,
            _frame(self.records, {"person": pl.Int64(), "signature": pl.Int64()}),
            _frame(told, {"signature": pl.Int64(), "value": pl.String()}),
        )

    def with_values(self, shown: Int64) -> tuple[Table, Codes]:
        """Return the table with all values that filler shows, and their codes in it."""
        (secret,) = _only(self.table)
        n_own = len(secret.values)
        more = np.unique(shown[shown >= n_own])
        if not len(more):
            return self.table, shown.astype(np.int32)
        assert self.table.sensitive is not None
        added = convert(pl.Series([self.texts[v] for v in more.tolist()], dtype=pl.String()), type_of(secret.values))
        values = pl.concat([secret.values, added.cast(secret.values.dtype).alias(secret.name)])
        order = values.arg_sort().to_numpy()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        code = np.full(self.n_values, NEW, np.int32)
        code[:n_own], code[more] = rank[:n_own], rank[n_own:]
        widened = Secret(values[order], np.arange(len(values), dtype=np.int32))
        return replace(self.table, secrets=(widened,), sensitive=code[secret.codes(self.table.sensitive)]), code[shown]


def _only(table: Table) -> tuple[Secret]:
    if len(table.secrets) != 1:
        fact = f"Method 'm_invariance' protects one sensitive column, and the schema has {len(table.secrets)}"
        raise IncompatibleError(fact, "name one; leave the others out or make them quasi-identifiers")
    return (table.secrets[0],)


def _texts(values: pl.Series) -> list[str | None]:
    return [None if missing else shown for shown, missing in zip(text(values), values.is_null(), strict=True)]


def _written(value: str | None) -> str:
    """Write a value so that a missing one is told apart from every text."""
    return "" if value is None else f"={value}"


def _frame(rows: list[tuple[Any, ...]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")
