"""Matatov, Rokach, Maimon 2010: the worked examples of sections 3, 4.2 and 5.10 (Figs 1-3, 7, 8 and 13)."""

import itertools

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.publish.decomposition.discretize import in_intervals, mdl_cuts
from incrowd.publish.decomposition.feature_partition import Features
from incrowd.publish.decomposition.feature_search import child_of, filtered_out, passed
from incrowd.publish.decomposition.levels import NO_LIMIT, Levels
from incrowd.publish.decomposition.partition_classifier import combined, laplace
from incrowd.release.seal import secret_rng

HEADER = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
)
FIGURE_1 = """
27 Local-gov 54826 Assoc-voc 10 Widowed Prof-specialty Not-in-family White Female 0 0 20 US <=50K
47 Local-gov 181344 Some-college 10 Married Prof-specialty Husband Black Male 0 0 55 US >50K
41 Local-gov 523910 Bachelors 13 Married Prof-specialty Husband Black Male 0 0 40 US <=50K
42 Local-gov 254817 Some-college 10 Married Prof-specialty Not-in-family White Female 0 1340 40 US <=50K
27 Private 213921 HS-grad 9 Divorced Other-service Not-in-family White Male 0 0 40 US <=50K
46 Private 51618 HS-grad 9 Married Other-service Not-in-family White Female 0 0 40 US <=50K
59 Private 159937 HS-grad 9 Married Sales Husband White Male 0 0 48 US >50K
49 Private 343591 HS-grad 9 Divorced Prof-specialty Not-in-family Black Female 14344 0 40 US >50K
53 Private 346253 HS-grad 9 Married Sales Husband White Male 0 0 35 US <=50K
55 Private 198282 Bachelors 13 Married Sales Husband White Male 15024 0 60 Germany >50K
40 Private 118853 Bachelors 13 Widowed Sales Unmarried White Male 0 0 60 Germany <=50K
49 Private 77143 Bachelors 13 Married Sales Husband White Male 0 0 40 Germany >50K
47 Private 253814 HS-grad 9 Divorced Prof-specialty Unmarried White Female 0 0 25 US <=50K
21 Private 312956 HS-grad 9 Married Prof-specialty Not-in-family Black Male 0 0 40 US >50K
43 Private 114580 Some-college 10 Married Prof-specialty Not-in-family White Female 0 0 40 US <=50K
61 State-gov 267989 Bachelors 13 Married Prof-specialty Husband White Male 0 0 50 US >50K
46 State-gov 102628 Masters 9 Widowed Prof-specialty Unmarried White Male 0 0 40 US <=50K
28 State-gov 175325 HS-grad 9 Widowed Prof-specialty Unmarried White Male 0 0 40 US <=50K
28 State-gov 149624 Bachelors 13 Divorced Prof-specialty Unmarried White Male 0 0 70 US >50K
56 State-gov 149624 Bachelors 13 Divorced Other-service Unmarried White Male 0 0 25 US >50K
"""
NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
NAMES = HEADER.split()
ADULT = pl.DataFrame(
    [line.split() for line in FIGURE_1.strip().splitlines()], schema=dict.fromkeys(NAMES, pl.String), orient="row"
).with_columns(pl.col(NUMBERS).cast(pl.Int64))
FEATURES = NAMES[:-1]
CUT_AGE = ADULT.with_columns(in_intervals(ADULT["age"], (48.0,)))  # the cut that section 4.2 and Fig. 7 use


def numbers(*parts):
    return tuple(tuple(sorted(FEATURES.index(name) for name in part)) for part in parts)


def partition(*parts):
    return tuple(sorted(numbers(*parts)))


def test_figure_1_is_typed_in_as_figure_3_counts_it():
    assert ADULT.shape == (20, 15)
    assert dict(ADULT["sex"].value_counts().rows()) == {"Female": 6, "Male": 14}
    assert dict(ADULT["income"].value_counts().rows()) == {"<=50K": 11, ">50K": 9}


@pytest.mark.parametrize(
    ("quasi", "level"),
    [(["workclass", "native-country"], 3), (["workclass", "native-country", "marital-status"], 1)],
)
def test_definition_7(quasi, level):
    assert Levels.of(ADULT, "income", quasi).partial([range(14)]) == level


