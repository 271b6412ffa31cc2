"""Planted in manifests: guarantees, parameters, counts, domains, free text."""

from __future__ import annotations

import random
from typing import Any

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.told import told_secrets
from checks.gauntlet.plants import plant

TEXT = "row 7 is Alice"


def _entry(f: Forger, rng: random.Random, *keys: str) -> dict[str, Any] | None:
    """Return a quasi-identifier whose entry has these keys, none of them empty."""
    entries = [e for e in f.manifest["quasi"] if all(e.get(key) for key in keys)] if f.is_rows else []
    return rng.choice(entries) if entries else None


@plant(sure=False)
def guarantee_removed(f: Forger, rng: random.Random) -> bool:
    """One of the guarantees that the parameters ask for is gone."""
    f.manifest["guarantees"].pop(rng.randrange(len(f.manifest["guarantees"])))
    return True


@plant(sure=True)
def k_raised(f: Forger, rng: random.Random) -> bool:
    """More is promised than the table has rows, in parameters and guarantees alike."""
    for guarantee in f.manifest["guarantees"]:
        for name in ("k", "K"):
            if name in guarantee:
                guarantee[name] = f.manifest["rows"]["input"] + rng.randrange(1, 5)
                f.manifest["method"]["parameters"]["k"] = guarantee[name]
    return True


@plant(sure=True)
def guarantee_lowered(f: Forger, rng: random.Random) -> bool:
    """Less is promised than the parameters ask for."""
    lower = {
        "k": -1,
        "l": -0.05,
        "t": 0.05,
        "alpha": 0.02,
        "K": -1,
        "C": 0.05,
        "beta": 0.05,
        "delta": 0.05,
        "width": -0.05,
    }
    places = [(g, name) for g in f.manifest["guarantees"] for name in lower if name in g]
    places = [(g, name) for g, name in places if name not in ("k", "K") or g[name] > 1]
    places = [(g, name) for g, name in places if name != "C" or g[name] < 0.95]
    if not places or (f.manifest["method"]["name"] == "iacc"):
        return False
    guarantee, name = rng.choice(places)
    step = lower[name]
    whole = guarantee.get("l_kind") in ("distinct", "recursive")
    guarantee[name] = guarantee[name] - 1 if whole and name == "l" else round(guarantee[name] + step, 6)
    return True


@plant(sure=True)
def guarantee_of_unknown_kind(f: Forger, rng: random.Random) -> bool:
    """A promise that nobody knows."""
    changed = rng.choice(
        ({"kind": "epsilon", "epsilon": 1}, {"kind": "l", "l": 2, "l_kind": TEXT}, {"kind": "k", "k": 2, "note": TEXT})
    )
    f.manifest["guarantees"].append(changed)
    return True


@plant(sure=True)
def guarantee_twice(f: Forger, rng: random.Random) -> bool:
    """A promise is said twice."""
    f.manifest["guarantees"].append(dict(rng.choice(f.manifest["guarantees"])))
    return True


@plant(sure=True)
def parameter_added(f: Forger, rng: random.Random) -> bool:
    """A parameter that the method does not have."""
    f.manifest["method"]["parameters"][rng.choice(("note", "seed", "row 7"))] = rng.choice((TEXT, 7, [1, 2]))
    return True


@plant(sure=True)
def parameter_of_another_type(f: Forger, rng: random.Random) -> bool:
    """Text where a parameter is a number or one of a few words."""
    name = rng.choice(list(f.manifest["method"]["parameters"]))
    f.manifest["method"]["parameters"][name] = TEXT
    return True


@plant(sure=True)
def parameter_changed(f: Forger, rng: random.Random) -> bool:
    """Parameters that ask for more than is promised."""
    parameters = f.manifest["method"]["parameters"]
    names = [
        name
        for name in ("k", "l", "alpha", "t", "beta", "delta", "width")
        if isinstance(parameters.get(name), int | float)
    ]
    names = [name for name in names if f.manifest["method"]["name"] != "iacc" or name != "k"]
    names = [
        name for name in names if f.manifest["method"]["name"] != "pais" or name != "l" or parameters.get("C", 1) == 1
    ]
    if not names:
        return False
    name = rng.choice(names)
    parameters[name] = parameters[name] + 1 if name in ("k", "l", "width") else parameters[name] / 2
    return True


