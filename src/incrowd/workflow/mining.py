"""Association rules of a release, and how far they are from those of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.workflow.sources import Source, read_source, settings, working

if TYPE_CHECKING:
    import polars as pl

    from incrowd.release import Release
    from incrowd.rules.release_rules import RuleComparison
    from incrowd.runs import Run

_MANY = 20  # rules that are printed


@dataclass(frozen=True)
class Mined:
    """Rules of a release.

    Attributes
    ----------
    rules
        With the column names of mlxtend.
    comparison
        What became of the original's rules, if the original was given.
    output
        The file that the rules were written to.
    """

    rules: pl.DataFrame
    comparison: RuleComparison | None = None
    output: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "rules": self.rules.to_dicts(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "output": self.output,
        }

    def lines(self) -> list[dict[str, str]]:
        """Return the first rules as text, a row each."""
        return [
            {
                "if": ", ".join(row["antecedents"]),
                "then": ", ".join(row["consequents"]),
                "support": f"{row['support']:.3f}",
                "confidence": f"{row['confidence']:.3f}",
            }
            for row in self.rules.head(_MANY).to_dicts()
        ]


def rules(
    release: Release | str | Path,
    original: Source = None,
    *,
    output: str | Path | None = None,
    min_support: float = 0.05,
    min_confidence: float = 0.6,
    max_len: int | None = 3,
    columns: Sequence[str] | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> Mined:
    """Mine a release by expected supports; with the original, compare with its rules at the same thresholds.

    Parameters
    ----------
    output
        A file for the rules, which `audit` reads: items of a side are separated by ``|``.
    min_support, min_confidence, max_len, columns, cuts
        See `incrowd.rules_from_release`.
    reading
        How the original is to be read.
    """
    from incrowd.attacks import load
    from incrowd.rules.anonymous import anonymous_rules
    from incrowd.rules.release_rules import compare_rules, in_ranges, rules_from_release

    thresholds: dict[str, Any] = {"min_support": min_support, "min_confidence": min_confidence, "max_len": max_len}
    with working(run) as work:
        loaded: Any = load(release)
        found = rules_from_release(loaded, **thresholds, columns=columns, cuts=cuts, progress=work)
        comparison = None
        if original is not None:
            how = replace(settings(reading, None), types=dict(loaded.types))
            frame = read_source(original, how, run=work)
            asked = [name for name in frame.columns if name in (columns or loaded.frame.columns)]
            table = in_ranges(frame.select(asked), cuts or {})
            theirs = anonymous_rules(table, public=[], k=1, **thresholds, progress=work).rules
            comparison = compare_rules(found, theirs)
        if output is not None:
            import polars as pl

            io.write(found.with_columns(pl.col("antecedents", "consequents").list.join("|")), output)
    return Mined(found, comparison, None if output is None else str(output))
