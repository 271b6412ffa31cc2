"""Every built-in attack against releases with l > 1 of the eight tables: whether anybody gets above what is promised.

l is about the class, k = 50, l as in the NSVDist paper's second setting, over ranges that begin and end anywhere where
the method takes them. Of tables with more than MOST rows some are drawn. The classifier attack is given the tenth of
the rows that was not published. One line per release: each attack's outcome with what it reached beside its baseline;
`broken` is what the attack itself says. ``--json FILE`` keeps results, and a run that was stopped goes on from there.
docs/results/promises.txt is this program's output.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

import incrowd as ic
from incrowd.datasets import load, schema
from incrowd.experiments import nsvdist

K, MOST = 50, 3000
ATTACKS = ("linking", "matching", "reconstruction", "minimality", "classifier")
METHODS = {
    "best_cuts": (lambda l: ic.BestCuts(k=K, l=l), "free"),
    "infogain_mondrian": (lambda l: ic.InfoGainMondrian(k=K, l=l), "free"),
    "mondrian": (lambda l: ic.Mondrian(k=K, l=l), "free"),
    "mondrian, cut=loss": (lambda l: ic.Mondrian(k=K, l=l, cut="loss"), "free"),
    "tight_groups": (lambda l: ic.TightGroups(k=K, l=l), "free"),
    "kactus": (lambda l: ic.KACTUS(k=K, l=l), "free"),
    "tree": (lambda l: ic.TreeAnonymizer(k=K, l=l), "alphabetical"),
    "nsvdist (hardened)": (lambda l: ic.NSVDist(k=K, l=l), "free"),
}
WIDTH = 27


def one(name, method):
    """Publish, attack, and return what came out as plain data."""
    make, order = METHODS[method]
    frame = load(name)
    rows = np.random.default_rng(5).permutation(frame.height)
    published = min(frame.height * 9 // 10, MOST)
    inside, outside = (frame[np.sort(part).tolist()] for part in (rows[:published], rows[published:][:MOST]))
    asked = schema(name, "nsvdist", order=order)
    start = time.process_time()
    try:
        release = make(nsvdist.higher_l(name)).publish(inside, asked, seed=1, domains="exact")
    except ic.IncrowdError as refused:
        return {"table": name, "method": method, "refused": refused.fact}
    report = ic.attack(release, inside, attacks=list(ATTACKS), non_members=outside)
    findings = report.to_dict()["findings"]
    return {"table": name, "method": method, "seconds": time.process_time() - start, "findings": findings}


def share(score):
    """What a score reached, in percent of its claims, and of how many people."""
    if score is None or score["precision"] is None:
        return "no claim"
    return f"{score['precision']:.1%} of {score['claimed']}"


def cell(finding):
    """What an attack found, in a few words."""
    if finding is None or finding["outcome"] == "not applicable":
        return "-"
    if finding["attack"] in ("linking", "matching"):
        return "BROKEN" if finding["outcome"] == "promise broken" else finding["outcome"]
    mark = " BROKEN" if finding["outcome"] == "promise broken" else ""
    return share(finding["success"]) + mark


def line(found):
    """Write one line of the table."""
    head = f"{found['table']:14} {found['method']:19} {1 / nsvdist.higher_l(found['table']):6.1%}"
    if "refused" in found:
        return f"{head}  refused"
    by_name = {f["attack"]: f for f in found["findings"]}
    return head + "".join(f"{cell(by_name.get(attack)):>{WIDTH}}" for attack in ATTACKS)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench promises", description=__doc__.splitlines()[0])
    parser.add_argument("--method", action="append", choices=list(METHODS), help="repeatable; all without")
    parser.add_argument("--json", type=Path, help="keep results here, one per line, and go on from there")
    parser.add_argument("--finished", action="store_true", help="print what is kept, and compute nothing")
    parser.add_argument("table", nargs="*", default=list(nsvdist.TABLES))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ic.PrivacyWarning)
    kept = {}
    if options.json and options.json.exists():
        for text in options.json.read_text(encoding="utf-8").splitlines():
            found = json.loads(text)
            kept[found["table"], found["method"]] = found
    print("./dev bench promises   (generated; do not edit)\n")
    print(f"right claims of each attack beside 1/l; tables of more than {MOST} rows: that many drawn\n")
    print(f"{'table':14} {'method':19} {'1/l':>6}" + "".join(f"{name:>{WIDTH}}" for name in ATTACKS))
    n = n_broken = 0
    for key in [(name, method) for name in options.table for method in options.method or METHODS]:
        if key not in kept and not options.finished:
            kept[key] = one(*key)
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(kept[key]) + "\n")
        if key in kept:
            print(line(kept[key]), flush=True)
            outcomes = [f["outcome"] for f in kept[key].get("findings", [])]
            n += sum(outcome != "not applicable" for outcome in outcomes)
            n_broken += outcomes.count("promise broken")
    print(f"\n{n} attacks; the promise was broken in {n_broken}")
