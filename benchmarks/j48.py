"""Weka's J48 trained on samples of an NSVDist release of Adult, beside the original data: Last et al. 2014, Table 4.

Hierarchies as in section 5.2: taxonomy trees for names, 5-ary trees for numbers. The paper took its trees from Mohammed
et al.; with INCROWD_DATA set, those of the top-down specialization papers of the same group are read from
hierarchies/adult_tds (relationship among them), otherwise the trees of `incrowd.datasets` stand in for them. With
5-ary trees for names as well, J48 loses about 1.6 points: alphabetical neighbours have little in common.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import incrowd as ic
from benchmarks.measure import complete_adult, complete_adult_test
from incrowd.datasets import adult_schema
from incrowd.datasets.adult import COLUMNS

CLASS = "income"
QUASI = [name for name in COLUMNS if name != CLASS]
OPTIONS = ["-C", "0.25", "-M", "2"]  # section 5.2: Weka's defaults

# Table 4 (W-J48, Adult, l = 1), in percent. The table is for this k only.
PAPER_K = 50
PAPER = {"nsvdist": 82.20, "original": 85.35, "majority": 74.69}


def main(arguments):
    options = parse(arguments)
    with weka(), tempfile.TemporaryDirectory() as folder:
        run(options, Path(folder))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench j48", description=__doc__.splitlines()[0])
    parser.add_argument("--k", default=str(PAPER_K), help="values of k, with commas between them (%(default)s)")
    parser.add_argument("--samples", type=int, default=10, help="samples per release, p in the paper (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the release, and of its first sample (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        options.ks = [int(k) for k in options.k.split(",")]
    except ValueError:
        parser.error(f"--k is {options.k!r}; use whole numbers, such as 50,100,200")
    if options.samples < 1:
        parser.error(f"--samples is {options.samples}; use 1 or more")
    return options


def run(options, folder):
    train, test = complete_adult().select(COLUMNS), complete_adult_test().select(COLUMNS)
    header = arff_header(train, test)
    judge = Judge(folder, header, test)
    print(f"J48 {' '.join(OPTIONS)}: {train.height} training rows, tested on {test.height} original test rows")
    print(f"{len(QUASI)} quasi-identifiers: {hierarchies()[1]}; accuracy in percent\n")
    print(f"{'':24} {'accuracy':>9} {'paper':>7} {'seconds':>8}")
    common = train[CLASS].mode()[0]
    line("majority", 100 * (test[CLASS] == common).mean(), PAPER["majority"])
    accuracy, seconds = judge.accuracy(train)
    line("original", accuracy, PAPER["original"], seconds)
    for k in options.ks:
        nsvdist(k, options, train, judge)


def hierarchies():
    """Trees of the data folder or of our own for names, 5-ary ones for numbers; and a word on them."""
    folder = os.environ.get("INCROWD_DATA")
    own = adult_schema().attributes
    quasi = {name: own[name].hierarchy if name in own else ic.balanced(5) for name in QUASI}
    quasi["age"], quasi["relationship"] = ic.balanced(5), None
    if not folder:
        return quasi, "our own taxonomies for names, 5-ary trees for numbers"
    trees = Path(folder) / "hierarchies" / "adult_tds"
    for path in trees.glob("*.csv"):
        quasi[path.stem] = ic.Taxonomy.read_csv(path)
    return quasi, "taxonomies of the data folder for names, 5-ary trees for numbers"


def nsvdist(k, options, train, judge):
    schema = ic.Schema(quasi=hierarchies()[0], sensitive=CLASS)
    start = time.perf_counter()
    release = ic.NSVDist(k=k, l=1).publish(train, schema, seed=options.seed)
    print(f"\nNSVDist k = {k}, l = 1: published in {time.perf_counter() - start:.1f} s")
    paper = PAPER["nsvdist"] if k == PAPER_K else None
    accuracies = []
    for number in range(1, options.samples + 1):
        sample = release.sample(seed=options.seed + number - 1).select(COLUMNS)
        accuracy, seconds = judge.accuracy(sample)
        accuracies.append(accuracy)
        line(f"sample {number}", accuracy, None, seconds)
    mean = statistics.mean(accuracies)
    line(f"mean of {len(accuracies)}", mean, paper)
    if len(accuracies) > 1:
        print(f"{'standard deviation':24} {statistics.stdev(accuracies):9.2f}")
    if paper is not None:
        print(f"mean at least {paper:.1f}: {'yes' if mean >= paper else 'no'} ({mean - paper:+.2f})")


def line(name, accuracy, paper=None, seconds=None):
    cells = [f"{accuracy:9.2f}", "      -" if paper is None else f"{paper:7.2f}"]
    cells.append("" if seconds is None else f"{seconds:8.1f}")
    print(f"{name:24} {' '.join(cells)}".rstrip(), flush=True)


class Judge:
    """Trains J48 on a frame and says how many test rows it gets right."""

    def __init__(self, folder, header, test, options=OPTIONS):
        self.folder, self.header, self.options = folder, header, options
        self.test = self.load(test)

    def accuracy(self, frame):
        from weka.classifiers import Classifier, Evaluation

        data = self.load(frame)
        start = time.perf_counter()
        tree = Classifier(classname="weka.classifiers.trees.J48", options=self.options)
        tree.build_classifier(data)
        evaluation = Evaluation(data)
        evaluation.test_model(tree, self.test)
        return evaluation.percent_correct, time.perf_counter() - start

    def load(self, frame):
        from weka.core.converters import Loader

        path = self.folder / "rows.arff"
        rows = frame.write_csv(include_header=False, quote_char="'", quote_style="non_numeric")
        path.write_text(self.header + rows)
        data = Loader(classname="weka.core.converters.ArffLoader").load_file(str(path))
        data.class_is_last()
        return data


def arff_header(*frames):
    """The attributes: numbers as numbers, names with the values of all frames."""
    lines = ["@relation adult"]
    for name, kind in frames[0].schema.items():
        if kind.is_numeric():
            lines.append(f"@attribute {name} numeric")
        else:
            values = sorted({value for frame in frames for value in frame[name]})
            lines.append(f"@attribute {name} {{{','.join(repr(value) for value in values)}}}")
    return "\n".join([*lines, "@data", ""])


@contextmanager
def weka():
    """Weka while it runs, or the end with a word about what to install."""
    advice = "This benchmark needs Weka: pip install 'incrowd[weka]' and Java 17+"
    try:
        import jpype
        from weka.core import jvm
    except ImportError:
        sys.exit(advice)
    try:
        jvm.start(packages=False, logging_level="WARNING")
    except (jpype.JVMNotFoundException, jpype.JVMNotSupportedException, RuntimeError):
        sys.exit(advice)
    try:
        yield
    finally:
        jvm.stop()
