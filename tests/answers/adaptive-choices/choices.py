"""The least Gumbel noise for choices that may each depend on all before: NumPy alone, nothing of this program.

The samples lie in the unit ball of the largest entry and the set is the l1 ball of radius 1, of diameter D = 2. The logistic loss has slopes of at
most L = 1 and a curvature of at most 1/4, so that a sample adds at most 1/4 D + L = 1.5 to the sum of recursive gradients. Replaced by
another, it moves the range of the scores in round t by at most 2 D 1.5/(t + 1) = 6/(t + 1). Noise has scale b/sqrt(t): the loss of
the choice in round t lies in an interval of length 6 sqrt(t)/((t + 1) b), which an adversary who sees the earlier choices may place.

D_j(x), the largest delta at epsilon x of the last j choices, is the largest mean of D_(j - 1) over two losses at the ends of an interval. It
is computed on two grids of x, straight between points, and continued to a step of 0; intervals are tried at 25 places.
"""

import numpy as np

ROUNDS, EPSILON, DELTA = 200, 1.0, 1e-3


def on_a_grid(scale: float, points: int) -> float:
    t = np.arange(1, ROUNDS + 1)
    ranges = 6 * np.sqrt(t) / ((t + 1) * scale)
    reach = 4 * np.sqrt(np.sum(ranges**2))
    x = np.linspace(EPSILON - reach, EPSILON + reach, points)
    delta = np.maximum(0, -np.expm1(x))
    shares = np.linspace(0.2, 0.8, 25)[:, None]
    for r in ranges[::-1]:
        most = shares * r
        p = (np.exp(r) - np.exp(most)) / np.expm1(r)

        def at(y: np.ndarray) -> np.ndarray:
            return np.where(y < x[0], -np.expm1(np.minimum(y, 0)), np.interp(y, x, delta))

        delta = np.max(p * at(x - most) + (1 - p) * at(x - most + r), axis=0)
    return float(np.interp(EPSILON, x, delta))


def worst(scale: float) -> float:
    coarse, fine = on_a_grid(scale, 4001), on_a_grid(scale, 8001)
    return fine + (fine - coarse) / 3


low, high = 10.0, 40.0
while high - low > 1e-4 * high:
    middle = (low + high) / 2
    low, high = (low, middle) if worst(middle) <= DELTA else (middle, high)
squares = sum(t / (t + 1) ** 2 for t in range(1, ROUNDS + 1)) * (6 / high) ** 2
print(f"scale in round 1: {high:.4f}, sum of (range/scale)^2: {squares:.5f}")
