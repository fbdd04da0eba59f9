"""Price of a tree over 300 rounds for one who takes part three times, at least 41 rounds apart: all choices of rounds, standard library.

Node k holds the rounds after k minus its lowest binary digit up to k; the noise of each has standard deviation 2, and a user's vector of
norm at most 1 may be replaced by any other: mu = 2 norm / 2.
"""

import math

ROUNDS, APART = 300, 41
of = [set() for _ in range(ROUNDS)]
for k in range(1, ROUNDS + 1):
    for t in range(k - (k & -k), k):
        of[t].add(k)
shared = [[len(of[s] & of[t]) for t in range(ROUNDS)] for s in range(ROUNDS)]
most = 0
for r in range(ROUNDS):
    for s in range(r + APART, ROUNDS):
        two = shared[r][r] + shared[s][s] + 2 * shared[r][s]
        for t in range(s + APART, ROUNDS):
            most = max(most, two + shared[t][t] + 2 * (shared[r][t] + shared[s][t]))
print("squares", most, "mu", 2 * math.sqrt(most) / 2.0)
