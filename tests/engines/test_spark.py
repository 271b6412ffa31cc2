"""Spark: the release of the local engine, byte for byte, however the table is divided; a failed run leaves nothing."""


import incrowd as ic
from incrowd.engines import publish_spark, spark_rows, spark_source
from incrowd.publish import make
from incrowd.verify.streamed import verify_dataset
from streamed_tables import SCHEMA, people

METHODS = [
    ("mondrian", {}),
    ("mondrian", {"cut": "loss"}),
    ("infogain_mondrian", {}),
    ("best_cuts", {"runs": 4}),
    ("mondrian", {"recoding": "single"}),
    ("tds", {}),
    ("tdr", {}),
    ("pais", {}),
]


def public_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def publish(source, output, method="mondrian", schema=SCHEMA, seed=1, k=5, progress=None, **parameters):
    return publish_spark(source, schema, make(method, **{"k": k, **parameters}), output, seed=seed, progress=progress)


def split_into(monkeypatch, n_rows, n):
    """Let files be read in so many splits, and buckets and parts be small."""
    monkeypatch.setattr(spark_source, "SPLIT_ROWS", -(-n_rows // n))
    monkeypatch.setattr(spark_rows, "BUCKET_ROWS", 150)


def test_spark_writes_the_local_release_and_verifies_it(spark, tmp_path, monkeypatch):
    frame = people(300)
    table = tmp_path / "people.parquet"
    frame.write_parquet(table)
    split_into(monkeypatch, 300, 3)
    release = publish(table, tmp_path / "spark")
    local = ic.publish(io.read_as(table, SCHEMA.reading), SCHEMA, method="mondrian", k=5, seed=1)
    local.save_to(tmp_path / "local", dataset=True)
    assert public_files(tmp_path / "spark") == public_files(tmp_path / "local")
    assert release.load().verify(frame).complete
    assert verify_dataset(tmp_path / "spark", table).complete
