"""Trees in PMML files: a TreeModel, or a MiningModel that averages some, of numbers compared with numbers.

The XML is read without document types, entities, comments and processing instructions, which are refused. Every element
and attribute is known, with what it may say (`pmml_grammar`), or it is refused by its name: PMML has room for rows
(ModelVerification), statistics of columns and extensions. A node may have several children, of which the first whose
predicate holds is taken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from incrowd.audit.exchanged import UNCOUNTED, Exchanged, PlainTree, Test, tree_of
from incrowd.audit.pmml_grammar import name_of, require_known
from incrowd.audit.tokens import numbers
from incrowd.errors import IncompatibleError, InputError

_AS_EXPORTED = "export the model again, without anything added"
_CLOSE = 1e-6
_MOST_BYTES = 500_000_000
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
        require_known(text, root)
        return _model(root)
    except (ET.ParseError, UnicodeDecodeError, KeyError, ValueError, RecursionError) as error:
        fact = f"'{path.name}' cannot be read as PMML: {type(error).__name__}"
        raise InputError(fact, "give a PMML file of trees in UTF-8") from None


def _children(element: Any, name: str) -> list[Any]:  # noqa: ANN401
    return [one for one in element if name_of(one) == name]


def _model(root: Any) -> Exchanged:  # noqa: ANN401
    models = [one for one in root if name_of(one) in ("TreeModel", "MiningModel")]
    if name_of(root) != "PMML" or len(models) != 1:
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
    if name_of(model) == "TreeModel":
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
        if not children:
            return self._leaf(node)
        is_asked = self.returns_last and self._predicate(children[-1]) is not None
        if not is_asked and (_children(node, "ScoreDistribution") or {"score", "recordCount"} & set(node.attrib)):
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
        is_last = len(children) == 2 and self._predicate(children[1]) == _otherwise(test)
        rest = self._node(children[1]) if is_last else self._first_of(node, children[1:])
        self.below[place] = (self._node(children[0]), rest)
        return place

    def _predicate(self, node: Any) -> Test | None:  # noqa: ANN401
        found = [one for one in node if name_of(one) in ("True", "SimplePredicate")]
        if len(found) != 1 or (name_of(found[0]) == "SimplePredicate" and found[0].attrib["operator"] not in _RULES):
            fact = "A node of the PMML file does not compare one column with a number"
            raise IncompatibleError(fact, "code categories before the model")
        if name_of(found[0]) == "True":
            return None
        name = found[0].attrib["field"]
        return Test(
            self.names.index(name), _RULES[found[0].attrib["operator"]], float(found[0].attrib["value"]),
            self.single[name],
        )  # fmt: skip

    def _leaf(self, node: Any) -> int:  # noqa: ANN401
        place = self._place()
        if not self.labels:
            if set(node.attrib) - {"id", "score", "recordCount"} or _children(node, "ScoreDistribution"):
                fact = "A leaf of the PMML file says more than a number"
                raise IncompatibleError(fact, _AS_EXPORTED)
            self.says[place] = np.array(numbers(node.attrib["score"]))
            self.people[place] = self._n_people(float(node.attrib.get("recordCount", 1)))
            return place
        parts = _children(node, "ScoreDistribution")
        given = {one.attrib["value"]: float(one.attrib["recordCount"]) for one in parts}
        counts = np.array([given.get(label, 0.0) for label in self.labels])
        n, said = float(counts.sum()), float(node.attrib.get("recordCount", counts.sum()))
        best = [label for label, count in zip(self.labels, counts, strict=True) if count >= counts.max() - _CLOSE * n]
        is_known = not set(given) - set(self.labels) and len(given) == len(parts)
        is_known = is_known and node.attrib.get("score", best[0]) in best
        if not is_known or not n > 0 or abs(said - n) > _CLOSE * n:
            fact = "A leaf of the PMML file does not say the shares of the classes"
            raise IncompatibleError(fact, "export the model with ScoreDistribution")
        self.says[place] = counts / n
        self.people[place] = self._n_people(n)
        return place

    def _n_people(self, said: float) -> int:
        """Return how many people a leaf says it has; 1 stands for shares."""
        if abs(said - round(said)) > _CLOSE * max(1.0, said):
            fact = "A leaf of the PMML file does not hold a whole number of people"
            raise IncompatibleError(fact, "fit the model without weights")
        return round(said) if abs(said - 1) > _CLOSE else UNCOUNTED


def _otherwise(test: Test) -> Test:
    """Return the comparison that holds where this one does not."""
    other = {"<=": ">", ">": "<=", "<": ">=", ">=": "<"}[test.rule]
    return Test(test.feature, other, test.threshold, test.single)
