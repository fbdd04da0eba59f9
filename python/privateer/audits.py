"""Audits: attacks on stated privacy losses."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _native
from .errors import SpecError
from .spec import Spec
from .table import Table

PROBLEM = {
    "name": "audit",
    "rounds": 20,
    "trials": 2,
    "environment": {
        "kind": "rkhs",
        "bound": 2.0,
        "domain": {"kind": "grid", "points": 25},
        "kernel": {"kind": "matern", "nu": 2.5, "lengthscale": 0.2},
        "noise": {"kind": "uniform", "bound": 1.0},
    },
}
"""The problem on which a class alone is audited."""


@dataclass(frozen=True)
class Audit:
    """The results of an audit. An attack that fails to refute a claim proves nothing."""

    findings: Table
    """One row for each attack: name, claimed `epsilon` and `delta`, the lower bound `at_least`, and the verdict."""
    passed_over: dict[str, str]
    """Labels of cells that were not attacked, with the reasons."""
    confidence: float
    """Probability that no true claim is refuted."""

    @property
    def refuted(self) -> list[str]:
        """Names of refuted claims."""
        verdicts = zip(self.findings["name"], self.findings["verdict"], strict=True)
        return [name for name, verdict in verdicts if verdict == "refuted"]

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()


def audit(
    what: "Spec | Callable[..., Any]",
    *,
    epsilon: float = 1.0,
    mechanism: str = "laplace",
    samples: int = 20_000,
    seed: int = 1,
    confidence: float = 0.99,
    backend: str = "cpu",
    data: "str | os.PathLike[str] | None" = None,
) -> Audit:
    """Attacks every cell that claims privacy, through the real engine.

    Parameters
    ----------
    what
        A spec, or the class of a policy, which is then audited on a small problem with `mechanism` at `epsilon`.
    samples
        Number of replays of each side of a neighbouring pair.
    confidence
        Probability that none of the true claims is refuted.
    """
    if not isinstance(what, Spec):
        what = Spec.load(PROBLEM).privacy(mechanism, epsilon=epsilon).policy(what)
    folder = None if data is None else Path(data)
    if not 100 <= samples <= 100_000_000:
        raise SpecError(f"samples is {samples}, expected 100 to 100000000")
    text = _native.audit(what._native(), backend=backend, samples=samples, seed=seed, confidence=confidence, data=folder)
    found = json.loads(text)
    columns = ("name", "epsilon", "delta", "at_least", "samples", "verdict", "pair", "score")
    rows = found["findings"]
    table = Table({name: [row[name] for row in rows] for name in columns})
    return Audit(table, {cell["name"]: cell["reason"] for cell in found["passed_over"]}, found["confidence"])
