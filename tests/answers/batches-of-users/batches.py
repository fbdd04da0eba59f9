"""What do batches of users cost whose sums of rewards a trusted server releases once?

Written from the statement of the algorithm: a Gaussian process with a Matern-5/2 kernel over the table's points; the first batch
plays a uniformly random point, each later batch the point with the largest mean + beta * deviation; every user of a batch plays
it. Rewards are clipped, and the batch's sum gets one Laplace draw of scale (hi - lo) / epsilon. The mean of a batch is one
observation with variance noise / b + 2 ((hi - lo) / (epsilon b))^2.

With --shuffled each user answers with one of k levels, spaced evenly over the clip range: the reward is rounded to one of the two
levels beside it with the reward as the mean, and answered with probability 1 - k r, else a uniformly random level is. A shuffler
gives the server the answers of a batch in random order. r is the least for which the answers of b users keep (epsilon, delta) where
everybody also sees which other users answered at random, and k is raised from 2 while the variance at the worst reward falls; for
two levels r is the least for which the number of upper answers keeps it, all other users being at either end in any numbers. The
mean of the answers less the random ones' share is one observation with variance (noise + that worst variance) / b.

    python3 batches.py [--table FILE] [--batch B] [--trials N] [--shuffled]
"""
import argparse
import math
import numpy as np

ROUNDS, EPSILON, LO, HI, BOUND, BETA, SCALE, DELTA = 2000, 1.0, -4.0, 4.0, 1.0, 2.0, 0.2, 1e-4


def numbers(n, p):
    """The law of the number of successes of n trials, by convolution."""
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, [1 - p, p])
    return law


def failure(r, users, levels):
    """The delta at epsilon of the answers of a batch."""
    e = math.exp(EPSILON)
    if levels == 2:
        worst = 0.0
        for upper in range(users):
            law = np.convolve(numbers(upper, 1 - r), numbers(users - 1 - upper, r))
            one, two = np.convolve(law, [r, 1 - r]), np.convolve(law, [1 - r, r])
            worst = max(worst, np.maximum(one - e * two, 0).sum())
        return worst
    delta = 0.0
    for others, weight in enumerate(numbers(users - 1, levels * r)):
        # Uniform answers: at the two levels of the user, and of those at the first.
        for both, p in enumerate(numbers(others + 1, 2 / levels)):
            first = np.arange(both + 1)
            ratio = lambda at: levels * r + (1 - levels * r) * levels * at / (others + 1)
            delta += weight * p * (numbers(both, 0.5) * np.maximum(ratio(first) - e * ratio(both - first), 0)).sum()
    return delta


def wrong(users, levels):
    low, high = 1e-9, 1 / (levels - 1 + math.exp(EPSILON))
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if failure(middle, users, levels) <= DELTA else (middle, high)
    return high


def variance(r, levels):
    """The largest variance of an answer around its input on [-1, 1]."""
    at, kept, t = np.linspace(-1, 1, levels), 1 - levels * r, np.linspace(-1, 1, 200001)
    place = (t + 1) / 2 * (levels - 1)
    below = np.minimum(place.astype(int), levels - 2)
    up = place - below
    square = (1 - up) * at[below] ** 2 + up * at[below + 1] ** 2
    return ((kept * square + (1 - kept) * (at**2).mean()) / kept**2 - t**2).max()


def answers(users):
    best = None
    for levels in range(2, 65):
        r = wrong(users, levels)
        if best and best[2] <= variance(r, levels):
            return best
        best = (levels, r, variance(r, levels))
    return best


def regret(x, f, batch, random, answer=None):
    distance = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / SCALE
    covariance = (1 + distance + distance**2 / 3) * np.exp(-distance)
    mean = np.zeros(len(x))
    half = (HI - LO) / 2
    noise = 2 * ((HI - LO) / (EPSILON * batch)) ** 2 if answer is None else half**2 * answer[2] / batch
    variance = BOUND**2 / 3 / batch + noise
    lost, left = 0.0, ROUNDS
    point = random.integers(len(x))
    while left:
        users = min(batch, left)
        lost += users * (f.max() - f[point])
        left -= users
        rewards = np.clip(f[point] + random.uniform(-BOUND, BOUND, users), LO, HI)
        if users == batch:
            if answer is None:
                observed = (rewards.sum() + random.laplace(0, (HI - LO) / EPSILON)) / batch
            else:
                levels, r, _ = answer
                kept, place = 1 - levels * r, ((rewards - LO) / half) / 2 * (levels - 1)
                own = np.floor(place + random.random(users))
                given = np.where(random.random(users) < kept, own, random.integers(levels, size=users))
                observed = (LO + HI) / 2 + half / kept * (2 * given / (levels - 1) - 1).mean()
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
    answer = answers(args.batch) if args.shuffled else None
    if answer is not None:
        print(f"{answer[0]} levels, each other answer {answer[1]:.9f}, largest variance {answer[2]:.6f}")
    lost = np.array([regret(x, f, args.batch, random, answer) for _ in range(args.trials)])
    print(f"{lost.mean():.1f} with a standard error of {lost.std(ddof=1) / np.sqrt(args.trials):.1f}")
