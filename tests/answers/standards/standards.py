"""What do Thompson sampling and expected improvement lose on a function with a Gaussian process prior?

Written from the statements of the algorithms: Matern-5/2 kernel over the table's points, rewards uniform on [f - 1, f + 1], posterior
with noise of variance 1/3, T = 500. gp-ts plays the maximiser of mean + 0.8 (draw of the posterior, less its mean). ei plays a
uniformly random point, then the point of largest d (z Phi(z) + phi(z)), z = (mean - m)/d, d the posterior deviation, m the largest
posterior mean of a point that was played.

    python3 standards.py gp-ts|ei [--trials N]
"""
import argparse
import math
import numpy as np

T, SCALE, NOISE, FACTOR = 500, 0.2, 1 / 3, 0.8
erfc = np.vectorize(math.erfc)


def regret(policy, x, f, random):
    d = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / SCALE
    covariance = (1 + d + d**2 / 3) * np.exp(-d)
    mean, played, lost = np.zeros(len(x)), set(), 0.0
    for t in range(T):
        if policy == "gp-ts":
            root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(x)))
            point = int(np.argmax(mean + FACTOR * root @ random.standard_normal(len(x))))
        elif not played:
            point = random.integers(len(x))
        else:
            deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-18))
            z = (mean - max(mean[at] for at in played)) / deviation
            gain = deviation * (z * 0.5 * erfc(-z / np.sqrt(2)) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
            point = int(np.argmax(gain))
        played.add(point)
        lost += f.max() - f[point]
        c = covariance[point] / (covariance[point, point] + NOISE)
        mean = mean + c * (f[point] + random.uniform(-1, 1) - mean[point])
        covariance = covariance - np.outer(c, covariance[point])
    return lost


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("policy", choices=["gp-ts", "ei"])
    parser.add_argument("--table", default="table.csv")
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    x, f = np.loadtxt(args.table, delimiter=",", skiprows=1, unpack=True)
    random = np.random.default_rng(7)
    lost = np.array([regret(args.policy, x, f, random) for _ in range(args.trials)])
    print(f"{lost.mean():.1f} with a standard error of {lost.std(ddof=1) / np.sqrt(args.trials):.1f}")
