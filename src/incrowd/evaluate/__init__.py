"""How much a release costs a classifier: protocols, classifiers, statistics."""

from __future__ import annotations

from incrowd.evaluate.classifiers import CLASSIFIERS
from incrowd.evaluate.comparison import Comparison, compare
from incrowd.evaluate.evaluation import Evaluation, evaluate

__all__ = ["CLASSIFIERS", "Comparison", "Evaluation", "compare", "evaluate"]
