"""Trees in ONNX and PMML files: audited as the same model is, or refused with the reason."""

import sys
from xml.sax.saxutils import quoteattr

import numpy as np
import onnx
import polars as pl
import pytest
from skl2onnx import to_onnx
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import incrowd as ic
from incrowd.audit.files import load_model
from incrowd.errors import InputError

RNG = np.random.default_rng(5)
N = 120
ROWS = RNG.integers(0, 5, (N, 3)).astype(np.float32)
LABELS = ((ROWS @ [2, 1, 2] + RNG.integers(0, 4, N)) > 10).astype(int)
NAMES = ["a", "b", "c"]
SOME = ic.Schema(quasi=["a", "b"], sensitive="y", other=["c"])
MODELS = [
    (DecisionTreeClassifier(max_depth=3, random_state=0), LABELS),
    (DecisionTreeClassifier(max_depth=2, random_state=0), np.where(LABELS == 1, "ill", "fine")),
    (DecisionTreeClassifier(max_depth=2, random_state=0), LABELS == 1),
    (DecisionTreeClassifier(max_depth=2, random_state=0), ROWS[:, 2].astype(int)),
    (DecisionTreeRegressor(max_depth=3, random_state=0), ROWS[:, 0] * 3 + LABELS),
    (ExtraTreesClassifier(3, max_depth=3, random_state=0), LABELS),
    (ExtraTreesRegressor(3, max_depth=3, random_state=0), ROWS[:, 0] * 3 + LABELS),
    (RandomForestClassifier(3, max_depth=2, bootstrap=False, random_state=0), LABELS),
]


def frame_of(labels):
    return pl.DataFrame({name: ROWS[:, i] for i, name in enumerate(NAMES)} | {"y": labels})


def write_pmml(model, path, labels, *, compact=True, counts=False):
    """Write trees as JPMML does: the first child whose predicate holds, shares in place of counts."""
    classes = [] if not hasattr(model, "classes_") else [str(one).lower() for one in model.classes_]

    def node(tree, i, predicate):
        shares = tree.value[i, 0] * (tree.n_node_samples[i] if counts else 1)
        pairs = zip(classes, map(float, shares), strict=False)
        text = "".join(f'<ScoreDistribution value={quoteattr(c)} recordCount="{share!r}"/>' for c, share in pairs)
        left, right = tree.children_left[i], tree.children_right[i]
        if left < 0:
            score = quoteattr(classes[int(tree.value[i, 0].argmax())] if classes else repr(float(tree.value[i, 0, 0])))
            return f"<Node score={score}>{predicate}{text}</Node>"
        name, at = NAMES[tree.feature[i]], float(np.float32(tree.threshold[i]))
        tests = [
            f'<SimplePredicate field="{name}" operator="{rule}" value="{at!r}"/>'
            for rule in ("lessOrEqual", "greaterThan")
        ]
        other = "<True/>" if compact else tests[1]
        return f"<Node>{predicate}{node(tree, left, tests[0])}{node(tree, right, other)}</Node>"

    purpose = "classification" if classes else "regression"
    members = [model] if hasattr(model, "tree_") else list(model.estimators_)
    grown = [
        f'<TreeModel functionName="{purpose}"><MiningSchema/>{node(one.tree_, 0, "<True/>")}</TreeModel>'
        for one in members
    ]
    schema = "<MiningSchema><MiningField name='y' usageType='target'/></MiningSchema>"
    whole = grown[0].replace("<MiningSchema/>", schema)
    if len(grown) > 1:
        segments = "".join(f"<Segment id='{i}'><True/>{one}</Segment>" for i, one in enumerate(grown))
        whole = (
            f"<MiningModel functionName='{purpose}'>{schema}<Segmentation multipleModelMethod='average'>{segments}"
            "</Segmentation></MiningModel>"
        )
    fields = "".join(f"<DataField name='{name}' optype='continuous' dataType='float'/>" for name in NAMES)
    values = "".join(f"<Value value={quoteattr(one)}/>" for one in classes)
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
        f"<DataDictionary><DataField name='y' optype='categorical' dataType='string'>{values}</DataField>{fields}"
        f"</DataDictionary>{whole}</PMML>"
    )
    return path


def write_onnx(model, path, labels, **more):
    path.write_bytes(to_onnx(model, ROWS[:1], **more).SerializeToString())
    return path


