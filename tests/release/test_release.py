"""Releases: frames, samples, expectations, folders."""

import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.coding import Table
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.release.seal import Cells, seal_rows
from incrowd.verify import verify
from strategies import tables


def with_distributions(frame, schema, members, k, l=1):
    """A non-homogeneous release whose row i is the closure of the rows in members[i]."""
    table = Table.encode(frame, schema)
    lo = np.stack([table.codes[rows].min(axis=0) for rows in members]).astype(np.int32)
    hi = np.stack([table.codes[rows].max(axis=0) for rows in members]).astype(np.int32)
    for m, hierarchy in enumerate(table.hierarchies):
        lo[:, m], hi[:, m] = hierarchy.closure(lo[:, m], hi[:, m])
    n_values = table.n_values
    counts = np.stack([np.bincount(table.sensitive[rows], minlength=n_values) for rows in members]).astype(np.int32)
    return seal_rows(
        frame, lambda: (table, Cells(lo, hi, np.arange(table.n_rows), counts), Privacy.of(k, l=l).guarantees()),
        method=Method("hand", {}), homogeneous=False, rng=np.random.default_rng(0), seed=None, kind="polars",
        domains="exact",
    )  # fmt: skip


PEOPLE = pl.DataFrame(
    {
        "age": [30, 21, 21, 55, 47],
        "zip": ["10055", "10055", "10023", "10165", "10224"],
        "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="disease")
TABLE_2 = [[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]]


def test_table_2_of_last_et_al():
    release = with_distributions(PEOPLE, SCHEMA, TABLE_2, k=2, l=2)
    assert release.frame["age"].to_list() == ["21", "21-30", "21-30", "47-55", "47-55"]
    assert release.frame["zip"].to_list() == ["100**", "100**", "10055", "10***", "10***"]
    assert release.frame["disease=Flu"].to_list() == [0.5, 0.0, 0.5, 0.5, 0.5]
    assert release.private.rows.tolist()[:3] == [1, 2, 0]
    assert release.verify(PEOPLE).ok
    assert release.distributions.max() == 0.5
    for promise in ({"k": 3, "l": 2}, {"k": 2, "l": 3}):
        with pytest.raises(ic.VerificationError):
            with_distributions(PEOPLE, SCHEMA, TABLE_2, **promise)


def test_eq_1_of_last_et_al():
    """Bob, Carol and David: (21-55, 10***, {Flu 2/3, Angina 1/3}), diversity 3/2."""
    members = [[0, 1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3], [4, 3, 2]]
    release = with_distributions(PEOPLE, SCHEMA, members, k=3, l=1.5)
    bob = release.frame.row(release.private.rows.tolist().index(1), named=True)
    assert (bob["age"], bob["zip"]) == ("21-55", "10***")
    assert (bob["disease=Flu"], bob["disease=Angina"]) == (2 / 3, 1 / 3)
    verdict = release.verify(PEOPLE)
    assert verdict.ok
    assert verdict.levels["l_frequency"] == 1.5


def test_distributions_survive_the_folder(tmp_path):
    release = with_distributions(PEOPLE, SCHEMA, TABLE_2, k=2, l=2)
    release.save(tmp_path / "out")
    loaded = ic.Release.load(tmp_path / "out")
    assert loaded.frame.equals(release.frame)
    assert np.array_equal(loaded.distributions, release.distributions)
    assert verify(tmp_path / "out", PEOPLE).ok
    shares = pl.read_csv(tmp_path / "out" / "release.csv")
    assert [name for name in shares.columns if "=" in name] == release.secrets[0].columns


def test_sample_draws_from_cells_marginals_and_distributions():
    release = with_distributions(PEOPLE, SCHEMA, TABLE_2, k=2, l=2)
    draws = pl.concat([release.sample(seed=i).with_row_index() for i in range(600)])
    assert draws.schema["age"] == pl.Int64
    first = draws.filter(pl.col("index") == 1)  # (21-30, 100**, {Angina 1/2, Measles 1/2})
    assert set(first["disease"]) == {"Angina", "Measles"}
    assert abs((first["disease"] == "Angina").mean() - 1 / 2) < 0.09
    # Two of the three people in 21-30 are 21, two of the three in 100** live in 10055.
    assert abs((first["age"] == 21).mean() - 2 / 3) < 0.09
    assert abs((first["zip"] == "10055").mean() - 2 / 3) < 0.09


@given(tables(), st.integers(1, 4))
def test_samples_lie_in_their_cells_and_keep_exact_values(drawn, k):
    if drawn.frame.height < k:
        return
    release = ic.Mondrian(k=k).publish(drawn.frame, drawn.schema)
    sample = release.sample(seed=0)
    assert sample.equals(release.sample(seed=0))
    assert sample["class"].equals(release.frame["class"])
    for m, (name, hierarchy) in enumerate(zip(release.quasi, release.hierarchies, strict=True)):
        codes = hierarchy.encode(sample[name])
        assert ((release.lo[:, m] <= codes) & (codes <= release.hi[:, m])).all()
        joined = getattr(release.manifest.quasi[m], "rest", ())  # a leaf that stands for several values has a name
        assert sample[name].dtype == drawn.frame[name].dtype or (joined and sample[name].dtype == pl.String)


def test_soft_gives_expectations():
    release = with_distributions(PEOPLE, SCHEMA, TABLE_2, k=2, l=2)
    soft = release.soft()
    assert soft.columns[0] == "age"
    assert soft.X[1, 0] == pytest.approx((21 + 21 + 30) / 3)
    at = soft.columns.index("zip=10055")
    assert soft.X[:, at].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 2 / 5, 2 / 5])
    X, y, w = soft.weighted()
    assert len(X) == len(y) == len(w) == 10
    assert w.sum() == pytest.approx(5)
    assert soft.classes.to_list() == ["Angina", "Diabetes", "Flu", "Measles"]


