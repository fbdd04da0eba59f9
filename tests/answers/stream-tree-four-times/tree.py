"""Price of the tree over 1024 rounds for one who takes part four times, 256 rounds apart: all 256 ways, NumPy alone."""

import numpy as np

ROUNDS, COUNT, APART, SIGMA = 1024, 4, 256, 2.0
nodes = np.array([[k - (k & -k) < j <= k for j in range(1, ROUNDS + 1)] for k in range(1, ROUNDS + 1)], dtype=float)
norm = max(np.linalg.norm(nodes[:, [r + APART * i for i in range(COUNT)]].sum(axis=1)) for r in range(APART))
# Vectors of norm at most 1, another user's instead: 2.
print("mu", 2 * norm / SIGMA)
