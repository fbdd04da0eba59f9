"""Caps of least variance for a user's own vector, by sums over heights: no formula of the program.

python3 caps.py
"""

import math

import numpy as np


def cap(n, epsilon, radius, angles=2_000_001):
    """Tries every height as edge; returns gap, probability outside of the cap and length of releases."""
    # A grid of angles is fine where heights are near 1.
    angle = np.linspace(0.0, math.pi / 2, angles)  # from the pole to the equator
    with np.errstate(divide="ignore"):
        weight = np.exp((n - 2) * np.log(np.sin(angle)))
    trapezoids = 0.5 * (weight[1:] + weight[:-1])
    moments = 0.5 * (weight[1:] * np.cos(angle[1:]) + weight[:-1] * np.cos(angle[:-1]))
    share = np.concatenate([[0.0], np.cumsum(trapezoids)]) / (2 * trapezoids.sum())
    above = np.concatenate([[0.0], np.cumsum(moments)]) / (2 * trapezoids.sum())
    # The density on the cap is e^epsilon times that outside of it.
    high = math.exp(epsilon) / (share * math.exp(epsilon) + 1 - share)
    mean = above * (high - high * math.exp(-epsilon))
    best = int(np.argmax(mean))
    return 1 - math.cos(angle[best]), 1 - share[best] * high[best], radius / mean[best]


def item(arms, features, epsilon):
    """z z^T and y z in one arm's block, |z| <= 1, |y| <= 1/2, less the identity over its size: the longest of many items."""
    rows = arms * features
    centre = 1 / max(rows, 2)
    squared = np.linspace(0, 1, 1001)  # |z|^2, the only eigenvalue that is not zero
    lengths = ((squared - centre) ** 2 + (rows - 1) * centre**2) / 2 + squared / 4
    entries = arms * (features * (features + 1) // 2 + features)
    return cap(entries + 1, epsilon, math.sqrt(lengths.max()))


if __name__ == "__main__":
    text = "gap %.9f, rare %.9f, length %.9f"
    print("interactions, 2 arms and 3 features, epsilon 1:", text % item(2, 3, 1.0))
    print("gradients in 5 dimensions, |g| <= 1, epsilon 2:", text % cap(6, 2.0, 1.0))
