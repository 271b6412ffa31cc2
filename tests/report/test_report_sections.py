"""What each part of a report says."""

import re
import shlex
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from report_cases import KINDS, crowd, crowd_schema, people, report, schema

import incrowd as ic
from incrowd.attacks import AttackReport, Finding, Score
from incrowd.manifest import Guarantee
from incrowd.report.adversaries import adversaries_of, default_attacks
from incrowd.report.making import command_of, making_of
from incrowd.report.promise import promise_of
from incrowd.report.rates import Rating


def test_the_promise_is_one_sentence_about_the_columns_it_is_about():
    assert report("rows").summary.promise.sentence == (
        "By 'age', 'zip', 'sex' and 'job', nobody in this file can be told apart from at least 3 other people; and no "
        "value of 'disease' has more than 66.7% in such a crowd."
    )
    assert report("shares").summary.promise.sentence.startswith(
        "By 'age', 'zip', 'sex' and 'job', every row of this file fits at least 4 people of the original table"
    )
    assert "everybody fits at least 2 rows" in report("projections").summary.promise.sentence
    assert "No column was named as sensitive" in report("not_sensitive").summary.promise.points[-1]


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (Guarantee("l", l=3, l_kind="distinct"), "at least 3 different values of 'disease'"),
        (Guarantee("l", l=2.5, l_kind="entropy"), "as mixed as that many equally frequent ones"),
        (Guarantee("l", l=2, l_kind="recursive", c=3.0), "does not outweigh the rarer ones"),
        (Guarantee("t", t=0.25, ordered=False), "distance at most 0.25"),
        (Guarantee("alpha", alpha=0.5), "no value of 'disease' has a larger share"),
        (Guarantee("lkc", L=2, K=5, C=0.5), "whoever knows 2 values of a person finds at least 5 people"),
    ],
)
def test_every_kind_of_promise_has_words(guarantee, words):
    manifest = replace(KINDS["rows"]().manifest, guarantees=(Guarantee("k", k=4), guarantee))
    said = promise_of(manifest)
    assert words in said.points[1]
    assert said.sentence.endswith(".")
    assert "Nothing is promised" not in " ".join(said.points) or guarantee.kind == "lkc"


def test_a_release_that_hides_nobody_says_so():
    release = ic.Mondrian(k=1).publish(people(), schema(), seed=1)
    assert release.report().summary.promise.sentence == "This file hides nobody: its smallest crowd is one person."


def test_what_could_not_be_checked_is_said():
    judged = report("shares", original=False).summary.judgement
    assert judged.status == "not checked"
    assert not judged.with_original
    assert any(line.startswith("Every crowd has at least k people: needs the original") for line in judged.open)
    assert "What could not be checked" in report("shares", original=False).html
    complete = report("shares").summary.judgement
    assert (complete.status, complete.open, complete.complete) == ("holds", (), True)


def test_a_broken_promise_is_the_first_thing_that_is_seen():
    release = KINDS["rows"]()
    stronger = replace(release, manifest=replace(release.manifest, guarantees=(Guarantee("k", k=9),)))
    found = stronger.report(people())
    assert not found.ok
    assert found.summary.judgement.headline.startswith("BROKEN:")
    assert "Do not share this release." in found.html
    assert found.summary.adversaries.why_not.startswith("Not tried: the independent check failed")
    assert found.summary.usefulness.why_not.startswith("Not tried: the independent check failed")


def test_the_wrong_original_is_a_failed_check_and_no_error():
    found = KINDS["rows"]().report(people().with_columns(age=pl.col("age") + 5))
    assert found.summary.judgement.status == "broken"


def test_without_the_original_nothing_is_attacked_or_measured_and_that_is_said():
    found = report("rows", original=False).summary
    assert "was not given" in found.adversaries.why_not
    alone = KINDS["rows"]().report().summary
    assert "was not given" in alone.usefulness.why_not
    assert "no column was named as the class" in report("not_sensitive").summary.usefulness.why_not
    assert "no attacks on tables that share out the columns" in report("projections").summary.adversaries.why_not


def test_attacks_stand_under_the_three_headings():
    html = report("rows").html
    part = html[html.index("What adversaries got") : html.index("Who is most at risk")]
    assert re.findall(r"<h3>([^<]+)</h3>", part) == ["Singling out", "Linkability", "Inference"]
    assert "compliance with any law" in html


def _finding(**changes):
    made = Finding(
        "linking", "everybody", "promise broken", "row 17 fits 1 person", Score("value", 30, 40, 100),
        Score("guess", 3, 40, 100), {"people_below_k": 3}, at_risk=(16, 4), n_at_risk=2,
    )  # fmt: skip
    return replace(made, **changes)


