"""Bayesian optimization on a table whose responses are released with noise, and what each record has spent."""

import numpy as np
import opendp.prelude as dp
import optuna

dp.enable_features("contrib")
optuna.logging.set_verbosity(optuna.logging.WARNING)
table = np.genfromtxt("patients.csv", delimiter=",", names=True)
x = np.column_stack([table["age"] / 15, table["dose"] / 2.5])
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
mechanism = dp.m.make_laplace(*space, scale=1 / 4.0)
spent = np.zeros(len(x))


def release(trial):
    age = trial.suggest_float("age", x[:, 0].min(), x[:, 0].max())
    dose = trial.suggest_float("dose", x[:, 1].min(), x[:, 1].max())
    row = int(((x - [age, dose]) ** 2).sum(axis=1).argmin())
    loss = mechanism.map(1.0)
    if spent[row] + loss > 120:
        raise RuntimeError(f"record {row} has spent its budget")
    spent[row] += loss
    trial.set_user_attr("row", row)
    return mechanism(float(np.clip(table["response"][row], 0, 1)))


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(release, n_trials=30)
best = study.best_trial.user_attrs["row"]
print("best row", best, "of response", table["response"][best])
print({row: loss for row, loss in enumerate(spent) if loss})
