"""The noise of phased SGD's, snowball SGD's and private GIGA's answer, in closed form: the standard library alone, nothing of this program.

Gradients are at most 1 long, a replaced sample moves a mean by 2 eta and a step by 2 eta/B. The steps are so small that only the
noise counts: the phases' noise adds up, and so do the draws of the snowball's steps; GIGA's answer has the noise of one step, for
all iterates that a sample moves. Features lie on the unit sphere, so the risk is the mean square of the answer's entries.
"""

from math import ceil, erf, exp, log, sqrt

D, N, RADIUS, EPSILON, DELTA, RATE, TRIALS = 20, 100, 2.0, 1.0, 1e-3, 1e-3, 2000


def normal(x: float) -> float:
    return 0.5 * (1 + erf(x / sqrt(2)))


low, high = 1e-6, 100.0
for _ in range(200):
    mid = (low + high) / 2
    delta = normal(mid / 2 - EPSILON / mid) - exp(EPSILON) * normal(-mid / 2 - EPSILON / mid)
    low, high = (mid, high) if delta < DELTA else (low, mid)
mu = low

eta = RATE * RADIUS / sqrt(2 / 3 * N + 64 * D / mu**2)
left, phases = N, 0
while left:
    left, phases = left // 2, phases + 1
phased = sum((2 * eta / 4**phase / mu) ** 2 for phase in range(phases))

sizes: "list[int]" = []
while sum(sizes) + (size := max(1, ceil(2 * sqrt(D) / (mu * sqrt(len(sizes) + 1))))) <= N:
    sizes.append(size)
sigma = 2 / mu * max(1 / (size * sqrt(k)) for k, size in enumerate(sizes, 1))
eta = RATE * RADIUS / sqrt(len(sizes) * (1 + D * sigma**2))
snowball = len(sizes) * (eta * sigma) ** 2

sigma = 2 * sqrt(N) / mu
alpha = sqrt((1 + log(N)) * (1 + 2 * sqrt(D) * sigma) / N) / (RATE * RADIUS)
giga = (sigma / (alpha * N + 1)) ** 2

for name, value in {"phased": phased, "snowball": snowball, "giga": giga}.items():
    print(f"{name}: {value:.6e}, standard error {value * sqrt(2 / (D * TRIALS)):.1e}")
print(f"{phases} phases, {len(sizes)} steps")
