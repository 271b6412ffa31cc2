"""Reports in docs/results: they agree with each other or say that they do not, and none is silently of earlier code."""

import json
import re
from pathlib import Path

import pytest

from incrowd.evaluate.provenance import code_of
from incrowd.experiments import experiments
from incrowd.experiments.kept import (
    INDEX,
    Kept,
    caveats,
    disagreements,
    index,
    kept_reports,
    mark,
    missing,
    panels,
    status,
    with_caveats,
)
from incrowd.experiments.report import CAVEAT

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
AGAIN = "run: incrowd bench --index"

PANELS = {
    "nsvdist": [
        *(f"Table {n}" for n in range(1, 11)), *(f"Figure {n}" for n in range(1, 7)),
        *(f"Figure B.{n}" for n in range(7, 12)),
    ],
    "friedman": [*(f"Table {n}" for n in range(1, 7)), *(f"Figure {n}" for n in range(1, 9))],
    "iac": [*(f"Table {n}" for n in range(1, 6)), *(f"Figure {n}" for n in range(1, 7))],
    "dmpd": [*(f"Table {n}" for n in range(1, 7)), *(f"Figure {n}" for n in range(1, 14))],
    "nsgvd": ["Table 1"],
}  # fmt: skip
"""The numbers that the papers give to their tables and figures."""


@pytest.mark.parametrize("folder", [RESULTS, RESULTS / "quick"], ids=["results", "quick"])
def test_reports_of_earlier_code_and_reports_that_disagree_say_so(folder):
    reports = kept_reports(folder)
    differing = disagreements(reports)
    for report in reports:
        said = caveats(report, differing)
        assert report.data.get("caveats", []) == said, AGAIN
        page = report.path.with_suffix(".md").read_text(encoding="utf-8")
        assert with_caveats(page, said) == page, AGAIN


def test_the_index_is_that_of_the_reports():
    assert (RESULTS / INDEX).read_text(encoding="utf-8") == index(RESULTS), AGAIN


def test_every_panel_of_every_paper_has_a_row():
    assert missing(PANELS) == []
    assert len(panels()) == sum(map(len, PANELS.values()))


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: f"{panel['paper']} {panel['panel']}")
def test_a_panel_names_what_there_is(panel):
    assert {"experiment", "tests", "lacks"} & panel.keys()
    assert panel.get("experiment", "iac-figs4-6") in experiments()
    if "tests" in panel:
        file, _, name = panel["tests"].partition("::")
        number = re.escape(panel["panel"].split()[-1])
        wanted = rf"def {name}\(" if name else rf"(?i)(table|fig|figure)s?[ ._]*{number}\D"
        assert re.search(wanted, (ROOT / file).read_text(encoding="utf-8")), panel["tests"]


def report(name, accuracy, *, code=None, verdicts=(True,), command="incrowd bench x"):
    own = code_of(experiments()[name].run) if code is None else code
    row = {"dataset": "cmc", "k": 5, "folds": 2, "accuracy": accuracy, "sd": 0.1, "lm": None}
    made = {"command": command, "code": own, "commits": {"abc": 2}, "earlier": 0, "seconds": 7200.0}
    data = {"experiment": name, "made_by": made, "sections": [{"title": "Averages", "rows": [row]}]}
    return data | {"verdicts": [{"claim": "c", "found": "f", "holds": holds} for holds in verdicts]}


def written(folder, *reports):
    for data in reports:
        (folder / f"{data['experiment']}.json").write_text(json.dumps(data))
        (folder / f"{data['experiment']}.md").write_text("# title\n\nPaper.\n")
    return kept_reports(folder)


def test_reports_disagree_about_shared_averages_only(tmp_path):
    one, other = written(tmp_path, report("nsvdist-table4", 50.0), report("nsvdist-figs2-4", 51.0))
    assert disagreements([one, other]) == {(one.name, other.name): (1, 1)}
    other.data["sections"][0]["rows"][0]["folds"] = 10
    assert disagreements([one, other]) == {}
    one.data["sections"][0]["rows"][0] |= {"accuracy": 50.0}
    other.data["sections"][0]["rows"][0] |= {"folds": 2, "accuracy": 50.0 + 1e-12}
    assert disagreements([one, other]) == {}


def test_marks_are_written_once_and_taken_away_again(tmp_path):
    written(tmp_path, report("nsvdist-table4", 50.0, code="old"), report("nsvdist-figs2-4", 51.0))
    assert mark(tmp_path) == ["nsvdist-figs2-4", "nsvdist-table4"]
    page = (tmp_path / "nsvdist-table4.md").read_text()
    assert page.startswith(f"# title\n\n{CAVEAT}Of earlier code: made at commit abc.")
    assert "1 of the 1 averages that it shares with nsvdist-figs2-4 differ" in page
    assert mark(tmp_path) == ["nsvdist-figs2-4", "nsvdist-table4"]
    assert (tmp_path / "nsvdist-table4.md").read_text() == page
    (tmp_path / "nsvdist-table4.json").write_text(json.dumps(report("nsvdist-table4", 51.0)))
    assert mark(tmp_path) == []
    assert (tmp_path / "nsvdist-table4.md").read_text() == "# title\n\nPaper.\n"


def test_a_report_without_a_code_or_put_together_says_so():
    silent = report("nsvdist-table4", 50.0, command="incrowd bench nsvdist-table4 --earlier old.json --quick")
    del silent["made_by"]["code"]
    told = caveats(Kept(Path("x.json"), silent), {})
    assert told[0].startswith("Of earlier code: made before reports named their commit.")
    assert "`incrowd bench nsvdist-table4 --quick`" in told[0]
    assert told[1].startswith("Put together")


@pytest.mark.parametrize(
    ("verdicts", "lacks", "command", "what"),
    [
        ((True, True), None, "incrowd bench x", "reproduced"),
        ((True, None), None, "incrowd bench x", "reproduced"),
        ((True, True), "half of it", "incrowd bench x", "partly"),
        ((True, True), None, "incrowd bench x --classifiers j48", "partly"),
        ((True, False), None, "incrowd bench x", "partly"),
        ((False, False), None, "incrowd bench x", "not"),
        ((None,), None, "incrowd bench x", "not"),
    ],
)
def test_what_became_of_a_panel(verdicts, lacks, command, what):
    data = report("nsvdist-table4", 50.0, verdicts=verdicts, command=command)
    panel = {"experiment": "nsvdist-table4"} | ({"lacks": lacks} if lacks else {})
    assert status(panel, {"nsvdist-table4": Kept(Path("nsvdist-table4.json"), data)})[0] == what
    assert status(panel, {})[0] == "not"


def test_only_claims_about_a_panel_count():
    data = report("nsvdist-table4", 50.0, verdicts=(True, False))
    data["verdicts"][0]["claim"] = "Adult: it is best"
    panel = {"experiment": "nsvdist-table4", "claims": "Adult"}
    found = status(panel, {"nsvdist-table4": Kept(Path("nsvdist-table4.json"), data)})
    assert found == ("reproduced", "[nsvdist-table4](nsvdist-table4.md): 1 of 1 claims hold.")
