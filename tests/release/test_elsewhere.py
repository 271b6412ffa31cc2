"""Releases in databases, files of other programs and datasets: what is read back is what was sealed, or nothing is."""

import datetime as dt
import json
import random
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io, workflow
from incrowd.errors import InputError, VerificationError
from incrowd.io import database_tables, elsewhere

N = 60
DRAW = random.Random(4)  # no column follows from another
PEOPLE = pl.DataFrame(
    {
        "näme": [f"Zaphod{i}" for i in range(N)],
        "alter": [DRAW.choice([None, *range(20, 60)]) for _ in range(N)],
        "größe": [DRAW.randrange(150, 200) / 100 for _ in range(N)],
        "日付": [dt.date(DRAW.randrange(1950, 1980), DRAW.randrange(1, 13), 1) for _ in range(N)],
        "sex": [DRAW.choice(["f", "m", None]) for _ in range(N)],
        "in debt": [DRAW.random() < 0.5 for _ in range(N)],
        "x=y%": [DRAW.choice([None, 0.1, 0.2, 0.30000000000000004]) for _ in range(N)],
        "note": [DRAW.choice(["日本, 'x'", None]) for _ in range(N)],
        "ill": [DRAW.choice(["flu", "none", "gout"]) for _ in range(N)],
    }
)
ROLES = {
    "quasi": {"alter": ic.Intervals(), "größe": ic.Intervals(), "日付": ic.Intervals(), "sex": None, "in debt": None},
    "sensitive": "ill",
    "other": ["x=y%", "note"],
    "identifiers": ["näme"],
}
SOURCES = ["csv", "parquet", "sqlite", "postgres", "xlsx"]
TARGETS = ["folder", "sqlite", "duckdb", "postgres", "xlsx", "sav", "dta", "dataset", "csv"]


@pytest.fixture(autouse=True)
def at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def release():
    return ic.Mondrian(k=5).publish(PEOPLE, ic.Schema(**ROLES))


def address(kind, request, table):
    if kind in ("folder", "dataset"):
        return "out"
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        server.execute(f'drop table if exists "{table}"', f'drop table if exists "{table}_manifest"')
        return f"{server.url()}#{table}"
    return {"sqlite": f"sqlite:///out.db#tälle {table}", "duckdb": f"duckdb:///out.duckdb#tälle {table}"}.get(
        kind, f"out.{kind}"
    )


def source(kind, request):
    if kind in ("sqlite", "postgres"):
        where = address(kind, request, "people")
        url, table = io.connecting.split_table(where)
        io.write(PEOPLE, url, table=table)
        return where
    io.write(PEOPLE, f"people.{kind}")
    return f"people.{kind}"


FAST = [("csv", target) for target in TARGETS] + [(each, "sqlite") for each in SOURCES if each != "csv"]
SLOW = [(each, target) for each in SOURCES for target in TARGETS if (each, target) not in FAST]


@pytest.mark.parametrize(("come", "go"), [*FAST, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SLOW)])
def test_from_anywhere_to_anywhere(request, come, go):
    people, output = source(come, request), address(go, request, "release")
    done = workflow.publish(
        people,
        ic.Schema(**ROLES),
        output,
        method="mondrian",
        parameters={"k": 5},
        private="mine",
        dataset=go == "dataset",
    )
    found = workflow.verify(output, people, private="mine")
    assert found.violations == []
    assert found.complete == (go in ("folder", "dataset"))
    assert [line.split(":")[0] for line in found.unknown] == ([] if found.complete else ["place"])
    assert "private files" in {check.name for check in found.checks}  # digests of the bytes that were published
    assert workflow.verify(output).ok
    if go != "folder":
        (table,) = io.fetch(io.find_place(output)).tables.values()
        assert table.equals(done.release.coded_tables()[0], null_equal=True)
    else:
        Path("mine").rename("out.private")
    assert ic.Release.load(output).frame.equals(done.release.frame, null_equal=True)
    shown = json.dumps(done.to_dict()) + repr(done)
    assert "geheim" not in shown
    assert "Zaphod" not in shown


def test_columns_go_under_names_that_programs_accept(release):
    release.save_to("out.dta")
    cover = json.loads(Path("out.dta.manifest.json").read_text(encoding="utf-8"))
    stored = {column["name"]: column["stored"] for column in cover["tables"][0]["columns"]}
    assert stored["alter.lo"] == "alter_lo"
    assert stored["x=y%"] == "x_y_"
    assert stored["in debt"] == "in_debt"
    assert stored["日付"] == "日付"
    assert cover["manifest"] == release.manifest.to_dict()