@plant(sure=True, honest=True)
def another_method(f: Forger, rng: random.Random) -> bool:
    """The release claims to come from a method that nobody knows."""
    del rng
    f.manifest["method"]["name"] = "alice"
    return True


@plant(sure=True)
def key_added(f: Forger, rng: random.Random) -> bool:
    """A key that is not of the format, somewhere in the manifest."""
    places: list[Any] = [f.manifest, f.manifest["method"], f.manifest["rows"], f.manifest["missing"]]
    places += f.manifest["quasi"] if f.is_rows else f.manifest["columns"]
    places += told_secrets(f.manifest) if f.is_rows else []
    rng.choice(places)["note"] = TEXT
    return True


@plant(sure=True)
def keys_in_another_order(f: Forger, rng: random.Random) -> bool:
    """The keys of the manifest say something by their order."""
    places: list[Any] = [f.manifest, f.manifest["rows"], f.manifest["missing"], f.manifest["method"]]
    places += f.manifest["quasi"] if f.is_rows else f.manifest["columns"]
    chosen = rng.choice(places)
    items = list(chosen.items())
    if len(items) < 2:
        return False
    chosen.clear()
    chosen.update(items[1:] + items[:1])
    return True


@plant(sure=True)
def text_in_dropped(f: Forger, rng: random.Random) -> bool:
    """A dropped column that the table never had."""
    del rng
    f.manifest["dropped"].append(TEXT)
    return True


@plant(sure=True)
def text_in_tokens(f: Forger, rng: random.Random) -> bool:
    """Tokens that are no short words: a letter, a list, or one told twice."""
    tokens = f.manifest["missing"]["tokens"]
    tokens += rng.choice(([TEXT * 9], [f"row {number} is {TEXT}" for number in range(40)], ["?", "?"]))
    return True


@plant(sure=True)
def text_in_codes(f: Forger, rng: random.Random) -> bool:
    """Codes that are no short words, of a column that is not coded, or none at all."""
    codes = rng.choice(({}, {TEXT: ["9"]}, {f.manifest["dropped"][0] if f.manifest["dropped"] else TEXT: ["99"]}))
    f.manifest["missing"]["codes"] = codes
    return True


@plant(sure=True)
def text_in_version(f: Forger, rng: random.Random) -> bool:
    """A version with a message."""
    f.manifest[rng.choice(("incrowd", "polars"))] += f" {TEXT}"
    return True


@plant(sure=True, honest=True)
def another_polars(f: Forger, rng: random.Random) -> bool:
    """Bytes that cannot be compared, because another polars wrote them."""
    del rng
    f.manifest["polars"] = "1.0.0"
    return True


@plant(sure=True)
def rows_counted_wrongly(f: Forger, rng: random.Random) -> bool:
    """Row counts that do not add up, or are not those of the original."""
    rows = f.manifest["rows"]
    name = rng.choice(("missing", "suppressed"))
    rows[name] += 1
    if rng.random() < 0.5:
        rows["input"] += 1
    return True


@plant(sure=True)
def policy_changed(f: Forger, rng: random.Random) -> bool:
    """Another policy for missing values than the one that was followed."""
    del rng
    missing = f.manifest["missing"]
    if missing["policy"] == "drop" and f.manifest["rows"]["missing"] == 0:
        return False
    has_gaps = f.is_rows and any(e.get("missing") or None in e.get("leaves", []) for e in f.manifest["quasi"])
    if missing["policy"] == "value" and not has_gaps:
        return False
    missing["policy"] = "value" if missing["policy"] == "drop" else "drop"
    return True


