"""Time to learn and to audit k-anonymous models on Adult and a million rows, beside one group-by of their columns."""

import time

import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from benchmarks.measure import complete_adult, resampled, side_by_side
from incrowd.datasets import adult_schema
from incrowd.workflow import kept_by_folds

CLASS = "income"
NAMES = [
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
]  # fmt: skip
LIMITS = {30_162: 1.0, 1_000_000: 30.0}


def main(arguments):
    """Time the tree and the audit; with the argument 'repairs', what repairs of a forest keep instead."""
    if "repairs" in arguments:
        repairs()
        return
    own = adult_schema().attributes
    trees = {name: own[name].hierarchy if name in own else None for name in NAMES}
    print(f"{'rows':>8} {'k':>5} {'tree s':>7} {'group-by s':>11} {'ratio':>6}  limit of the tree")
    for frame in (complete_adult(), resampled(1_000_000)):
        for k in (10, 50, 1000):
            taken = side_by_side(
                {
                    "tree": lambda f=frame, k=k: ic.KAnonymousTreeClassifier(k=k, hierarchies=trees).fit(
                        f.select(NAMES), f[CLASS]
                    ),
                    "count": lambda f=frame: f.group_by([*NAMES, CLASS]).len(),
                },
                repeats=3,
            )
            held = "held" if taken["tree"] <= LIMITS[frame.height] else "BROKEN"
            ratio = taken["tree"] / taken["count"]
            print(f"{frame.height:8d} {k:5d} {taken['tree']:7.2f} {taken['count']:11.4f} {ratio:6.1f}", end="")
            print(f"  {LIMITS[frame.height]:g} s: {held}", flush=True)
    audit()


def audit():
    train = complete_adult()
    coded = pl.DataFrame(OrdinalEncoder().fit_transform(train.select(NAMES).to_numpy()), schema=NAMES)
    forest = RandomForestClassifier(100, min_samples_leaf=10, random_state=0).fit(coded.to_pandas(), train[CLASS])
    coded = coded.with_columns(train[CLASS])
    for what, hidden in (("all columns public", []), ("two private", ["relationship", "occupation"])):
        quasi = {name: ic.Intervals() for name in NAMES if name not in hidden}
        schema = ic.Schema(quasi=quasi, sensitive=CLASS, other=hidden)
        taken = side_by_side({"audit": lambda s=schema: ic.audit(forest, coded, s, k=10)}, repeats=3)["audit"]
        print(f"audit of 100 trees, {what}: {taken:.2f} s", flush=True)


def repairs():
    """A random forest of 100 trees on Adult: as it is, repaired, and k-anonymous, beside the k-anonymous tree."""
    train = complete_adult()
    names = [name for name in train.columns if name != CLASS]
    text = [name for name in names if train[name].dtype == pl.String]
    coded = train.with_columns(pl.col(name).rank("dense").cast(pl.Int64) for name in text)
    schema = ic.Schema(quasi={name: ic.Intervals() for name in names}, sensitive=CLASS)
    grown = {
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    }
    for name, model in grown.items():
        start = time.process_time()
        kept = kept_by_folds(model.fit(coded[names], coded[CLASS]), coded, schema, 30, folds=3)
        print(f"{name}: {time.process_time() - start:.0f} CPU s", kept, sep="\n", flush=True)