def test_an_attack_that_succeeds_is_told_without_its_numbers_and_rows():
    manifest = replace(KINDS["rows"]().manifest, guarantees=(Guarantee("k", k=10),))
    attacked = AttackReport("mondrian", manifest.guarantees, 100, (_finding(),))
    told = adversaries_of(attacked, manifest, Rating(10), ())
    (line,) = told.lines
    assert told.status == "broken"
    assert told.headline.startswith("PROMISE BROKEN by linking")
    assert "17" not in line.reason
    assert (line.rows, line.numbers) == ((), {})
    assert (line.claimed.text, line.right.text) == ("about 40%", "about 30%")
    assert line.baseline.text == "fewer than 10 people"
    for few in (0, 1, 2, 9):  # whether there is anybody at all is about fewer than k people
        risky = AttackReport("mondrian", manifest.guarantees, 100, (_finding(n_at_risk=few),))
        assert adversaries_of(risky, manifest, Rating(10), ()) == told
    (exact,) = adversaries_of(attacked, manifest, Rating(10, exact=True), ()).lines
    assert exact.reason == "Row 17 fits 1 person."
    assert exact.at_risk.text == "8.3%"
    assert (exact.rows, exact.numbers) == ((17, 5), {"people_below_k": 3})


def test_which_classifier_did_best_with_the_original_is_not_told():
    manifest, told = KINDS["rows"]().manifest, []
    for name in ("naive Bayes", "a decision tree"):
        finding = _finding(attack="classifier", success=Score(f"value predicted by {name}", 30, 100, 100))
        told.append(adversaries_of(AttackReport("m", (), 100, (finding,)), manifest, Rating(4), ()))
    assert told[0] == told[1]


def test_an_attack_of_another_package_is_told_by_its_outcome_alone():
    manifest = KINDS["rows"]().manifest
    theirs = _finding(attack="theirs", outcome="withstood", why="Ada is 34", knows="Ada")
    (line,) = adversaries_of(AttackReport("m", (), 24, (theirs,)), manifest, Rating(4), ()).lines
    assert (line.right, line.claimed, line.knows) == (None, None, "")
    assert "Ada" not in str(line)


def test_slow_attacks_are_left_out_of_large_tables_and_that_is_said():
    names, left_out = default_attacks(100_000)
    assert left_out == ("reconstruction",)
    assert "reconstruction" not in names
    assert default_attacks(100)[1] == ()
    manifest = KINDS["rows"]().manifest
    told = adversaries_of(AttackReport("m", (), 24, (_finding(outcome="withstood"),)), manifest, Rating(4), left_out)
    assert [line.outcome for line in told.lines] == ["withstood", "not tried"]
    assert "--attacks reconstruction" in told.lines[1].reason
    assert told.status == "not checked"
    assert told.headline == (
        "No attack broke the promise: 1 of 2 could be tried and judged. Not tried, because it takes long: "
        "reconstruction."
    )


def test_who_is_at_risk_is_counted_by_crowds_and_shares():
    sizes, shares = report("rows").summary.risks
    assert [band.rows for band in sizes.bands] == [24, 0, 0, 0]
    assert sizes.bands[0].label == "4 to 7 people"
    assert sum(band.rows for band in shares.bands) == 24
    (by_shares,) = report("shares").summary.risks
    assert sum(band.rows for band in by_shares.bands) == 24
    others = report("not_sensitive").summary.risks[-1]
    assert {band.label: band.rows for band in others.bands} == {
        "one row alone": 0, "2 to 3 rows": 3, "4 rows or more": 21,
    }  # fmt: skip
    assert report("projections").summary.risks == ()


def test_an_owner_sees_rows_at_risk_by_their_number():
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3] * 4, "ill": ["a", "b"] * 12})
    roles = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="ill")
    release = ic.NSVDist(k=3, mode="paper").publish(frame, roles, seed=1)
    found = release.report(frame, for_owner=True, evaluate=False)
    rows = [line.rows for line in found.summary.adversaries.lines if line.rows]
    public = release.report(frame, evaluate=False)
    assert not any(line.rows for line in public.summary.adversaries.lines)
    assert bool(rows) == ("rows of the original, worst first" in found.html)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "method",
    [
        ic.Mondrian(k=3),
        ic.Mondrian(k=3, l=2, l_kind="distinct", recoding="single"),
        ic.BestCuts(k=3, l=1.5, t=0.6, alpha=0.9),
        ic.PAIS(k=3, L=2, C=0.9),
        ic.NSVDist(k=3, l=1.2, loss="entropy"),
        ic.DMPD(k=2, generations=1, suppress=0.25),
        ic.IACc(delta_c=None, delta_d=20.0, keep_values=False),
    ],
    ids=lambda method: method.name,
)
def test_the_printed_command_makes_such_a_release(method, tmp_path, monkeypatch):
    release = method.publish(people(), schema(), seed=1)
    people().write_csv(tmp_path / "data.csv")
    schema().to_toml(tmp_path / "data.toml")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command_of(release.manifest))
    assert words[0] == "incrowd"
    from incrowd.cli.app import app

    app(words[1:], standalone_mode=False)
    again = ic.Release.load("release")
    assert again.manifest.method == release.manifest.method
    assert again.manifest.guarantees == release.manifest.guarantees


