"""Schemas: roles, TOML, proposals."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given

import incrowd as ic
from incrowd.coding import Table
from incrowd.schema import Attribute, Role
from strategies import tables


def full():
    return ic.Schema(
        quasi={
            "age": ic.Intervals(low=0, high=120),
            "grade": ic.Intervals(["low", "mid", "high"]),
            "work": ic.Taxonomy.from_nested({"paid": ["a", 'b "quoted"'], "unpaid": ["ç\\d"]}),
            "town": ic.balanced(3),
            "zip": ic.prefixes(),
            "born": ic.dates(),
            "pay": ic.bins(10, levels=2),
            "score": ic.mdl(),
            "rank": ic.frequency(),
            "sex": None,
        },
        sensitive="ill\n=1",
        identifiers=["na.me"],
        other=["note", "class"],
        target="class",
        missing="drop",
        missing_tokens=["?", 'N"A'],
        rest="drop",
    )


def test_toml_round_trip(tmp_path):
    path = tmp_path / "schema.toml"
    full().to_toml(path)
    assert ic.Schema.from_toml(path) == full()


@given(tables())
def test_any_proposal_round_trips_and_publishes(tmp_path_factory, drawn):
    neutral = {name: f"c{i}" for i, name in enumerate(drawn.schema.quasi)}
    frame = drawn.frame.drop("id").rename(neutral | {"note": "other"})
    schema = ic.Schema.propose(frame, sensitive="class")
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    schema.to_toml(path)
    again = ic.Schema.from_toml(path)
    assert again == schema
    assert all(attribute.why for attribute in schema.attributes.values())
    assert Table.encode(frame, again).n_rows == frame.height


def test_taxonomy_files_are_named_and_found_beside_the_schema(tmp_path):
    (tmp_path / "work.csv").write_text("a;x;*\nb;y;*\n")
    (tmp_path / "schema.toml").write_text(
        '[columns.work]\nrole = "quasi"\nhierarchy = { kind = "taxonomy", file = "work.csv" }\n'
    )
    schema = ic.Schema.from_toml(tmp_path / "schema.toml")
    schema.to_toml(tmp_path / "again.toml")
    assert 'file = "work.csv"' in (tmp_path / "again.toml").read_text()
    assert ic.Schema.from_toml(tmp_path / "again.toml") == schema


def proposed(frame, **options):
    schema = ic.Schema.propose(frame, **options)
    return {name: (attribute.role.value, _kind(attribute)) for name, attribute in schema.attributes.items()}


def _kind(attribute):
    return None if attribute.hierarchy is None else attribute.hierarchy.to_dict()["kind"]


def test_proposal_tells_columns_apart():
    n = 40
    frame = pl.DataFrame(
        {
            "id": range(n),
            "name": [f"person {i}" for i in range(n)],
            "note": ["a long story about somebody that can hold anything at all " + "ab"[i % 2] for i in range(n)],
            "age": [20 + i * 7 % 30 for i in range(n)],
            "weight": [50.5 + i % 9 for i in range(n)],
            "zip": [f"0{1000 + i % 5}" for i in range(n)],
            "born": [dt.date(1990, 1 + i % 12, 1) for i in range(n)],
            "since": [f"200{i % 9}-01-31" for i in range(n)],
            "town": [f"town {i % 8}" for i in range(n)],
            "sex": ["m", "f"] * (n // 2),
            "smokes": [True, False] * (n // 2),
            "nothing": [None] * n,
            "ill": ["flu", "cold", "angina", "none"] * (n // 4),
            "visits": [i * i % 29 for i in range(n)],
            "ssn": [100_000_000 + i * 7_654_321 % 899_999_999 for i in range(n)],
            "patient_name": ["Ann", "Bob"] * (n // 2),
            "contact": [f"{'ab'[i % 2]}@example.org" for i in range(n)],
        }
    )
    assert proposed(frame, sensitive="ill") == {
        "id": ("identifier", None),
        "name": ("identifier", None),
        "note": ("identifier", None),
        "age": ("quasi", "intervals"),
        "weight": ("quasi", "intervals"),
        "zip": ("quasi", "prefixes"),
        "born": ("quasi", "intervals"),
        "since": ("quasi", "dates"),
        "town": ("quasi", "by_class"),
        "sex": ("quasi", None),
        "smokes": ("quasi", None),
        "nothing": ("identifier", None),
        "ill": ("sensitive", None),
        "visits": ("quasi", "intervals"),
        "ssn": ("identifier", None),
        "patient_name": ("identifier", None),
        "contact": ("identifier", None),
    }
    assert proposed(frame, sensitive="sex")["sex"] == ("sensitive", None)
    assert "guess" in ic.Schema.propose(frame.select("age", "weight", "ill")).attributes["ill"].why


def test_proposal_points_at_texts_that_may_mean_missing():
    frame = pl.DataFrame({"town": ["a", "b", "c", "d", "?"] * 5, "ill": ["x", "y", "x", "y", "x"] * 5})
    assert (
        "'?' in 5 rows may mean missing: then set missing = [\"?\"]" in ic.Schema.propose(frame).attributes["town"].why
    )
    assert "missing" not in ic.Schema.propose(frame, missing_tokens=["?"]).attributes["town"].why


def test_numbers_with_signs_for_missing_between_them_are_numbers():
    weights = [f"{50 + i / 7:.2f}" for i in range(30)]
    frame = pl.DataFrame({
        "weight": ["NA", *weights, "?"], "town": ["NA", "b"] * 16, "ill": ["x", "y"] * 16,
    })  # fmt: skip
    schema = ic.Schema.propose(frame)
    assert schema.missing_tokens == ("?", "NA")
    assert schema.attributes["weight"].type == "float"
    assert "count as missing" in schema.attributes["weight"].why
    table = Table.encode(frame, schema)
    assert table.n_rows == 32
    assert table.hierarchies[0].n_leaves == 31  # missing is a value of its own


def test_dates_of_a_country_are_pointed_at():
    frame = pl.DataFrame({
        "born": [f"{1 + i}.3.1990" for i in range(28)], "age": [i * 7 % 20 for i in range(28)], "ill": ["x", "y"] * 14,
    })  # fmt: skip
    found = ic.Schema.propose(frame).attributes["born"]
    assert found.role.value == "identifier"
    assert "in another format than 2024-03-05" in found.why


def test_times_are_left_to_the_reader():
    frame = pl.DataFrame({"at": [dt.datetime(2024, 1, 1 + i, 9, 30) for i in range(20)], "ill": ["x", "y"] * 10})
    assert ic.Schema.propose(frame).attributes["at"].type is None


def test_proposal_needs_something_sensitive():
    with pytest.raises(ic.SchemaError, match="No column of the 100 rows looks like"):
        ic.Schema.propose(pl.DataFrame({"a": list(range(100))}))
    with pytest.raises(ic.SchemaError, match="no column 'b'"):
        ic.Schema.propose(pl.DataFrame({"a": [1, 2]}), sensitive="b")


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"quasi": {}}, "no quasi-identifier"),
        ({"quasi": {"a": None}, "sensitive": "a"}, "more than one role"),
        ({"quasi": {"a": 5}}, "is a int"),
        ({"quasi": {"a": ic.Intervals}}, "the class Intervals"),
        ({"quasi": "age"}, "quasi is the text"),
        ({"quasi": ["a"], "sensitive": ["b", 5]}, "sensitive is a list"),
        ({"quasi": ["a"], "sensitive": 5}, "sensitive is a int"),
        ({"quasi": ["a"], "sensitive": ["b", "b"]}, "more than one role"),
        ({"quasi": ["a"], "missing_tokens": "NA"}, "missing_tokens is the text"),
        ({"quasi": ["a"], "types": {"a": "zip"}}, "type 'zip'"),
        ({"quasi": ["a"], "types": {"b": "str"}}, "no column 'b'"),
        ({"quasi": {"a": None}, "identifiers": "name"}, "is the text"),
        ({"quasi": {"a": None}, "missing": "guess"}, "missing is"),
        ({"quasi": {"a": None}, "rest": "keep"}, "rest is"),
        ({"quasi": {"a": None}, "target": "b"}, "target 'b'"),
        ({"quasi": {"a": None}, "target": "a"}, "'a' is a quasi-identifier.*\n\n.*sensitive, or other"),
        ({"quasi": {"a": None}, "other": ["b", "c"], "target": ["b", "c"]}, "the class is one column.*\n\n.*join"),
        ({"quasi": {"a": None}, "identifiers": ["b"], "target": "b"}, "target 'b'"),
    ],
)
def test_contradictions_are_refused(options, fact):
    with pytest.raises(ic.SchemaError, match=fact):
        ic.Schema(**options)


def test_several_sensitive_columns(tmp_path):
    schema = ic.Schema(quasi=["q"], sensitive=["a", "b"])
    assert (schema.secrets, schema.sensitive, schema.target) == (["a", "b"], ["a", "b"], None)
    assert ic.Schema(quasi=["q"], sensitive=["a"]) == ic.Schema(quasi=["q"], sensitive="a")
    limited = ic.Schema.of(
        [
            Attribute("q", Role.QUASI),
            Attribute("a", Role.SENSITIVE, limits={"l": 3, "l_kind": "distinct"}),
            Attribute("b", Role.SENSITIVE, limits={"t": 0.2}),
        ],
        target="b",
    )
    limited.to_toml(tmp_path / "schema.toml")
    assert ic.Schema.from_toml(tmp_path / "schema.toml") == limited
    with pytest.raises(ic.SchemaError, match="'q' has l, and is not sensitive"):
        Attribute("q", Role.QUASI, limits={"l": 3})


def test_columns_must_fit():
    schema = ic.Schema(quasi=["a"], sensitive="s")
    with pytest.raises(ic.SchemaError, match="did you mean 'Sick'"):
        ic.Schema(quasi=["a"], sensitive="sick").check(pl.DataFrame({"a": [1], "Sick": [1]}))
    with pytest.raises(ic.SchemaError, match="regular expression"):
        ic.Schema(quasi=["^a$"]).check(pl.DataFrame({"^a$": [1]}))
    with pytest.raises(ic.SchemaError, match="no column 's'"):
        schema.check(pl.DataFrame({"a": [1]}))
    with pytest.raises(ic.SchemaError, match="'b', 'c' of the table has no role"):
        schema.check(pl.DataFrame({"a": [1], "s": [1], "b": [1], "c": [1]}))
    ic.Schema(quasi=["a"], sensitive="s", rest="drop").check(pl.DataFrame({"a": [1], "s": [1], "b": [1]}))


@pytest.mark.parametrize("tokens", [["x" * 41], [str(number) for number in range(33)]])
def test_missing_tokens_are_a_few_short_words(tokens):
    with pytest.raises(ic.errors.SchemaError, match="missing_tokens has"):
        ic.Schema(quasi=["a"], missing_tokens=tokens)


def test_missing_tokens_are_listed_once():
    assert ic.Schema(quasi=["a"], missing_tokens=["?", "n/a", "?"]).missing_tokens == ("?", "n/a")
