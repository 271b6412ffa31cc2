"""incrowd report, from files."""

import json
import shutil

import polars as pl
import pytest
from test_publish_errors import run

import incrowd as ic

N = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, its release, and the release of a method that leaves something to check."""
    home = tmp_path_factory.mktemp("report")
    frame = pl.DataFrame(
        {
            "name": [f"Zaphod{i}" for i in range(N)],
            "age": [20 + i * 7 % 31 for i in range(N)],
            "zip": [f"0{1000 + i % 4}" for i in range(N)],
            "ill": ["no" if i * 7 % 31 < 15 else "yes" for i in range(N)],
        }
    )
    frame.write_csv(home / "data.csv")
    schema = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill", identifiers=["name"])
    ic.Mondrian(k=5).publish(frame, schema, seed=1).save(home / "release")
    ic.NSVDist(k=5).publish(frame, schema, seed=1).save(home / "shares")
    return home


@pytest.fixture
def incrowd(made, tmp_path, monkeypatch, capsys):
    home = tmp_path / "home"
    shutil.copytree(made, home)
    monkeypatch.chdir(home)
    return home, lambda *arguments: run(monkeypatch, capsys, *arguments)


def test_a_report_is_written_and_said_to_be_safe(incrowd):
    home, call = incrowd
    quick = ("--attacks", "linking,matching")
    code, out, err = call("report", "release", "--original", "data.csv", "-o", "report.html", *quick)
    assert (code, err) == (0, "")
    assert "nobody in this file can be told apart from at least 4 other people" in out
    assert "Check: Every promise holds, checked against the original table by independent code." in out
    assert "Attacks: No attack broke the promise: 2 of 2 could be tried and judged." in out
    assert "Wrote report.html: safe to share with the release." in out
    page = (home / "report.html").read_text(encoding="utf-8")
    assert "Zaphod" not in page
    assert "decision tree" in page
    for name in ("manifest.json", "release.csv", "release.parquet"):
        assert f"<code>{name}</code>" in page


def test_without_the_original_the_report_says_what_it_lacks(incrowd):
    _, call = incrowd
    code, out, _ = call("report", "shares", "-o", "report.html")
    assert code == 0
    assert "Attacks: Not tried: attacks are scored with the original, which was not given (--original)." in out


def test_without_a_file_the_report_is_printed(incrowd):
    home, call = incrowd
    before = sorted(home.iterdir())
    code, out, _ = call("report", "release")
    assert code == 0
    assert out.startswith("Privacy report on a published table\n\nWhat this file promises\n---")
    assert "\nLimits\n------\nSingling out: " in out
    assert sorted(home.iterdir()) == before


def test_json_is_the_summary_and_public_unless_asked_otherwise(incrowd):
    home, call = incrowd
    fast = ("--no-attack", "--no-evaluate", "--json")
    found = json.loads(call("report", "release", "--original", "data.csv", "-o", "report.html", *fast)[1])
    assert (found["written"], found["ok"], found["for_owner"]) == (["report.html"], True, False)
    assert found["adversaries"]["why_not"] == "Not tried: attacks were left out of this report."
    owner = ("--for-owner", "-o", "owner.html", "--original", "data.csv")
    assert json.loads(call("report", "release", *owner, *fast)[1])["for_owner"] is True
    assert (home / "owner.html").stat().st_mode & 0o077 == 0


def test_a_second_report_does_not_replace_the_first(incrowd):
    home, call = incrowd
    (home / "report.html").write_text("mine")
    code, _, err = call("report", "release", "-o", "report.html")
    assert code == 2
    assert "report.html" in err
    assert (home / "report.html").read_text() == "mine"


def test_a_broken_release_is_exit_code_3_and_reported(incrowd):
    home, call = incrowd
    manifest = (home / "release" / "manifest.json").read_text()
    (home / "release" / "manifest.json").write_text(manifest.replace('"k": 5', '"k": 15'))
    shutil.rmtree(home / "release.private")
    code, out, _ = call("report", "release", "-o", "report.html")
    assert code == 3
    assert "Check: BROKEN:" in out
    assert "Do not share this release." in (home / "report.html").read_text()


def test_a_release_that_cannot_be_read_is_a_failed_check(incrowd):
    home, call = incrowd
    (home / "release" / "release.parquet").write_bytes(b"nothing")
    shutil.rmtree(home / "release.private")
    code, _, err = call("report", "release", "-o", "report.html")
    assert code == 3
    assert "does not keep its promise" in err
    assert not (home / "report.html").exists()


def test_what_could_not_be_checked_with_the_original_is_exit_code_4(incrowd):
    home, call = incrowd
    shutil.rmtree(home / "shares.private")
    code, out, _ = call("report", "shares", "--original", "data.csv", "-o", "report.html", "--no-attack")
    assert code == 4
    assert "Not checked:" in out


def test_a_page_is_not_named_as_a_pdf(incrowd):
    _, call = incrowd
    code, _, err = call("report", "release", "-o", "out.pdf")
    assert (code, "Hint: give --pdf out.pdf, or a name such as out.html" in err) == (2, True)


def test_a_pdf_without_chromium_is_refused_before_anything_is_done(incrowd, monkeypatch):
    home, call = incrowd
    monkeypatch.setenv("PATH", str(home))
    code, _, err = call("report", "release", "-o", "report.html", "--pdf", "report.pdf")
    assert code == 2
    assert "A PDF is printed by Chromium" in err
    assert not (home / "report.html").exists()


def test_wrong_input_is_exit_code_2(incrowd):
    _, call = incrowd
    assert call("report", "nowhere", "-o", "report.html")[0] == 2
    code, _, err = call(
        "report", "release", "--original", "data.csv", "-o", "r.html", "--attacks", "guessing", "--no-evaluate"
    )
    assert code == 2
    assert "no attack 'guessing'" in err
    code, _, err = call("report")
    assert code == 2
    assert "Missing argument RELEASE" in err


def test_test_rows_of_other_people_are_read_as_the_release_is(incrowd):
    _, call = incrowd
    given = ("--original", "data.csv", "--test", "data.csv", "--no-attack", "--json")
    found = json.loads(call("report", "release", "-o", "report.html", *given)[1])
    assert [line["name"] for line in found["usefulness"]["lines"]] == [
        "decision tree", "naive Bayes", "logistic regression",
    ]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", ["out.csv", "out.sav", "sqlite:///shop.db#shared", "dataset"])
def test_a_report_on_a_release_elsewhere(incrowd, place):
    home, call = incrowd
    schema = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill", identifiers=["name"])
    schema.to_toml(home / "data.toml")
    how = ("--dataset",) if place == "dataset" else ()
    code, _, err = call("publish", "data.csv", "-s", "data.toml", "-k", "5", "-m", "mondrian", "-o", place, *how)
    assert code == 0, err
    quick = ("--attacks", "linking", "--no-evaluate")
    code, out, err = call("report", place, "--original", "data.csv", "-o", "report.html", *quick)
    assert (code, err) == (0 if place == "dataset" else 4, "")  # what else a file or a database holds, nobody can see
    assert "nobody in this file can be told apart from at least 4 other people" in out
    page = (home / "report.html").read_text(encoding="utf-8")
    assert "Zaphod" not in page
    files = {"out.csv": "out.csv.manifest.json", "out.sav": "out.sav", "dataset": "part-00000.parquet"}
    assert f"<code>{files.get(place, 'shared as release.csv')}</code>" in page
    assert call("report", place, "-o", "report.html", "--if-exists", "replace")[0] == 0
    code, out, _ = call("report", place, "-o", "report.html", "--if-exists", "skip", "--json")
    assert json.loads(out) == {"skipped": "report.html"}


def test_codes_that_mean_missing_do_not_stop_a_report(incrowd):
    home, call = incrowd
    frame = pl.read_csv(home / "data.csv").with_columns(pl.col("age").cast(pl.String).replace({"30": "k.A."}))
    frame.write_csv(home / "data.csv")
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill", identifiers=["name"],
        types={"age": "int"}, missing_codes={"age": ["k.A."]},
    )  # fmt: skip
    schema.to_toml(home / "data.toml")
    assert call("publish", "data.csv", "-s", "data.toml", "-k", "5", "-m", "mondrian", "-o", "coded")[0] == 0
    code, _, err = call("report", "coded", "--original", "data.csv", "--attacks", "linking", "-q")
    assert (code, err) == (0, "")
