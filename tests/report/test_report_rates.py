"""Rates tell about crowds only."""

from itertools import groupby

import pytest

from incrowd.report.rates import Rating


@pytest.mark.parametrize("k", [2, 7, 50])
def test_a_public_rate_is_a_multiple_of_at_least_k_people(k):
    rating, people = Rating(k), 1000
    for count in range(k, people - k + 1):
        rate = rating.rate(count, people)
        assert rate.step * people >= k
        assert rate.step >= 0.01
        steps = rate.share / rate.step
        assert abs(steps - round(steps)) < 1e-3 or rate.share == 1.0
        outer = min(count, people - count) < 2.5 * rate.step * people
        assert abs(rate.share - count / people) <= rate.step * (1.5 if outer else 0.5) + 1e-6


@pytest.mark.parametrize(
    ("k", "people"), [(2, 9), (4, 24), (5, 17), (10, 200), (20, 240), (40, 10_000), (50, 10_000), (7, 1000)]
)
def test_k_counts_or_more_are_told_alike(k, people):
    rating = Rating(k)
    told = [rating.rate(count, people).text for count in range(people + 1)]
    alike = [len(list(same)) for _, same in groupby(told)]
    assert min(alike) >= min(k, people + 1 - 2 * k)  # between few and all but few there may be less room
    assert len(alike) == len(set(told))  # a larger count is never told as a smaller one


def test_few_and_all_but_few_are_told_alike_whatever_their_number():
    rating = Rating(k=10)
    few = {rating.rate(count, 200) for count in (0, 1, 5, 9.5)}
    assert [rate.text for rate in few] == ["fewer than 10 people"]
    nearly_all = {rating.rate(count, 200) for count in (191, 195, 200)}
    assert [rate.text for rate in nearly_all] == ["all but fewer than 10 people"]


def test_where_nobody_is_hidden_nobody_is_called_so():
    assert [Rating(k=1).rate(count, 9).text for count in (0, 9)] == ["nobody", "everybody"]


def test_nothing_is_told_about_fewer_than_k_people():
    rate = Rating(k=10).rate(5, 9)
    assert rate.share is None
    assert rate.text == "not shown: fewer than 10 people"


def test_the_owner_gets_the_exact_share():
    rate = Rating(k=10, exact=True).rate(5, 9)
    assert (rate.share, rate.step, rate.text) == (5 / 9, 0.0, "55.6%")


def test_a_ratio_may_lie_above_one_and_be_unknown():
    rating = Rating(k=10)
    assert rating.value(1.034, 0.02).text == "about 104%"
    assert rating.value(None, 0.02).text == "cannot be told"
