"""An algorithm of one's own beside a built-in one, with common random numbers."""

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel
from scipy import stats

x = torch.linspace(0, 1, 20, dtype=torch.float64)[:, None]
kernel = MaternKernel(nu=2.5).double()
kernel.lengthscale = 0.2
with torch.no_grad():
    gram = kernel(x).to_dense().numpy()


def mean_ucb(played, released):
    count = np.full(20, 1e-9) + np.bincount(played, minlength=20)
    total = np.bincount(played, released, minlength=20)
    return int((total / count + np.sqrt(np.log(len(played) + 2) / count)).argmax())


def gp_ucb(played, released):
    if not played:
        return 0
    y = torch.tensor(released, dtype=torch.float64)[:, None]
    noise = torch.full_like(y, 2 / 4.0**2 + 0.1**2 / 3)
    model = SingleTaskGP(x[played], y, noise, covar_module=kernel, outcome_transform=None)
    with torch.no_grad():
        return int(UpperConfidenceBound(model, beta=4.0)(x[:, None]).argmax())


def regret(policy, trial):
    rng = np.random.default_rng(trial)
    f = gram @ rng.uniform(-1, 1, 20)
    f = (f - f.min()) / (f.max() - f.min())
    observed, private = rng.uniform(-0.1, 0.1, 100), rng.laplace(scale=1 / 4.0, size=100)
    played, released = [], []
    for t in range(100):
        played.append(policy(played, released))
        released.append(np.clip(f[played[t]] + observed[t], 0, 1) + private[t])
    return 100 * f.max() - f[played].sum()


differences = [regret(mean_ucb, trial) - regret(gp_ucb, trial) for trial in range(10)]
half = stats.t.ppf(0.975, 9) * stats.sem(differences)
print(f"mean-ucb minus gp-ucb: {np.mean(differences):.1f} ± {half:.1f}")
