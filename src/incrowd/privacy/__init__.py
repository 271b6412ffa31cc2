"""What a group of rows must satisfy: k, l of four kinds, t, alpha, as small frozen objects."""

from incrowd.privacy.constraints import Alpha, Constraint, KAnonymity, LDiversity, Privacy, TCloseness, exact

__all__ = ["Alpha", "Constraint", "KAnonymity", "LDiversity", "Privacy", "TCloseness", "exact"]
