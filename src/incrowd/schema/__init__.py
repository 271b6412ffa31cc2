"""What each column of a table is: identifier, quasi-identifier, sensitive or other."""

from incrowd.schema.schema import Attribute, Missing, Role, Schema

__all__ = ["Attribute", "Missing", "Role", "Schema"]
