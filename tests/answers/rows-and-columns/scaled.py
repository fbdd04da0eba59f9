"""Largest and root-mean-square error of running sums by the square root of their matrix with scaled rows and columns: NumPy alone, nothing of
this program.

C is the square root, R = diag(t^a (T + 1 - t)^b), and F gives all columns of R C F the norm 1: errors are the largest and the root-mean-square
norm of a row of A (R C F)^-1. The matrix is written down and inverted.
"""

import math
import sys

import numpy as np


def errors(rounds, before, after):
    c = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, rounds)]))
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    root = np.where(lag >= 0, c[np.maximum(lag, 0)], 0.0)
    t = np.arange(1.0, rounds + 1)
    matrix = (t**before * (rounds + 1 - t) ** after)[:, None] * root
    matrix /= np.linalg.norm(matrix, axis=0)
    rows = np.square(np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(matrix)).sum(axis=1)
    return math.sqrt(rows.max()), math.sqrt(rows.mean())


for rounds in [int(word) for word in sys.argv[1:]] or [64, 256, 1024]:
    log = math.log(rounds)
    before, after = 1 / (1.9 + 0.6 * log), min(0.246, 0.183 + 0.305 / log)
    print(rounds, "columns alone", *errors(rounds, 0.0, 0.0), "rows too", *errors(rounds, before, after), flush=True)
