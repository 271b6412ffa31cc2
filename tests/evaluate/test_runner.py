import json
import os
import subprocess
import sys
import textwrap
import time

import polars as pl
import pytest

from incrowd.errors import InfeasibleError, InputError, ParameterError
from incrowd.evaluate.runner import fingerprint, finished, run_tasks

CELLS = [{"n": n} for n in range(4)]
calls = []


def square(task):
    calls.append(task["n"])
    return {"square": task["n"] ** 2}


def niceness(task):
    return {"pid": os.getpid(), "nice": os.nice(0), "threads": os.environ.get("OMP_NUM_THREADS")}


def fragile(task):
    if task["n"] == 1:
        raise InfeasibleError("no release keeps k = 9", "use k = 3")
    if task["n"] == 2:
        raise ValueError("Alice has a secret")
    return {"n": task["n"]}


def deadly(task):
    if task["n"] == 2:
        os._exit(9)
    return {"n": task["n"]}


@pytest.fixture(autouse=True)
def forget():
    calls.clear()


def test_results_come_in_the_order_of_the_tasks_and_equal_tasks_are_computed_once():
    results = run_tasks(square, [*CELLS, CELLS[1]])
    assert [r["square"] for r in results] == [0, 1, 4, 9, 1]
    assert calls == [0, 1, 2, 3]


def test_a_second_run_computes_only_what_is_new(tmp_path):
    run_tasks(square, CELLS[:2], store=tmp_path)
    results = run_tasks(square, CELLS, store=tmp_path)
    assert calls == [0, 1, 2, 3]
    assert [r["square"] for r in results] == [0, 1, 4, 9]
    assert (tmp_path / "cells.jsonl").read_text().count("\n") == 4


def test_another_function_has_its_own_results(tmp_path):
    store = tmp_path / "store.jsonl"
    run_tasks(square, CELLS, store=store)
    assert run_tasks(fragile, CELLS[:1], store=store) == [{"n": 0}]


def test_failures_are_recorded_without_foreign_messages_and_tried_again(tmp_path):
    store = tmp_path / "store.jsonl"
    results = run_tasks(fragile, CELLS, store=store)
    assert results[1]["failed"] == "no release keeps k = 9"
    assert results[2]["failed"].startswith("ValueError in test_runner.py")
    assert "Alice" in results[2]["traceback"]
    assert "Alice" not in store.read_text()
    assert len(finished(store)) == 2
    assert "failed" in run_tasks(fragile, CELLS, store=store)[1]
    assert store.read_text().count("\n") == 6


def test_a_line_that_was_cut_short_is_computed_again(tmp_path):
    store = tmp_path / "store.jsonl"
    run_tasks(square, CELLS[:2], store=store)
    store.write_text(store.read_text()[:-20])
    run_tasks(square, CELLS, store=store)
    assert calls == [0, 1, 1, 2, 3]
    assert run_tasks(square, CELLS, store=store)[1] == {"square": 1}
    assert calls == [0, 1, 1, 2, 3]


@pytest.mark.slow
def test_workers_are_other_processes_niced_and_share_the_processors(tmp_path):
    here = os.nice(0)
    results = run_tasks(niceness, CELLS, store=tmp_path, jobs=2)
    assert all(r["pid"] != os.getpid() for r in results)
    assert all(r["nice"] == min(19, here + 10) for r in results)
    assert all(int(r["threads"]) <= max(1, os.cpu_count() // 2) for r in results)
    assert "OMP_NUM_THREADS" not in os.environ or os.environ["OMP_NUM_THREADS"] == results[0]["threads"]
    assert len(finished(tmp_path)) == 4


@pytest.mark.slow
def test_a_worker_that_dies_takes_only_its_own_task_along(tmp_path):
    results = run_tasks(deadly, CELLS, store=tmp_path, jobs=2)
    assert [r.get("n") for r in results] == [0, 1, None, 3]
    assert "died" in results[2]["failed"]


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    script, store = tmp_path / "run.py", tmp_path / "store.jsonl"
    script.write_text(
        textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from incrowd.evaluate.runner import run_tasks

        def slow(task):
            with Path(sys.argv[2]).open("a") as log:
                log.write(f"{task['n']} ")
            time.sleep(task["n"] if len(sys.argv) > 3 else 0)
            return {"n": task["n"]}

        if __name__ == "__main__":
            print(run_tasks(slow, [{"n": n} for n in (0, 0.01, 60, 0.02)], store=sys.argv[1]))
        """)
    )
    command, log = [sys.executable, str(script), str(store)], tmp_path / "log"
    running = subprocess.Popen([*command, str(log), "slowly"])
    deadline = time.monotonic() + 30
    while len(finished(store)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert len(finished(store)) == 2
    again = tmp_path / "again"
    done = subprocess.run([*command, str(again)], capture_output=True, text=True, check=True)
    assert again.read_text() == "60 0.02 "
    assert json.loads(done.stdout.replace("'", '"')) == [{"n": n} for n in (0, 0.01, 60, 0.02)]


def test_progress_counts_what_was_there_and_may_end_the_run(tmp_path):
    run_tasks(square, CELLS[:1], store=tmp_path)
    seen = []

    def stop_at_three(stage, done, total):
        seen.append((stage, done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks(square, CELLS, store=tmp_path, progress=stop_at_three)
    assert seen == [("tasks", 1, 4), ("tasks", 2, 4), ("tasks", 3, 4)]
    assert len(finished(tmp_path)) == 3


def test_tasks_and_results_are_json():
    with pytest.raises(ParameterError, match="not JSON"):
        run_tasks(square, [{"n": {1, 2}}])
    assert run_tasks(lambda _: {"a": [float("nan"), (1, float("inf"))]}, [{}]) == [{"a": [None, [1, None]]}]
    with pytest.raises(ParameterError, match="jobs is 0"):
        run_tasks(square, CELLS, jobs=0)


def test_a_fingerprint_changes_with_values_names_types_and_order():
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    others = [
        frame.with_columns(a=pl.Series([1, 3])), frame.rename({"a": "c"}), frame.cast({"a": pl.Float64}),
        frame.reverse(), frame.fill_null(""),
    ]  # fmt: skip
    prints = {fingerprint(f) for f in [frame, *others]}
    assert len(prints) == 6
    assert fingerprint(frame.clone()) == fingerprint(frame)


def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("name,age\nAda,34\n")
    with pytest.raises(InputError, match="is not a store"):
        run_tasks(square, CELLS, store=data)
    assert data.read_text() == "name,age\nAda,34\n"
    assert calls == []
