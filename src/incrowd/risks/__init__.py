"""Risks of a table as it is: how many people of it somebody could find again, in the table and in its population."""

from incrowd.risks.sample import SampleRisk, risk

__all__ = ["SampleRisk", "risk"]
