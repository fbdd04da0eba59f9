"""Noise for users who take part four times at least 256 rounds apart in 1024, by enumeration of their rounds: NumPy alone."""

import math

import numpy as np

EPSILON, DELTA, ROUNDS, COUNT, APART = 1.0, 1e-3, 1024, 4, 256


def delta(mu):
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    return below(mu / 2 - EPSILON / mu) - math.exp(EPSILON) * below(-mu / 2 - EPSILON / mu)


low, high = 1e-3, 10.0
for _ in range(200):
    middle = (low + high) / 2
    low, high = (middle, high) if delta(middle) < DELTA else (low, middle)
print("mu of one of four Gaussian answers:", repr(low / math.sqrt(COUNT)))

coefficients = np.cumprod(np.concatenate([[1.0], (2 * np.arange(1, ROUNDS) - 1) / (2 * np.arange(1, ROUNDS))]))
# The separation leaves one way: rounds r, r + 256, r + 512, r + 768 for r below 256, each with all others no later.
root = np.array([np.concatenate([np.zeros(t), coefficients[: ROUNDS - t]]) for t in range(ROUNDS)])
norm = max(np.linalg.norm(root[[r + APART * i for i in range(COUNT)]].sum(axis=0)) for r in range(APART))
# Rewards in [-1, 1], features of length 1: 1 + Y^2 = 2.
print("square root: columns", norm / np.linalg.norm(root[0]), "times one, sigma", repr(2 * norm / low))
