"""Regret of a private bandit over epsilon, with intervals."""

import numpy as np
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
x = np.linspace(0, 1, 20)
r = np.sqrt(5) * abs(x[:, None] - x) / 0.2
gram = (1 + r + r**2 / 3) * np.exp(-r)


def regret(epsilon, trial):
    rng = np.random.default_rng(trial)
    f = gram @ rng.uniform(-1, 1, 20)
    f = (f - f.min()) / (f.max() - f.min())

    def release(suggestion):
        reward = f[suggestion.suggest_int("point", 0, 19)] + rng.uniform(-0.1, 0.1)
        return np.clip(reward, 0, 1) + rng.laplace(scale=1 / epsilon)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=trial))
    study.optimize(release, n_trials=100)
    return 100 * f.max() - sum(f[played.params["point"]] for played in study.trials)


for epsilon in (1.0, 4.0, 16.0):
    values = [regret(epsilon, trial) for trial in range(10)]
    half = 2 * np.std(values, ddof=1) / np.sqrt(10)
    print(f"epsilon {epsilon}: regret {np.mean(values):.1f} ± {half:.1f}")
