"""Policies and environments of one's own, and their mistakes."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import privateer as pv
import pytest


class NumpyUcb:
    """UCB on averages of released rewards."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        self.count = np.zeros((len(trials), problem.n_points))
        self.sum = np.zeros((len(trials), problem.n_points))
        self.at = np.arange(len(trials))
        self.noise = np.sqrt(problem.noise_variance + problem.mechanism_variance)[:, None]

    def ask(self, t: int) -> np.ndarray:
        count = np.maximum(self.count, 1e-9)
        return np.argmax(self.sum / count + self.width * self.noise * np.sqrt(np.log(t + 1) / count), axis=1)

    def tell(self, points: np.ndarray, released: np.ndarray) -> None:
        self.count[self.at, points] += 1
        self.sum[self.at, points] += released


class RandomPoints:
    """Plays points of the trial's own generator."""

    independent = True

    def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        self.n_points, self.rngs = problem.n_points, rngs

    def ask(self, t: int) -> np.ndarray:
        return np.array([rng.integers(self.n_points) for rng in self.rngs])

    def tell(self, points: np.ndarray, released: np.ndarray) -> None:
        pass


def test_a_policy_runs_beside_the_built_in_ones(spec: pv.Spec) -> None:
    own = spec.policy(NumpyUcb, width=0.5).set("policy.numpy-ucb.width", [0.1, 0.5]).rounds(100).trials(6)
    results = pv.run(own, progress=False)
    assert len(results.cells) == 6 and results.labels[2].startswith("numpy-ucb")
    again = pv.run(own, threads=1, progress=False)
    assert (results.rows["regret"] == again.rows["regret"]).all()
    assert "foreign code" in str(results.ledger()[2])
    with pytest.raises(pv.SpecError, match="did you mean `width`"):
        spec.policy(NumpyUcb, widht=0.5).check()
    with pytest.raises(pv.SpecError, match="did you mean `numpy-ucb`"):
        spec.policy(NumpyUcb).policy("numpy-ubc").check()


