"""Shares of what can be learnt that privacy leaves GP-UCB on a table: (guessing - private) / (guessing - reference).

`python3 shares.py FOLDER` reads the table of a question. One random row, then the row with the largest mean + 2.5 deviations.
"""
import sys
from math import erf, exp, sqrt

import numpy as np

TRIALS, RIDGE, FACTOR, NOISE = 4000, 4.0, 2.5, 0.3
#            mechanism, epsilon, clip, rounds, sign of the values, standardised
CASES = {
    "share-duchi": ("duchi", 3.0, (-3, 3), 60, 1, True),
    "share-minimise": ("laplace", 6.0, (-3, 3), 40, -1, True),
    "share-file-unit": ("laplace", 8.0, (-1, 2), 50, 1, False),
    "share-gaussian": ("gaussian", 4.0, (-2.5, 2.5), 60, 1, True),
    "share-piecewise": ("piecewise", 4.0, (-3, 3), 50, 1, True),
    "share-hybrid": ("hybrid", 3.0, (-3, 3), 60, 1, True),
    "share-spaced-values": ("warped-piecewise", 2.0, (-3, 3), 60, 1, True),
    "share-own-rewards": ("warped-piecewise", 2.0, (-3, 3), 60, 1, True),
    "share-thirty-rows": ("laplace", 8.0, (-3, 3), 80, 1, True),
    "share-clip-that-cuts": ("laplace", 3.0, (-1, 1), 60, 1, True),
    "share-small-budget": ("laplace", 1.0, (-3, 3), 60, 1, True),
}
name = sys.argv[1].rstrip("/").split("/")[-1]
mechanism, epsilon, (low, high), rounds, sign, standardised = CASES[name]
rng = np.random.default_rng(11)
table = np.genfromtxt(f"{name}/table.csv", delimiter=",", names=True)
points, values = np.stack([table["x"], table["y"]], axis=1), sign * table["value"]
if standardised:
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    values = (values - values.mean()) / values.std()
gaps, n = values.max() - values, len(values)
kernel = np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2))
width = high - low


def gaussian_sd():
    """The least standard deviation with delta = 1e-5 for a sensitivity of the clip's width."""
    phi = lambda x: 0.5 * (1 + erf(x / sqrt(2)))
    delta = lambda s: phi(width / (2 * s) - epsilon * s / width) - exp(epsilon) * phi(-width / (2 * s) - epsilon * s / width)
    below, above = 1e-3, 1e3
    for _ in range(200):
        middle = (below + above) / 2
        below, above = (middle, above) if delta(middle) > 1e-5 else (below, middle)
    return above


def row_of_values(k, inner, half, cells=3000):
    """Values along a row as long as k windows: a sine, and on either side a straight band as long as the window."""
    p = (exp(epsilon) - 1) / (exp(epsilon) + k - 1)
    u = (np.arange(cells) + 0.5) / cells * k - k / 2
    beyond = np.abs(u) - (k / 2 - 1)
    straight = np.sign(u) * (1 + half * (2 * beyond - 1))
    values = np.where(beyond > 0, straight, inner * np.sin(u / max(k / 2 - 1, 1e-9)) / np.sin(1)) / p
    window = round(cells / k)
    sums = lambda x: np.concatenate([[0], np.cumsum(x)])
    means = p * (sums(values)[window:] - sums(values)[:-window]) / window
    squares = (1 - p) * (values**2).mean() + p * (sums(values**2)[window:] - sums(values**2)[:-window]) / window
    return (squares - means**2).max(), p, values, window, means


def spaced_values():
    """The row of least worst variance of many at random."""
    rows = np.random.default_rng(3).uniform([2, 0, 0], [4, 1, 0.5], (3000, 3))
    best = min(rows, key=lambda row: row_of_values(*row, cells=240)[0])
    near = best + np.random.default_rng(4).normal(scale=0.03, size=(2000, 3))
    return row_of_values(*min(near, key=lambda row: row_of_values(*row, cells=600)[0]))


if mechanism == "warped-piecewise":
    worst, kept, values_of_row, window, means = spaced_values()
    print(f"variance at the worst input of [-1, 1]: {worst:.4f}")


def released(reward):
    if mechanism == "laplace":
        return reward + rng.laplace(scale=width / epsilon, size=TRIALS)
    if mechanism == "gaussian":
        return reward + gaussian_sd() * rng.standard_normal(TRIALS)
    middle, half = (low + high) / 2, width / 2
    x = (reward - middle) / half
    if mechanism == "warped-piecewise":
        first = np.interp(x, means, np.arange(len(means))).round().astype(int)
        at = np.where(rng.random(TRIALS) < kept, first + rng.integers(window, size=TRIALS), rng.integers(len(values_of_row), size=TRIALS))
        return middle + half * values_of_row[at]
    ends = (exp(epsilon) + 1) / (exp(epsilon) - 1)
    coin = np.where(rng.random(TRIALS) < 0.5 + x / (2 * ends), ends, -ends)
    # A density that is e^epsilon higher on an interval of length C - 1 around the input than elsewhere on [-C, C].
    root = exp(epsilon / 2)
    end = (root + 1) / (root - 1)
    left = (end + 1) / 2 * x - (end - 1) / 2
    inside = left + (end - 1) * rng.random(TRIALS)
    outside = -end + (end + 1) * rng.random(TRIALS)
    outside = np.where(outside < left, outside, outside + end - 1)
    piece = np.where(rng.random(TRIALS) < root / (root + 1), inside, outside)
    # The hybrid takes the piece with probability 1 - e^(-epsilon / 2), from epsilon = 0.61 on.
    of = {"duchi": coin, "piecewise": piece, "hybrid": np.where(rng.random(TRIALS) < 1 - 1 / root, piece, coin)}
    return middle + half * of[mechanism]


def regret(private):
    counts, sums = np.zeros((TRIALS, n)), np.zeros((TRIALS, n))
    total, trial = np.zeros(TRIALS), np.arange(TRIALS)
    row = rng.integers(n, size=TRIALS)
    for _ in range(rounds):
        reward = values[row] + NOISE * rng.standard_normal(TRIALS)
        counts[trial, row] += 1
        sums[trial, row] += released(np.clip(reward, low, high)) if private else reward
        total += gaps[row]
        # K - K (W^-1 + K)^-1 K = K (I + W K)^-1 with W the number of looks over the ridge.
        gain = np.linalg.inv(np.eye(n) + counts[:, :, None] / RIDGE * kernel)
        mean = np.einsum("ij,tjk,tk->ti", kernel, gain, sums / RIDGE)
        variance = np.einsum("ij,tji->ti", kernel, gain)
        row = (mean + FACTOR * np.sqrt(np.maximum(variance, 0))).argmax(axis=1)
    return total


guessing, private, reference = rounds * gaps.mean(), regret(True), regret(False)
share = (guessing - private.mean()) / (guessing - reference.mean())
error = private.std() / np.sqrt(TRIALS) / (guessing - reference.mean())
print(f"{name}: guessing {guessing:.2f}, private {private.mean():.2f}, reference {reference.mean():.2f}")
print(f"share {share:.4f}, standard error {error:.4f}, of 400 trials {error * np.sqrt(TRIALS / 400):.4f}")
