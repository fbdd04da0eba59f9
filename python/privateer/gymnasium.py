"""Cells of a spec as environments of Gymnasium: bandits whose rewards a privacy mechanism releases."""

import os
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _native
from .spec import Spec


class BanditVectorEnv(VectorEnv):
    """Several trials of one cell, each an environment.

    An action is a point of the domain. Reward and observation are the released reward, in its unit; `info["regret"]`,
    float64[num_envs], is for the study alone. Episodes last the horizon of the spec; after it the next trials begin, so
    episode k of environment i is trial `k * num_envs + i` of the recorded run: the same function and the same noise.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, spec: Spec, num_envs: int, *, cell: int = 0, data: "str | os.PathLike[str] | None" = None) -> None:
        self.num_envs, self._cell, self._data = num_envs, cell, None if data is None else Path(data)
        self._sweep = spec._native()
        self._episode = 0
        self._trials = self._begin()
        self.single_action_space = gym.spaces.Discrete(self._trials.n_points)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._over = False

    def _begin(self) -> _native.Simulators:
        first = self._episode * self.num_envs
        return _native.Simulators(self._sweep, self._cell, list(range(first, first + self.num_envs)), self._data)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begins the first episode again; the seed is that of the spec."""
        super().reset(seed=seed, options=options)
        self._episode, self._over = 0, False
        self._trials = self._begin()
        return np.zeros((self.num_envs, 1)), {}

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Plays a point in every environment; returns observations, rewards, terminations, truncations and info."""
        never = np.zeros(self.num_envs, dtype=bool)
        if self._over:
            self._episode += 1
            self._trials, self._over = self._begin(), False
            return np.zeros((self.num_envs, 1)), np.zeros(self.num_envs), never, never.copy(), {}
        released, regret = self._trials.step(np.asarray(actions, dtype=np.int64))
        self._over = self._trials.is_over
        return released[:, None], released, never, np.full(self.num_envs, self._over), {"regret": regret}


def vector_env(spec: Spec, num_envs: int, **keywords: Any) -> BanditVectorEnv:
    """Returns a vector environment of a cell of a spec; see `BanditVectorEnv`."""
    return BanditVectorEnv(spec, num_envs, **keywords)
