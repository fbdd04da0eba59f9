"""Noise on rows of six columns behind two orthogonal columns that keep squared distances on average: the standard library alone."""

import math

EPSILON, DELTA, RADIUS, DIMENSION, COLUMNS = 1.0, 1e-6, 2.0, 6, 2


def delta(mu):
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    return below(mu / 2 - EPSILON / mu) - math.exp(EPSILON) * below(-mu / 2 - EPSILON / mu)


low, high = 1e-3, 10.0
for _ in range(200):
    middle = (low + high) / 2
    low, high = (middle, high) if delta(middle) < DELTA else (low, middle)
# r columns of length s, orthogonal: E |x|^2 = r s^2 |x|^2 / d, so that s^2 = d/r, which stretches every direction alike.
print("standard deviation", RADIUS * math.sqrt(DIMENSION / COLUMNS) / low)
