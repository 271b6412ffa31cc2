"""The mistakes that the mutation sampler plants, and what it leaves alone."""

import json

import pytest
from checks.mutants import __main__ as sampler
from checks.mutants.__main__ import Touched
from checks.mutants.changes import changes


def mutants_of(tmp_path, source):
    (tmp_path / "one.py").write_text(source)
    return [change.apply(source.encode()).decode() for change in changes(tmp_path, "one.py")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = (a) == (b)", ["x = (a) != (b)"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a is not b", ["x = a is b"]),
        ("x = y + 5", ["x = y - 5", "x = y + 6", "x = y + 4"]),
        ("x = y[0]", ["x = y[1]", "x = y[(-1)]"]),
        ("x = a and b or c", ["x = ((a and b) and (c))", "x = ((a) or (b)) or c"]),
        ("x = a or b or c", ["x = ((a) and ((b) or (c)))", "x = (((a) or (b)) and (c))"]),
        ("x = not a", ["x = (a)"]),
        ("x = ~(a)", ["x = (a)"]),
        ("x = ü * b", ["x = ü / b"]),
        ("x = [y for y in z if y]", ["x = [y for y in z if (not (y))]"]),
        ("x.append(y)", ["pass"]),
        ("x += y", ["pass"]),
        ("raise x", ["pass"]),
        ("x[y] = z", ["pass"]),
        ("x = True", []),
        ('x = f"{y + 1}"', []),
        ("x: Literal[1] = y", []),
        ("x = isinstance(y, int | str)", []),
        ("'''Some text.'''", []),
    ],
)
def test_mistakes_in_one_line(tmp_path, line, expected):
    assert mutants_of(tmp_path, line + "\n") == [one + "\n" for one in expected]


def test_conditions_and_truth_values_are_negated_once(tmp_path):
    source = "def f(x: C) -> bool:\n    if x == y:\n        continue\n    if x:\n        return x\n"
    assert mutants_of(tmp_path, source.replace("continue", "return z")) == [
        source.replace("continue", "return z").replace(*pair)
        for pair in [
            ("==", "!="),
            ("return z", "return (not (z))"),
            ("if x:", "if (not (x)):"),
            ("return x", "return (not (x))"),
        ]
    ]


def test_a_change_is_known_by_its_text_and_not_by_its_place(tmp_path):
    (tmp_path / "one.py").write_text("def f(x):\n    return g(\n        x < y\n    )\n")
    (there,) = changes(tmp_path, "one.py")
    (tmp_path / "one.py").write_text("z = y\n\n\ndef f(x):\n    return g(\n        x < y\n    )\n")
    (later,) = changes(tmp_path, "one.py")
    assert there.key == later.key == ("one.py", "x < y", "x <= y")
    assert (there.lines, later.lines) == ((2, 4), (5, 7))


def test_tests_that_run_through_a_change_fast_ones_first(tmp_path):
    (tmp_path / "one.py").write_text("x = 1\n\n\ndef f(a):\n    return a < x\n\n\ndef g(a):\n    return a > x\n")
    by_line = {"1": ["", "fast"], "5": ["slow", "fast", "gone"]}
    touched = Touched({"slow": 2.0, "fast": 0.1, "other": 0.2}, json.loads(json.dumps({"one.py": by_line})))
    up, down, inside, never = changes(tmp_path, "one.py")
    assert touched.tests_of(up) == touched.tests_of(down) == ["fast", "other", "slow"]  # runs at import
    assert touched.tests_of(inside) == ["fast", "slow"]
    assert touched.tests_of(never) == []
    assert touched.limit(["fast", "slow"]) > touched.limit(["fast"])


def test_what_was_judged_is_left_out_if_it_is_one_place(tmp_path, monkeypatch, capsys):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "one.py").write_text("x = 5\ny = a < b\nz = a < c\nz = a < c\n")
    everything = changes(tmp_path, "room/one.py")
    assert [change.now for change in everything] == ["x = 6", "x = 4", "y = a <= b", "z = a <= c", "z = a <= c"]
    entries = [("room/one.py", was, None) for was in ("y = a < b", "z = a < c", "gone")]
    entries += [("room/one.py", "x = 5", "x = 6"), ("other/one.py", "gone", None)]
    text = "".join(
        f"[[judged]]\npath = '{path}'\nwas = '{was}'\nreason = 'so'\n" + (f"now = '{now}'\n" if now else "")
        for path, was, now in entries
    )
    (tmp_path / "survivors.toml").write_text(text)
    monkeypatch.setattr(sampler, "JUDGED", tmp_path / "survivors.toml")
    left = sampler.unjudged(everything, ["room"])
    assert [change.now for change in left] == ["x = 4", "z = a <= c", "z = a <= c"]
    said = capsys.readouterr().out
    assert "names 2 places of room/one.py, not one:\n  - z = a < c" in said
    assert "names 0 places of room/one.py, not one:\n  - gone" in said
    assert "other" not in said
