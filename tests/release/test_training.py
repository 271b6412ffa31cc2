"""The one obvious frame to train on."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.evaluate.classifiers import classifier
from incrowd.evaluate.training_data import recommended, training_data


def people(n=400):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n)
    return pl.DataFrame({"age": age, "ill": np.where(rng.random(n) < age / 100, "y", "n")})


SCHEMA = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")


@pytest.mark.parametrize("method", [ic.Mondrian(k=20), ic.NSVDist(k=20)], ids=lambda one: one.name)
def test_every_row_has_the_most_frequent_class_of_its_cell(method):
    release = method.publish(people(), SCHEMA, seed=1)
    frame = release.training(seed=1)
    counts, values = release.cell_class_counts()
    assert frame["ill"].to_list() == [values[int(v)] for v in counts.argmax(axis=1)[release.cell_of]]
    assert frame.drop("ill").equals(release.sample(seed=1).drop("ill"))
    if release.distributions is not None:
        shown = release.distributions.argmax(axis=1)
        assert frame["ill"].to_list() == release.sensitive_values.gather(shown).to_list()


def test_sharpened_shares_are_drawn_from():
    """A cell with 3 of 4: the power 2 makes 9 of 10 of it."""
    frame = pl.DataFrame({"age": [30] * 40_000, "ill": ["y"] * 30_000 + ["n"] * 10_000})
    release = ic.Mondrian(k=20).publish(frame, SCHEMA, seed=1)
    for power, share in ((1, 0.75), (2, 0.9), (np.inf, 1.0)):
        drawn = release.training(sharpen=power, seed=2)["ill"]
        assert (drawn == "y").mean() == pytest.approx(share, abs=0.01)


def test_the_class_may_be_another_column():
    frame = people().with_columns(buys=pl.when(pl.col("age") > 50).then(pl.lit("a")).otherwise(pl.lit("b")))
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=["buys"], target="buys")
    release = ic.BestCuts(k=20).publish(frame, schema, seed=1)
    taught = release.training(seed=1)
    assert set(taught["buys"].unique()) == {"a", "b"}
    assert taught.columns == release.sample().columns
    kept = taught.select(((pl.col("age") > 50) == (pl.col("buys") == "a")).mean()).item()
    assert kept > 0.95


def test_what_has_no_class_or_no_power_is_refused():
    release = ic.Mondrian(k=20).publish(people().drop("ill"), ic.Schema(quasi={"age": ic.Intervals()}))
    with pytest.raises(ic.IncompatibleError, match="nothing to train for"):
        release.training()
    with pytest.raises(ic.ParameterError, match="sharpen is 0"):
        ic.Mondrian(k=20).publish(people(), SCHEMA).training(sharpen=0)


def test_the_class_of_a_small_group_is_seen_with_ten_rows_of_the_whole_table():
    """3 of 5 are luck where 8 % are ill; 18 of 20 are not."""
    ages = [20] * 5 + [40] * 20 + [60] * 175
    ill = ["y"] * 3 + ["n"] * 2 + ["y"] * 18 + ["n"] * 2 + ["n"] * 175
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
    release = ic.BestCuts(k=5, runs=1).publish(pl.DataFrame({"age": ages, "ill": ill}), schema, seed=1)
    taught = release.training(seed=1)
    assert release.frame["age"].n_unique() == 3
    assert dict(taught.group_by("age").agg(pl.col("ill").unique().first()).rows()) == {20: "n", 40: "y", 60: "n"}


def with_papers(n=400):
    """`paper` is another name in every row: whatever is published of it, it is `*`."""
    frame = people(n).with_columns(paper=pl.Series([f"p{i}" for i in range(n)]))
    return frame, ic.Schema(quasi={"age": ic.Intervals(), "paper": None}, sensitive="ill")


def test_a_column_that_nothing_is_told_of_is_left_out():
    frame, schema = with_papers()
    release = ic.BestCuts(k=20).publish(frame, schema, seed=1)
    assert release.untold == ["paper"]
    assert release.training(seed=1).columns == ["age", "ill"]
    assert release.sample(seed=1).columns == ["age", "paper", "ill"]
    everything = ic.BestCuts(k=400).publish(frame, schema, seed=1)
    assert everything.untold == []  # or nothing would be left
    assert everything.training(seed=1).columns == ["age", "paper", "ill"]


def test_evaluate_trains_without_it():
    frame, schema = with_papers()
    release = ic.BestCuts(k=20).publish(frame.head(300), schema, seed=1)
    asked = frame.tail(100)
    classes = pl.Series(["n", "y"])
    for test in ("raw", "generalized"):
        pair = next(training_data(release, asked, classes, training="recommended", test=test, samples=1))
        assert [block.name for block in pair.train.features.blocks] == ["age"]
        assert pair.test.frame.columns == ["age"]
    pair = next(training_data(release, asked, classes, training="samples", samples=1))
    assert pair.test.frame.columns == ["age", "paper"]


def test_each_row_may_be_drawn_several_times():
    release = ic.BestCuts(k=20).publish(people(), SCHEMA, seed=1)
    once, thrice = release.training(seed=1), release.training(draws=3, seed=1)
    assert thrice.height == 3 * once.height
    assert thrice.head(once.height).equals(once)
    labels = thrice["ill"].to_numpy().reshape(3, -1)
    assert (labels == labels[0]).all()
    for draws in (0, 1.5, True):
        with pytest.raises(ic.ParameterError, match="draws"):
            release.training(draws=draws)


def test_support_vectors_get_more_draws_of_small_tables_only():
    frame, schema = with_papers()
    release = ic.BestCuts(k=20).publish(frame, schema, seed=1)
    classes = pl.Series(["n", "y"])
    sizes = {}
    for name in ("tree", "svc"):
        learner = classifier(name)
        pair = next(training_data(release, frame, classes, training="recommended", samples=1, draws=learner.draws))
        sizes[name] = pair.train.features.n_rows
    assert sizes == {"tree": 400, "svc": 1200}
    assert recommended(release, 1.0, 75) == (1.0, 75)
    assert recommended(release, 1.0, 76) == (1.0, 1)


def test_rows_with_cells_of_their_own_keep_their_class():
    frame = people().with_columns(sick=pl.Series(list("abcd") * 100))
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="sick", other=["ill"], target="ill")
    for method in (ic.NSVDist(k=5), ic.NHAA(k=5)):
        release = method.publish(frame, schema, seed=1)
        assert release.training(seed=1)["ill"].to_list() == release.frame["ill"].to_list()
    exact = ic.NHAA(k=5).publish(people(), SCHEMA, seed=1)
    assert exact.training(seed=1)["ill"].to_list() == exact.frame["ill"].to_list()
