"""Policies, learners and environments of your own."""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ._native import LearnerProblem, Problem
from .errors import SpecError


@runtime_checkable
class Policy(Protocol):
    """What a policy of your own implements, for all trials of a block at once.

    One instance is made for each block of trials (key `block` of the spec). Its keyword arguments are keys of the policy's
    table in the spec, so that they can be swept. It receives released rewards and nothing else.

    An attribute `independent = True` promises that the choices of a trial have the same bits whatever trials run beside it.
    A method `recommend() -> int64[trials]` names the points that it would recommend now; without it, the played point of the
    largest average released reward is recommended. A method `state()` returns a list with one JSON-serialisable value for each
    trial, what it keeps of its model after the last round; `record = {"parameters": True}` of the spec stores it, and
    `Results.states()` reads it.

    An attribute `learns = "means"` asks for a trusted server or a shuffler that sums the rewards of a batch of users and
    releases their mean once, by a mechanism of batches such as `batch-laplace`. `ask(t, places) -> (points, users)` is then
    called for the trials at these places whose batches begin, and returns how many users play each point; `tell(points, means,
    places)` is called for those whose batches end. All arrays are int64 or float64, [places]. An attribute `least_users` states
    the smallest batch, for which a shuffler is calibrated; without it, `problem.least_users` is the mechanism's own, and
    `problem.mean_variance(users)` the variance of a mean.

    `learns = "feature-sums"` asks for a trusted server that releases noisy running sums, as for `jdp-gp-ucb`:
    `tell(grams, moments, sd)` is called after round 1, every `release_every` later rounds (by default each) and the last, with
    float64[trials, m, m] of features times features, float64[trials, m] of features times reward minus `problem.centre`, and
    float64[trials, 2], the standard deviations of the noise of an off-diagonal entry of `grams` and of one of `moments`.
    `problem.features` are those of the key `features` of the policy's table, by default exact ones.

    `learns = "choice"` asks for a trusted server that releases one point, by the exponential mechanism. The first `candidates`
    points are scored by `users` users each: `ask(t)` is called once for each candidate, `tell(points)` once with the chosen
    points, int64[trials], and nothing else of a reward is ever told.

    `least_users`, `release_every`, `candidates` and `users` are attributes or keyword arguments of the class. A method
    `recommend` should say the point where no reward is told; without it, it is the chosen point, or the one that was played last.
    """

    def start(self, problem: Problem, trials: NDArray[np.int64], rngs: list[np.random.Generator]) -> None:
        """Begins the trials.

        Parameters
        ----------
        problem
            What is publicly known.
        trials
            Numbers of the trials, from 0; their order is that of every later array.
        rngs
            One generator for each trial. Draw all random numbers from them, so that runs can be repeated.
        """

    def ask(self, t: int) -> NDArray[np.int64]:
        """Returns the point that each trial plays in round `t` (from 1), int64[trials].

        In environments with decision sets, a second argument holds the allowed points of each trial, ascending.
        """

    def tell(self, points: NDArray[np.int64], released: NDArray[np.float64]) -> None:
        """Learns the released reward of each trial, float64[trials], in the unit of the reward."""

    # A class that inherits these has not written them.
    for _method in (start, ask, tell):
        _method.not_written = True  # type: ignore[attr-defined]
    del _method


def _state_text(policy: Any) -> str:
    """Returns what `policy.state()` returns as JSON; refuses what would not be read back as it was."""

    def whole(text: str) -> int:
        if not -(2**63) <= int(text) < 2**64:
            raise ValueError(f"the integer {text} has more than 64 bits: keep it as text")
        return int(text)

    text = json.dumps(policy.state(), allow_nan=False)
    json.loads(text, parse_int=whole)
    return text


@dataclass(frozen=True)
class ContextualProblem:
    """What is publicly known about a contextual problem before the first round."""

    n_arms: int
    """Number of arms."""
    n_features: int
    """Number of features of a context."""
    rounds: int
    """Horizon: number of rounds."""
    context_length: float
    """Bound on the Euclidean length of a context."""
    mean_range: tuple[float, float]
    """Range of a mean reward."""
    noise_sd: float | None
    """Standard deviation of a reward around its mean; None if it is infinite or unknown."""


