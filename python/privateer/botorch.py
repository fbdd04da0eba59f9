"""BoTorch's Gaussian process and acquisition functions as a policy of a run."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray

from ._native import Problem

LOCK = threading.Lock()


@contextmanager
def torch_alone() -> Iterator[None]:
    """Takes PyTorch's random generator, which all threads share, and one thread: small models are faster and repeatable with it."""
    with LOCK, torch.random.fork_rng(devices=[]):
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


class AcquisitionPolicy:
    """BoTorch's `SingleTaskGP` on released rewards, and the point of the largest acquisition.

    Each trial has a model of its own. Its `train_Yvar` is the variance of a released reward around the mean reward: that of
    the mechanism plus that of the observation noise, where this is known. Kernel and mean are BoTorch's defaults; their
    hyperparameters are fitted to the released rewards alone. For another acquisition function, override `make_acquisition`
    in a subclass.

    Parameters
    ----------
    acquisition
        `log-ei`, the log expected improvement over the largest posterior mean of a played point, or `ucb`.
    beta
        Exploration factor of `ucb`: mean + sqrt(beta) standard deviations, at least 0.
    initial
        Rounds that play uniformly random points first, at least 1.
    refit
        Hyperparameters are fitted again after this many rounds, at least 1; in between, only the data grow.
    """

    name = "botorch"
    # The models of two trials share nothing, and random numbers come from the trial's own generator.
    independent = True

    def __init__(self, acquisition: str = "log-ei", beta: float = 4.0, initial: int = 4, refit: int = 5) -> None:
        if acquisition not in ("log-ei", "ucb"):
            raise ValueError(f"`acquisition` is {acquisition!r}, expected 'log-ei' or 'ucb'")
        if not beta >= 0 or initial < 1 or refit < 1:
            raise ValueError(f"beta = {beta}, initial = {initial}, refit = {refit}: expected beta >= 0 and both counts >= 1")
        self.acquisition, self.beta, self.initial, self.refit = acquisition, beta, initial, refit

    def start(self, problem: Problem, trials: NDArray[np.int64], rngs: list[np.random.Generator]) -> None:
        """Begins the trials; a domain without coordinates is refused."""
        if problem.points is None:
            raise ValueError("the domain has no coordinates\nhint: use an environment whose points have them, as a grid")
        self.variance = problem.mechanism_variance + np.nan_to_num(problem.noise_variance, nan=0.0)
        if not np.isfinite(self.variance).all():
            raise ValueError("the mechanism's variance is infinite, and `train_Yvar` must be finite")
        low, high = problem.points.min(axis=0), problem.points.max(axis=0)
        self.points = torch.as_tensor((problem.points - low) / np.where(high > low, high - low, 1.0), dtype=torch.float64)
        self.rngs = rngs
        self.played: list[list[int]] = [[] for _ in rngs]
        self.released: list[list[float]] = [[] for _ in rngs]
        self.models: list[SingleTaskGP | None] = [None for _ in rngs]

    def make_acquisition(self, model: SingleTaskGP, best: float, t: int) -> AcquisitionFunction:
        """Returns the acquisition function of a round; it is evaluated at points of the domain, scaled to the unit cube.

        Parameters
        ----------
        model
            The model of the trial, in the unit of the reward.
        best
            The largest posterior mean of a played point.
        t
            Number of the round, from 1.
        """
        if self.acquisition == "ucb":
            return UpperConfidenceBound(model, beta=self.beta)
        return LogExpectedImprovement(model, best_f=best)

    def model(self, at: int) -> SingleTaskGP:
        """Returns the model of the released rewards of the trial at this place of the block."""
        n, last = len(self.played[at]), self.models[at]
        if last is not None and len(last.train_targets) == n:
            return last
        targets = torch.tensor(self.released[at], dtype=torch.float64)[:, None]
        kept = {} if last is None else {"mean_module": last.mean_module, "covar_module": last.covar_module}
        variance = torch.full_like(targets, float(self.variance[at]))
        model = self.models[at] = SingleTaskGP(self.points[self.played[at]], targets, train_Yvar=variance, **kept)
        if (n - self.initial) % self.refit == 0:
            torch.manual_seed(n)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        model.eval()
        return model

    def means(self, at: int, points: torch.Tensor) -> NDArray[np.float64]:
        """Returns posterior means at scaled points, float64[k]."""
        model = self.model(at)
        with torch.no_grad():
            return model.posterior(points).mean[:, 0].numpy()

    def choice(self, at: int, t: int, allowed: Any) -> int:
        """Returns the allowed point of the largest acquisition, the first of several."""
        rng = self.rngs[at]
        seed = int(rng.integers(2**62))
        if len(self.played[at]) < self.initial:
            return int(rng.choice(allowed))
        best = float(self.means(at, self.points[self.played[at]]).max())
        torch.manual_seed(seed)
        acquisition = self.make_acquisition(self.model(at), best, t)
        with torch.no_grad():
            values = torch.cat([acquisition(part) for part in self.points[allowed][:, None].split(256)])
        return int(allowed[int(values.numpy().argmax())])

    def ask(self, t: int, allowed: Any = None) -> NDArray[np.int64]:
        """Returns the point that each trial plays, int64[trials]."""
        sets = [np.arange(len(self.points))] * len(self.rngs) if allowed is None else allowed
        with torch_alone():
            return np.array([self.choice(at, t, points) for at, points in enumerate(sets)], dtype=np.int64)

    def tell(self, points: NDArray[np.int64], released: NDArray[np.float64]) -> None:
        """Keeps the released rewards."""
        for at, (point, reward) in enumerate(zip(points, released, strict=True)):
            self.played[at].append(int(point))
            self.released[at].append(float(reward))

    def recommend(self) -> NDArray[np.int64] | None:
        """Returns the points of the largest posterior mean, int64[trials]; None in the rounds of random points."""
        if self.played and len(self.played[0]) < self.initial:
            return None
        with torch_alone():
            return np.array([self.means(at, self.points).argmax() for at in range(len(self.rngs))], dtype=np.int64)
