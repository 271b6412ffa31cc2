"""The small mistakes that can be made in a source file, each as a piece of text that replaces another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: (r"is\s+not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}  # fmt: skip
_COMPUTED = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: (r"\|", "&"),
}  # fmt: skip
_FLIPPED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Delete)


@dataclass(frozen=True)
class Change:
    """One small mistake.

    Attributes
    ----------
    path
        The file, from the folder of the package.
    start, end, new
        The bytes that are replaced, and by what.
    lines
        First and last line of the code whose tests should notice.
    was, now
        The changed lines before and after, without indentation.
    """

    path: str
    start: int
    end: int
    new: str
    lines: tuple[int, int]
    was: str
    now: str

    def apply(self, source: bytes) -> bytes:
        """Return the file with the mistake in it."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others, without a line number."""
        return self.path, self.was, self.now


def changes(package: Path, path: str) -> list[Change]:
    """Return all small mistakes that can be made in a file."""
    source = (package / path).read_bytes()
    return list(dict.fromkeys(_Places(path, source).changes()))


def is_program(source: bytes) -> bool:
    """Tell whether Python can read a file with a mistake in it."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Places:
    """A file, and where its pieces are."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path, self._source = path, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def changes(self) -> Iterator[Change]:
        """Yield the mistakes from top to bottom."""
        for statement, node, returns_bool in _walk(ast.parse(self._source)):
            lines = statement if isinstance(statement, _SIMPLE) else node
            for start, end, new in self._at(node, returns_bool=returns_bool):
                yield self._change(start, end, new, (lines.lineno, lines.end_lineno or lines.lineno))

    def _at(self, node: ast.AST, *, returns_bool: bool) -> Iterator[tuple[int, int, str]]:
        """Yield the mistakes of one node: first byte, last byte, text."""
        yield from self._in_expression(node)
        if isinstance(node, ast.Return) and returns_bool and node.value is not None:
            yield from self._negated(node.value)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield from self._negated(node.test)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield from self._negated(test)
        elif _can_be_dropped(node):
            yield (*self._span(node), "pass")

    def _in_expression(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
                yield from self._operator(left, right, *_COMPARED[type(op)])
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
            yield from self._operator(node.left, node.right, *_COMPUTED[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from self._swapped(node, word, other)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            yield (*self._span(node), f"({self._text(node.operand)})")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield (*self._span(node), str(node.value + 1))
            yield (*self._span(node), str(node.value - 1) if node.value else "(-1)")

    def _operator(self, left: ast.AST, right: ast.AST, word: str, other: str) -> Iterator[tuple[int, int, str]]:
        start, end = self._span(left)[1], self._span(right)[0]
        place = re.search(rf"(?<!\w){word}(?!\w)" if word[0].isalpha() else word, self._source[start:end].decode())
        if place:
            yield start + place.start(), start + place.end(), other

    def _swapped(self, node: ast.BoolOp, word: str, other: str) -> Iterator[tuple[int, int, str]]:
        """Swap one "and" or "or"; the operands are put into brackets, so that the others stay where they are."""
        texts = [f"({self._text(value)})" for value in node.values]
        for i in range(1, len(texts)):
            sides = (side[0] if len(side) == 1 else f"({f' {word} '.join(side)})" for side in (texts[:i], texts[i:]))
            yield (*self._span(node), f"({f' {other} '.join(sides)})")

    def _negated(self, test: ast.expr) -> Iterator[tuple[int, int, str]]:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return  # the same as leaving "not" out
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _FLIPPED):
            return  # the same as the opposite comparison
        yield (*self._span(test), f"(not ({self._text(test)}))")

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _change(self, start: int, end: int, new: str, lines: tuple[int, int]) -> Change:
        first = self._source.rfind(b"\n", 0, start) + 1
        last = self._source.find(b"\n", end)
        was = self._source[first:last].decode()
        now = (self._source[first:start] + new.encode() + self._source[end:last]).decode()
        return Change(self._path, start, end, new, lines, _one_line(was), _one_line(now))


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


def _can_be_dropped(node: ast.AST) -> bool:
    """Tell whether a statement can be left out without a name staying undefined."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Raise | ast.AugAssign | ast.Continue) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def _walk(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.stmt | ast.expr, bool]]:
    """Yield every node that code runs through, with its statement and whether its function returns a truth value."""
    pending: list[tuple[ast.stmt | None, ast.AST, bool]] = [(None, tree, False)]
    while pending:
        statement, node, returns_bool = pending.pop()
        if isinstance(node, ast.JoinedStr) or _is_about_types(node):
            continue  # how a message reads is no matter of logic
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            returns_bool = isinstance(node.returns, ast.Name) and node.returns.id == "bool"
        if isinstance(node, ast.stmt):
            statement = node
        if statement is not None and isinstance(node, ast.stmt | ast.expr | ast.comprehension):
            yield statement, _located(node), returns_bool
        below = [
            child
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns", "decorator_list", "type_params")
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST)
        ]
        pending += [(statement, child, returns_bool) for child in reversed(below)]


def _located(node: ast.stmt | ast.expr | ast.comprehension) -> ast.stmt | ast.expr:
    """Give the "for" and "if" of a comprehension, which have no place of their own, that of their tests."""
    if isinstance(node, ast.comprehension):
        node.lineno, node.end_lineno = node.target.lineno, (node.ifs or [node.iter])[-1].end_lineno  # type: ignore[attr-defined]
    return node  # type: ignore[return-value]


def _is_about_types(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
