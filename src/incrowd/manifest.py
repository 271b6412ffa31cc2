"""Manifest: what everybody may know about a release. The only place that knows the keys of manifest.json.

The verifier has a reader of its own (`incrowd.verify`), so that nobody vouches for themselves. What the keys mean is
written in docs/release-format.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from incrowd.errors import InputError

FORMAT, FORMAT_OF_SEVERAL, FORMAT_OF_MORE = 2, 3, 4  # of several sensitive columns; of promises that 2 and 3 lack
FORMAT_OF_SERIES, FORMAT_OF_RANGES = 5, 6  # the last: sensitive numbers in ranges, whatever else there is
FORMATS = (FORMAT, FORMAT_OF_SEVERAL, FORMAT_OF_MORE, FORMAT_OF_SERIES, FORMAT_OF_RANGES)
ROWS, PROJECTIONS = "rows", "projections"
GROUPS, OVERLAPPING, JOINED = "groups", "overlapping cells", "joined tables"  # what hides people

_NUMBERS = {
    "k": ("k",), "t": ("t", "ordered"), "alpha": ("alpha",), "lkc": ("L", "K", "C"), "beta": ("beta", "enhanced"),
    "delta": ("delta",), "width": ("width",), "m": ("m",), "concealment": ("k",),
}  # fmt: skip
_MORE = ("beta", "delta", "width")


@dataclass(frozen=True)
class Guarantee:
    """One promise, with the parameters of its kind.

    Kinds are ``k``, ``l`` (with `l_kind`, `c`), ``t``, ``alpha``, ``lkc``, ``beta``, ``delta``, ``width``,
    ``m`` and ``concealment``.
    """

    kind: str
    k: int | None = None
    l: float | None = None
    l_kind: str | None = None
    c: float | None = None
    t: float | None = None
    ordered: bool | None = None
    alpha: float | None = None
    L: int | None = None
    K: int | None = None
    C: float | None = None
    beta: float | None = None
    enhanced: bool | None = None
    delta: float | None = None
    tree: bool | None = None
    column: str | None = None
    others_known: bool = False
    m: int | None = None
    width: float | None = None

    @property
    def text(self) -> str:
        """The promise for people."""
        if self.kind == "lkc":
            return f"LKC = ({self.L}, {self.K}, {_number(self.C)})"
        if self.kind in ("m", "concealment"):
            return f"m = {self.m} over all releases" if self.kind == "m" else f"k = {self.k} after matching"
        named = f" ({self.l_kind})" if self.kind == "l" and self.l_kind != "frequency" else ""
        named = " (enhanced)" if self.enhanced else " (tree)" if self.tree else named
        about = f" for {self.column!r}" if self.column is not None else ""
        about += " even if another sensitive column is known" if self.others_known else ""
        return f"{self.kind} = {_number(getattr(self, self.kind))}{named}{about}"

    @property
    def sentence(self) -> str:
        """The promise as a sentence."""
        what = f"value of {self.column!r}" if self.column is not None else "sensitive value"
        known = ", even if another sensitive column is known" if self.others_known else ""
        if self.kind == "k":
            return f"every row fits at least {self.k} people"
        if self.kind == "l" and self.l_kind == "frequency":
            return f"no {what} has more than {self.belief:.1%} (l = {_number(self.l)}){known}"
        if self.kind == "l":
            return f"{what}s are diverse, l = {_number(self.l)} ({self.l_kind}){known}".replace("value of", "values of")
        if self.kind == "alpha":
            return f"no {what} has more than {self.alpha:.1%}{known}"
        if self.kind in ("m", "concealment"):
            return self._of_all_rows
        if self.kind == "beta":
            rise = f"its share in the whole table by more than {self.beta:.4g} of it"
            rise += f" (or by more than -ln of that share, if that is less; {self.text})" if self.enhanced else ""
            return f"no share of a {what} exceeds {rise}{known}"
        if self.kind == "delta":
            times = f"{2 ** float(self.delta or 0):.4g} times"
            return f"every {what} is less than {times} as frequent or rare as in the whole table ({self.text})"
        if self.kind == "width":
            name = f"the values of {self.column!r}" if self.column is not None else "the sensitive numbers"
            return f"{name} that may be somebody's are at least {_number(self.width)} apart{known}"
        if self.kind == "lkc":
            known = f"any {self.L} known values fit at least {self.K} people"
            return f"{known}, and tell no sensitive value with more than {self.C:.1%}"
        return self.text

    @property
    def _of_all_rows(self) -> str:
        """A promise that is about all rows together, as a sentence."""
        if self.kind == "m":
            return f"all releases of the series together leave everybody {self.m} sensitive values, equally likely"
        return f"whoever matches all people and rows still leaves everybody {self.k} rows"

    @property
    def crowd(self) -> int | None:
        """The smallest crowd that is promised, if the promise is about that."""
        return self.K if self.kind == "lkc" else self.k

    @property
    def belief(self) -> float | None:
        """The largest share of a sensitive value that is promised, if the promise is about that."""
        if self.kind == "l":
            return 1 / float(self.l or 1) if self.l_kind == "frequency" else None
        return self.C if self.kind == "lkc" else self.alpha

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the parameters of this kind only."""
        own = ("l", "l_kind", *(("c",) if self.l_kind == "recursive" else ()))
        names = own if self.kind == "l" else _NUMBERS[self.kind]
        about: dict[str, Any] = {} if self.column is None else {"column": self.column}
        about |= {"others_known": True} if self.others_known else {}
        about = {"tree": True} | about if self.tree else about
        return {"kind": self.kind} | {name: getattr(self, name) for name in names} | about

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Read what `to_dict` returned."""
        known = {field.name for field in fields(cls)}
        if data.get("kind") not in {*_NUMBERS, "l"} or set(data) - known:
            where = "A guarantee"
            raise _unreadable(where)
        return cls(**data)


@dataclass(frozen=True)
class Method:
    """The publisher by its name, and the parameters that it was given."""

    name: str
    parameters: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class RowCounts:
    """Rows that came in, were dropped for a missing value, were suppressed, and are released.

    Of the released ones, `filler` are about nobody; only a release of a series has such rows.
    """

    input: int
    missing: int
    suppressed: int
    released: int
    filler: int = 0

    def to_dict(self, *, of_series: bool) -> dict[str, int]:
        """Return plain data."""
        return {name: count for name, count in vars(self).items() if name != "filler" or of_series}


@dataclass(frozen=True)
class Series:
    """Which of several releases of a growing table this is: `previous` is the digest of the one before's manifest."""

    id: str
    number: int
    previous: str | None


