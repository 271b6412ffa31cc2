"""Text files in other encodings are recognized, and it is said which encoding was taken."""

from __future__ import annotations

import codecs

import pytest

from incrowd.errors import InputError, ParameterError
from incrowd.io import Findings, Reading, delimited, read, read_with_findings

GERMAN = "Name,Straße,Größe\nMüller,Hauptstraße 5,180\nJürgen,Schöner Weg,175\nGroß,Bäckergasse,168\n"
FRENCH = "nom,ville,âge\nLefèvre,Orléans,34\nHélène,Besançon,41\nFrançois,Nîmes,29\n"
JAPANESE = "名前,住所,年齢\n山田太郎,東京都新宿区,34\n佐藤花子,大阪市,22\n鈴木一郎,横浜市,51\n"
SECRET = "Smith4711"


def table(text: str) -> list[tuple]:
    names, *rows = [line.split(",") for line in text.splitlines()]
    return names, [(*row[:2], int(row[2])) for row in rows]


@pytest.mark.parametrize(
    ("text", "encoding", "taken"),
    [
        (GERMAN, "latin-1", "cp1252"),
        (GERMAN + "Weiß \u2013 „Ost“,5 €,1\n", "cp1252", "cp1252"),
        (FRENCH, "latin-1", "cp1252"),
        (FRENCH, "cp1252", "cp1252"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (GERMAN, "utf-16", "utf-16"),
        (JAPANESE, "utf-16", "utf-16"),
        (JAPANESE, "utf-8-sig", None),
        (GERMAN, "utf-8", None),
    ],
)
@pytest.mark.parametrize("batch", [16, 1 << 20])
def test_encodings_are_found_and_said(tmp_path, monkeypatch, text, encoding, taken, batch):
    monkeypatch.setattr(delimited, "_BATCH", batch)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    said: list[str] = []
    findings = Findings(said.append)
    frame = read_with_findings(tmp_path / "a.csv", Reading(), findings)
    assert (frame.columns, frame.rows()) == table(text)
    assert findings.taken.get("encoding") == taken
    assert (taken is None) == (said == [])
    assert all(taken in sentence for sentence in said)
    again = read(tmp_path / "a.csv", encoding=encoding)
    assert again.equals(frame)


def test_an_encoding_that_was_given_is_not_questioned(tmp_path):
    (tmp_path / "a.csv").write_bytes(GERMAN.encode("latin-1"))
    with pytest.raises(InputError, match=r"line 1: the text is not UTF-8 \(byte 9\)") as caught:
        read(tmp_path / "a.csv", encoding="utf-8")
    assert "encoding='cp1252'" in caught.value.hint
    (tmp_path / "b.csv").write_bytes(f"a,b\n1,2\n{SECRET},ü\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 3: the text is not shift_jis") as caught:
        read(tmp_path / "b.csv", encoding="shift_jis")
    assert SECRET not in str(caught.value)
    with pytest.raises(ParameterError, match="There is no encoding 'latin-99'"):
        read(tmp_path / "b.csv", encoding="latin-99")


def test_text_that_stops_being_utf8_late_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BATCH", 64)
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,x\n" * 500 + "2,Müller\n3,Jäger\n".encode("latin-1"))
    frame = read(tmp_path / "a.csv")
    assert frame["b"].to_list()[-2:] == ["Müller", "Jäger"]
    assert frame.height == 502


def test_utf16_without_a_mark_has_to_be_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(InputError, match="NUL byte") as caught:
        read(tmp_path / "a.csv")
    assert "encoding='utf-16-le'" in caught.value.hint
    assert read(tmp_path / "a.csv", encoding="utf-16-le").rows() == [(1, 2)]
    (tmp_path / "b.csv").write_bytes(codecs.BOM_UTF16_LE + "a,b\n1,2\n".encode("utf-16-le")[:-1])
    with pytest.raises(InputError, match="not utf-16"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_given_encoding_that_needs_a_mark(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(b"age,ill\n3,y\n4,n\n")
    with pytest.raises(InputError, match=f"line 1: the text is not {encoding}"):
        read(tmp_path / "a.csv", encoding=encoding)


def test_a_given_delimiter_that_divides_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("age;ill\n3;y\n4;n\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: ',' divides nothing, and ';' divides this line") as refused:
        read(tmp_path / "a.csv", delimiter=",")
    assert refused.value.hint == "give delimiter=';', or leave the delimiter out"
    (tmp_path / "b.csv").write_text("note\nx; y\nz; a; b\n", encoding="utf-8")
    assert read(tmp_path / "b.csv", delimiter="|").columns == ["note"]
