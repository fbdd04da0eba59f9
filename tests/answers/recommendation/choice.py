"""What does a choice by the exponential mechanism lose, on average, over candidates whose scores are known?

Written from the statement: m points of the table, evenly spaced over its rows from the first on, have n rewards each without noise. Point
j is chosen with weights exp(n f_j / s), where s is the width of the clip range over epsilon, twice that if one user scores each candidate.

    python3 choice.py
"""
import numpy as np

N, M, ROUNDS, EPSILON, LO, HI = 20, 8, 80, 2.0, -2.0, 2.0
f = np.loadtxt("table.csv", delimiter=",", skiprows=1)[:, 1]
candidates = f[[j * N // M for j in range(M)]]
for name, range_moved in [("one reward", 1), ("one reward of each candidate", 2)]:
    scores = np.clip(candidates, LO, HI) * (ROUNDS // M) * EPSILON / ((HI - LO) * range_moved)
    weights = np.exp(scores - scores.max())
    chance = weights / weights.sum()
    print(f"{name}: {chance @ (f.max() - candidates):.6f}")
print(f"without privacy: {f.max() - candidates.max():.6f}")
