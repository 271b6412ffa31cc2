"""Trees in PMML files: a TreeModel, or a MiningModel that averages some, of numbers compared with numbers.

The XML is read without document types, entities, comments and processing instructions, which are refused. Every element
and attribute is known, or it is refused by its name: PMML has room for rows (ModelVerification), statistics of columns
and extensions. A node may have several children, of which the first whose predicate holds is taken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from incrowd.audit.exchanged import UNCOUNTED, Exchanged, PlainTree, Test, tree_of
from incrowd.errors import IncompatibleError, InputError

_AS_EXPORTED = "export the model again, without anything added"
_MOST_TEXT = 200
_CLOSE = 1e-6
_MOST_BYTES = 500_000_000
_KNOWN = {
    "PMML": "version", "Header": "", "Application": "name version", "Timestamp": "",
    "DataDictionary": "numberOfFields", "DataField": "name optype dataType", "Value": "value",
    "MiningModel": "functionName algorithmName modelName", "MiningSchema": "", "MiningField": "name usageType",
    "Segmentation": "multipleModelMethod missingPredictionTreatment", "Segment": "id weight",
    "TreeModel": "functionName algorithmName modelName missingValueStrategy noTrueChildStrategy splitCharacteristic",
    "Output": "", "OutputField": "name optype dataType feature value targetField",
    "Node": "id score recordCount defaultChild", "True": "", "SimplePredicate": "field operator value",
    "ScoreDistribution": "value recordCount",
}  # fmt: skip
_RULES = {"lessOrEqual": "<=", "lessThan": "<", "greaterThan": ">", "greaterOrEqual": ">="}
_TYPES = {"float": True, "double": False, "integer": False}


def read_pmml(path: str | Path) -> Exchanged:
    """Read the trees of a file."""
    path = Path(path)
    if path.stat().st_size > _MOST_BYTES:
        fact = f"'{path.name}' is larger than a model file that the audit reads"
        raise InputError(fact, "audit a model with fewer trees")
    try:
        text = path.read_text(encoding="utf-8-sig")
        hidden = re.search(r"<!|<\?", re.sub(r"\A\s*<\?xml [^<>]{0,100}\?>", "", text))
        if hidden:
            fact = "The PMML file holds a document type, an entity, a comment or an instruction"
            raise IncompatibleError(fact, _AS_EXPORTED)
        root = ET.fromstring(text)  # without document types nothing can be expanded
        return _model(root)
    except (ET.ParseError, UnicodeDecodeError, KeyError, ValueError, RecursionError) as error:
        fact = f"'{path.name}' cannot be read as PMML: {type(error).__name__}"
        raise InputError(fact, "give a PMML file of trees in UTF-8") from None


def _name(element: Any) -> str:  # noqa: ANN401
    return str(element.tag).rpartition("}")[2]


def _require_known(element: Any) -> None:  # noqa: ANN401
    """Refuse elements, attributes and texts that no export of trees has."""
    pending = [element]
    while pending:
        one = pending.pop()
        known = _KNOWN.get(_name(one))
        if known is None:
            fact = f"The PMML file holds '{_name(one)[:40]}', which the audit does not understand"
            raise IncompatibleError(fact, "export trees of numbers, without statistics, verification or extensions")
        foreign = sorted(set(one.attrib) - set(known.split()))
        if foreign:
            fact = f"The PMML file holds '{foreign[0][:40]}' in {_name(one)}, which the audit does not understand"
            raise IncompatibleError(fact, _AS_EXPORTED)
        texts = [one.tail or "", "" if _name(one) == "Timestamp" else one.text or ""]
        if any(map(str.strip, texts)) or any(len(text) > _MOST_TEXT for text in (*one.attrib.values(), one.text or "")):
            fact = f"The PMML file holds text in {_name(one)}, which the audit does not understand"
            raise IncompatibleError(fact, _AS_EXPORTED)
        pending += list(one)


def _children(element: Any, name: str) -> list[Any]:  # noqa: ANN401
    return [one for one in element if _name(one) == name]


def _model(root: Any) -> Exchanged:  # noqa: ANN401
    _require_known(root)
    models = [one for one in root if _name(one) in ("TreeModel", "MiningModel")]
    if _name(root) != "PMML" or len(models) != 1:
        fact = f"The PMML file holds {len(models)} models of trees"
        raise IncompatibleError(fact, "audit a file with one TreeModel or MiningModel")
    model = models[0]
    fields = {one.attrib["name"]: one for part in _children(root, "DataDictionary") for one in part}
    schema = [one for part in _children(model, "MiningSchema") for one in part]
    targets = [one.attrib["name"] for one in schema if one.attrib.get("usageType") in ("target", "predicted")]
    if len(targets) != 1 or len(fields) != sum(
        len(_children(p, "DataField")) for p in _children(root, "DataDictionary")
    ):
        fact = f"The PMML file has {len(targets)} targets, or fields of the same name"
        raise IncompatibleError(fact, "audit models that predict one column")
    names = [name for name in fields if name != targets[0]]
    for name in names:
        if len(fields[name]) or fields[name].attrib.get("dataType") not in _TYPES:
            fact = f"The PMML file lists values of column '{name}', or it is no number"
            raise IncompatibleError(fact, "code categories before the model")
    labels = [one.attrib["value"] for one in _children(fields[targets[0]], "Value")]
    if model.attrib["functionName"] != ("classification" if labels else "regression"):
        fact = "The PMML file does not name the classes that it predicts"
        raise IncompatibleError(fact, "export the model with the values of its class")
    single = {name: _TYPES[fields[name].attrib["dataType"]] for name in names}
    grown = tuple(_Growing(names, single, labels).grow(one) for one in _tree_models(model))
    return Exchanged("PMML", grown, tuple(labels), len(names), tuple(names), refuses_missing=True)


def _tree_models(model: Any) -> list[Any]:  # noqa: ANN401
    if _name(model) == "TreeModel":
        return [model]
    parts = _children(model, "Segmentation")
    if len(parts) != 1 or parts[0].attrib.get("multipleModelMethod") != "average":
        fact = "The PMML file joins its trees otherwise than by their average, as boosted trees are"
        raise IncompatibleError(fact, "audit boosted trees as they were fitted, or from the file of their own library")
    found = []
    for segment in parts[0]:
        inner = _children(segment, "TreeModel")
        if len(_children(segment, "True")) != 1 or len(inner) != 1 or float(segment.attrib.get("weight", 1)) != 1:
            fact = "A segment of the PMML file is for some rows only, has a weight, or is no tree"
            raise IncompatibleError(fact, "audit the model as it was fitted, before it is exported")
        found += inner
    return found


class _Growing:
    """A tree of two-way tests, as it is made of a TreeModel."""

    def __init__(self, names: list[str], single: dict[str, bool], labels: list[str]) -> None:
        self.names, self.single, self.labels = names, single, labels
        self.tests: list[Test | None] = []
        self.below: list[tuple[int, int]] = []
        self.says: list[Any] = []
        self.people: list[int] = []

    def grow(self, model: Any) -> PlainTree:  # noqa: ANN401
        """Return the tree of a TreeModel."""
        roots = _children(model, "Node")
        if len(roots) != 1 or len(_children(roots[0], "True")) != 1:
            fact = "A tree of the PMML file does not begin with one node for everybody"
            raise IncompatibleError(fact, _AS_EXPORTED)
        self.returns_last = model.attrib.get("noTrueChildStrategy") == "returnLastPrediction"
        self._node(roots[0])
        return tree_of(self.tests, self.below, self.says, self.people)

    def _place(self) -> int:
        self.tests.append(None)
        self.below.append((0, 0))
        self.says.append(np.zeros(max(1, len(self.labels))))
        self.people.append(UNCOUNTED)
        return len(self.tests) - 1

    def _node(self, node: Any) -> int:  # noqa: ANN401
        """Add a node, and all below it; return its number."""
        children = _children(node, "Node")
        if not re.fullmatch(r"[\w.-]{0,20}", node.attrib.get("id", "") + node.attrib.get("defaultChild", "")):
            fact = "A node of the PMML file has a name that is long"
            raise IncompatibleError(fact, _AS_EXPORTED)
        if not children:
            return self._leaf(node)
        if not self.returns_last and (
            _children(node, "ScoreDistribution") or {"score", "recordCount"} & set(node.attrib)
        ):
            fact = "The PMML file says something about nodes that predict nothing"
            raise IncompatibleError(fact, "export the model with predictions at leaves only")
        return self._first_of(node, children)

    def _first_of(self, node: Any, children: list[Any]) -> int:  # noqa: ANN401
        """Add tests for the first child whose predicate holds."""
        if not children:
            if not self.returns_last:
                fact = "A tree of the PMML file predicts nothing for some rows"
                raise IncompatibleError(fact, _AS_EXPORTED)
            return self._leaf(node)
        test = self._predicate(children[0])
        if test is None:
            if len(children) > 1:
                fact = "A tree of the PMML file has nodes that nobody can reach, or that are reached in two ways"
                raise IncompatibleError(fact, _AS_EXPORTED)
            return self._node(children[0])
        place = self._place()
        self.tests[place] = test
        self.below[place] = (self._node(children[0]), self._first_of(node, children[1:]))
        return place

    def _predicate(self, node: Any) -> Test | None:  # noqa: ANN401
        found = [one for one in node if _name(one) in ("True", "SimplePredicate")]
        if len(found) != 1 or (_name(found[0]) == "SimplePredicate" and found[0].attrib["operator"] not in _RULES):
            fact = "A node of the PMML file does not compare one column with a number"
            raise IncompatibleError(fact, "code categories before the model")
        if _name(found[0]) == "True":
            return None
        name = found[0].attrib["field"]
        return Test(
            self.names.index(name), _RULES[found[0].attrib["operator"]], float(found[0].attrib["value"]),
            self.single[name],
        )  # fmt: skip

    def _leaf(self, node: Any) -> int:  # noqa: ANN401
        place = self._place()
        if not self.labels:
            self.says[place] = np.array([float(node.attrib["score"])])
            return place
        given = {one.attrib["value"]: float(one.attrib["recordCount"]) for one in _children(node, "ScoreDistribution")}
        counts = np.array([given.get(label, 0.0) for label in self.labels])
        n, said = float(counts.sum()), float(node.attrib.get("recordCount", counts.sum()))
        is_known = not set(given) - set(self.labels) and node.attrib.get("score", self.labels[0]) in self.labels
        if not is_known or not n > 0 or abs(said - n) > _CLOSE * n:
            fact = "A leaf of the PMML file does not say the shares of the classes"
            raise IncompatibleError(fact, "export the model with ScoreDistribution")
        self.says[place] = counts / n
        self.people[place] = round(n) if abs(n - 1) > _CLOSE else UNCOUNTED
        return place
