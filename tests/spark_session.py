"""One Spark session for all tests of a process, with little of everything; without Java they are skipped."""

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    """A Spark session on this machine."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if os.environ.get("CI"):
            pytest.fail("Spark needs Java, and there is none")
        pytest.skip("Spark needs Java, and there is none")
    from incrowd.engines.spark_session import _quietly, _silent

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _quietly(), _silent():
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2,4]")
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.io.encryption.enabled": "true",
    # Nothing runs long enough to be worth compiling.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.eventLog.enabled": "false",
}
