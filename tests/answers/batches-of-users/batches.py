"""What do batches of users cost whose sums of rewards a trusted server releases once?

Written from the statement of the algorithm: a Gaussian process with a Matern-5/2 kernel over the table's points; the first batch
plays a uniformly random point, each later batch the point with the largest mean + beta * deviation; every user of a batch plays
it. Rewards are clipped, and the batch's sum gets one Laplace draw of scale (hi - lo) / epsilon. The mean of a batch is one
observation with variance noise / b + 2 ((hi - lo) / (epsilon b))^2.

With --shuffled each user answers with one bit about their own reward, and a shuffler gives the server the number of bits of a
batch. The bit is wrong with probability r at the ends of the range, the least r for which the number of b bits keeps (epsilon,
delta), all other users being at either end in any numbers. The mean is one observation with variance
noise / b + ((hi - lo) / 2 / (1 - 2 r))^2 / b.

    python3 batches.py [--table FILE] [--batch B] [--trials N] [--shuffled]
"""
import argparse
import math
import numpy as np

ROUNDS, EPSILON, LO, HI, BOUND, BETA, SCALE, DELTA = 2000, 1.0, -4.0, 4.0, 1.0, 2.0, 0.2, 1e-4


def failure(r, users):
    """The delta of the number of bits at epsilon, by its law for every number of others at the upper end."""
    worst = 0.0
    for upper in range(users):
        law = np.ones(1)
        for other in range(users - 1):
            law = np.convolve(law, [r, 1 - r] if other < upper else [1 - r, r])
        one, two = np.convolve(law, [r, 1 - r]), np.convolve(law, [1 - r, r])
        worst = max(worst, np.maximum(one - math.exp(EPSILON) * two, 0).sum())
    return worst


def wrong(users):
    low, high = 1e-9, 1 / (1 + math.exp(EPSILON))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if failure(middle, users) <= DELTA else (middle, high)
    return high


def regret(x, f, batch, random, r=None):
    distance = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / SCALE
    covariance = (1 + distance + distance**2 / 3) * np.exp(-distance)
    mean = np.zeros(len(x))
    half = (HI - LO) / 2
    noise = 2 * ((HI - LO) / (EPSILON * batch)) ** 2 if r is None else (half / (1 - 2 * r)) ** 2 / batch
    variance = BOUND**2 / 3 / batch + noise
    lost, left = 0.0, ROUNDS
    point = random.integers(len(x))
    while left:
        users = min(batch, left)
        lost += users * (f.max() - f[point])
        left -= users
        rewards = np.clip(f[point] + random.uniform(-BOUND, BOUND, users), LO, HI)
        if users == batch:
            if r is None:
                observed = (rewards.sum() + random.laplace(0, (HI - LO) / EPSILON)) / batch
            else:
                up = random.random(users) < 0.5 * (1 + (rewards - (LO + HI) / 2) / half * (1 - 2 * r))
                observed = (LO + HI) / 2 + half / (1 - 2 * r) * (2 * up - 1).mean()
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
    parser.add_argument("--shuffled", action="store_true")
    args = parser.parse_args()
    x, f = np.loadtxt(args.table, delimiter=",", skiprows=1, unpack=True)
    random = np.random.default_rng(7)
    r = wrong(args.batch) if args.shuffled else None
    if r is not None:
        print(f"a wrong bit at the ends: {r:.9f}, epsilon {math.log((1 - r) / r):.6f}")
    lost = np.array([regret(x, f, args.batch, random, r) for _ in range(args.trials)])
    print(f"{lost.mean():.1f} with a standard error of {lost.std(ddof=1) / np.sqrt(args.trials):.1f}")
