"""A Ray cluster of two nodes: one is lost in mid-run and another is added; the parts are those of a run on one machine.

Run by `ray.sh`. Prints what it sees; any difference ends it with an exception.
"""

import filecmp
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import privateer as pv
import privateer.ray
import ray
from ray.cluster_utils import Cluster

SPEC = """
name = "many units"
seed = 5
rounds = 400
trials = 24
block = 4
[environment]
kind = "rkhs"
bound = 2.0
domain = { kind = "grid", points = 200 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 0.5 }
[privacy]
mechanism = "laplace"
[[policy]]
kind = "tgp-ucb"
[[policy]]
kind = "igp-ucb"
[sweep.product]
"privacy.epsilon" = [0.5, 1.0, 2.0, 4.0]
"""


class Slow:
    """A policy of one's own that takes a while, so that nodes die in its middle."""

    def start(self, problem, trials, rngs):
        self.n_points, self.rngs = problem.n_points, rngs

    def ask(self, t):
        import numpy as np

        time.sleep(0.003)
        return np.array([rng.integers(self.n_points) for rng in self.rngs])

    def tell(self, points, released):
        pass


def same(left: Path, right: Path) -> int:
    """Compares the parts of two folders byte by byte; returns their number."""
    names = sorted(path.relative_to(left) for path in (left / "cells").rglob("*.parquet"))
    assert names == sorted(path.relative_to(right) for path in (right / "cells").rglob("*.parquet")) and names
    for name in names:
        assert filecmp.cmp(left / name, right / name, shallow=False), f"{name} differs"
    return len(names)


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="privateer-ray-"))
    spec = pv.Spec.load(SPEC).policy(Slow)
    pv.run(spec, scratch / "alone", backend="cpu", progress=False)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)]
    ray.init(address=cluster.address, log_to_driver=False)
    seed = random.SystemRandom().randrange(1000)
    moment = 3 + 4 * random.Random(seed).random()

    def disturb() -> None:
        time.sleep(moment)
        cluster.remove_node(nodes[0], allow_graceful=False)
        print(f"one node is lost after {moment:.1f} s (seed {seed})", flush=True)
        time.sleep(2)
        cluster.add_node(num_cpus=1)
        print("another one is added", flush=True)

    thread = threading.Thread(target=disturb)
    thread.start()
    began = time.monotonic()
    pv.ray.run(spec, scratch / "ray", seconds=1.0, progress=False)
    took = time.monotonic() - began
    thread.join()
    assert moment < took, f"the run ended after {took:.1f} s, before a node was lost"
    print(f"{same(scratch / 'alone', scratch / 'ray')} parts are equal, after {took:.1f} s")
    assert not (scratch / "ray.tasks").exists()

    # A driver that stops: the finished tasks are kept, a plan of another spec is refused, and the same call goes on.
    spec = pv.Spec.load(SPEC)
    pv.run(spec, scratch / "alone-again", backend="cpu", progress=False)
    tasks = privateer.ray.dealt(spec, scratch / "again.tasks", 0.1, None)
    first = privateer.ray.part(spec, tasks[0][0], "cpu", 1, None)
    privateer.ray.write(scratch / "again.tasks", "task-0", first)
    try:
        pv.ray.run(spec.seed(6), scratch / "again", progress=False)
    except pv.FolderError as error:
        assert "another spec" in str(error)
        print("another spec is refused")
    else:
        raise AssertionError("a plan of another spec was taken")
    pv.ray.run(spec, scratch / "again", progress=False)
    print(f"{same(scratch / 'alone-again', scratch / 'again')} parts are equal after a driver that went on, {len(tasks)} tasks")

    # A mistake in one's own code reaches the caller as in a run on one machine.
    class Wrong(Slow):
        """Names a point that does not exist."""

        def ask(self, t):
            return super().ask(t) + self.n_points

    try:
        pv.ray.run(pv.Spec.load(SPEC).policy(Wrong), scratch / "wrong", seconds=1.0, progress=False)
    except pv.PolicyError as error:
        assert "Wrong.ask" in str(error), error
        print("a wrong policy is named")
    else:
        raise AssertionError("a wrong policy was taken")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())
