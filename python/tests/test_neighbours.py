"""Gymnasium, Optuna and BoTorch, where they are installed (`pip install './python[neighbours,botorch]'`)."""

import importlib
import inspect
import pickle
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

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
    session = pv.Session(pv.Spec.load(SESSION), throwaway=True, data=tmp_path)
    sampler = SessionSampler(session, {"row": range(400)})

    def outcome(trial: optuna.Trial) -> float:
        return float(table["outcome"][int(trial.suggest_categorical("row", sampler.choices("row")))])

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(outcome, n_trials=8)
    assert len(study.trials) == 8 and session.ask().round == 9
    with pytest.raises(ValueError, match="minimises"):
        optuna.create_study(sampler=sampler).optimize(outcome, n_trials=1)


def held(value: object, seen: dict[int, object]) -> Iterator[object]:
    """Returns everything that Python reaches from an object of an adapter."""
    if id(value) in seen or inspect.ismodule(value) or inspect.isroutine(value) or inspect.isclass(value):
        return
    seen[id(value)] = value
    yield value
    inside = [*value.keys(), *value.values()] if isinstance(value, dict) else []
    inside += list(value) if isinstance(value, (list, tuple, set, frozenset)) else []
    inside += [value.tolist()] if hasattr(value, "tolist") else []
    for item in [*inside, *vars(value).values()] if hasattr(value, "__dict__") else inside:
        yield from held(item, seen)


@pytest.mark.parametrize("storage", ["memory", "sqlite", "journal"])
def test_optuna_stores_released_values_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str) -> None:
    optuna = pytest.importorskip("optuna")
    from privateer.optuna import SessionSampler

    curated(tmp_path)
    file = tmp_path / "study"
    kept = {
        "memory": lambda: None,
        "sqlite": lambda: f"sqlite:///{file}",
        "journal": lambda: optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file))),
    }[storage]()
    session = pv.Session(pv.Spec.load(SESSION), tmp_path / "state", data=tmp_path)
    sampler = SessionSampler(session, {"row": range(400)})
    raw: list[float] = []

    def outcome(trial: optuna.Trial) -> float:
        trial.suggest_categorical("row", sampler.choices("row"))
        raw.append(0.123456789 + 0.1 * len(raw))
        return raw[-1]

    study = optuna.create_study(direction="maximize", sampler=sampler, storage=kept)
    study.optimize(outcome, n_trials=6)
    told = [released for (released,) in sqlite3.connect(tmp_path / "state").execute("SELECT released FROM releases ORDER BY round")]
    assert [trial.value for trial in study.trials] == told and study.best_value == max(told)
    # Every file, every object that the study and the sampler reach, and their pickles.
    reached = [value for value in held([study, sampler], {}) if isinstance(value, float)]
    assert set(told) <= set(reached) or storage != "memory"
    assert not set(raw) & set(reached)
    texts = [path.read_bytes() for path in (file, tmp_path / "state") if path.exists()]
    texts += [pickle.dumps(study.trials), pickle.dumps(study.trials_dataframe())]
    for text in texts:
        for value in raw:
            assert all(form not in text for form in (repr(value).encode(), struct.pack(">d", value), struct.pack("<d", value)))

    def reporting(trial: optuna.Trial) -> float:
        trial.report(raw[0], 0)
        return outcome(trial)

    with pytest.raises(ValueError, match="reported intermediate values"):
        study.optimize(reporting, n_trials=1)
    assert study.trials[-1].value == -np.inf

    # A value that the session refuses is not stored either.
    def refused(row: int, reward: float) -> dict:
        raise pv.CheckError("the budget is spent")

    monkeypatch.setattr(session, "tell", refused)
    with pytest.raises(pv.CheckError, match="budget"):
        study.optimize(outcome, n_trials=1)
    assert study.trials[-1].value == -np.inf