def test_soft_of_numbers_that_may_be_missing():
    frame = pl.DataFrame({"a": [1, 3, None, None, None, 5], "s": ["u", "v"] * 3})
    soft = ic.Mondrian(k=3).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")).soft()
    assert soft.columns == ["a", "a=(missing)"]
    assert sorted(soft.X.tolist()) == [[3.0, 0.0]] * 3 + [[3.0, 1.0]] * 3
    whole = ic.Mondrian(k=6).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s"), domains="exact")
    assert whole.soft().X.tolist() == [[3.0, 0.5]] * 6


def test_the_target_is_the_class():
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "ill": ["u", "v", "u", "v"], "cls": ["x", "x", "y", "y"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="ill", other=["cls"], target="cls")
    release = ic.Mondrian(k=2).publish(frame, schema)
    assert release.loss("cm") == 0
    assert release.soft().classes.to_list() == ["x", "y"]
    without = ic.Schema(quasi={"a": ic.Intervals()}, other=["cls"], target="cls", rest="drop")
    assert ic.Mondrian(k=2).publish(frame, without).loss("cm") == 0


@given(tables(min_rows=3), st.integers(1, 3))
def test_soft_is_the_mean_of_many_samples(drawn, k):
    release = ic.Mondrian(k=k).publish(drawn.frame, drawn.schema)
    soft = release.soft()
    assert np.allclose(soft.proba.sum(axis=1), 1)
    for name, hierarchy in zip(release.quasi, release.hierarchies, strict=True):
        block = [i for i, column in enumerate(soft.columns) if column.startswith(f"{name}=")]
        if hierarchy.ordered:
            assert len(block) == hierarchy.has_missing
        else:
            assert len(block) == hierarchy.n_leaves
            assert np.allclose(soft.X[:, block].sum(axis=1), 1)


@given(tables(), st.integers(1, 4), st.sampled_from(["multi", "single"]))
def test_folder_round_trip(tmp_path_factory, drawn, k, recoding):
    if drawn.frame.height < k:
        return
    folder = tmp_path_factory.mktemp("release") / "out"
    release = ic.Mondrian(k=k, recoding=recoding).publish(drawn.frame, drawn.schema, seed=4)
    release.save(folder)
    loaded = ic.Release.load(folder)
    assert loaded.frame.equals(release.frame)
    assert loaded.manifest == release.manifest
    assert loaded.transform(drawn.frame).equals(release.transform(drawn.frame))
    assert loaded.loss("lm") == pytest.approx(release.loss("lm"))
    assert loaded.private.seed == 4
    verdict = verify(folder, drawn.frame)
    assert verdict.ok, verdict.violations
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"person" not in everything


