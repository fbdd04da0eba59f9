# DP-FTRL with square-root sums and the mean iterate on Table 5.1 of Han et al. (2022), p = 1.5, (1, 1/T): prints mean SubOpt and twice its
# standard error over 20 trials, for `docs/papers/dp-ftrl.md`. Needs NumPy. Usage: T RATE D...
import sys
from math import erf, exp, sqrt

import numpy as np

P, Q, RADIUS, EPSILON, TRIALS = 1.5, 3.0, 2.0, 1.0, 20


def mu_of(delta: float) -> float:
    normal = lambda x: 0.5 * (1 + erf(x / sqrt(2)))
    low, high = 1e-3, 20.0
    for _ in range(200):
        mid = (low + high) / 2
        above = normal(mid / 2 - EPSILON / mid) - exp(EPSILON) * normal(-mid / 2 - EPSILON / mid) > delta
        low, high = (low, mid) if above else (mid, high)
    return low


def project(row: np.ndarray) -> np.ndarray:
    a = np.abs(row) / RADIUS
    if np.sum(a**P) <= 1:
        return row
    # u + m p sqrt(u) = a, a quadratic in sqrt(u).
    solved = lambda m: ((np.sqrt((m * P) ** 2 + 4 * a) - m * P) / 2) ** 2
    low, high = 0.0, 1.0
    while np.sum(solved(high) ** P) > 1:
        high *= 2
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if np.sum(solved(mid) ** P) > 1 else (low, mid)
    return np.sign(row) * solved(high) * RADIUS


def run(d: int, rounds: int, rate: float) -> "tuple[float, float]":
    rng = np.random.default_rng(0)
    c = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, rounds)]))
    length = d ** (1 / 2 - 1 / Q)
    sigma = 2 * length * np.linalg.norm(c) / mu_of(1 / rounds)
    truth = np.full(d, d ** (-1 / P))
    sphere = lambda x: x / np.sum(np.abs(x) ** Q, axis=-1, keepdims=True) ** (1 / Q)
    x = sphere(rng.standard_normal((TRIALS, rounds, d)))
    y = x @ truth + 0.05 * rng.standard_normal((TRIALS, rounds))
    test = sphere(rng.standard_normal((10_000, d)))
    z, n = rng.standard_normal((TRIALS, rounds, d)), 2 * rounds
    noise = sigma * np.fft.irfft(np.fft.rfft(z, n, axis=1) * np.fft.rfft(c, n)[None, :, None], n, axis=1)[:, :rounds]
    step = rate * RADIUS / sqrt(rounds * length * (length + 2 * sigma * np.linalg.norm(c) * sqrt(d)))
    theta, total, mean = np.zeros((TRIALS, d)), np.zeros((TRIALS, d)), np.zeros((TRIALS, d))
    for t in range(rounds):
        slope = np.clip(2 * (np.sum(x[:, t] * theta, axis=1) - y[:, t]), -1, 1)
        total += slope[:, None] * x[:, t]
        theta = np.array([project(row) for row in -step * (total + noise[:, t])])
        mean += theta / rounds
    lost = np.mean((test @ (mean - truth).T) ** 2, axis=0) / np.mean((test @ truth) ** 2)
    return float(lost.mean()), float(2 * lost.std(ddof=1) / sqrt(TRIALS))


for dimension in map(int, sys.argv[3:]):
    found = run(dimension, int(sys.argv[1]), float(sys.argv[2]))
    print(f"d = {dimension}: {found[0]:.5f} +- {found[1]:.5f}", flush=True)
