"""Regret of a private bandit over epsilon, with intervals."""

import privateer as pv

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
}).privacy("laplace", epsilon=1.0, clip=(0.0, 1.0)).set("privacy.epsilon", [1.0, 4.0, 16.0])
results = pv.run(spec.policy("igp-ucb", beta={"kind": "constant", "value": 2.0}), progress=False)
table = results.summary()
for epsilon, mean, se in zip(table["privacy.epsilon"], table["average_regret_mean"], table["average_regret_se"]):
    print(f"epsilon {epsilon}: regret {100 * mean:.1f} ± {200 * se:.1f}")
