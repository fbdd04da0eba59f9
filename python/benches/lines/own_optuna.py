"""An algorithm of one's own beside a built-in one, with common random numbers."""

import numpy as np
import optuna
from scipy import stats

optuna.logging.set_verbosity(optuna.logging.WARNING)
POINTS = optuna.distributions.IntDistribution(0, 19)
x = np.linspace(0, 1, 20)
r = np.sqrt(5) * abs(x[:, None] - x) / 0.2
gram = (1 + r + r**2 / 3) * np.exp(-r)


class MeanUcb(optuna.samplers.BaseSampler):
    def __init__(self):
        self.count, self.sum = np.full(20, 1e-9), np.zeros(20)

    def infer_relative_search_space(self, study, trial):
        return {"point": POINTS}

    def sample_relative(self, study, trial, search_space):
        width = np.sqrt(np.log(trial.number + 2) / self.count)
        return {"point": int((self.sum / self.count + width).argmax())}

    def sample_independent(self, study, trial, name, distribution):
        raise ValueError(name)

    def after_trial(self, study, trial, state, values):
        self.count[trial.params["point"]] += 1
        self.sum[trial.params["point"]] += values[0]


def regret(sampler, trial):
    rng = np.random.default_rng(trial)
    f = gram @ rng.uniform(-1, 1, 20)
    f = (f - f.min()) / (f.max() - f.min())
    observed, private = rng.uniform(-0.1, 0.1, 100), rng.laplace(scale=1 / 4.0, size=100)

    def release(suggestion):
        point, t = suggestion.suggest_int("point", 0, 19), suggestion.number
        return np.clip(f[point] + observed[t], 0, 1) + private[t]

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(release, n_trials=100)
    return 100 * f.max() - sum(f[played.params["point"]] for played in study.trials)


differences = [regret(MeanUcb(), trial) - regret(optuna.samplers.TPESampler(seed=trial), trial) for trial in range(10)]
half = stats.t.ppf(0.975, 9) * stats.sem(differences)
print(f"mean-ucb minus tpe: {np.mean(differences):.1f} ± {half:.1f}")
