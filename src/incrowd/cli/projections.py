"""What people are told about projections that were just published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.release import ProjectionRelease


def told(release: ProjectionRelease) -> dict[str, Any]:
    """Say which projections there are, which columns are not in them, and what the promises leave open."""
    manifest = release.manifest
    roles = {column["name"]: column["role"] for column in manifest["columns"]}
    n = len(release.parts)
    return {
        "form": ", but only the class," if release.is_empty else f" as {n} projection{'s' if n > 1 else ''}",
        "parts": release.parts,
        "left_out": manifest["left_out"],
        "title": f"what each projection shows beside {release.target!r}",
        "columns": [
            {
                "projection": number,
                "quasi-identifiers": ", ".join(name for name in part if roles[name] == "quasi"),
                "other columns": ", ".join(name for name in part if roles[name] == "other"),
            }
            for number, part in enumerate(release.parts, start=1)
            if part
        ],
        "notes": _notes(release),
    }


def _notes(release: ProjectionRelease) -> list[str]:
    manifest, levels, notes = release.manifest, release.levels or {}, []
    asked = manifest["method"]["parameters"].get("generations")
    done = levels.get("generations")
    if done is not None and asked is not None and done < asked:
        notes.append(
            f"the search ended after {done} of {asked} generations; this is the best that it found until then."
        )
    if release.is_empty:
        notes.append(
            "no allowed partition tells more than the class alone, so no other column is released; use a smaller k or"
            " l, --set suppress=0.1, or fewer quasi-identifiers."
        )
        return notes
    if manifest["left_out"]:
        notes.append(f"not published: {', '.join(manifest['left_out'])}.")
    lost = [f"{column['name']} ({column['suppressed']} rows)" for column in manifest["columns"] if column["suppressed"]]
    if lost:
        notes.append(f"rare values were made missing: {', '.join(lost)}.")
    if len(release.parts) > 1:
        notes.append(
            "k of two joined projections counts pairs of rows, not people: in one projection at least"
            f" {levels.get('rows_fitting_min')} rows fit somebody known by quasi-identifiers, and"
            f" {levels.get('rows_with_class_min')} somebody whose class is known too."
        )
        if any(guarantee["kind"] == "l" for guarantee in manifest["guarantees"]):
            notes.append("l holds in each projection; somebody who weighs all of them together may believe more.")
    diversity = levels.get("l_frequency")
    if diversity and not any(guarantee["kind"] == "l" for guarantee in manifest["guarantees"]):
        share = 1 / diversity
        notes.append(
            f"k alone does not hide {release.target!r}: in one group {share:.0%} of the rows share a value. See -l."
        )
    return notes
