"""One protocol of progress, cancelling and workers."""

import os
import threading

import polars as pl
import pytest

import incrowd as ic
from incrowd.runs import Run, in_threads, workers


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


@pytest.mark.parametrize("n_rows", [0, 10**9])
def test_items_are_shared_by_threads_where_that_gains(n_rows):
    own, seen = threading.get_ident(), set()

    def work(item):
        seen.add(threading.get_ident())
        return item * item

    with Run(workers=2).limits():
        assert list(in_threads(work, range(20), n_rows)) == [item * item for item in range(20)]
    assert (own in seen) == (n_rows == 0)


def test_a_release_is_the_same_with_threads_and_without(monkeypatch):
    frame = pl.DataFrame({"a": [i % 13 for i in range(60)], "b": list("xyz") * 20, "s": list("uv") * 30})
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": None}, sensitive="s")
    alone = ic.Mondrian(k=4).publish(frame, schema, seed=1)
    monkeypatch.setattr("incrowd.runs._WORTH_THREADS", 0)
    shared = ic.Mondrian(k=4).publish(frame, schema, seed=1)
    assert shared.manifest == alone.manifest
    assert shared.coded().equals(alone.coded())
    assert shared.private.rows.tolist() == alone.private.rows.tolist()
    assert shared.verify(frame).ok
