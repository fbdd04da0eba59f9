"""What does GP-UCB with sub-Weibull truncation lose, and what clip range has its private form?

Written from the statement: noise of a fair sign and magnitude scale (-ln U)^theta; a Gaussian process with a Matern-5/2 kernel over
the table's points; the first round plays a uniformly random point, each later one the largest mean + 2 deviations; a reward beyond
B + scale (ln t)^theta in round t counts as 0. Clip: B + scale ln(T/failure)^theta, and Laplace noise for twice that.

    python3 weibull.py [TRIALS]
"""
import sys
import numpy as np

ROUNDS, BOUND, THETA, SCALE, RIDGE, FAILURE = 200, 1.0, 2.0, 0.3, 1.0, 0.01


def regret(x, f, random):
    distance = np.sqrt(5) * np.abs(x[:, None] - x[None, :]) / 0.2
    covariance = (1 + distance + distance**2 / 3) * np.exp(-distance)
    mean, lost, point = np.zeros(len(x)), 0.0, random.integers(len(x))
    for t in range(1, ROUNDS + 1):
        lost += f.max() - f[point]
        noise = SCALE * (-np.log(random.uniform())) ** THETA * random.choice([-1, 1])
        reward = f[point] + noise
        if BOUND + SCALE * np.log(t) ** THETA < abs(reward):
            reward = 0.0
        gain = covariance[point] / (covariance[point, point] + RIDGE)
        mean = mean + gain * (reward - mean[point])
        covariance = covariance - np.outer(gain, covariance[point])
        point = int(np.argmax(mean + 2 * np.sqrt(np.maximum(np.diag(covariance), 0))))
    return lost


if __name__ == "__main__":
    x, f = np.loadtxt("table.csv", delimiter=",", skiprows=1, unpack=True)
    random = np.random.default_rng(3)
    lost = np.array([regret(x, f, random) for _ in range(int(sys.argv[1]) if 1 < len(sys.argv) else 2000)])
    print(f"{lost.mean():.2f} with a standard error of {lost.std(ddof=1) / np.sqrt(len(lost)):.2f}")
    print(f"sensitivity {2 * (BOUND + SCALE * np.log(ROUNDS / FAILURE) ** THETA):.9f}")
