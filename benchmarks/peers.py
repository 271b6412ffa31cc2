"""What other tools offer, and what does it here: every line of ours is run, then docs/peers.md is written.

What the others offer is typed by hand from their documentation and not checked by this command. A line that begins
with ``$`` is a command, any other Python.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import incrowd as ic
from incrowd.losses import LOSSES
from incrowd.publish import Publisher

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "peers.md"
PEERS = ("ARX", "sdcMicro", "Amnesia", "anjana", "pycanon")

# What, which of PEERS offer it, what does it here (None: nothing does).
ROWS = [
    ("k-anonymity, by generalization and suppression", "ARX, Amnesia, anjana", "ic.Lattice(k=4)"),
    ("k-anonymity, by suppressing single cells", "sdcMicro", None),
    ("optimal full-domain recoding, a limit of suppressed rows", "ARX", "ic.Lattice(k=4, suppress=0.05)"),
    ("local recoding by repeated steps", "ARX", "ic.Lattice(k=4, local=True)"),
    ("a search that stops after some time", "ARX", "ic.Lattice(k=4, seconds=2)"),
    ("to look at the nodes of the lattice", "ARX, Amnesia", "ic.Lattice(k=4).plot(frame, schema)"),
    ("optimal cut points by DM or CM, with a bound", "", "ic.KOptimal(k=4, loss='cm')"),
    ("a genetic search", "ARX", "ic.Iyengar(k=4, loss='lm')"),
    ("multi-dimensional groups", "", "ic.Mondrian(k=4)"),
    ("l-diversity: distinct, entropy, recursive", "ARX, sdcMicro, anjana, pycanon",
     "ic.Mondrian(k=4, l=2, l_kind='distinct')"),
    ("(alpha, k)-anonymity", "anjana, pycanon", "ic.Mondrian(k=4, alpha=0.7)"),
    ("t-closeness: equal and ordered distance", "ARX, anjana, pycanon", "ic.Mondrian(k=4, t=0.6)"),
    ("t-closeness: distance in a hierarchy", "ARX", "ic.Mondrian(k=4, t=0.6, tree=True).publish(frame, of_tree)"),
    ("beta-likeness, basic and enhanced", "ARX, anjana, pycanon",
     "ic.Mondrian(k=4, beta=2)"),
    ("delta-disclosure", "ARX, anjana, pycanon",
     "ic.Mondrian(k=4, delta=3)"),
    ("k-map, delta-presence, measured", "ARX",
     "ic.risk(frame, schema, population=frame)"),
    ("k-map, delta-presence, kept by a method", "ARX",
     "ic.Mondrian(k=2).publish(frame, schema, within=ic.Population(people=frame, k_map=5, presence=(0, 1)))"),
    ("differential privacy", "ARX", None),
    ("LKC-privacy", "", "ic.PAIS(k=4, L=2)"),
    ("k^m-anonymity of baskets", "Amnesia",
     "ic.KmBaskets(k=2, m=2).publish(baskets, basket='tid', item='item')"),
    ("several sensitive columns, each with its own limits", "ARX", "ic.Mondrian(k=3, l={'disease': 1.2})"),
    ("microaggregation (means in place of numbers)", "ARX, sdcMicro",
     "ic.Microaggregation(k=4).publish(frame, schema).means(frame)"),
    ("noise, PRAM, swapping of values", "sdcMicro", None),
    ("sampling of rows", "ARX, sdcMicro", None),
    ("concrete rows drawn from generalized ones", "", "release.sample(seed=1)"),
    ("to read ARX's hierarchies", "ARX, Amnesia, anjana", "ic.Taxonomy.read_csv('jobs.csv')"),
    ("hierarchies made from the data", "ARX, Amnesia", "$ incrowd hierarchy people.csv age"),
    ("to recode new rows alike", "ARX", "recoded.transform(frame)"),
    ("the table of what became what", "", "recoded.mapping()"),
    ("how a column is published", "", "$ incrowd explain release --column age"),
    ("losses: LM, entropy, DM, average group, CM", "ARX, pycanon",
     "[release.loss(name, original=frame) for name in LOSSES]"),
    ("accuracy of classifiers, before and after", "ARX",
     "$ incrowd evaluate release --test people.csv --original people.csv"),
    ("to check a table that is anonymous already", "ARX, sdcMicro, pycanon",
     "$ incrowd verify people.csv --quasi sex --sensitive disease -k 10"),
    ("a check by code that shares nothing with the algorithm", "", "release.verify(frame)"),
    ("columns that make people unique", "ARX, sdcMicro",
     "$ incrowd init people.csv -o people.toml --sensitive disease"),
    ("prosecutor, journalist and marketer risk; population uniqueness", "ARX, sdcMicro",
     "ic.risk(frame, schema, sampling_fraction=0.1)"),
    ("special uniques (SUDA)", "sdcMicro",
     "ic.risk(frame, schema).specials"),
    ("attacks that are carried out", "", "$ incrowd attack release --original people.csv"),
    ("a report", "ARX, sdcMicro, pycanon", "$ incrowd report release -o report.html"),
    ("pages to click", "ARX, sdcMicro, Amnesia", "$ incrowd studio --help"),
    ("models and rules that are k-anonymous", "", "ic.KAnonymousTreeClassifier(k=4)"),
]  # fmt: skip


def page():
    """The page, from the rows above."""
    heads = ["what", *PEERS, "here"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for what, offered, here in ROWS:
        marks = ["yes" if peer in offered.split(", ") else "" for peer in PEERS]
        ours = "not yet" if here is None else f"`{here.removeprefix('$ ')}`"
        lines.append("| " + " | ".join([what, *marks, ours.replace("|", "\\|")]) + " |")
    return f"""# What other tools offer, and what does it here