WRITERS = {".onnx": write_onnx, ".pmml": write_pmml}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(("kind", "labels"), MODELS, ids=lambda one: type(one).__name__)
def test_a_file_is_audited_as_the_model_itself(suffix, kind, labels, tmp_path):
    frame = frame_of(labels)
    model = kind.fit(ROWS, labels)
    path = WRITERS[suffix](model, tmp_path / f"model{suffix}", labels)
    found = load_model(path)
    for class_public in (False, True):
        for k in (2, 30):
            theirs = ic.audit(found, frame, SOME, k, class_public=class_public)
            own = ic.audit(model, frame, SOME, k, class_public=class_public)
            assert sorted(theirs.at_risk) == sorted(own.at_risk)
            assert theirs.level == own.level
            assert any("how many people its leaves hold" in note for note in theirs.notes)
    with pytest.raises(ic.SchemaError, match="say something else"):
        ic.audit(found, frame.with_columns(pl.col("c").shift(1).fill_null(0)), SOME, 5)


def test_pmml_with_counts_and_two_predicates(tmp_path):
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(ROWS, LABELS)
    path = write_pmml(model, tmp_path / "model.pmml", LABELS, compact=False, counts=True)
    for k in (2, 30):
        theirs = ic.audit(load_model(path), frame_of(LABELS), SOME, k)
        assert theirs.at_risk.tolist() == ic.audit(model, frame_of(LABELS), SOME, k).at_risk.tolist()
    text = path.read_text()
    path.write_text(text.replace('operator="greaterThan" value="', 'operator="greaterThan" value="1', 1))
    with pytest.raises(ic.IncompatibleError, match="predicts nothing for some rows"):
        load_model(path)
    path.write_text(text.replace('"greaterThan"', '"greaterOrEqual"', 1))
    with pytest.raises(ic.IncompatibleError, match="predicts nothing for some rows"):
        load_model(path)
    write_pmml(model, path, LABELS, counts=True)
    found = ic.audit(load_model(path), frame_of(LABELS), SOME, 5)
    assert found.notes == ()
    assert found.level == ic.audit(model, frame_of(LABELS), SOME, 5).level
    double = pl.concat([frame_of(LABELS)] * 2)
    with pytest.raises(ic.SchemaError, match="say something else"):
        ic.audit(load_model(path), double, SOME, 5)
    with pytest.raises(ic.IncompatibleError, match="missing values in columns"):
        ic.audit(load_model(path), frame_of(LABELS).with_columns(a=pl.lit(None, pl.Float64)), SOME, 5)


def test_pmml_that_returns_the_last_prediction(tmp_path):
    labels = ROWS[:, 0] * 2
    leaf = "<Node score='{}'><SimplePredicate field='a' operator='lessOrEqual' value='{}'/></Node>"
    nested = "".join(leaf.format(2.0 * at, at + 0.5) for at in range(4))
    path = write_pmml(DecisionTreeRegressor(max_depth=1).fit(ROWS, labels), tmp_path / "model.pmml", labels)
    head, tail = path.read_text().split("<Node>", 1)[0], "</TreeModel></PMML>"
    head = head.replace("<TreeModel ", "<TreeModel noTrueChildStrategy='returnLastPrediction' ")
    path.write_text(f"{head}<Node score='8.0'><True/>{nested}</Node>{tail}")
    found = ic.audit(load_model(path), frame_of(labels), SOME, 5)
    assert sorted(found.people) == sorted(np.unique(labels, return_counts=True)[1])


REFUSED = [
    (RandomForestClassifier(3, max_depth=2, random_state=0), "say something else"),
    (DecisionTreeClassifier(max_depth=2, class_weight={0: 1, 1: 9}), "say something else"),
    (GradientBoostingClassifier(n_estimators=2, max_depth=1), "as boosted trees do"),
    (LogisticRegression(), "'LinearClassifier'"),
    (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)), "'Scaler'"),
]


@pytest.mark.parametrize(("kind", "match"), REFUSED, ids=lambda one: type(one).__name__)
def test_what_onnx_cannot_tell_is_refused(kind, match, tmp_path):
    path = write_onnx(kind.fit(ROWS, LABELS), tmp_path / "model.onnx", LABELS)
    with pytest.raises((ic.IncompatibleError, ic.SchemaError), match=match):
        ic.audit(load_model(path), frame_of(LABELS), SOME, 5)