def small(**options):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    return ic.Mondrian(k=2).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s", **options)), frame


def test_without_the_private_folder_nothing_private_is_known(tmp_path):
    release, frame = small()
    release.save(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "given")
    given_away = ic.Release.load(tmp_path / "given")
    assert given_away.private is None
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        given_away.transform(frame)
    with pytest.raises(ic.ParameterError, match="private"):
        given_away.loss("kl", original=frame)
    given_away.save(tmp_path / "copy")
    assert not (tmp_path / "copy.private").exists()


def test_private_folder_of_another_release_is_refused(tmp_path):
    small()[0].save(tmp_path / "one")
    small(missing="drop")[0].save(tmp_path / "two")
    (tmp_path / "one").rename(tmp_path / "gone")
    (tmp_path / "two").rename(tmp_path / "one")
    with pytest.raises(ic.InputError, match="does not belong"):
        ic.Release.load(tmp_path / "one")


def test_private_things_are_not_printed():
    assert repr(small()[0].private) == "Private(...)"


def test_pandas_dates_reach_the_csv_as_dates(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": [dt.date(2024, 1, 1 + i % 2) for i in range(4)]}).to_pandas()
    ic.Mondrian(k=2).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")).save(tmp_path / "out")
    assert "2024-01-01\n" in (tmp_path / "out" / "release.csv").read_text()
    assert verify(tmp_path / "out", frame).ok


def test_private_folder_is_for_the_owner_only(tmp_path):
    release, _ = small()
    release.save(tmp_path / "out")
    assert (tmp_path / "out.private").stat().st_mode & 0o077 == 0


def test_save_refuses_an_existing_folder(tmp_path):
    release, _ = small()
    (tmp_path / "out").mkdir()
    with pytest.raises(ic.InputError, match="exists"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_load_says_what_is_wrong(tmp_path):
    with pytest.raises(ic.InputError, match=r"manifest"):
        ic.Release.load(tmp_path)
    release, _ = small()
    release.save(tmp_path / "out")
    manifest = Path(tmp_path / "out" / "manifest.json")
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(data | {"format": 99}))
    with pytest.raises(ic.InputError, match="format 99"):
        ic.Release.load(tmp_path / "out")
    manifest.write_text("[]")
    with pytest.raises(ic.InputError, match="cannot be read as the manifest"):
        ic.Release.load(tmp_path / "out")


def test_clashing_names_are_refused():
    frame = pl.DataFrame({"a": [1, 2], "a.lo": [1, 2]})
    with pytest.raises(ic.SchemaError, match=r"'a\.lo'"):
        ic.Mondrian(k=1).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, other=["a.lo"]))


def test_losses_of_a_release():
    release, frame = small()
    assert release.loss("lm") == pytest.approx(1 / 3)
    assert release.loss("dm") == 8
    assert release.loss("aecs") == 1
    assert release.loss("cm") == 0.5
    assert release.loss("kl", original=frame) == pytest.approx(0)
    with pytest.raises(ic.ParameterError, match="original"):
        release.loss("kl")
    with pytest.raises(ic.ParameterError, match="'price'"):
        release.loss("price")


def by_pais():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": list("uvuv")})
    return ic.PAIS(k=2, L=1, C=0.5).publish(frame, ic.Schema(quasi=["a", "b"], sensitive="s"))


def test_notebooks_get_a_table():
    release, _ = small()
    assert "mondrian" in repr(release)
    assert "(pais: LKC = (1, 2, 0.5); 4 of 4 rows)" in repr(by_pais())
    assert "1-2" in release._repr_html_()


def test_transform_keeps_no_identifiers():
    release, _ = small()
    new = pl.DataFrame({"a": [1, 4], "s": ["u", "v"], "name": ["Ann", "Bob"]})
    assert release.transform(new).columns == ["a", "s"]
    with pytest.raises(ic.SchemaError, match="no column 'a'"):
        release.transform(new.drop("a"))
