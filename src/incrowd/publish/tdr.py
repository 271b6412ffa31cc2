"""TDR: top-down refinement, which is TDS with suppression for attributes without a taxonomy.

As in TDS, every step refines one value for all rows, by the best Score = InfoGain / (AnonyLoss + 1). An attribute
without a taxonomy starts with all its values suppressed, ``*``; a step discloses one of them. Its InfoGain is taken
over the rows that are still suppressed: those with the value against the others.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for. Cost: as TDS; a disclosure
costs the rows that are still suppressed.
Use it in place of TDS when there are attributes without a taxonomy: rare values stay suppressed while frequent ones
are shown, where TDS shows all of them or none. Not without a class: nothing is beneficial then.

Where the paper is silent: (1) suppression is for every hierarchy that says no more than a value or ``*`` (`None` in a
schema, a taxonomy of height 1); deeper taxonomies are specialized node by node, as in TDS. (2) The last suppressed
value has no gain and is never disclosed: ``*`` can stand for one value. (3) A missing value is a value and can be
disclosed. (4) Ties, cuts, cells and further constraints as in TDS; of equal disclosures the first value in domain
order.

Reference: Fung, Wang, Yu: Anonymizing classification data for privacy preservation, IEEE Transactions on Knowledge
and Data Engineering 19 (2007).

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": ["cook"] * 3 + ["nurse"] * 3 + ["judge", "pilot"] * 2, "ill": list("yyynnnynyy")})
>>> schema = ic.Schema(quasi={"job": None}, sensitive="ill")
>>> release = ic.TDR(k=3).publish(people, schema)
>>> release.frame["job"].value_counts().sort("job").rows()
[('*', 4), ('cook', 3), ('nurse', 3)]
>>> ic.TDS(k=3).publish(people, schema).frame["job"].unique().to_list()
['*']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.publish.tds import TDS


@dataclass(frozen=True, kw_only=True)
class TDR(TDS):
    """Top-down refinement: specialization, and disclosure of single values where there is no taxonomy.

    Parameters are those of `TDS`.
    """

    name: ClassVar[str] = "tdr"
    paper: ClassVar[str] = "Fung et al. 2007"
    kind: ClassVar[str] = "single-dimensional, with suppression"
    needs_hierarchies: ClassVar[bool] = False
    discloses: ClassVar[bool] = True
