"""The public manifest, read as a stranger's claims: every key is looked at, nothing is taken for granted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from incrowd.verify.domain import is_number
from incrowd.verify.fields import Reading
from incrowd.verify.methods import EVIDENCE_OF_SERIES, SERIES, cells_of, evidence_of, method_problems, recoding_of
from incrowd.verify.published import Quasi, read_quasi
from incrowd.verify.secrets import Sensitive, read_secrets

FORMAT, FORMAT_OF_SEVERAL, FORMAT_OF_MORE = 2, 3, 4  # of several sensitive columns; of promises that these lack
FORMAT_OF_SERIES, FORMAT_OF_RANGES = 5, 6  # the last: sensitive numbers in ranges, whatever else there is
FORMATS = (FORMAT, FORMAT_OF_SEVERAL, FORMAT_OF_MORE, FORMAT_OF_SERIES, FORMAT_OF_RANGES)

_KEYS = (
    "format",
    "incrowd",
    "polars",
    "method",
    "recoding",
    "guarantees",
    "rows",
    "series",
    "missing",
    "domains",
    "quasi",
    "sensitive",
    "target",
    "other",
    "dropped",
)
_ROW_KEYS = ("input", "missing", "suppressed", "released")
_HEX = re.compile(r"[0-9a-f]+")
_L_KINDS = ("frequency", "distinct", "entropy", "recursive")
_LONGEST_TOKEN, _MOST_TOKENS = 40, 32


_PROMISES: dict[str, dict[str, str]] = {
    "k": {"k": "a whole number from 1"},
    "l": {"l": "a number from 1", "l_kind": "text"},
    "t": {"t": "a number from 0", "ordered": "true or false"},
    "alpha": {"alpha": "a share above 0"},
    "lkc": {"L": "a whole number from 1", "K": "a whole number from 1", "C": "a share above 0"},
    "beta": {"beta": "a number above 0", "enhanced": "true or false"},
    "delta": {"delta": "a number above 0"},
    "width": {"width": "a number above 0"},
    "m": {"m": "a whole number from 1"},
    "concealment": {"k": "a whole number from 1"},
}
_MORE = ("beta", "delta", "width")
ABOUT_VALUES = ("l", "t", "alpha", "beta", "delta")
ABOUT_COLUMNS = (*ABOUT_VALUES, "width")


@dataclass(frozen=True)
class Promise:
    """One guarantee as the manifest states it."""

    kind: str
    given: dict[str, Any]

    @property
    def column(self) -> str | None:
        """The sensitive column that it is about, where there are several."""
        return self.given.get("column")

    @property
    def others_known(self) -> bool:
        """Whether it also holds for somebody who knows another sensitive column."""
        return self.given.get("others_known") is True


@dataclass(frozen=True)
class Claims:
    """Everything that the manifest claims and the verifier needs.

    `cells` are as `methods.cells_of` says; `parameters` are empty unless they are those of a method that is known.
    """

    recoding: str
    promises: tuple[Promise, ...]
    rows: dict[str, int]
    policy: str
    tokens: tuple[str, ...]
    codes: dict[str, tuple[str, ...]]
    domains: str
    quasi: tuple[Quasi, ...]
    secrets: tuple[Sensitive, ...]
    other: tuple[str, ...]
    dropped: tuple[str, ...]
    cells: str | None
    parameters: dict[str, Any]
    series: dict[str, Any] | None = None

    @property
    def sensitive(self) -> Sensitive | None:
        """The sensitive column, where there is at most one; `about` makes claims about any other."""
        if len(self.secrets) > 1:
            raise AssertionError  # a check that sees one column must not be given several
        return self.secrets[0] if self.secrets else None

    def about(self, secret: Sensitive) -> Claims:
        """Return what is claimed about one sensitive column, as if there were no other."""
        own = tuple(promise for promise in self.promises if promise.column in (None, secret.name))
        return replace(self, promises=own, secrets=(secret,))

    @property
    def k(self) -> int | None:
        """The largest k that is promised."""
        return max((p.given["k"] for p in self.promises if p.kind == "k"), default=None)

    @property
    def least(self) -> int:
        """How many rows must share what the manifest tells: the largest k or K."""
        found = (p.given["k" if p.kind == "k" else "K"] for p in self.promises if p.kind in ("k", "lkc"))
        return max(found, default=1)

    @property
    def n_people(self) -> int:
        """How many released rows are about somebody."""
        return self.rows["released"] - self.rows.get("filler", 0)

    @property
    def concealed(self) -> bool:
        """Whether k rows are promised to be left after matching."""
        return any(p.kind == "concealment" for p in self.promises)

    @property
    def joined(self) -> bool:
        """Whether rare values are joined and counts rounded."""
        return self.domains == "joined"

    @property
    def in_shares(self) -> bool:
        """Whether distributions are means of the shares in blocks, and not counts of members."""
        return any(secret.form == "shares" for secret in self.secrets)

    @property
    def homogeneous(self) -> bool:
        """Whether rows with equal cells form a group."""
        return self.recoding == "homogeneous"

    @property
    def evidence(self) -> tuple[str, ...]:
        """Names of the private files without which not everything can be checked."""
        by_form = {"shares": ("blocks", "members"), "exact": () if self.homogeneous else ("rings",)}
        form = self.secrets[0].form if self.secrets else "exact"
        if self.series is not None:
            return ("rows", "domains", *EVIDENCE_OF_SERIES)
        return ("rows", "domains", *by_form.get(form, ()))


def read_claims(manifest: object) -> tuple[Claims | None, Reading]:
    """Return the claims of a manifest, or ``None`` when they cannot be read, and all problems found."""
    reading = Reading()
    if not isinstance(manifest, dict):
        reading.manifest.append("it is not an object")
        return None, reading
    version = reading.field(manifest, "format", "a whole number")
    if version is not None and version not in FORMATS:
        reading.manifest.append(f"format is {version}, and this verifier knows formats {', '.join(map(str, FORMATS))}")
    if version not in FORMATS:
        return None, reading
    _check_format(reading, manifest, version)
    reading.closed(manifest, _KEYS)
    reading.field(manifest, "incrowd", "a version number")
    reading.field(manifest, "polars", "a version number")
    parameters = read_method(reading, manifest)
    recoding = _one_of(reading, manifest, "recoding", ("homogeneous", "non-homogeneous"))
    series = read_series(reading, manifest) if "series" in manifest else None
    rows = read_rows(reading, manifest, of_series="series" in manifest)
    policy, tokens, codes = read_missing(reading, manifest)
    domains = _one_of(reading, manifest, "domains", ("joined", "exact"))
    quasi = tuple(_read_all_quasi(reading, manifest, exact=domains == "exact"))
    secrets = read_secrets(reading, manifest)
    names = [secret.name for secret in secrets]
    promises = tuple(read_promises(reading, manifest, has_sensitive=bool(secrets), names=names))
    other = tuple(reading.field(manifest, "other", "a list of texts") or ())
    dropped = tuple(reading.field(manifest, "dropped", "a list of texts") or ())
    method = manifest.get("method")
    form = secrets[0].form if secrets else None
    problems, reading.unchecked = method_problems(
        method, manifest.get("guarantees"), "rows", recoding=recoding, form=form, names=names
    )
    reading.private += problems
    known = {} if problems or reading.unchecked else parameters
    claims = Claims(
        recoding,
        promises,
        rows,
        policy,
        tokens,
        codes,
        domains,
        quasi,
        secrets,
        other,
        dropped,
        cells_of(method),
        known,
        series,
    )
    coded = [*(q.name for q in quasi), *names]
    check_code_names(reading, codes, coded)
    _check_names(reading, claims, reading.field(manifest, "target", "text or null"))
    for secret in secrets:
        own = [p for p in promises if p.kind == "t" and p.given.get("tree") and p.column in (None, secret.name)]
        if bool(own) != (secret.tree is not None):
            reading.manifest.append("a sensitive column has a tree and no promise along it, or the other way")
    readable = not (reading.manifest or reading.hierarchies or reading.marginals)
    if readable:
        reading.promises = _impossible(claims) + _unlike_method(claims, manifest["method"])
    return (claims if readable else None), reading


def _check_format(reading: Reading, manifest: dict[str, Any], version: int) -> None:
    """Each release has one format: the lowest in which it can be told."""
    about = manifest.get("sensitive")
    ranged = any(
        isinstance(entry, dict) and "ranges" in entry for entry in (about if isinstance(about, list) else [about])
    )
    if (version == FORMAT_OF_RANGES) != ranged:
        reading.manifest.append(
            f"format is {version}, and ranges of sensitive numbers are {'' if ranged else 'not '}there"
        )
    if version == FORMAT_OF_RANGES:
        return
    if (version == FORMAT_OF_SERIES) != ("series" in manifest):
        reading.manifest.append(f"format is {version}, and series is {'' if 'series' in manifest else 'not '}there")
    if version == FORMAT_OF_SERIES:
        return
    promised = manifest.get("guarantees")
    kinds = [g.get("kind") for g in promised if isinstance(g, dict)] if isinstance(promised, list) else []
    along = any(isinstance(g, dict) and "tree" in g for g in promised) if isinstance(promised, list) else False
    if (version == FORMAT_OF_MORE) != (along or any(kind in _MORE for kind in kinds)):
        reading.manifest.append(f"format is {version}, which is not that of a release with such promises")
    elif version != FORMAT_OF_MORE and (version == FORMAT_OF_SEVERAL) != isinstance(manifest.get("sensitive"), list):
        reading.manifest.append(f"format is {version}, which is not that of a release with so many sensitive columns")


def _one_of(reading: Reading, manifest: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    found = reading.field(manifest, key, "text")
    if found is not None and found not in known:
        reading.manifest.append(f"{key} is neither {' nor '.join(known)}")
    return str(found)


def _unlike_method(claims: Claims, method: dict[str, Any]) -> list[str]:
    """Say where a release is of another kind than its method makes: weaker checks would do for it."""
    name, recoding, evidence = method["name"], recoding_of(method["name"]), evidence_of(method)
    problems = []
    if recoding is not None and recoding != claims.recoding:
        problems.append(f"method {name!r} makes a {recoding} release, and this one is {claims.recoding}")
    elif evidence is not None and claims.evidence != ("rows", "domains", *evidence):
        problems.append(f"method {name!r} tells sensitive values in another form")
    if (name == SERIES) != (claims.series is not None):
        problems.append(f"method {name!r} {'makes' if name == SERIES else 'does not make'} series of releases")
    if recoding is not None and claims.rows["suppressed"] and claims.series is None:
        problems.append(f"method {name!r} leaves no row out, and {claims.rows['suppressed']} are said to be suppressed")
    return problems


def _impossible(claims: Claims) -> list[str]:
    """Say which promises cannot hold, whatever the rows are."""
    problems = [] if claims.promises else ["the manifest promises nothing"]
    released, k = claims.rows["released"], claims.k
    if len(claims.secrets) > 1 and claims.secrets[0].form != ("exact" if claims.homogeneous else "shares"):
        problems.append("several sensitive columns are told, and neither by value in groups nor in shares of blocks")
    if any(p.others_known for p in claims.promises) and (not claims.homogeneous or claims.secrets[0].form != "exact"):
        problems.append("others_known is promised, and only groups with exact values can keep it")
    problems += _impossible_widths(claims)
    if k is not None and k > released:
        problems.append(f"k = {k} is promised for {released} released rows")
    if claims.concealed and not {"members", "rings"} & set(claims.evidence):
        problems.append("concealment is promised, and neither members nor rings are kept to judge it by")
    problems += _impossible_in_series(claims)
    if claims.homogeneous:
        if claims.in_shares:
            problems.append("shares of blocks are told in a homogeneous release: its rows form groups")
        return problems
    if any(p.kind == "lkc" for p in claims.promises):
        problems.append("lkc is not defined for a non-homogeneous release: its rows do not form groups")
    if claims.secrets and claims.secrets[0].form == "counts" and claims.other:
        problems.append("other columns stand beside counts of members: a person may fit a single row")
    return problems


def _impossible_widths(claims: Claims) -> list[str]:
    """Say why the numbers of a column cannot be so far apart."""
    promised = [promise.column for promise in claims.promises if promise.kind == "width"]
    about = [secret for secret in claims.secrets if secret.name in promised or None in promised]
    if about and (not claims.homogeneous or any(secret.form != "exact" for secret in about)):
        return ["width is promised, and only groups with exact values can keep it"]
    return ["width is promised of values that are no numbers" for s in about if s.type not in ("int", "float")]


def _impossible_in_series(claims: Claims) -> list[str]:
    """Say what a series promises that cannot hold."""
    problems = []
    if any(p.kind == "m" for p in claims.promises) and claims.series is None:
        problems.append("m is promised, and this is not a release of a series")
    if claims.series is not None and (not claims.homogeneous or claims.in_shares or claims.other):
        problems.append("a release of a series has groups with exact values, and no column as it came")
    return problems


def read_method(reading: Reading, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the method; what may stand there, `method_problems` knows."""
    method = reading.field(manifest, "method", "an object") or {}
    reading.closed(method, ("name", "parameters"), "method")
    reading.field(method, "name", "a short name", "method.")
    return reading.field(method, "parameters", "an object", "method.") or {}


