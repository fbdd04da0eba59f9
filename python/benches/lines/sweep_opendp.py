"""Regret of a private bandit over epsilon, with intervals."""

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
x = np.linspace(0, 1, 20)
r = np.sqrt(5) * abs(x[:, None] - x) / 0.2
gram = (1 + r + r**2 / 3) * np.exp(-r)
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def regret(epsilon, trial):
    rng = np.random.default_rng(trial)
    f = gram @ rng.uniform(-1, 1, 20)
    f = (f - f.min()) / (f.max() - f.min())
    mechanism = dp.binary_search_chain(lambda scale: dp.m.make_laplace(*space, scale), d_in=1.0, d_out=epsilon)
    variance = 2 / epsilon**2 + 0.1**2 / 3
    played, released = [int(rng.integers(20))], []
    for _ in range(100):
        reward = np.clip(f[played[-1]] + rng.uniform(-0.1, 0.1), 0, 1)
        released.append(mechanism(float(reward)))
        solved = np.linalg.solve(gram[np.ix_(played, played)] + variance * np.eye(len(played)), gram[played])
        mean, spread = np.array(released) @ solved, 1 - (gram[played] * solved).sum(axis=0)
        played.append(int((mean + 2 * np.sqrt(np.maximum(spread, 0))).argmax()))
    return 100 * f.max() - f[played[:100]].sum()


for epsilon in (1.0, 4.0, 16.0):
    values = [regret(epsilon, trial) for trial in range(10)]
    half = 2 * np.std(values, ddof=1) / np.sqrt(10)
    print(f"epsilon {epsilon}: regret {np.mean(values):.1f} ± {half:.1f}")
