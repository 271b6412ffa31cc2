"""What a group of rows must satisfy: k, l of four kinds, t, alpha, LKC, beta, delta, width: small frozen objects."""

from incrowd.privacy.constraint import Constraint, exact
from incrowd.privacy.constraints import (
    LKC,
    Alpha,
    EachColumn,
    KAnonymity,
    LDiversity,
    Privacy,
    TCloseness,
)
from incrowd.privacy.likeness import BetaLikeness, DeltaDisclosure
from incrowd.privacy.width import Values, Width

__all__ = [
    "LKC",
    "Alpha",
    "BetaLikeness",
    "Constraint",
    "DeltaDisclosure",
    "EachColumn",
    "KAnonymity",
    "LDiversity",
    "Privacy",
    "TCloseness",
    "Values",
    "Width",
    "exact",
]