def test_rows_of_a_series_add_up():
    manifest = KINDS["rows"]().manifest
    told = dict(making_of(replace(manifest, rows=replace(manifest.rows, released=26, filler=2)), {}).rows)
    filler = told["Of these, rows about nobody, which keep the groups of a series even"]
    assert told["Rows of the original"] == told["Suppressed"] + told["Released"] - filler


def test_a_command_of_a_strange_method_can_still_be_pasted():
    manifest = KINDS["rows"]().manifest
    strange = replace(manifest, method=replace(manifest.method, name="their $(rm)", parameters={"k": 4, "x": "a b;c"}))
    words = shlex.split(command_of(strange))
    assert words == ["incrowd", "publish", "data.csv", "-s", "data.toml", "-m", "their $(rm)", "-k", "4",
                     "--set", "x=a b;c", "-o", "release"]  # fmt: skip


def test_classifiers_are_measured_by_folds_or_with_test_rows():
    frame = crowd()
    release = ic.Mondrian(k=20).publish(frame, crowd_schema(), seed=1)
    by_test = release.report(frame, test=crowd(seed=9), attack=False).summary.usefulness
    assert "tested on rows of other people" in by_test.how
    assert [line.name for line in by_test.lines] == ["decision tree", "naive Bayes", "logistic regression"]
    assert by_test.notes == ("Accuracies are rounded to steps of 8.3%, so that none tells about fewer than 20 people.",)
    few = release.report(frame, test=crowd(seed=9).head(19), attack=False).summary.usefulness
    assert (few.why_not, few.lines) == ("Not told: fewer than 20 people were tested.", ())
    owner = release.report(frame, test=crowd(seed=9), attack=False, for_owner=True).summary.usefulness
    for public, exact in zip(by_test.lines, owner.lines, strict=True):
        assert exact.accuracy.step == 0
        assert abs(public.accuracy.share - exact.accuracy.share) <= public.accuracy.step / 2 + 1e-9
    alone = replace(release, private=None).report(frame, attack=False).summary.usefulness
    assert "test rows (--test), or the owner's private folder" in alone.why_not
    projected = KINDS["projections"]().report(people(), test=people()).summary.usefulness
    assert projected.lines


def test_a_measurement_that_is_not_possible_is_said_and_no_error():
    frame = crowd(n=60)
    release = ic.Mondrian(k=55).publish(frame, crowd_schema(), seed=1)
    told = release.report(frame, attack=False).summary.usefulness
    assert told.why_not == "Not measured: the measurement was not possible (InfeasibleError)."


@pytest.mark.parametrize("number", range(3))
def test_reports_of_generated_tables_of_every_shape_can_be_made(number):
    rng = np.random.default_rng(number)
    n = int(rng.integers(12, 40))
    frame = pl.DataFrame(
        {
            "a": pl.Series([None if rng.random() < 0.2 else int(v) for v in rng.integers(0, 9, n)], dtype=pl.Int64()),
            "b": pl.Series([None if rng.random() < 0.2 else f"v{v}" for v in rng.integers(0, 4, n)]),
            "o": [f"o{v}" for v in rng.integers(0, 3, n)],
            "s": pl.Series([None if rng.random() < 0.1 else f"s{v}" for v in rng.integers(0, 3, n)]),
        }
    )
    roles = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="s", other=["o"])
    for method in (ic.Mondrian(k=3), ic.NSVDist(k=3), ic.NHAA(k=3)):
        release = method.publish(frame, roles, seed=1, domains=["joined", "exact"][number % 2])
        found = release.report(frame, evaluate=False, attacks=["linking", "matching"])
        assert found.summary.judgement.status == "holds"
        assert len(found.summary.columns.each) == 4
        assert found.to_dict()["ok"] is found.ok


def test_checks_of_one_of_several_sensitive_columns_are_promises_and_keep_its_name():
    rows = [(20 + i % 9, "abc"[i % 3], ["no", "no", "yes"][i % 3]) for i in range(90)]
    frame = pl.DataFrame(rows, schema=["age", "Größe of 'IT'", "Ill"], orient="row")
    release = ic.Mondrian(k=10, l={"Ill": 1.2}).publish(frame, ic.Schema(quasi=["age"], sensitive=frame.columns[1:]))
    found = release.report(frame, evaluate=False, attacks=["linking"]).summary.judgement
    promised = [line.title for line in found.checks if line.is_promise]
    assert "No sensitive value has too large a share (l): 'Ill'" in promised
    assert "The sensitive values are those of the original: \"Größe of 'IT'\"" in [line.title for line in found.checks]
