"""Models in files: reading one may run code that somebody put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.audit.dumps import read_dump
from incrowd.audit.onnx_files import read_onnx
from incrowd.audit.pmml_files import read_pmml
from incrowd.errors import InputError, MissingDependencyError, ParameterError

PICKLES = (".joblib", ".pkl", ".pickle")
SKOPS = ".skops"
DUMPS = (".json", ".txt")
"""Files of XGBoost and LightGBM, which hold no code."""
EXCHANGED = {".onnx": read_onnx, ".pmml": read_pmml}
"""Files for exchange, of trees: they hold no code, and nothing in them is run."""
_KNOWN = ("sklearn", "numpy", "scipy", "polars", "incrowd")


def load_model(path: str | Path, *, trust: bool = False) -> Any:  # noqa: ANN401
    """Read a fitted model.

    Parameters
    ----------
    path
        A ``.joblib`` or ``.pkl`` file; a ``.skops`` file, which holds no code but may name functions to run; or trees
        of XGBoost (``.json``) or LightGBM (``.txt``), or of any library in ``.onnx`` or ``.pmml``, which hold none.
    trust
        Loading a pickle runs whatever code is in it; a skops file with functions, or with types that are neither ours
        nor of the libraries we use, may run them. Say ``True`` only for a file whose maker you trust.
    """
    path = Path(path)
    if not path.is_file():
        fact = f"There is no file '{path}'"
        raise InputError(fact, "give the file that the model was saved to")
    if path.suffix == SKOPS:
        return _from_skops(path, trust=trust)
    if path.suffix in DUMPS:
        return read_dump(path)
    if path.suffix in EXCHANGED:
        return EXCHANGED[path.suffix](path)
    require_model_name(path)
    if not trust:
        fact = f"'{path.name}' is a pickle: loading it runs whatever code is in it, with your rights"
        raise ParameterError(fact, "if you trust whoever made it: --trust (trust=True); else ask for a .skops file")
    import joblib  # noqa: PLC0415 - loads when a model is read

    try:
        return joblib.load(path)
    except Exception as error:
        fact = f"'{path.name}' cannot be loaded as a model: {type(error).__name__}"
        raise InputError(
            fact, "save it with joblib, by the versions of the libraries that are installed here"
        ) from error


def require_model_name(path: Path) -> None:
    """Refuse a file whose name is not a model's."""
    if path.suffix not in (*PICKLES, SKOPS):
        fact = f"'{path.name}' is not a model file that the audit can read"
        raise InputError(fact, f"save the model with joblib ({', '.join(PICKLES)}) or skops ({SKOPS})")


def _from_skops(path: Path, *, trust: bool) -> Any:  # noqa: ANN401
    skops = _skops()
    try:
        foreign = skops.get_untrusted_types(file=path)
        own = [name for name in foreign if _is_known_class(name)]
        if len(own) == len(foreign) or trust:
            return skops.load(path, trusted=foreign)
    except Exception as error:
        fact = f"'{path.name}' cannot be loaded as a model: {type(error).__name__}"
        raise InputError(fact, "save it with skops") from error
    fact = f"'{path.name}' holds functions, or types of unknown origin: {', '.join(sorted(set(foreign) - set(own)))}"
    raise ParameterError(fact, "if you trust whoever made it: --trust (trust=True)")


def _is_known_class(name: str) -> bool:
    """Tell whether a dotted name is a class, by its capital, of a library we use; a function may do anything."""
    return name.partition(".")[0] in _KNOWN and name.rpartition(".")[2].lstrip("_")[:1].isupper()


def _skops() -> Any:  # noqa: ANN401
    try:
        from skops import io as skops  # noqa: PLC0415 - an extra
    except ImportError:
        fact = "A .skops file needs the package skops"
        raise MissingDependencyError(fact, extra="models") from None
    return skops


def save_model(model: Any, path: str | Path) -> None:  # noqa: ANN401
    """Write a model as `load_model` reads it."""
    path = Path(path)
    require_model_name(path)
    if path.suffix == SKOPS:
        _skops().dump(model, path)
        return
    import joblib  # noqa: PLC0415 - as above

    joblib.dump(model, path)
