"""The audit command: models and rule tables in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.cli.show import Screen
from incrowd.errors import ParameterError

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.audit.rules import RuleAudit


def run(
    screen: Screen,
    model: Path,
    data: str | None,
    schema: Path | None,
    k: int,
    *,
    public: str | None,
    people: int | None,
    rounding: float,
    class_public: bool,
    trust: bool,
    repair: Path | None,
    as_json: bool,
) -> bool:
    """Audit a model file or a table of rules, print what was found, and return whether k holds."""
    from incrowd import io

    if repair is not None and repair.exists():
        fact = f"{repair} exists already"
        raise ParameterError(fact, "choose another name, or remove it first")
    is_rules = io.find_format(model) is not None
    found: Audit | RuleAudit
    if is_rules:
        found = _audit_rules(model, data, public, people, k, rounding)
    else:
        found = _audit_model(screen, model, data, schema, k, class_public=class_public, trust=trust)
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))  # noqa: T201
    else:
        screen.say(str(found))
    if repair is not None and not found.ok:
        _write(found.repair(), repair, is_rules=is_rules)
        keeps = getattr(found, "mends", True)  # of rules it is not always known
        told = f"keeps k = {k}" if keeps else f"lacks what was found; it is not known whether it keeps k = {k}"
        screen.say(f"Wrote {repair}, which {told}.")
    return bool(found.ok)


def _audit_model(
    screen: Screen, model: Path, data: str | None, schema: Path | None, k: int, *, class_public: bool, trust: bool
) -> Audit:
    from incrowd import io
    from incrowd.audit import audit
    from incrowd.audit.files import load_model
    from incrowd.schema import Schema

    if data is None or schema is None:
        fact = "A model is audited with the table that it was fitted with, and a schema that tells what is public"
        raise ParameterError(fact, "incrowd audit model.joblib data.csv -s data.toml -k 30")
    with screen.progress() as progress:
        loaded = load_model(model, trust=trust)
        roles = Schema.from_toml(schema)
        frame = io.read(data, types=roles.types, missing_tokens=roles.missing_tokens, progress=progress)
        progress("auditing", 0, 1)
        return audit(loaded, frame, roles, k, class_public=class_public)


def _audit_rules(
    model: Path, data: str | None, public: str | None, people: int | None, k: int, rounding: float
) -> RuleAudit:
    from incrowd import io
    from incrowd.audit.rules import audit_rules

    if public is None:
        fact = "Rules are audited with the items that somebody may know of a person"
        raise ParameterError(fact, "incrowd audit rules.csv -k 30 --public cherries,candles --people 1000")
    items = [item.strip() for item in public.split(",") if item.strip()]
    baskets = None if data is None else io.read(data)
    return audit_rules(io.read(str(model)), public=items, k=k, n=people, data=baskets, rounding=rounding, separator="|")


def _write(mended: Any, path: Path, *, is_rules: bool) -> None:  # noqa: ANN401
    from incrowd import io
    from incrowd.audit.files import save_model

    if is_rules:
        io.write(mended, path)
    else:
        save_model(mended, path)