def test_only_the_columns_of_the_release_are_written(release):
    release.save_to("sqlite:///out.db#r")
    with sqlite3.connect("out.db") as raw:
        tables = {name for (name,) in raw.execute("select name from sqlite_master")}
        columns = [row[1] for row in raw.execute("pragma table_info(r)")]
    raw.close()
    assert tables == {"r", "r_manifest"}
    assert columns == release.coded_tables()[0].columns
    assert b"Zaphod" not in Path("out.db").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["out.db", "r.private"]


@pytest.mark.slow
def test_projections_are_tables_of_a_database_and_nothing_else():
    frame = PEOPLE.select("alter", "sex", "in debt", "note", "ill").with_columns(pl.col("alter").fill_null(0))
    schema = ic.Schema(quasi={"alter": ic.Intervals(), "sex": None, "in debt": None}, sensitive="ill", other=["note"])
    made = ic.DMPD(k=3, generations=2, population=6).publish(frame, schema, seed=1)
    made.save_to("sqlite:///out.db#parts")
    found = ic.verify("sqlite:///out.db#parts", frame)
    assert found.violations == []
    assert list(io.fetch(io.find_place("sqlite:///out.db#parts")).tables) == made.stems()
    if len(made.stems()) > 1:
        with pytest.raises(InputError, match="holds one table"):
            made.save_to("out.xlsx")
        assert not Path("out.xlsx").exists()


