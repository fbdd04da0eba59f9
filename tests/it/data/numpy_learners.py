# Prints the answers of learners on stored samples and draws, for tests/it/numpy.rs. Needs NumPy.
import numpy as np

D, N, P, RADIUS, ETA = 3, 12, 1.5, 0.8, 0.8
rounds = np.arange(1, N + 1)
X = np.sin(1.3 * rounds[:, None] + 2.1 * np.arange(D) + 0.4)
Y = 0.5 * np.cos(0.7 * rounds)


def draws(count: int) -> np.ndarray:
    return 0.3 * np.sin(5.1 * np.arange(1, count + 1)[:, None] + 1.7 * np.arange(D))


def project(v: np.ndarray, p: float = P) -> np.ndarray:
    """Returns the nearest point of the l_p ball, by bisection on the multiplier and on each coordinate."""
    if np.sum(np.abs(v) ** p) <= RADIUS**p:
        return v
    if p == 2:
        return v * RADIUS / np.linalg.norm(v)

    def shrunk(m: float) -> np.ndarray:
        low, high = np.zeros_like(v), np.abs(v)
        for _ in range(200):
            mid = (low + high) / 2
            above = mid + m * p * mid ** (p - 1) > np.abs(v)
            low, high = np.where(above, low, mid), np.where(above, mid, high)
        return (low + high) / 2

    low, high = 0.0, 1e6
    for _ in range(400):
        mid = (low + high) / 2
        low, high = (mid, high) if np.sum(shrunk(mid) ** p) > RADIUS**p else (low, mid)
    return np.sign(v) * shrunk((low + high) / 2)


def gradient(theta: np.ndarray, t: int) -> np.ndarray:
    return 2 * (X[t] @ theta - Y[t]) * X[t]


def ftrl(noise: np.ndarray, eta: float, order: "list[int]") -> "tuple[np.ndarray, np.ndarray]":
    """Returns the mean iterate and the last one; row t of `noise` is added to the sum of the first t + 1 gradients."""
    theta, total, iterates = np.zeros(D), np.zeros(D), []
    for noise_t, t in zip(noise, order):
        total = total + gradient(theta, t)
        theta = project(-eta * (total + noise_t))
        iterates.append(theta)
    return np.mean(iterates, axis=0), theta


def blocks(t: int) -> "list[tuple[int, int]]":
    """Returns the nodes of prefix t as (first round, last round), by its binary digits."""
    found = []
    while t:
        found.append((t - (t & -t) + 1, t))
        t -= t & -t
    return found


def tree() -> np.ndarray:
    z = draws(N)
    return np.array([sum(z[last - 1] for _, last in blocks(t)) for t in rounds])


def honaker() -> np.ndarray:
    # Every complete node is drawn, a leaf before the nodes that it completes; a block is estimated by least squares from the
    # nodes inside of it.
    nodes = [(t - 2**level + 1, t) for t in rounds for level in range(5) if t % 2**level == 0]
    z, prefixes = draws(len(nodes)), []
    for t in rounds:
        noise = np.zeros(D)
        for first, last in blocks(t):
            inside = [i for i, (a, b) in enumerate(nodes) if first <= a and b <= last]
            holds = np.array([[a <= leaf <= b for leaf in range(first, last + 1)] for a, b in (nodes[i] for i in inside)], float)
            noise += np.ones(last - first + 1) @ np.linalg.pinv(holds) @ z[inside]
        prefixes.append(noise)
    return np.array(prefixes)


def toeplitz(c: np.ndarray) -> np.ndarray:
    matrix = sum(np.diag(np.full(N - k, c[k]), -k) for k in range(N))
    return np.tril(np.ones((N, N))) @ np.linalg.inv(matrix) @ draws(N)


def square_root() -> np.ndarray:
    c = np.ones(N)
    for k in range(1, N):
        c[k] = c[k - 1] * (2 * k - 1) / (2 * k)
    return toeplitz(c)


def blt() -> np.ndarray:
    return toeplitz(np.array([1.0] + [0.4 * 0.9**k + 0.2 * 0.5**k for k in range(N - 1)]))


def show(name: str, *values: np.ndarray) -> None:
    print(f'("{name}", [{", ".join(repr(float(x)) for x in np.concatenate(values))}]),')


for name, noise in [("tree", tree()), ("honaker", honaker()), ("blt", blt()), ("sqrt-toeplitz", square_root())]:
    show(name, *ftrl(noise, ETA, list(range(N))))
# Two passes over six samples, without noise, at the step R/sqrt(n L (L + 2 b)): R the radius (p < 2), L = 1 in l_3.
lipschitz = D ** (1 / 2 - 1 / 3)
show("two passes", *ftrl(np.zeros((N, D)), RADIUS / np.sqrt(N * lipschitz**2), list(range(6)) * 2))


def phased(eta: float, unit: float) -> np.ndarray:
    """Returns the last released mean: half of the rest of the samples in each phase, steps shorter by 4 from phase to phase."""
    z, theta, t, phase = draws(N), np.zeros(D), 0, 0
    while t < N:
        iterates, size = [], (N - t + 1) // 2
        for _ in range(size):
            theta = project(theta - eta / 4**phase * gradient(theta, t))
            iterates.append(theta)
            t += 1
        released = np.mean(iterates, axis=0) + unit * eta / 4**phase * z[phase]
        theta, phase = project(released), phase + 1
    return released


def snowball(eta: float, size: float, sigma: float) -> np.ndarray:
    """Returns the last iterate; the step with k to go has ceil(size/sqrt(k)) samples."""
    sizes = []
    while sum(sizes) + max(1, int(np.ceil(size / np.sqrt(len(sizes) + 1)))) <= N:
        sizes.append(max(1, int(np.ceil(size / np.sqrt(len(sizes) + 1)))))
    z, theta, t = draws(N), np.zeros(D), 0
    for step, batch in enumerate(reversed(sizes)):
        mean = np.mean([gradient(theta, i) for i in range(t, t + batch)], axis=0)
        theta, t = project(theta - eta * mean + eta * sigma * z[step]), t + batch
    return theta


def giga(alpha: float, longest: float, sigma: float) -> np.ndarray:
    """Returns the last released iterate; the hidden one follows no noise."""
    z, theta = draws(N), np.zeros(D)
    for t in range(N):
        eta = 1 / (alpha * (t + 1) + 1 / longest)
        theta = project(theta - eta * (gradient(theta, t) + alpha * theta))
        released = theta + eta * sigma * z[t]
    return released


show("phased", phased(0.6, 1.5))
show("snowball", snowball(0.6, 2.9, 1.5))
show("giga", giga(0.3, 0.6, 1.5))
# Without noise, at the steps R/(L sqrt(2 n/3)) and R/(L sqrt(n)), at most 2/beta = 1/L² here, and the curvature L sqrt((1 + ln n)/n)/R.
show("phased, exact", phased(min(RADIUS / lipschitz / np.sqrt(2 * N / 3), 1 / lipschitz**2), 0))
show("snowball, exact", snowball(min(RADIUS / lipschitz / np.sqrt(N), 1 / lipschitz**2), 0, 0))
show("giga, exact", giga(lipschitz * np.sqrt((1 + np.log(N)) / N) / RADIUS, 1 / lipschitz**2, 0))
