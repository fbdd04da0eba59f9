"""What the best test shows of noisy gradients of secretly drawn samples, at the noise that Rényi divergences ask for: NumPy alone.

Fifteen steps draw one of four samples, whose gradients have length L: distances are at most d = 2 L/sigma. The price is that of the worst
pair of laws (`../drawn-samples/drawn.py`). A sample that changes from g to -g beside others at u gives the laws (3 N(u) + N(g))/4 and
(3 N(u) + N(-g))/4 of a step; the losses of steps add up, and the best test of all releases takes the largest sums.
"""

import numpy as np

EPSILON, DELTA, SAMPLES = 4.0, 1e-3, 4
STEPS = SAMPLES**2 - 1


def worst_pair(d):
    x, h = np.linspace(d / 2, d / 2 + 14 + 8 * d, 200_001, retstep=True)
    loss = np.log1p(np.expm1(d * x - d * d / 2) / SAMPLES)
    b = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * h
    b[[0, -1]] /= 2
    return loss, b


def by_orders(d):
    loss, b = worst_pair(d)
    best = np.inf
    for order in 1 + np.exp(np.linspace(-4, 2.5, 400)):
        excess = np.sum(b * np.expm1(order * loss) * -np.expm1((1 - order) * loss))
        divergence = STEPS * np.log1p(excess) / (order - 1)
        best = min(best, divergence + np.log1p(-1 / order) - np.log(DELTA * order) / (order - 1))
    return best


def exact(loss, mass):
    """Epsilon at DELTA of the sum of STEPS losses, on a grid by Fourier transforms."""
    n, width = 1 << 20, 60.0
    step = 2 * width / n
    one = np.zeros(n)
    at = np.floor(loss / step).astype(int)
    up = loss / step - at
    np.add.at(one, at % n, mass * (1 - up))
    np.add.at(one, (at + 1) % n, mass * up)
    total = np.fft.ifft(np.fft.fft(one) ** STEPS).real
    values = np.arange(n) * step
    values[values > width] -= 2 * width
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        above = values > middle
        low, high = (middle, high) if DELTA < np.sum(total[above] * -np.expm1(middle - values[above])) else (low, middle)
    return high


low, high = 0.1, 3.0
for _ in range(40):
    d = (low + high) / 2
    low, high = (d, high) if by_orders(d) < EPSILON else (low, d)
loss, b = worst_pair(d)
a = b * np.exp(loss)
print("distance", d)
print("worst pair", exact(np.concatenate([loss, -loss, [0]]), np.concatenate([a, b, [1 - a.sum() - b.sum()]])))
x = np.linspace(-20, 20, 400_001)
normal = lambda mean: np.exp(-((x - mean) ** 2) / 2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
for name, others in [("others without a gradient", 0.0), ("others with gradient g", d / 2)]:
    p, q = [((SAMPLES - 1) * normal(others) + normal(mean)) / SAMPLES for mean in (d / 2, -d / 2)]
    print(name, exact(np.log(p / q), p), exact(np.log(q / p), q))
