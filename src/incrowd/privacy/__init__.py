"""What a group of rows must satisfy: k, l of four kinds, t, alpha, LKC, as small frozen objects."""

from incrowd.privacy.constraints import (
    LKC,
    Alpha,
    Constraint,
    EachColumn,
    KAnonymity,
    LDiversity,
    Privacy,
    TCloseness,
    exact,
)

__all__ = ["LKC", "Alpha", "Constraint", "EachColumn", "KAnonymity", "LDiversity", "Privacy", "TCloseness", "exact"]
