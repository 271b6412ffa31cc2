"""Table 1(b) of Li et al. 2011: what InfoGain Mondrian makes of Table 1(a) at k = 10."""

import polars as pl
import pytest

import incrowd as ic
from incrowd.publish.infogain_mondrian import InfoGainMondrian

COLUMNS = ("Gender", "Age", "Blood pressure", "Problem")
TABLE_1A = [
    (5, "Male", 60, "High", "yes"),
    (5, "Male", 70, "High", "yes"),
    (1, "Male", 30, "Normal", "yes"),
    (1, "Female", 70, "High", "no"),
    (5, "Female", 30, "Normal", "no"),
    (5, "Female", 40, "Normal", "no"),
]
TABLE_1B = [
    (5, "Male", "*", "High", "yes"),
    (5, "Male", "*", "High", "yes"),
    (1, "Male", "*", "Normal", "yes"),
    (1, "Female", "*", "High", "no"),
    (5, "Female", "*", "Normal", "no"),
    (5, "Female", "*", "Normal", "no"),
]
AGES = ic.Taxonomy.from_nested({"30-40": [30, 40], "60-70": [60, 70]})  # the levels of Table 1(c)


def spelled_out(table):
    return [row for times, *row in table for _ in range(times)]


@pytest.mark.parametrize(("age", "whole"), [(AGES, "*"), (ic.Intervals(), "30-70")], ids=["taxonomy", "ranges"])
def test_table_1b(age, whole):
    frame = pl.DataFrame(spelled_out(TABLE_1A), schema=COLUMNS, orient="row")
    schema = ic.Schema(quasi={"Gender": None, "Age": age}, sensitive="Problem", other=["Blood pressure"])
    release = InfoGainMondrian(k=10).publish(frame, schema)
    wanted = [(gender, whole, *rest) for gender, _, *rest in spelled_out(TABLE_1B)]
    assert sorted(release.frame.select(COLUMNS).rows()) == sorted(wanted)
