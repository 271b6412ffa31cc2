"""The promise of a release in words that need no training: from its public manifest alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from incrowd.errors import counted
from incrowd.manifest import GROUPS, JOINED, OVERLAPPING, Guarantee, Manifest, ProjectionsManifest, RowsManifest
from incrowd.report.summary import Promise

_MOST_NAMES = 12
_NOBODY = "This file hides nobody: its smallest crowd is one person."
_CROWDS = {JOINED: "combination of values by which people could be recognized is shared by at least {k} rows"}
_KNOWN = dict.fromkeys((GROUPS, OVERLAPPING), "People could be recognized by (generalized)")
_KNOWN |= {JOINED: "People could be recognized by"}


def promise_of(manifest: Manifest) -> Promise:
    """Say what a release promises, and which columns that is about."""
    return Promise(_sentence(manifest), _points(manifest), _roles(manifest))


def listed(names: Sequence[str], *, most: int = _MOST_NAMES) -> str:
    """Write names as a list of a sentence.

    >>> listed(["age", "zip", "sex"]), listed(["a", "b", "c", "d"], most=2)
    ("'age', 'zip' and 'sex'", "'a', 'b' and 2 more")
    """
    if not names:
        return "nothing"
    shown = [f"'{name}'" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _sentence(manifest: Manifest) -> str:
    return _SENTENCES[manifest.crowds](manifest)


def _of_groups(manifest: RowsManifest) -> str:
    few = _few_known(manifest)
    if few or manifest.k == 1:
        return few or _NOBODY
    head = f"By {listed(manifest.known)}, nobody in this file can be told apart from at least "
    head += counted(manifest.k - 1, "other person", "other people")
    return f"{head}{_about_values(manifest, 'in such a crowd')}."


def _of_overlapping(manifest: RowsManifest) -> str:
    few = _few_known(manifest)
    if few or manifest.k == 1:
        return few or _NOBODY
    head = (
        f"By {listed(manifest.known)}, every row of this file fits at least {manifest.k} people of the original table"
    )
    told = [secret.name for secret in manifest.secrets if secret.form != "exact"]
    if told:
        head += f", and what it says about {listed(told)} are shares of at least {manifest.k} people"
        return f"{head}{_about_values(manifest, 'for one row')}."
    return f"{head}{_about_values(manifest, 'for one person')}."


def _few_known(manifest: RowsManifest) -> str:
    """Return the whole sentence where the promise is about whoever knows a few values; else nothing."""
    for guarantee in manifest.guarantees if manifest.k > 1 else ():
        if guarantee.kind == "lkc":
            some = counted(int(guarantee.L or 1), "value", "values")
            head = f"Somebody who knows any {some} of a person, of {listed(manifest.known)}, finds at least "
            return head + f"{manifest.k} rows of this file that fit that person{_about_values(manifest, 'among them')}."
    return ""


def _about_values(manifest: RowsManifest, where: str) -> str:
    """Return the end of the sentence: the largest share of a sensitive value, if one is promised."""
    limits = {name: manifest.belief_about(name) for name in manifest.secret_names}
    parts = [
        f"no value of '{name}' has more than {belief:.1%} {where}" for name, belief in limits.items() if belief < 1
    ]
    return f"; and {', and '.join(parts)}" if parts else ""


def _of_tables(manifest: ProjectionsManifest) -> str:
    if manifest.k == 1:
        return "These tables hide nobody: their smallest crowd is one row."
    if manifest.parts == ((),):
        return f"This file shows nothing but '{manifest.target.name}'; no other column is published."
    n = len(manifest.parts)
    tables = "this table" if n == 1 else f"each of these {n} tables"
    head = f"By {listed(manifest.known)}, as far as they are published, everybody fits at least {manifest.k} rows of "
    head += tables
    head += f", and at least {manifest.k} joined rows of any two of them" if n > 1 else ""
    if manifest.belief < 1:
        head += f"; and in no such crowd of one table does a value of '{manifest.target.name}' have more than "
        head += f"{manifest.belief:.1%}"
    return f"{head}."


_SENTENCES: dict[str, Callable[[Any], str]] = {GROUPS: _of_groups, OVERLAPPING: _of_overlapping, JOINED: _of_tables}


def _points(manifest: Manifest) -> tuple[str, ...]:
    secrets = manifest.secret_names
    secret = secrets[0] if secrets else None
    whole = _CROWDS.get(manifest.crowds, "row fits at least {k} people")
    points = [_point(guarantee, secret, f"every {whole.format(k=guarantee.k)}") for guarantee in manifest.guarantees]
    if secret is None:
        points.append("No column was named as sensitive, so nothing is promised about what rows say.")
    elif manifest.belief >= 1:
        limited = {g.column for g in manifest.guarantees if g.kind not in ("k", "lkc")}
        points += [
            f"Nothing is promised about the values of '{name}': if all people of a crowd share one, it is known of "
            "each of them."
            for name in (secrets if None not in limited else ())
            if name not in limited
        ]
    return tuple(points)


def _point(guarantee: Guarantee, secret: str | None, crowd: str) -> str:
    named = guarantee.column or secret
    value = f"'{named}'" if named is not None else "the sensitive column"
    words = {
        "k": crowd,
        "t": f"the values of {value} in a crowd are spread much as in the whole table (distance at most {guarantee.t})"
        + (", values that are near in their tree being near" if guarantee.tree else ""),
        "alpha": f"no value of {value} has a larger share than this in a crowd",
        "beta": (
            f"no value of {value} is more frequent in a crowd than in the whole table by more than "
            f"{guarantee.beta} times its share there" + (", nor certain" if guarantee.enhanced else "")
        ),
        "delta": (
            f"every crowd has every value of {value}, less than {2 ** (guarantee.delta or 0):.3g} times as frequent or "
            "rare as the whole table"
        ),
        "width": f"the least and the greatest {value} in a crowd are at least {guarantee.width or 0:.10g} apart",
        "m": (
            f"somebody who has all releases of the series finds {guarantee.m} values of {value} equally likely for "
            "everybody"
        ),
        "concealment": (
            f"somebody who matches all people with all rows finds {guarantee.k} rows that may be a person's"
        ),
        "lkc": (
            f"whoever knows {guarantee.L} values of a person finds at least {guarantee.K} people, and no value of "
            f"{value} among them with more than {guarantee.C:.1%}" if guarantee.kind == "lkc" else ""
        ),
    }  # fmt: skip
    if guarantee.kind != "l":
        return f"{guarantee.text}: {words[guarantee.kind]}."
    kinds = {
        "frequency": f"no value of {value} has more than {guarantee.belief or 1:.1%} in a crowd",
        "distinct": f"every crowd has at least {guarantee.text.split()[2]} different values of {value}",
        "entropy": f"the values of {value} in a crowd are as mixed as that many equally frequent ones (entropy)",
        "recursive": f"the most frequent value of {value} in a crowd does not outweigh the rarer ones (recursive)",
    }
    return f"{guarantee.text}: {kinds[str(guarantee.l_kind)]}."


def _roles(manifest: Manifest) -> tuple[tuple[str, tuple[str, ...]], ...]:
    roles = [
        (_KNOWN[manifest.crowds], manifest.known),
        ("Sensitive", manifest.secret_names),
        ("Published as they came (not protected)", manifest.untouched),
        ("Left out of all tables", manifest.left_out),
        ("Never published", tuple(name for name in manifest.dropped if name not in manifest.left_out)),
        ("The class, which classifiers predict", (manifest.class_name,) if manifest.class_name else ()),
    ]
    return tuple((what, names) for what, names in roles if names)
