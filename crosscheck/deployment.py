"""Prices deployments with dp-accounting (PyPI) and compares with `privateer ledger --json`.

    pip install dp-accounting
    privateer ledger --json SESSION > ledger.json
    python crosscheck/deployment.py ledger.json     # ends with 1 where a figure differs by more than 1e-6
    python crosscheck/deployment.py                 # prints the cases of tests/it/data/accountants.json
"""

import json
import math
import sys

from dp_accounting import dp_event, get_epsilon_gaussian, rdp


def event(loss):
    """The dp-accounting event of one release."""
    if loss["kind"] == "gaussian":
        return dp_event.GaussianDpEvent(1 / loss["mu"])
    if loss["kind"] == "zcdp":
        return dp_event.ZCDpEvent(loss["rho"])
    # Pure losses are epsilon^2/2-concentrated.
    return dp_event.ZCDpEvent(pure(loss) ** 2 / 2)


def pure(loss):
    return max(loss["epsilon"], loss.get("response", 0.0))


def concentrated(parts, delta):
    """Epsilon by Renyi orders around the best one; the total rho serves to find it alone."""
    rho = sum(count * (loss["mu"] ** 2 / 2 if loss["kind"] == "gaussian" else pure(loss) ** 2 / 2) for loss, count in parts)
    best = 1 + math.sqrt(math.log(1 / delta) / rho)
    accountant = rdp.RdpAccountant([1 + (best - 1) * math.exp(x / 20000) for x in range(-8000, 8001)])
    for loss, count in parts:
        accountant.compose(event(loss), count)
    return float(accountant.get_epsilon(delta))


def gaussian(parts, delta):
    """Epsilon of Gaussian releases, which are one Gaussian release together."""
    mu = math.sqrt(sum(count * loss["mu"] ** 2 for loss, count in parts))
    return get_epsilon_gaussian(1 / mu, delta, tol=1e-12)


def priced(kind, parts, delta):
    if kind == "sum":
        return sum(count * pure(loss) for loss, count in parts)
    return (concentrated if kind == "zcdp" else gaussian)(parts, delta)


def normal(mu):
    return {"kind": "gaussian", "mu": mu}


def laplace(epsilon):
    return {"kind": "laplace", "epsilon": epsilon}


if len(sys.argv) == 1:
    for name, epsilon in [
        ("ten answers at epsilon 2, zcdp", concentrated([(laplace(2.0), 10)], 1e-6)),
        ("three of mu 0.4 and five of epsilon 0.3, zcdp", concentrated([(normal(0.4), 3), (laplace(0.3), 5)], 1e-6)),
        ("seven of mu 0.25, gaussian-dp", gaussian([(normal(0.25), 7)], 1e-6)),
        ("twenty of mu 0.9, gaussian-dp", gaussian([(normal(0.9), 20)], 1e-5)),
    ]:
        print(f"{name}: {epsilon!r}")
    sys.exit()

worst = 0.0
for file in json.load(open(sys.argv[1]))["files"]:
    ledger = file["ledger"]
    for change in ledger["changes"]:
        for record in change["records"]:
            # Each answer of a session or a release state is a mechanism of its own.
            mine = [spend for spend in ledger["spends"] if spend["records"] == {"kind": "one", "row": record["record"]}]
            theirs = priced(ledger["filter"], [(spend["loss"], spend["count"]) for spend in mine], ledger["delta"])
            difference = abs(record["epsilon"] - theirs) / theirs
            worst = max(worst, difference)
            print(f"{file['file']} record {record['record']}: {record['epsilon']!r} here, {theirs!r} by dp-accounting")
print(f"largest relative difference: {worst:.2e}")
sys.exit(worst > 1e-6)
