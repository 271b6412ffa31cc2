"""Workflow: what every front end calls - the command line, a web page, a cluster job.

Plain functions from sources (a file, a database URL with a query, or a frame) to results: frozen dataclasses with
``to_dict``. Nothing here prints; everything takes one `Run`, which reports progress, can be
cancelled, and limits the number of workers. Each function loads the rooms that it needs when it is called.

>>> import polars as pl
>>> people = pl.DataFrame({"age": [30, 31, 50, 51], "ill": ["no", "yes", "no", "yes"]})
>>> [column["role"] for column in propose(people, sensitive="ill").to_dict()["columns"]]
['quasi', 'sensitive']
"""

from incrowd.runs import Progress, Run
from incrowd.workflow.evaluating import compare, evaluate
from incrowd.workflow.explaining import explain
from incrowd.workflow.hierarchies import HierarchyReport, hierarchy
from incrowd.workflow.judging import attack, audit, risk, save_repair, verify
from incrowd.workflow.looking import Crowds, Look, crowds, look
from incrowd.workflow.mining import Mined, rules
from incrowd.workflow.proposing import Proposal, propose
from incrowd.workflow.publishing import Publication, expect, publish
from incrowd.workflow.repairing import Kept, kept_by_folds, save_refit
from incrowd.workflow.reporting import report
from incrowd.workflow.revising import Recipe, carry_over, recipes, revise
from incrowd.workflow.tradeoffs import TradeOff, trade_off
from incrowd.workflow.transactions import baskets

__all__ = [
    "Crowds",
    "HierarchyReport",
    "Kept",
    "Look",
    "Mined",
    "Progress",
    "Proposal",
    "Publication",
    "Recipe",
    "Run",
    "TradeOff",
    "attack",
    "audit",
    "baskets",
    "carry_over",
    "compare",
    "crowds",
    "evaluate",
    "expect",
    "explain",
    "hierarchy",
    "kept_by_folds",
    "look",
    "propose",
    "publish",
    "recipes",
    "report",
    "revise",
    "risk",
    "rules",
    "save_refit",
    "save_repair",
    "trade_off",
    "verify",
]
