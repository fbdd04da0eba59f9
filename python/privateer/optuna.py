"""A session as a sampler of Optuna: the suggested parameters are rows of a table, and the policy learns released values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution

from .session import Session


class SessionSampler(optuna.samplers.BaseSampler):
    """Asks a session for the parameters of each trial, and tells it the value, which gets exact noise before the policy sees it.

    The study stores the released value: `best_value` and `trial.value` are noisy, and `session.best()` names the best row.
    Optuna also stores what an objective reports or sets as an attribute, so an objective may do neither with raw data.

    Trials run one after another: a session waits for the reward of the row that it asked for.

    Parameters
    ----------
    session
        The session; it maximises, so the study must too.
    points
        The values of each parameter, by row of the session's table. An objective suggests each parameter by
        `trial.suggest_categorical(name, sampler.choices(name))`.
    """

    def __init__(self, session: Session, points: Mapping[str, Sequence[float]]) -> None:
        self.session = session
        self.points = {name: [float(value) for value in values] for name, values in points.items()}
        self._rows: dict[int, int] = {}
        self._last: tuple[int, float] | None = None

    def choices(self, name: str) -> list[float]:
        """Returns the distinct values of a parameter, ascending."""
        return sorted(set(self.points[name]))

    def infer_relative_search_space(self, study: optuna.Study, trial: Any) -> dict[str, BaseDistribution]:
        """Returns the distributions of all parameters."""
        if study.direction is not optuna.study.StudyDirection.MAXIMIZE:
            raise ValueError("the study minimises, and a session maximises: create it with direction='maximize'")
        return {name: CategoricalDistribution(self.choices(name)) for name in self.points}

    def sample_relative(self, study: optuna.Study, trial: Any, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Returns the parameters of the row that the session asks for."""
        if self._last and study.trials[self._last[0]].value != self._last[1]:
            raise RuntimeError("this version of Optuna stores raw outcomes: delete the study, and install the version that privateer names")
        row = self._rows[trial.number] = self.session.ask().row
        return {name: values[row] for name, values in self.points.items()}

    def sample_independent(self, study: optuna.Study, trial: Any, param_name: str, param_distribution: BaseDistribution) -> Any:
        """Refuses parameters that the session does not know."""
        raise ValueError(f"`{param_name}` is no column of the session's points, which are {list(self.points)}")

    def after_trial(self, study: optuna.Study, trial: Any, state: Any, values: Sequence[float] | None) -> None:
        """Tells the session the value of a complete trial, and leaves the released one to the study.

        After a failed trial the same row is asked for again.
        """
        row = self._rows.pop(trial.number, None)
        if values is None:
            return
        raw, stored = values[0], cast(list[float], values)
        # The study stores this list once the sampler is done with it, also where the session refuses the value.
        stored[:] = [-math.inf]
        if trial.intermediate_values:
            raise ValueError("the objective reported intermediate values, which Optuna stores raw: delete the study, and report none")
        if row is not None and state == optuna.trial.TrialState.COMPLETE:
            released = self.session.tell(row, raw)["released"]
            # A mechanism that releases sums has no value for one trial.
            stored[:] = [-math.inf if released is None else released]
            self._last = trial.number, stored[0]
