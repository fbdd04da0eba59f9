"""Noise for 300 people who come in turn for 1024 rounds, from the list of who comes when: NumPy alone."""

import math

import numpy as np

EPSILON, DELTA, ROUNDS, PEOPLE = 1.0, 1e-3, 1024, 300


def delta(mu):
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    return below(mu / 2 - EPSILON / mu) - math.exp(EPSILON) * below(-mu / 2 - EPSILON / mu)


low, high = 1e-3, 10.0
for _ in range(200):
    middle = (low + high) / 2
    low, high = (middle, high) if delta(middle) < DELTA else (low, middle)

who = np.arange(ROUNDS) % PEOPLE
rounds_of = [np.flatnonzero(who == person) for person in range(PEOPLE)]
most = max(len(rounds) for rounds in rounds_of)
print("rounds of one person:", most, "apart:", min(np.diff(rounds).min() for rounds in rounds_of))
print("epsilon of one answer:", EPSILON / most)

coefficients = np.cumprod(np.concatenate([[1.0], (2 * np.arange(1, ROUNDS) - 1) / (2 * np.arange(1, ROUNDS))]))
root = np.array([np.concatenate([np.zeros(t), coefficients[: ROUNDS - t]]) for t in range(ROUNDS)])
norm = max(np.linalg.norm(root[rounds].sum(axis=0)) for rounds in rounds_of)
# Rewards in [-1, 1], features of length 1: 1 + Y^2 = 2.
print("square root: sigma", repr(2 * norm / low))
