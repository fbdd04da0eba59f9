"""Gymnasium and Optuna, where they are installed (`pip install './python[neighbours]'`)."""

from pathlib import Path

import numpy as np
import privateer as pv
import pytest

from test_privacy import SESSION, curated, people


def test_a_vector_environment_replays_the_recorded_run(spec: pv.Spec) -> None:
    pytest.importorskip("gymnasium")
    from privateer.gymnasium import vector_env

    everything = spec.set("record.rounds", "all")
    rows = pv.run(everything, progress=False).rows
    played, regret = (rows[name][rows["cell"] == 0].reshape(4, 60) for name in ("point", "regret"))
    env = vector_env(everything, 2)
    observation, _ = env.reset()
    assert env.observation_space.contains(observation) and env.single_action_space.n == 20
    for episode in (0, 1):
        trials = slice(2 * episode, 2 * episode + 2)
        for t in range(60):
            observation, reward, ended, truncated, info = env.step(played[trials, t])
            assert (info["regret"] == regret[trials, t]).all() and np.isfinite(reward).all() and not ended.any()
            assert truncated.all() == (t == 59) and env.observation_space.contains(observation)
        env.step(env.action_space.sample())
    with pytest.raises(pv.SpecError, match="a number from 0 to 19"):
        env.step(np.array([0, 20]))


def test_a_session_suggests_parameters_to_optuna(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    from privateer.optuna import SessionSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    curated(tmp_path)
    table = people()
    session = pv.Session(pv.Spec.load(SESSION), data=tmp_path)
    sampler = SessionSampler(session, {"row": range(400)})

    def outcome(trial: optuna.Trial) -> float:
        return float(table["outcome"][int(trial.suggest_categorical("row", sampler.choices("row")))])

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(outcome, n_trials=8)
    assert len(study.trials) == 8 and session.ask().round == 9
    with pytest.raises(ValueError, match="minimises"):
        optuna.create_study(sampler=sampler).optimize(outcome, n_trials=1)
