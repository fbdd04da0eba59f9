"""An algorithm of one's own beside a built-in one, with common random numbers."""

import numpy as np
import privateer as pv


class MeanUcb:
    def start(self, problem, trials, rngs):
        self.at = np.arange(len(trials))
        self.count = np.full((len(trials), problem.n_points), 1e-9)
        self.sum = np.zeros_like(self.count)

    def ask(self, t):
        return np.argmax(self.sum / self.count + np.sqrt(np.log(t + 1) / self.count), axis=1)

    def tell(self, points, released):
        self.count[self.at, points] += 1
        self.sum[self.at, points] += released


spec = pv.Spec.load({
    "rounds": 100,
    "trials": 10,
    "environment": {
        "kind": "rkhs",
        "domain": {"kind": "grid", "points": 20},
        "kernel": {"kind": "matern", "nu": 2.5, "lengthscale": 0.2},
        "noise": {"kind": "uniform", "bound": 0.1},
        "output": "unit",
    },
}).privacy("laplace", epsilon=4.0, clip=(0.0, 1.0))
spec = spec.policy(MeanUcb).policy("igp-ucb", beta={"kind": "constant", "value": 2.0})
print(pv.run(spec, progress=False).compare("mean-ucb", "igp-ucb"))
