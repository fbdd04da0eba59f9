"""What privacy costs on a table, a function, arms or the problem of a spec: sentences, their numbers and a picture."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from .accounting import heard, stated
from .errors import DataError
from .frames import is_frame, stored
from .results import COLOURS, Results
from .table import Table


@dataclass(frozen=True)
class Cost:
    """The answer of `cost`."""

    sentence: str
    """The answer in at most two sentences, those of the page."""
    budgets: Table
    """What each epsilon or number of users keeps, one row each: `epsilon`, `users`, `policy`, `share` of what can be learnt with its
    95 % interval `low` and `high`, `regret` and `regret_without_privacy`. NaN where the policy without privacy does not beat guessing."""
    enough: float | None
    """The least epsilon from which on at least 80 % is kept, interpolated; None if no epsilon asked about keeps it."""
    enough_users: float | None
    """The same for the number of users, where several were asked about."""
    notes: list[str]
    """What was understood of the files, and what it costs in life."""
    spec: Path
    """The commented spec to go on from; its points lie beside it, unless it is of another spec."""
    report: Path
    """The page."""

    @property
    def results(self) -> Results:
        """The results of the run."""
        return Results(self.report.parent)

    def plot(self, ax: Any = None, **keywords: Any) -> Any:
        """Plots the share of what can be learnt against epsilon or the number of users, with its 95 % interval.

        Draws on new axes of matplotlib or on `ax`, and returns them.
        The numbers are those of the page: 0 is guessing, 100 its reference without privacy.
        """
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        key = "epsilon" if len(set(self.budgets["users"])) == 1 else "users"
        at, share, low, high = (np.asarray(self.budgets[name], dtype=float) for name in (key, "share", "low", "high"))
        ends = 100 * np.abs([share - low, high - share])
        for height in (0, 100):
            ax.axhline(height, color="#8A8A8A", linewidth=1)
        ax.errorbar(at, 100 * share, ends, **{"color": COLOURS[0], "marker": "o", "capsize": 3, **keywords})
        ax.set_xscale("log")
        ax.set_xticks(at, [f"{tick:g}" for tick in at])
        ax.minorticks_off()
        ax.set_xlabel(key)
        ax.set_ylabel("% of what can be learnt")
        return ax

    def __str__(self) -> str:
        return self.sentence


def cost(
    data: Any = None,
    value: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    function: str | None = None,
    arms: Any = None,
    spec: os.PathLike[str] | str | None = None,
    range: tuple[float, float] | None = None,
    trust: str = "local",
    epsilon: Sequence[float] | None = None,
    **more: Any,
) -> Cost:
    """Says what privacy costs on one problem, as `privateer cost` does.

    Parameters
    ----------
    data
        A table of points: the path of a CSV or Parquet file, or a data frame of pandas, polars or pyarrow.
    value
        The column of `data` that is the reward.
    inputs
        The input columns; by default the columns of numbers, at most ten.
    function, arms, spec
        In place of `data`: a known function such as `branin`, a table whose columns are arms, or a spec whose environment is the
        problem.
    range
        The range to which rewards are clipped, known beforehand; by default that of the table.
    trust
        Who sees raw rewards: `local` (nobody) or `joint` (a server).
    epsilon
        Privacy budgets, ascending; by default 0.5 to 8.
    **more
        Other options of the command: `points` (1000, or fewer where these may take a minute or more), `rounds` (users; a list asks how many
        keep 80 %), `trials`, `pilots`, `seed`, `out`, `threads`, `dimension`, `best` (True: the policies that do best in place of the usual ones).

    Returns
    -------
    Cost
        Sentence, numbers and picture.

    Raises
    ------
    DataError, SpecError
        If the table or a number is bad.
    """
    lists = {name: np.atleast_1d(item).tolist() for name, item in {"epsilon": epsilon, "rounds": more.pop("rounds", None)}.items() if item is not None}
    problem = _problem("cost", data, value=value, inputs=inputs, function=function, arms=arms, spec=spec, range=range, trust=trust)
    said = heard(_native.cost({"rounds": [1000], "trials": 20, "pilots": 10, "seed": 1, **problem, **lists, **stated(**more)}))
    numbers = said["budgets"]

    def column(of: Any) -> Any:
        return np.array([np.nan if of(budget) is None else of(budget) for budget in numbers], dtype=float)

    budgets = Table(
        {
            "epsilon": column(lambda budget: budget["epsilon"]),
            "users": column(lambda budget: budget["users"]),
            "policy": np.array([budget["policy"] for budget in numbers], dtype=object),
            "share": column(lambda budget: budget["share"]),
            "low": column(lambda budget: (budget["interval"] or (None,))[0]),
            "high": column(lambda budget: (budget["interval"] or (None,))[-1]),
            "regret": column(lambda budget: budget["regret"]),
            "regret_without_privacy": column(lambda budget: budget["regret_without_privacy"]),
        }
    )
    return Cost(said["sentence"], budgets, said["enough"], said["enough_users"], said["notes"], Path(said["spec"]), Path(said["report"]))


@dataclass(frozen=True)
class Best:
    """The answer of `best`."""

    sentence: str
    """The answer."""
    policy: str
    """The best policy."""
    policies: Table
    """At most ten policies, each at its best factor in pilot trials: `policy`, `factor`, `is_fresh`, `trials`, mean cumulative `regret`, and
    `more`: how much more it loses than the policy that was best in pilot trials, with its 95 % interval `low` and `high`, over fresh
    trials; `delta` of its claim, 0 for a pure one. NaN where there is no number."""
    left_out: dict[str, str]
    """Policies that do not fit the problem or the trust model, with the reason."""
    notes: list[str]
    """What was understood of the files, and what it costs in life."""
    spec: Path
    """The spec of the fresh trials."""
    report: Path
    """The page of the fresh trials."""

    @property
    def results(self) -> Results:
        """The results of the fresh trials."""
        return Results(self.report.parent)

    def __str__(self) -> str:
        return self.sentence


def best(
    data: Any = None,
    value: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    function: str | None = None,
    arms: Any = None,
    spec: os.PathLike[str] | str | None = None,
    range: tuple[float, float] | None = None,
    trust: str = "local",
    epsilon: float = 1.0,
    rounds: int = 1000,
    **more: Any,
) -> Best:
    """Says which policy is best on one problem under a trust model, and by how much, as `privateer best` does.

    Parameters
    ----------
    data, value, inputs, function, arms, spec, range
        The problem, as in `cost`.
    trust
        Who sees raw rewards: `none` (everybody), `local` (nobody), `shuffle` (nobody, and a shuffler mixes randomised answers of a batch)
        or `joint` (a server).
    epsilon
        The privacy budget, > 0.
    rounds
        Number of users, from 10.
    **more
        Other options of the command: `points` (1000, or fewer where these may take a minute or more), `trials`, `pilots`, `seed`, `out`, `threads`, `dimension`.

    Returns
    -------
    Best
        Sentence and numbers.

    Raises
    ------
    DataError, SpecError
        If the table or a number is bad.
    """
    problem = _problem("best", data, value=value, inputs=inputs, function=function, arms=arms, spec=spec, range=range, trust=trust)
    asked = {"trials": 50, "pilots": 64, "seed": 1, **problem, "epsilon": [epsilon], "rounds": [rounds]}
    said = heard(_native.best({**asked, **stated(**more)}))
    rows = said["policies"]

    def column(of: Any) -> Any:
        return np.array([np.nan if of(row) is None else of(row) for row in rows], dtype=float)

    policies = Table(
        {
            "policy": np.array([row["policy"] for row in rows], dtype=object),
            "factor": column(lambda row: row["factor"]),
            "is_fresh": np.array([row["is_fresh"] for row in rows]),
            "trials": np.array([row["trials"] for row in rows]),
            "regret": column(lambda row: row["regret"]),
            "delta": column(lambda row: row["delta"]),
            "more": column(lambda row: row["more"]),
            "low": column(lambda row: (row["interval"] or (None,))[0]),
            "high": column(lambda row: (row["interval"] or (None,))[-1]),
        }
    )
    return Best(said["sentence"], said["policy"], policies, dict(said["left_out"]), said["notes"], Path(said["spec"]), Path(said["report"]))


def _problem(name: str, data: Any, *, arms: Any, function: Any, spec: Any, **more: Any) -> dict[str, Any]:
    """Returns the options that state one problem."""
    if sum(item is not None for item in (data, function, arms, spec)) != 1:
        raise DataError(f"`{name}` takes one of `data`, `function`, `arms` and `spec`")
    data, arms = (stored(item) if item is not None and is_frame(item) else item for item in (data, arms))
    return dict(stated(table=data, arms=arms, function=function, spec=spec, **more))