@dataclass(frozen=True)
class Missing:
    """What happened to missing values, which texts count as missing everywhere, and which values in one column."""

    policy: str
    tokens: tuple[str, ...]
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def codes_of(self, column: str) -> tuple[str, ...]:
        """Return the values that count as missing in one column only."""
        return self.codes.get(column, ())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; codes only where there are some."""
        codes = {name: list(self.codes[name]) for name in sorted(self.codes)}
        return {"policy": self.policy, "tokens": list(self.tokens)} | ({"codes": codes} if codes else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Missing:
        """Read plain data."""
        codes = {str(name): tuple(texts) for name, texts in dict(data.get("codes", {})).items()}
        return cls(str(data["policy"]), tuple(data["tokens"]), codes)


@dataclass(frozen=True)
class Ranges:
    """A quasi-identifier of numbers or dates, of which any range is a cell.

    `cuts` lie between values (joined domains), or `values` lists them (exact); `counts` tell how many rows are in
    each range between cuts, or have each value, and `missing` how many have none (``None``: there is no such row).
    """

    name: str
    type: str
    missing: int | None
    cuts: tuple[Any, ...] | None
    values: tuple[Any, ...] | None
    counts: tuple[int, ...]
    kind: ClassVar[str] = "intervals"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        marks = {"cuts": list(self.cuts)} if self.cuts is not None else {"values": list(self.values or ())}
        head = {"name": self.name, "kind": self.kind, "type": self.type, "missing": self.missing}
        return head | marks | {"counts": list(self.counts)}


@dataclass(frozen=True)
class Leaves:
    """A quasi-identifier of listed values: a ``taxonomy``, or ``names`` in an order of their own.

    `rest` lists the leaves that stand for several values.
    """

    name: str
    kind: str
    type: str
    leaves: tuple[Any, ...]
    levels: tuple[tuple[str, ...], ...] | None
    rest: tuple[int, ...]
    counts: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        head = {"name": self.name, "kind": self.kind, "type": self.type, "leaves": list(self.leaves)}
        tree = {} if self.levels is None else {"levels": [list(level) for level in self.levels]}
        return head | tree | {"rest": list(self.rest), "counts": list(self.counts)}


Quasi = Ranges | Leaves


@dataclass(frozen=True)
class Sensitive:
    """The sensitive column: its `form` is ``exact``, ``counts`` or ``shares``; the last two list values and counts.

    Where closeness is promised along its tree, `leaves` are its values and `levels` the names of their nodes. Where
    numbers are published in `ranges`, each value is the beginning of one.
    """

    name: str
    type: str
    form: str
    values: tuple[Any, ...] | None = None
    counts: tuple[int, ...] | None = None
    leaves: tuple[Any, ...] | None = None
    levels: tuple[tuple[str, ...], ...] | None = None
    ranges: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        head: dict[str, Any] = {"name": self.name, "type": self.type, "form": self.form}
        head |= {"ranges": list(self.ranges)} if self.ranges else {}
        if self.leaves is not None and self.levels is not None:
            head |= {"leaves": list(self.leaves), "levels": [list(level) for level in self.levels]}
        if self.values is None or self.counts is None:
            return head
        return head | {"values": list(self.values), "counts": list(self.counts)}


@dataclass(frozen=True)
class Shown:
    """One column of a projection: `cuts` where numbers are shown as intervals, `suppressed` rows that lost theirs."""

    name: str
    role: str
    type: str | None
    cuts: tuple[float, ...] | None
    suppressed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        cuts = None if self.cuts is None else list(self.cuts)
        about = {"name": self.name, "role": self.role, "type": self.type, "cuts": cuts}
        return about | {"suppressed": self.suppressed}


@dataclass(frozen=True)
class ClassColumn:
    """The class of projections; its role is ``sensitive`` or ``other``."""

    name: str
    role: str
    type: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What both kinds of release say."""

    method: Method
    guarantees: tuple[Guarantee, ...]
    rows: RowCounts
    missing: Missing
    dropped: tuple[str, ...]
    incrowd: str
    polars: str
    payload: ClassVar[str]
    domains: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def crowds(self) -> str:
        """What hides people: `GROUPS` of equal rows, `OVERLAPPING` cells, or `JOINED` tables."""
        raise NotImplementedError

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the columns by which people could be recognized."""
        raise NotImplementedError

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Names of the columns that promises about values are about."""
        raise NotImplementedError

    @property
    def untouched(self) -> tuple[str, ...]:
        """Names of the columns that are published as they came."""
        raise NotImplementedError

    @property
    def class_name(self) -> str | None:
        """Name of the column that classifiers predict."""
        raise NotImplementedError

    def belief_about(self, name: str) -> float:
        """Return the largest share of a value of one of the secrets that is promised; 1 where nothing is."""
        raise NotImplementedError

    @property
    def k(self) -> int:
        """The smallest crowd that is promised."""
        return max((g.crowd for g in self.guarantees if g.crowd is not None), default=1)

    @property
    def belief(self) -> float:
        """The largest share of a sensitive value that is promised; 1 where nothing is."""
        return min((g.belief for g in self.guarantees if g.belief is not None), default=1.0)

    @property
    def format(self) -> int:
        """The number of the format that this manifest is written in."""
        return FORMAT

    @property
    def promises(self) -> str:
        """All guarantees for people."""
        return ", ".join(guarantee.text for guarantee in self.guarantees)

    @property
    def recognized_by(self) -> list[str]:
        """Names of the columns by which the table of this release is recognized: the known ones and the secret one."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the keys in the order of docs/release-format.md."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the content of manifest.json."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"

    def _head(self) -> dict[str, Any]:
        return {"format": self.format, "incrowd": self.incrowd, "polars": self.polars}

    def _missing(self) -> dict[str, Any]:
        return self.missing.to_dict()

    @staticmethod
    def from_json(text: str, where: str = "manifest.json") -> Manifest:
        """Read a manifest of either kind; what cannot be one is an `InputError`."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise _unreadable(where) from error
        if not isinstance(data, dict):
            raise _unreadable(where)
        if data.get("format") not in FORMATS:
            raise _other_format(data.get("format"), where)
        kind = ProjectionsManifest if data.get("payload") == PROJECTIONS else RowsManifest
        try:
            read = kind._read(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unreadable(where) from error
        if data["format"] != read.format:
            raise _unreadable(where)
        return read


@dataclass(frozen=True, kw_only=True)
class RowsManifest(Manifest):
    """The manifest of generalized rows."""

    recoding: str
    domains: str
    quasi: tuple[Quasi, ...]
    secrets: tuple[Sensitive, ...]
    target: str | None
    other: tuple[str, ...]
    series: Series | None = None
    payload: ClassVar[str] = ROWS

    @property
    def format(self) -> int:
        """The number of the format that this manifest is written in."""
        if any(secret.ranges for secret in self.secrets):
            return FORMAT_OF_RANGES
        if self.series is not None:
            return FORMAT_OF_SERIES
        if any(promise.kind in _MORE or promise.tree for promise in self.guarantees):
            return FORMAT_OF_MORE
        return FORMAT if len(self.secrets) < 2 else FORMAT_OF_SEVERAL

    @property
    def homogeneous(self) -> bool:
        """Whether rows with equal cells form a group."""
        return self.recoding == "homogeneous"

    @property
    def crowds(self) -> str:
        """What hides people."""
        return GROUPS if self.homogeneous else OVERLAPPING

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(column.name for column in self.quasi)

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return tuple(secret.name for secret in self.secrets)

    @property
    def untouched(self) -> tuple[str, ...]:
        """Names of the columns that are published as they came."""
        return self.other

    @property
    def class_name(self) -> str | None:
        """Name of the column that classifiers predict."""
        return self.target

    def belief_about(self, name: str) -> float:
        """Return the largest share of a value of one sensitive column that is promised; 1 where nothing is."""
        return self.about(name).belief

    @property
    def sensitive(self) -> Sensitive | None:
        """The sensitive column, of a release with at most one; `about` makes such a manifest of any other."""
        assert len(self.secrets) < 2
        return self.secrets[0] if self.secrets else None

    def about(self, name: str) -> RowsManifest:
        """Return what this manifest says about one sensitive column, as if there were no other."""
        own = (promise for promise in self.guarantees if promise.column in (None, name))
        guarantees = tuple(replace(promise, column=None, others_known=False) for promise in own)
        secrets = tuple(secret for secret in self.secrets if secret.name == name)
        given = {k: v[name] if isinstance(v, Mapping) else v for k, v in self.method.parameters.items()}
        given.pop("others_known", None)
        target = self.target if self.target in self.other else name
        method = Method(self.method.name, given)
        return replace(self, method=method, guarantees=guarantees, secrets=secrets, target=target)

    @property
    def recognized_by(self) -> list[str]:
        """Names of the quasi-identifiers and the sensitive columns."""
        return [*self.known, *self.secret_names]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the keys in the order of docs/release-format.md."""
        return {
            **self._head(),
            "method": self.method.to_dict(),
            "recoding": self.recoding,
            "guarantees": [guarantee.to_dict() for guarantee in self.guarantees],
            "rows": self.rows.to_dict(of_series=self.series is not None),
            **({} if self.series is None else {"series": dict(vars(self.series))}),
            "missing": self._missing(),
            "domains": self.domains,
            "quasi": [q.to_dict() for q in self.quasi],
            "sensitive": _one_or_all([secret.to_dict() for secret in self.secrets]),
            "target": self.target,
            "other": list(self.other),
            "dropped": list(self.dropped),
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> RowsManifest:
        about = data["sensitive"]
        about = about if isinstance(about, list) else [about] if about is not None else []
        return cls(
            **_shared(data),
            recoding=str(data["recoding"]),
            domains=str(data["domains"]),
            quasi=tuple(_quasi(entry) for entry in data["quasi"]),
            secrets=tuple(Sensitive(**{name: _frozen(value) for name, value in entry.items()}) for entry in about),
            target=data["target"],
            other=tuple(data["other"]),
            series=Series(**data["series"]) if "series" in data else None,
        )


@dataclass(frozen=True, kw_only=True)
class ProjectionsManifest(Manifest):
    """The manifest of projections."""

    target: ClassColumn
    quasi_sets: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[str, ...], ...]
    columns: tuple[Shown, ...]
    payload: ClassVar[str] = PROJECTIONS

    @property
    def crowds(self) -> str:
        """What hides people."""
        return JOINED

    @property
    def known(self) -> tuple[str, ...]:
        """Names of all columns by which people could be recognized, published or not."""
        return tuple(dict.fromkeys(name for names in self.quasi_sets for name in names))

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Name of the class, where it is sensitive or something is promised about it."""
        return (self.target.name,) if self.target.role == "sensitive" or self.belief < 1 else ()

    @property
    def untouched(self) -> tuple[str, ...]:
        """Names of the columns that are published as they came."""
        return tuple(column.name for column in self.columns if column.role == "other")

    @property
    def class_name(self) -> str:
        """Name of the column that classifiers predict."""
        return self.target.name

    def belief_about(self, _name: str) -> float:
        """Return the largest share of a class that is promised; 1 where nothing is."""
        return self.belief

    @property
    def recognized_by(self) -> list[str]:
        """Names of the published quasi-identifiers and the class."""
        return [*(column.name for column in self.columns if column.role == "quasi"), self.target.name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the keys in the order of docs/release-format.md."""
        return {
            **self._head(),
            "payload": self.payload,
            "method": self.method.to_dict(),
            "guarantees": [guarantee.to_dict() for guarantee in self.guarantees],
            "rows": self.rows.to_dict(of_series=False),
            "missing": self._missing(),
            "class": dict(vars(self.target)),
            "quasi_sets": [list(known) for known in self.quasi_sets],
            "parts": [list(part) for part in self.parts],
            "columns": [column.to_dict() for column in self.columns],
            "left_out": list(self.left_out),
            "dropped": list(self.dropped),
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> ProjectionsManifest:
        return cls(
            **_shared(data),
            target=ClassColumn(**data["class"]),
            quasi_sets=_frozen(data["quasi_sets"]),
            parts=_frozen(data["parts"]),
            columns=tuple(
                Shown(**{name: _frozen(value) for name, value in entry.items()}) for entry in data["columns"]
            ),
            left_out=tuple(data["left_out"]),
        )


def _shared(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "method": Method(str(data["method"]["name"]), dict(data["method"]["parameters"])),
        "guarantees": tuple(Guarantee.from_dict(guarantee) for guarantee in data["guarantees"]),
        "rows": RowCounts(**data["rows"]),
        "missing": Missing.from_dict(data["missing"]),
        "dropped": tuple(data["dropped"]),
        "incrowd": str(data["incrowd"]),
        "polars": str(data["polars"]),
    }


def _quasi(entry: Mapping[str, Any]) -> Quasi:
    given = {name: _frozen(value) for name, value in entry.items()}
    if given.pop("kind") == Ranges.kind:
        return Ranges(**({"cuts": None, "values": None} | given))
    return Leaves(**({"levels": None} | given), kind=entry["kind"])


def _one_or_all(entries: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - plain data
    """Return the only entry by itself, as every release with one sensitive column has it."""
    return entries if len(entries) > 1 else next(iter(entries), None)


def _number(value: float | None) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _frozen(value: Any) -> Any:  # noqa: ANN401 - plain data
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _other_format(found: object, where: str) -> InputError:
    """Say what to do with a release that this version cannot read."""
    if found == 1:
        fact = f"{where} has format 1, which was never part of a published version of incrowd"
        return InputError(fact, "publish the table again from the original")
    if not isinstance(found, int) or found < FORMAT:
        return _unreadable(where)
    fact = f"{where} has format {found}, and this version of incrowd reads formats up to {FORMATS[-1]}"
    return InputError(fact, "upgrade incrowd: pip install --upgrade incrowd")


def _unreadable(where: str) -> InputError:
    fact = f"{where} cannot be read as the manifest of a release"
    return InputError(fact, "give the folder that publish wrote; if it is that, the file was changed: get it again")