def test_definition_8():
    levels = Levels.of(ADULT, "income", ["workclass", "native-country", "marital-status"])
    parts = numbers(
        ["age", "workclass", "fnlwgt", "education", "education-num", "occupation", "native-country"],
        ["marital-status", "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"],
    )
    assert levels.partial(parts) == 3
    assert levels.joined(parts) == 2
    assert levels.of_partition(parts) == 2
    assert levels.of_partition([range(14)]) == 1


def test_the_combination_that_definition_8_names_appears_twice():
    one, other = (
        ADULT.select(names) for names in (["workclass", "native-country", "income"], ["marital-status", "income"])
    )
    join = one.join(other, on="income")
    wanted = {"workclass": "Private", "marital-status": "Divorced", "native-country": "Germany", "income": "<=50K"}
    assert join.filter(**wanted).height == 2


G_I = partition(["relationship"], ["education-num"])
G_J = partition(["hours-per-week", "age"])
OFFSPRING_I = partition(["relationship"], ["hours-per-week", "age"])
OFFSPRING_J = partition(["relationship"], ["education-num"], ["hours-per-week", "age"])
MUTATED_J = partition(["relationship", "education-num"], ["hours-per-week", "age"])


def test_crossover_of_section_4_2():
    relationship, hours_and_age = numbers(["relationship"], ["hours-per-week", "age"])
    assert child_of(relationship, G_I, G_J) == OFFSPRING_I
    assert child_of(hours_and_age, G_J, G_I) == OFFSPRING_J


def test_mutation_of_section_4_2():
    feature = FEATURES.index("education-num")
    assert passed(OFFSPRING_J, feature, (FEATURES.index("relationship"),)) == MUTATED_J
    assert feature not in filtered_out(MUTATED_J, 14)


def test_levels_of_section_4_2():
    levels = Levels.of(CUT_AGE, "income", ["capital-gain", "age", "marital-status", "relationship"])
    first, second = numbers(["relationship", "education-num"], ["hours-per-week", "age"])
    assert (levels.partial([first]), levels.partial([second])) == (6, 7)
    assert levels.partial(MUTATED_J) == 6
    assert levels.joined(MUTATED_J) == 2
    assert levels.joined([first]) == levels.partial([]) == levels.of_partition([]) == NO_LIMIT


def test_ages_are_cut_as_in_figure_7():
    wanted = [{"-": "(-inf-48]", "+": "(48-inf)"}[sign] for sign in "------++++-+---+---+"]
    assert CUT_AGE["age"].to_list() == wanted
    # The paper cut the whole of Adult: on 20 rows no cut is worth its description.
    assert mdl_cuts(ADULT["age"], ADULT["income"]) == ()
    assert mdl_cuts(pl.concat([ADULT["age"]] * 3), pl.concat([ADULT["income"]] * 3)) == (48.0,)


def counted(leaf):
    return [leaf.filter(pl.col("income") == name).height for name in ("<=50K", ">50K")]


def test_the_two_leaf_tables():
    relationship, education, hours = pl.col("relationship"), pl.col("education-num"), pl.col("hours-per-week")
    young = pl.col("age") == "(-inf-48]"
    unmarried = relationship == "Unmarried"
    first = [relationship == "Not-in-family", relationship == "Husband", unmarried & (education <= 10)]
    first.append(unmarried & (education > 10))
    second = [young & (hours <= 40), young & (hours > 40), ~young]
    assert [counted(CUT_AGE.filter(leaf)) for leaf in first] == [[5, 2], [2, 5], [3, 0], [1, 2]]
    assert [counted(CUT_AGE.filter(leaf)) for leaf in second] == [[9, 1], [1, 2], [1, 6]]


def test_the_instance_by_equation_1_and_laplace():
    """(13, Unmarried, 30, 25): the first leaf says >50K, the second <=50K, and so do both together."""
    leaves = laplace([[1, 2], [9, 1]])
    assert leaves.tolist() == [[2 / 5, 3 / 5], [10 / 12, 2 / 12]]
    assert leaves.argmax(axis=1).tolist() == [1, 0]
    prior = np.array([[11 / 20, 9 / 20]])
    scores = np.exp(combined(np.log(prior), list(np.log(leaves)[:, np.newaxis])))
    assert scores[0] == pytest.approx([2 / 5 * 10 / 12 / 0.55, 3 / 5 * 2 / 12 / 0.45])
    assert scores.argmax() == 0


