"""How much a release costs a classifier: protocols, classifiers, statistics. Call the module itself to evaluate."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from incrowd.evaluate.classifiers import CLASSIFIERS
from incrowd.evaluate.comparison import Comparison, compare
from incrowd.evaluate.evaluation import Evaluation, evaluate

__all__ = ["CLASSIFIERS", "Comparison", "Evaluation", "compare", "evaluate"]


class _Verb(ModuleType):
    """Lets ``incrowd.evaluate`` be both this package and the function that people call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evaluation:  # noqa: ANN401
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _Verb