@runtime_checkable
class ContextualPolicy(Protocol):
    """What a contextual policy of your own implements: in each round a user brings a context and is shown an arm.

    The attribute `learns` names what the policy is told. `"interactions"` are contexts, arms and rewards as they are, without
    privacy. `"sums"` are noisy running sums, under joint differential privacy of the spec's epsilon and delta. All arrays have
    one row for each trial; an instance plays one trial. Keyword arguments are keys of the policy's table in the spec.

    `ask` sees the context of the user whom it serves. Nothing of it may be stored: what a policy knows of earlier users has to
    come from `tell`, and the ledger says that the claim holds under this condition.

    A method `state()` returns a list with one JSON-serialisable value, what the trial keeps of its model after the last round;
    `record = {"parameters": True}` of the spec stores it, and `Results.states()` reads it.
    """

    learns: str
    """`"interactions"` or `"sums"`."""

    def start(self, problem: ContextualProblem, rngs: list[np.random.Generator]) -> None:
        """Begins the trials, with one generator for each. Draw all random numbers from them, so that runs can be repeated."""

    def ask(self, t: int, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the arm for the user of each trial in round `t` (from 1), int64[trials].

        `contexts` is float64[trials, n_features].
        """

    def tell(self, first: NDArray[np.float64], second: NDArray[Any], third: NDArray[np.float64]) -> None:
        """Learns what was released after the round.

        Interactions are `contexts` float64[trials, n_features], `arms` int64[trials] and `rewards` float64[trials]. Sums replace
        the earlier ones: `grams` float64[trials, n_arms, n_features, n_features] of context times context, `moments`
        float64[trials, n_arms, n_features] of context times reward, minus the centre of the reward's range, and `sd`
        float64[trials], the standard deviation of the noise of an off-diagonal entry of `grams`. There is no call in rounds that
        release nothing: the tight calibration releases in rounds that grow by a tenth.
        """

    # A class that inherits these has not written them.
    for _method in (start, ask, tell):
        _method.not_written = True  # type: ignore[attr-defined]
    del _method


@runtime_checkable
class Learner(Protocol):
    """What a learner of your own implements: online convex optimization from noisy sums of gradients, one instance for each trial.

    A trusted server holds the samples and releases the noisy sum of all gradients so far, by a factorisation of prefix sums as
    for `dp-ftrl`; the learner sees the sums and nothing else, and draws nothing at random. Keyword arguments are keys of the
    learner's table in the spec. Points outside of the set are projected onto it. A method `answer() -> float64[dimension]` names
    the answer; without it, it is the point.
    """

    def start(self, problem: LearnerProblem) -> None:
        """Begins the trial: `problem` states set, rounds and sizes of gradients and noise."""

    def point(self) -> NDArray[np.float64]:
        """Returns the point at which the next gradient is taken, float64[dimension]."""

    def learn(self, total: NDArray[np.float64]) -> None:
        """Learns the noisy sum of all gradients so far, float64[dimension]."""

    # A class that inherits these has not written them.
    for _method in (start, point, learn):
        _method.not_written = True  # type: ignore[attr-defined]
    del _method


@runtime_checkable
class Environment(Protocol):
    """What an environment of your own implements: points and their mean rewards.

    The spec states `kernel` and, beside `mean`, `noise`. Instead of `mean`, a black box has a method
    `reward(point, rng) -> float` for one point float64[dimension]; its mean rewards are estimated before the first trial from
    `samples` rewards (an attribute, by default 400) at each point. An attribute `range = (lo, hi)` states the hard public
    range of its rewards.
    """

    points: NDArray[np.float64]
    """Coordinates of the points, float64[n_points, dimension]."""

    def mean(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the mean rewards at these points, float64[n_points]."""

    mean.not_written = True  # type: ignore[attr-defined]


@dataclass(frozen=True)
class KeyDescription:
    """One keyword argument of a class."""

    name: str
    default: Any
    kind: str


@dataclass(frozen=True)
class OwnItem:
    """A class of the user, as the native half reads it."""

    role: str
    name: str
    summary: str
    factory: Callable[..., Any]
    class_name: str
    independent: bool
    learns: str | None
    counts: Sequence[tuple[str, int]]
    keys: Sequence[KeyDescription]


COUNTS = {"least_users": "means", "release_every": "feature-sums", "candidates": "choice", "users": "choice"}
"""Numbers that a policy may state, and what it then learns."""

KINDS = {bool: "flag", int: "count", float: "number", str: "text"}


def item(role: str, factory: Callable[..., Any]) -> OwnItem:
    """Describes a class by its signature.

    Parameters
    ----------
    role
        `policy`, `learner` or `environment`.
    factory
        The class, or another callable that makes an instance.
    """
    class_name = getattr(factory, "__qualname__", type(factory).__name__).rsplit(".", 1)[-1]
    if not callable(factory):
        raise SpecError(f"an instance of `{type(factory).__name__}` was given\nexpected its class: each block of trials makes an instance")
    item_name = getattr(factory, "name", None)
    if not isinstance(item_name, str):
        item_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", class_name.strip("<>")).lower()
    doc = (inspect.getdoc(factory) or "").strip().split("\n")[0]
    independent = getattr(factory, "independent", False) is True
    learns = getattr(factory, "learns", None) if role == "policy" else None
    if learns not in (None, "means", "feature-sums", "choice", "interactions", "sums"):
        raise SpecError(
            f"`{class_name}.learns` is {learns!r}\n"
            "expected 'means' of batches, 'feature-sums' or a 'choice'; with contexts 'interactions', without privacy, or 'sums'"
        )
    stated = keys(factory, class_name)
    counts = []
    for name, stage in COUNTS.items():
        count = getattr(factory, name, None) if role == "policy" else None
        if learns != stage:
            # Other classes may call what they like `users` or `candidates`.
            if count is not None and name in ("least_users", "release_every"):
                raise SpecError(f"`{class_name}.{name}` is given\nexpected an attribute `learns = \"{stage}\"` beside it")
            continue
        least = 2 if name == "candidates" else 1
        if count is not None:
            if isinstance(count, bool) or not hasattr(count, "__index__") or not least <= count < 2**63:
                raise SpecError(f"`{class_name}.{name}` is {count!r}\nexpected a whole number, at least {least}")
            counts.append((name, count))
        for key in stated:
            if key.name == name and key.kind != "count":
                raise SpecError(f"`{name}` of `{class_name}` is no whole number\nexpected `{name}: int`, with or without a default")
    known = {name for name, _ in counts} | {key.name for key in stated}
    if learns == "choice" and not {"candidates", "users"} <= known:
        raise SpecError(f"`{class_name}` learns a choice\nexpected attributes or keyword arguments `candidates` and `users`")
    summary = doc or f"{class_name}, from Python"
    counts = [(name, int(count)) for name, count in counts]
    return OwnItem(role, item_name, summary, factory, class_name, independent, learns, counts, stated)


def keys(factory: Callable[..., Any], class_name: str) -> list[KeyDescription]:
    """Returns the keyword arguments that a spec can state."""
    found = []
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        default = None if parameter.default is parameter.empty else parameter.default
        annotated = {"bool": bool, "int": int, "float": float, "str": str}.get(parameter.annotation, parameter.annotation)
        kind = KINDS.get(type(default)) or KINDS.get(annotated) or ("number" if default is None else None)
        if kind is None or kind == "count" and default is not None and default < 0:
            raise SpecError(
                f"the default of `{parameter.name}` of `{class_name}` is {default!r}\n"
                "expected a boolean, a whole number >= 0, a float or a text: keyword arguments are keys of the spec"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise SpecError(f"`{parameter.name}` of `{class_name}` cannot be given by name")
        found.append(KeyDescription(parameter.name, default, kind))
    return found
