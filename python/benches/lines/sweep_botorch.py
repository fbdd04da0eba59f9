"""Regret of a private bandit over epsilon, with intervals."""

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel

x = torch.linspace(0, 1, 20, dtype=torch.float64)[:, None]
kernel = MaternKernel(nu=2.5).double()
kernel.lengthscale = 0.2
with torch.no_grad():
    gram = kernel(x).to_dense().numpy()


def regret(epsilon, trial):
    rng = np.random.default_rng(trial)
    f = gram @ rng.uniform(-1, 1, 20)
    f = (f - f.min()) / (f.max() - f.min())
    variance = 2 / epsilon**2 + 0.1**2 / 3
    played, released = [int(rng.integers(20))], []
    for _ in range(100):
        reward = np.clip(f[played[-1]] + rng.uniform(-0.1, 0.1), 0, 1)
        released.append(reward + rng.laplace(scale=1 / epsilon))
        y = torch.tensor(released, dtype=torch.float64)[:, None]
        noise = torch.full_like(y, variance)
        model = SingleTaskGP(x[played], y, noise, covar_module=kernel, outcome_transform=None)
        with torch.no_grad():
            played.append(int(UpperConfidenceBound(model, beta=4.0)(x[:, None]).argmax()))
    return 100 * f.max() - f[played[:100]].sum()


for epsilon in (1.0, 4.0, 16.0):
    values = [regret(epsilon, trial) for trial in range(10)]
    half = 2 * np.std(values, ddof=1) / np.sqrt(10)
    print(f"epsilon {epsilon}: regret {np.mean(values):.1f} ± {half:.1f}")
