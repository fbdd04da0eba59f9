"""What do batches of users cost whose sums of rewards a trusted server releases once?

Written from the statement of the algorithm: a Gaussian process with a Matern-5/2 kernel over the table's points; the first batch
plays a uniformly random point, each later batch the point with the largest mean + beta * deviation; every user of a batch plays
it. Rewards are clipped, and the batch's sum gets one Laplace draw of scale (hi - lo) / epsilon. The mean of a batch is one
observation with variance noise / b + 2 ((hi - lo) / (epsilon b))^2.

    python3 batches.py [--table FILE] [--batch B] [--trials N]
"""
import argparse
import numpy as np

ROUNDS, EPSILON, LO, HI, BOUND, BETA, SCALE = 2000, 1.0, -4.0, 4.0, 1.0, 2.0, 0.2


def regret(x, f, batch, random):
    distance = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / SCALE
    covariance = (1 + distance + distance**2 / 3) * np.exp(-distance)
    mean = np.zeros(len(x))
    variance = BOUND**2 / 3 / batch + 2 * ((HI - LO) / (EPSILON * batch)) ** 2
    lost, left = 0.0, ROUNDS
    point = random.integers(len(x))
    while left:
        users = min(batch, left)
        lost += users * (f.max() - f[point])
        left -= users
        rewards = np.clip(f[point] + random.uniform(-BOUND, BOUND, users), LO, HI)
        if users == batch:
            observed = (rewards.sum() + random.laplace(0, (HI - LO) / EPSILON)) / batch
            gain = covariance[point] / (covariance[point, point] + variance)
            mean = mean + gain * (observed - mean[point])
            covariance = covariance - np.outer(gain, covariance[point])
            point = int(np.argmax(mean + BETA * np.sqrt(np.maximum(np.diag(covariance), 0))))
    return lost


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", default="table.csv")
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--trials", type=int, default=400)
    args = parser.parse_args()
    x, f = np.loadtxt(args.table, delimiter=",", skiprows=1, unpack=True)
    random = np.random.default_rng(7)
    lost = np.array([regret(x, f, args.batch, random) for _ in range(args.trials)])
    print(f"{lost.mean():.1f} with a standard error of {lost.std(ddof=1) / np.sqrt(args.trials):.1f}")