def test_the_instance_by_the_estimator():
    parts = [["relationship", "education-num"], ["hours-per-week", "age"]]
    inducer = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3, max_depth=2)
    model = ic.PartitionClassifier(parts, inducer=inducer).fit(CUT_AGE.drop("income"), CUT_AGE["income"])
    instance = CUT_AGE.drop("income")[:1].with_columns(
        pl.lit(13).alias("education-num"),
        pl.lit("Unmarried").alias("relationship"),
        pl.lit(30).alias("hours-per-week"),
        pl.lit("(-inf-48]").alias("age"),
    )
    assert model.predict(instance).tolist() == ["<=50K"]
    scores = np.array([2 / 5 * 10 / 12 / 0.55, 3 / 5 * 2 / 12 / 0.45])
    assert model.predict_proba(instance)[0] == pytest.approx(scores / scores.sum())  # its leaves are the paper's


ADULT_QUASI = ["workclass", "native-country", "marital-status"]
G_1 = ["age", "workclass", "fnlwgt", "education", "education-num", "occupation", "native-country"]
G_2 = ["marital-status", "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"]


def of_partition(frame, schema, parts, k, **given):
    """The release of a partition that somebody else chose."""
    features = Features.of(frame, schema, k=k, **given)
    numbered = tuple(tuple(features.frame.columns.index(name) for name in part) for part in parts)
    method = Method("dmpd", ic.DMPD(k=k, **given).parameters())
    return features.release(
        frame, numbered, method=method, privacy=Privacy.of(k), seed=None, kind="polars", rng=secret_rng(None, frame)
    )


def test_definition_8_end_to_end(tmp_path):
    """Fig. 1 as two projections, saved, and verified from the files: partial level 3, set level 2."""
    schema = ic.Schema(quasi=ADULT_QUASI, sensitive="income", other=[n for n in FEATURES if n not in ADULT_QUASI])
    release = of_partition(ADULT, schema, [G_1, G_2], 2)
    release.save(tmp_path / "out")
    verdict = ic.verify(tmp_path / "out", ADULT)
    assert verdict.ok, verdict.violations
    assert (verdict.levels["k_partial"], verdict.levels["k_set"], verdict.levels["k"]) == (3, 2, 2)
    whole = of_partition(ADULT, schema, [G_1 + G_2], 1).verify(ADULT)
    assert whole.levels["k"] == 1
    with pytest.raises(ic.VerificationError) as too_much:
        of_partition(ADULT, schema, [G_1, G_2], 3)
    assert [v.split(":")[0] for v in too_much.value.violations] == ["k of joins"]  # partial 3 is not enough


def test_both_levels_are_kept_and_somebody_is_found_by_quasi_identifiers_alone():
    """What Lemma 2 does not say: town x has one class only, and with it one row of job a is left."""
    frame = pl.DataFrame(
        {
            "job": ["a"] * 10 + ["b"] * 30,
            "town": ["x"] + ["y"] * 19 + ["x"] * 9 + ["y"] * 11,
            "hours": range(40),
            "risk": ["+"] + ["-"] * 19 + ["+"] * 9 + ["-"] * 11,
        }
    )
    schema = ic.Schema(quasi=["job", "town"], sensitive="risk", other=["hours"])
    verdict = of_partition(frame, schema, [["job", "hours"], ["town"]], 10).verify(frame)
    assert verdict.ok, verdict.violations
    assert (verdict.levels["k_partial"], verdict.levels["k_set"]) == (10, 10)
    assert verdict.levels["rows_fitting_min"] == 1
    assert "as few as 1 rows" in str(verdict)


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_fit_somebody_by_brute_force(seed):
    """For every choice of one group per projection: rows of each group whose class all the others have."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.integers(0, 3, 24).astype(str) for name in "abcd"})
    frame = frame.with_columns(y=pl.Series([("u", "v", None)[i] for i in rng.integers(0, 3, 24)]))
    schema = ic.Schema(quasi=list("abc"), sensitive="y", other=["d"])
    release = of_partition(frame, schema, [["a"], ["b"], ["c", "d"]], 1)
    groups = [p.partition_by(n) for p, n in zip(release.projections, "abc", strict=True)]
    fits = []
    for chosen in itertools.product(*groups):
        common = set.intersection(*(set(group["y"]) for group in chosen))
        fits += [sum(y in common for y in group["y"]) for group in chosen if common]
    assert release.verify(frame).levels["rows_fitting_min"] == min(fits)


def test_section_4_2_end_to_end(tmp_path):
    """Its quasi-identifiers, its partition and Fig. 7's cut: partial levels 6 and 7, set level 2."""
    quasi = {"capital-gain": ic.Intervals(), "age": None, "marital-status": None, "relationship": None}
    schema = ic.Schema(quasi=quasi, sensitive="income", other=["education-num", "hours-per-week"], rest="drop")
    parts = [["relationship", "education-num"], ["hours-per-week", "age"]]
    release = of_partition(CUT_AGE, schema, parts, 2)
    release.save(tmp_path / "out")
    verdict = ic.verify(tmp_path / "out", CUT_AGE)
    assert verdict.ok, verdict.violations
    assert (verdict.levels["k_partial"], verdict.levels["k_set"]) == (6, 2)
    shown = [projection.drop("income") for projection in ic.Release.load(tmp_path / "out").projections]
    for projection, wanted in zip(shown, parts, strict=True):
        assert sorted(projection.rows()) == sorted(CUT_AGE.select(projection.columns).rows())
        assert set(projection.columns) == set(wanted)


