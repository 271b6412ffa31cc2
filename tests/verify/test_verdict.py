"""What a verdict says: the headline, one line per check, and the levels."""

from __future__ import annotations

import pytest

from incrowd.errors import VerificationError
from incrowd.verify import Check, Verdict
from incrowd.verify.verdict import Findings, first_row

FINE = Check("files", ok=True, detail="all there")
BROKEN = Check("k", ok=False, detail="too few <rows>")
OPEN = Check("l (frequency)", ok=None, detail="needs the original")
ALSO_OPEN = Check("t", ok=None, detail="needs the original")
BYTES = Check("parquet", ok=None, detail="another polars")
NOTE = Check("original", ok=None, detail="not given", needed=False)
NONE = Check("promises", ok=None, detail="none", needed=False)


@pytest.mark.parametrize(
    ("checks", "head", "ok", "complete"),
    [
        ([FINE], "holds (1 checks, 0 not possible)", True, True),
        ([FINE, NOTE], "holds (2 checks, 1 not possible)", True, True),
        ([FINE, BROKEN], "BROKEN, 1 of 2 checks failed (2 checks, 0 not possible)", False, True),
        ([FINE, OPEN], "holds as far as it could be checked; 1 promise not checked (2 checks, 1 not possible)",
         True, False),
        ([OPEN, ALSO_OPEN], "holds as far as it could be checked; 2 promises not checked (2 checks, 2 not possible)",
         True, False),
        ([FINE, BYTES], "holds as far as it could be checked (2 checks, 1 not possible)", True, False),
        ([BROKEN, OPEN], "BROKEN, 1 of 2 checks failed (2 checks, 1 not possible)", False, False),
        ([NONE], "no promise was given (1 checks, 1 not possible)", True, True),
    ],
)  # fmt: skip
def test_headlines(checks, head, ok, complete):
    verdict = Verdict(tuple(checks))
    assert str(verdict).splitlines()[0] == f"Verdict: {head}"
    assert (verdict.ok, verdict.complete) == (ok, complete)
    assert verdict.to_dict()["ok"] is ok
    assert verdict.to_dict()["complete"] is complete


def test_all_of_it():
    verdict = Verdict((FINE, BROKEN, OPEN), {"k": 1234, "alpha": 0.123456789, "t": None})
    assert str(verdict).splitlines()[1:] == [
        "  ok    files          all there",
        "  FAIL  k              too few <rows>",
        "  --    l (frequency)  needs the original",
        "Levels reached:",
        "  k      1,234",
        "  alpha  0.123457",
        "  t      unknown",
    ]
    assert verdict.violations == ["k: too few <rows>"]
    assert verdict.unknown == ["l (frequency): needs the original"]
    assert verdict.unchecked == ["l (frequency)"]
    shown = verdict._repr_html_()
    assert "<td>FAIL</td><td>k</td><td>too few &lt;rows&gt;</td>" in shown
    assert "<tr><td>k</td><td>1,234</td></tr>" in shown
    assert "<b>Verdict: BROKEN, 1 of 3 checks failed" in shown
    assert verdict.to_dict() == {
        "ok": False,
        "complete": False,
        "unchecked": ["l (frequency)"],
        "checks": [
            {"name": "files", "ok": True, "detail": "all there"},
            {"name": "k", "ok": False, "detail": "too few <rows>"},
            {"name": "l (frequency)", "ok": None, "detail": "needs the original"},
        ],
        "levels": {"k": 1234, "alpha": 0.123456789, "t": None},
    }


def test_violations_are_raised():
    Verdict((FINE, OPEN)).raise_for_violations()
    with pytest.raises(VerificationError, match="1 violation\n  k: too few") as raised:
        Verdict((BROKEN,)).raise_for_violations()
    assert raised.value.violations == ["k: too few <rows>"]


@pytest.mark.parametrize(
    ("name", "promise"),
    [("k", True), ("blocks", True), ("l (entropy)", True), ("t", True), ("t (ordered)", True), ("alpha", True),
     ("lkc", True), ("rows", False), ("k of joins", False), ("order", False)],
)  # fmt: skip
def test_unchecked_promises_are_named(name, promise):
    assert Verdict((Check(name, None, ""),)).unchecked == [name] * promise


def test_findings():
    findings = Findings()
    assert findings.judge("a", [], "fine")
    assert not findings.judge("b", ["x", "y"], "fine")
    findings.skip("c", "why")
    findings.skip("d", "why", needed=False)
    findings.levels["k"] = 3
    verdict = findings.verdict()
    assert verdict.checks == (
        Check("a", ok=True, detail="fine"),
        Check("b", ok=False, detail="x; y"),
        Check("c", ok=None, detail="why", needed=True),
        Check("d", ok=None, detail="why", needed=False),
    )
    assert verdict.levels == {"k": 3}
    assert first_row(0) == "first at release row 1"


def test_of_several_columns_the_worst_counts():
    whole = Findings()
    for column, l_frequency, share, unknown in (("a", 3.0, 0.2, 1.0), ("b", 2.0, 0.4, None), ("c", 2.5, 0.3, 2.0)):
        part = whole.part(column)
        part.judge("k", [], "4 groups")
        part.judge("t", [] if column != "b" else ["far"], "near")
        part.levels |= {"l_frequency": l_frequency, "share_max": share, "t": unknown}
        whole.add(column, part)
    assert whole.levels == {"l_frequency": 2.0, "share_max": 0.4, "t": None}
    assert [(check.name, check.ok) for check in whole.checks] == [
        ("k", True), ("t of 'a'", True), ("t of 'b'", False), ("t of 'c'", True),
    ]  # fmt: skip
    assert [check.name for check in whole.part("b").checks] == ["t"]
    assert "t of 'b'" not in {check.name for check in whole.checks}
