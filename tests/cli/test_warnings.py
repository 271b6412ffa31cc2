"""Warnings about privacy reach people whatever the verbosity."""

import json
from pathlib import Path

from test_publish_errors import SCHEMA, home, publish, run  # noqa: F401

from incrowd.publish import Mondrian


def test_both_sensitive_columns_are_taken(home, monkeypatch, capsys):  # noqa: F811
    asked = ("init", "data.csv", "-o", "new.toml", "--sensitive", "ill", "--sensitive", "work")
    code, out, _ = run(monkeypatch, capsys, *asked)
    assert code == 0
    assert "'work' and 'ill' are protected" in out
    assert Path("new.toml").read_text().count('role = "sensitive"') == 2


def test_a_second_release_is_warned_of_though_quiet_and_refused_on_demand(home, monkeypatch, capsys):  # noqa: F811
    asked = (
        "publish",
        "data.csv",
        "-s",
        "schema.toml",
        "-k",
        "2",
        "-m",
        "mondrian",
        "-l",
        "1.1",
        "--ledger",
        "led",
        "-q",
    )
    code, out, err = run(monkeypatch, capsys, *asked, "-o", "one")
    assert (code, out, err) == (0, "", "")
    code, out, err = run(monkeypatch, capsys, *asked, "-o", "two")
    assert (code, out) == (0, "")
    assert err.startswith("Warning: people of this table were published before, once")
    monkeypatch.setattr(Mondrian, "choose", None)  # it is refused before anything is searched for
    code, out, err = run(monkeypatch, capsys, *asked, "-o", "three", "--refuse-repeat")
    assert (code, out) == (3, "")
    assert "refused" in err
    assert not Path("three").exists()
    assert not Path("three.private").exists()


def test_exact_domains_are_a_choice_with_a_warning(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = publish(monkeypatch, capsys, "-q", "--domains", "exact", "-l", "1.1", k=3)
    assert code == 0
    assert "Warning: manifest.json lists values that fewer than k people have" in err
    assert json.loads(Path("out/manifest.json").read_text())["domains"] == "exact"
    code, _, err = run(
        monkeypatch, capsys, "publish", "data.csv", "-s", "schema.toml", "-k", "3", "-o", "b", "--domains", "rough"
    )
    assert code == 2
    assert "joined" in err


def test_the_paper_mode_warns(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = publish(monkeypatch, capsys, "-q", "-m", "nsvdist", "--set", "mode=paper")
    assert code == 0
    assert "Warning: --set mode=paper" in err


def test_formulas_are_warned_of_and_kept_out_of_a_copy(home, monkeypatch, capsys):  # noqa: F811
    lines = Path("data.csv").read_text().splitlines()
    Path("data.csv").write_text(
        "\n".join([lines[0] + ",note", *(f"{line},=1+{i}" for i, line in enumerate(lines[1:]))])
    )
    Path("schema.toml").write_text(SCHEMA + '[columns.note]\nrole = "other"\n')
    mondrian = ("-m", "mondrian", "-l", "1.1")
    code, _, err = publish(monkeypatch, capsys, *mondrian, "-q")
    assert code == 0
    assert "Warning: 'note' has text that a spreadsheet would run" in err
    asked = ("publish", "data.csv", "-s", "schema.toml", "-k", "2", "-o", "safe", "--excel-safe", "--json", *mondrian)
    code, out, err = run(monkeypatch, capsys, *asked)
    assert (code, err) == (0, "")
    assert json.loads(out)["copies"] == ["safe.excel.csv"]
    assert sorted(path.name for path in Path("safe").iterdir()) == ["manifest.json", "release.csv", "release.parquet"]
    assert ",'=1+" in Path("safe.excel.csv").read_text(encoding="utf-8-sig")
    assert ",=1+" in Path("safe/release.csv").read_text()


def test_ranges_of_negative_numbers_are_no_formulas(home, monkeypatch, capsys):  # noqa: F811
    Path("data.csv").write_text(Path("data.csv").read_text().replace(",2", ",-2").replace(",3", ",-3"))
    code, _, err = publish(monkeypatch, capsys, "-m", "mondrian", "-l", "1.1", "-q")
    assert (code, err) == (0, "")
    assert "\n-3" in Path("out/release.csv").read_text()


def test_to_refuse_a_repetition_takes_a_ledger(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = run(
        monkeypatch, capsys, "publish", "data.csv", "-s", "schema.toml", "-k", "2", "-o", "one", "--refuse-repeat", "-q"
    )
    assert code == 2
    assert "--refuse-repeat needs a ledger" in err
    assert not Path("one").exists()


def test_k_of_one_is_said_to_hide_nobody(home, monkeypatch, capsys):  # noqa: F811
    asked = ("publish", "data.csv", "-s", "schema.toml", "-k", "1", "-m", "mondrian", "-o", "one", "-q")
    code, _, err = run(monkeypatch, capsys, *asked)
    assert code == 0
    assert "k = 1 hides nobody" in err
