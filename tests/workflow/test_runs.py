"""One protocol of progress, cancelling and workers."""

import os

import pytest

import incrowd as ic
from incrowd.runs import Run, workers


def test_progress_is_passed_on():
    seen = []
    run = Run(lambda *told: seen.append(told))
    run("reading", 1, 3)
    assert seen == [("reading", 1, 3)]
    Run()("reading", 1, 3)


def test_a_cancelled_run_raises_at_the_next_call_and_tells_nothing():
    seen = []
    run = Run(lambda *told: seen.append(told))
    run.cancel()
    with pytest.raises(ic.Cancelled, match="nothing was written"):
        run("reading", 1, 3)
    assert seen == []
    run.tell("writing", 1, 1)
    assert seen == [("writing", 1, 1)]


def test_cancelling_while_progress_is_told_raises_at_once():
    run = Run(lambda *_: run.cancel())
    with pytest.raises(ic.Cancelled):
        run("reading", 1, 3)


def test_cancelled_is_an_exception_that_a_server_can_catch():
    assert issubclass(ic.Cancelled, Exception)
    assert not issubclass(ic.Cancelled, KeyboardInterrupt)


def test_one_setting_for_the_number_of_workers(monkeypatch):
    monkeypatch.delenv("INCROWD_WORKERS", raising=False)
    everything = workers()
    assert 1 <= everything <= (os.cpu_count() or 1)
    monkeypatch.setenv("INCROWD_WORKERS", "7")
    assert workers() == 7
    with Run(workers=3).limits():
        assert workers() == 3
        with Run().limits():
            assert workers() == 3
    assert workers() == 7


@pytest.mark.parametrize("setting", ["0", "-1", "two"])
def test_numbers_of_workers_that_are_none(monkeypatch, setting):
    monkeypatch.setenv("INCROWD_WORKERS", setting)
    with pytest.raises(ic.ParameterError, match="INCROWD_WORKERS"):
        workers()


def test_a_run_without_workers_is_refused():
    with pytest.raises(ic.ParameterError, match="workers is 0"):
        Run(workers=0)
