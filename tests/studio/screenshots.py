"""Pictures of every page of the studio, light and dark, wide and narrow: `./dev screenshots [FOLDER]`.

INCROWD_SCREENSHOTS_TABLE names another table than docs/people.csv.
"""

import os
from io import BytesIO
from pathlib import Path

import pytest
from person import Person
from PIL import Image
from studio_server import PEOPLE, Studio

FOLDER = Path(os.environ.get("INCROWD_SCREENSHOTS", "screenshots"))
LOOKS = [(width, theme) for width in (1280, 390) for theme in ("light", "dark")]
RULES = "antecedents,consequents,support,confidence\nage,flu,0.5,0.75\nage|sex,asthma,0.125,0.75\n"


@pytest.fixture
def shoot(browser):
    FOLDER.mkdir(parents=True, exist_ok=True)

    def take(name):
        for width, theme in LOOKS:
            scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            height = browser.execute_script("scrollTo(0, 0); return document.documentElement.scrollHeight")
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | {"height": min(height, 4000)})
            picture = Image.open(BytesIO(browser.get_screenshot_as_png()))
            picture.convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE).save(
                FOLDER / f"{name}-{width}-{theme}.png", optimize=True
            )
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    return take


def test_every_page(browser, shoot, tmp_path):
    studio, person = Studio(tmp_path / "home"), Person(browser)
    table = Path(os.environ.get("INCROWD_SCREENSHOTS_TABLE", PEOPLE))
    browser.get(studio.address)
    person.one("#file")
    shoot("1-start")
    person.open(studio, table)
    shoot("2-data")
    person.go("roles")
    person.sees("are the only ones")
    shoot("3-roles")
    person.go("hierarchies")
    person.sees("has a place")
    shoot("4-hierarchies")
    browser.find_elements("css selector", ".columns a")[-1].click()
    person.one("input[value=own]").click()
    person.one("#text")
    shoot("5-own-tree")
    person.go("tradeoff")
    person.press("Try them")
    person.one(".chart")
    shoot("6-tradeoff")
    person.go("result")
    shoot("7-publish")
    person.press("Publish and check")
    person.sees("Checked")
    person.press("Run the attacks")
    person.sees("withstood")
    shoot("8-result")
    browser.execute_script("for (const e of document.querySelectorAll('details')) e.open = true")
    shoot("8-result-open")
    rules = tmp_path / "rules.csv"
    rules.write_text(RULES, encoding="utf-8")
    person.go("models")
    person.one("#file").send_keys(str(rules))
    person.write("people", "24")
    person.press("Audit")
    person.sees("Repair it and compare")
    person.press("Repair it and compare")
    person.sees("Download the repaired rules")
    shoot("9-models")
    person.go("result")
    browser.get(person.window.current_url + "?k=x")
    shoot("10-problem")
    studio.end()
