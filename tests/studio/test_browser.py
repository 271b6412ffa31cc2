"""The story in a real browser: from a file to a release, and what goes wrong on the way.

Each run has the whole story, the pages for screen readers and the keyboard; the slow ones have the rest, and what the
rest asks of the server is in test_pages.py, without a browser.
"""

import json
import os
import zipfile
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
from person import Person
from selenium.webdriver.common.keys import Keys
from studio_server import PEOPLE, Studio

from incrowd import workflow
from incrowd.errors import InputError

_CELLS = list(zip(["ω", "<i>β</i>", "=1+1", "  "], ["", "x", "ÿ", "🙂"], strict=True))
ODD = 'Größe <b>,naïve 年齢,"quote""s, & more",\'; drop,Δ ill\n' + "".join(
    f"{_CELLS[i % 4][0]},{20 + i % 9},{_CELLS[i % 4][1]},{i % 5},{'ja' if i % 3 else 'nein'}\n" for i in range(60)
)
AXE = Path(__file__).parents[2] / ".venv" / "axe" / "package" / "axe.min.js"
PAGES = ("data", "roles", "hierarchies", "tradeoff", "result", "models")


@pytest.fixture
def person(browser):
    browser.get_log("browser")
    yield Person(browser)
    bad = [entry["message"] for entry in browser.get_log("browser") if "/upload - Failed" not in entry["message"]]
    assert bad == [], "the content policy or a script failed"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    running = Studio(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


@pytest.fixture(scope="session")
def axe():
    if not AXE.exists():
        if os.environ.get("CI"):
            pytest.fail("axe-core is needed: ./dev test fetches it with npm")
        pytest.skip("needs axe-core: ./dev test fetches it with npm")
    return AXE.read_text(encoding="utf-8")


def test_from_a_file_to_a_checked_release(home, person, axe, tmp_path):
    person.open(home, PEOPLE)
    person.sees("The first 10 rows")
    person.sees("Cleo")
    person.press("Next: roles of the columns")
    person.sees("24 of 24 people are the only ones")
    person.drag(".board li[data-number='3']", ".board[data-role=identifier]")  # sex
    person.sees("22 of 24 people are the only ones")
    assert person.one("#role-3").get_attribute("value") == "identifier"
    person.press("Next: how columns are made coarser")
    person.press_starting("job")
    person.one("input[value=own]").click()
    person.sees("6 values")
    for names, group in ((("nurse", "teacher"), "care"), (("clerk", "lawyer"), "office")):
        for name in names:
            person.one(f"input[name=name][value={name}]").click()
        person.write("new", group)
        person.press("Move")
        person.one(f"[data-group={group}]")
    assert person.problems(axe) == []
    person.drag("[data-name=driver]", "[data-group=office]")
    person.until(lambda: "driver,office" in person.one("#text").get_attribute("value"))
    person.press("Use this for job")
    person.until(lambda: "your tree" in person.text())
    person.press("Next: what privacy costs")
    person.write("k", "3")
    person.press("Try them")
    person.one(".chart")
    assert len(person.all("svg a")) == 4  # two methods, two charts
    assert person.problems(axe) == []
    person.one("svg a[aria-label^='mondrian, k = 3']").click()
    person.until(lambda: person.one("#k").get_attribute("value") == "3")
    person.press("Publish and check")
    person.sees("Checked: every promise holds")
    packed = zipfile.ZipFile(BytesIO(person.download("Download the release", "release.zip")))
    assert sorted(packed.namelist()) == ["release/manifest.json", "release/release.csv", "release/release.parquet"]
    packed.extractall(tmp_path)
    assert b"sex" not in packed.read("release/release.csv")
    assert workflow.verify(tmp_path / "release").ok
    assert "incrowd publish people.csv -s schema.toml -m mondrian -k 3 -o release" in person.text()
    toml = person.download("schema.toml", "schema.toml").decode()
    assert '[columns."sex"]\nrole = "identifier"' in toml
    assert '"care"' in toml
    person.press("Run the attacks")
    person.sees("withstood linking, matching, reconstruction")
    person.window.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert person.problems(axe) == []


@pytest.mark.slow
def test_unicode_names_and_odd_values(home, person, tmp_path):
    path = tmp_path / "Ünï <i>cödé 年 ' ; &.csv"
    path.write_text(ODD, encoding="utf-8")
    person.open(home, path)
    for words in ("Größe <b>", "naïve 年齢", "🙂", "<i>β</i>", path.name):
        person.sees(words)
    person.press("Next: roles of the columns")
    person.sees("Who stands out today")
    before = person.text()
    person.choose("role-3", "sensitive")  # a second one
    person.until(lambda: "people are the only ones" in person.text() != before)
    person.go("result")
    person.write("k", "5")
    person.press("Publish and check")
    person.sees("Checked: every promise holds")
    saved = home.place / "saved"
    person.write("place", "saved")
    person.press("Save")
    person.sees(f"Saved in {saved}")
    assert workflow.verify(saved, path).complete
    assert "'Ünï <i>cödé 年 '\"'\"' ; &.csv'" in person.text()


@pytest.mark.slow
def test_a_wrong_file_hierarchy_and_k_get_the_librarys_own_words(home, person, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError) as told:
        workflow.look(bad)
    person.window.get(home.address)
    person.one("#file").send_keys(str(bad))
    person.sees(str(told.value.fact).replace(str(bad), "bad.csv"))
    person.one("#file").send_keys(str(__file__))
    person.sees("is not in a format that the studio can read")
    book = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(book) as made:
        made.add_worksheet("Cover").write(0, 0, "Report 2023")
        pl.read_csv(PEOPLE).write_excel(made, "Data")
    person.one("#file").send_keys(str(book))
    person.sees("'Data' looks like one")
    person.write("part", "Data")
    person.press("Read the file again")
    person.until(lambda: person.window.current_url.endswith("/data"))
    person.sees("book.xlsx")
    person.window.get(home.address)
    person.one("#file").send_keys(str(PEOPLE))
    person.until(lambda: person.window.current_url.endswith("/data"))
    person.go("hierarchies?column=4")
    person.one("input[value=own]").click()
    text = person.one("#text")
    text.send_keys(Keys.CONTROL, "a")
    text.send_keys("nurse,care\nclerk,office\n")
    person.sees("4 values have no place (15 people):")
    text.send_keys("clerk,care\n")
    person.sees("'clerk' has two parents: 'office' in line 2 and 'care' in line 3")
    assert not person.one("button[value=keep]").is_enabled()
    person.go("result")
    person.write("k", "30")
    person.press("Publish and check")
    person.sees("No release of a table with 24 rows can keep k = 30")
    person.press("Publish with k = 24")
    person.sees("Checked: every promise holds")


@pytest.mark.slow
def test_a_run_is_found_again_cancelled_and_alone_in_its_tab(home, person, tmp_path):
    large = tmp_path / "large.csv"
    lines = (f"{i % 83},{i % 997},{'abcdef'[i % 6]},{'xy'[i % 2]}\n" for i in range(20000))
    large.write_text("age,zip,job,ill\n" + "".join(lines), encoding="utf-8")
    person.open(home, large)
    person.go("tradeoff")
    person.write("k", "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20")
    person.press("Try them")
    person.one("progress")
    page = person.window.current_url
    person.window.refresh()
    person.one("progress")
    person.window.switch_to.new_window("tab")
    person.open(home, PEOPLE)
    person.go("tradeoff")
    person.sees("What to try")  # another table: nothing runs
    person.window.get(page)
    person.press("Cancel")
    person.sees("The comparison was cancelled. Nothing was written.")
    person.window.close()
    person.window.switch_to.window(person.window.window_handles[0])
    person.sees("The comparison was cancelled. Nothing was written.")  # it was watching


@pytest.mark.slow
def test_the_whole_story_of_census_data_and_of_two_hundred_odd_columns(home, person, axe, tmp_path):
    from incrowd.datasets import adult

    odd = {f"年{m} <b>": [(i * (m + 3)) % (3 + m % 9) for i in range(400)] for m in range(197)}
    odd |= {"alter": [99 if i % 9 == 0 else 20 + i % 50 for i in range(400)], "größe": ["groß", "klein"] * 200}
    odd |= {"krank": [["ja", "nein", "weiß nicht"][i * i % 3] for i in range(400)]}
    for name, frame, k in (("adult.csv", adult(), "25"), ("odd 年.csv", pl.DataFrame(odd), "5")):
        path = tmp_path / name
        frame.write_csv(path)
        person.open(home, path)
        for box in person.all(".suspect input"):
            box.click()
        person.press("Next: roles of the columns")
        person.sees("people are the only ones")
        assert person.problems(axe) == []  # lists of many columns scroll
        if "größe" in frame.columns:
            person.one("#role-198").send_keys("Sensitive")
            person.until(lambda: person.all(".board[data-role=sensitive] li[data-number='198']"))
        person.go("tradeoff")
        person.write("k", k)
        person.press("Try them")
        person.until(lambda: person.all(".chart"), 300)
        person.one("svg a[aria-label^='mondrian']").click()
        if "größe" in frame.columns:
            person.press("More limits")
            person.write("l-198", "1.2")
        person.press("Publish and check")
        person.until(lambda: "Checked: every promise holds" in person.text(), 300)
        person.press("Make a report")
        person.until(lambda: "Download the report" in person.text(), 300)
        assert b"Safe to hand out" in person.download("Download the report", "report.html")
        packed = zipfile.ZipFile(BytesIO(person.download("Download the release", "release.zip")))
        packed.extractall(tmp_path / name.partition(".")[0])
        assert workflow.verify(tmp_path / name.partition(".")[0] / "release").ok
    manifest = json.loads((tmp_path / "odd 年" / "release" / "manifest.json").read_text(encoding="utf-8"))
    assert [secret["name"] for secret in manifest["sensitive"]] == ["größe", "krank"]
    assert {"kind": "l", "l": 1.2, "l_kind": "frequency", "column": "größe"} in manifest["guarantees"]
    assert manifest["quasi"][-1]["name"] == "alter"
    assert manifest["missing"]["codes"] == {"alter": ["99"]}


@pytest.mark.slow
def test_a_table_of_the_command_line_is_read_while_the_first_page_is_shown(person, tmp_path):
    studio = Studio(tmp_path, PEOPLE)
    person.window.get(studio.address)
    person.sees("Is this your table?")
    assert person.window.current_url.endswith("/data")
    studio.end()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_pages_fit_and_can_be_used_by_keyboard_and_screen_reader(home, person, axe, width, theme):
    person.open(home, PEOPLE)
    person.window.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    person.window.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    for page in PAGES:
        person.go(page)
        # a page may be laid out once more while it loads; one that does not fit stays so
        person.until(lambda: person.window.execute_script("return document.documentElement.scrollWidth") <= width)
        assert len(person.all("main[id=main]")) == 1
        assert person.problems(axe) == [], page
    person.window.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    person.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_everything_can_be_done_without_a_mouse(home, person):
    person.open(home, PEOPLE)
    person.go("roles")
    person.sees("24 of 24 people")
    select = person.one("#role-3")
    select.send_keys("Identifier")
    person.sees("22 of 24 people")
    assert person.all(".board[data-role=identifier] li[data-number='3']")
    person.go("hierarchies?column=4")
    person.one("input[value=own]").send_keys(Keys.SPACE)
    person.one("input[name=name][value=nurse]").send_keys(Keys.SPACE)
    person.until(lambda: person.one("input[name=name][value=nurse]").is_selected())
    person.one("#new").send_keys("care", Keys.ENTER)
    person.one("[data-group=care]")
    assert person.window.current_url.endswith("hierarchies?column=4")
