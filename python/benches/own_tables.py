"""Times own tables under local Laplace noise: `privateer run` beside a loop in NumPy, microseconds of CPU a trial-round.

    OPENBLAS_NUM_THREADS=1 taskset -c 1 python3 python/benches/own_tables.py PRIVATEER [PRIVATEER ...]

A table has N points of standard normal coordinates; the policy is `igp-ucb` at its defaults, T = 500. Programs and loop take turns, and
the least of `REPEATS` (by default 5) counts. A program's figure is the difference between 48 and 16 trials. `TABLES` names some tables.
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROUNDS = 500
TABLES = os.environ.get("TABLES", "300x8 1000x2 1000x8 3000x3 10000x5")


def write(folder, n, d):
    """Writes a table and its spec; returns the spec's path."""
    draws = np.random.default_rng(7 + n + d)
    x, w = draws.standard_normal((n, d)), draws.standard_normal((64, d))
    y = np.cos(x @ w.T + 2 * np.pi * draws.random(64)) @ draws.standard_normal(64) / 5.6
    names = [f"x{i}" for i in range(d)]
    header = ",".join([*names, "y"])
    np.savetxt(folder / f"t{n}_{d}.csv", np.column_stack([x, y]), "%.6f", ",", header=header, comments="")
    spec = folder / f"s{n}_{d}.toml"
    spec.write_text(f"""name = "Own table"
seed = 1001
references = false
trials = 16
rounds = {ROUNDS}
accepted_warnings = ["clip"]
[environment]
kind = "points-table"
file = "t{n}_{d}.csv"
inputs = {names}
value = "y"
kernel = {{ kind = "squared-exponential", lengthscale = 1.0 }}
noise = {{ kind = "gaussian", sd = 0.1 }}
[privacy]
mechanism = "laplace"
epsilon = 1.0
clip = [-3.0, 3.0]
[[policy]]
kind = "igp-ucb"
""")
    return spec


def program(binary, spec, trials):
    """Returns the CPU seconds of a run."""
    out = spec.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    options = ["--data", spec.parent, "--threads", "1", "--backend", "cpu", "--quiet", "--trials", str(trials), "--out", out]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([binary, "run", spec, *options], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop(n, d, real):
    """Plays one trial by the rows of a Cholesky factor, which are held for all points; returns its CPU seconds."""
    draws = np.random.default_rng(1)
    x, f = draws.standard_normal((n, d)).astype(real), draws.standard_normal(n).astype(real)
    start = time.process_time()
    norms, rows = (x * x).sum(1), np.zeros((ROUNDS, n), real)
    mean, variance, score = np.zeros(n, real), np.ones(n, real), np.empty(n, real)
    ridge, gain, point = 1 + 2 / ROUNDS, 0.0, int(draws.integers(n))
    for t in range(ROUNDS):
        reward = f[point] + draws.laplace(0, 6.0)
        k = norms + norms[point]
        k -= 2 * (x @ x[point])
        np.maximum(k, 0, out=k)
        k *= real(-0.5)
        np.exp(k, out=k)
        if t:
            k -= rows[:t, point] @ rows[:t]
        left = float(k[point])
        root = real(1 / np.sqrt(left + ridge))
        row = np.multiply(k, root, out=rows[t])
        gain += 0.5 * np.log1p(left / ridge)
        mean += np.multiply(row, real((reward - mean[point]) * root), out=score)
        variance -= np.multiply(row, row, out=score)
        np.sqrt(np.maximum(variance, 0, out=score), out=score)
        score *= real(3 + 8.7 * np.sqrt(2 * (gain + 3.3)))
        score += mean
        point = int(score.argmax())
    return time.process_time() - start


def main():
    """Prints a line a table."""
    binaries, repeats = [str(pathlib.Path(path).resolve()) for path in sys.argv[1:]], int(os.environ.get("REPEATS", "5"))
    with tempfile.TemporaryDirectory() as made:
        for n, d in (map(int, table.split("x")) for table in TABLES.split()):
            spec, least = write(pathlib.Path(made), n, d), {}
            for _ in range(repeats):
                for key, seconds in [
                    *(((binary, trials), lambda b=binary, t=trials: program(b, spec, t)) for binary in binaries for trials in (16, 48)),
                    *((name, lambda real=real: loop(n, d, real)) for name, real in [("f32", np.float32), ("f64", np.float64)]),
                ]:
                    least[key] = min(least.get(key, np.inf), seconds())
            ours = [f"{1e6 * (least[b, 48] - least[b, 16]) / (32 * ROUNDS):.1f}" for b in binaries]
            numpy = [f"NumPy {name} {1e6 * least[name] / ROUNDS:.1f}" for name in ("f32", "f64")]
            print(f"{n} points, d = {d}:", ", ".join([*ours, *numpy]), flush=True)


if __name__ == "__main__":
    main()