@plant(sure=True)
def recoding_flipped(f: Forger, rng: random.Random) -> bool:
    """Groups are said to be none, or rows to be groups."""
    del rng
    if not f.is_rows:
        return False
    other = {"homogeneous": "non-homogeneous", "non-homogeneous": "homogeneous"}
    f.manifest["recoding"] = other[f.manifest["recoding"]]
    return True


@plant(sure=False)
def domains_flipped(f: Forger, rng: random.Random) -> bool:
    """Exact domains are called joined, or the other way."""
    del rng
    if not f.is_rows:
        return False
    f.manifest["domains"] = "exact" if f.manifest["domains"] == "joined" else "joined"
    return True


@plant(sure=True)
def counts_changed(f: Forger, rng: random.Random) -> bool:
    """A count that the originals cannot have been rounded to."""
    entry = _entry(f, rng, "counts")
    if entry is None:
        return False
    place = rng.randrange(len(entry["counts"]))
    entry["counts"][place] += rng.choice((2 * f.k, 1)) if f.k > 1 else 1
    return True


@plant(sure=True)
def counts_shortened(f: Forger, rng: random.Random) -> bool:
    """A count is missing."""
    entry = _entry(f, rng, "counts")
    if entry is None:
        return False
    entry["counts"].pop()
    return True


@plant(sure=True)
def sensitive_counts_changed(f: Forger, rng: random.Random) -> bool:
    """A count of a sensitive value that cannot be."""
    told = [about for about in told_secrets(f.manifest) if "counts" in about] if f.is_rows else []
    if not told:
        return False
    about = rng.choice(told) if len(told) > 1 else told[0]
    about["counts"][rng.randrange(len(about["counts"]))] += 2 * f.k
    return True


@plant(sure=True)
def cut_at_a_value(f: Forger, rng: random.Random) -> bool:
    """A cut point that is a value of the table."""
    entry = _entry(f, rng, "cuts")
    if entry is None:
        return False
    name = entry["name"]
    ends = [value for end in (".lo", ".hi") for value in f.table[f"{name}{end}"] if value is not None]
    place = rng.randrange(len(entry["cuts"]))
    value = rng.choice(ends)
    entry["cuts"][place] = value.isoformat() if entry["type"] == "date" else value
    return True


@plant(sure=True)
def cut_added(f: Forger, rng: random.Random) -> bool:
    """A cut between the smallest value and the next, so that fewer than k rows are below it."""
    entry = _entry(f, rng, "counts")
    if entry is None or entry.get("cuts") is None or entry["type"] == "date" or f.k < 2:
        return False
    name = entry["name"]
    own = next(d for d in f.domains["quasi"] if d["name"] == name) if f.domains else None
    if own is None:
        return False
    values = [(v, n) for v, n in zip(own["hierarchy"]["values"], own["counts"], strict=True) if v is not None and n]
    if len(values) < 2 or values[0][1] >= f.k or abs(values[0][0]) > 2**50 or values[0][0] + 0.25 >= values[1][0]:
        return False
    entry["cuts"].insert(0, values[0][0] + 0.25)
    entry["counts"].insert(0, 0)
    return entry["cuts"] == sorted(entry["cuts"])


@plant(sure=True)
def rare_value_listed(f: Forger, rng: random.Random) -> bool:
    """A leaf that stood for several rare values is called one of them."""
    entry = _entry(f, rng, "rest")
    if entry is None or f.domains is None:
        return False
    own = next(d for d in f.domains["quasi"] if d["name"] == entry["name"])
    place = rng.choice(entry["rest"])
    leaves = own["hierarchy"].get("leaves") or own["hierarchy"]["values"]
    members = [(leaf, n) for leaf, at, n in zip(leaves, own["leaf_of"], own["counts"], strict=True) if at == place]
    rare = [leaf for leaf, n in members if n < f.k and leaf is not None]
    if not rare:
        return False
    entry["leaves"][place] = rng.choice(rare)
    if rng.random() < 0.5:
        entry["rest"].remove(place)
    return True


