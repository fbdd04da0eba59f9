"""Prices of noisy running sums, from the matrices themselves: NumPy alone, nothing of this program.

Noise B z makes A x private where A = B C is the matrix of prefix sums. One user's rows of x move by at most 2 (another user's
vector, clipped to norm 1), so C x moves by at most 2 times the norm of a sum of the columns of C for that user's rounds, and
the releases are mu-Gaussian with mu = 2 norm / sigma.
"""

import numpy as np

SIGMA = 2.0


def square_root(rounds: int) -> np.ndarray:
    """Returns the square root of the matrix of prefix sums, a power series in the shift by one round."""
    c = np.ones(rounds)
    for k in range(1, rounds):
        c[k] = c[k - 1] * (2 * k - 1) / (2 * k)
    root = sum(np.diag(np.full(rounds - k, c[k]), -k) for k in range(rounds))
    assert np.allclose(root @ root, np.tril(np.ones((rounds, rounds))))
    return root


def tree(rounds: int) -> np.ndarray:
    """Returns one row for each node that a prefix needs: node k holds the rounds after k minus its lowest binary digit."""
    return np.array([[k - (k & -k) < j <= k for j in range(1, rounds + 1)] for k in range(1, rounds + 1)], dtype=float)


def mu(c: np.ndarray, rounds: "list[list[int]]") -> float:
    return max(2 * np.linalg.norm(c[:, held].sum(axis=1)) for held in rounds) / SIGMA


once = [[t] for t in range(1000)]
print("square root, 1000 rounds, once:", mu(square_root(1000), once))
print("tree, 1000 rounds, once:", mu(tree(1000), once))
# Every way to take part three times at least 200 rounds apart in 600 rounds, in steps of ten.
thrice = [[a, b, c] for a in range(0, 600, 10) for b in range(a + 200, 600, 10) for c in range(b + 200, 600, 10)]
print("square root, 600 rounds, three times, 200 apart:", mu(square_root(600), thrice))
# The sum of squares of the first T coefficients is (ln T + gamma + 4 ln 2)/pi + O(1/T): those of the elliptic integral.
print("square root, 1e7 rounds, once:", 2 * np.sqrt((np.log(1e7) + np.euler_gamma + 4 * np.log(2)) / np.pi) / SIGMA)
