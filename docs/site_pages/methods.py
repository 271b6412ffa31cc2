"""A page with every method: its picture, and what its docstring says."""

import inspect
import warnings

import numpy as np
import polars as pl

import incrowd as ic
from incrowd import plots
from incrowd.publish import PUBLISHERS

PICTURED = {"nhaa": {"k": 3, "l": 1}, "iacc": {"delta_c": None, "delta_d": None, "k": 2}, "pais": {"k": 4, "L": 2}}
_SEARCH = {"generations": 5, "population": 10}


def people():
    """Return 48 made-up people: two numbers, and a class that both tell of."""
    rng = np.random.default_rng(7)
    age = rng.integers(20, 70, 48)
    pay = np.clip(age + rng.normal(0, 12, 48), 15, 85).round().astype(int)
    risk = np.where((age > 46) & (pay > 46) | (rng.random(48) < 0.1), "high", "low")
    return pl.DataFrame({"age": age, "pay": pay, "risk": risk})


def write(folder):
    """Draw every method, and write the page."""
    frame = people()
    lines = ["# How each method works", "", ABOUT, ""]
    for name, publisher in PUBLISHERS.items():
        draw(name, publisher, frame).savefig(folder / f"{name}.svg")
        module = inspect.getmodule(publisher).__name__
        lines += [f"## {publisher.__name__}", "", f"*{publisher.paper}*", "", f"![{name}](generated/{name}.svg)", ""]
        lines += ["```{eval-rst}", f".. automodule:: {module}", "   :noindex:", "   :no-members:", "```", ""]
    page = folder.parent / "methods.md"
    text = "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


ABOUT = (
    "Each picture shows the same 48 made-up people by age and pay; colours are classes, and boxes the cells that a "
    "release shows instead of the two numbers (k = 4 or so). Methods that divide columns among tables have no boxes: "
    "their picture says which columns stand together. Generated when the site is built."
)


def draw(name, publisher, frame):
    """Return a method's picture."""
    asked = PICTURED.get(name, {"k": 4}) | (_SEARCH if publisher.kind == "projections" else {})
    tree = ic.balanced(2) if name in ("iack", "iacc", "lattice") else ic.Intervals()
    schema = ic.Schema(quasi={"age": tree, "pay": tree}, sensitive="risk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = publisher(**asked).publish(frame, schema, seed=1, **({} if "generations" in asked else EXACT))
    drawn = plots.figure(1, title=publisher.__name__, width=4.6, height=3.6)
    (axes,) = drawn.axes
    for risk, colour in (("low", "#0072b2"), ("high", "#d55e00")):
        part = frame.filter(risk=risk)
        axes.plot(part["age"], part["pay"], "o", color=colour, markersize=3.5, label=risk)
    axes.set_xlabel("age")
    axes.set_ylabel("pay")
    if isinstance(release, ic.RowRelease):
        boxes(axes, release)
    else:
        told = "; ".join(" and ".join(part) for part in release.parts) or "the class alone"
        axes.set_title(f"projections: {told}", fontsize=8)
    return drawn


EXACT = {"domains": "exact"}


def boxes(axes, release):
    """Draw the cells of a release."""
    places = [hierarchy.leaves.to_numpy().astype(float) for hierarchy in release.hierarchies]
    used = np.unique(release.cell_of)
    for cell in used:
        (left, right), (low, high) = (
            (places[m][release.cell_lo[cell, m]], places[m][release.cell_hi[cell, m]]) for m in range(2)
        )
        across, up = [left - 0.4, right + 0.4], [low - 0.4, high + 0.4]
        axes.plot([across[0], across[1], across[1], across[0], across[0]], [up[0], up[0], up[1], up[1], up[0]],
                  color="#777777", linewidth=0.8, alpha=0.7)  # fmt: skip
