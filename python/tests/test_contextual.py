"""Contextual policies of one's own beside the built-in ones, and their mistakes."""

import gc
import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import privateer as pv
import pytest

SPEC = """
name = "contexts"
seed = 5
rounds = 300
trials = 4
record = { rounds = "all" }
accepted_warnings = ["delta"]

[environment]
kind = "generalized-linear"
dimension = 5
arms = 2
signs = "random"
noise = { kind = "uniform", bound = 0.1 }

[privacy]
epsilon = 1.0

[[policy]]
kind = "epsilon-greedy"
explore = 0.0
"""


@pytest.fixture
def contexts() -> pv.Spec:
    """A contextual spec with ridge estimates, which are not private."""
    return pv.Spec.load(SPEC)


class Greedy:
    """The largest ridge estimate, from interactions."""

    learns = "interactions"

    def __init__(self, ridge: float = 1.0) -> None:
        self.ridge = ridge

    def start(self, problem: Any, rngs: list[np.random.Generator]) -> None:
        self.gram = np.tile(self.ridge * np.eye(problem.n_features), (problem.n_arms, 1, 1))
        self.moment = np.zeros((problem.n_arms, problem.n_features))

    def ask(self, t: int, contexts: np.ndarray) -> np.ndarray:
        return np.array([np.argmax(np.linalg.solve(self.gram, self.moment[..., None])[..., 0] @ contexts[0])])

    def tell(self, contexts: np.ndarray, arms: np.ndarray, rewards: np.ndarray) -> None:
        self.gram[arms[0]] += np.outer(contexts[0], contexts[0])
        self.moment[arms[0]] += rewards[0] * contexts[0]


class PrivateGreedy(Greedy):
    """The same from noisy running sums."""

    learns = "sums"

    def tell(self, grams: np.ndarray, moments: np.ndarray, sd: np.ndarray) -> None:
        shift = (self.ridge + 4 * sd[0] * np.sqrt(grams.shape[-1])) * np.eye(grams.shape[-1])
        self.gram, self.moment = grams[0] + shift, moments[0]


def regrets(results: pv.Results, cell: int) -> np.ndarray:
    rows = results.rows
    return rows["regret"][rows["cell"] == cell]


def test_users_and_rewards_are_those_of_the_built_in_policies(contexts: pv.Spec) -> None:
    results = pv.run(contexts.policy(Greedy), progress=False)
    # The same estimates make the same choices: contexts and rewards are the same numbers in every trial and round.
    assert np.mean(regrets(results, 0) == regrets(results, 1)) > 0.99 and regrets(results, 0).sum() > 0
    again = pv.run(contexts.policy(Greedy), threads=1, progress=False)
    assert (results.rows["regret"] == again.rows["regret"]).all()
    assert results.ledger()[1]["guarantee"] == results.ledger()[0]["guarantee"] == "not private"


@pytest.mark.parametrize("calibration", ["tight", "corrected"])
def test_sums_have_the_noise_of_the_mechanism(contexts: pv.Spec, calibration: str) -> None:
    told: list[Any] = []

    class Keeps(PrivateGreedy):
        def ask(self, t: int, contexts: np.ndarray) -> np.ndarray:
            self.t, self.true = t, getattr(self, "true", 0) + np.outer(contexts[0], contexts[0])
            return np.array([0])

        def tell(self, grams: np.ndarray, moments: np.ndarray, sd: np.ndarray) -> None:
            told.append((self.t, grams[0], self.true, moments.shape, sd[0]))

    # Without noise to speak of, the sums are those of the contexts: units and places are right.
    spec = contexts.without_policies().policy(Keeps).trials(1).set("privacy.calibration", calibration)
    pv.run(spec.set("privacy.epsilon", 100000.0), progress=False)
    t, gram, true, shape, sd = told[-1]
    assert shape == (1, 2, 5) and sd < 0.1 and (t == 300) == (calibration == "corrected")
    assert np.allclose(gram[0], true, atol=8 * sd) and np.allclose(gram[1], 0, atol=8 * sd) and true[0, 0] > 100 * sd
    told.clear()
    results = pv.run(spec, progress=False)
    errors = np.array([(gram[0] - true)[0, 1] / sd for _, gram, true, _, sd in told])
    assert 0.2 < np.sqrt(np.mean(errors**2)) < 3
    ledger = results.ledger()[0]
    # What Python stores cannot be seen: the claim is the author's.
    assert ledger["epsilon"] == 1.0 and ledger["guarantee"].startswith("claimed by keeps, not verified (foreign code")


