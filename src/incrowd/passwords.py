"""Passwords in what people type: addresses of databases, mistyped ones, and the connection strings of other programs.

Found by where they stand, and taken away with it: ``:secret@`` and ``password=secret``. A password alone may be an
ordinary word, which messages need.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

_BEFORE_HOST = re.compile(r"(?:^|/)[^/:@]*(:(?![/\\]).*@)", re.DOTALL)
_OF_FILE = re.compile(r"(?:sqlite|duckdb)[+\w]*:///", re.IGNORECASE)  # no host, and a file may be called a:b@c
_OPTION = re.compile(
    r"([\w.-]*(?:passw|pwd|passphrase|token|secret|credential|(?<![A-Za-z])(?:(?:api|access|account|shared)[_-]?)?key)"
    r"[\w.-]*\s*(?:=|%3D)\s*)('[^']*'|\"[^\"]*\"|\{[^}]*\}|(?:(?!%3B|%26)[^&;\s#'\"])+)",
    re.IGNORECASE,
)
HIDDEN = "***"


def find_passwords(text: str) -> dict[str, str]:
    """Return each piece of a text that holds a password, and what may be shown in its place.

    >>> find_passwords("postgresql://ann:geheim@host/db?sslpassword=x")
    {':geheim@': '@', 'sslpassword=x': 'sslpassword=***'}
    >>> find_passwords("C:/data/people.csv")
    {}
    """
    found = {}
    if (match := _BEFORE_HOST.search(text)) and not _OF_FILE.match(text):
        whole = match[1]
        # A kind of database, or a path that lost a slash, may stand before the user: every colon may be the one.
        for at in (at for at, letter in enumerate(whole) if letter == ":" and whole[at + 1] not in "/\\"):
            found[whole[at:]] = "@"
    found |= {match[0]: match[1] + HIDDEN for match in _OPTION.finditer(text)}
    joined = {re.sub("/{2,}", "/", piece): shown for piece, shown in found.items()}  # as paths are written
    return {**found, **joined}


def bare_passwords(passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords of `find_passwords` by themselves, for texts in which a driver may say anything.

    >>> bare_passwords(find_passwords("mysql://ann:a%40b@host/db"))
    {'a%40b': '***', 'a@b': '***'}
    """
    found: dict[str, str] = {}
    for piece, shown in passwords.items():
        bare = piece[1:-1] if shown == "@" else piece[len(shown) - len(HIDDEN) :].strip("'\"{}")
        found |= {each: HIDDEN for each in (bare, unquote(bare)) if each}
    return found


def holds_password(text: str) -> bool:
    """Tell whether a text looks like an address with a password in it."""
    return bool(find_passwords(text))


def hide(text: str, passwords: Mapping[str, str]) -> str:
    """Return a text without the passwords that were found in others, however it quotes them."""
    for piece in sorted(passwords, key=len, reverse=True):
        for written in dict.fromkeys((piece, repr(piece)[1:-1], piece.replace("\\", "\\\\").replace('"', '\\"'))):
            text = text.replace(written, passwords[piece])
    return text


def without_passwords(text: str) -> str:
    """Return a text without its passwords.

    >>> without_passwords("host=127.0.0.1 password='a b' dbname=shop")
    'host=127.0.0.1 password=*** dbname=shop'
    """
    return hide(text, find_passwords(text))
