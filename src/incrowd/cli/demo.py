"""The demo on real data: from a table of people to a checked release, and what it is still good for."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import polars as pl

from incrowd import io
from incrowd.cli.show import Screen
from incrowd.datasets import adult, adult_schema
from incrowd.errors import ParameterError
from incrowd.hierarchy import Intervals, by_class
from incrowd.publish import BestCuts, NSVDist
from incrowd.schema import Schema
from incrowd.schema.schema import Role
from incrowd.verify import verify

_MARKER = "made-by-incrowd-demo"


def run_demo(screen: Screen, folder: Path, k: int) -> None:
    """Work in `folder`, replacing what an earlier demo left there and nothing else."""
    if folder.exists() and not (folder / _MARKER).exists():
        fact = f"'{folder}' already exists and was not made by the demo"
        raise ParameterError(fact, "choose another folder with -o")
    start = time.perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    with io.atomic_folder(folder) as draft:
        (draft / _MARKER).touch()
        schema, train, test = _schema(), adult("train"), adult("test")
        io.write(train, draft / "people.csv")
        schema.to_toml(draft / "schema.toml")

    screen.head("1. A table of people")
    screen.say(
        f"Adult, 1994 census: {train.height} people. What a neighbour may know, and the income, which nobody may:"
    )
    shown = [*schema.quasi[:5], "income"]
    screen.table("people.csv", train.select(shown).head(3).to_dicts())
    crowd = train.group_by(schema.quasi).len()
    alone = crowd.filter(pl.col("len") == 1).height
    screen.say(
        f"{alone} of them have a combination of {len(schema.quasi)} attributes that nobody shares: it names them."
    )

    screen.head(f"2. Publish with k = {k}")
    with screen.progress() as progress:
        release = BestCuts(k=k, l=1.05).publish(train, schema, progress=progress)
        release.save(folder / "release")
        paper = NSVDist(k=k, l=1.05).publish(train, schema, progress=progress)
    screen.table("release/release.csv", release.labelled().select(shown).head(3).to_dicts())
    counts = release.manifest.rows
    screen.say(f"{counts.released} rows; at least {k} people share the cells of each, and of no group more than 1/1.05")
    screen.say(f"have the same income; {counts.missing} rows had a missing value and were left out.")

    screen.head("3. Check it, by code that shares nothing with the publisher")
    screen.verdict(verify(folder / "release", train))

    screen.head("4. Damage it, and check again")
    damaged = folder / "damaged"
    shutil.copytree(folder / "release", damaged)
    _damage(damaged)
    for violation in verify(damaged).violations:
        screen.say(f"Refused: {violation}")
    shutil.rmtree(damaged)

    screen.head("5. What is it still good for?")
    frames = {
        "the release (release.training())": release.training(seed=0),
        "samples of NSVDist, the best of the papers": paper.sample(seed=0),
    }
    accuracies = _accuracies(frames, train, test, schema.quasi)
    screen.table(
        "A decision tree, tested on 15 060 people who are not in the release",
        [{"trained on": name, "accuracy": f"{value:.1%}"} for name, value in accuracies.items()],
    )
    screen.say(
        f"\nDone in {time.perf_counter() - start:.1f} s. Look into {folder}/release; keep release.private to yourself."
    )
    screen.say("With your own table: incrowd init data.csv -o data.toml, edit data.toml, then")
    screen.say("                     incrowd publish data.csv -s data.toml -k 10 -o release")


def _schema() -> Schema:
    """Return the roles of the columns; ranges that begin and end anywhere keep most for classifiers."""
    given = adult_schema()
    attributes = [
        replace(attribute, hierarchy=Intervals() if attribute.name == "age" else by_class())
        if attribute.role is Role.QUASI
        else attribute
        for attribute in given.attributes.values()
    ]
    return Schema.of(attributes, missing=given.missing, missing_tokens=given.missing_tokens, rest=given.rest)


def _damage(folder: Path) -> None:
    """Remove one row, as a careless edit might."""
    frame = pl.read_parquet(folder / "release.parquet").head(-1)
    frame.write_parquet(folder / "release.parquet")
    frame = pl.read_csv(folder / "release.csv", infer_schema=False).head(-1)
    frame.write_csv(folder / "release.csv")


def _accuracies(
    frames: dict[str, pl.DataFrame], train: pl.DataFrame, test: pl.DataFrame, quasi: list[str]
) -> dict[str, float]:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    complete = pl.all_horizontal(pl.all().cast(pl.String()) != "?")
    train, test = train.filter(complete), test.filter(complete)
    names = [i for i, name in enumerate(quasi) if test[name].dtype == pl.String]

    def accuracy(rows: pl.DataFrame) -> float:
        encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), names), remainder="passthrough")
        tree = make_pipeline(encode, DecisionTreeClassifier(min_samples_leaf=25, random_state=0))
        tree.fit(rows.select(quasi).to_numpy(), rows["income"].to_numpy())
        return float(tree.score(test.select(quasi).to_numpy(), test["income"].to_numpy()))

    found = {
        "nothing (always the more frequent class)": float((test["income"] == train["income"].mode()[0]).mean() or 0)
    }
    found |= {name: accuracy(frame) for name, frame in frames.items()}
    return found | {"the people themselves": accuracy(train)}
