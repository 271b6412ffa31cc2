"""What a PMML file of trees may hold: elements at their places, attributes, and what these may say.

Names of columns are compared with the table when the model is audited; names of the file's own are numbers, or few and
short. Everything else is refused by its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from incrowd.audit.tokens import NUMBER
from incrowd.errors import IncompatibleError

_AS_EXPORTED = "export the model again, without anything added"
_MOST_TEXT = 200
_SHORT, _TYPE, _COUNT = r".{0,40}", "string|integer|float|double|boolean", r"\d{1,9}"
_OP, _PURPOSE = "continuous|categorical|ordinal", "classification|regression"
_SPACES = r"https?://(www\.dmg\.org/PMML-\d_\d(_\d)?|jpmml\.org/jpmml-model/InlineTable)"
_CHILDREN = {
    "PMML": "Header DataDictionary TreeModel MiningModel",
    "Header": "Application Timestamp",
    "DataDictionary": "DataField",
    "DataField": "Value",
    "MiningModel": "MiningSchema Output Segmentation",
    "TreeModel": "MiningSchema Output Node",
    "MiningSchema": "MiningField",
    "Output": "OutputField",
    "Segmentation": "Segment",
    "Segment": "True TreeModel",
    "Node": "True SimplePredicate ScoreDistribution Node",
}
_ONCE = ("Header", "DataDictionary", "MiningSchema", "Output", "Application", "Timestamp", "Segmentation")
_NAME = r"[\s\S]{1,200}"  # of a column, a class or a score, which are looked up
_SAID: dict[str, dict[str, str]] = {
    "PMML": {"version": r"\d\.\d(\.\d)?"},
    "Application": {"name": _SHORT, "version": _SHORT},
    "DataDictionary": {"numberOfFields": _COUNT},
    "DataField": {"name": _NAME, "optype": _OP, "dataType": _TYPE},
    "Value": {"value": _NAME},
    "MiningModel": {"functionName": _PURPOSE, "algorithmName": _SHORT, "modelName": _SHORT},
    "MiningField": {"name": _NAME, "usageType": "active|target|predicted"},
    "Segmentation": {
        "multipleModelMethod": r"\w{1,30}", "missingPredictionTreatment": "continue|skipSegment|returnMissing",
    },
    "Segment": {"id": _COUNT, "weight": NUMBER},
    "TreeModel": {
        "functionName": _PURPOSE, "algorithmName": _SHORT, "modelName": _SHORT,
        "missingValueStrategy": "none|nullPrediction|defaultChild|lastPrediction|weightedConfidence|aggregateNodes",
        "noTrueChildStrategy": "returnNullPrediction|returnLastPrediction",
        "splitCharacteristic": "binarySplit|multiSplit",
    },
    "OutputField": {
        "name": _NAME, "optype": _OP, "dataType": _TYPE, "value": _NAME, "targetField": _NAME,
        "feature": "predictedValue|probability",
    },
    "Node": {"id": _COUNT, "score": _NAME, "recordCount": NUMBER, "defaultChild": _COUNT},
    "SimplePredicate": {"field": _NAME, "operator": r"\w{1,20}", "value": NUMBER},
    "ScoreDistribution": {"value": _NAME, "recordCount": NUMBER},
}  # fmt: skip


def name_of(element: Any) -> str:  # noqa: ANN401
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def require_known(text: str, root: Any) -> None:  # noqa: ANN401
    """Refuse elements, attributes and texts that no export of trees has."""
    spaces = re.findall(r"\bxmlns(?::\w{1,8})?\s*=\s*[\"']([^\"']*)[\"']", text)
    if len(spaces) > 2 or text.count("xmlns") != len(spaces) or not all(re.fullmatch(_SPACES, one) for one in spaces):
        fact = "The PMML file names spaces of names that no export of trees names"
        raise IncompatibleError(fact, _AS_EXPORTED)
    if name_of(root) != "PMML":
        fact = "The file is XML, and not PMML"
        raise IncompatibleError(fact, _AS_EXPORTED)
    pending = [root]
    while pending:
        one = pending.pop()
        _require_attributes(one)
        _require_children(one)
        pending += list(one)
    _require_numbered([one for one in root.iter() if name_of(one) == "Node"])
    _require_own_names(root)


def _require_attributes(one: Any) -> None:  # noqa: ANN401
    name, known = name_of(one), _SAID.get(name_of(one), {})
    for key, value in one.attrib.items():
        if key not in known:
            fact = f"The PMML file holds '{key[:40]}' in {name}, which the audit does not understand"
            raise IncompatibleError(fact, _AS_EXPORTED)
        if re.fullmatch(known[key], value) is None:
            fact = f"The PMML file says of '{key}' in {name} what no export of trees says"
            raise IncompatibleError(fact, _AS_EXPORTED)
    text = one.text or ""
    is_time = name == "Timestamp" and re.fullmatch(r"[\d\s:.TZ+-]{0,40}", text) is not None
    texts = [one.tail or "", "" if is_time else text]
    if any(map(str.strip, texts)) or any(len(each) > _MOST_TEXT for each in texts):
        fact = f"The PMML file holds text in {name}, which the audit does not understand"
        raise IncompatibleError(fact, _AS_EXPORTED)


def _require_children(one: Any) -> None:  # noqa: ANN401
    name, found = name_of(one), Counter(map(name_of, one))
    foreign = sorted(set(found) - set(_CHILDREN.get(name, "").split()))
    if foreign:
        fact = f"The PMML file holds '{foreign[0][:40]}' in {name}, which the audit does not understand"
        raise IncompatibleError(fact, "export trees of numbers, without statistics, verification or extensions")
    twice = [each for each in _ONCE if found[each] > 1]
    if twice:
        fact = f"The PMML file has {found[twice[0]]} times {twice[0]} in {name}"
        raise IncompatibleError(fact, _AS_EXPORTED)


def _require_numbered(nodes: Sequence[Any]) -> None:
    """Refuse numbers of nodes that do not count them."""
    given = [int(node.attrib["id"]) for node in nodes if "id" in node.attrib]
    children = {id(node): {below.attrib.get("id") for below in node} for node in nodes}
    lost = [n for n in nodes if n.attrib.get("defaultChild", None) not in (None, *children[id(n)])]
    if lost or max(given, default=0) > 4 * len(nodes) + 4:  # some exports leave numbers out
        fact = "The PMML file gives its nodes numbers that do not count them"
        raise IncompatibleError(fact, _AS_EXPORTED)


def _require_own_names(root: Any) -> None:  # noqa: ANN401
    """Refuse names of parts that are no columns, more outputs than classes, and names inside an average."""
    parts: dict[str, list[Any]] = {name: [] for name in (*_SAID, "MiningSchema")}
    for one in root.iter():
        parts.get(name_of(one), []).append(one)
    fields = {one.attrib["name"] for one in parts["DataField"]}
    labels = {one.attrib["value"] for one in parts["Value"]}
    inner = [one for one in parts["TreeModel"] if one not in list(root)]
    schemas = [[one.attrib["name"] for one in schema] for schema in parts["MiningSchema"]]
    most = max(map(len, labels), default=0) + 40
    numbered = [one.attrib.get("id", str(i)) for i, one in enumerate(parts["Segment"])]
    is_known = (
        all(len(names) == len(set(names)) and set(names) <= fields for names in schemas)
        and all(one.attrib.get("targetField") in {None, *fields} for one in parts["OutputField"])
        and all(one.attrib.get("value") in {None, *labels} for one in parts["OutputField"])
        and all(len(one.attrib["name"]) <= most for one in parts["OutputField"])
        and len(parts["OutputField"]) <= len(labels) + 2
        and not any({"modelName", "algorithmName"} & set(one.attrib) for one in inner)
        and not any(name_of(part) == "Output" for one in inner for part in one)
        and numbered in ([str(i + first) for i in range(len(numbered))] for first in (0, 1))
        and all(int(one.attrib.get("numberOfFields", len(fields))) == len(fields) for one in parts["DataDictionary"])
    )
    if not is_known:
        fact = "The PMML file names columns, classes or trees that it does not have, or more than it has"
        raise IncompatibleError(fact, _AS_EXPORTED)
