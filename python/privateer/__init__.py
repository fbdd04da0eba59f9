"""What does privacy cost this optimizer?

Simulates differentially private bandits and Bayesian optimization: sweeps of specs, results as tables, policies and
environments of your own beside the built-in ones, and the price of privacy.

>>> import privateer as pv
>>> spec = pv.Spec.load("study.toml").set("privacy.epsilon", [1, 4]).trials(20)
>>> results = pv.run(spec)
>>> results.summary().to_pandas()
"""

from ._native import VERSION as __version__
from ._native import LearnerProblem, Problem
from .accounting import Price, account, curate
from .asking import AskTell
from .audits import Audit, audit
from .costs import Best, Cost, best, cost
from .errors import (
    BudgetError,
    CheckError,
    DataError,
    DeviceError,
    FolderError,
    InUseError,
    PolicyError,
    PrivateerError,
    RunError,
    SpecError,
    UnknownNameError,
)
from .own import ContextualPolicy, ContextualProblem, Environment, Learner, Policy
from .results import Difference, Results
from .runs import run
from .session import Deployment, Session
from .spec import Spec
from .table import Table

__all__ = [
    "AskTell",
    "Audit",
    "Best",
    "BudgetError",
    "CheckError",
    "ContextualPolicy",
    "ContextualProblem",
    "Cost",
    "DataError",
    "Deployment",
    "DeviceError",
    "Difference",
    "Environment",
    "FolderError",
    "InUseError",
    "Learner",
    "LearnerProblem",
    "Policy",
    "PolicyError",
    "Price",
    "PrivateerError",
    "Problem",
    "Results",
    "RunError",
    "Session",
    "Spec",
    "SpecError",
    "Table",
    "UnknownNameError",
    "account",
    "audit",
    "best",
    "cost",
    "curate",
    "run",
]
