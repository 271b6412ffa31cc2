"""Charts: where points are, and what is drawn for comparison."""

import pytest

from incrowd.studio.charts import HEIGHT, WIDTH, charts_of
from incrowd.workflow.tradeoffs import Point, TradeOff

POINTS = (
    Point("mondrian", 10, accuracy=0.7, loss=0.5),
    Point("mondrian", 2, accuracy=0.8, loss=0.2),
    Point("tds", 2, accuracy=0.75, loss=0.9),
    Point("tds", 10, problem="infeasible: too large"),
)


def test_better_is_higher_and_more_privacy_is_to_the_right():
    accuracy, detail = charts_of(TradeOff(POINTS, original=0.85, majority=0.6))
    assert (accuracy.title, detail.title) == ("Accuracy", "Detail lost")
    (first, second), (other,) = (line.dots for line in accuracy.lines)
    assert first.point.k == 2
    assert first.x < second.x
    assert first.y < other.y < second.y
    original, majority = accuracy.baselines
    assert original.y < first.y
    assert majority.y > second.y
    assert [level.words for level in detail.baselines] == ["0.0%", "100.0%"]
    assert len(accuracy.lines[1].dots) == 1  # what cannot be published is not drawn


def test_everything_is_inside_the_drawing():
    for chart in charts_of(TradeOff(POINTS, original=0.851, majority=0.333)):
        for level in (*chart.ticks, *chart.baselines):
            assert 0 <= level.y <= HEIGHT
        for line in chart.lines:
            assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for dot in line.dots)
        assert 2 <= len(chart.ticks) <= 7


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_equal_values_can_be_drawn(value):
    (chart, _) = charts_of(TradeOff((Point("m", 2, accuracy=value, loss=value),), original=value, majority=value))
    assert len({tick.y for tick in chart.ticks}) == len(chart.ticks) >= 2


def test_without_a_class_there_is_no_accuracy():
    assert [chart.title for chart in charts_of(TradeOff((Point("m", 2, loss=0.5),)))] == ["Detail lost"]
    assert charts_of(TradeOff((Point("m", 2, problem="infeasible"),))) == []