class Bad(Greedy):
    """Makes one mistake in round 7."""

    def __init__(self, how: str = "shape") -> None:
        super().__init__()
        self.how = how

    def ask(self, t: int, contexts: np.ndarray) -> Any:
        self.t = t
        if t == 7 and self.how in ("shape", "range", "type", "raise"):
            return {"shape": np.array([0, 1]), "range": np.array([2]), "type": 0, "raise": None}[self.how] if self.how != "raise" else 1 // 0
        return np.array([0])

    def tell(self, contexts: np.ndarray, arms: np.ndarray, rewards: np.ndarray) -> None:
        if self.how == "tell" and self.t == 7 or self.how == "last" and self.t == 300:
            raise ValueError("no memory")


MISTAKES = {
    "shape": r"in round 7: `Bad.ask` returned an array int64\[2\], expected an array int64\[1\] of arms",
    "range": r"in round 7: `Bad.ask` returned 2 at place 0, not in 0\.\.2",
    "type": "in round 7: `Bad.ask` returned a value of type int",
    "raise": "in round 7: `Bad.ask` raised ZeroDivisionError",
    "tell": "`Bad.tell` raised ValueError: no memory",
    "last": "failed in the last round",
}


@pytest.mark.parametrize("how", list(MISTAKES))
def test_mistakes_name_class_and_round(contexts: pv.Spec, how: str) -> None:
    with pytest.raises(pv.PolicyError, match=MISTAKES[how]) as error:
        pv.run(contexts.policy(Bad, how=how), progress=False)
    if how in ("raise", "tell", "last"):
        assert isinstance(error.value.__cause__, (ZeroDivisionError, ValueError))


def test_other_mistakes(contexts: pv.Spec, spec: pv.Spec) -> None:
    class Learns(Greedy):
        learns = "everything"

    with pytest.raises(pv.SpecError, match=r"`Learns.learns` is 'everything'\nexpected 'means' of batches"):
        contexts.policy(Learns)
    with pytest.raises(pv.SpecError, match="chooses by contexts, and the environment has none"):
        spec.policy(Greedy).check()
    with pytest.raises(pv.PrivateerError, match="private sums need noise"):
        pv.run(contexts.privacy("none").policy(PrivateGreedy), progress=False)

    class NoTell(pv.ContextualPolicy):
        learns = "interactions"

        def start(self, problem: Any, rngs: Any) -> None:
            pass

        def ask(self, t: int, contexts: np.ndarray) -> np.ndarray:
            return np.array([0])

    with pytest.raises(pv.PolicyError, match="`NoTell` has no method `tell`"):
        pv.run(contexts.policy(NoTell), progress=False)
    assert "float64[trials, n_features]" in (inspect.getdoc(pv.ContextualPolicy.ask) or "")


def test_a_failed_run_leaves_no_temporary_folder(contexts: pv.Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(pv.PolicyError) as kept:
        pv.run(contexts.policy(Bad), progress=False)
    assert kept.value is not None and not list(tmp_path.iterdir())
    results = pv.run(contexts, progress=False)
    assert len(list(tmp_path.iterdir())) == 1 and len(results.rows["round"]) == 1200
    del results
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_the_state_of_a_contextual_policy_is_stored_with_the_parts(contexts: pv.Spec, tmp_path: Path) -> None:
    class Remembers(PrivateGreedy):
        def state(self) -> Any:
            return [{"moment": self.moment.tolist()}]

    class Short(Greedy):
        def state(self) -> Any:
            return []

    spec = contexts.without_policies().policy(Remembers).policy(Greedy).trials(3).set("record.parameters", True)
    results = pv.run(spec, tmp_path / "out", progress=False)
    states = results.states(0)
    assert sorted(states) == [0, 1, 2] and np.shape(states[2]["moment"]) == (2, 5) and not results.states(1)
    assert not pv.run(spec.set("record.parameters", False), progress=False).states(0)
    with pytest.raises(pv.PolicyError, match="no list of 1 values"):
        pv.run(contexts.without_policies().policy(Short).trials(1).set("record.parameters", True), progress=False)
