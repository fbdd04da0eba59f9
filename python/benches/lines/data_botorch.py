"""Bayesian optimization on a table whose responses are released with noise, and what each record has spent."""

import numpy as np
import opendp.prelude as dp
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel

dp.enable_features("contrib")
table = np.genfromtxt("patients.csv", delimiter=",", names=True)
x = torch.tensor(np.column_stack([table["age"] / 15, table["dose"] / 2.5]))
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
mechanism = dp.m.make_laplace(*space, scale=1 / 4.0)
kernel = ScaleKernel(RBFKernel()).double()
kernel.base_kernel.lengthscale, kernel.outputscale = 0.8, 0.2
spent = np.zeros(len(x))
played, released = [0], []


def model():
    y = torch.tensor(released, dtype=torch.float64)[:, None]
    noise = torch.full_like(y, 2 / 4.0**2 + 0.05**2)
    return SingleTaskGP(x[played[: len(y)]], y, noise, covar_module=kernel, outcome_transform=None)


for _ in range(30):
    row = played[-1]
    loss = mechanism.map(1.0)
    if spent[row] + loss > 120:
        raise RuntimeError(f"record {row} has spent its budget")
    spent[row] += loss
    released.append(mechanism(float(np.clip(table["response"][row], 0, 1))))
    with torch.no_grad():
        played.append(int(UpperConfidenceBound(model(), beta=4.0)(x[:, None]).argmax()))
with torch.no_grad():
    best = int(model().eval().posterior(x).mean.argmax())
print("best row", best, "of response", table["response"][best])
print({row: loss for row, loss in enumerate(spent) if loss})
