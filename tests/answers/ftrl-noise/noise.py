"""The noise of follow-the-regularised-leader's iterates, from the matrices themselves: NumPy alone, nothing of this program.

The gradients of a sample replaced by any other differ by at most 2 L = 2, so draws of standard deviation sigma = 2 |C|/mu make
the noisy sums of gradients mu-Gaussian, where |C| is the largest norm of a sum of columns of C over one user's rounds. The
iterate after t samples is -(sum + noise)/lambda, and the steps here are so small that only the noise counts. Features lie on the
unit sphere, so the risk is the mean square of the answer's entries. The step is
1/lambda = 1e-3 R/sqrt(n L (L + 2 sigma sqrt(d v))), v the largest variance of a prefix for draws of variance 1.
"""

from math import erf, exp, sqrt

import numpy as np

D, RADIUS, EPSILON, DELTA, RATE, TRIALS = 20, 2.0, 1.0, 1e-3, 1e-3, 2000


def normal(x: float) -> float:
    return 0.5 * (1 + erf(x / sqrt(2)))


def mu() -> float:
    """Returns the mu whose Gaussian mechanism has exactly this delta at this epsilon, by bisection."""
    low, high = 1e-6, 100.0
    for _ in range(200):
        mid = (low + high) / 2
        delta = normal(mid / 2 - EPSILON / mid) - exp(EPSILON) * normal(-mid / 2 - EPSILON / mid)
        low, high = (mid, high) if delta < DELTA else (low, mid)
    return low


def square_root(rounds: int) -> "tuple[np.ndarray, np.ndarray]":
    c = np.ones(rounds)
    for k in range(1, rounds):
        c[k] = c[k - 1] * (2 * k - 1) / (2 * k)
    root = sum(np.diag(np.full(rounds - k, c[k]), -k) for k in range(rounds))
    return root, root


def tree(rounds: int) -> "tuple[np.ndarray, np.ndarray]":
    """Node k holds the rounds after k minus its lowest binary digit; a prefix adds the nodes of its digits."""
    c = np.array([[k - (k & -k) < j <= k for j in range(1, rounds + 1)] for k in range(1, rounds + 1)], dtype=float)
    return np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(c), c


def honaker(rounds: int) -> "tuple[np.ndarray, np.ndarray]":
    """All complete nodes; a block of a prefix is estimated by least squares from the nodes inside of it."""
    nodes = [(t - 2**level + 1, t) for t in range(1, rounds + 1) for level in range(8) if t % 2**level == 0]
    c = np.array([[first <= j <= last for j in range(1, rounds + 1)] for first, last in nodes], dtype=float)
    b = np.zeros((rounds, len(nodes)))
    for t in range(1, rounds + 1):
        last = t
        while last:
            first = last - (last & -last) + 1
            inside = [i for i, (x, y) in enumerate(nodes) if first <= x and y <= last]
            b[t - 1, inside] += np.ones(last - first + 1) @ np.linalg.pinv(c[np.ix_(inside, range(first - 1, last))])
            last = first - 1
    return b, c


def risk(factors: "tuple[np.ndarray, np.ndarray]", held: "list[list[int]]", answers_mean: bool) -> float:
    b, c = factors
    rounds = len(b)
    sigma = 2 * max(np.linalg.norm(c[:, of].sum(axis=1)) for of in held) / mu()
    variances = np.sum(b**2, axis=1)
    step = RATE * RADIUS / sqrt(rounds * (1 + 2 * sigma * sqrt(D * variances.max())))
    answer = b.mean(axis=0) if answers_mean else b[-1]
    return float(step**2 * sigma**2 * np.sum(answer**2))


once = [[t] for t in range(64)]
thrice = [[x, y, z] for x in range(64) for y in range(x + 16, 64) for z in range(y + 16, 64)]
for name, value in {
    "tree, last": risk(tree(64), once, False),
    "honaker, mean": risk(honaker(64), once, True),
    "square root, mean": risk(square_root(64), once, True),
    "square root, two passes, last": risk(square_root(128), [[t, t + 64] for t in range(64)], False),
    "square root, three of one user, mean": risk(square_root(64), thrice, True),
}.items():
    # Each trial's mean over D squares of normals has a relative standard deviation of sqrt(2/D).
    print(f"{name}: {value:.6e}, standard error {value * sqrt(2 / (D * TRIALS)):.1e}")
