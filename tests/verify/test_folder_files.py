"""The files of a release: exactly those, each written in one way, and what the owner keeps belongs to them."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from incrowd import io
from incrowd.verify import files, verify
from verify.on_disk import N, OnDisk, people


@pytest.fixture
def made(tmp_path):
    return OnDisk.of("mondrian", tmp_path)


@pytest.fixture(params=["mondrian", "nsvdist", "nhaa", "dmpd"])
def each(request, tmp_path):
    return OnDisk.of(request.param, tmp_path)


def test_what_was_saved_holds(each):
    verdict = each.verify()
    assert verdict.violations == []
    assert verdict.complete
    assert each.without_private().verify().violations == []


def test_a_public_check_is_complete_if_rows_form_groups(tmp_path):
    for method, complete in (("mondrian", True), ("nsvdist", False), ("nhaa", False), ("dmpd", True)):
        verdict = verify(OnDisk.of(method, tmp_path / method).public)
        assert (verdict.ok, verdict.complete) == (True, complete), method
        assert verdict.to_dict()["complete"] is complete
        assert ("holds as far as it could be checked" in str(verdict)) is not complete


def add_file(made):
    (made.public / "notes.txt").write_text("hello")


def add_hidden_file(made):
    (made.public / ".row_map").write_text("1 2 3")


def add_folder(made):
    (made.public / "more").mkdir()


def spoil(name):
    return lambda made: (made.public / name).write_bytes(b"PAR1{")


def link(name):
    def apply(made):
        (made.public / name).rename(made.public.parent / name)
        (made.public / name).symlink_to(made.public.parent / name)

    return apply


def as_folder(name):
    def apply(made):
        (made.public / name).unlink()
        (made.public / name).mkdir()

    return apply


def manifest_text(change):
    def apply(made):
        path = made.public / "manifest.json"
        path.write_bytes(change(path.read_bytes()))

    return apply


FILES = {
    "another file": (add_file, "'notes.txt' does not belong into a release"),
    "a hidden file": (add_hidden_file, "'.row_map' does not belong into a release"),
    "a folder": (add_folder, "'more' does not belong into a release"),
    "no CSV": (lambda made: (made.public / "release.csv").unlink(), "release.csv is missing"),
    "no Parquet": (
        lambda made: (made.public / "release.parquet").unlink(),
        "release.parquet is missing; release.parquet cannot be read",
    ),
    "a link": (link("release.csv"), "release.csv is a link"),
    "a link to a table": (link("release.parquet"), "release.parquet is a link"),
    "a link to a manifest": (link("manifest.json"), "manifest.json is a link"),
    "a folder with the name of a file": (as_folder("release.csv"), "release.csv is a link, a folder"),
    "Parquet that is none": (spoil("release.parquet"), "release.parquet cannot be read"),
    "JSON that is none": (spoil("manifest.json"), "manifest.json cannot be read as JSON"),
    "a list": (manifest_text(lambda _: b"[]\n"), ""),
    "a key twice": (manifest_text(lambda d: d.replace(b'"format": 2', b'"format": 2,\n "format": 2')), "a key twice"),
    "a number that is none": (manifest_text(lambda d: d.replace(b'"k": 5', b'"k": NaN', 1)), "cannot be read as JSON"),
    "a byte order mark": (manifest_text(lambda d: b"\xef\xbb\xbf" + d), "cannot be read as JSON"),
    "more spaces": (manifest_text(lambda d: d.replace(b'"k": 5', b'"k":  5', 1)), "not written in its one way"),
    "another indent": (manifest_text(lambda d: json.dumps(json.loads(d), indent=2).encode()), "in its one way"),
    "no line end": (manifest_text(lambda d: d.rstrip(b"\n")), "not written in its one way"),
    "letters in disguise": (manifest_text(lambda d: d.replace(b'"work"', b'"w\\u006frk"')), "in its one way"),
    "another form of a number": (manifest_text(lambda d: d.replace(b'"c": 3.0', b'"c": 3.00')), "in its one way"),
    "nested too deep": (manifest_text(lambda _: b"[" * 10**6), "cannot be read as JSON"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_those_of_a_release(made, name):
    plant, said = FILES[name]
    plant(made)
    verdict = made.without_private().verify()
    assert [check.ok for check in verdict.checks if check.name == "files"] == [False] if said else not verdict.ok
    assert said in str(verdict)


def test_a_manifest_may_be_too_large(made, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_MANIFEST", 100)
    assert "manifest.json is too large: more than 100 bytes" in str(made.without_private().verify())


def before_the_footer(made):
    """A row map that no reader looks at."""
    path = made.public / "release.parquet"
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:end] + made.owned("rows")["row"].to_numpy().tobytes() + data[end:])


def by_another_writer(made):
    pq.write_table(made.table().to_arrow(), made.public / "release.parquet")


def with_unused_words(made):
    """A dictionary with words that no row has, of which the schema says nothing."""
    table = made.table().to_arrow()
    words = table.column("work").combine_chunks().cast(pa.string()).dictionary_encode()
    more = pa.DictionaryArray.from_arrays(words.indices, pa.concat_arrays([words.dictionary, pa.array(["person 1"])]))
    table = table.set_column(table.column_names.index("work"), "work", more)
    pq.write_table(table, made.public / "release.parquet", compression="zstd", store_schema=False)


def with_other(**options):
    def apply(made):
        wanted = {"compression": "zstd", "compression_level": 3, "statistics": False, "row_group_size": 262144}
        made.table().write_parquet(made.public / "release.parquet", **wanted | options)

    return apply


def with_value(column, value):
    """Put a float into the first row of a column, in both files."""

    def apply(made):
        frame = made.table()
        numbers = frame[column].to_numpy().copy()
        numbers.view(np.uint64)[:] = np.where(np.arange(len(numbers)) == 0, np.uint64(value), numbers.view(np.uint64))
        made.write_table(frame.with_columns(pl.Series(column, numbers)))

    return apply


PARQUET = {
    "bytes before the footer": before_the_footer,
    "another writer": by_another_writer,
    "words that no row uses": with_unused_words,
    "another level": with_other(compression_level=9),
    "statistics": with_other(statistics=True),
    "small groups of rows": with_other(row_group_size=16),
    "notes": with_other(metadata={"rows": "1 2 3"}),
}


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_has_one_form(made, name):
    PARQUET[name](made)
    made.digest()
    assert made.failed() == {"parquet"}


@pytest.mark.parametrize(
    ("value", "said"), [(1 << 63, "a negative zero"), (0x7FF8000000000001, "an unusual form of 'not a number'")]
)
def test_numbers_have_one_form(made, value, said):
    with_value("hours", value)(made)
    made.digest()
    verdict = made.verify()
    assert f"parquet: release.parquet holds {said} in column 'hours'" in verdict.violations
    made.tell(lambda manifest: manifest.update(polars="0.1.0"))
    assert f"holds {said}" in str(made.verify())


def test_under_another_polars_bytes_cannot_be_compared(made):
    before_the_footer(made)
    made.tell(lambda manifest: manifest.update(polars="0.1.0"))
    made.digest()
    verdict = made.verify()
    assert (verdict.ok, verdict.complete) == (True, False)
    assert verdict.unknown == [
        f"parquet: only the polars that wrote a Parquet file can write the same bytes, and this is {pl.__version__}"
    ]


def replace_in_csv(old, new):
    def apply(made):
        path = made.public / "release.csv"
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new, 1))

    return apply


CSV = {
    "needless quotes": replace_in_csv(b",plain,", b',"plain",'),
    "a line end of another system": replace_in_csv(b"\n", b"\r\n"),
    "a space": replace_in_csv(b",plain,", b", plain,"),
    "a quoted missing value": replace_in_csv(b",,", b',"",'),
    "another form of a number": replace_in_csv(b".5,", b".50,"),
    "a line more": lambda made: replace_csv(made, lambda data: data + b"\n"),
    "no last line end": lambda made: replace_csv(made, lambda data: data[:-1]),
    "a byte order mark": lambda made: replace_csv(made, lambda data: b"\xef\xbb\xbf" + data),
    "no header": lambda made: replace_csv(made, lambda data: data.partition(b"\n")[2] + b"x" * 100),
    "a value of somebody else": replace_in_csv(b",flu", b",gou"),
}


def replace_csv(made, change):
    path = made.public / "release.csv"
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize("name", CSV)
def test_csv_has_one_form(made, name):
    CSV[name](made)
    made.digest()
    assert made.failed() == {"csv"}


def test_where_a_csv_goes_wrong_is_said(made):
    replace_in_csv(b"age", b"Age")(made)
    assert "release.csv is not the canonical text of its Parquet file, in its header" in str(made.verify())
    replace_in_csv(b"Age", b"age")(made)
    replace_in_csv(b",flu", b",gou")(made)
    assert f"canonical text of its Parquet file, in rows 1 to {made.table().height}" in str(made.verify())
    replace_in_csv(b",gou", b",flu")(made)
    CSV["a line more"](made)
    assert "release.csv goes on after its last row" in str(made.verify())


def test_a_share_has_one_form(tmp_path):
    made = OnDisk.of("nsvdist", tmp_path)
    text = (made.public / "release.csv").read_text()
    share = re.search(r"0\.\d+", text)[0]
    replace_in_csv(share.encode(), f"{share}0".encode())(made)
    made.digest()
    assert made.failed() == {"csv"}


def test_a_table_that_does_not_fit_its_manifest_is_not_read(made, monkeypatch):
    """A small file of many rows would fill the memory."""
    bomb = pl.select(pl.repeat(0, 3_000_000, dtype=pl.Int64())).to_series()
    pl.DataFrame([bomb.alias(name) for name in made.table().columns]).write_parquet(made.public / "release.parquet")
    assert (made.public / "release.parquet").stat().st_size < 100_000
    read = []
    monkeypatch.setattr(files.pl, "read_parquet", lambda *_, **__: read.append(1))
    made.without_private()
    assert f"release.parquet has 3000000 rows, and the manifest says {N}" in str(made.verify())
    made.write_manifest(made.manifest | {"rows": made.manifest["rows"] | {"released": 3_000_000}})
    assert "release.parquet has more fields than release.csv has room for" in str(made.verify())
    assert read == []


def test_text_that_does_not_fit_the_csv_is_not_written(made):
    frame = made.table().with_columns(note=pl.lit("x" * 100_000))
    io.write_canonical_parquet(frame, made.public / "release.parquet")
    verdict = made.without_private().verify()
    assert "release.parquet has more text than release.csv has room for" in str(verdict)
    assert [check.name for check in verdict.checks] == ["files", "payload"]


PROMISES = {
    "recoding that was flipped": ("mondrian", lambda manifest: manifest.update(recoding="non-homogeneous")),
    "recoding that was flipped back": ("nhaa", lambda manifest: manifest.update(recoding="homogeneous")),
    "l that is not promised": ("nsvdist", lambda manifest: manifest["guarantees"].pop()),
    "less l": ("nsvdist", lambda manifest: manifest["guarantees"][1].update(l=1.05)),
    "less k": ("mondrian", lambda manifest: manifest["guarantees"][0].update(k=4)),
    "another form": ("nsvdist", lambda manifest: manifest["sensitive"].update(form="counts")),
    "a seed": ("mondrian", lambda manifest: manifest["method"]["parameters"].update(seed=1)),
    "free text": ("mondrian", lambda manifest: manifest["method"]["parameters"].update(recoding="person 7")),
    "sets that were split": ("dmpd", lambda manifest: manifest["method"]["parameters"].update(quasi_sets=None)),
}


@pytest.mark.parametrize("name", PROMISES)
def test_promises_are_those_that_were_asked_for(tmp_path, name):
    method, change = PROMISES[name]
    made = OnDisk.of(method, tmp_path)
    made.tell(change)
    made.digest()
    assert {"nothing private", "promises"} & made.failed()


def swap(frame, a, b):
    order = np.arange(frame.height)
    order[[a, b]] = b, a
    return frame[order]


@pytest.mark.parametrize("at", [0, N - 2])
def test_rows_stand_in_one_order(made, at):
    frame = made.table()
    at = next(i for i in range(min(at, N - 2), -1, -1) if not frame[i].equals(frame[i + 1]))
    made.write_table(swap(frame, at, at + 1))
    io.write(swap(made.owned("rows"), at, at + 1), made.private / "rows.parquet")
    made.digest()
    verdict = made.verify()
    assert verdict.violations == [f"order: rows are not sorted, first at release row {at + 2}"]


def change_owned(stem, change):
    def apply(made):
        io.write(change(made.owned(stem)), made.private / f"{stem}.parquet")
        made.digest()

    return apply


def touch(name):
    def apply(made):
        path = made.private / name
        path.write_bytes(path.read_bytes() + b" ")

    return apply


def remove(name):
    return lambda made: (made.private / name).unlink()


def forget(name):
    def apply(made):
        (made.private / name).unlink()
        made.digest()

    return apply


def recode(write):
    def apply(made):
        write(made.private / "recoding.npz")
        made.digest()

    return apply


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def archive_of_text(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("note.txt", "hello")


def archive_of(**sizes):
    """Arrays of whole numbers of so many bytes each."""
    return lambda path: np.savez(path, **{name: np.arange(3, dtype=f"i{size}") for name, size in sizes.items()})


PRIVATE = {
    "a row map that was changed": ("mondrian", touch("rows.parquet"), "rows.parquet is not the private file"),
    "domains that were changed": ("mondrian", touch("domains.json"), "domains.json is not the private file"),
    "a recoding that was changed": ("mondrian", touch("recoding.npz"), "recoding.npz is not the private file"),
    "no row map": ("mondrian", remove("rows.parquet"), "rows.parquet is missing"),
    "no domains": ("mondrian", forget("domains.json"), "domains.json is missing"),
    "no blocks": ("nsvdist", forget("blocks.parquet"), "blocks.parquet is missing"),
    "no members": ("nsvdist", forget("members.parquet"), "members.parquet is missing"),
    "no rings": ("nhaa", forget("rings.parquet"), "rings.parquet is missing"),
    "no second row map": ("dmpd", forget("rows-1.parquet"), "rows-1.parquet is missing"),
    "no recoding": ("mondrian", remove("recoding.npz"), "the digests of all private files"),
    "another file": ("mondrian", lambda made: (made.private / "x").write_text(""), "'x' does not belong into what the"),
    "rings of a method without": ("mondrian", lambda made: (made.private / "rings.parquet").write_text(""), "'rings.p"),
    "no manifest": ("mondrian", remove("manifest.json"), "manifest.json is missing"),
    "a public digest": (
        "mondrian",
        lambda made: made.own(lambda about: about["public"].update({"release.csv": "0" * 64})),
        "release.csv is not the public file that the private manifest has the digest of",
    ),
    "a digest too few": (
        "mondrian",
        lambda made: made.own(lambda about: about["public"].pop("release.csv")),
        "does not list the digests of all public files",
    ),
    "a digest too many": (
        "mondrian",
        lambda made: made.own(lambda about: about["private"].update(x="")),
        "does not list the digests of all private files",
    ),
    "another method": (
        "mondrian",
        lambda made: made.own(lambda about: about["method"].update(name="tds")),
        "names another method or parameters",
    ),
    "another key": ("mondrian", lambda made: made.own(lambda about: about.update(x=1)), "has other keys"),
    "a row map of texts": (
        "mondrian",
        change_owned("rows", lambda frame: frame.cast(pl.String())),
        "rows.parquet has other columns or types than its format says, or missing values",
    ),
    "a row map of small numbers": (
        "mondrian",
        change_owned("rows", lambda f: f.cast(pl.Int32())),
        "other columns or t",
    ),
    "a row map with gaps": ("mondrian", change_owned("rows", lambda f: f.with_columns(row=None)), "other columns or t"),
    "a row map with two columns": (
        "mondrian",
        change_owned("rows", lambda f: f.with_columns(x=1)),
        "rows.parquet has other columns or types",
    ),
    "members of large numbers": (
        "nsvdist",
        change_owned("members", lambda frame: frame.cast(pl.Int64())),
        "members.parquet has other columns or types",
    ),
    "rings of floats": ("nhaa", change_owned("rings", lambda f: f.cast(pl.Float64())), "rings.parquet has other col"),
    "a seed of text": ("mondrian", lambda made: made.own(lambda about: about.update(seed="1")), "the seed is not a w"),
    "a seed below 0": ("mondrian", lambda made: made.own(lambda about: about.update(seed=-1)), "the seed is not a w"),
    "a seed that is true": ("mondrian", lambda made: made.own(lambda about: about.update(seed=True)), "the seed is"),
    "a recoding of junk": ("mondrian", recode(lambda path: path.write_bytes(b"junk")), "recoding.npz does not hold"),
    "a recoding of one array": ("mondrian", recode(one_array), "recoding.npz does not hold"),
    "a recoding of texts": ("mondrian", recode(archive_of_text), "recoding.npz does not hold"),
    "a recoding with an array more": ("mondrian", recode(archive_of(cuts=4, lo=4, hi=4, x=4)), "recoding.npz does not"),
    "a recoding with an array less": ("mondrian", recode(archive_of(cuts=4, lo=4)), "recoding.npz does not hold"),
    "a recoding of long numbers": ("mondrian", recode(archive_of(cuts=4, lo=4, hi=8)), "recoding.npz does not hold"),
    "a recoding of a method without one": (
        "nhaa",
        recode(archive_of(cuts=4, lo=4, hi=4)),
        "'recoding.npz' does not be",
    ),
    "a recoding of projections": ("dmpd", recode(archive_of(cuts=4, lo=4, hi=4)), "'recoding.npz' does not belong"),
    "a recoding that runs": (
        "mondrian",
        recode(lambda path: np.savez(path, a=np.array([{}], object))),
        "recoding.npz does not hold",
    ),
    "a row map that is none": (
        "mondrian",
        lambda made: ((made.private / "rows.parquet").write_bytes(b"x"), made.digest()),
        "rows.parquet cannot be read",
    ),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_what_the_owner_keeps_belongs_to_the_release(tmp_path, name):
    method, plant, said = PRIVATE[name]
    made = OnDisk.of(method, tmp_path)
    plant(made)
    verdict = made.verify()
    assert [check.ok for check in verdict.checks if check.name == "private files"] == [False]
    assert said in next(check.detail for check in verdict.checks if check.name == "private files")


def test_the_private_folder_may_be_elsewhere(made):
    elsewhere = made.private.rename(made.public.with_name("safe"))
    assert not any(check.name == "private files" for check in made.verify().checks)
    assert any(check.name == "private files" and check.ok for check in made.verify(private=elsewhere).checks)
    (elsewhere / "rows.parquet").unlink()
    assert "private files" in made.failed(private=elsewhere)


@pytest.mark.parametrize("seed", [None, 0, 2**130])
def test_a_seed_is_none_or_a_whole_number(made, seed):
    made.own(lambda about: about.update(seed=seed))
    assert made.verify().violations == []


def test_a_private_folder_of_another_release(tmp_path):
    one, other = (OnDisk.of(method, tmp_path / method) for method in ("mondrian", "nhaa"))
    assert "private files" in one.failed(private=other.private)


def test_row_numbers_may_be_given(each):
    maps = sorted(each.private.glob("rows*.parquet"))
    rows = np.array([pl.read_parquet(path)["row"] for path in maps])
    rows = rows if each.manifest.get("payload") else rows[0]
    assert each.verify(rows=rows).violations == []
    wrong = rows.copy()
    wrong[..., 0] = wrong[..., 1]
    assert {"row map", "row maps"} & each.failed(rows=wrong)


def test_a_class_alone_with_missing_values_has_no_blank_lines(tmp_path):
    frame = pl.DataFrame({"zip": [str(i) for i in range(20)], "ill": (["flu", "gout", None] * 7)[:20]})
    schema = ic.Schema(quasi=["zip"], other=["ill"], target="ill", missing="value")
    ic.DMPD(k=5, generations=1, population=4).publish(frame, schema).save(tmp_path / "out")
    text = (tmp_path / "out" / "projection-1.csv").read_text()
    assert text.startswith('ill\n""\n""\n')
    assert "\n\n" not in text
    assert verify(tmp_path / "out", frame).violations == []


def test_names_with_quotes_and_brackets(tmp_path):
    odd = 'q"x, [1]'
    frame = people().rename({"age": odd})
    schema = ic.Schema(quasi=[odd], sensitive="ill", identifiers=["name", "work", "hours", "note"])
    folder = tmp_path / "out[1]"
    ic.Mondrian(k=5).publish(frame, schema).save(folder)
    assert verify(folder, frame).violations == []
    assert (folder / "release.csv").read_text().startswith('"q""x, [1]",ill\n')


def test_a_folder_named_by_text(made):
    assert verify(str(made.public), people()).violations == []
    assert Path(made.public).is_dir()


def test_a_table_that_the_manifest_does_not_describe_cannot_be_compared(made):
    made.tell(lambda manifest: manifest["quasi"][0].pop("name"))
    made.digest()
    assert "csv" in made.failed()
    assert "release.csv cannot be compared with the Parquet file" in str(made.verify())


def test_a_manifest_may_be_as_large_as_it_may_be(made, monkeypatch):
    size = max((folder / "manifest.json").stat().st_size for folder in (made.public, made.private))
    size = max(size, (made.private / "domains.json").stat().st_size)
    for most, fine in ((size, True), (size - 1, False)):
        monkeypatch.setattr(files, "LARGEST_MANIFEST", most)
        assert made.verify().ok is fine
