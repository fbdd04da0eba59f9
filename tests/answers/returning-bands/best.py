"""Least largest error of running sums over Toeplitz matrices for users who return: NumPy alone, nothing of this program.

C has non-negative coefficients c_0 = 1 >= c_1 >= ..., each a free number here. Columns at the least separation, from the first
on, are the worst sum of one user's columns; the noise B z on the last prefix, B = A C^-1, has the largest variance.
"""

import math

import numpy as np

EPSILON, DELTA = 1.0, 1e-3


def conv(a, b):
    n = 2 * len(a)
    return np.fft.irfft(np.fft.rfft(a, n) * np.fft.rfft(b, n), n)[: len(a)]


def inverse(c):
    r = np.array([1.0])
    while len(r) < len(c):
        m = min(2 * len(r), len(c))
        r = np.concatenate([r, np.zeros(m - len(r))])
        t = -conv(c[:m], r)
        t[0] += 2
        r = conv(r, t)
    return r


def error(u, count, apart):
    """Returns log(norm² variance) and its gradient in u, where c_(j + 1) = c_j / (1 + exp(-u_j))."""
    share = 1 / (1 + np.exp(-u))
    c = np.concatenate([[1.0], np.cumprod(share)])
    rounds = len(c)
    shifts = [i * apart for i in range(count) if i * apart < rounds]
    total = sum(np.concatenate([np.zeros(s), c[: rounds - s]]) for s in shifts)
    back = inverse(c)
    b = np.cumsum(back)
    norm, variance = total @ total, b @ b
    slope = sum(np.concatenate([2 * total[s:] / norm, np.zeros(s)]) for s in shifts)
    slope -= conv((2 * b / variance)[::-1], conv(back, b))[::-1]
    return math.log(norm * variance), np.cumsum((slope[1:] * c[1:])[::-1])[::-1] * (1 - share)


def least(rounds, count, apart, steps=3000):
    j = np.arange(1, rounds)
    u = np.log((2 * j - 1.0))  # the square root: c_j/c_(j - 1) = (2 j - 1)/(2 j)
    value, slope = error(u, count, apart)
    pairs = []
    for _ in range(steps):
        step, kept = slope.copy(), []
        for s, y in reversed(pairs):
            kept.append((s @ step) / (y @ s))
            step -= kept[-1] * y
        if pairs:
            s, y = pairs[-1]
            step *= (s @ y) / (y @ y)
        for (s, y), a in zip(pairs, reversed(kept)):
            step += s * (a - (y @ step) / (y @ s))
        length = 1.0
        while True:
            new, at = error(u - length * step, count, apart)
            if new <= value - 1e-4 * length * (slope @ step) or length < 1e-12:
                break
            length /= 2
        s, y = -length * step, at - slope
        u, gained, value, slope = u - length * step, value - new, new, at
        if s @ y > 0:
            pairs = (pairs + [(s, y)])[-30:]
        if gained < 1e-13:
            break
    return math.exp(value / 2)


def delta(mu):
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    return below(mu / 2 - EPSILON / mu) - math.exp(EPSILON) * below(-mu / 2 - EPSILON / mu)


low, high = 1e-3, 10.0
for _ in range(200):
    middle = (low + high) / 2
    low, high = (middle, high) if delta(middle) < DELTA else (low, middle)
for rounds, count, apart in [(1024, 4, 256), (1024, 16, 64), (2048, 6, 342)]:
    best = least(rounds, count, apart)
    # Vectors of norm at most 1, another user's instead: 2.
    print(rounds, count, apart, "least error", best, "standard deviation on the last prefix", 2 * best / low)
