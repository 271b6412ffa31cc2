"""Names with an order of their own: age bands, months, grades, answers from never to always.

Ranges of neighbours keep more of their meaning than groups in another order. Only bands of numbers, steps such as grade
2, and scales of a fixed list are recognized; all values of the column must be of one, marks of missing values aside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SCALES = tuple(
    tuple(scale.split("|"))
    for scale in (
        "very low|low|medium low|medium|moderate|average|medium high|high|very high|extreme",
        "none|minimal|mild|slight|minor|moderate|severe|major|serious|critical|fatal",
        "xxs|xs|s|m|l|xl|xxl|xxxl",
        "tiny|very small|small|medium|large|very large|huge",
        "very poor|very bad|poor|bad|fair|ok|average|good|very good|excellent",
        "never|hardly ever|rarely|seldom|occasionally|sometimes|often|usually|very often|mostly|always",
        "strongly disagree|disagree|somewhat disagree|neutral|undecided|somewhat agree|agree|strongly agree",
        "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
        "not at all|a little|somewhat|moderately|quite a bit|a lot|very much|extremely",
        "baby|infant|toddler|child|teenager|youth|young|young adult|middle-aged|adult|old|senior|elderly",
        "freshman|sophomore|junior|senior",
        "sehr niedrig|sehr gering|niedrig|gering|mittel|hoch|sehr hoch",
        "nie|selten|manchmal|gelegentlich|öfter|oft|häufig|meistens|immer",
        "sehr klein|klein|mittel|groß|sehr groß",
        "sehr schlecht|schlecht|mittel|gut|sehr gut",
        "ungenügend|mangelhaft|ausreichend|befriedigend|gut|sehr gut",
        "keine|leicht|mittel|schwer|sehr schwer|tödlich",
        "très faible|faible|moyen|moyenne|élevé|élevée|fort|forte|très élevé|très élevée|très fort",
        "jamais|rarement|parfois|souvent|toujours",
        "i|ii|iii|iv|v|vi|vii|viii|ix|x",
        "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
        "january|february|march|april|may|june|july|august|september|october|november|december",
        "januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember",
        "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre",
        "mon|tue|wed|thu|fri|sat|sun",
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag",
        "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    )
)
_LEAST = 3
_NUMBER = r"\d+(?:[.,]\d+)?"
_BAND = re.compile(
    rf"(?P<below><=?|≤|under|below|unter|bis|up to|moins de)?\s*(?P<low>{_NUMBER})\s*"
    rf"(?:(?:-|\u2013|to|bis|à|\.\.|<)\s*<?\s*(?P<high>{_NUMBER})|"
    r"(?P<above>\+|and (?:over|older)|or more|und älter|et plus))?"
    r"(?:\s*[^\W\d]+){0,2}",
    re.IGNORECASE,
)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|über|ab|plus de)\s*(?P<low>{_NUMBER})(?:\s*[^\W\d]+){{0,2}}", re.IGNORECASE)
_STEP = re.compile(
    r"(?P<word>grade|stage|level|phase|tier|quartile|quintile|decile|score|asa|nyha|grad|stufe|stadium|pflegegrad|"
    r"schuljahr|niveau|stade|degré)[ _-]*(?P<step>\d{1,2}|[ivx]{1,4})",
    re.IGNORECASE,
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def find_order(names: Sequence[str]) -> tuple[list[str], str] | None:
    """Return names in an order that they have by themselves, and what it is; None if they have none that is known.

    >>> find_order(["65+", "18-24", "25-64", "<18"])
    (['<18', '18-24', '25-64', '65+'], 'bands of numbers')
    >>> find_order(["High", "Low", "Medium"])
    (['Low', 'Medium', 'High'], 'a scale')
    >>> find_order(["nurse", "clerk", "cook"]) is None
    True
    """
    plain = [" ".join(name.split()).casefold() for name in names]
    if len(names) < _LEAST or len(set(plain)) < len(plain):
        return None
    for scale in _SCALES:
        if all(name in scale for name in plain):
            return [name for _, name in sorted(zip(map(scale.index, plain), names, strict=True))], "a scale"
    for measure, what in ((_band, "bands of numbers"), (_step, "steps")):
        keys = [measure(name) for name in plain]
        known = [key for key in keys if key is not None]
        if len(known) == len(keys) and len({key[1:] for key in known}) == len(keys) and len({k[0] for k in known}) == 1:
            return [name for _, name in sorted(zip(known, names, strict=True))], what
    return None


def _band(name: str) -> tuple[str, float, float] | None:
    """Return where a band begins and ends."""
    if found := _ABOVE.fullmatch(name):
        return "", _number(found["low"]), float("inf")
    found = _BAND.fullmatch(name)
    if found is None or not (found["below"] or found["high"] or found["above"]):
        return None
    low = _number(found["low"])
    if found["below"] and not found["high"]:
        return "", float("-inf"), low
    high = float("inf") if found["above"] else _number(found["high"])
    return ("", low, high) if low <= high else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _step(name: str) -> tuple[str, float, float] | None:
    """Return the word and the number of a step, such as grade 2 or stage iii."""
    found = _STEP.fullmatch(name)
    if found is None:
        return None
    step = found["step"]
    if not step.isdigit() and step not in _ROMAN:
        return None
    return found["word"], float(step) if step.isdigit() else _ROMAN.index(step) + 1.0, 0.0
