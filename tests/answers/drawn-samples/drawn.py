"""Least noise on gradients of secretly drawn samples by the worst pair of laws, and by its loss distribution: NumPy alone.

A step draws one of n samples. Its failure probability at e^e is at most q = 1/n times that of the Gaussian step at
1 + (e^e - 1)/q, in both directions. The pair of laws with these has losses l > 0 with mass b under the second law and
b e^l under the first, the mirror image, and 0 with what is left.
"""

import numpy as np

EPSILON, DELTA, SAMPLES, SENSITIVITY = 4.0, 1e-4, 100, 2.0
STEPS = SAMPLES**2 - 1


def pair(d):
    x, h = np.linspace(d / 2, d / 2 + 14 + 8 * d, 200_001, retstep=True)
    loss = np.log1p(np.expm1(d * x - d * d / 2) / SAMPLES)
    b = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * h
    b[[0, -1]] /= 2
    return loss, b


def by_orders(d):
    loss, b = pair(d)
    best = np.inf
    for order in 1 + np.exp(np.linspace(-2, 2.2, 300)):
        excess = np.sum(b * np.expm1(order * loss) * -np.expm1((1 - order) * loss))
        divergence = STEPS * np.log1p(excess) / (order - 1)
        best = min(best, divergence + np.log1p(-1 / order) - np.log(DELTA * order) / (order - 1))
    return best


def by_distribution(d):
    loss, b = pair(d)
    a = b * np.exp(loss)
    n, width = 1 << 20, 60.0
    step = 2 * width / n
    mass = np.zeros(n)
    for values, masses in [(loss, a), (-loss, b)]:
        at = np.floor(values / step).astype(int)
        up = values / step - at
        np.add.at(mass, at % n, masses * (1 - up))
        np.add.at(mass, (at + 1) % n, masses * up)
    mass[0] += 1 - a.sum() - b.sum()
    total = np.fft.ifft(np.fft.fft(mass) ** STEPS).real
    values = np.arange(n) * step
    values[values > width] -= 2 * width
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        above = values > middle
        delta = np.sum(total[above] * -np.expm1(middle - values[above]))
        low, high = (middle, high) if delta > DELTA else (low, middle)
    return high


for name, epsilon in [("Renyi divergences", by_orders), ("loss distribution", by_distribution)]:
    low, high = 0.3, 1.2
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon(middle) < EPSILON else (low, middle)
    print(name, "standard deviation", SENSITIVITY / low)
