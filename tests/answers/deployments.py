"""Prices of deployments in closed form: Gaussian releases of rows compose to one Gaussian.

A release with stated (epsilon, delta) at radius R and bound B has mu(d) = mu0 min(d, 2B)/min(R, 2B) at distance d, where mu0 solves
delta = Phi(mu0/2 - epsilon/mu0) - e^epsilon Phi(-mu0/2 - epsilon/mu0) (Balle & Wang 2018, theorem 8).

    python3 deployments.py DELTA DISTANCE EPSILON:DELTA:RADIUS:BOUND[xCOUNT] ...

prints the exact epsilon of all releases at DELTA for a move of DISTANCE (`inf` for whole records). Radius `value` is a Gaussian value.
"""

import math
import sys


def log_tail(x):
    """The logarithm of the probability that a standard normal number exceeds x."""
    if x < 10:
        return math.log(0.5 * math.erfc(x / math.sqrt(2)))
    s = 1 / (x * x)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log(1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s))))


def delta(epsilon, mu):
    return math.exp(log_tail(epsilon / mu - mu / 2)) - math.exp(epsilon + log_tail(epsilon / mu + mu / 2))


def bisect(holds, no, yes):
    for _ in range(300):
        middle = (no + yes) / 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes


def epsilon_of(mu, at):
    return bisect(lambda epsilon: delta(epsilon, mu) <= at, 0, mu * mu / 2 + 40 * mu + 1)


def mu_of(epsilon, at):
    return bisect(lambda mu: at < delta(epsilon, mu), 1e-9, 100)


def main(at, distance, releases):
    squares = 0
    for release in releases:
        release, _, count = release.partition("x")
        epsilon, own, radius, bound = release.split(":")
        share = 1
        if radius != "value":
            most = 2 * float(bound)
            share = min(float(distance), most) / min(float(radius), most)
        squares += int(count or 1) * (mu_of(float(epsilon), float(own)) * share) ** 2
    print(epsilon_of(math.sqrt(squares), float(at)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
