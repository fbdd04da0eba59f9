"""Share of what can be learnt that privacy leaves GP-UCB on a table: 100 (guessing - private) / (guessing - reference).

One random row, then the row with the largest mean + 3 deviations. Rewards are clipped to [-3, 3]; Laplace noise has scale 6 / epsilon.
"""
import numpy as np

ROUNDS, TRIALS, RIDGE, FACTOR, EPSILON = 40, 4000, 4.0, 3.0, 6.0
rng = np.random.default_rng(5)
table = np.genfromtxt("table.csv", delimiter=",", names=True)
points = np.stack([table["x"], table["y"]], axis=1)
points = (points - points.mean(axis=0)) / points.std(axis=0)
values = (table["value"] - table["value"].mean()) / table["value"].std()
gaps = values.max() - values
n = len(values)
kernel = np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2))


def regret(laplace):
    counts, sums = np.zeros((TRIALS, n)), np.zeros((TRIALS, n))
    total, trial = np.zeros(TRIALS), np.arange(TRIALS)
    row = rng.integers(n, size=TRIALS)
    for _ in range(ROUNDS):
        reward = np.clip(values[row] + 0.3 * rng.standard_normal(TRIALS), -3, 3)
        counts[trial, row] += 1
        sums[trial, row] += reward + (rng.laplace(scale=laplace, size=TRIALS) if laplace else 0)
        total += gaps[row]
        # K - K (W^-1 + K)^-1 K = K (I + W K)^-1 with W the number of looks over the ridge.
        gain = np.linalg.inv(np.eye(n) + counts[:, :, None] / RIDGE * kernel)
        mean = np.einsum("ij,tjk,tk->ti", kernel, gain, sums / RIDGE)
        variance = np.einsum("ij,tji->ti", kernel, gain)
        row = (mean + FACTOR * np.sqrt(np.maximum(variance, 0))).argmax(axis=1)
    return total


guessing, private, reference = ROUNDS * gaps.mean(), regret(6 / EPSILON), regret(0)
share = 100 * (guessing - private.mean()) / (guessing - reference.mean())
error = 100 * private.std() / np.sqrt(TRIALS) / (guessing - reference.mean())
print("guessing", guessing, "private", private.mean(), "reference", reference.mean())
print("share", share, "standard error", error, "of 400 trials", error * np.sqrt(TRIALS / 400))
