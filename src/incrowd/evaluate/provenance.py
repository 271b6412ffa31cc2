"""Which code computed a result: a fingerprint of the files that a function depends on, and the commit.

`code_of` follows a function's imports through this package, also those inside functions, and hashes what is left of
each file without comments and docstrings: editing those changes no result. A name that a package only passes on leads
to the file that defines it, so that an experiment with one method does not depend on all of them. What carries results
without changing them is not followed, nor is the verifier, which refuses or passes.

>>> code_of(code_of) == code_of(code_of), code_of(len)
(True, 'none')
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import subprocess
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

_PACKAGE = "incrowd"
_ROOT = Path(__file__).parents[1]
_CARRIERS = tuple(
    f"{_PACKAGE}.{name}"
    for name in (
        "cli", "errors", "evaluate.provenance", "evaluate.runner", "evaluate.statistics", "experiments.experiment",
        "experiments.registry", "plots", "report", "runs", "studio", "verify", "version", "workflow",
    )
)  # fmt: skip
"""Modules that change no figure of an experiment: they say it, draw it, keep it or judge it."""
_SECONDS = 10  # that git may take


def code_of(function: Callable[..., Any]) -> str:
    """Return a fingerprint of the code that a function depends on, or ``"none"`` if it has no source file."""
    own = function.func if isinstance(function, partial) else function
    try:
        file = Path(inspect.getsourcefile(own) or "")
    except TypeError:
        return "none"
    return _fingerprint(file) if file.is_file() else "none"


@cache
def commit() -> str | None:
    """Return the commit of the code, with ``+`` if files have changed since; ``None`` outside a checkout."""
    found = _git("rev-parse", "--short=12", "HEAD")
    if found is None:
        return None
    return found + ("+" if _git("status", "--porcelain", "--", str(_ROOT)) else "")


def files_of(function: Callable[..., Any]) -> list[Path]:
    """Return the files that `code_of` hashes."""
    own = function.func if isinstance(function, partial) else function
    return _closure(Path(inspect.getsourcefile(own) or ""))


@cache
def _fingerprint(file: Path) -> str:
    digest = hashlib.sha256()
    for path in _closure(file):
        digest.update(f"{path.name}\n{_meaning(path)}\n".encode())
    return digest.hexdigest()[:16]


def _closure(file: Path) -> list[Path]:
    """Return a file and all that it imports of this package, in order."""
    found: set[Path] = set()
    todo = [file.resolve()]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path)
    return sorted(found)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _meaning(path: Path) -> str:
    """Return the syntax of a file without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree, annotate_fields=False)


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Return the files of this package that a file imports."""
    return tuple(dict.fromkeys(found for module, name in _imports(_tree(path)) for found in _defining(module, name)))


def _imports(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield modules of this package and the names taken from them; what is imported for types only is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, None) for alias in child.names if _is_ours(alias.name))
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module and _is_ours(child.module):
            yield from ((child.module, alias.name) for alias in child.names)
        else:
            yield from _imports(child)


def _is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == _PACKAGE


def _defining(module: str, name: str | None) -> list[Path]:
    """Return the file of a module, or the one that defines a name which a package only passes on."""
    if module.startswith(_CARRIERS) or (name and f"{module}.{name}".startswith(_CARRIERS)):
        return []
    inner = None if name is None else _file(f"{module}.{name}")
    if inner is not None:
        return [inner]
    path = _file(module)
    if path is None:
        return []
    if path.name == "__init__.py" and name is not None:
        passed = [source for source, taken in _imports(_tree(path)) if taken == name]
        if passed:
            return _defining(passed[0], name)
    return [path]


def _file(module: str) -> Path | None:
    place = _ROOT.joinpath(*module.split(".")[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path.resolve()
    return None


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *words], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