@plant(sure=True)
def text_in_leaves(f: Forger, rng: random.Random) -> bool:
    """A leaf that no row has, with a message."""
    entry = _entry(f, rng, "leaves")
    if entry is None or f.domains is None:
        return False
    own = next(d for d in f.domains["quasi"] if d["name"] == entry["name"])
    entry["leaves"].append(TEXT)
    entry["counts"].append(0)
    if "levels" in entry:
        for level in entry["levels"]:
            level.append(TEXT if level is not entry["levels"][-1] else level[-1])
    del own
    return True


@plant(sure=True)
def node_renamed(f: Forger, rng: random.Random) -> bool:
    """A node has another name, in the manifest and in all labels."""
    entry = _entry(f, rng, "levels")
    if entry is None:
        return False
    height = rng.randrange(len(entry["levels"]))
    old = rng.choice(entry["levels"][height])
    entry["levels"] = [[TEXT if name == old else name for name in level] for level in entry["levels"]]
    labels = f.table[entry["name"]].to_list()
    f.set_cells(entry["name"], [row for row, label in enumerate(labels) if label == old], TEXT)
    f.sort()
    return True


@plant(sure=True)
def type_changed(f: Forger, rng: random.Random) -> bool:
    """A column is said to be of another type."""
    places: list[Any] = list(f.manifest["quasi"]) if f.is_rows else [f.manifest["class"]]
    places += told_secrets(f.manifest) if f.is_rows else []
    chosen = rng.choice(places)
    chosen["type"] = rng.choice([kind for kind in ("int", "float", "str", "date", "bool") if kind != chosen["type"]])
    return True


@plant(sure=True)
def text_as_target(f: Forger, rng: random.Random) -> bool:
    """A target that is no column."""
    del rng
    if f.is_rows:
        f.manifest["target"] = TEXT
    else:
        f.manifest["class"]["role"] = TEXT
    return True


@plant(sure=True)
def digits_in_a_cut(f: Forger, rng: random.Random) -> bool:
    """A cut that parts the same values, with more digits than it needs."""
    entry = _entry(f, rng, "cuts")
    if entry is None or entry["type"] != "float" or f.domains is None:
        return False
    own = next(d for d in f.domains["quasi"] if d["name"] == entry["name"])
    values = [v for v, n in zip(own["hierarchy"]["values"], own["counts"], strict=True) if v is not None and n]
    place = rng.randrange(len(entry["cuts"]))
    cut = entry["cuts"][place]
    above = min(value for value in values if value > cut)
    changed = cut + (above - cut) * rng.uniform(0.1, 0.9)
    entry["cuts"][place] = changed
    return bool(cut < changed < above)


@plant(sure=True)
def rest_said_again(f: Forger, rng: random.Random) -> bool:
    """A joined leaf, whose name no label shows, says "(rest)" once more."""
    entry = _entry(f, rng, "rest", "levels")
    if entry is None or entry["type"] != "str":
        return False
    entry["leaves"][rng.choice(entry["rest"])] += " (rest)"
    return len(set(entry["leaves"])) == len(entry["leaves"])


@plant(sure=True)
def group_called_suppressed(f: Forger, rng: random.Random) -> bool:
    """A group is gone, and its rows are counted as suppressed."""
    if not f.is_rows:
        return False
    names = [f"{entry['name']}{end}" for entry in f.manifest["quasi"] for end in (".lo", ".hi")]
    keys = f.table.select(names).rows()
    gone = rng.choice(keys)
    left = [row for row, key in enumerate(keys) if key != gone]
    if not left:
        return False
    f.manifest["rows"]["suppressed"] += len(keys) - len(left)
    f.manifest["rows"]["released"] = len(left)
    f.take(left)
    return True


@plant(sure=True)
def tiny_number_as_parameter(f: Forger, rng: random.Random) -> bool:
    """Digits that change nothing, in a number far too small to matter."""
    parameters = f.manifest["method"]["parameters"]
    names = [name for name in ("c", "t", "delta_c", "delta_d", "suppress", "mutation", "confidence")
             if name in parameters]  # fmt: skip
    if not names:
        return False
    parameters[rng.choice(names)] = float(f"{rng.randrange(10**15)}1e-300")
    return True