def read_rows(reading: Reading, manifest: dict[str, Any], *, of_series: bool = False) -> dict[str, int]:
    """Return the row accounting; only a release of a series has filler."""
    rows, keys = reading.field(manifest, "rows", "an object") or {}, (*_ROW_KEYS, *(("filler",) if of_series else ()))
    reading.closed(rows, keys, "rows")
    return {key: reading.field(rows, key, "a count", "rows.") for key in keys}


def read_series(reading: Reading, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return which release of a series this is."""
    series = reading.field(manifest, "series", "an object") or {}
    reading.closed(series, ("id", "number", "previous"), "series")
    name = reading.field(series, "id", "text", "series.")
    number = reading.field(series, "number", "a whole number from 1", "series.")
    previous = reading.field(series, "previous", "text or null", "series.")
    if name is not None and not (len(name) == 32 and _HEX.fullmatch(name)):
        reading.private.append("series.id is not 32 hexadecimal digits")
    if previous is not None and not (len(previous) == 64 and _HEX.fullmatch(previous)):
        reading.private.append("series.previous is not the digest of a manifest")
    if number is not None and (number == 1) != (previous is None):
        reading.manifest.append("series.previous is told of a first release, or not told of a later one")
    return series


def read_missing(reading: Reading, manifest: dict[str, Any]) -> tuple[str, tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return what happens to missing values, the texts that mean missing, and what does so in one column only."""
    missing = reading.field(manifest, "missing", "an object") or {}
    reading.closed(missing, ("policy", "tokens", "codes"), "missing")
    policy = reading.field(missing, "policy", "text", "missing.")
    if policy not in (None, "drop", "value"):
        reading.manifest.append("missing.policy is neither drop nor value")
    tokens = reading.field(missing, "tokens", "a list of texts", "missing.") or []
    if len(set(tokens)) < len(tokens) or len(tokens) > _MOST_TOKENS or any(len(t) > _LONGEST_TOKEN for t in tokens):
        reading.private.append("missing.tokens are not a few short texts, each told once")
    codes = reading.field(missing, "codes", "an object of lists of texts", "missing.") if "codes" in missing else {}
    for texts in (codes or {}).values():
        short = all(0 < len(text) <= _LONGEST_TOKEN and text == text.strip(" ") for text in texts)
        if not texts or len(set(texts)) < len(texts) or len(texts) > _MOST_TOKENS or not short:
            reading.private.append("missing.codes are not a few short texts, each told once")
    if codes == {} and "codes" in missing:
        reading.private.append("missing.codes is there and has no codes")
    return str(policy), tuple(tokens), {name: tuple(texts) for name, texts in (codes or {}).items()}


def check_code_names(reading: Reading, codes: dict[str, tuple[str, ...]], coded: Sequence[str]) -> None:
    """Codes belong to quasi-identifiers and the sensitive column, in alphabetical order."""
    if list(codes) != sorted(set(codes) & set(coded)):
        reading.private.append("missing.codes names other columns than the coded ones, or not in alphabetical order")


def _read_all_quasi(reading: Reading, manifest: dict[str, Any], *, exact: bool) -> list[Quasi]:
    found = []
    entries = reading.field(manifest, "quasi", "a list")
    if entries == []:
        reading.manifest.append("quasi names no column")
    for number, entry in enumerate(entries or ()):
        if not isinstance(entry, dict):
            reading.manifest.append(f"quasi[{number}] is not an object")
            continue
        q = read_quasi(reading, entry, f"quasi[{number}].", exact=exact)
        found += [] if q is None else [q]
    return found


def read_promises(
    reading: Reading, manifest: dict[str, Any], *, has_sensitive: bool, names: Sequence[str] = ()
) -> list[Promise]:
    """Return the guarantees that are well formed; where there are several sensitive columns, `names` are theirs."""
    found = []
    for number, entry in enumerate(reading.field(manifest, "guarantees", "a list") or ()):
        where = f"guarantees[{number}]."
        if not isinstance(entry, dict):
            reading.manifest.append(f"guarantees[{number}] is not an object")
            continue
        kind = reading.field(entry, "kind", "text", where)
        if kind not in _PROMISES:
            reading.manifest.append(f"{where}kind is not one of {', '.join(_PROMISES)}")
            continue
        for key, wanted in _PROMISES[kind].items():
            reading.field(entry, key, wanted, where)
        known = ("kind", *_PROMISES[kind], *(["c"] if entry.get("l_kind") == "recursive" else []))
        if kind == "t" and "tree" in entry:
            known += ("tree",)
            if entry["tree"] is not True or entry.get("ordered") is not False:
                reading.manifest.append(f"{where}tree is there and is not true, or the order counts as well")
        if len(names) > 1 and kind in ABOUT_COLUMNS:
            known += ("column", "others_known")
            _check_column(reading, entry, names, where)
        reading.closed(entry, known, f"guarantees[{number}]")
        if kind == "l":
            _check_l(reading, entry, where)
        if kind not in ("k", "concealment") and not has_sensitive:
            reading.manifest.append(f"{where}kind {kind} needs a sensitive column")
        found.append(Promise(kind, entry))
    return found


def _check_column(reading: Reading, entry: dict[str, Any], names: Sequence[str], where: str) -> None:
    """A promise about one of several sensitive columns names it."""
    column = reading.field(entry, "column", "text", where)
    if column is not None and column not in names:
        reading.manifest.append(f"{where}column is not a sensitive column")
    if "others_known" in entry and entry["others_known"] is not True:
        reading.manifest.append(f"{where}others_known is there and is not true")


def _check_l(reading: Reading, entry: dict[str, Any], where: str) -> None:
    if entry.get("l_kind") not in _L_KINDS:
        reading.manifest.append(f"{where}l_kind is not one of {', '.join(_L_KINDS)}")
    if entry.get("l_kind") == "recursive":
        reading.field(entry, "c", "a number above 0", where)
        if is_number(entry.get("l")) and entry["l"] != int(entry["l"]):
            reading.manifest.append(f"{where}l is not a whole number, as recursive diversity needs")


def _check_names(reading: Reading, claims: Claims, target: str | None) -> None:
    announced = [q.name for q in claims.quasi] + list(claims.other)
    announced += [secret.name for secret in claims.secrets]
    if len(set(announced)) != len(announced):
        reading.manifest.append("a column is announced more than once")
    back = sorted(set(announced) & set(claims.dropped))
    if back:
        reading.manifest.append(f"columns {', '.join(map(repr, back))} are both dropped and announced")
    if target is not None and target not in announced:
        reading.manifest.append("target is not an announced column")
    columns = [f"{q.name}{end}" for q in claims.quasi for end in ("", ".lo", ".hi")] + list(claims.other)
    columns += [name for secret in claims.secrets for name in secret.columns]
    if len(set(columns)) != len(columns):
        reading.manifest.append("two payload columns have the same name")
