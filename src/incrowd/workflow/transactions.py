"""Baskets: published, checked and compared for any front end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from incrowd import io
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_source, working

if TYPE_CHECKING:
    from incrowd.baskets import BasketRelease
    from incrowd.rules.release_rules import RuleComparison


def baskets(
    data: Source,
    output: str | Path,
    *,
    k: int,
    m: int = 2,
    tree: str | Path | None = None,
    basket: str | None = None,
    item: str | None = None,
    search: str = "apriori",
    rules: float | None = None,
    replace: bool = False,
    reading: io.Reading | None = None,
    run: Run | None = None,
) -> tuple[BasketRelease, RuleComparison | None]:
    """Publish baskets into a folder; see `incrowd.KmBaskets`.

    Parameters
    ----------
    tree
        A file with the tree of items: a level table, items first.
    rules
        The least support of rules that are mined from both, and compared.
    """
    from incrowd.baskets import KmBaskets
    from incrowd.hierarchy import Taxonomy

    if not replace:
        io.refuse_existing(Path(output))
    with working(run) as work:
        hierarchy = None if tree is None else Taxonomy.read_csv(tree)
        method = KmBaskets(k=k, m=m, hierarchy=hierarchy, search=search)  # type: ignore[arg-type]
        frame = read_source(data, reading, run=work)
        release = method.publish(frame, basket=basket, item=item, progress=work)
        compared = None
        if rules is not None:
            compared = release.compare_rules(frame, basket=basket, item=item, min_support=rules)
        release.save(output, replace=replace)
        return release, compared