def test_gymnasium_holds_released_rewards_alone(spec: pv.Spec) -> None:
    pytest.importorskip("gymnasium")
    from privateer.gymnasium import vector_env

    # Without a mechanism the same seed gives the raw rewards.
    quiet, noisy = (vector_env(one, 2) for one in (spec.set("privacy", {"mechanism": "none"}), spec))
    for env in (quiet, noisy):
        env.reset()
    raw, released = ([env.step(np.array([3, 4]))[:2] for _ in range(5)] for env in (quiet, noisy))
    rewards = {value for _, reward in raw for value in reward.tolist()}

    def floats(value: object) -> set[float]:
        return {found for found in held(value, {}) if isinstance(found, float)}

    assert rewards <= floats(raw) and len(rewards) == 10
    assert not rewards & floats([noisy, released])


@pytest.fixture
def neighbour() -> ModuleType:
    """`privateer.botorch`, where BoTorch is installed."""
    pytest.importorskip("botorch", reason="needs `pip install './python[botorch]'`: 5 GB where PyTorch has builds for CUDA alone")
    return importlib.import_module("privateer.botorch")


@pytest.mark.filterwarnings("ignore")
class TestBotorch:
    """BoTorch's models as a policy."""

    def spec(self) -> pv.Spec:
        """Returns a smooth function under little noise."""
        return pv.Spec.load({
            "seed": 5,
            "rounds": 25,
            "trials": 4,
            "environment": {
                "kind": "rkhs",
                "domain": {"kind": "grid", "points": 40},
                "kernel": {"kind": "squared-exponential", "lengthscale": 0.2},
                "noise": {"kind": "uniform", "bound": 0.03},
                "output": "unit",
            },
        }).privacy("laplace", epsilon=20.0, clip=(0.0, 1.0))

    def test_it_runs_beside_built_in_policies_and_beats_uniform_choice(self, neighbour: ModuleType) -> None:
        spec = self.spec().policy("uniform").policy("igp-ucb").policy(neighbour.AcquisitionPolicy, acquisition="ucb")
        spec = spec.policy(neighbour.AcquisitionPolicy, label="log-ei")
        results = pv.run(spec, progress=False)
        # Neither the batch nor recommendations in recorded rounds change a choice.
        again = pv.run(spec.set("record.rounds", "all"), threads=1, batch=1, progress=False)
        for at in (2, 3):
            assert results.compare(at, 0).high < 0
            assert (results.final(at) == again.final(at)).all()

    def test_it_is_told_the_variance_and_released_rewards_alone(self, neighbour: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        models: list[tuple[np.ndarray, np.ndarray]] = []
        told: list[float] = []

        def recording(points: object, targets: object, train_Yvar: object, **keywords: object) -> object:  # noqa: N803
            models.append((targets.numpy()[:, 0], train_Yvar.numpy()[:, 0]))
            return neighbour_model(points, targets, train_Yvar=train_Yvar, **keywords)

        class Told(neighbour.AcquisitionPolicy):
            def tell(self, points: np.ndarray, released: np.ndarray) -> None:
                told.extend(released)
                super().tell(points, released)

        neighbour_model = neighbour.SingleTaskGP
        monkeypatch.setattr(neighbour, "SingleTaskGP", recording)
        pv.run(self.spec().trials(1).set("privacy.epsilon", 4.0).policy(Told), progress=False)
        # Laplace noise of scale 1 / 4, and uniform noise of bound 0.03.
        expected = 2 * (1 / 4.0) ** 2 + 0.03**2 / 3
        assert len(models) > 10
        for targets, variances in models:
            assert variances == pytest.approx(expected) and (targets == told[: len(targets)]).all()

    def test_bad_keys_and_domains_are_refused(self, neighbour: ModuleType) -> None:
        with pytest.raises(pv.PolicyError, match="expected 'log-ei' or 'ucb'"):
            pv.run(self.spec().policy(neighbour.AcquisitionPolicy, acquisition="ei"), progress=False)
        with pytest.raises(pv.PolicyError, match="beta >= 0"):
            pv.run(self.spec().policy(neighbour.AcquisitionPolicy, beta=-1.0), progress=False)
        spec = self.spec().without_policies().set("environment", {"kind": "arms-table", "synthetic": True})
        with pytest.raises(pv.PolicyError, match="the domain has no coordinates"):
            pv.run(spec.set("privacy", {"mechanism": "none"}).policy(neighbour.AcquisitionPolicy), progress=False)