def test_whatever_else_an_onnx_file_holds_is_refused(tmp_path):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS)
    path = write_onnx(model, tmp_path / "model.onnx", LABELS)
    whole = path.read_bytes()

    def refused(change, match, error=ic.IncompatibleError):
        given = onnx.ModelProto.FromString(whole)
        change(given)
        path.write_bytes(given.SerializeToString())
        with pytest.raises(error, match=match):
            ic.audit(load_model(path), frame_of(LABELS), SOME, 5)

    def at(given, name):
        return next(one for one in given.graph.node[0].attribute if one.name == name)

    def map_of(given):
        return next(one for node in given.graph.node if node.op_type == "ZipMap" for one in node.attribute)

    refused(lambda m: setattr(m, "doc_string", "Ada"), "'doc_string' in the model")
    refused(lambda m: m.metadata_props.add(key="a", value="b"), "'metadata_props' in the model")
    refused(lambda m: setattr(m.graph, "doc_string", "Ada"), "'doc_string' in the graph")
    refused(lambda m: m.graph.initializer.add(name="rows"), "'initializer' in the graph")
    refused(lambda m: setattr(m.graph.node[0], "doc_string", "Ada"), "'doc_string' in a node")
    refused(lambda m: setattr(m.graph.node[0].attribute[0], "doc_string", "x"), "'doc_string' in an attribute")
    refused(lambda m: setattr(m.graph.node[0], "name", "Ada " * 99), "texts or fields that no export")
    refused(lambda m: at(m, "nodes_hitrates").floats.__setitem__(0, 0.5), "hit rates")
    refused(lambda m: setattr(m.graph.node[0].attribute.add(), "name", "rows"), "'rows' in the trees")
    refused(lambda m: m.graph.node.add(op_type="Relu"), "holds 'Relu'")
    more = "texts or fields that no export"
    refused(lambda m: m.graph.node.add(op_type="Identity", input=["X"], output=["ada"]), more)
    refused(lambda m: m.graph.output.add(name="ada"), more)
    refused(lambda m: setattr(m.opset_import.add(), "domain", "Ada " * 20), more)
    shape = onnx.ModelProto.FromString(whole).graph.input[0].type.tensor_type.shape
    assert len(shape.dim) == 2
    refused(lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "denotation", "Ada " * 20), more)
    refused(lambda m: [m.opset_import.add(domain=str(i)) for i in range(99)], more)
    refused(lambda m: setattr(m, "model_version", 90000), "versions that there are not")
    refused(lambda m: at(m, "post_transform").strings.append(b"Ada"), "'strings' in an attribute")
    refused(lambda m: at(m, "nodes_values").ints.append(90000), "'ints' in an attribute")
    refused(lambda m: m.graph.node[0].attribute.add().CopyFrom(at(m, "nodes_values")), "an attribute twice")
    refused(lambda m: map_of(m).ints.append(90000), "other classes behind its trees")
    refused(lambda m: [at(m, name).ints.__setitem__(slice(None), [90000] * len(at(m, name).ints))
                       for name in ("nodes_treeids", "class_treeids")], "number its trees")  # fmt: skip
    refused(lambda m: at(m, "class_weights").floats.__setitem__(0, 0.123), "say something else", ic.SchemaError)
    leaf = [bytes(one) for one in at(onnx.ModelProto.FromString(whole), "nodes_modes").strings].index(b"LEAF")
    refused(lambda m: at(m, "nodes_values").floats.__setitem__(leaf, 3.0), "about its leaves that no tree says")
    refused(lambda m: at(m, "nodes_truenodeids").ints.__setitem__(0, 0), "reached in two ways|nobody can reach")
    refused(lambda m: at(m, "class_nodeids").ints.__setitem__(0, 0), "classes at them")
    refused(lambda m: at(m, "class_nodeids").ints.__setitem__(0, 99), "says twice|of no node")
    path.write_bytes(whole + b"\xfa\x3f\x03Ada")  # a field that nobody knows
    with pytest.raises(ic.IncompatibleError, match="texts or fields that no export"):
        load_model(path)
    path.write_bytes(b"Ada")
    with pytest.raises((InputError, ic.IncompatibleError)):
        load_model(path)


OUTPUT = (
    "<Output><OutputField name='{}' optype='continuous' dataType='double' feature='probability' value='0'/></Output>"
)
DOUBLE = '<ScoreDistribution value="0" recordCount="90000"/><ScoreDistribution value="0"'


