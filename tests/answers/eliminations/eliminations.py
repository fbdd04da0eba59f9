"""What do policies lose that play in batches and drop points, or arms without a kernel?

Written from the statements of the algorithms. Rewards are uniform around the mean, on [f - 1, f + 1], T = 2000.

bpe: batch i has ceil(sqrt(T N_(i-1))) rounds, N_0 = 1, the last what is left. Its plays are planned: the survivor of largest posterior
variance gets `users` plays, or an eighth of its plays more if that is more, or all that is left if that is below 2 `users`; the
posterior knows this batch alone, a point of n plays has noise of variance v/n + s^2/n^2, and a single survivor gets all plays. Each
point is played in one row, and its mean is observed, with one Laplace draw on its sum under privacy. Points with
mean + 2 deviation < max(mean - 2 deviation) are dropped. users = ceil(min(s^2/v, s/1, T/32)), at least 1.

se: epoch e = 1, 2, ... plays each of S survivors r times, the least r with w(r) = sqrt(v/r + s^2/r^2) <= G 2^-e / 4; G is the largest
gap that is possible: the length of the clip range, or twice the bound of |f|, if less; drops those whose mean is below the best less
2 w. If S r is more than the rounds left, the best survivor is played to the end, or before any epoch each for half of its share.

ucb1: each arm once, then the largest mean + sqrt(ln t) sqrt(v/n) in round t + 1, v = 1/3 plus the variance of Laplace noise.

    python3 eliminations.py bpe|se|ucb1 [--table arms.csv] [--epsilon E] [--trials N]
"""
import argparse
import numpy as np

T, LO, HI, BOUND, SCALE = 2000, -4.0, 4.0, 3.0, 0.2


class Trial:
    def __init__(self, f, random, epsilon):
        self.f, self.random, self.epsilon, self.lost = f, random, epsilon, 0.0

    def mean(self, point, n):
        """The released mean of n plays."""
        self.lost += n * (self.f.max() - self.f[point])
        rewards = np.clip(self.f[point] + self.random.uniform(-1, 1, n), LO, HI)
        noise = self.random.laplace(0, (HI - LO) / self.epsilon) if self.epsilon else 0.0
        return (rewards.sum() + noise) / n


def planned(K, S, length, users, noise):
    n = np.zeros(len(S), int)
    order, left = [], length
    while left:
        if order:
            C = K[np.ix_(S[order], S)]
            A = K[np.ix_(S[order], S[order])] + np.diag(noise(n[order]))
            variance = np.diag(K)[S] - np.sum(C * np.linalg.solve(A, C), axis=0)
        else:
            variance = np.diag(K)[S]
        at = int(np.argmax(variance))
        plays = left if len(S) == 1 or left < 2 * users else min(left, max(users, n[at] // 8))
        if n[at] == 0:
            order.append(at)
        n[at] += plays
        left -= plays
    return order, n


def bpe(trial, x, cache):
    d = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / SCALE
    K = (1 + d + d**2 / 3) * np.exp(-d)
    v, s = 1 / 3, (np.sqrt(2) * (HI - LO) / trial.epsilon if trial.epsilon else 0.0)
    users = max(1, int(np.ceil(min(s**2 / v, s, T // 32))))
    noise = lambda n: v / n + (s / n) ** 2
    S, before, left = np.arange(len(x)), 1, T
    while left:
        before = int(np.ceil(np.sqrt(T * before)))
        length = min(before, left)
        left -= length
        key = (length, tuple(S))
        if key not in cache:
            order, n = planned(K, S, length, users, noise)
            C = K[np.ix_(S[order], S)]
            W = np.linalg.solve(K[np.ix_(S[order], S[order])] + np.diag(noise(n[order])), C)
            cache[key] = order, n, W, np.sqrt(np.maximum(np.diag(K)[S] - np.sum(C * W, axis=0), 0))
        order, n, W, deviation = cache[key]
        mean = W.T @ np.array([trial.mean(S[at], n[at]) for at in order])
        S = S[mean + 2 * deviation >= np.max(mean - 2 * deviation)]


def se(trial, x, cache):
    v, s = 1 / 3, (np.sqrt(2) * (HI - LO) / trial.epsilon if trial.epsilon else 0.0)
    gap = min(HI - LO if trial.epsilon else np.inf, 2 * BOUND)
    width = lambda r: np.sqrt(v / r + (s / r) ** 2)
    S, left, e, best = np.arange(len(x)), T, 1, None
    while left:
        r = 1
        while width(r) > gap * 2.0**-e / 4:
            r += 1
        if len(S) == 1 or len(S) * r > left:
            if best is not None:
                trial.mean(best, left)
                return
            r = max(1, left // len(S) // 2)
        means = np.array([trial.mean(arm, r) for arm in S])
        left -= r * len(S)
        best = S[np.argmax(means)]
        S = S[means + width(r) >= np.max(means) - width(r)]
        e += 1


def ucb1(trial, x, cache):
    b = (HI - LO) / trial.epsilon if trial.epsilon else 0.0
    v = 1 / 3 + 2 * b**2
    sums = np.array([trial.mean(arm, 1) for arm in range(len(x))])
    n = np.ones(len(x))
    for t in range(len(x), T):
        arm = int(np.argmax(sums / n + np.sqrt(np.log(t + 1) * v / n)))
        sums[arm] += trial.mean(arm, 1)
        n[arm] += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("policy", choices=["bpe", "se", "ucb1"])
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--table", default="table.csv")
    parser.add_argument("--trials", type=int, default=400)
    args = parser.parse_args()
    x, f = np.loadtxt(args.table, delimiter=",", skiprows=1, unpack=True)
    random, lost, cache = np.random.default_rng(7), [], {}
    for _ in range(args.trials):
        trial = Trial(f, random, args.epsilon)
        globals()[args.policy](trial, x, cache)
        lost.append(trial.lost)
    lost = np.array(lost)
    print(f"{lost.mean():.1f} with a standard error of {lost.std(ddof=1) / np.sqrt(len(lost)):.1f}")
