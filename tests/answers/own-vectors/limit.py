"""PrivUnit's standard deviation of an entry over that of PrivUnitG in many dimensions [Asi, Feldman & Talwar 2022]: no NumPy.

A vector of length R in n dimensions, n large: an entry of the release has R min over q of ((1 - q) e^epsilon + q)/(phi(Phi^-1(q)) (e^epsilon - 1)).
Standard deviations of `local-gaussian` (delta 1e-5) and `privunit` for items with rewards in [0, 1] are those of docs/proofs/privunit.md.
"""

from math import erfc, exp, pi, sqrt


def constant(epsilon):
    def at(threshold):
        q = 0.5 * erfc(-threshold / sqrt(2))
        return ((1 - q) * exp(epsilon) + q) / (exp(-threshold * threshold / 2) / sqrt(2 * pi) * (exp(epsilon) - 1))

    return min(at(step / 1000) for step in range(8000))


EPSILONS, GAUSSIAN = (0.5, 1, 2, 4), (8.79, 4.66, 2.49, 1.35)
for features, deviations in ((36, (4.30, 2.16, 1.09, 0.57)), (2, (3.40, 1.70, 0.84, 0.40))):
    # R^2 = (1 - 1/N)/2 + Y^2 for Y = 1/2.
    radius = sqrt((1 - 1 / features) / 2 + 0.25)
    for epsilon, gaussian, sphere in zip(EPSILONS, GAUSSIAN, deviations):
        limit = radius * constant(epsilon)
        print(f"{features} features, epsilon {epsilon}: gaussian {gaussian / limit:.2f}, privunit {sphere / limit:.2f}")