class Batches(NumpyUcb):
    """UCB on means of batches, of other lengths in every trial."""

    learns = "means"
    least_users = 5

    def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
        super().start(problem, trials, rngs)
        self.users = 5 + trials % 3
        assert (problem.least_users <= 5).all()
        self.noise = np.sqrt([problem.mean_variance(float(users))[at] for at, users in enumerate(self.users)])[:, None]

    def ask(self, t: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert ((t - 1) % self.users[places] == 0).all()
        return super().ask(t)[places], self.users[places]

    def tell(self, points: np.ndarray, means: np.ndarray, places: np.ndarray) -> None:
        assert np.isfinite(means).all()
        self.count[places, points] += 1
        self.sum[places, points] += means


def test_a_policy_of_batches_is_served_by_a_server_or_a_shuffler(spec: pv.Spec) -> None:
    own = spec.without_policies().policy(Batches).rounds(120).trials(6)
    regret = {}
    for mechanism in ("none", "batch-laplace", "batch-shuffle"):
        served = own.set("privacy.mechanism", mechanism).set("privacy.delta", 1e-3)
        results = pv.run(served, progress=False)
        regret[mechanism] = results.rows["regret"].mean()
        (ledger,) = results.ledger()
        assert mechanism == "none" or "batch" in str(ledger), ledger
    assert regret["none"] < regret["batch-laplace"]
    with pytest.raises(pv.SpecError, match="sums over batches of rewards"):
        own.set("privacy.mechanism", "laplace").check()

    class Few(Batches):
        def ask(self, t: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(len(places), dtype=np.int64), np.full(len(places), 4)

    class Alone(Batches):
        def ask(self, t: int, places: np.ndarray) -> Any:
            return np.zeros(len(places), dtype=np.int64)

    few = spec.without_policies().set("privacy.mechanism", "batch-shuffle").set("privacy.delta", 1e-3)
    with pytest.raises(pv.RunError, match="its batch has 4 users, and the least is 5"):
        pv.run(few.policy(Few), progress=False)
    with pytest.raises(pv.RunError, match="expected \\(points, users\\)"):
        pv.run(few.policy(Alone), progress=False)


class Summed:
    """UCB over the features of the server, from its noisy sums."""

    learns = "feature-sums"

    def __init__(self, width: float = 1.0, release_every: int = 4) -> None:
        self.width, self.every, self.told = width, release_every, []

    def start(self, problem: Any, trials: np.ndarray, rngs: Any) -> None:
        self.phi = problem.features
        assert np.isclose(np.square(self.phi).sum(axis=1).max(), 1.0) and (problem.centre == 0).all()
        n, m = len(trials), self.phi.shape[1]
        self.grams, self.moments, self.ridge = np.zeros((n, m, m)), np.zeros((n, m)), np.ones(n)

    def ask(self, t: int) -> np.ndarray:
        self.t = t
        scores = []
        for gram, moment, ridge in zip(self.grams, self.moments, self.ridge):
            values, vectors = np.linalg.eigh(gram)
            inverse = (vectors / (np.maximum(values, 0.0) + ridge)) @ vectors.T
            spread = np.sqrt(np.einsum("nm,mk,nk->n", self.phi, inverse, self.phi))
            scores.append(self.phi @ (inverse @ moment) + self.width * spread)
        return np.argmax(scores, axis=1)

    def tell(self, grams: np.ndarray, moments: np.ndarray, sd: np.ndarray) -> None:
        n, m = self.moments.shape
        assert grams.shape == (n, m, m) and (grams == grams.swapaxes(1, 2)).all() and moments.shape == (n, m) and sd.shape == (n, 2)
        self.told.append(self.t)
        self.grams, self.moments, self.ridge = grams, moments, 1.0 + sd[:, 0] * np.sqrt(m)

    def state(self) -> list[list[int]]:
        return [self.told] * len(self.moments)


class Chosen:
    """Scores six points, then plays the one that the server has chosen."""

    learns = "choice"
    candidates = 6
    users = 10

    def start(self, problem: Any, trials: np.ndarray, rngs: Any) -> None:
        self.points = [np.full(len(trials), at * problem.n_points // 6) for at in range(6)]
        self.best = None

    def ask(self, t: int) -> np.ndarray:
        return self.points[(t - 1) // 10] if self.best is None else self.best

    def tell(self, points: np.ndarray) -> None:
        self.best = np.ascontiguousarray(points)


def test_a_server_releases_sums_or_a_choice(spec: pv.Spec) -> None:
    trusted = spec.without_policies().set("privacy.delta", 1e-3).rounds(90).trials(4).set("record.parameters", True)
    summed = trusted.policy(Summed, width=1.0)
    exact, private = (pv.run(summed.set("privacy.mechanism", name), progress=False) for name in ("none", "tree"))
    assert exact.rows["regret"].mean() < private.rows["regret"].mean()
    assert exact.states(0)[0] == [*range(1, 90, 4), 90]
    assert "released sums alone" in str(private.ledger())
    chosen = pv.run(trusted.policy(Chosen).set("privacy.mechanism", "exponential"), progress=False)
    assert "a released choice alone" in str(chosen.ledger())
    best = pv.run(trusted.policy(Chosen).set("privacy.mechanism", "none"), progress=False)
    assert best.rows["regret"].mean() <= chosen.rows["regret"].mean()
    with pytest.raises(pv.SpecError, match="running sums"):
        summed.set("privacy.mechanism", "laplace").check()

    class Endless(Chosen):
        users = 0

    class Unstated(Summed):
        learns = "means"
        release_every = 2

    class Open:
        learns = "choice"

    class Vague(Chosen):
        def __init__(self, users: Any = None) -> None:
            pass

    for wrong, why in (
        (Endless, "expected a whole number"),
        (Unstated, "feature-sums"),
        (Open, "`candidates` and `users`"),
        (Vague, "`users: int`"),
    ):
        with pytest.raises(pv.SpecError, match=why):
            trusted.policy(wrong)

    class Named(NumpyUcb):
        users = property(lambda self: 3)

        def candidates(self) -> int:
            return 2

    spec.policy(Named).check()


def replay(played: np.ndarray, told: list[np.ndarray], label: str) -> type:
    """Returns a policy that plays these points, points[trials, rounds], and keeps what it is told."""

    class Replay:
        name = label

        def start(self, problem: Any, trials: np.ndarray, rngs: Any) -> None:
            self.trials = trials

        def ask(self, t: int) -> np.ndarray:
            return np.ascontiguousarray(played[self.trials, t - 1])

        def tell(self, points: np.ndarray, released: np.ndarray) -> None:
            told.append(released)

    return Replay


def test_functions_and_noise_are_those_of_the_built_in_policies(spec: pv.Spec) -> None:
    everything = spec.set("record.rounds", "all").privacy("none")
    built_in = pv.run(everything, progress=False)
    rows = built_in.rows
    of = {policy: rows["cell"] == at for at, policy in enumerate(("uniform", "igp-ucb"))}
    played = {policy: rows["point"][mask].reshape(4, 60) for policy, mask in of.items()}
    one, two, other = [], [], []
    own = everything.without_policies()
    for label, policy, told in (("one", "uniform", one), ("two", "uniform", two), ("other", "igp-ucb", other)):
        own = own.policy(replay(played[policy], told, label))
    mine = pv.run(own, progress=False).rows
    for at, policy in enumerate(("uniform", "uniform", "igp-ucb")):
        assert (mine["regret"][mine["cell"] == at] == rows["regret"][of[policy]]).all()
    # The same points give the same released rewards; noise is that of the trial and the round, not of the policy.
    assert (np.array(one) == np.array(two)).all() and not (np.array(one) == np.array(other)).all()
    best = rows["regret"][of["uniform"]].reshape(4, 60) + np.array(one).T
    also = rows["regret"][of["igp-ucb"]].reshape(4, 60) + np.array(other).T
    # Regret plus reward is the optimum plus noise: equal in every trial and round, whatever is played.
    assert np.allclose(best, also, atol=1e-12)


def test_choices_do_not_depend_on_the_batch(spec: pv.Spec) -> None:
    own = spec.without_policies().policy(RandomPoints).trials(7)
    runs = [pv.run(own, batch=batch, threads=threads, progress=False).rows["point"] for batch, threads in ((1, 1), (3, 2), (7, 2))]
    assert (runs[0] == runs[1]).all() and (runs[0] == runs[2]).all() and 1 < len(np.unique(runs[0]))


def test_the_problem_is_told(spec: pv.Spec) -> None:
    seen: list[Any] = []

    class Curious(RandomPoints):
        def start(self, problem: Any, trials: np.ndarray, rngs: list[np.random.Generator]) -> None:
            super().start(problem, trials, rngs)
            seen.append((problem, trials))

    pv.run(spec.without_policies().policy(Curious), progress=False)
    problem = seen[0][0]
    assert problem.n_points == 20 and problem.rounds == 60 and problem.points.shape == (20, 1)
    covariance = problem.covariance()
    assert np.allclose(covariance, covariance.T) and np.allclose(np.diag(covariance), 1.0)
    assert (problem.bound == 2.0).all() and (problem.noise_variance > 0).all() and (problem.mechanism_variance > 1).all()
    assert sorted(trial for _, trials in seen for trial in trials) == [0, 1, 2, 3]


def test_recommendations_are_recorded(spec: pv.Spec) -> None:
    class Recommends(RandomPoints):
        def recommend(self) -> np.ndarray:
            return np.zeros(len(self.rngs), dtype=np.int64)

    rows = pv.run(spec.without_policies().policy(Recommends), progress=False).rows
    per_trial = rows["recommended_regret"].reshape(4, -1)
    assert (per_trial == per_trial[:, :1]).all()


def test_decision_sets_are_passed(spec: pv.Spec) -> None:
    class Chosen(RandomPoints):
        def ask(self, t: int, allowed: list[np.ndarray]) -> np.ndarray:
            return np.array([points[0] for points in allowed])

    rows = pv.run(spec.set("environment.sets", {"kind": "random", "points": 5}).without_policies().policy(Chosen), progress=False).rows
    assert 1 < len(np.unique(rows["point"]))


class Fails(RandomPoints):
    """Fails in the round `at`, in one of several ways."""

    def __init__(self, how: str = "", at: int = 30) -> None:
        self.how, self.at = how, at

    def ask(self, t: int) -> Any:
        points = super().ask(t)
        if t != self.at:
            return points
        if self.how == "raise":
            raise ZeroDivisionError("nothing left")
        answers = {
            "float": points.astype(float),
            "nan": np.full(len(points), np.nan),
            "list": points.tolist(),
            "none": None,
            "short": points[:-1],
            "square": np.zeros((2, 2), dtype=np.int64),
            "large": points + 1000,
            "negative": points - 1000,
        }
        return answers[self.how]


MISTAKES = {
    "raise": "`Fails.ask` raised ZeroDivisionError: nothing left",
    "float": r"`Fails.ask` returned an array float64\[4\], expected an array int64\[4\]",
    "nan": r"`Fails.ask` returned an array float64\[4\]",
    "list": "returned a value of type list",
    "none": "returned a value of type NoneType",
    "short": r"returned an array int64\[3\]",
    "square": r"returned an array int64\[2, 2\]",
    "large": r"returned 10\d\d at place 0, not in 0..20",
    "negative": r"returned -9\d\d at place 0, not in 0..20",
}


@pytest.mark.parametrize("how", MISTAKES)
def test_mistakes_name_class_and_round(spec: pv.Spec, how: str) -> None:
    with pytest.raises(pv.PolicyError, match=MISTAKES[how]) as error:
        pv.run(spec.without_policies().policy(Fails, how=how), progress=False, batch=4, threads=1)
    assert "round 30" in str(error.value)
    if how == "raise":
        assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_finished_parts_are_kept(spec: pv.Spec, tmp_path: Path) -> None:
    with pytest.raises(pv.PolicyError):
        pv.run(spec.set("block", 2).policy(Fails, how="raise"), tmp_path, threads=1, progress=False)
    # The first block of the two cells before it: cells over one environment play a block one after the other.
    assert len(list((tmp_path / "cells").iterdir())) == 2


def test_other_mistakes(spec: pv.Spec) -> None:
    class NoTell:
        start = ask = RandomPoints.ask

    class BadStart(RandomPoints):
        def start(self, *arguments: Any) -> None:
            raise RuntimeError("no licence")

    def with_list(width: list = [1]) -> Any:  # noqa: B006
        return RandomPoints()

    with pytest.raises(pv.PolicyError, match="`NoTell` has no method `tell`"):
        pv.run(spec.policy(NoTell), progress=False)
    with pytest.raises(pv.PolicyError, match="`BadStart.start` raised RuntimeError: no licence"):
        pv.run(spec.policy(BadStart), progress=False)
    with pytest.raises(pv.SpecError, match="expected its class"):
        spec.policy(RandomPoints())  # type: ignore[arg-type]
    with pytest.raises(pv.SpecError, match="two classes are called `fails`"):
        spec.policy(Fails).policy(type("Fails", (RandomPoints,), {}))
    with pytest.raises(pv.SpecError, match="as a built-in policy is"):
        spec.policy(type("Uniform", (RandomPoints,), {})).check()
    with pytest.raises(pv.SpecError, match="keyword arguments are keys of the spec"):
        spec.policy(with_list)


def test_runs_that_fail_at_once_leave_nothing_behind(spec: pv.Spec) -> None:
    """Worker threads that start after their run has failed once made the next run wait for ever."""

    class Fails(RandomPoints):
        def start(self, *arguments: Any) -> None:
            raise RuntimeError("at once")

    fails = spec.policy(Fails).rounds(2).trials(2)
    for _ in range(60):
        with pytest.raises(pv.PolicyError, match="at once"):
            pv.run(fails, threads=48, progress=False)


def test_message_and_cause_are_of_one_failure(spec: pv.Spec) -> None:
    """Blocks on two threads fail at once, each with an exception of its own."""
    meeting = threading.Barrier(2)

    class FailsTogether(RandomPoints):
        def start(self, problem: Any, trials: np.ndarray, rngs: Any) -> None:
            meeting.wait(timeout=60)
            raise RuntimeError(f"block of trial {trials[0]}")

    fails = spec.without_policies().policy(FailsTogether).trials(2).set("block", 1)
    for _ in range(30):
        with pytest.raises(pv.PolicyError) as error:
            pv.run(fails, threads=2, progress=False)
        cause = str(error.value.__cause__)
        assert cause.startswith("block of trial") and cause in str(error.value)


def test_one_run_at_a_time(spec: pv.Spec) -> None:
    class Nested(RandomPoints):
        def ask(self, t: int) -> np.ndarray:
            pv.run(spec, progress=False)
            return super().ask(t)

    with pytest.raises(pv.PolicyError, match="a run is under way in this process"):
        pv.run(spec.policy(Nested), progress=False)
    assert pv.run(spec, progress=False).rows.n_rows


class Dose:
    """Response to a dose."""

    def __init__(self, peak: float = 0.3) -> None:
        self.points = np.linspace(0, 1, 21)[:, None]
        self.peak = peak

    def mean(self, points: np.ndarray) -> np.ndarray:
        return np.exp(-(((points[:, 0] - self.peak) / 0.2) ** 2))


class BlackBox:
    """Draws rewards itself."""

    points = np.linspace(0, 1, 5)[:, None]
    range = (-1.0, 2.0)
    samples = 20

    def reward(self, point: np.ndarray, rng: np.random.Generator) -> float:
        return float(point[0] + rng.normal(0, 0.1))


KERNEL = {"kind": "matern", "nu": 2.5, "lengthscale": 0.3}


def test_an_environment_of_means(spec: pv.Spec) -> None:
    noise = {"kind": "gaussian", "sd": 0.1}
    own = spec.environment(Dose, peak=0.5, kernel=KERNEL, noise=noise).privacy("none").rounds(200).set("record.rounds", "all")
    results = pv.run(own, progress=False)
    rows = results.rows
    expected = 1 - Dose(0.5).mean(Dose().points)
    assert np.allclose(rows["regret"], expected[rows["point"]], atol=1e-12)
    assert results.final("igp-ucb").mean() < 0.5 * results.final("uniform").mean()


def test_a_black_box(spec: pv.Spec) -> None:
    rows = pv.run(spec.environment(BlackBox, kernel=KERNEL).policy(NumpyUcb), progress=False).rows
    assert rows["regret"].max() == pytest.approx(1.0, abs=0.2) and rows["regret"].min() == 0.0


def test_mistakes_of_environments(spec: pv.Spec) -> None:
    class Flat(Dose):
        def mean(self, points: np.ndarray) -> np.ndarray:
            return np.zeros(3)

    class Unlicensed(Dose):
        def mean(self, points: np.ndarray) -> np.ndarray:
            raise OSError("no licence")

    class Broken(BlackBox):
        def reward(self, point: np.ndarray, rng: np.random.Generator) -> float:
            raise OSError("the simulator is gone")

    class Nothing(BlackBox):
        def reward(self, point: np.ndarray, rng: np.random.Generator) -> Any:
            return None

    with pytest.raises(pv.SpecError, match=r"`Flat` returned from `mean` an array float64\[3\], expected finite numbers float64\[21\]"):
        spec.environment(Flat, kernel=KERNEL, noise="none").check()
    with pytest.raises(pv.SpecError, match="^`Unlicensed.mean` raised OSError: no licence") as error:
        spec.environment(Unlicensed, kernel=KERNEL, noise="none").check()
    assert isinstance(error.value.__cause__, OSError) and "unknown key" not in str(error.value)
    with pytest.raises(pv.PolicyError, match=r"^`Broken.reward` raised OSError: the simulator is gone, at the point \[0.0\]") as error:
        pv.run(spec.environment(Broken, kernel=KERNEL), progress=False)
    assert isinstance(error.value.__cause__, OSError)
    class Unranged(BlackBox):
        @property
        def range(self) -> Any:
            raise OSError("no range")

    class Worded(BlackBox):
        samples: Any = "50"

    class Once(BlackBox):
        samples = 1

    class Lazy(BlackBox):
        def reward(self, point: np.ndarray, rng: np.random.Generator) -> Any:
            class Value:
                def __float__(self) -> float:
                    raise OSError("not computed")

            return Value()

    with pytest.raises(pv.SpecError, match="^`Unranged.range` raised OSError: no range"):
        spec.environment(Unranged, kernel=KERNEL).check()
    with pytest.raises(pv.SpecError, match="^`Worded` has as `samples` a value of type str, expected a whole number"):
        spec.environment(Worded, kernel=KERNEL).check()
    with pytest.raises(pv.SpecError, match="^`Once` has as `samples` 1, expected a whole number from 2 to"):
        spec.environment(Once, kernel=KERNEL).check()
    with pytest.raises(pv.PolicyError, match="^`Lazy.reward` raised OSError: not computed"):
        pv.run(spec.environment(Lazy, kernel=KERNEL), progress=False)
    with pytest.raises(pv.PolicyError, match="^`Nothing.reward` returned a value of type NoneType, expected a finite number"):
        pv.run(spec.environment(Nothing, kernel=KERNEL), progress=False)


def test_a_reward_that_is_not_finite_is_named(spec: pv.Spec) -> None:
    class Sometimes(BlackBox):
        """Returns NaN at 0.5, from draw number `at` there on."""

        drawn = 0

        def __init__(self, at: int) -> None:
            self.at = at

        def reward(self, point: np.ndarray, rng: np.random.Generator) -> float:
            self.drawn += point[0] == 0.5
            return float("nan") if point[0] == 0.5 and self.at <= self.drawn else 0.25 + point[0]

    own = spec.environment(Sometimes, at=7, kernel=KERNEL).without_policies().policy("uniform").privacy("none")
    with pytest.raises(pv.DataError, match=r"the reward NaN at point 2, \[0.5\], in draw 7 of 20 before the first round") as error:
        pv.run(own, progress=False)
    assert "table" not in str(error.value) and "hint: return a finite number" in str(error.value)
    with pytest.raises(pv.RunError, match=r"^the function .* the reward NaN at point 2, \[0.5\], in round \d+ of trial \d of `uniform`\nhint: "):
        pv.run(own.set("environment.at", 22), progress=False)


def test_audits_attack_policies_and_specs(spec: pv.Spec) -> None:
    found = pv.audit(NumpyUcb, samples=1000)
    assert not found.refuted and found.findings.n_rows and found.findings["epsilon"][0] == 1.0
    assert pv.audit(spec.set("privacy.epsilon", [1.0, 2.0]), samples=400).findings.n_rows


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda self: {}["nothing"], "`Recommends.recommend` raised"),
        (lambda self: np.zeros(1, dtype=np.int64), r"`Recommends.recommend` returned an array int64\[1\], expected an array int64\[4\]"),
        (lambda self: np.zeros(4, dtype=np.int32), r"returned an array int32\[4\]"),
    ],
)
def test_mistakes_in_recommendations_end_the_run(spec: pv.Spec, answer: Any, message: str) -> None:
    class Recommends(NumpyUcb):
        recommend = answer

    with pytest.raises(pv.PolicyError, match=message):
        pv.run(spec.without_policies().policy(Recommends), progress=False, batch=4, threads=1)


def test_a_recommendation_may_be_none(spec: pv.Spec) -> None:
    class Silent(NumpyUcb):
        name = "numpy-ucb"

        def recommend(self) -> None:
            return None

    own = spec.without_policies()
    silent, without = (pv.run(own.policy(kind), progress=False).rows["recommended_regret"] for kind in (Silent, NumpyUcb))
    assert (silent == without).all()


def test_what_a_protocol_declares_is_not_written(spec: pv.Spec) -> None:
    class Declared(pv.Environment):
        points = np.linspace(0, 1, 5)[:, None]
        range = (-1.0, 2.0)

        def reward(self, point: np.ndarray, rng: np.random.Generator) -> float:
            return float(point[0])

    class NoTell(pv.Policy):
        def start(self, *arguments: Any) -> None:
            pass

        def ask(self, t: int) -> np.ndarray:
            return np.zeros(4, dtype=np.int64)

    assert pv.run(spec.environment(Declared, kernel=KERNEL), progress=False).rows["regret"].max() == pytest.approx(1.0)
    with pytest.raises(pv.PolicyError, match="`NoTell` has no method `tell`"):
        pv.run(spec.without_policies().policy(NoTell), progress=False)


def simulators(spec: pv.Spec, numbers: list[int]) -> Any:
    from privateer import _native

    return _native.Simulators(spec._native(), 0, numbers, None)


def test_a_refused_step_moves_no_trial(spec: pv.Spec) -> None:
    one, other = simulators(spec, [0, 1]), simulators(spec, [0, 1])
    for _ in range(2):
        with pytest.raises(pv.PrivateerError, match="no point 999"):
            one.step(np.array([3, 999]))
    assert all((a == b).all() for a, b in zip(one.step(np.array([3, 3])), other.step(np.array([3, 3])), strict=True))


def test_threads_may_step_an_environment_of_python(spec: pv.Spec) -> None:
    from threading import Thread

    trials = simulators(spec.environment(BlackBox, kernel=KERNEL), [0, 1])

    def step() -> None:
        for _ in range(5):
            trials.step(np.array([1, 2]))

    threads = [Thread(target=step, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_an_exception_of_an_environment_is_raised_by_a_step(spec: pv.Spec) -> None:
    class Breaks(BlackBox):
        drawn = 0

        def reward(self, point: np.ndarray, rng: np.random.Generator) -> float:
            type(self).drawn += 1
            if type(self).drawn > 9000:
                raise OSError("the simulator is gone")
            return super().reward(point, rng)

    trials = simulators(spec.environment(Breaks, kernel=KERNEL), [0])
    Breaks.drawn = 10_000
    with pytest.raises(OSError, match="the simulator is gone"):
        trials.step(np.array([1]))
    Breaks.drawn = 0
    with pytest.raises(ValueError, match="the environment failed in an earlier step: create new trials"):
        trials.step(np.array([1]))


def test_labels_that_look_like_numbers_stay_texts(spec: pv.Spec) -> None:
    labels = pv.run(spec.without_policies().policy("uniform", label="nan").policy("uniform", label="1e3"), progress=False)
    assert list(labels.summary()["policy"]) == ["nan", "1e3"]


class Remembering(NumpyUcb):
    """Keeps how often each point was played."""

    def state(self) -> Any:
        return [{"plays": counts.tolist()} for counts in self.count]


def test_the_state_of_a_policy_is_stored_with_the_parts(spec: pv.Spec, tmp_path: Path) -> None:
    own = spec.policy(Remembering).set("record.parameters", True).trials(5).set("block", 2)
    results = pv.run(own, tmp_path / "out", progress=False)
    which = next(label for label in results.labels if "remembering" in label)
    states = results.states(which)
    assert sorted(states) == list(range(5))
    assert all(sum(state["plays"]) == 60 for state in states.values())


def test_a_wrong_state_is_refused(spec: pv.Spec) -> None:
    class Short(NumpyUcb):
        def state(self) -> Any:
            return [1]

    class NotJson(NumpyUcb):
        def state(self) -> Any:
            return [float("nan") for _ in self.count]

    class Raises(NumpyUcb):
        def state(self) -> Any:
            raise ZeroDivisionError

    class Large(NumpyUcb):
        def state(self) -> Any:
            return [{"generator": 2**100} for _ in self.count]

    mistakes = [(Short, "no list of"), (NotJson, "JSON compliant"), (Raises, "ZeroDivisionError"), (Large, "more than 64 bits")]
    for policy, said in mistakes:
        own = spec.policy(policy).set("record.parameters", True).trials(3)
        with pytest.raises(pv.PolicyError, match=said):
            pv.run(own, progress=False)


CONVEX = """
seed = 3
rounds = 60
trials = 3
references = false
record = { rounds = "all" }

[problem]
kind = "linear-regression"
dimension = 3
set = { kind = "lp-ball", p = 2.0, radius = 1.0 }

[privacy]
epsilon = 2.0
delta = 1e-3
"""


class OwnFtrl:
    """DP-FTRL by its definition."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def start(self, problem: Any) -> None:
        bound = problem.lipschitz * (problem.lipschitz + 2 * problem.noise)
        self.eta = self.factor * problem.learning_rate * problem.radius / np.sqrt(problem.rounds * bound)
        self.project, self.centre, self.n = problem.project, problem.centre, 0
        self.now, self.mean = problem.centre, problem.centre.copy()

    def point(self) -> np.ndarray:
        return self.now

    def learn(self, total: np.ndarray) -> None:
        self.n += 1
        self.now = self.project(self.centre - self.eta * total)
        self.mean += (self.now - self.mean) / self.n

    def answer(self) -> np.ndarray:
        return self.mean


def test_a_learner_of_noisy_sums_is_that_of_the_program() -> None:
    def ran(kind: Any, **keys: float) -> tuple[np.ndarray, str]:
        # Noise is that of the label.
        results = pv.run(pv.Spec.load(CONVEX).learner(kind, label="one", **keys), progress=False)
        return results.rows["risk"], str(results.ledger()[0])

    (first, ledger), (own, foreign), (slow, _) = ran("dp-ftrl"), ran(OwnFtrl), ran(OwnFtrl, factor=0.1)
    assert np.allclose(first, own, rtol=1e-9) and not np.allclose(first, slow)
    assert "foreign code" in foreign and "foreign code" not in ledger

    class Short(OwnFtrl):
        def point(self) -> np.ndarray:
            return self.now[:2]

    with pytest.raises(pv.RunError, match=r"`Short.point` returned .*expected an array float64\[3\]"):
        pv.run(pv.Spec.load(CONVEX).learner(Short), progress=False)
    with pytest.raises(pv.SpecError, match="did you mean `own-ftrl`"):
        pv.Spec.load(CONVEX).learner(OwnFtrl).learner("own-ftlr").check()
