"""Time of the support vectors on Adult, beside scikit-learn's LibSVM, and on how many test rows both agree."""

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.measure import complete_adult, complete_adult_test, side_by_side
from incrowd.evaluate.features import Encoding, names_as_numbers
from incrowd.evaluate.support_vectors import margins

ASKED = 4000


def main(arguments):
    train, test = complete_adult(), complete_adult_test().head(ASKED)
    labels = train["income"].rank("dense").to_numpy().astype(np.int64) - 1
    features = [frame.drop("income", "fnlwgt") for frame in (train, test)]
    encoding = Encoding.of(features[0])
    coded = [encoding.encode(frame) for frame in features]
    numbers = names_as_numbers(*coded)
    scaled = [(part.X - coded[0].X.mean(axis=0)) / coded[0].X.std(axis=0) for part in coded]
    print(f"{'rows':>6} {'columns':>7} {'ours s':>7} {'LibSVM s':>8} {'ratio':>6}  same class")
    for n in [2000, 8000, *([30_162] if "all" in arguments else [])]:
        for learn, ask in (numbers, scaled):
            taken, same = compare(learn[:n], labels[:n], ask)
            ratio = taken["libsvm"] / taken["ours"]
            print(
                f"{n:6d} {learn.shape[1]:7d} {taken['ours']:7.2f} {taken['libsvm']:8.2f} {ratio:6.1f}  {same:.4f}",
                flush=True,
            )


def compare(learn, labels, ask):
    gamma, found = 1 / learn.shape[1], {}

    def ours():
        found["ours"] = margins(learn, labels, ask, gamma=gamma).argmax(axis=1)

    def libsvm():
        found["libsvm"] = SVC(gamma=gamma, cache_size=1000).fit(learn, labels).predict(ask)

    with threadpool_limits(1):
        taken = side_by_side({"ours": ours, "libsvm": libsvm}, repeats=1 if len(learn) > 10_000 else 3)
    return taken, (found["ours"] == found["libsvm"]).mean()
