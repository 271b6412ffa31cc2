"""What each method may be given, and what it must promise for it: names, types and options, and nothing else.

A parameter that is not listed, a text that is no option, or a key in another place could carry a message; a promise
that the parameters ask for and the manifest does not repeat would not be checked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from incrowd.verify.domain import is_number, is_text, is_whole

Fits = Callable[[Any], bool]
Guarantees = list[dict[str, Any]]

L_KINDS = ("frequency", "distinct", "entropy", "recursive")
HOMOGENEOUS, NON_HOMOGENEOUS = "homogeneous", "non-homogeneous"

_NAME = re.compile(r"[a-z_0-9]{1,40}")
_LARGEST, _SMALLEST, _WIDEST = (
    1e9,
    1e-12,
    1e15,
)  # beyond them, digits change nothing in any table, and could tell something else


def _whole(least: int) -> Fits:
    return lambda value: is_whole(value) and value >= least


def _number(least: float, most: float = _LARGEST) -> Fits:
    return lambda value: is_number(value) and (value == least or max(least, _SMALLEST) <= value <= most)


def _above_0(most: float) -> Fits:
    return _number(_SMALLEST, most)


def _one_of(*options: str) -> Fits:
    return lambda value: isinstance(value, str) and value in options


def _or_null(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _are_sets(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(known, list) and all(map(is_text, known)) for known in value)


def _for_each(fits: Fits) -> Fits:
    """One value, or an object with one for each sensitive column; `_each_column` judges its keys."""
    return lambda value: fits(value) or (isinstance(value, dict) and len(value) > 1 and all(map(fits, value.values())))


def _is_presplit(value: object) -> bool:
    return value in (None, "auto") or _whole(2)(value)


_GROUPS: dict[str, Fits] = {
    "k": _whole(1),
    "l": _for_each(_number(1)),
    "l_kind": _for_each(_one_of(*L_KINDS)),
    "c": _for_each(_above_0(_LARGEST)),
    "t": _for_each(_or_null(_number(0, 1))),
    "ordered": _for_each(_is_bool),
    "alpha": _for_each(_or_null(_above_0(1))),
}
_CONCEALMENT: dict[str, Fits] = {"concealment": lambda value: value is True}
_LATER: tuple[dict[str, Fits], ...] = (
    {"others_known": lambda value: value is True},
    {"beta": _for_each(_or_null(_above_0(_LARGEST))), "enhanced": _for_each(_is_bool)},
    {"delta": _for_each(_or_null(_above_0(64)))},
    {"tree": _for_each(_is_bool)},
    {"width": _for_each(_or_null(_above_0(_WIDEST)))},
)
"""Parameters of groups that a manifest names only where they are asked for, in this order."""
_K_AND_L: dict[str, Fits] = {"k": _whole(1), "l": _number(1)}
_LOSS = _one_of("lm", "entropy", "monotone_entropy")
_ANY_LOSS = _one_of("lm", "entropy", "monotone_entropy", "dm", "aecs", "cm", "kl", "nmi")
_GAIN = _one_of("information", "gini")
_DMPD: dict[str, Fits] = _K_AND_L | {
    "generations": _whole(0),
    "population": _whole(1),
    "folds": _whole(2),
    "inducer": _one_of("tree", "c45", "naive_bayes", "custom"),
    "crossover": _number(0, 1),
    "mutation": _number(0, 1),
    "suppress": _number(0, 1),
    "quasi_sets": _or_null(_are_sets),
    "patience": _or_null(_whole(1)),
    "seconds": _or_null(_number(0)),
}
_CRITERION: dict[str, Fits] = {"criterion": _one_of("fayyad", "kononenko")}
_ARCHIVE: dict[str, Fits] = {"archive": _or_null(_whole(2))}
_IACC: dict[str, Fits] = {"delta_c": _or_null(_number(0)), "delta_d": _or_null(_number(0)), "keep_values": _is_bool}
_TREE_ESTIMATOR: dict[str, Fits] = {
    "k": _whole(1),
    "l": _or_null(_number(1)),
    "max_confidence": _or_null(_above_0(1)),
    "gain": _GAIN,
}

PARAMETERS: dict[str, tuple[dict[str, Fits], ...]] = {
    "mondrian": (
        _GROUPS | {"recoding": _one_of("multi", "single"), "strict": _is_bool, "cut": _one_of("median", "loss")},
    ),
    "tight_groups": (_GROUPS | {"sweeps": _whole(0)},),
    "mdav": (_GROUPS | {"class_weight": _number(0)},),
    "best_cuts": (_GROUPS | {"runs": _or_null(_whole(1))},),
    "m_invariance": ({"k": _whole(1), "l": _whole(2), "person": lambda value: value is None or is_text(value)},),
    "infogain_mondrian": (_GROUPS,),
    "lattice": (
        _GROUPS | {"suppress": _number(0, 1), "loss": _ANY_LOSS, "local": _is_bool, "seconds": _or_null(_number(0))},
    ),
    "k_optimal": (
        _GROUPS
        | {
            "loss": _one_of("dm", "cm"),
            "points": _whole(1),
            "looks": _whole(1),
            "seconds": _or_null(_number(0)),
        },
    ),
    "iyengar": (
        _GROUPS | {"loss": _one_of("lm", "cm"), "points": _whole(1), "population": _whole(1), "rounds": _whole(0)},
    ),
    "iack": (_GROUPS | {"mode": _one_of("filled", "paper")}, _GROUPS),
    "iacc": (_GROUPS | _IACC,),
    "tree": (_GROUPS | {"gain": _GAIN, "tighten": _is_bool}, _TREE_ESTIMATOR),
    "kactus": (_GROUPS | {"min_rows": _or_null(_whole(1)), "confidence": _or_null(_above_0(0.5))},),
    "tds": (_GROUPS,),
    "tdr": (_GROUPS,),
    "bottom_up": (_GROUPS,),
    "seqa": (
        _GROUPS
        | {
            "loss": _LOSS,
            "start": _one_of("mondrian", "single_mondrian", "random", "best"),
            "omega": _number(1, _LARGEST),
            "passes": _whole(1),
        },
    ),
    "pais": (
        {
            "k": _whole(1),
            "L": _or_null(_whole(1)),
            "C": _above_0(1),
            "l": _number(1),
            "score": _one_of("infogain", "discernibility"),
        },
    ),
    "nhaa": (_K_AND_L | {"cluster": _or_null(_whole(1))},),
    "nsvdist": (
        {"k": _whole(1), "l": _for_each(_number(1))}
        | {
            "mode": _one_of("hardened", "paper"),
            "loss": _LOSS,
            "presplit": _is_presplit,
        },
    ),
    "dmpd": (_DMPD | _CRITERION, _DMPD),
    "pareto_dmpd": (_DMPD | _CRITERION | _ARCHIVE, _DMPD | _ARCHIVE),
}
"""The parameters of each method in their order; a method may have several lists of them."""

_PROJECTIONS = ("dmpd", "pareto_dmpd")
SERIES = "m_invariance"
"""The method whose releases of a growing table belong together."""
EVIDENCE_OF_SERIES = ("groups", "people", "signatures")
_ONE_SECRET = ("pais", "nhaa", SERIES, *_PROJECTIONS)
_NON_HOMOGENEOUS = ("nhaa", "nsvdist")
_NO_RECODING = ("seqa", "tight_groups", "mdav", SERIES, *_NON_HOMOGENEOUS, *_PROJECTIONS)
_CELLS = {
    "best_cuts": "groups",
    "infogain_mondrian": "groups",
    "seqa": "groups",
    "tight_groups": "groups",
    "mdav": "groups",
    "kactus": "groups or all",  # what is not on the path of a group
    "tds": "columns or all",  # what was not disclosed of a column without a taxonomy
    "tdr": "columns or all",
    "bottom_up": "columns or all",
    "pais": "columns or all",
    "k_optimal": "one for a value",
    "iyengar": "one for a value",
    "iack": "one for a value",
    "iacc": "one for a value",
}
_MORE_K = ("iacc", "pareto_dmpd")  # they promise the k that they have reached


def recoding_of(name: object) -> str | None:
    """Return the recoding of a method that generalizes rows; ``None`` for any other."""
    if not isinstance(name, str) or name not in PARAMETERS or name in _PROJECTIONS:
        return None
    return NON_HOMOGENEOUS if name in _NON_HOMOGENEOUS else HOMOGENEOUS


def cells_of(method: object) -> str | None:
    """Return of what a method's cells are closures: ``groups`` of rows, or the values of ``columns``.

    ``groups or all`` and ``columns or all`` where a cell may also be everything; ``one for a value`` where cells are
    nodes of a level, wider than closures, and one of them is everything; ``None`` where a method promises neither.
    """
    name, parameters = _parts(method)
    if name == "mondrian":
        return "columns" if parameters.get("recoding") == "single" else "groups"
    if name == "lattice":
        return None if parameters.get("local") is True else "one for a value"
    if name == "tree":
        return "groups" if parameters.get("tighten") is True else None
    return _CELLS.get(name) if isinstance(name, str) else None


def makes_recoding(method: object) -> bool:
    """Tell whether a method may leave a recoding of new rows with the owner; one that is not ours may."""
    name, parameters = _parts(method)
    if name in _NO_RECODING or (name == "tree" and "max_confidence" in parameters):
        return False
    if name == "lattice":
        return parameters.get("local") is not True
    return name != "mondrian" or parameters.get("strict") is not False


def evidence_of(method: object) -> tuple[str, ...] | None:
    """Return the stems of the evidence that a method leaves with the owner; ``None`` for a method that is not ours."""
    name, parameters = _parts(method)
    if not isinstance(name, str) or name not in PARAMETERS:
        return None
    if name == "nhaa":
        return ("rings",)
    if name == SERIES:
        return EVIDENCE_OF_SERIES
    return ("blocks", "members") if name == "nsvdist" and parameters.get("mode") == "hardened" else ()


def method_problems(
    method: object,
    guarantees: object,
    payload: str,
    *,
    recoding: str | None = None,
    form: str | None = None,
    names: Sequence[str] = (),
) -> tuple[list[str], str | None]:
    """Say what is wrong with a method's parameters and promises, and what could not be checked.

    Parameters
    ----------
    method, guarantees, recoding
        As the manifest has them.
    payload
        ``rows`` or ``projections``.
    form
        That of the sensitive columns, if there are any; `names` are theirs.
    """
    name, parameters = _parts(method)
    if not isinstance(method, dict) or list(method) != ["name", "parameters"]:
        return ["method is not a name with parameters"], None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return ["method.name is not a short name"], None
    if not isinstance(method["parameters"], dict):
        return ["method.parameters is not an object"], None
    if name not in PARAMETERS:
        return [], f"method {name!r} is not one that this verifier knows: its parameters were not checked"
    if (name in _PROJECTIONS) != (payload == "projections"):
        return [f"method {name!r} does not publish {payload}"], None
    paper = name == "nsvdist" and parameters.get("mode") == "paper"
    if len(names) > 1 and (name in _ONE_SECRET or paper or "max_confidence" in parameters):
        return [f"method {name!r} protects one sensitive column, and there are {len(names)}"], None
    if (
        name == "nsvdist"
        and parameters.get("concealment")
        and (parameters.get("mode"), parameters.get("loss")) != ("hardened", "lm")
    ):
        return ["method 'nsvdist' conceals in mode 'hardened' with loss 'lm' only"], None
    problems = _parameter_problems(name, parameters, names)
    return problems or _claim_problems(name, parameters, guarantees, recoding, form, names), None


def _parameter_problems(name: str, parameters: dict[str, Any], names: Sequence[str]) -> list[str]:
    known = next((own for own in _lists_of(name, parameters, names) if list(own) == list(parameters)), None)
    if known is None:
        return [f"method {name!r} has other parameters than {', '.join(PARAMETERS[name][0])}, in this order"]
    wrong = [parameter for parameter, fits in known.items() if not fits(parameters[parameter])]
    wrong += [n for n, value in parameters.items() if isinstance(value, dict) and list(value) != list(names)]
    later = [n for n in ("beta", "delta", "width") if n in parameters]
    wrong += [n for n in later if all(value is None for value in _each(parameters[n]))]
    wrong += ["tree"] if not any(_each(parameters.get("tree", True))) else []
    wrong += ["enhanced"] if any(_lacks_beta(parameters, column) for column in names or ("",)) else []
    return [f"the parameter {parameter!r} of {name!r} has a value that it cannot have" for parameter in wrong]


def _lists_of(name: str, given: dict[str, Any], names: Sequence[str]) -> Iterator[dict[str, Fits]]:
    """Yield the lists of parameters that a method may have; of several sensitive columns others may be known."""
    for own in PARAMETERS[name]:
        if "alpha" not in own:
            yield own
            if name in _NON_HOMOGENEOUS:
                yield own | _CONCEALMENT
            continue
        at = list(own).index("alpha") + 1
        more = [later for later in _LATER if any(key in given for key in later)]
        more = [later for later in more if len(names) > 1 or "others_known" not in later]
        added = [item for later in more for item in later.items()]
        yield dict([*list(own.items())[:at], *added, *list(own.items())[at:]])


def _each(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else [value]


def _lacks_beta(given: dict[str, Any], column: str) -> bool:
    """Tell whether enhanced is asked for a column of which beta is not: it would say nothing of the rows."""
    beta, enhanced = (
        value.get(column) if isinstance(value, dict) else value for value in (given.get("beta"), given.get("enhanced"))
    )
    return enhanced is True and beta is None


def _claim_problems(
    name: str,
    parameters: dict[str, Any],
    guarantees: object,
    recoding: str | None,
    form: str | None,
    names: Sequence[str],
) -> list[str]:
    """Say what a manifest claims that a method with these parameters does not."""
    if not isinstance(guarantees, list) or not all(isinstance(promise, dict) for promise in guarantees):
        return ["guarantees is not a list of objects"]
    problems = []
    if not any(_same(promised, guarantees) for promised in _promised(name, parameters, guarantees, names)):
        problems.append(f"the guarantees are not those that the parameters of {name!r} ask for")
    if recoding is not None and recoding != recoding_of(name):
        problems.append(f"recoding is not {recoding_of(name)}, and that of {name!r} is")
    forms = {"hardened": "shares", "paper": "counts"} if name == "nsvdist" else {}
    wanted = forms.get(parameters.get("mode", ""), "exact")
    if form is not None and form != wanted:
        problems.append(f"sensitive.form is not {wanted}, and that of {name!r} is")
    return problems


def _parts(method: object) -> tuple[Any, dict[str, Any]]:
    if not isinstance(method, dict):
        return None, {}
    parameters = method.get("parameters")
    return method.get("name"), parameters if isinstance(parameters, dict) else {}


def _same(promised: Guarantees, told: Guarantees) -> bool:
    """Tell whether both would be written alike: keys in the same order, 1 is not 1.0."""
    return json.dumps(promised) == json.dumps(told)


def _promised(name: str, given: dict[str, Any], told: Guarantees, names: Sequence[str]) -> list[Guarantees]:
    """Return the lists of guarantees that a method may write for its parameters, given the levels that it tells."""
    if name == "pais":
        return _promised_by_pais(given, told)
    k = given["k"]
    if name in _MORE_K and told and is_whole(told[0].get("k")):
        k = max(k, told[0]["k"])
    if name == "iack" and given.get("mode") == "paper" and told and is_whole(told[0].get("k")):
        k = max(1, min(k, told[0]["k"]))  # as written, the rows of * may be fewer than k: it promises what it has
    if "max_confidence" in given:
        l = 1 if given["l"] is None else given["l"]
        return [_of_groups(k, {"l": l, "l_kind": "entropy", "alpha": given["max_confidence"]})]
    more: Guarantees = [{"kind": "m", "m": given["l"]}] if name == SERIES else []
    more += [{"kind": "concealment", "k": k}] if given.get("concealment") else []
    if len(names) < 2:
        return [[*_of_groups(k, given), *more]]
    found: Guarantees = [{"kind": "k", "k": k}]
    for column in names:
        own = {key: value[column] if isinstance(value, dict) else value for key, value in given.items()}
        about = {"column": column} | ({"others_known": True} if given.get("others_known") else {})
        found += [promise | about for promise in _of_groups(k, own)[1:]]
    return [[*found, *more]]


def _of_groups(k: int, given: dict[str, Any]) -> Guarantees:
    found: Guarantees = [{"kind": "k", "k": k}]
    l, l_kind = given["l"], given.get("l_kind", "frequency")
    if l > 1 or l_kind == "recursive":
        found.append({"kind": "l", "l": l, "l_kind": l_kind} | ({"c": given["c"]} if l_kind == "recursive" else {}))
    if given.get("t") is not None:
        along = {"tree": True} if given.get("tree") else {}
        found.append({"kind": "t", "t": given["t"], "ordered": given["ordered"]} | along)
    if given.get("alpha") is not None:
        found.append({"kind": "alpha", "alpha": given["alpha"]})
    if given.get("beta") is not None:
        found.append({"kind": "beta", "beta": given["beta"], "enhanced": given["enhanced"]})
    if given.get("delta") is not None:
        found.append({"kind": "delta", "delta": given["delta"]})
    if given.get("width") is not None:
        found.append({"kind": "width", "width": given["width"]})
    return found


def _promised_by_pais(given: dict[str, Any], told: Guarantees) -> list[Guarantees]:
    """LKC, and what it means for all quasi-identifiers where L covers them; a smaller L than asked for covers them."""
    l, share = given["l"], given["C"]
    all_of_them: Guarantees = [{"kind": "k", "k": given["k"]}]
    if l > 1:
        all_of_them.append({"kind": "l", "l": l, "l_kind": "frequency"})
    elif share < 1:
        all_of_them.append({"kind": "alpha", "alpha": share})
    told_L = told[-1].get("L") if told else None
    lkc = {"kind": "lkc", "L": told_L, "K": given["k"], "C": _confidence(l, share)}
    if not is_whole(told_L):  # without a sensitive column there is nothing else to promise
        return [all_of_them] if given["L"] is None and len(all_of_them) == 1 else []
    if given["L"] is None or told_L < given["L"]:
        return [[*all_of_them, lkc]]
    return [[*all_of_them, lkc], [lkc]] if told_L == given["L"] else []


def _confidence(l: float, share: float) -> float:
    """Return the largest share as a float, which is never below 1/l."""
    exactly = 1 / Fraction(str(l)) if l > 1 else Fraction(str(share))
    found = float(exactly)
    while Fraction(str(found)) < exactly:
        found = math.nextafter(found, 2)
    return found