ODD = {
    "empty text": (["", "a"], [".xlsx", ".sav", ".dta", ".csv"]),
    "spaces at the end": (["a  ", "b"], [".sav"]),
    "many digits": ([2**60, 2**60 + 1], [".sav", ".dta", ".xlsx"]),
    "a date of long ago": ([dt.date(1700, 1, 1), dt.date(1800, 1, 1)], [".xlsx"]),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", ODD)
def test_what_a_program_cannot_hold_is_refused(what):
    values, suffixes = ODD[what]
    frame = PEOPLE.select("alter", "ill").with_columns(pl.Series("odd", (values * N)[:N]))
    made = ic.Mondrian(k=5).publish(frame, ic.Schema(quasi={"alter": None}, sensitive="ill", other=["odd"]))
    for suffix in suffixes:
        with pytest.raises(InputError, match="odd") as caught:
            made.save_to(f"out{suffix}")
        assert caught.value.hint
        assert list(Path().iterdir()) == []
    for place in ("out.parquet", "sqlite:///out.db#r", "duckdb:///out.duckdb#d"):
        made.save_to(place)
        assert ic.verify(place, frame).ok


def test_a_time_zone_has_no_place_but_a_folder():
    zoned = pl.Series("odd", [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * N)
    frame = PEOPLE.select("alter", "ill").with_columns(zoned)
    made = ic.Mondrian(k=5).publish(frame, ic.Schema(quasi={"alter": None}, sensitive="ill", other=["odd"]))
    with pytest.raises(InputError, match="Column 'odd' has the type Datetime with a time zone"):
        made.save_to("sqlite:///out.db#r")
    assert list(Path().iterdir()) == []


def tables_of(request, kind):
    """Return an address and a function that asks it for one number."""
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        return address(kind, request, "again"), lambda query: server.execute(query)[0][0]

    def ask(query):
        raw = sqlite3.connect("out.db")
        (found,) = raw.execute(query).fetchone()
        raw.close()
        return found

    return "sqlite:///out.db#again", ask


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_existing_table_needs_a_word(request, release, kind):
    where, ask = tables_of(request, kind)
    release.save_to(where, private="one")
    with pytest.raises(InputError, match="already has the tables 'again' and 'again_manifest'") as caught:
        release.save_to(where, private="two")
    assert "replace=True or append=True" in caught.value.hint
    assert not Path("two").exists()
    other = ic.Mondrian(k=20).publish(PEOPLE, ic.Schema(**ROLES))
    other.save_to(where, private="two", existing="replace")
    assert ic.verify(where, PEOPLE, private="two").ok
    assert not ic.verify(where, PEOPLE, private="one").ok  # digests of another release
    release.save_to(where, private="three", existing="append")
    assert ask("select count(*) from again") == 2 * N
    assert ask("select count(*) from again_manifest") == 2
    mixed = ic.verify(where)
    assert (mixed.ok, mixed.complete, mixed.mixes_releases) == (True, False, True)
    with pytest.raises(InputError, match="rows of 2 releases"):
        ic.Release.load(where)
    narrow = ic.Mondrian(k=5).publish(PEOPLE.select("sex", "ill"), ic.Schema(quasi={"sex": None}, sensitive="ill"))
    with pytest.raises(InputError, match="has other columns than this release"):
        narrow.save_to(where, private="four", existing="append")
    assert ask("select count(*) from again") == 2 * N
    narrow.save_to(where, private="four", existing="replace")
    assert ask("select count(*) from again") == N
    assert ic.verify(where, PEOPLE.select("sex", "ill"), private="four").ok


def test_a_table_that_is_no_release_is_never_replaced(release):
    io.write(PEOPLE, "sqlite:///out.db", table="people")
    before = Path("out.db").read_bytes()
    for how in ("replace", "append"):
        with pytest.raises(InputError, match="is not a release of incrowd"):
            release.save_to("sqlite:///out.db#people", existing=how)
        with pytest.raises(InputError, match="is not a release of incrowd"):
            workflow.publish(
                PEOPLE, ic.Schema(**ROLES), "sqlite:///out.db#people", parameters={"k": 5}, **{how: True}
            )  # fmt: skip
    with pytest.raises(InputError, match="has no manifest in 'people_manifest'"):
        ic.verify("sqlite:///out.db#people")
    assert Path("out.db").read_bytes() == before
    assert not Path("people.private").exists()


def test_files_are_never_replaced(release):
    Path("out.xlsx").write_text("mine")
    for options in ({}, {"existing": "replace"}):
        with pytest.raises(InputError, match=r"already exists|only those can be replaced"):
            release.save_to("out.xlsx", **options)
    assert Path("out.xlsx").read_text() == "mine"
    Path("b.sav.manifest.json").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        release.save_to("b.sav")
    assert sorted(path.name for path in Path().iterdir()) == ["b.sav.manifest.json", "out.xlsx"]


PLACES = ["sqlite:///out.db#r", "duckdb:///out.duckdb#r", "out.xlsx", "out"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("when", ["reading back", "the private part"])
def test_a_failure_leaves_nothing(release, monkeypatch, place, failure, when):
    def fail(*_args, **_options):
        raise failure

    if when == "reading back":
        name = {"sqlite": "_read_back", "duckdb": "_read_back"}.get(place.partition(":")[0])
        module, name = (
            (database_tables, name) if name else (elsewhere, "_fetch_file" if "." in place else "_fetch_dataset")
        )
        monkeypatch.setattr(module, name, fail)
    else:
        monkeypatch.setattr("incrowd.release.folder._check_written", fail)
    with pytest.raises((InputError, KeyboardInterrupt, OSError)):
        release.save_to(place, dataset=place == "out")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("place", ["sqlite:///out.db#r", "out.sav"])
def test_the_private_part_is_named_first_and_taken_back(release, monkeypatch, place):
    seen = []

    def fail(*_args):
        seen.append(Path("kept").is_dir())
        raise KeyboardInterrupt

    if ":" in place:
        import sqlalchemy as sa

        monkeypatch.setattr(sa.Connection, "commit", fail)
    else:
        place_them = io.staging.Staging.place
        monkeypatch.setattr(
            io.staging.Staging,
            "place",
            lambda self, paths, **how: fail() if len(paths) > 1 else place_them(self, paths, **how),
        )
    with pytest.raises(KeyboardInterrupt):
        release.save_to(place, private="kept")
    assert seen == [True]
    assert list(Path().iterdir()) == []


def test_the_private_part_of_somebody_else_is_never_removed(release, monkeypatch):
    def faster(*_):
        Path("kept").mkdir()
        (Path("kept") / "theirs").write_text("mine")

    monkeypatch.setattr("incrowd.release.folder._check_written", faster)
    with pytest.raises(InputError, match="already exists"):
        release.save_to("sqlite:///out.db#r", private="kept")
    assert (Path("kept") / "theirs").read_text() == "mine"
    assert [path.name for path in Path().iterdir()] == ["kept"]


def test_a_database_that_changes_cells_gets_nothing(release, monkeypatch):
    insert = database_tables.insert

    def rounding(connection, database, target, frame):
        insert(connection, database, target, frame.with_columns(pl.col("größe.lo").round(0)))

    monkeypatch.setattr(database_tables, "insert", rounding)
    with pytest.raises(InputError, match=r"cannot hold 'größe\.lo' exactly as released"):
        release.save_to("sqlite:///out.db#r")
    assert list(Path().iterdir()) == []


FORGERIES = {
    "another cell": ("update r set ill = 'none' where rowid = 1", None),
    "another label": ("update r set sex = 'm' where rowid = 1", "labels|private files"),
    "a row less": ("delete from r where rowid = 1", "rows"),
    "a row twice": ("insert into r select * from r where rowid = 1", "rows"),
    "one more column": ("alter table r add column name text", "stored tables"),
    "another type": ("update r set \"alter.lo\" = 'x' where rowid = 1", "stored tables"),
    "a promise more": ("update r_manifest set content = replace(content, '\"k\": 5', '\"k\": 6')", "k"),
    "a space": ("update r_manifest set content = content || ' '", "stored tables"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_changed_table_is_found(release, name):
    statement, check = FORGERIES[name]
    release.save_to("sqlite:///out.db#r")
    raw = sqlite3.connect("out.db")
    with raw:
        assert raw.execute(statement).rowcount != 0
    raw.close()
    found = ic.verify("sqlite:///out.db#r", PEOPLE)
    assert not found.ok
    if check:
        assert any(line.partition(":")[0] in check.split("|") for line in found.violations), found.violations
    Path("r.private").rename("away")
    assert ic.verify("sqlite:///out.db#r").ok == (name == "another cell")  # nobody else can know


def test_a_dataset_has_room_for_nothing_else(release, monkeypatch):
    monkeypatch.setattr(elsewhere, "PART_ROWS", 25)
    monkeypatch.setattr(io, "PART_ROWS", 25)
    release.save_to("out", dataset=True)
    parts = sorted(path.name for path in Path("out").glob("*.parquet"))
    assert parts == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert ic.verify("out", PEOPLE).complete
    assert pl.read_parquet("out/*.parquet").equals(release.coded_tables()[0])  # as readers of datasets find it
    first = Path("out") / parts[0]
    pl.read_parquet(first.read_bytes()).write_parquet(first, compression="snappy")
    assert any(line.startswith("place:") for line in ic.verify("out", PEOPLE).violations)
    Path("out/notes.txt").write_text("Zaphod")
    with pytest.raises(InputError, match="does not hold the parts of a dataset and nothing else"):
        ic.verify("out")


def test_another_version_of_polars_compares_less_and_says_so(release, monkeypatch):
    release.save_to("sqlite:///out.db#r")
    monkeypatch.setattr(pl, "__version__", "0.0.1")
    found = ic.verify("sqlite:///out.db#r", PEOPLE)
    assert found.violations == []
    assert any(line.startswith("digests:") for line in found.unknown)


def test_numbers_that_look_like_others_are_found_by_any_version_of_polars(release, monkeypatch):
    release.save_to("out", dataset=True)
    part = Path("out/part-00000.parquet")
    kept = pl.read_parquet(part.read_bytes())
    odd = pl.Series("x=y%", np.array([0x7FF8_0000_0000_0BAD], np.uint64).view(np.float64)).first()
    kept.with_columns(pl.when(pl.col("x=y%") > 0).then(pl.lit(odd)).alias("x=y%")).write_parquet(part)
    Path("out.private").rename("away")
    monkeypatch.setattr(pl, "__version__", "0.0.1")
    found = ic.verify("out")
    assert "stored tables: they hold an unusual form of 'not a number' in column 'x=y%'" in found.violations


def test_what_was_stored_must_be_of_its_type():
    cover = io.Cover.of({}, {"t": pl.DataFrame({"a": [1, 2]})}, str)
    assert cover.restore("t", pl.DataFrame({"a": [2.0, 1.0]}), "It")["a"].to_list() == [1, 2]
    for wrong in ([1.5, 2.0], ["x", "y"], [dt.date(2020, 1, 1)] * 2):
        with pytest.raises(VerificationError, match="column 'a' has values that are not of the type Int64"):
            cover.restore("t", pl.DataFrame({"a": wrong}), "It")
    with pytest.raises(VerificationError, match="other columns"):
        cover.restore("t", pl.DataFrame({"b": [1]}), "It")
    for text in ("", "{}", '{"manifest": 1, "tables": []}', '{"manifest": {}, "tables": [{"name": "t"}]}'):
        with pytest.raises(InputError, match="does not hold the manifest of a release"):
            io.Cover.from_json(text, "It")