Made by `./dev bench peers`, which runs every line of the last column on `people.csv`. What the others offer was read in
their documentation, and no command checks it. An empty cell says that it was
not found there, *not yet* that incrowd lacks it. Methods are published with,
as in `ic.Lattice(k=4).publish(frame, schema)`.

{chr(10).join(lines)}

Generated: do not edit.
"""


def run():
    """Run every line of ours in a folder of its own; a failure names it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (ROOT / "docs").glob("*.csv"):
            shutil.copy(path, folder)
        os.chdir(folder)
        frame = pl.read_csv("people.csv")
        quasi = {"age": ic.Intervals(), "zip": ic.prefixes(), "sex": None, "job": ic.balanced(2)}
        schema = ic.Schema(quasi=quasi, sensitive="disease", identifiers=["name"])
        two = ic.Schema(quasi={"age": ic.Intervals()}, sensitive=["disease", "job"], rest="drop")
        tree = ic.Schema(quasi=quasi, sensitive={"disease": ic.balanced(2)}, rest="drop")
        release = ic.Mondrian(k=4).publish(frame, schema, seed=1)
        release.save("release")
        recoded = ic.TDS(k=4).publish(frame, schema, seed=1)
        baskets = pl.DataFrame({"tid": [1, 1, 2, 2, 3, 3, 4, 4], "item": list("ababacac")})
        names = {
            "baskets": baskets,
            "ic": ic,
            "LOSSES": LOSSES,
            "frame": frame,
            "schema": schema,
            "two": two,
            "of_tree": tree,
            "release": release,
            "recoded": recoded,
        }
        for what, _, here in ROWS:
            if here is None:
                continue
            print(f"{what}: {here}", flush=True)
            if here.startswith("$ "):
                command = [sys.executable, "-m", "incrowd", *here.split()[2:]]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    sys.exit(f"{here}\n{done.stdout}{done.stderr}")
            else:
                made = eval(here, names)
                if isinstance(made, Publisher):
                    made.publish(frame, two if isinstance(made.get_params().get("l"), dict) else schema, seed=1)


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="./dev bench peers", description="Run every line of ours, then write docs/peers.md."
    )
    parser.parse_args(arguments)
    run()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
