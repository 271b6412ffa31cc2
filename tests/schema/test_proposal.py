"""What a proposal makes of codes, of numbers with leading zeros, and of values that probably mean missing."""

from __future__ import annotations

import random

import polars as pl
import pytest

import incrowd as ic
from incrowd.schema.suspects import find_suspects
from incrowd.schema.uniqueness import measure_uniqueness

RNG = random.Random(1)
N = 400


def proposed(name, values):
    frame = pl.DataFrame(
        {name: values, "other": [i % 7 for i in range(len(values))], "ill": ["x", "y"] * (len(values) // 2)}
    )
    found = ic.Schema.propose(frame, sensitive="ill").attributes[name]
    kind = None if found.hierarchy is None else found.hierarchy.to_dict()["kind"]
    return found.role.value, kind, found.type, found.why


def padded(numbers, width):
    return [f"{number:0{width}d}" for number in numbers]


@pytest.mark.parametrize(
    ("name", "values", "kind", "type_", "why"),
    [
        ("age", padded([RNG.randrange(95) for _ in range(N)], 3), "intervals", "int", "numbers with leading zeros"),
        ("hour", padded([RNG.randrange(24) for _ in range(N)], 2), "intervals", "int", "numbers with leading zeros"),
        ("year", padded([RNG.randrange(60) for _ in range(N)], 4), "intervals", "int", "numbers with leading zeros"),
        ("plz", padded([RNG.randrange(1000, 99999) for _ in range(N)], 5), "prefixes", "str", "postal codes"),
        ("region", padded([RNG.randrange(300) * 317 for _ in range(N)], 5), "prefixes", "str", "digits of one length"),
        ("zip", [RNG.randrange(10000, 99999) for _ in range(N)], "prefixes", "int", "postal codes"),
        (
            "icd",
            [f"{RNG.choice('ABCEIJK')}{RNG.randrange(10, 99)}.{RNG.randrange(10)}" for _ in range(N)],
            "prefixes",
            "str",
            "codes like those of diagnoses",
        ),
        (
            "finding",
            [f"{a}{b}{c}" for a in "ABCEI" for b in range(10, 90) for c in range(1)],
            "prefixes",
            "str",
            "codes like those of diagnoses",
        ),
        (
            "postcode",
            [f"{a}{b} {c}AB" for a in ("SW", "E", "N", "M") for b in range(1, 11) for c in range(10)],
            "prefixes",
            "str",
            "codes of letters and digits",
        ),
    ],
)
def test_codes_and_numbers_are_told_apart(name, values, kind, type_, why):
    role, found_kind, found_type, found_why = proposed(name, values)
    assert (role, found_kind, found_type) == ("quasi", kind, type_)
    assert why in found_why


AGES = [7 * i % 90 for i in range(N)]


@pytest.mark.parametrize(
    ("name", "values", "kind", "type_", "why"),
    [
        ("age", [*padded(AGES[3:], 2), "999", "999", "999"], "intervals", "int", "'999' in 3 rows may mean missing"),
        ("age", [*padded(AGES[3:], 2), "-9", "-9", "-9"], "intervals", "int", "'-9' in 3 rows may mean missing"),
        ("age", [*padded(AGES[3:], 2), "100", "101", "104"], "intervals", "int", "numbers with leading zeros"),
        ("age", [str(age) for age in AGES], "intervals", "int", "the source keeps them as text"),
        ("pay", [f"{age / 10}" for age in AGES], "intervals", "float", "the source keeps them as text"),
        ("zip", [str(10_000 + age) for age in AGES], "prefixes", "str", "postal codes"),
        (
            "icd",
            [*[f"{'ABC'[i % 3]}{10 + i % 90}" for i in range(N - 3)], *["-9"] * 3],
            "prefixes",
            "str",
            "missing = [-9]",
        ),
        ("nace", ["01", "011", "012", "02", "021", "10", "101", "11"] * (N // 8), "by_class", "str", "distinct"),
    ],
)
def test_numbers_in_text_of_several_lengths(name, values, kind, type_, why):
    role, found_kind, found_type, found_why = proposed(name, values)
    assert (role, found_kind, found_type) == ("quasi", kind, type_)
    assert why in found_why


@pytest.mark.parametrize(
    "values",
    [padded(RNG.sample(range(10**6), N), 7), [f"P{number:05d}" for number in RNG.sample(range(10**5), N)]],
)
def test_numbers_of_people_stay_identifiers(values):
    assert proposed("case", values)[0] == "identifier"


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(87), -9, -9, -9], ["-9"]),
        ([*range(87), *[99] * 5], ["99"]),
        ([*range(99), *[99] * 9], ["99"]),  # ages to 98, and 99 far more often
        ([*range(100)], []),
        ([*range(87), 99, 99], []),  # two rows may be two people
        ([1, 2, 3, 4, 5, 6, 99, 99, 99, 98, 98, 98], ["98", "99"]),
        ([1, 2, 1, 2, 9, 9, 9], ["9"]),
        ([1, 2, 3, 4, 5, 6, 7, 9, 9, 9], []),
        ([1.5, 2.5, 3.5, 999.0, 999.0, 999.0], ["999"]),
        ([-20, -15, -9, -9, -9, 3], []),  # temperatures
        (["a", "unknown", "k.A.", "k.A.", "n/a", ".", "b"], [".", "n/a", "k.A.", "unknown"]),
        (
            ["inconnu", "Inconnu", "a", "Keine Angabe", "NO ANSWER", "無回答"],
            ["無回答", "NO ANSWER", "Keine Angabe", "inconnu", "Inconnu"],
        ),
        (["A01", "B02", "-9", "-9", "-9", "999"], ["-9"]),
        ([None, None], []),
    ],
)
def test_suspects_of_missing_values(values, codes):
    found = find_suspects(pl.Series("v", values, strict=False))
    assert [each.code for each in found] == codes
    assert all(each.rows == sum(str(value) in (each.code, each.code + ".0") for value in values) for each in found)


