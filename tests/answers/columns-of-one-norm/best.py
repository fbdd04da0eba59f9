"""Least error of running sums over all factorisations, for users who take part once: NumPy alone, nothing of this program.

A = B C, A the lower triangular matrix of ones; all columns of C have norm at most 1, and an error is the largest or the root-mean-square
norm of a row of B. For weights p of rows and q of columns that add up to 1 the sum of the singular values of diag(sqrt p) A diag(sqrt q)
is a lower bound (p = 1/T for the root mean square), and at the best weights it is the least error: a fixed point of
p_i <- p_i |row i of B|² / F, q_j <- q_j |column j of C|² / F, where B and C are the halves of the singular value decomposition.

For long streams the weights are those of 256 rounds, stretched: any weights give a lower bound. The inverse of the weighted matrix is
bidiagonal, L, and the sum is trace((L L')^(-1/2)) = 2/pi times the integral of trace((L L' + s²)^-1) over s, by the trapezoidal rule in log s.
"""

import math
import sys

import numpy as np


def fixed_point(rounds, rms, tolerance=1e-6):
    """Returns the lower bound, the error of the factors at the fixed point, and the weights."""
    a = np.tril(np.ones((rounds, rounds)))
    p = np.full(rounds, 1 / rounds)
    q = p.copy()
    while True:
        u, s, v = np.linalg.svd(np.sqrt(p)[:, None] * a * np.sqrt(q))
        least = s.sum()
        rows, columns = (u * u) @ s / p, s @ (v * v) / q
        error = math.sqrt((rows.mean() if rms else rows.max()) * columns.max())
        if error < least * (1 + tolerance):
            return least, error, p, q
        if not rms:
            p = p * rows / rows.dot(p)
        q = q * columns / columns.dot(q)


def bound(p, q):
    """Returns the sum of the singular values of diag(sqrt p) A diag(sqrt q)."""
    u, v = np.sqrt(p), np.sqrt(q)
    diagonal, below = 1 / (u * v), -1 / (u[:-1] * v[1:])
    squares = diagonal**2 + np.concatenate([[0.0], below**2])
    beside = np.concatenate([[0.0], (diagonal[:-1] * below) ** 2])
    step = 0.5
    s = np.exp(np.arange(-20, math.log(4 * len(p)) + 20, step))
    pivot, slope, trace = np.ones_like(s), np.zeros_like(s), np.zeros_like(s)
    for square, other in zip(squares + 0.0, beside):
        slope = 1 + other * slope / pivot**2
        pivot = square + s * s - other / pivot
        trace += slope / pivot
    return 2 / math.pi * step * (s * trace).sum()


def stretched(weights, rounds):
    """Returns weights over more rounds, the same function of log(rounds before / rounds after) over its range."""
    place = lambda n: np.log((np.arange(n) + 0.5) / (n - np.arange(n) - 0.5)) / math.log(2 * n)
    found = np.interp(place(rounds), place(len(weights)), np.log(weights))
    found = np.exp(found)
    return found / found.sum()


def delta(mu, epsilon=1.0):
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


if __name__ == "__main__":
    low, high = 1e-3, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) < 1e-3 else (low, middle)
    # Vectors of norm at most 1, another user's instead: 2.
    print("standard deviation at (1, 1e-3), for an error of 1:", 2 / low)
    for rms in [False, True]:
        for rounds in [64, 128, 256]:
            least, error, p, q = fixed_point(rounds, rms)
            print("root-mean-square" if rms else "largest", rounds, "least error between", least, "and", error, flush=True)
        for power in range(8, 1 + int(sys.argv[1]) if 1 < len(sys.argv) else 21, 2):
            rounds = 1 << power
            rows = np.full(rounds, 1 / rounds) if rms else stretched(p, rounds)
            print("root-mean-square" if rms else "largest", rounds, "at least", bound(rows, stretched(q, rounds)), flush=True)
