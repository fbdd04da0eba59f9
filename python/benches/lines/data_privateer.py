"""Bayesian optimization on a table whose responses are released with noise, and what each record has spent."""

import numpy as np
import privateer as pv

response = np.genfromtxt("patients.csv", delimiter=",", names=True)["response"]
spec = pv.Spec.load({
    "rounds": 30,
    "environment": {
        "kind": "points-table",
        "file": "patients.csv",
        "inputs": ["age", "dose"],
        "scales": [15.0, 2.5],
        "standardise": False,
        "bound": 1.0,
        "kernel": {"kind": "squared-exponential", "lengthscale": 0.8, "variance": 0.2},
        "noise": {"kind": "gaussian", "sd": 0.05},
    },
}).privacy("laplace", epsilon=4.0, clip=(0.0, 1.0))
spec = spec.policy("igp-ucb", beta={"kind": "constant", "value": 2.0}, ridge=0.13)
session = pv.Session(spec, throwaway=True, budget="epsilon=120", data=".")
for _ in range(30):
    row = session.ask().row
    session.tell(row, response[row])
print("best row", session.best(), "of response", response[session.best()])
print(session.ledger())
