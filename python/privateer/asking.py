"""Trials whose rewards your own program measures."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import DataError, SpecError
from .spec import Spec


class AskTell:
    """Some trials of one cell of a spec, driven by `ask` and `tell`.

    The cell's mechanism releases each told reward, with the noise of the trial's own stream, before the cell's policy sees it.
    The noise can be repeated: this simulates a mechanism and protects nobody. Rewards of real people belong in a `Session`.

    Parameters
    ----------
    spec
        The spec; its environment states the points and what is publicly known of the rewards.
    trials
        Number of trials, or a range of their numbers. Trial k draws what trial k of a run draws.
    cell
        Which cell of the spec, from 0.
    data
        Folder of the data files; by default the spec's own, where it has them, then `$PRIVATEER_DATA`, else the working folder.

    Examples
    --------
    >>> trials = pv.AskTell(spec, 32)
    >>> while not trials.is_over:
    ...     points = trials.ask()
    ...     released = trials.tell(measured(points))
    """

    def __init__(
        self,
        spec: Spec,
        trials: int | range = 1,
        *,
        cell: int = 0,
        data: "str | os.PathLike[str] | None" = None,
    ) -> None:
        numbers = range(trials) if isinstance(trials, int) else trials
        if not isinstance(numbers, range) or numbers.step != 1 or len(numbers) == 0 or numbers.start < 0:
            raise SpecError(f"trials is {trials!r}, expected a number >= 1 or a range of numbers >= 0 in steps of 1")
        self._trials = _native.AskedTrials(spec._native(), numbered(cell), numbers.start, len(numbers), None if data is None else Path(data))
        self._n_trials = len(numbers)

    @staticmethod
    def restore(spec: Spec, state: str, *, cell: int = 0, data: "str | os.PathLike[str] | None" = None) -> "AskTell":
        """Restores trials from what `save` returned, with the spec and cell that they began with."""
        made = AskTell.__new__(AskTell)
        made._trials = _native.AskedTrials.restore(spec._native(), numbered(cell), state, None if data is None else Path(data))
        made._n_trials = len(made._trials.recommend())
        return made

    def ask(self) -> NDArray[np.int64]:
        """Returns the point that each trial observes next, int64[trials]; the same points until their rewards are told."""
        return self._trials.ask()

    def tell(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Takes the reward that was measured at each trial's point.

        Parameters
        ----------
        rewards
            float64[trials], in the unit of the reward; finite.

        Returns
        -------
        The released rewards, float64[trials]; NaN where the mechanism releases sums over users.
        """
        rewards = np.asarray(rewards)
        if rewards.shape != (self._n_trials,) or not np.can_cast(rewards.dtype, np.float64):
            raise DataError(f"rewards is an array {rewards.dtype}{list(rewards.shape)}, expected float64[{self._n_trials}]")
        return self._trials.tell(np.ascontiguousarray(rewards, dtype=np.float64))

    def recommend(self) -> NDArray[np.int64]:
        """Returns the point that each trial's policy would recommend, int64[trials]; -1 before its first reward."""
        return self._trials.recommend()

    def allowed(self, trial: int) -> NDArray[np.int64] | None:
        """Returns the points that the trial at this place may play in the asked round, ascending; None where all may be."""
        return self._trials.allowed(trial)

    def point(self, point: int) -> NDArray[np.float64] | None:
        """Returns the coordinates of a point, float64[dimension]; None where it has none."""
        return self._trials.point(point)

    def save(self) -> str:
        """Returns the state, a JSON text that is as secret as the rewards; `restore` continues from it."""
        return self._trials.save()

    @property
    def ledger(self) -> dict[str, Any]:
        """The ledger of one reward, as simulated."""
        return json.loads(self._trials.ledger)

    @property
    def n_points(self) -> int:
        """Number of points of the domain."""
        return self._trials.n_points

    @property
    def round(self) -> int:
        """The round of the asked points, from 1."""
        return self._trials.round

    @property
    def is_over(self) -> bool:
        """Whether all rounds are told."""
        return self._trials.is_over


def numbered(cell: int) -> int:
    """Returns the number of a cell, which counts from 0."""
    if cell < 0:
        raise SpecError(f"cell is {cell}, expected a number >= 0")
    return cell
