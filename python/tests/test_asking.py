"""Trials whose rewards are measured here."""

import json
from collections.abc import Callable

import numpy as np
import privateer as pv
import pytest


class Greedy:
    """Plays the best point so far."""

    def start(self, problem: pv.Problem, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        self.n_points, self.best = problem.n_points, np.zeros(len(trials), dtype=np.int64)

    def ask(self, t: int) -> np.ndarray:
        return np.full(len(self.best), (t - 1) % self.n_points)

    def tell(self, points: np.ndarray, released: np.ndarray) -> None:
        self.best = np.where(released > 0, points, self.best)


def test_the_told_rewards_of_a_run_give_its_points(spec: pv.Spec) -> None:
    class Flat:
        """Means that are known here, without noise."""

        points = np.linspace(0, 1, 12)[:, None]

        def mean(self, points: np.ndarray) -> np.ndarray:
            return np.sin(6 * points[:, 0])

    flat = spec.environment(Flat, kernel={"kind": "matern", "nu": 2.5, "lengthscale": 0.3}, noise={"kind": "none"})
    flat = flat.set("privacy.clip", (-1.0, 1.0)).set("record.rounds", "all")
    rows = pv.run(flat, progress=False).rows
    played = rows["point"][rows["cell"] == 1].reshape(4, 60)
    trials = pv.AskTell(flat, range(1, 4), cell=1)
    values = Flat().mean(Flat.points)
    while not trials.is_over:
        t = trials.round - 1
        points = trials.ask()
        assert (points == played[1:, t]).all() and (trials.ask() == points).all()
        if t % 13 == 5:
            trials = pv.AskTell.restore(flat, json.loads(json.dumps(trials.save())), cell=1)
        released = trials.tell(values[points])
        assert released.shape == (3,) and (released != values[points]).any()
    assert trials.recommend().shape == (3,) and trials.n_points == 12 and trials.ledger["epsilon"] == 1.0
    assert trials.point(0) == 0.0 and trials.point(12) is None and trials.allowed(0) is None


@pytest.mark.parametrize("wrong", [np.zeros(1), np.zeros((2, 1)), np.array(["a", "b"]), np.array([0.0, np.nan])])
def test_wrong_rewards_are_refused_and_change_nothing(spec: pv.Spec, wrong: np.ndarray) -> None:
    trials = pv.AskTell(spec, 2)
    points = trials.ask()
    with pytest.raises(pv.DataError, match="float64\\[2\\]|trial 1 is NaN"):
        trials.tell(wrong)
    assert (trials.ask() == points).all() and trials.round == 1


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda spec: pv.AskTell(spec, 0), pv.SpecError),
        (lambda spec: pv.AskTell(spec, range(0, 4, 2)), pv.SpecError),
        (lambda spec: pv.AskTell(spec, cell=9), pv.SpecError),
        (lambda spec: pv.AskTell(spec, cell=-1), pv.SpecError),
        (lambda spec: pv.AskTell.restore(spec, "{}"), pv.DataError),
        (lambda spec: pv.AskTell.restore(spec, pv.AskTell(spec).save()[:-9]), pv.DataError),
        (lambda spec: pv.AskTell.restore(spec, pv.AskTell(spec).save(), cell=-1), pv.SpecError),
        (lambda spec: pv.AskTell.restore(spec.seed(4), pv.AskTell(spec).save()), pv.DataError),
    ],
)
def test_what_does_not_exist_is_refused(spec: pv.Spec, make: Callable[[pv.Spec], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make(spec)


def test_a_policy_of_ones_own_is_asked_and_keeps_no_state(spec: pv.Spec) -> None:
    trials = pv.AskTell(spec.policy(Greedy), 3, cell=2)
    assert trials.ask().tolist() == [0, 0, 0]
    trials.tell(np.zeros(3))
    assert trials.ask().tolist() == [1, 1, 1]
    with pytest.raises(pv.SpecError, match="keeps no state to save"):
        trials.save()

    class Wrong(Greedy):
        def ask(self, t: int) -> np.ndarray:
            raise RuntimeError("out of ideas")

    with pytest.raises(pv.PolicyError, match="Wrong.ask.*out of ideas"):
        pv.AskTell(spec.policy(Wrong), 3, cell=2).ask()


def test_settings_that_mislead_are_warned_of(spec: pv.Spec) -> None:
    misleading = spec.set("policy.igp-ucb.initial", {"kind": "random", "points": 70})
    with pytest.warns(UserWarning, match="initial|rounds"):
        pv.run(misleading, progress=False)
