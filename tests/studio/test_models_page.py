"""Models: who is at risk, and what a repair leaves."""

import html
from urllib.parse import quote

import joblib
import polars as pl
import pytest
from in_process import Visitor, wait
from sklearn.tree import DecisionTreeClassifier

from incrowd import workflow

RULES = "antecedents,consequents,support,confidence\ncherries,viagra,0.084,0.75\ncherries|candles,tylenol,0.024,0.8\n"
PEOPLE = pl.DataFrame(
    {"age": [20 + i % 31 for i in range(120)], "ill": [int(i % 31 > 15 or i % 13 == 0) for i in range(120)]}
)


class Touched:
    """What a pickle runs when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))


@pytest.fixture
def visitor(tmp_path):
    (tmp_path / "studio").mkdir()
    return Visitor(tmp_path / "studio")


@pytest.fixture
def project(visitor, tmp_path):
    path = tmp_path / "people.csv"
    PEOPLE.write_csv(path)
    found = visitor.add(path)
    found.propose("ill")
    return found


def give(visitor, project, name, content):
    return visitor.post(f"/p/{project.id}/models/upload", content=content, headers={"X-File-Name": quote(name)})


def page(visitor, project):
    return html.unescape(visitor.get(f"/p/{project.id}/models").text)


def test_rules_are_audited_by_their_numbers_and_repaired(visitor, project):
    assert "Choose a model, or drop it here" in page(visitor, project)
    assert give(visitor, project, "rules.csv", RULES.encode()).json() == {"page": f"/p/{project.id}/models"}
    fields = {"k": "31", "public": "cherries, candles", "people": "1000"}
    visitor.post(f"/p/{project.id}/audit", data=fields)
    wait(project.jobs["audit"])
    shown = page(visitor, project)
    assert "2 rules about 1000 people: k = 31 is BROKEN" in shown
    assert '<th scope="row">people with candles, cherries</th><td class="num">30</td>' in shown
    assert "1 rule of 2 would be dropped" in shown
    assert "incrowd audit rules.csv --people 1000 --public cherries,candles -k 31" in shown
    visitor.post(f"/p/{project.id}/repair")
    wait(project.jobs["repair"])
    assert "The repaired one keeps k = 31." in page(visitor, project)
    assert visitor.get(f"/p/{project.id}/repaired").text.splitlines()[1:] == ["cherries,viagra,0.084,0.75"]
    visitor.post(f"/p/{project.id}/audit", data=fields | {"k": "30"})
    wait(project.jobs["audit"])
    assert "Nobody is revealed" in page(visitor, project)
    assert "Repair it" not in page(visitor, project)


def test_a_pickle_is_loaded_only_after_the_word_of_the_command_line(visitor, project, tmp_path):
    marker, path = tmp_path / "it-ran", tmp_path / "model.joblib"
    joblib.dump(Touched(marker), path)
    give(visitor, project, "evil.pkl", path.read_bytes())
    for fields in ({}, {"trust": "yes"}, {"trust": "on"}, {"trust": "1"}):
        answer = visitor.post(f"/p/{project.id}/audit", data={"k": "5", **fields})
        assert answer.status_code == 400
        assert "'evil.pkl' is a pickle: loading it runs whatever code is in it" in html.unescape(answer.text)
        assert "audit" not in project.jobs
    assert not marker.exists()
    visitor.post(f"/p/{project.id}/audit", data={"k": "5", "trust": "trust"})
    wait(project.jobs["audit"])
    assert marker.exists()


def test_people_at_risk_are_counted_and_accuracy_is_told_before_and_after(visitor, project, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(
        DecisionTreeClassifier(random_state=0).fit(PEOPLE.select("age").to_pandas(), PEOPLE["ill"].to_pandas()), path
    )
    assert "There is no model yet" in visitor.post(f"/p/{project.id}/audit", data={"k": "8"}).text
    give(visitor, project, "model.joblib", path.read_bytes())
    visitor.post(f"/p/{project.id}/audit", data={"k": "8", "trust": "trust"})
    job = wait(project.jobs["audit"])
    assert job.error is None
    found = job.result
    shown = page(visitor, project)
    assert found.headline in shown
    told = found.people[found.multiple & (found.people > 0)]
    n = int(told[(told > 1) & (told < 8)].sum())
    assert f'with 1 to 6 others</th><td class="num">{n}</td>' in shown
    assert "--trust" in shown
    visitor.post(f"/p/{project.id}/repair")
    repaired = wait(project.jobs["repair"]).result
    shown = page(visitor, project)
    for share in repaired.accuracy.values():
        assert f"{share:.1%}" in shown
    out = tmp_path / "repaired.joblib"
    out.write_bytes(visitor.get(f"/p/{project.id}/repaired").content)
    assert workflow.audit(out, project.source, project.schema, k=8, trust=True).ok


@pytest.mark.parametrize("name", ["../../../x.joblib", "x.sh", "x.joblib.exe"])
def test_names_of_models_never_reach_a_path(visitor, project, name):
    answer = give(visitor, project, name, b"123")
    if answer.status_code == 400:
        assert "is not in a format that the studio can read" in answer.json()["fact"]
        assert project.model is None
    else:
        assert project.model.path.parent.parent == project.folder
        assert project.model.path.name == "model.joblib"


def test_a_new_model_takes_the_place_of_the_last_one(visitor, project):
    give(visitor, project, "a.csv", RULES.encode())
    first = project.model.path
    visitor.post(f"/p/{project.id}/audit", data={"k": "3", "public": "cherries", "people": "1000"})
    wait(project.jobs["audit"])
    give(visitor, project, "b.csv", RULES.encode())
    assert not first.parent.exists()
    assert "audit" not in project.jobs
    assert "How to audit b.csv" in page(visitor, project)