def test_the_publisher_on_figure_1():
    """Whatever it finds for k = 2 keeps both levels; the paper's own partition is one that it may find."""
    quasi = {"capital-gain": ic.Intervals(), "age": None, "marital-status": None, "relationship": None}
    schema = ic.Schema(quasi=quasi, sensitive="income", other=["education-num", "hours-per-week"], rest="drop")
    release = ic.DMPD(k=2, generations=10, population=20, folds=4).publish(CUT_AGE, schema, seed=1)
    assert not release.is_empty
    assert release.levels["k"] >= 2
    features = Features.of(CUT_AGE, schema, k=2)
    numbered = [[features.frame.columns.index(n) for n in p] for p in (["relationship", "education-num"], ["age"])]
    assert features.limits.keep_apart(tuple(map(tuple, numbered)), 2)


def test_figure_8_releases_nothing_but_the_class():
    frame = pl.DataFrame({"a1": list("adgj"), "a2": list("behk"), "a3": list("cfil"), "y": ["y1", "y2", "y3", "y4"]})
    release = ic.DMPD(k=2).publish(frame, ic.Schema(quasi=["a1", "a2", "a3"], sensitive="y"))
    assert release.is_empty
    assert release.projections[0].columns == ["y"]
    assert release.verify(frame).ok


FIGURE_13 = pl.DataFrame(
    {
        "relationship": ["Own-child", "Wife", "Husband", "Own-child"],
        "native-country": ["US"] * 4,
        "workclass": ["State-gov", "Private", "Private", "State-gov"],
        "income": ["<=50K", ">50K", ">50K", "<=50K"],  # the figure has no class: it says that accuracy rises
    }
)


def test_figure_13():
    schema = ic.Schema(quasi=["relationship", "native-country", "workclass"], sensitive="income")
    before = Features.of(FIGURE_13, schema, k=2)
    assert before.frame.columns == ["workclass"]
    after = Features.of(FIGURE_13, schema, k=2, suppress=0.5)
    assert after.frame.columns == ["relationship", "workclass"]
    assert after.frame["relationship"].to_list() == ["Own-child", None, None, "Own-child"]
    assert after.limits.partial([[0, 1]]) == 2
    release = of_partition(FIGURE_13, schema, [["relationship", "workclass"]], 2, suppress=0.5)
    verdict = release.verify(FIGURE_13)
    assert verdict.ok, verdict.violations
    assert verdict.levels["k"] == 2


def test_figure_13_through_the_publisher():
    """In a table of many such rows, where relationship tells the class better than workclass does."""
    more = pl.concat([FIGURE_13] * 6).with_row_index("i")
    frame = more.with_columns(
        relationship=pl.when(pl.col("relationship").is_in(["Wife", "Husband"])).then(
            pl.col("relationship") + pl.col("i").cast(pl.String)
        ).otherwise("relationship"),
        workclass=pl.when(pl.col("i") % 3 == 0).then(pl.lit("Private")).otherwise("workclass"),
    ).drop("i")  # fmt: skip
    schema = ic.Schema(quasi=["relationship", "native-country", "workclass"], sensitive="income")
    quick = {"k": 2, "generations": 3, "population": 8, "folds": 3}
    stiff = ic.DMPD(**quick).publish(frame, schema, seed=0)
    loose = ic.DMPD(**quick, suppress=0.5).publish(frame, schema, seed=0)
    assert "relationship" not in stiff.quasi
    assert "relationship" in loose.quasi
    assert loose.levels["accuracy"] > stiff.levels["accuracy"]
    assert loose.manifest.columns[0].suppressed == 12
    assert loose.verify(frame).ok