def test_whatever_else_a_pmml_file_holds_is_refused(tmp_path):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS)
    path = write_pmml(model, tmp_path / "model.pmml", LABELS)
    text = path.read_text()
    field = "<DataField name='b' optype='continuous' dataType='float'/>"
    for old, new, match in [
        ("<PMML", "<!DOCTYPE x [<!ENTITY e 'Ada'>]><PMML", "a document type"),
        ("<Header/>", "<!-- Ada --><Header/>", "a comment"),
        ("<Header/>", "<?Ada earns?><Header/>", "an instruction"),
        ("<Header/>", "<Header><Extension name='Ada'/></Header>", "holds 'Extension'"),
        ("<Header/>", "<Header note='Ada'/>", "holds 'note' in Header"),
        ("<Header/>", "<Header>Ada</Header>", "holds text in Header"),
        ("<Header/>", "<Header/>Ada", "holds text in Header"),
        ("<Header/>", f"<Header><Application name='{'Ada ' * 99}'/></Header>", "says of 'name' in Application"),
        ("</PMML>", "<ModelVerification/></PMML>", "holds 'ModelVerification'"),
        (field, field.replace("/>", "><Value value='1'/></DataField>"), "lists values of column 'b'"),
        (field, field.replace("float", "string"), "it is no number"),
        (field, field * 2, "fields of the same name"),
        ("lessOrEqual", "equal", "does not compare one column"),
        ("<Node><True/>", "<Node score='1'><True/>", "nodes that predict nothing"),
        ("<Node><True/>", "<Node id='ada_earns_90000'><True/>", "says of 'id' in Node"),
        ("<Node><True/>", "<Node id='90000'><True/>", "numbers that do not count them"),
        ("<Node><True/>", "<Node id='1' defaultChild='7'><True/>", "numbers that do not count them"),
        ("<TreeModel ", f"<TreeModel modelName='{'Ada ' * 20}' ", "says of 'modelName'"),
        ("<TreeModel ", f"<TreeModel splitCharacteristic='{'Ada ' * 20}' ", "says of 'splitCharacteristic'"),
        ("<Header/>", "<Header/><Header/>", "has 2 times Header"),
        ("<Header/>", "<Header><Timestamp>Ada</Timestamp></Header>", "holds text in Timestamp"),
        ("<DataDictionary>", "<DataDictionary numberOfFields='90000'>", "names columns, classes or trees"),
        ("</MiningSchema>", "<MiningField name='Ada'/></MiningSchema>", "names columns, classes or trees"),
        ("</MiningSchema>", "</MiningSchema>" + OUTPUT.format("Ada") * 9, "has 9 times Output"),
        ("</MiningSchema>", "</MiningSchema>" + OUTPUT.format("Ada " * 30), "names columns, classes or trees"),
        ("</MiningSchema>", "</MiningSchema><Output/><Output/>", "has 2 times Output"),
        ("usageType='target'", "usageType='Ada'", "says of 'usageType'"),
        ("<PMML ", "<PMML xmlns:ada='http://ada.example/90000' ", "spaces of names"),
        (".5", ".500000000000000000000000090000", "says of 'value' in SimplePredicate"),
        ("<True/>", "<True><Value value='90000'/></True>", "holds 'Value' in True"),
        ("dataType='float'", "dataType='Ada'", "says of 'dataType'"),
        ('<ScoreDistribution value="0"', DOUBLE, "shares of the classes"),
        ('<Node score="0"', '<Node score="1"', "shares of the classes"),
        ("usageType='target'", "", "has 0 targets"),
        ("classification", "regression", "does not name the classes"),
    ]:
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ic.IncompatibleError, match=match):
            load_model(path)
    for nonsense in ("", "<PMML>", "Ada", "<?xml version='1.0'?><PMML><DataDictionary/><TreeModel/></PMML>"):
        path.write_text(nonsense)
        with pytest.raises((InputError, ic.IncompatibleError)):
            load_model(path)
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(InputError, match="cannot be read as PMML"):
        load_model(path)
    path.write_text(text)
    other = frame_of(LABELS).with_columns(y=pl.Series(LABELS + 1))
    with pytest.raises(ic.SchemaError, match="predicts other classes"):
        ic.audit(load_model(path), other, SOME, 5)
    with pytest.raises(ic.IncompatibleError, match="no repair"):
        ic.audit(load_model(path), frame_of(LABELS), SOME, 100).repair()


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "model.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ic.MissingDependencyError, match="needs the package onnx"):
        load_model(tmp_path / "model.onnx")


@pytest.mark.parametrize("suffix", WRITERS)
def test_leaves_of_one_person_are_leaves(suffix, tmp_path):
    rows = np.arange(12, dtype=np.float32)[:, None] * np.ones((1, 3), np.float32)
    labels = np.array([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1])
    model = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    assert 1 in model.tree_.n_node_samples[model.tree_.children_left < 0]
    frame = pl.DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)} | {"y": labels})
    found = load_model(WRITERS[suffix](model, tmp_path / f"model{suffix}", labels))
    assert ic.audit(found, frame, SOME, 2).at_risk.tolist() == ic.audit(model, frame, SOME, 2).at_risk.tolist()
