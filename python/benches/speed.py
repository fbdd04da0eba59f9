"""Measures what Python costs: rounds of a policy of one's own, the import, and a run beside the command line's.

    python python/benches/speed.py
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import privateer as pv

SPEC = """
seed = 3
block = {trials}
rounds = {rounds}
trials = {trials}
record = {{ rounds = "log" }}
[environment]
kind = "rkhs"
bound = 2.0
domain = {{ kind = "grid", points = 32 }}
kernel = {{ kind = "matern", nu = 2.5, lengthscale = 0.2 }}
noise = {{ kind = "uniform", bound = 0.5 }}
[privacy]
mechanism = "laplace"
epsilon = 1.0
"""


class Empty:
    """Plays the first point."""

    def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        self.points = np.zeros(len(trials), dtype=np.int64)

    def ask(self, t: int) -> np.ndarray:
        return self.points

    def tell(self, points: np.ndarray, released: np.ndarray) -> None:
        pass


class NumpyUcb:
    """UCB on averages of released rewards."""

    def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        n = len(trials), problem.n_points
        self.sum, self.count, self.width = np.zeros(n), np.full(n, 1e-9), np.empty(n)
        self.mean, self.at = np.zeros(n), np.arange(len(trials))
        self.root = np.full(n, 1e5)

    def ask(self, t: int) -> np.ndarray:
        np.multiply(self.root, np.sqrt(2 * np.log(t + 1)), out=self.width)
        self.width += self.mean
        return self.width.argmax(axis=1)

    def tell(self, points: np.ndarray, released: np.ndarray) -> None:
        at = self.at, points
        self.sum[at] += released
        self.count[at] += 1
        self.mean[at] = self.sum[at] / self.count[at]
        self.root[at] = 1 / np.sqrt(self.count[at])


def seconds(policy: Any, trials: int, rounds: int) -> float:
    """Returns the time of the simulation alone, as the folder's timings state it."""
    spec = pv.Spec.load(SPEC.format(trials=trials, rounds=rounds)).policy(policy)
    results = pv.run(spec, backend="cpu", threads=1, progress=False)
    header, *lines = (results.folder / "timings.csv").read_text().splitlines()
    at = header.split(",").index("seconds")
    return sum(float(line.split(",")[at]) for line in lines)


def rounds_of_own_policies() -> None:
    for trials, rounds in ((32, 50_000), (256, 10_000)):
        for policy in ("uniform", Empty, NumpyUcb):
            time_of = min(seconds(policy, trials, rounds) for _ in range(3))
            name = policy if isinstance(policy, str) else policy.__name__
            print(f"{name:10} B = {trials:3}: {1e6 * time_of / rounds:7.2f} µs a round, {trials * rounds / time_of / 1e6:.2f} M trial-rounds/s")


def import_time() -> None:
    program = "import time; start = time.perf_counter(); import privateer; print(time.perf_counter() - start)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    print(f"import privateer: {min(times):.3f} s, with NumPy")


def cpu(command: list[str]) -> float:
    """Returns the processor time of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beside_the_command_line(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.toml"
        path.write_text(SPEC.format(trials=100, rounds=4000) + '[[policy]]\nkind = "igp-ucb"\n[[policy]]\nkind = "tgp-ucb"\n')
        python = "import sys, privateer as pv; pv.run(pv.Spec.load(sys.argv[1]), sys.argv[2], backend='cpu', threads=1, progress=False)"
        times: dict[str, list[float]] = {"command line": [], "Python": []}
        for at in range(5):
            out = Path(folder) / f"cli{at}"
            times["command line"].append(
                cpu([program, "run", str(path), "--out", str(out), "--backend", "cpu", "--threads", "1", "--quiet"])
            )
            times["Python"].append(cpu([sys.executable, "-c", python, str(path), str(Path(folder) / f"py{at}")]))
    for name, found in times.items():
        print(f"processor time, {name}: {min(found):.2f} s")
    print(f"ratio {min(times['Python']) / min(times['command line']):.3f}")


if __name__ == "__main__":
    print(json.dumps({"cores": os.cpu_count(), "python": sys.version.split()[0], "numpy": np.__version__}))
    rounds_of_own_policies()
    import_time()
    beside_the_command_line(sys.argv[1] if 1 < len(sys.argv) else str(Path(sys.executable).with_name("privateer")))
