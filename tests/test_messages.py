"""Every error has one style: see the head of `incrowd.errors`."""

import ast
import re
from pathlib import Path

import pytest

import incrowd
from incrowd import errors
from incrowd.errors import IncrowdError

SOURCE = Path(incrowd.__file__).parent
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, IncrowdError)}
NAMES = re.compile(
    r"^[a-z_]+ (is|has|are|must|needs|got)\b|^[a-z_]+=|^[a-z_]+ \w+ or |^bins\(\)|^module "
)  # a parameter's name


def texts(node):
    """Return the texts that a literal or an f-string may be, expressions as a mark."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "§" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return []


def found():
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Assign(targets=[ast.Name(id="fact" | "hint" as kind)]):
                    for text in texts(node.value):
                        yield where, kind, text
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                for kind, part in zip(("fact", "hint"), node.args, strict=False):
                    for text in texts(part):
                        yield where, kind, text


@pytest.fixture(scope="module")
def messages():
    return sorted(set(found()))


def test_there_are_messages(messages):
    assert len(messages) > 500


@pytest.mark.parametrize(
    ("rule", "breaks"),
    {
        "no full stop at the end": lambda _, text: text.endswith(".") and not text.endswith("..."),
        "names in single quotes": lambda _, text: re.search(r'(?<![\[{])"§"', text),
        "a fact begins with a capital letter": lambda kind, text: (
            kind == "fact" and text[:1].islower() and not NAMES.match(text)
        ),
        "a hint begins with a small letter": lambda kind, text: kind == "hint" and re.match(r"[A-Z][a-z]", text),
        "our own picture words": lambda _, text: re.search(
            r"\b(mend|mended|the house|by other names|at sight|too dear|to yourself)\b", text
        ),
        "a number and its noun": lambda _, text: re.search(r"\b1 (rows|people|values|promises|rules|times)\b", text),
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_messages_have_one_style(messages, rule, breaks):
    assert [message for message in messages if breaks(*message[1:])] == [], rule
