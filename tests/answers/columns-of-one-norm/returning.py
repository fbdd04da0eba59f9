"""A lower bound on the error of running sums over all factorisations, for users who take part k times, exactly b rounds apart, in T = k b
rounds, or k times with independent signs: NumPy alone, nothing of this program.

For X = C' C and every phase i, the entries of X over rounds i, i + b, ... add up to at most S² (the same contribution each time), and so
do those of its diagonal (the mean over contributions of either sign). Of weights p of rows, and a and e of these 2 b conditions, that add up
to 1 each, the sum of singular values of diag(sqrt p) A W^(1/2) with W = sum of a_i (ones on phase i) + e_i (identity on phase i) is a lower
bound; the weights climb by the same steps as in best.py. Other patterns of rounds can only raise the least error.
"""

import numpy as np


def bound(count, apart, rms, steps=120):
    rounds = count * apart
    a = np.tril(np.ones((rounds, rounds)))
    phase = np.arange(rounds) % apart
    same = (phase[:, None] == phase).astype(float)
    p = np.full(rounds, 1 / rounds)
    ones, eyes = np.full(apart, 0.5 / apart), np.full(apart, 0.5 / apart)

    def power(exponent):
        """W to a power: on a phase its eigenvalues are e + k a along ones, and e."""
        each = eyes**exponent
        along = ((eyes + count * ones) ** exponent - each) / count
        return same * along[phase] + np.diag(each[phase])

    best = 0.0
    for _ in range(steps):
        u, s, v = np.linalg.svd(np.sqrt(p)[:, None] * (a @ power(0.5)))
        least = s.sum()
        best = max(best, least)
        back = power(-0.5)
        x = back @ ((v.T * s) @ v) @ back
        if not rms:
            p = (u * u) @ s
            p = p / p.sum()
        ones = ones * np.array([x[i::apart, i::apart].sum() for i in range(apart)])
        eyes = np.maximum(eyes * np.array([np.trace(x[i::apart, i::apart]) for i in range(apart)]), 1e-12)
        total = ones.sum() + eyes.sum()
        ones, eyes = ones / total, eyes / total
    return best


for count, apart in [(4, 16), (4, 64), (16, 16)]:
    print(count, apart, "largest at least", bound(count, apart, False), "root-mean-square at least", bound(count, apart, True), flush=True)
