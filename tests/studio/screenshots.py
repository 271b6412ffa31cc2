"""Pictures of every page of the studio, light and dark, wide and narrow: `./dev screenshots [FOLDER]`.

The pictures of docs/studio are in the folder `docs` of FOLDER. INCROWD_SCREENSHOTS_TABLE names another table than one
of made-up people.
"""

import os
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from person import Person
from PIL import Image
from studio_server import Studio

FOLDER = Path(os.environ.get("INCROWD_SCREENSHOTS", "screenshots"))
LOOKS = [(width, theme) for width in (1280, 390) for theme in ("light", "dark")]
DOCS = {"2-data": "data", "3-roles": "roles", "5-own-tree": "hierarchies", "6-tradeoff": "tradeoff",
        "8-result": "result", "9-models": "models"}  # fmt: skip
RULES = "antecedents,consequents,support,confidence\nage,flu,0.5,0.75\nage|sex,asthma,0.125,0.75\n"


def made_up(path, n=600):
    """Write a table of people whose disease depends on their age and job."""
    rng = np.random.default_rng(1)
    age, job = rng.integers(18, 80, n), rng.integers(0, 8, n)
    ill = np.where(age + 12 * (job % 3) + rng.normal(0, 12, n) > 62, 1 + job % 3, 0)
    jobs, diseases = (
        ["baker", "clerk", "driver", "farmer", "lawyer", "nurse", "teacher", "waiter"],
        ["none", "asthma", "diabetes", "flu"],
    )
    pl.DataFrame(
        {
            "name": [
                f"{'ABCDEFGHIJ'[i % 10]}. {['Berg', 'Lind', 'Moor', 'Stone', 'Wood', 'Hill'][i % 6]} {i}"
                for i in range(n)
            ],
            "age": np.where(rng.random(n) < 0.02, 999, age),
            "zip": 10000 + 100 * rng.integers(0, 9, n) + rng.integers(0, 5, n),
            "sex": rng.choice(["f", "m"], n),
            "job": [jobs[at] for at in job],
            "disease": [diseases[at] for at in ill],
        }
    ).write_csv(path)
    return path


@pytest.fixture
def shoot(browser):
    (FOLDER / "docs").mkdir(parents=True, exist_ok=True)

    def keep(picture, path):
        picture.quantize(128, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)

    def take(name):
        for width, theme in LOOKS:
            scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            height = browser.execute_script("scrollTo(0, 0); return document.documentElement.scrollHeight")
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | {"height": min(height, 4000)})
            picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            keep(picture, FOLDER / f"{name}-{width}-{theme}.png")
            if (width, theme) == LOOKS[0] and name in DOCS:
                small = picture.resize((860, round(picture.height * 860 / width)), Image.Resampling.LANCZOS)
                keep(small.crop((0, 0, 860, min(940, small.height))), FOLDER / "docs" / f"{DOCS[name]}.png")
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    return take


def test_every_page(browser, shoot, tmp_path):
    studio, person = Studio(tmp_path / "home"), Person(browser)
    given = os.environ.get("INCROWD_SCREENSHOTS_TABLE")
    table = Path(given) if given else made_up(tmp_path / "people.csv")
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
    browser.execute_script("document.querySelector('form details').open = true")
    shoot("7-publish-limits")
    person.press("Publish and check")
    person.sees("Checked: every promise holds")
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
