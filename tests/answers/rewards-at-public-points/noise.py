"""How much noise hides one reward in running sums of y phi, where everybody knows phi.

A reward in [lo, hi] moves the sum of its round and of all later rounds by at most (hi - lo)|phi|, |phi| <= 1: C x moves by that times the
norm of a sum of columns of C. Gaussian noise: mu by bisection on delta = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu).
"""

from math import erfc, exp, sqrt

import numpy as np

EPSILON, DELTA, LOW, HIGH = 1.0, 1e-3, -2.0, 8.0


def phi(x):
    return 0.5 * erfc(-x / sqrt(2))


def mu(epsilon, delta):
    low, high = 1e-6, 50.0
    for _ in range(200):
        m = 0.5 * (low + high)
        at = phi(m / 2 - epsilon / m) - exp(epsilon) * phi(-m / 2 - epsilon / m)
        low, high = (m, high) if at < delta else (low, m)
    return low


def tree(rounds):
    """Rows are the nodes of a binary tree over the rounds that prefixes use."""
    rows, size = [], 1
    while size <= rounds:
        for first in range(0, rounds - size + 1, size):
            # Prefixes add the left one of two nodes, and the last one of a level.
            row = np.zeros(rounds)
            row[first : first + size] = 1
            if (first // size) % 2 == 0:
                rows.append(row)
        size *= 2
    return np.array(rows)


def root(rounds):
    """The square root of the matrix of ones below the diagonal."""
    c = np.ones(rounds)
    for j in range(1, rounds):
        c[j] = c[j - 1] * (2 * j - 1) / (2 * j)
    return np.array([[c[i - j] if j <= i else 0.0 for j in range(rounds)] for i in range(rounds)])


def norm(matrix, times, apart):
    """The largest norm of a sum of columns that are `apart` apart: the first ones for a Toeplitz matrix, all shifts are tried."""
    rounds = matrix.shape[1]
    sums = (matrix[:, [first + i * apart for i in range(times)]].sum(axis=1) for first in range(rounds - (times - 1) * apart))
    return max(np.linalg.norm(column) for column in sums)


for name, matrix, times, apart in [("tree", tree(256), 1, 1), ("square root", root(256), 1, 1), ("square root, 4 times", root(256), 4, 64)]:
    print(name, (HIGH - LOW) * norm(matrix, times, apart) / mu(EPSILON, DELTA))
