"""Spark sessions, and jobs that tell how far they are, that can be cancelled, and whose errors quote no cell."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from incrowd.errors import IncrowdError, InputError, MissingDependencyError, ParameterError
from incrowd.publish.publisher import Progress

A = TypeVar("A")

RECORDS = 1 << 17  # rows that Spark gives to Python at a time; its own 10 000 take twice as long
_PAUSE = 0.1  # seconds between two looks at a job
_RETRIES = 4  # times that a task of a local session is tried, as on a cluster
_LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "8",
    "spark.io.encryption.enabled": "true",  # what is shuffled lies in files, and quasi-identifiers are among it
}
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:, ?\d+)?\])?")
_OURS = re.compile(r"incrowd\.errors\.(\w+Error): (.*?)\n\nHint: (.*?)(?:\n|$)", re.DOTALL)
_EXCEPTION = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Panic\w*))\b", re.MULTILINE)
_DAMAGED = ("FAILED_READ_FILE", "CANNOT_READ_FILE", "is not a Parquet file", "ParquetDecodingException")
_CHANGED = ("SchemaColumnConvertNotSupportedException", "PARQUET_COLUMN_DATA_TYPE_MISMATCH", "CANNOT_MERGE_SCHEMAS")


@contextmanager
def open_session(master: str | None = None, frame: Any = None) -> Iterator[Any]:  # noqa: ANN401
    """Yield the session of a frame, or the one that is there; else one of our own, which ends with the block."""
    if importlib.util.find_spec("pyspark") is None:
        fact = "The engine 'spark' needs pyspark, which is not installed"
        raise MissingDependencyError(fact, "pip install 'incrowd[spark]'")
    with _quietly():
        from pyspark.sql import SparkSession  # noqa: PLC0415

        active = frame.sparkSession if frame is not None else SparkSession.getActiveSession()
        session = active or _start(SparkSession, master)
        if not hasattr(session, "_jsparkSession"):
            fact = "This session is one of Spark Connect, which does not let jobs be watched and cancelled"
            raise ParameterError(fact, "use a session of the driver: spark-submit, or SparkSession.builder.master(...)")
        try:
            with _settings(session):
                yield session
        finally:
            if active is None:
                session.stop()


def _start(kind: Any, master: str | None) -> Any:  # noqa: ANN401
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = kind.builder.appName("incrowd").config("spark.ui.showConsoleProgress", "false")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    local = _LOCAL.fullmatch(master or "local[*]")
    if not submitted and local:
        for name, value in _LOCAL_SETTINGS.items():
            builder = builder.config(name, value)
        # Without a number of tries, a local task that fails ends the job.
        builder = builder.master(f"local[{local[1] or 1},{_RETRIES}]")
    elif master is not None:
        builder = builder.master(master)
    try:
        with _silent() if local else nullcontext():
            session = builder.getOrCreate()
    except Exception as error:
        kind_of_error = type(error).__name__
    else:
        if local:
            session.sparkContext.setLogLevel("OFF")  # what it logs of an error may quote a cell
        return session
    fact = f"Spark could not be started ({kind_of_error})"
    hint = (
        "it needs Java 17 or 21: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    )
    raise MissingDependencyError(fact, hint)


@contextmanager
def _silent() -> Iterator[None]:
    """Let a process that is started write nothing on the screen."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _settings(session: Any) -> Iterator[None]:  # noqa: ANN401
    """Set what the engine needs, and set it back."""
    wanted = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(RECORDS),
        "spark.sql.caseSensitive": "true",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    before = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value) if value is not None else session.conf.unset(name)


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what pyspark says of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


class Jobs:
    """Jobs of one run.

    Parameters
    ----------
    session
        The Spark session.
    report
        Is told the stage, how many tasks of it are done and how many there are; what it raises cancels the job.
    """

    def __init__(self, session: Any, report: Progress) -> None:  # noqa: ANN401
        self.session = session
        self._context, self._report = session.sparkContext, report
        self._group = f"incrowd-{uuid4().hex}"
        self._known: set[int] = set()

    def run(self, stage: str, action: Callable[[], A]) -> A:
        """Run what starts jobs, and watch them."""
        from pyspark import InheritableThread  # noqa: PLC0415

        self._report(stage, 0, 0)
        found: dict[str, Any] = {}

        def work() -> None:
            self._context.setJobGroup(self._group, stage, interruptOnCancel=False)
            try:
                found["result"] = action()
            except Exception as error:
                found["error"] = error

        thread = InheritableThread(target=work)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_PAUSE)
                self._report(stage, *self._tasks())
        except BaseException:
            self._context.cancelJobGroup(self._group)
            thread.join()
            raise
        finally:
            self._known.update(self._context.statusTracker().getJobIdsForGroup(self._group))
        problem = None if "error" not in found else explained(found["error"])
        if problem is not None:
            raise problem
        return found["result"]  # type: ignore[no-any-return]

    def _tasks(self) -> tuple[int, int]:
        """Return how many tasks of the stages so far are done, and how many there are."""
        tracker, done, total = self._context.statusTracker(), 0, 0
        for job in set(tracker.getJobIdsForGroup(self._group)) - self._known:
            about = tracker.getJobInfo(job)
            for number in about.stageIds if about is not None else ():
                stage = tracker.getStageInfo(number)
                if stage is not None:
                    done, total = done + stage.numCompletedTasks, total + stage.numTasks
        return done, total


def explained(error: Exception) -> Exception:
    """Return what to tell somebody of an error of Spark, whose own words may quote a cell."""
    if isinstance(error, IncrowdError):
        return error
    text = f"{error}\n{getattr(error, 'desc', '')}"
    own = _OURS.search(text)
    if own is not None:
        fact, hint = own[2].strip(), own[3].strip()
    elif "No space left on device" in text:
        fact, hint = (
            "A worker of Spark has no space left on its disk",
            "free some, or set spark.local.dir to a larger one",
        )
    elif any(sign in text for sign in _CHANGED):
        fact, hint = (
            "A column changes its type between files",
            "write the files again with equal columns of equal types",
        )
    elif any(sign in text for sign in _DAMAGED):
        fact, hint = f"{_file_in(text)} is damaged", "write it again, or check that the copy is complete"
    elif "java.lang.OutOfMemoryError" in text:
        fact, hint = "Spark ran out of memory", "give it more: spark.driver.memory (local), spark.executor.memory"
    else:
        names = _EXCEPTION.findall(text)
        fact = f"A job of Spark failed ({names[-1] if names else type(error).__name__})"
        hint = "look for the reason in the log of Spark; try again if a machine was lost"
    return InputError(fact, hint)


def _file_in(text: str) -> str:
    found = re.search(r"(?:file:|[a-z0-9]+://)[^\s'\"]+?\.(?:snappy\.|zstd\.|gz\.)?parquet", text)
    return (
        f"'{Path(found[0].removeprefix('file:')) if found[0].startswith('file:') else found[0]}'" if found else "A file"
    )
