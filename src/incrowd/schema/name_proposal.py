"""What names and codes may become: a proposal that means something, with its reason.

Codes that share beginnings are shortened; names that share words are joined by these; other names stand in the order of
their classes, or, if there is no class, the rare ones are joined. Reasons name no value of the table.
"""

from __future__ import annotations

import re
from collections import Counter

import polars as pl

from incrowd.errors import counted
from incrowd.hierarchy import Spec, by_class, common, prefixes, words
from incrowd.hierarchy.name_trees import words_of

WIDE = 30  # distinct names from which shared beginnings and words are looked for: fewer are grouped well by anything
_BRANCHING = 3  # see incrowd.hierarchy.steps
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./-]{1,11}")
_WORD_INSIDE = re.compile(r"[A-Za-z]{4}")  # codes have single letters, not words
_FEW_FORMS, _IN_THESE = 8, 0.95  # codes of a system have few forms (A99.9, A99); random texts have many
_SHARED = 0.5  # of the names that must share a word with another one
_CERTAIN = 20  # rows; see `incrowd.by_class`
_CODE_SYSTEM = re.compile(
    r"(?:^|[^a-z])(?:isco(?:08)?|isic|nace|naics|noga|soc|kldb|icd|nuts|lau|fips|ags|cpv|cpc)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_OWN = "your own groups may mean more (docs: hierarchies)"


def propose_for_names(values: pl.Series, *, has_class: bool = True) -> tuple[Spec | None, str]:
    """Return a hierarchy for text values, and why.

    Parameters
    ----------
    values
        A column without missing values.
    has_class
        Whether there is a class by which names can be ordered.
    """
    counts = values.cast(pl.String()).value_counts(name="rows")
    names: list[str] = counts.to_series(0).to_list()
    n = len(names)
    if n >= WIDE and are_codes(names):
        return prefixes_for(n), (
            f"{n} distinct codes that share beginnings: shortened from the right, such as E11.* and E1***"
        )
    at, n_words = _shared_words(names) if n >= WIDE else ("", 0)
    if n_words:
        where = "first" if at == "start" else "last"
        return words(at, branching=_BRANCHING), (
            f"{n} distinct names, most of which share their {where} word with others ({n_words} such words): joined by "
            f"their {where} words; {_OWN}"
        )
    n_rare = int((counts["rows"] < _CERTAIN).sum())
    rare = f" ({n_rare} with fewer than {_CERTAIN} rows stand in alphabetical order)" if n >= WIDE and n_rare else ""
    if has_class:
        return by_class(), f"{n} distinct names: ordered by how often each class occurs with them{rare}; {_OWN}"
    kept = counted(n - n_rare, "is common", "are common")
    return common(), f"{n} distinct names that share no words: {kept} and kept longest, rare ones are joined; {_OWN}"


def prefixes_for(n_distinct: int) -> Spec:
    """Return beginnings of codes; where there are many codes, with steps between beginnings."""
    return prefixes(branching=_BRANCHING) if n_distinct >= WIDE else prefixes()


def is_code_system(values: pl.Series) -> bool:
    """Whether whole numbers are codes of a known classification, by the name of the column and their equal length."""
    return (
        _CODE_SYSTEM.search(values.name) is not None
        and int(values.min()) > 0  # type: ignore[arg-type]
        and values.cast(pl.String()).str.len_chars().n_unique() == 1
        and len(str(values.max())) > 1
    )


def are_codes(names: list[str]) -> bool:
    """Whether these are codes of few forms that share beginnings.

    >>> are_codes([f"{letter}{n}.{d}" for letter in "ABC" for n in range(10, 20) for d in range(3)])
    True
    >>> are_codes(["nurse", "doctor", "cook"])
    False
    """
    coded = [name for name in names if _CODE.fullmatch(name) and not _WORD_INSIDE.search(name)]
    if len(coded) < _IN_THESE * len(names) or sum(map(_has_digit, coded)) < _IN_THESE * len(coded):
        return False
    forms = Counter(re.sub("[A-Za-z]", "A", re.sub(r"\d", "9", name)) for name in coded)
    if sum(n for _, n in forms.most_common(_FEW_FORMS)) < _IN_THESE * len(coded):
        return False
    lengths = range(1, max(map(len, names)))
    return any(1 < len({name[:length] for name in names}) <= len(names) / 3 for length in lengths)


def _has_digit(name: str) -> bool:
    return any(map(str.isdigit, name))


def _shared_words(names: list[str]) -> tuple[str, int]:
    """Return the end at which most names share a word, and how many such words there are; 0 if too few names do."""
    best, found = 0, ("start", 0)
    for at in ("start", "end"):
        first = Counter(word for name in names if (word := words_of(name, at)[0].casefold()).isalpha())
        shared = {word: n for word, n in first.items() if n > 1}
        n_joined = sum(shared.values()) - len(shared)  # fewer heads for as many names are better
        if len(shared) > 1 and sum(shared.values()) >= _SHARED * len(names) and n_joined > best:
            best, found = n_joined, (at, len(shared))
    return found
