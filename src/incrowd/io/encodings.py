"""Encodings of text files: found in a sample, said aloud, and recoded to UTF-8 as the file is read."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO

from incrowd.errors import InputError, ParameterError

SAMPLE = 1 << 20
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Of the many legacy encodings those that tables really come in. Others have to be named.
_WEST, _EAST = ("cp1252", "cp1250", "cp1251"), ("cp932", "euc_jp", "gb18030", "big5", "euc_kr")
_PEOPLE = {
    "cp1252": "Windows-1252, which includes Latin-1",
    "cp1250": "Windows-1250, Central European",
    "cp1251": "Windows-1251, Cyrillic",
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "gb18030": "GB 18030",
    "big5": "Big5",
    "euc_kr": "EUC-KR",
    "utf-16": "UTF-16, by its first bytes",
    "utf-32": "UTF-32, by its first bytes",
}
# Letters and signs of European languages; wrongly decoded text has other ones.
_LETTERS = frozenset("äöüßÄÖÜéèêëàâçîïôûùœæÉÈÀÇñáíóúøåÅØ€„“”«»°ãõąćęłńśźżĄĆĘŁŃŚŹŻčďěňřšťůžČŘŠŽőűŐŰăţş\u2013\u2019")


def check_encoding(name: str) -> str:
    """Refuse an encoding that Python does not know."""
    try:
        codecs.lookup(name)
        "a".encode(name)
    except (LookupError, UnicodeError, TypeError):
        fact = f"There is no encoding '{name}'"
    else:
        return name
    raise ParameterError(fact, "use for example utf-8, latin-1, cp1252, shift_jis, euc_jp or utf-16")


def marked_encoding(sample: bytes) -> str | None:
    """Return the encoding that the first bytes of a file name; None if there is no such mark."""
    return next((name for mark, name in _MARKS.items() if sample.startswith(mark)), None)


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding is UTF-8, with or without a mark at the beginning."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def find_encoding(sample: bytes) -> str | None:
    """Return the likely encoding of text that is not UTF-8; None if none is likely."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - only such files need it

    telling = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())[:SAMPLE]
    if b"\0" in sample or not telling or _mostly_utf8(telling):
        return None
    matches = [match.encoding for match in from_bytes(telling, cp_isolation=[*_WEST, *_EAST])]
    if not matches:
        return None
    best = matches[0]
    # The detector does not tell the Western code pages apart where few letters are not ASCII.
    if best in _WEST and best != "cp1251" and _favour(telling, "cp1252") >= _favour(telling, best):
        best = "cp1252"
    return best


def say_encoding(name: str) -> str:
    """Return an encoding's name for people."""
    return f"{name} ({_PEOPLE[name]})" if name in _PEOPLE else name


def _mostly_utf8(data: bytes) -> bool:
    """Tell whether this is UTF-8 with a fault in it: other encodings form its sequences by chance only."""
    text = data.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    return sum(1 for letter in text if letter > "\x7f") - n_bad >= max(1, n_bad)


def _favour(data: bytes, encoding: str) -> int:
    """Count letters of European languages in text decoded so; -1 if it cannot be decoded."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return -1
    return sum(text.count(letter) for letter in _LETTERS)


class Recoder(io.RawIOBase):
    """A stream of bytes in some encoding, as UTF-8.

    Parameters
    ----------
    stream
        The bytes.
    encoding
        Their encoding.
    where
        The name of the file, for errors.
    """

    def __init__(self, stream: BinaryIO, encoding: str, where: str) -> None:
        super().__init__()
        self._stream, self._where, self._encoding = stream, where, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._offset, self._lines = 0, 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return about as many bytes; none at the end."""
        while True:
            data = self._stream.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                # Without a byte order mark, utf-16 and utf-32 are refused at once, and not at a byte.
                at = error.start - len(error.object) if isinstance(error, UnicodeDecodeError) else -len(data)
                start = max(0, at + len(data))
                position, line = self._offset + start, self._lines + 1 + data.count(b"\n", 0, start)
                break
            self._offset += len(data)
            self._lines += data.count(b"\n")
            if text or not data:
                return text.encode()
        # Outside the handler, because the decoding error carries the data along.
        fact = f"'{self._where}', line {line}: the text is not {self._encoding} (byte {position})"
        raise InputError(fact, "name the right encoding, such as encoding='latin-1'")