def test_suspects_are_pointed_out_and_never_taken(tmp_path):
    frame = pl.DataFrame({"age": [*range(20, 80), *[99] * 4], "ill": ["x", "y"] * 32})
    schema = ic.Schema.propose(frame, sensitive="ill")
    assert schema.missing_codes == {}
    assert "'99' in 4 rows may mean missing: then set missing = [99]" in schema.attributes["age"].why
    schema.to_toml(tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert "# missing = [99]  # if that is so" in text
    assert ic.Schema.from_toml(tmp_path / "a.toml").missing_codes == {}
    (tmp_path / "a.toml").write_text(text.replace("# missing = [99]", "missing = [99]"))
    assert ic.Schema.from_toml(tmp_path / "a.toml").missing_codes == {"age": ("99",)}
    assert schema.accept_suspects().missing_codes == {"age": ("99",)}


@pytest.mark.parametrize("name", ["prénom", "Nom", "apellidos", "氏名", "Familienname", "住所"])
def test_names_of_people_in_other_languages(name):
    frame = pl.DataFrame({name: ["a", "b"] * 20, "age": [20 + i % 9 for i in range(40)], "ill": ["x", "y"] * 20})
    assert ic.Schema.propose(frame, sensitive="ill").identifiers == [name]


def test_the_class_to_predict_is_kept_and_named(tmp_path):
    frame = pl.DataFrame(
        {"age": [i * 7 % 20 for i in range(40)], "risk": ["a", "b"] * 20, "ill": ["x", "y", "z", "x"] * 10}
    )
    schema = ic.Schema.propose(frame, sensitive="ill", target="risk")
    assert (schema.target, schema.other) == ("risk", ["risk"])
    assert "released as it is" in schema.attributes["risk"].why
    schema.to_toml(tmp_path / "a.toml")
    assert ic.Schema.from_toml(tmp_path / "a.toml") == schema


def test_unique_rows_and_the_columns_that_make_them_so():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 3, 3], "c": [0, 0, 0, 0]})
    found = measure_uniqueness(frame, ["a", "b", "c"])
    assert (found.unique, found.columns) == (2, (("b", 0), ("a", 2), ("c", 2)))
    assert found.text == "2 of 4 rows (50%) are unique by the 3 quasi-identifiers; only 0 without 'b'"
    assert measure_uniqueness(frame, ["c"]).text == "0 of 4 rows (0%) are unique by the one quasi-identifier"


@pytest.mark.parametrize("form", ["{}%", "{},50 €", "$ {}", "{} kg", "{} kr"])
def test_numbers_with_units_are_told_from_names(form):
    frame = pl.DataFrame(
        {"pay": [form.format(i) for i in range(40)], "age": [*range(20, 40)] * 2, "ill": ["x", "y"] * 20}
    )
    found = ic.Schema.propose(frame, sensitive="ill")
    assert found.attributes["pay"].why.startswith("numbers with a unit")
    assert (
        not ic.Schema.propose(frame.with_columns(pay=pl.col("pay") + "!"), sensitive="ill")
        .attributes["pay"]
        .why.startswith("numbers")
    )


def test_several_sensitive_columns_have_no_class_to_order_names_by(tmp_path):
    n = 60
    names = {"job": [f"{'abcde'[i % 5]}{'xyz'[i % 3]}" for i in range(n)], "age": [20 + i % 30 for i in range(n)]}
    frame = pl.DataFrame(names | {"ill": ["x", "y"] * (n // 2), "faith": ["a", "b", "c"] * (n // 3)})
    alone = ic.Schema.propose(frame, sensitive="ill")
    both = ic.Schema.propose(frame, sensitive=["ill", "faith"])
    classed = ic.Schema.propose(frame, sensitive=["ill", "faith"], target="ill")
    kinds = [each.attributes["job"].hierarchy.to_dict()["kind"] for each in (alone, both, classed)]
    assert kinds == ["by_class", "common", "by_class"]
    assert ic.publish(frame, both, k=3).verify(frame).ok
